"""Venn–Abers prediction: isotonic fits with one more point, for every position that it could have.

Let P_0 .. P_m be the running sums (weight of negatives, weight of positives) of the points, by ascending score. A new
positive of weight 1 in gap g, after g of them, moves P_g .. P_m up by one. The fit there is the slope of the line that
touches P_0 .. P_g and the moved P_g .. P_m from below: the largest over a <= g of the smallest over b >= g of the
slopes from P_a to the moved P_b.

Let V be the corners of the fit without the new point, s and e those around gap g. That fit has one slope from s to e,
the sums between lie above it, and the new fit is no lower: so it touches at some a from s to g, and at some b in V from
e on. Hence the fit in gap g is a running maximum, over a, of the smallest slope from P_a to the corners ahead of it;
they are convex, so bisection finds it. And as b is beyond g, a tie with the point after gap g gives what the gap gives.

A new negative is the mirror image.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from believable._kernels.isotonic import pav
from believable._kernels.sorting import at_distinct
from believable._types import Array, Float64s, Ints


class VennAbersSteps(NamedTuple):
    """The two fits as step functions of the score of the new point.

    Attributes
    ----------
    low_from, low : ndarray of shape (a,), (a + 1,)
        The fit at a new negative at s is `low` at the number of `low_from` that are at most s.
    high_after, high : ndarray of shape (b,), (b + 1,)
        The fit at a new positive at s is `high` at the number of `high_after` that are less than s.
    """

    low_from: Float64s
    low: Float64s
    high_after: Float64s
    high: Float64s


def venn_abers_steps(score: Float64s, w: Float64s, wy: Float64s) -> VennAbersSteps:
    """Return the isotonic fits at a new point of weight 1, for every possible score; the points are in any order."""
    distinct, negative, positive = at_distinct(score, w - wy, wy)
    fitted = pav(negative + positive, positive)
    corners = np.flatnonzero(np.concatenate([[True], fitted[1:] > fitted[:-1], [True]]))
    against = _least_odds(_summed(negative), _summed(positive), corners)
    mirrored = len(distinct) - corners[::-1]
    in_favour = _least_odds(_summed(positive[::-1]), _summed(negative[::-1]), mirrored)[::-1]
    return VennAbersSteps(
        *_steps(distinct, in_favour / (1 + in_favour)),
        *_steps(distinct, 1 / (1 + against)),
    )


def _least_odds(lost: Float64s, won: Float64s, corners: Ints) -> Float64s:
    """Return the odds lost : won of a new point that is won, in each gap between points; sums have shape (m + 1,)."""
    first = np.arange(len(corners))
    odds, touched = _most_odds(lost, won, corners, corners, first)
    block = np.repeat(first, np.diff(corners, append=len(won)))
    # Only points below the line from the start of their block can do better, and these are few.
    end = corners[touched][block]
    better = np.flatnonzero(lost[end] - lost < odds[block] * (won[end] - won + 1))
    result = odds[block]
    result[better], _ = _most_odds(lost, won, corners, better, block[better] + 1)
    return np.asarray(np.minimum.accumulate(result))


def _most_odds(lost: Float64s, won: Float64s, corners: Ints, start: Ints, ahead: Ints) -> tuple[Float64s, Ints]:
    """Return the largest (lost_b - lost_a) / (won_b - won_a + 1) over corners b from number `ahead`, and its corner."""
    lost_to, won_to = lost[corners], won[corners]
    more_lost, more_won = np.diff(lost_to), np.diff(won_to)
    low, high = ahead, np.full(len(start), len(corners) - 1)
    lost_from, won_from = lost[start], won[start]
    while np.any(low < high):
        middle = (low + high) // 2
        edge = np.minimum(middle, len(more_lost) - 1)
        onwards = more_lost[edge] * (won_to[middle] - won_from + 1) > more_won[edge] * (lost_to[middle] - lost_from)
        onwards &= low < high
        low, high = np.where(onwards, middle + 1, low), np.where(onwards, high, middle)
    return (lost_to[low] - lost_from) / (won_to[low] - won_from + 1), low


def _summed(values: Float64s) -> Float64s:
    return np.concatenate([[0.0], np.cumsum(values)])


def _steps(score: Float64s, values: Array) -> tuple[Float64s, Float64s]:
    rises = np.flatnonzero(values[1:] > values[:-1])
    return score[rises], np.append(values[:1], values[rises + 1])
