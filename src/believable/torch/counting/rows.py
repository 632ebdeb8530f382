"""Tensors as rows: scores, labels and weights of any shape that classifiers give, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from believable._check import BFLOAT16_TOLERANCE, ROW_SUM_TOLERANCE
from believable._types import Kind
from believable.errors import InputError

BLOCK = {"cpu": 1 << 17, "cuda": 1 << 23}  # entries that are turned into float64 at once
FLOATS = (torch.bfloat16, torch.float16, torch.float32, torch.float64)  # with which torch can do everything
NO_CLASS = -(2**31)  # stands for targets that are no whole numbers
TURN = "pass predictions.movedim(-1, 1)"


class Block(NamedTuple):
    """Some rows: scores of shape (m,) or (m, K) in float32 or float64, labels (m,), weights (m,) or None."""

    scores: Tensor
    labels: Tensor
    weights: Tensor | None


@dataclass(frozen=True, slots=True)
class Rows:
    """Scores and labels that belong together; nothing is copied.

    Attributes
    ----------
    scores : Tensor
        Of shape (outer, inner) for one event, (outer, K, inner) for classes: pixels and tokens are the inner axis.
    labels : Tensor
        Of shape (outer, inner).
    weights : Tensor or None
        Of shape (outer, inner).
    from_logits : bool
        Whether the scores are logits.
    ignore_index : int or None
        The label of rows to leave out.
    tolerance : float
        How far probabilities of a row may be from a sum of 1: more for scores that came in bfloat16.
    """

    scores: Tensor
    labels: Tensor
    weights: Tensor | None = None
    from_logits: bool = False
    ignore_index: int | None = None
    tolerance: float = ROW_SUM_TOLERANCE

    @property
    def kind(self) -> Kind:
        """One event, or classes."""
        return "binary" if self.scores.ndim == 2 else "multiclass"

    @property
    def n_classes(self) -> int:
        """Columns; 2 for one event."""
        return 2 if self.scores.ndim == 2 else self.scores.shape[1]

    @property
    def dtype(self) -> str:
        """The type of the probabilities: softmax and sigmoid are taken in float64."""
        wide = self.from_logits or self.scores.dtype not in (torch.float32, torch.float16, torch.bfloat16)
        return "float64" if wide else "float32"

    def __len__(self) -> int:
        return self.labels.numel()

    def pieces(self) -> Iterator[tuple[int, Block]]:
        """All rows in order, in blocks of what is turned into float64 at once, with the number of the first row."""
        entries = BLOCK.get(self.scores.device.type, BLOCK["cpu"])
        width = 1 if self.kind == "binary" else self.n_classes
        outer, inner = self.labels.shape
        step = max(1, min(inner, entries // width))
        several = max(1, entries // (width * step))
        for first in range(0, outer, several):
            for start in range(0, inner, step):
                here = slice(first, first + several), slice(start, start + step)
                scores = self.scores[here] if width == 1 else self.scores[here[0], :, here[1]].movedim(1, 2)
                scores = scores.reshape(-1) if width == 1 else scores.reshape(-1, width)
                weights = None if self.weights is None else self.weights[here].reshape(-1).double()
                yield first * inner + start, Block(scores, self.labels[here].reshape(-1), weights)

    def left_in(self, block: Block) -> Tensor | None:
        """Which rows of a block are counted: those of another label than `ignore_index`, with weight. None: all."""
        keep = None if self.ignore_index is None else block.labels != self.ignore_index
        if block.weights is not None:
            keep = block.weights != 0 if keep is None else keep & (block.weights != 0)
        return keep

    def blocks(self) -> Iterator[Block]:
        """The rows that are left in, block by block, their scores in the type in which they are counted."""
        for _, block in self.pieces():
            keep = self.left_in(block)
            if keep is not None:
                block = Block(*(None if part is None else part[keep] for part in block))
            yield block._replace(scores=block.scores.to(getattr(torch, self.dtype)))


def rows_of(
    predictions: Any,
    targets: Any,
    sample_weight: Any = None,
    *,
    from_logits: bool,
    ignore_index: int | None = None,
) -> Rows:
    """Tensors as `Rows`: targets of the same shape for one event, without axis 1 of the predictions for classes."""
    ignore_index = whole_or_none(ignore_index)
    scores, labels = tensor_of(predictions, "predictions"), tensor_of(targets, "targets")
    if labels.device != scores.device:
        raise InputError(f"predictions are on {scores.device}, targets on {labels.device}: move one to the other")
    if scores.dtype == torch.bool:
        raise InputError("predictions must be probabilities, got torch.bool: are they the targets?")
    if from_logits and not scores.is_floating_point():
        raise InputError(f"logits must be floating-point numbers, got {scores.dtype}")
    tolerance = BFLOAT16_TOLERANCE if scores.dtype == torch.bfloat16 else ROW_SUM_TOLERANCE
    scores = _real(scores, "predictions")
    shape = tuple(labels.shape)
    if tuple(scores.shape) == shape:
        scores = scores.reshape(1, -1) if scores.ndim < 2 else scores.flatten(1)
    elif scores.ndim == labels.ndim + 1 and (*scores.shape[:1], *scores.shape[2:]) == shape:
        if scores.shape[1] < 2:
            raise InputError(
                f"predictions of shape {tuple(scores.shape)} have one column: for one event, pass "
                "predictions.squeeze(1), of the same shape as the targets"
            )
        scores = scores[..., None].flatten(2)  # no rows, too
    else:
        last = f"; if the classes are in the last axis, {TURN}" if scores.shape[:-1] == labels.shape else ""
        raise InputError(
            f"predictions of shape {tuple(scores.shape)} and targets of shape {shape} do not belong together: "
            "targets have the same shape for one event, or no axis 1 where that is the classes'; (N, K) with (N,), "
            f"(N, K, H, W) with (N, H, W){last}"
        )
    weights = None
    if sample_weight is not None:
        weights = _real(tensor_of(sample_weight, "sample_weight"), "sample_weight").to(scores.device)
        if tuple(weights.shape) != shape:
            raise InputError(f"sample_weight must have the shape of the targets, {shape}, got {tuple(weights.shape)}")
    flat = (1, -1) if scores.ndim == 2 and len(scores) == 1 else (scores.shape[0], -1)
    labels = labels.reshape(flat) if labels.numel() else labels.reshape(scores.shape[0], 0)
    weights = None if weights is None else weights.reshape(labels.shape)
    columns = 2 if scores.ndim == 2 else scores.shape[1]
    labels = _whole(labels, columns, ignore_index)
    return Rows(scores, labels, weights, bool(from_logits), ignore_index, tolerance)


# --- what tensors have to be ------------------------------------------------------------------------------------------


def whole_or_none(ignore_index: Any) -> int | None:
    """The label of rows to leave out, checked."""
    if ignore_index is None:
        return None
    if isinstance(ignore_index, bool) or not isinstance(ignore_index, (int, np.integer)):
        raise InputError(f"ignore_index must be an integer or None, got {ignore_index!r}")
    return int(ignore_index)


def tensor_of(values: Any, name: str) -> Tensor:
    """What was given as a tensor without a graph, sharing its memory where it can."""
    if isinstance(values, Tensor):  # where it is, whatever the default device
        return values.detach()
    try:
        return torch.as_tensor(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{name} must be a tensor, or something to make one of: {error}") from error


def _real(values: Tensor, name: str) -> Tensor:
    """Numbers of a type with which torch can do everything."""
    if values.is_complex():
        raise InputError(f"{name} must be real numbers, got {values.dtype}")
    return (
        values if values.dtype in FLOATS else values.to(torch.float32 if values.is_floating_point() else torch.float64)
    )


def _whole(labels: Tensor, n_classes: int, ignore_index: int | None) -> Tensor:
    """Labels as integers; what is not whole becomes `NO_CLASS`, so that it is found with the others."""
    if labels.is_floating_point():
        if n_classes - 1 > 2 / torch.finfo(labels.dtype).eps:
            raise InputError(f"targets of {labels.dtype} cannot tell {n_classes} classes apart: pass integers")
        wide = labels.double()
        return torch.where((wide == wide.round()) & (wide.abs() < -NO_CLASS), wide, NO_CLASS).long()
    if labels.is_complex():
        raise InputError(f"targets must be whole numbers, got {labels.dtype}")
    if labels.dtype in (torch.uint16, torch.uint32, torch.uint64):
        return labels.long()  # which torch can compare
    if labels.dtype == torch.bool:
        return labels
    # To compare bytes with a number, torch wraps the number round: 1000 would be 232, and -100 be 156.
    span = torch.iinfo(labels.dtype)
    fits = all(span.min <= number <= span.max for number in (n_classes, ignore_index or 0))
    return labels if fits else labels.long()
