"""Tensors as rows: scores, labels and weights of any shape that classifiers return, checked and read in blocks.

Shapes and types are checked when rows are made. Checking values would mean waiting for a GPU, so on a GPU a pass counts
invalid rows as it goes, and `check_rows` is for the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from believable import _check
from believable._check import BFLOAT16_TOLERANCE, HEAVIEST_WEIGHT, LIGHTEST_WEIGHT, ROW_SUM_TOLERANCE
from believable._types import Kind
from believable.errors import Hint, InputError

ENTRIES_AT_ONCE = {"cpu": 1 << 17, "cuda": 1 << 23}  # entries converted to float64 at once
FLOAT_TYPES = (torch.bfloat16, torch.float16, torch.float32, torch.float64)  # types that torch fully supports
FRACTIONAL_LABEL = -(2**31)  # marks targets that are not integers
MOVE_CLASSES_ADVICE = "pass predictions.movedim(-1, 1)"
NOT_FINITE, OUTSIDE, NOT_ONE, NO_CLASS, BAD_WEIGHT = range(5)  # why a row is invalid, as in cuda/common.cuh
REASONS = (  # the reasons in words
    "are not finite",
    "lie outside [0, 1]",
    "do not sum to 1",
    "have a target that is no class",
    "have a weight that is negative, not finite, or too large or small for its square",
)


class Block(NamedTuple):
    """Some rows: scores of shape (m,) or (m, K) in float32 or float64, labels (m,), weights (m,) or None."""

    scores: Tensor
    labels: Tensor
    weights: Tensor | None


@dataclass(frozen=True, slots=True)
class Rows:
    """Scores and labels of the same rows; nothing is copied.

    Attributes
    ----------
    scores : Tensor
        Shape (outer, inner) for one event, (outer, K, inner) for classes; pixels and tokens are the inner axis.
    labels : Tensor
        Shape (outer, inner).
    weights : Tensor or None
        Shape (outer, inner).
    from_logits : bool
        Whether the scores are logits.
    ignore_index : int or None
        The label of rows to leave out.
    tolerance : float
        How far the sum of a row may be from 1; larger for scores in bfloat16.
    shape : tuple of int
        The shape of the targets as they were given, to name the position of a row.
    """

    scores: Tensor
    labels: Tensor
    weights: Tensor | None = None
    from_logits: bool = False
    ignore_index: int | None = None
    tolerance: float = ROW_SUM_TOLERANCE
    shape: tuple[int, ...] = ()

    @property
    def kind(self) -> Kind:
        """The kind of predictions: one event, or classes."""
        return "binary" if self.scores.ndim == 2 else "multiclass"

    @property
    def n_classes(self) -> int:
        """The number of classes; 2 for one event."""
        return 2 if self.scores.ndim == 2 else self.scores.shape[1]

    @property
    def dtype(self) -> str:
        """The type of the probabilities: softmax and sigmoid are computed in float64."""
        wide = self.from_logits or self.scores.dtype not in (torch.float32, torch.float16, torch.bfloat16)
        return "float64" if wide else "float32"

    def __len__(self) -> int:
        return self.labels.numel()

    def pieces(self, entries: int | None = None) -> Iterator[tuple[int, Block]]:
        """Yield all rows in order, in blocks that are converted to float64 at once, with the first row number."""
        entries = entries or ENTRIES_AT_ONCE.get(self.scores.device.type, ENTRIES_AT_ONCE["cpu"])
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
        """Return which rows of a block are counted: not `ignore_index`, and with weight; None if all are."""
        keep = None if self.ignore_index is None else block.labels != self.ignore_index
        if block.weights is not None:
            keep = block.weights != 0 if keep is None else keep & (block.weights != 0)
        return keep

    def blocks(self) -> Iterator[Block]:
        """Yield blocks of the counted rows, with scores in the type in which they are counted."""
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
    """Return tensors as `Rows`: targets of the same shape for one event, without axis 1 for classes."""
    ignore_index = whole_or_none(ignore_index)
    scores, labels = tensor_of(predictions, "predictions"), tensor_of(targets, "targets")
    if labels.device != scores.device:
        raise InputError(
            "{argument} are on {device}, targets on {other}: move one to the other",
            argument="predictions",
            device=scores.device,
            other=labels.device,
        )
    if scores.dtype == torch.bool:
        raise InputError(
            "{argument} must be probabilities, got torch.bool: are they the targets?", argument="predictions"
        )
    if _check.flag(from_logits, "from_logits") and not scores.is_floating_point():
        raise InputError("{argument} must be floating-point numbers, got {got}", argument="logits", got=scores.dtype)
    tolerance = BFLOAT16_TOLERANCE if scores.dtype == torch.bfloat16 else ROW_SUM_TOLERANCE
    scores = _real(scores, "predictions")
    shape = labels.shape
    if scores.shape == shape:
        scores = scores.reshape(1, -1) if scores.ndim < 2 else scores.flatten(1)
    elif scores.ndim == labels.ndim + 1 and scores.shape[:1] + scores.shape[2:] == shape:
        if scores.shape[1] < 2:
            raise InputError(
                "{argument} of shape {shape} have one column: for one event, pass predictions.squeeze(1), of the "
                "same shape as the targets",
                argument="predictions",
                shape=tuple(scores.shape),
            )
        scores = scores.unsqueeze(2) if scores.ndim == 2 else scores[..., None].flatten(2)  # also without rows
    else:
        turned = scores.shape[:-1] == labels.shape
        last = f"; if the classes are in the last axis, {MOVE_CLASSES_ADVICE}" if turned else ""
        raise InputError(
            "{argument} of shape {shape} and targets of shape {of_targets} do not belong together: targets have the "
            "same shape for one event, or no axis 1 where that is the classes'; (N, K) with (N,), (N, K, H, W) "
            "with (N, H, W){last}",
            argument="predictions",
            shape=tuple(scores.shape),
            of_targets=tuple(shape),
            last=last,
        )
    weights = None
    if sample_weight is not None:
        weights = _real(tensor_of(sample_weight, "sample_weight"), "sample_weight").to(scores.device)
        if weights.shape != shape:
            raise InputError(
                "{argument} must have the shape of the targets, {shape}, got {got}",
                argument="sample_weight",
                shape=tuple(shape),
                got=tuple(weights.shape),
            )
    flat = (1, -1) if scores.ndim == 2 and len(scores) == 1 else (scores.shape[0], -1)
    labels = labels.reshape(flat) if labels.numel() else labels.reshape(scores.shape[0], 0)
    weights = None if weights is None else weights.reshape(labels.shape)
    columns = 2 if scores.ndim == 2 else scores.shape[1]
    labels = _whole(labels, columns, ignore_index)
    return Rows(scores, labels, weights, bool(from_logits), ignore_index, tolerance, shape)


# --- shapes and types -------------------------------------------------------------------------------------------------


def whole_or_none(ignore_index: Any) -> int | None:
    """Check and return the label of rows to leave out."""
    if ignore_index is None:
        return None
    if isinstance(ignore_index, bool) or not isinstance(ignore_index, (int, np.integer)):
        raise InputError(
            "{argument} must be an integer or None, got {got!r}", argument="ignore_index", got=ignore_index
        )
    if not -(2**63) <= ignore_index < 2**63:
        raise InputError("{argument} must fit into 64 bits, got {got}", argument="ignore_index", got=ignore_index)
    return int(ignore_index)


def tensor_of(values: Any, name: str) -> Tensor:
    """Return the input as a tensor without a graph, sharing memory if possible."""
    if isinstance(values, Tensor):  # on its own device, whatever the default device
        return values.detach() if values.requires_grad else values
    try:
        return torch.as_tensor(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{name} must be a tensor, or something to make one of: {error}") from error


def _real(values: Tensor, name: str) -> Tensor:
    """Return numbers in a type that torch fully supports."""
    if values.is_complex():
        raise InputError(f"{name} must be real numbers, got {values.dtype}")
    if values.dtype in FLOAT_TYPES:
        return values
    return values.to(torch.float32 if values.is_floating_point() else torch.float64)


def _whole(labels: Tensor, n_classes: int, ignore_index: int | None) -> Tensor:
    """Return labels as integers; fractions become `FRACTIONAL_LABEL`, to be reported with other invalid labels."""
    if labels.is_floating_point():
        if n_classes - 1 > 2 / torch.finfo(labels.dtype).eps:
            raise InputError(
                "{argument} of {dtype} cannot distinguish {n_classes} classes: pass integers",
                argument="targets",
                dtype=labels.dtype,
                n_classes=n_classes,
            )
        wide = labels.double()
        return torch.where((wide == wide.round()) & (wide.abs() < -FRACTIONAL_LABEL), wide, FRACTIONAL_LABEL).long()
    if labels.is_complex():
        raise InputError("{argument} must be whole numbers, got {got}", argument="targets", got=labels.dtype)
    if labels.dtype in (torch.uint16, torch.uint32, torch.uint64):
        return labels.long()  # a type that torch can compare
    if labels.dtype == torch.bool:
        return labels
    if labels.dtype == torch.int64:
        return labels
    # torch wraps a number that is compared with bytes: 1000 would be 232, and -100 would be 156.
    span = torch.iinfo(labels.dtype)
    fits = all(span.min <= number <= span.max for number in (n_classes, ignore_index or 0))
    return labels if fits else labels.long()


# --- values: the first invalid row, and why ---------------------------------------------------------------------------


def faults(block: Block, rows: Rows) -> Tensor:
    """Return an array (reasons, rows): the first of `REASONS` that applies to each row, if any."""
    scores, labels, weights = block
    matrix = scores if scores.ndim == 2 else scores[:, None]
    bad = torch.zeros((len(REASONS), len(labels)), dtype=torch.bool, device=scores.device)
    bad[NOT_FINITE] = ~matrix.isfinite().all(dim=1)
    if not rows.from_logits:
        bad[OUTSIDE] = ((matrix < 0) | (matrix > 1)).any(dim=1)
        if scores.ndim == 2:
            bad[NOT_ONE] = (matrix.sum(dim=1, dtype=torch.float64) - 1).abs() > rows.tolerance
    bad[NO_CLASS] = (labels < 0) | (labels >= rows.n_classes)
    if weights is not None:
        bad[BAD_WEIGHT] = ~((weights >= LIGHTEST_WEIGHT) & (weights <= HEAVIEST_WEIGHT))
    return bad & (bad.cumsum(dim=0) == 1)


def check_rows(rows: Rows) -> None:
    """Raise at the first invalid row."""
    if _plainly_fine(rows):
        return
    for start, block in rows.pieces():
        bad, counted = faults(block, rows), rows.left_in(block)
        bad = bad if counted is None else bad & counted
        if bad.any():
            at = int(bad.any(dim=0).nonzero()[0, 0])
            reason = int(bad[:, at].nonzero()[0, 0])
            raise InputError(_sentence(reason, block, at, rows, _place(start + at, rows.shape)))


def _plainly_fine(rows: Rows) -> bool:
    """Return whether all rows are valid, including those left out: a quick check that nearly always suffices."""
    if not len(rows):
        return True
    scores = _span(rows.scores)
    labels = _span(rows.labels)
    low, high = (-np.finfo(float).max, np.finfo(float).max) if rows.from_logits else (0.0, 1.0)
    if not (scores[0] >= low and scores[1] <= high and labels[0] >= 0 and labels[1] < rows.n_classes):
        return False
    if rows.kind == "multiclass" and not rows.from_logits:
        sums = _span(rows.scores.sum(dim=1, dtype=torch.float64))
        if not (sums[0] >= 1 - rows.tolerance and sums[1] <= 1 + rows.tolerance):
            return False
    if rows.weights is None:
        return True
    weights = _span(rows.weights)
    if not (weights[0] >= 0 and weights[1] <= HEAVIEST_WEIGHT):
        return False
    return weights[0] >= LIGHTEST_WEIGHT or not bool(((rows.weights > 0) & (rows.weights < LIGHTEST_WEIGHT)).any())


def _span(values: Tensor) -> tuple[float, float]:
    """Return the smallest and largest value; NaN if there is one."""
    low, high = values.aminmax()
    return float(low), float(high)


def _place(row: int, shape: tuple[int, ...]) -> str:
    return f"row {row}" if len(shape) < 2 else f"position {tuple(int(i) for i in np.unravel_index(row, shape))}"


def _sentence(reason: int, block: Block, at: int, rows: Rows, place: str) -> str:
    scores = block.scores[at].double().reshape(-1)
    if reason == NOT_FINITE:
        value = float(scores[~scores.isfinite()][0])
        return f"predictions must be finite, got {value} at {place}; drop or repair such rows first"
    if reason == OUTSIDE:
        value = float(scores[(scores < 0) | (scores > 1)][0])
        far = abs(value - 0.5) > 0.5 + ROW_SUM_TOLERANCE
        hint = Hint.LOGITS_IN_FRAME if far else Hint.ROUNDING
        return f"predictions must lie in [0, 1], got {value:.8g} at {place}; {hint}"
    if reason == NOT_ONE:
        total = float(scores.sum())
        other = "" if rows.labels.shape[1] == 1 else f", or, if the classes are in the last axis, {MOVE_CLASSES_ADVICE}"
        return f"rows of predictions must sum to 1, got {total:.8g} at {place}; divide by the row sums{other}"
    if reason == NO_CLASS:
        label = int(block.labels[at])
        wanted = f"targets must be integers 0..{rows.n_classes - 1}"
        if label == FRACTIONAL_LABEL:
            return f"{wanted}, got a number that is not whole at {place}"
        return f"{wanted}, got {label} at {place}; pass ignore_index={label} if such rows are to be left out"
    weight = float(block.weights[at]) if block.weights is not None else float("nan")
    if 0 < weight < LIGHTEST_WEIGHT:
        return f"sample_weight is {weight:g} at {place}, too small to be squared; set such weights to 0"
    if HEAVIEST_WEIGHT < weight < np.inf:
        return f"sample_weight is {weight:g} at {place}, too large to be squared; divide the weights by their mean"
    return f"sample_weight must be finite and not negative, got {weight:g} at {place}"
