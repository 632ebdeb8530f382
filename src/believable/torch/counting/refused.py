"""What is wrong with tensors, and where: the first row that cannot be counted.

This looks at numbers, so on a GPU it would wait for them; there, a pass counts invalid rows as it goes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from believable._check import HEAVIEST_WEIGHT, LIGHTEST_WEIGHT, ROW_SUM_TOLERANCE
from believable.errors import Hint, InputError
from believable.torch.counting.reference import faults
from believable.torch.counting.rows import NO_CLASS, TURN, Block, Rows


def check_rows(rows: Rows, shape: Any = None) -> None:
    """Raise at the first row that cannot be counted; `shape` is that of the targets, to say where it is."""
    if _plainly_fine(rows):
        return
    for start, block in rows.pieces():
        bad, counted = faults(block, rows), rows.left_in(block)
        bad = bad if counted is None else bad & counted
        if bad.any():
            at = int(bad.any(dim=0).nonzero()[0, 0])
            reason = int(bad[:, at].nonzero()[0, 0])
            raise InputError(_sentence(reason, block, at, rows, _place(start + at, shape)))


def _plainly_fine(rows: Rows) -> bool:
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
        if not (sums[0] >= 1 - rows.tolerance and sums[1] <= 1 + rows.tolerance):
            return False
    if rows.weights is None:
        return True
    weights = _span(rows.weights)
    if not (weights[0] >= 0 and weights[1] <= HEAVIEST_WEIGHT):
        return False
    return weights[0] >= LIGHTEST_WEIGHT or not bool(((rows.weights > 0) & (rows.weights < LIGHTEST_WEIGHT)).any())


def _span(values: Tensor) -> tuple[float, float]:
    """Least and largest, NaN if there is one."""
    low, high = values.aminmax()
    return float(low), float(high)


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
        hint = Hint.LOGITS_IN_FRAME if abs(value - 0.5) > 0.5 + ROW_SUM_TOLERANCE else Hint.ROUNDING
        return f"predictions must lie in [0, 1], got {value:.8g} at {place}; {hint}"
    if reason == 2:
        total = float(scores.sum())
        other = "" if rows.labels.shape[1] == 1 else f", or, if the classes are in the last axis, {TURN}"
        return f"rows of predictions must sum to 1, got {total:.8g} at {place}; divide by the row sums{other}"
    if reason == 3:
        label = int(block.labels[at])
        wanted = f"targets must be integers 0..{rows.n_classes - 1}"
        if label == NO_CLASS:
            return f"{wanted}, got a number that is not whole at {place}"
        return f"{wanted}, got {label} at {place}; pass ignore_index={label} if such rows are to be left out"
    weight = float(block.weights[at]) if block.weights is not None else float("nan")
    if 0 < weight < LIGHTEST_WEIGHT:
        return f"sample_weight is {weight:g} at {place}, too small for its square; set such weights to 0"
    if HEAVIEST_WEIGHT < weight < np.inf:
        return f"sample_weight is {weight:g} at {place}, too large for its square; divide the weights by their mean"
    return f"sample_weight must be finite and not negative, got {weight:g} at {place}"
