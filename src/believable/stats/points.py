"""`Points`: pairs gathered at their distinct scores, which is all that metrics and curves without bins look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from believable import kernels
from believable._types import Float64s, Int64s, Ints
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

    def gathered(self, starts: Ints) -> Points:
        """Neighbouring scores in one, which stands at their mean; `starts` says where each begins."""
        n, w, wp = (np.add.reduceat(values, starts) for values in (self.n, self.w, self.w * self.score))
        sums = (np.add.reduceat(values, starts, axis=-1) for values in (self.wy, self.w2, self.w2y))
        return Points(wp / w, n, w, *sums)

    def merged(self, most: int) -> tuple[Points, Float64s]:
        """At most `most` points, and the last score that each stands for."""
        if len(self.score) <= most:
            return self, self.score
        starts = kernels.cell_starts(self.score, self.w, most)
        return self.gathered(starts), self.score[np.append(starts[1:], len(self.score)) - 1]


@dataclass(frozen=True, slots=True, eq=False)
class PointStats:
    """The points of every group of a view; what is resampled in place of rows, and not meant to be kept.

    `index` says which classes or ranks these are: those that have pairs.
    """

    view: View
    groups: tuple[Points, ...]
    index: tuple[int, ...] = (0,)
