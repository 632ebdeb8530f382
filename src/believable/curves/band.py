"""A band that holds for a whole curve."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from believable import _kernels
from believable._types import Array, Float64s
from believable.stats.source import Points

Band: TypeAlias = Literal["pointwise", "simultaneous"]
BANDS = ("pointwise", "simultaneous")
MAX_BAND_POINTS = 500  # more distinct scores are merged for a band


def starts_of_groups(points: Points) -> Array:
    """Return where each of at most 500 groups of neighbouring points begins; groups have nearly equal weight."""
    if len(points.score) <= MAX_BAND_POINTS:
        return np.arange(len(points.score))
    last = np.unique(_kernels.quantile_positions(_kernels.running_sum(points.w), MAX_BAND_POINTS))
    starts = np.append(0, last + 1)
    return starts[starts < len(points.score)]


def isotonic_band(points: Points, at: Array, level: float) -> tuple[Float64s, Float64s]:
    r"""Return a band that contains the whole curve of true rates with this probability, if rates never decrease.

    The rate at a score x is at least the mean rate of any range of scores up to x, and at most that of any range from x
    on. With m distinct scores there are m (m + 1) / 2 ranges; each has an exact lower and upper bound at the level
    (1 - level) / (m (m + 1)), and the band consists of the best of them:

    .. math::
        L(x) = \max_{j \le k,\; s_k \le x} l_{jk}, \qquad U(x) = \min_{j \le k,\; s_j \ge x} u_{jk}

    With more than 500 distinct scores, neighbours are merged into at most 500 groups of nearly equal weight first. This
    keeps the guarantee. With weights, a range counts as (sum w)^2 / sum w^2 rows, which is approximate.

    References
    ----------
    Dimitriadis, Dümbgen, Henzi, Puke, Ziegel (2023), Biometrika.
    """
    starts = starts_of_groups(points)
    first, last = points.score[starts], points.score[np.append(starts[1:], len(points.score)) - 1]
    sums = [np.append(0.0, np.cumsum(np.add.reduceat(one, starts))) for one in (points.w, points.w2, points.wy)]
    m = len(starts)
    alpha = 2 * (1 - level) / (m * (m + 1))
    low, high = np.zeros(m), np.ones(m)
    for j in range(m):  # the ranges that begin with group j
        w, w2, wy = (one[j + 1 :] - one[j] for one in sums)
        least, most = _kernels.exact_interval(np.clip(wy / w, 0, 1), w**2 / w2, alpha)
        low[j:] = np.maximum(low[j:], least)
        high[j] = most.min()
    low, high = np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]
    ended, begun = np.searchsorted(last, at, side="right"), np.searchsorted(first, at, side="left")
    return np.append(0.0, low)[ended], np.append(high, 1.0)[begun]
