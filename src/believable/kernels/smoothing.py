"""Linear smoothers: an estimate at some places is a weighted sum of the rates at the scores, whatever made the weights.

A smoother is a stream of blocks (places, scores, weights): slices of both, and a matrix whose rows sum to 1. Scores are
in ascending order, so what a place can see is a slice, and nothing as large as places times scores is ever held.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np

from believable._types import Float64s, Ints

Block: TypeAlias = tuple[slice, slice, Float64s]

ROOM = 1 << 15  # weights held at once
TIE = 1e-6  # distances that differ by less than this share are equal: ties survive float32


def smoothed(blocks: Iterable[Block], rate: Float64s, n: int) -> Float64s:
    """The estimates at n places; rates may hold replicates along leading axes."""
    found = np.empty((*rate.shape[:-1], n))
    for places, scores, weights in blocks:
        found[..., places] = rate[..., scores] @ weights.T
    return found


def smoothed_variance(blocks: Iterable[Block], variance: Float64s, n: int) -> Float64s:
    """The variances of the estimates, from those of the rates."""
    found = np.empty(n)
    for places, scores, weights in blocks:
        found[places] = weights**2 @ variance[scores]
    return found


def windows(first: Ints, last: Ints) -> Iterator[tuple[slice, slice]]:
    """Slices of places, and of all scores that one of them sees: scores first[i] to last[i] - 1 for place i."""
    start = 0
    while start < len(first):
        stop = start + max(1, ROOM // max(1, int(last[start] - first[start])))
        while True:
            low, high = int(first[start:stop].min()), int(last[start:stop].max())
            if stop == start + 1 or (min(stop, len(first)) - start) * (high - low) <= 2 * ROOM:
                break
            stop = start + max(1, (stop - start) // 2)
        yield slice(start, min(stop, len(first))), slice(low, high)
        start = stop


def nearest_distance(score: Float64s, at: Float64s) -> Float64s:
    """How far the nearest score is."""
    above = np.searchsorted(score, at).clip(0, len(score) - 1)
    below = np.maximum(above - 1, 0)
    return np.asarray(np.minimum(np.abs(score[above] - at), np.abs(score[below] - at)))


def nearest_place(score: Float64s, at: Float64s) -> Ints:
    """Which of evenly spaced places, from the first score to the last, is nearest to each score; halves go down."""
    if len(at) == 1:
        return np.zeros(len(score), np.intp)
    steps = (score - at[0]) / (at[-1] - at[0]) * (len(at) - 1)
    return np.asarray(np.ceil(steps - 0.5 - TIE), np.intp)


def cell_starts(score: Float64s, w: Float64s, most: int) -> Ints:
    """Where to cut ascending scores into at most `most` cells that are short where scores are dense, and everywhere.

    Half of the cuts are at equal distances, half at equal weights.
    """
    width = np.floor((score - score[0]) / (score[-1] - score[0]) * (most // 2 - 1))
    share = np.cumsum(w)
    share = np.floor(share / share[-1] * (most // 2 - 1))
    return np.flatnonzero(np.concatenate([[True], (np.diff(width) != 0) | (np.diff(share) != 0)]))
