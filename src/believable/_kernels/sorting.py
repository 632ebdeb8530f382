"""Sorting of scores and of pairs by their scores, and the AUC."""

from __future__ import annotations

from typing import Literal

import numpy as np

from believable._kernels.compiled import sorting as compiled
from believable._kernels.twins import twin
from believable._kernels.values import ByScore
from believable._types import Array, Float64s, Floats, Ints

SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


@twin(compiled.ascending)
def ascending(values: Array) -> Ints:
    """Return positions that sort values stably."""
    return np.argsort(values, kind="stable")


@twin(compiled.sorted_scores)
def sorted_scores(scores: Floats) -> Floats:
    """Return non-negative scores in ascending order."""
    return np.sort(scores)


@twin(compiled.sort_pairs)
def sort_pairs(score: Floats, outcome: Array, weight: Array | None) -> tuple[Floats, Array, Array | None]:
    """Return the pairs in ascending order of score.

    Scores are not negative, so their bit patterns sort like the scores and leave the sign bit free. A 0/1 outcome is
    stored there, and one plain sort replaces an argsort and two takes.
    """
    if weight is None and outcome.dtype.kind != "f":
        bits = np.dtype(f"u{score.dtype.itemsize}")
        packed = np.ascontiguousarray(score).view(bits) << bits.type(1)
        packed |= outcome != 0
        packed.sort()
        return (packed >> bits.type(1)).view(score.dtype), packed & bits.type(1), None
    order = ascending(score)
    return score[order], outcome[order], None if weight is None else weight[order]


@twin(compiled.by_score)
def by_score(score: Floats, outcome: Array, weight: Array | None) -> ByScore:
    """Return counts and sums at each distinct score; a fractional outcome counts as a share of one."""
    score, outcome, weight = sort_pairs(score, outcome, weight)
    outcome = outcome.astype(np.float64)
    starts = np.flatnonzero(np.concatenate([[True], score[1:] != score[:-1]]))
    n = np.diff(np.append(starts, len(score)))
    distinct = score[starts].astype(np.float64)

    def summed(values: Array) -> Float64s:
        return np.asarray(values if len(starts) == len(values) else np.add.reduceat(values, starts))

    if weight is None:
        w, wy = n.astype(np.float64), summed(outcome)
        return ByScore(distinct, n, w, wy, w, wy)
    weight = weight.astype(np.float64)
    first, second = weight * outcome, weight * weight
    return ByScore(distinct, n, summed(weight), summed(first), summed(second), summed(second * outcome))


@twin(compiled.at_distinct)
def at_distinct(score: Float64s, first: Float64s, second: Float64s) -> tuple[Float64s, Float64s, Float64s]:
    """Return distinct scores in ascending order, and sums of two other columns at each."""
    order = np.argsort(score)
    score, first, second = score[order], first[order], second[order]
    starts = np.flatnonzero(np.append(True, score[1:] != score[:-1]))
    if len(starts) == len(score):
        return score, first, second
    return score[starts], np.add.reduceat(first, starts), np.add.reduceat(second, starts)


@twin(compiled.auc)
def auc(scores: Array, positive: Array, negative: Array) -> float:
    """Return P(score of a positive > score of a negative) + half the ties, for given positive and negative weights."""
    if np.array_equal(positive, positive != 0) and np.array_equal(negative, positive == 0):
        above, below = np.sort(scores[positive != 0]), np.sort(scores[negative != 0])
        won = sum(int(np.searchsorted(below, above, side).sum(dtype=np.int64)) for side in SIDES)
        return won / (2 * len(above) * len(below))
    order = ascending(scores)
    ordered = scores[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    positives = np.add.reduceat(positive[order], starts)
    negatives = np.add.reduceat(negative[order], starts)
    below = np.cumsum(negatives) - negatives
    return float(np.sum(positives * (below + negatives / 2)) / (positives.sum() * negatives.sum()))
