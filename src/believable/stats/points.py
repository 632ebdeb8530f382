"""`Points`: pairs gathered at their distinct scores, which is all that metrics and curves without bins look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from believable._types import Array, Float64s, Int64s
from believable.views import View


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """The pairs of one group (class, rank), by distinct score in ascending order.

    From predictions the scores are those of the data; from `CellStats` each cell stands at its mean score. Sums may
    have leading axes, one entry for each of many replicates; what reads them works along the last.

    Attributes
    ----------
    score : ndarray
    n : ndarray of int
        Pairs.
    w, wy : ndarray
        Sums of w and w y.
    w2, w2y : ndarray
        Sums of w^2 and w^2 y, for variances.
    """

    score: Float64s
    n: Int64s
    w: Float64s
    wy: Float64s
    w2: Float64s
    w2y: Float64s

    @property
    def total(self) -> Any:
        """W, the weight of all."""
        return self.w.sum(axis=-1)

    @property
    def rate(self) -> Float64s:
        """Mean outcome at each score."""
        return np.asarray(self.wy / self.w)

    @property
    def excess(self) -> Float64s:
        """Sum of w (y - p) at each score."""
        return np.asarray(self.wy - self.w * self.score)

    @property
    def variance(self) -> Float64s:
        """Variance of `excess` if outcomes happened at the rates of the scores: sum of w^2 p (1 - p)."""
        return np.asarray(self.w2 * self.score * (1 - self.score))

    def merged(self, most: int) -> tuple[Points, Float64s]:
        """At most `most` points, neighbours standing together at their mean score; and the last score of each.

        Half of the cells are of equal width and half of equal weight, so that neither a crowd of scores nor the
        distance between them is lost.
        """
        if len(self.score) <= most:
            return self, self.score
        half = most // 2
        reached = np.cumsum(self.w) - self.w / 2
        cell = np.floor(half * self.score) + np.floor(half * reached / self.w.sum())
        starts = np.flatnonzero(np.concatenate([[True], cell[1:] != cell[:-1]]))

        def summed(values: Array) -> Array:
            return np.asarray(np.add.reduceat(values, starts))

        w = summed(self.w)
        sums = (summed(self.n), w, summed(self.wy), summed(self.w2), summed(self.w2y))
        return Points(summed(self.w * self.score) / w, *sums), self.score[np.append(starts[1:], len(cell)) - 1]


@dataclass(frozen=True, slots=True, eq=False)
class PointStats:
    """The points of every group of a view; what is resampled in place of rows, and not meant to be kept."""

    view: View
    groups: tuple[Points, ...]
