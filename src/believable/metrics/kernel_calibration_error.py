"""Kernel calibration error of the whole probability vector."""

from __future__ import annotations

from typing import Any

from believable.errors import UndefinedError
from believable.metrics._kernel import Kernel, Vectors, biased_skce, similarity_of
from believable.metrics._table import metric
from believable.predictions import as_predictions

ROUNDING = 1e-12


@metric(
    alias="kce",
    needs="pairs",
    high=2**0.5,
    kinds=("binary", "multiclass"),
    of="canonical",
    reference="Widmann et al. 2019",
)
def kernel_calibration_error(
    predictions: Any,
    actuals: Any = None,
    *,
    kernel: Kernel = "tv",
    bandwidth: float | None = None,
    sample_weight: Any = None,
) -> float:
    """Kernel calibration error: the root of the biased squared kernel calibration error.

    sqrt( sum_ij w_i w_j k(P_i, P_j) <e_i - P_i, e_j - P_j> ) / W, each row with itself included: the norm of the mean
    of (e - P) k(P, ·), its largest product with a vector field of norm 1. In [0, sqrt(2)] for kernels of at most 1; 0
    is best. Calibrated predictions have more than 0 by chance, the less the more rows there are.

    Vectors, labels, kernels and cost are those of `squared_kernel_calibration_error`.

    Parameters
    ----------
    predictions : array-like of shape (n,) or (n, K), or Predictions
    actuals : array-like of shape (n,)
    kernel : {"tv", "gaussian"} or callable
        A callable must be a positive semi-definite kernel.
    bandwidth : float, optional
    sample_weight : array-like of shape (n,), optional

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), NeurIPS.

    Examples
    --------
    >>> p, y = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.6, 0.3, 0.1]], [0, 1, 2, 2]
    >>> round(kernel_calibration_error(p, y), 6)
    0.367707
    """
    vectors = Vectors.of(as_predictions(predictions, actuals, sample_weight), "the kernel calibration error")
    squared = biased_skce(vectors, similarity_of(vectors, kernel, bandwidth))
    if squared < -ROUNDING:
        raise UndefinedError(f"the kernel is not positive semi-definite: the squared error is {squared:g}")
    return float(max(squared, 0.0) ** 0.5)
