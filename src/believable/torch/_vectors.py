"""Probability vectors of the NumPy core, checked there, with their pairs summed on a device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from believable import kernels
from believable._types import Array
from believable.errors import InputError, UndefinedError
from believable.kernels import Similarity
from believable.metrics._kernel import TRIED, Kernel, Vectors, on_a_line, similarity_of
from believable.predictions import Predictions, as_predictions
from believable.torch._line import line_form
from believable.torch._tiles import between, pair_form

ENTRIES = 1 << 20  # of the kernels of blocks, made at once


@dataclass(frozen=True, slots=True, eq=False)
class DeviceVectors:
    """Vectors, a kernel with its bandwidth, and the device."""

    vectors: Vectors
    similarity: Similarity
    device: torch.device

    def __len__(self) -> int:
        return len(self.vectors)

    @classmethod
    def of(
        cls,
        predictions: Any,
        targets: Any,
        sample_weight: Any,
        from_logits: bool,
        kernel: Kernel,
        bandwidth: float | None,
        device: Any,
        *,
        what: str,
    ) -> DeviceVectors:
        """From what a function was handed."""
        if device is None:
            device = predictions.device if isinstance(predictions, Tensor) else "cpu"
        where = torch.device(device)
        if isinstance(predictions, Predictions):
            if from_logits:
                raise InputError("from_logits is said on Predictions(..., from_logits=True), not here")
            checked = as_predictions(predictions, targets, sample_weight)
        else:
            checked = Predictions(predictions, targets, sample_weight=sample_weight, from_logits=from_logits)
        vectors = Vectors.of(checked, what)
        if callable(kernel):
            if bandwidth is not None:
                raise InputError(
                    "bandwidth goes with the kernels 'tv' and 'gaussian'; a kernel of your own has its own"
                )
            some = torch.tensor(vectors.points[:TRIED], device=where)
            return cls(vectors, Similarity(_own(kernel, some)), where)
        return cls(vectors, similarity_of(vectors, kernel, bandwidth), where)

    def here(self, array: Array) -> Tensor:
        """An array, on the device."""
        return torch.tensor(array, dtype=torch.float64, device=self.device)


def unbiased_skce(given: DeviceVectors) -> float:
    """Mean of h over pairs of different rows."""
    if len(given) < 2:
        raise UndefinedError("the unbiased SKCE is about pairs of rows: it needs two")
    vectors, similarity = given.vectors, given.similarity
    values = vectors.residuals * vectors.weight[:, None]
    if vectors.score is not None and on_a_line(vectors, similarity):
        total = 2 * _line(given, values, diagonal=False)
    else:
        total = pair_form(given.here(vectors.points), given.here(values), similarity, diagonal=False)
    return float(total) / kernels.pair_weight(vectors.weight)


def biased_skce(given: DeviceVectors) -> float:
    """Mean of h over all pairs, each row with itself included.

    Equal vectors are put together first, as in the NumPy core: residuals that cancel do so before they are squared.
    """
    vectors, similarity = given.vectors, given.similarity
    values = vectors.residuals * vectors.weight[:, None]
    whole = vectors.weight.sum() ** 2
    if vectors.score is not None and on_a_line(vectors, similarity):
        return float(2 * _line(given, values, diagonal=True) / whole)
    order = kernels.row_order(vectors.points)
    points = vectors.points[order]
    starts = kernels.runs(points)
    values = np.add.reduceat(values[order], starts, axis=0)
    return float(pair_form(given.here(points[starts]), given.here(values), similarity, diagonal=True)) / float(whole)


def block_skce(given: DeviceVectors, size: int) -> float:
    """The unbiased value of consecutive blocks of rows, averaged by the weight of their pairs."""
    vectors, rows = given.vectors, len(given) // size * size
    shape = (-1, size, vectors.points.shape[1])
    values = (vectors.residuals * vectors.weight[:, None])[:rows].reshape(shape)
    points, values = given.here(vectors.points[:rows].reshape(shape)), given.here(values)
    total = torch.zeros((), dtype=torch.float64, device=given.device)
    for start in range(0, len(points), max(1, ENTRIES // size**2)):
        here = slice(start, start + max(1, ENTRIES // size**2))
        k = _within(points[here], given.similarity)
        k.diagonal(dim1=-2, dim2=-1).zero_()
        total += ((k @ values[here]) * values[here]).sum()
    w = vectors.weight[:rows].reshape(-1, size)
    pairs = 2 * (w[:, 1:] * np.cumsum(w, axis=1)[:, :-1]).sum()
    return float(total) / float(pairs)


def _within(blocks: Tensor, similarity: Similarity) -> Tensor:
    """The kernel of every row with every row of its own block; one's own kernel sees a block at a time."""
    if callable(similarity.name):
        return torch.stack([between(block, block, similarity) for block in blocks])
    return between(blocks, blocks, similarity)


def _line(given: DeviceVectors, values: Array, *, diagonal: bool) -> Tensor:
    score = given.here(np.asarray(given.vectors.score))
    return line_form(score, given.here(values[:, 1]), given.similarity.bandwidth, diagonal=diagonal)


def _own(kernel: Callable[[Any, Any], Any], some: Tensor) -> Callable[[Any, Any], Any]:
    """A kernel that came from outside, with its answers checked; values and symmetry on some rows only."""

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
