"""What is wrong with tensors, and where: the first row that cannot be counted.

This looks at numbers, so on a GPU it would wait for them; there, a pass counts invalid rows as it goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from believable._check import BFLOAT16_TOLERANCE, ROW_SUM_TOLERANCE
from believable.errors import InputError
from believable.torch._reference import faults
from believable.torch._rows import BLOCK, Block, Rows

LOGITS = "; these look like logits: pass from_logits=True"


def check_rows(rows: Rows, shape: Any = None) -> None:
    """Raise at the first row that cannot be counted; `shape` is that of the targets, to say where it is."""
    tolerance = BFLOAT16_TOLERANCE if rows.scores.dtype == torch.bfloat16 else ROW_SUM_TOLERANCE
    if _plainly_fine(rows, tolerance):
        return
    for start, block in _pieces(rows):
        bad = faults(block, rows, tolerance) & _counted(block, rows)
        if bad.any():
            at = int(bad.any(dim=0).nonzero()[0, 0])
            reason = int(bad[:, at].nonzero()[0, 0])
            raise InputError(_sentence(reason, block, at, rows, _place(start + at, shape)))


def _plainly_fine(rows: Rows, tolerance: float) -> bool:
    """Whether all rows are valid, those that are left out included: a quick look that is nearly always enough."""
    if not len(rows):
        return True
    scores = _span(rows.scores)
    labels = _span(rows.labels)
    low, high = (-np.finfo(float).max, np.finfo(float).max) if rows.from_logits else (0.0, 1.0)
    if not (scores[0] >= low and scores[1] <= high and labels[0] >= 0 and labels[1] < rows.n_classes):
        return False
    if rows.kind == "multiclass" and not rows.from_logits:
        sums = _span(rows.scores.sum(dim=1, dtype=torch.float64))
        if not (sums[0] >= 1 - tolerance and sums[1] <= 1 + tolerance):
            return False
    if rows.weights is None:
        return True
    weights = _span(rows.weights)
    return weights[0] >= 0 and weights[1] < np.inf


def _span(values: Tensor) -> tuple[float, float]:
    """Least and largest, NaN if there is one."""
    low, high = values.aminmax()
    return float(low), float(high)


def _pieces(rows: Rows) -> Iterator[tuple[int, Block]]:
    """All rows in order, with the number of the first of each block."""
    width = 1 if rows.kind == "binary" else rows.n_classes
    outer, inner = rows.labels.shape
    step = max(1, min(inner, BLOCK["cpu"] // width))
    several = max(1, BLOCK["cpu"] // (width * step)) if step == inner else 1
    for first in range(0, outer, several):
        for start in range(0, inner, step):
            here = slice(first, first + several), slice(start, start + step)
            scores = rows.scores[here] if width == 1 else rows.scores[here[0], :, here[1]].movedim(1, 2)
            weights = None if rows.weights is None else rows.weights[here].reshape(-1)
            flat = scores.reshape(-1) if width == 1 else scores.reshape(-1, width)
            yield first * inner + start, Block(flat, rows.labels[here].reshape(-1), weights)


def _counted(block: Block, rows: Rows) -> Tensor:
    """Which rows are not left out."""
    keep = torch.ones_like(block.labels, dtype=torch.bool)
    if rows.ignore_index is not None:
        keep = block.labels != rows.ignore_index
    return keep if block.weights is None else keep & (block.weights != 0)


def _place(row: int, shape: Any) -> str:
    shape = () if shape is None else tuple(shape)
    return f"row {row}" if len(shape) < 2 else f"position {tuple(int(i) for i in np.unravel_index(row, shape))}"


def _sentence(reason: int, block: Block, at: int, rows: Rows, place: str) -> str:
    scores = block.scores[at].double().reshape(-1)
    if reason == 0:
        value = float(scores[~scores.isfinite()][0])
        return f"predictions must be finite, got {value} at {place}; drop or repair such rows first"
    if reason == 1:
        value = float(scores[(scores < 0) | (scores > 1)][0])
        advice = LOGITS if abs(value - 0.5) > 0.5 + ROW_SUM_TOLERANCE else "; if this is rounding, clip them first"
        return f"predictions must lie in [0, 1], got {value:.8g} at {place}{advice}"
    if reason == 2:
        total = float(scores.sum())
        return f"rows of predictions must sum to 1, got {total:.8g} at {place}; divide by the row sums"
    if reason == 3:
        label = int(block.labels[at])
        wanted = f"targets must be integers 0..{rows.n_classes - 1}"
        if label == -(2**31):
            return f"{wanted}, got a number that is not whole at {place}"
        return f"{wanted}, got {label} at {place}; pass ignore_index={label} if such rows are to be left out"
    weight = float(block.weights[at]) if block.weights is not None else float("nan")
    return f"sample_weight must be finite and not negative, got {weight:g} at {place}"
