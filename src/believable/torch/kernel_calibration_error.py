"""Kernel calibration error of the whole probability vector, with pairs summed on a device.

Vectors are checked by the NumPy functions; `torch.pairs` sums over their pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt
from typing import Any, get_args

import numpy as np
import torch
from torch import Tensor

from believable import _check, _kernels
from believable._kernels import Similarity
from believable._types import Array
from believable.errors import InputError, UndefinedError
from believable.metrics.kernel_calibration_error import ROUNDING_OF_SQUARES, Estimator
from believable.metrics.kernel_vectors import ROWS_TO_TRY_A_KERNEL, Kernel, Vectors, on_a_line, similarity_of
from believable.predictions import Predictions, as_predictions
from believable.torch.pairs import between, line_form, pair_form

KERNEL_ENTRIES_AT_ONCE = 1 << 20  # for the kernels within blocks


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
    """Kernel calibration error: the root of the biased squared kernel calibration error, computed on a GPU.

    sqrt( sum_ij w_i w_j k(P_i, P_j) <e_i - P_i, e_j - P_j> ) / W, including pairs of a row with itself; the same value
    as `believable.kernel_calibration_error`. For arguments and cost see `squared_kernel_calibration_error`.

    Parameters
    ----------
    predictions : Tensor or array-like of shape (n,) or (n, K), or Predictions
        Probabilities, or logits with `from_logits=True`.
    targets : Tensor or array-like of shape (n,)
        Outcomes or class numbers.
    from_logits : bool
        Whether predictions are logits.
    kernel : {"tv", "gaussian"} or callable
        A callable must be a positive semi-definite kernel.
    bandwidth : float, optional
        The bandwidth of the kernel; by default the median distance.
    sample_weight : Tensor or array-like of shape (n,), optional
        Importance weights.
    device : optional
        The device to sum pairs on; by default that of the predictions.

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
    where = _device_for(predictions, device)
    vectors = _vectors_of(predictions, targets, sample_weight, from_logits, what="the kernel calibration error")
    squared = biased_skce(DeviceVectors.of(vectors, kernel, bandwidth, where))
    if squared < -ROUNDING_OF_SQUARES:
        raise UndefinedError(f"the kernel is not positive semi-definite: the squared error is {squared:g}")
    return float(max(squared, 0.0) ** 0.5)


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
    """Squared kernel calibration error: `believable.squared_kernel_calibration_error`, computed on a GPU.

    The mean over pairs of rows of h_ij = k(P_i, P_j) <e_i - P_i, e_j - P_j>, with the estimators, kernels, bandwidth,
    weights and checks of that function, and the same value to about 1e-12: all sums are in float64. The n^2 K work is
    done tile by tile on the device, without an n x n matrix. Checks and the median distance are done on the CPU, in
    n log n.

    Parameters
    ----------
    predictions : Tensor or array-like of shape (n,) or (n, K), or Predictions
        Probabilities, or logits with `from_logits=True`. There is no gradient: use `KCELoss` for one.
    targets : Tensor or array-like of shape (n,)
        Outcomes or class numbers.
    from_logits : bool
        Whether predictions are logits; the sigmoid (1-D) or softmax (2-D) is computed in float64.
    estimator : {"unbiased", "biased", "block", "linear"}
        Which pairs of rows the mean is over; see `believable.squared_kernel_calibration_error`.
    kernel : {"tv", "gaussian"} or callable
        A callable takes two tensors of rows, (a, K) and (b, K), and returns the (a, b) tensor of its values. It must be
        symmetric.
    bandwidth : float, optional
        The bandwidth of the kernel; by default the median distance.
    block_size : int, optional
        For "block"; by default about sqrt(n).
    sample_weight : Tensor or array-like of shape (n,), optional
        Importance weights.
    device : optional
        The device to sum pairs on; by default that of the predictions.

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
            raise InputError(
                "{argument} is for estimator='block', not for {estimator!r}",
                argument="block_size",
                estimator=estimator,
            )
        block_size = _check.positive_integer(block_size, "block_size", 2)
    where = _device_for(predictions, device)
    vectors = _vectors_of(predictions, targets, sample_weight, from_logits, what="the SKCE")
    given = DeviceVectors.of(vectors, kernel, bandwidth, where)
    if estimator == "biased":
        return biased_skce(given)
    if estimator == "unbiased":
        return unbiased_skce(given)
    size = 2 if estimator == "linear" else block_size or max(2, isqrt(len(given)))
    if len(given) < size:
        raise UndefinedError(f"a block needs {size} rows, but there are only {len(given)}")
    return block_skce(given, size)


def _device_for(predictions: Any, device: Any) -> torch.device:
    """Return the requested device, or that of the predictions."""
    if device is None:
        device = predictions.device if isinstance(predictions, Tensor) else "cpu"
    return torch.device(device)


def _vectors_of(predictions: Any, targets: Any, sample_weight: Any, from_logits: bool, *, what: str) -> Vectors:
    """Return vectors, checked by the NumPy functions."""
    if isinstance(predictions, Predictions):
        if from_logits:
            raise InputError(
                "{argument} belongs on Predictions(..., from_logits=True), not here", argument="from_logits"
            )
        checked = as_predictions(predictions, targets, sample_weight)
    else:
        checked = Predictions(predictions, targets, sample_weight=sample_weight, from_logits=from_logits)
    return Vectors.of(checked, what)


# --- estimators -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class DeviceVectors:
    """Vectors, a kernel with its bandwidth, and the device."""

    vectors: Vectors
    similarity: Similarity
    device: torch.device

    def __len__(self) -> int:
        return len(self.vectors)

    @classmethod
    def of(cls, vectors: Vectors, kernel: Kernel, bandwidth: float | None, device: torch.device) -> DeviceVectors:
        """Return vectors with the requested kernel; a user-defined kernel is tested first."""
        if callable(kernel):
            if bandwidth is not None:
                raise InputError(
                    "{argument} is for the kernels 'tv' and 'gaussian'; a user-defined kernel has its own bandwidth",
                    argument="bandwidth",
                )
            _check.takes(kernel, "kernel", "x, y")
            some = torch.tensor(vectors.points[:ROWS_TO_TRY_A_KERNEL], device=device)
            return cls(vectors, Similarity(_own(kernel, some)), device)
        return cls(vectors, similarity_of(vectors, kernel, bandwidth), device)

    def here(self, array: Array) -> Tensor:
        """Return an array on the device."""
        return torch.tensor(array, dtype=torch.float64, device=self.device)


def unbiased_skce(given: DeviceVectors) -> float:
    """Return the mean of h over pairs of different rows."""
    if len(given) < 2:
        raise UndefinedError("the unbiased SKCE needs at least two rows, because it is a mean over pairs")
    vectors, similarity = given.vectors, given.similarity
    values = vectors.residuals * vectors.weight[:, None]
    if vectors.score is not None and on_a_line(vectors, similarity):
        total = 2 * _line(given, values, diagonal=False)
    else:
        total = pair_form(given.here(vectors.places(similarity)), given.here(values), similarity, diagonal=False)
    return float(total) / _kernels.pair_weight(vectors.weight)


def biased_skce(given: DeviceVectors) -> float:
    """Return the mean of h over all pairs, including each row with itself.

    Equal vectors are merged first, as in the NumPy function, so that residuals cancel before they are squared.
    """
    vectors, similarity = given.vectors, given.similarity
    values = vectors.residuals * vectors.weight[:, None]
    whole = vectors.weight.sum() ** 2
    if vectors.score is not None and on_a_line(vectors, similarity):
        return float(2 * _line(given, values, diagonal=True) / whole)
    points = vectors.places(similarity)
    order = _kernels.row_order(points)
    points = points[order]
    starts = _kernels.runs(points)
    values = np.add.reduceat(values[order], starts, axis=0)
    return float(pair_form(given.here(points[starts]), given.here(values), similarity, diagonal=True)) / float(whole)


def block_skce(given: DeviceVectors, size: int) -> float:
    """Return the unbiased value of consecutive blocks of rows, averaged by the weight of their pairs."""
    vectors, rows = given.vectors, len(given) // size * size
    shape = (-1, size, vectors.points.shape[1])
    values = (vectors.residuals * vectors.weight[:, None])[:rows].reshape(shape)
    points = given.here(vectors.places(given.similarity)[:rows].reshape(shape))
    values = given.here(values)
    total = torch.zeros((), dtype=torch.float64, device=given.device)
    for start in range(0, len(points), max(1, KERNEL_ENTRIES_AT_ONCE // size**2)):
        here = slice(start, start + max(1, KERNEL_ENTRIES_AT_ONCE // size**2))
        k = _within(points[here], given.similarity)
        k.diagonal(dim1=-2, dim2=-1).zero_()
        total += ((k @ values[here]) * values[here]).sum()
    w = vectors.weight[:rows].reshape(-1, size)
    pairs = 2 * (w[:, 1:] * np.cumsum(w, axis=1)[:, :-1]).sum()
    return float(total) / float(pairs)


def _within(blocks: Tensor, similarity: Similarity) -> Tensor:
    """Return the kernel within blocks, row by row; a user-defined kernel gets one block at a time."""
    if callable(similarity.name):
        return torch.stack([between(block, block, similarity) for block in blocks])
    return between(blocks, blocks, similarity)


def _line(given: DeviceVectors, values: Array, *, diagonal: bool) -> Tensor:
    score = given.here(np.asarray(given.vectors.score))
    return line_form(score, given.here(values[:, 1]), given.similarity.bandwidth, diagonal=diagonal)


def _own(kernel: Callable[[Any, Any], Any], some: Tensor) -> Callable[[Any, Any], Any]:
    """Wrap a user-defined kernel and check its results; values and symmetry only on some rows."""

    def checked(x: Tensor, y: Tensor) -> Tensor:
        found = kernel(x.clone(), y.clone())
        if not isinstance(found, Tensor) or tuple(found.shape) != (len(x), len(y)):
            got = f"shape {tuple(found.shape)}" if isinstance(found, Tensor) else f"a {type(found).__name__}"
            raise InputError(
                f"the kernel must return a tensor of shape {(len(x), len(y))} for {len(x)} and {len(y)} rows, got {got}"
            )
        return found.detach().to(x.device, torch.float64, copy=True)

    first = checked(some, some)
    if not first.isfinite().all():
        raise InputError("the kernel returned a number that is not finite")
    if not torch.allclose(first, first.T, rtol=1e-6, atol=1e-9 * float(first.abs().max())):
        raise InputError("the kernel is not symmetric: k(x, y) and k(y, x) differ")
    return checked
