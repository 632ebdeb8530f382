"""The cumulative gap between outcomes and scores, which the Kolmogorov–Smirnov and Kuiper errors and tests look at."""

from __future__ import annotations

from typing import Any

import numpy as np

from believable.points import Points


def gap_extremes(points: Points) -> tuple[Any, Any]:
    """Lowest and highest value of C(s) = sum over p_i <= s of w_i (y_i - p_i) / W, which starts from 0."""
    gap = np.cumsum(points.excess, axis=-1)
    return np.minimum(gap.min(axis=-1), 0) / points.total, np.maximum(gap.max(axis=-1), 0) / points.total


def largest_gap(points: Points) -> Any:
    """max |C|."""
    low, high = gap_extremes(points)
    return np.maximum(-low, high)


def gap_range(points: Points) -> Any:
    """max C - min C."""
    low, high = gap_extremes(points)
    return high - low
