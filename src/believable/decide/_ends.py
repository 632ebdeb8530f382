"""The two ends of intervals around scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from believable import _check
from believable._types import Float64s
from believable.errors import InputError

ROUNDING = 1e-6  # scores may lie outside their interval by so much: float32 knows no better


def interval_ends(interval: Any, scores: Float64s) -> tuple[Float64s, Float64s]:
    """Low and high ends from a tuple (low, high) or an array of shape (n, 2); the scores must lie between them."""
    if isinstance(interval, tuple):
        if len(interval) != 2:
            raise InputError(
                f"interval must be (low, high) or an array of shape (n, 2), got a tuple of {len(interval)}"
            )
        low, high = (_check.numeric(end, "interval").astype(np.float64) for end in interval)
        low, high = (np.full(scores.shape, end) if end.ndim == 0 else end for end in (low, high))
    else:
        both = _check.numeric(interval, "interval").astype(np.float64)
        if both.ndim != 2 or both.shape[1] != 2:
            raise InputError(f"interval must be (low, high) or an array of shape (n, 2), got shape {both.shape}")
        low, high = both.T
    if low.shape != scores.shape or high.shape != scores.shape:
        raise InputError(
            f"interval must have two ends for each of {len(scores)} rows, got {low.shape} and {high.shape}"
        )
    for end in (low, high):
        _check.finite(end, "interval", None)
    slack = ROUNDING * np.maximum(np.abs(scores), 1)
    upside_down = np.flatnonzero(low > high)
    if len(upside_down):
        row = upside_down[0]
        raise InputError(f"interval must have its low end first, got {low[row]:g} and {high[row]:g} at row {row}")
    outside = np.flatnonzero((scores < low - slack) | (scores > high + slack))
    if len(outside):
        row = outside[0]
        raise InputError(
            f"the score {scores[row]:g} at row {row} lies outside its interval {low[row]:g} … {high[row]:g}; pass "
            "intervals of these scores (after recalibration, the recalibrated scores)"
        )
    return low, high
