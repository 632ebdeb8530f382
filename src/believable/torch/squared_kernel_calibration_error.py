"""Squared kernel calibration error of the whole probability vector, with its pairs summed on a device."""

from __future__ import annotations

from math import isqrt
from typing import Any, get_args

from believable import _check
from believable.errors import InputError, UndefinedError
from believable.metrics._kernel import Kernel
from believable.metrics.squared_kernel_calibration_error import Estimator
from believable.torch._vectors import DeviceVectors, biased_skce, block_skce, unbiased_skce


def squared_kernel_calibration_error(
    predictions: Any,
    targets: Any = None,
    *,
    from_logits: bool = False,
    estimator: Estimator = "unbiased",
    kernel: Kernel = "tv",
    bandwidth: float | None = None,
    block_size: int | None = None,
    sample_weight: Any = None,
    device: Any = None,
) -> float:
    """Squared kernel calibration error, `believable.squared_kernel_calibration_error` with its pairs on a GPU.

    The mean over pairs of rows of h_ij = k(P_i, P_j) <e_i - P_i, e_j - P_j>, with the estimators, kernels, bandwidth,
    weights and checks of that function, and its numbers to about 1e-12: all sums are in float64. The n^2 K work is done
    tile by tile on the device; no n x n matrix is made. Checks and the median distance are done on the CPU, in n log n.

    Parameters
    ----------
    predictions : Tensor or array-like of shape (n,) or (n, K), or Predictions
        Probabilities, or logits with `from_logits=True`; never guessed. No gradient: `KCELoss` has one.
    targets : Tensor or array-like of shape (n,)
    from_logits : bool
        The sigmoid (1-D) or softmax (2-D) is taken in float64.
    estimator : {"unbiased", "biased", "block", "linear"}
    kernel : {"tv", "gaussian"} or callable
        A callable takes two tensors of rows, (a, K) and (b, K), and returns the (a, b) tensor of its values. It must be
        symmetric.
    bandwidth : float, optional
    block_size : int, optional
        For "block"; about sqrt(n) if left out.
    sample_weight : Tensor or array-like of shape (n,), optional
    device : optional
        Where pairs are summed; where the predictions are, if left out.

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
    >>> y = torch.tensor([0, 1, 2, 2])
    >>> round(squared_kernel_calibration_error(p, y), 6)
    0.013612
    >>> round(squared_kernel_calibration_error(p.log(), y, from_logits=True, estimator="biased"), 6)
    0.135209
    """
    _check.choice(estimator, get_args(Estimator), "estimator")
    if block_size is not None:
        if estimator != "block":
            raise InputError(f"block_size goes with estimator='block', not with {estimator!r}")
        block_size = _check.positive_integer(block_size, "block_size", 2)
    vectors = DeviceVectors.of(
        predictions, targets, sample_weight, from_logits, kernel, bandwidth, device, what="the SKCE"
    )
    if estimator == "biased":
        return biased_skce(vectors)
    if estimator == "unbiased":
        return unbiased_skce(vectors)
    size = 2 if estimator == "linear" else block_size or max(2, isqrt(len(vectors)))
    if len(vectors) < size:
        raise UndefinedError(f"blocks of {size} rows need as many, these are {len(vectors)}")
    return block_skce(vectors, size)
