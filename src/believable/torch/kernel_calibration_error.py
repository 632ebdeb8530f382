"""Kernel calibration error of the whole probability vector, with its pairs summed on a device."""

from __future__ import annotations

from typing import Any

from believable.errors import UndefinedError
from believable.metrics._kernel import Kernel
from believable.metrics.kernel_calibration_error import ROUNDING
from believable.torch._vectors import DeviceVectors, biased_skce


def kernel_calibration_error(
    predictions: Any,
    targets: Any = None,
    *,
    from_logits: bool = False,
    kernel: Kernel = "tv",
    bandwidth: float | None = None,
    sample_weight: Any = None,
    device: Any = None,
) -> float:
    """Kernel calibration error: the root of the biased squared kernel calibration error, with its pairs on a GPU.

    sqrt( sum_ij w_i w_j k(P_i, P_j) <e_i - P_i, e_j - P_j> ) / W, each row with itself included; the number of
    `believable.kernel_calibration_error`. Arguments and cost are those of `squared_kernel_calibration_error` here.

    Parameters
    ----------
    predictions : Tensor or array-like of shape (n,) or (n, K), or Predictions
    targets : Tensor or array-like of shape (n,)
    from_logits : bool
    kernel : {"tv", "gaussian"} or callable
        A callable must be a positive semi-definite kernel.
    bandwidth : float, optional
    sample_weight : Tensor or array-like of shape (n,), optional
    device : optional

    Returns
    -------
    float

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), NeurIPS.

    Examples
    --------
    >>> import torch
    >>> p = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.6, 0.3, 0.1]], dtype=torch.float64)
    >>> round(kernel_calibration_error(p, torch.tensor([0, 1, 2, 2])), 6)
    0.367707
    """
    vectors = DeviceVectors.of(
        predictions, targets, sample_weight, from_logits, kernel, bandwidth, device, what="the kernel calibration error"
    )
    squared = biased_skce(vectors)
    if squared < -ROUNDING:
        raise UndefinedError(f"the kernel is not positive semi-definite: the squared error is {squared:g}")
    return float(max(squared, 0.0) ** 0.5)
