"""`Points`: sums of the pairs at each distinct score, which suffice for metrics and curves without bins."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from believable import _kernels
from believable._types import Array, Float64s, Int64s, Ints, Needs, Notion
from believable.binning import LOGIT_REACH
from believable.errors import UndefinedError
from believable.predictions import View
from believable.stats.readable import BinsAsked, ReadableView, same_question

if TYPE_CHECKING:
    from believable.stats.bins import BinStats
    from believable.stats.cells import CellStats


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """The pairs of one stratum (class or rank), by distinct score in ascending order.

    From predictions, the scores are those of the data; from `CellStats`, each cell becomes one point at its mean score.
    Sums may have leading axes for replicates; metrics work along the last axis.

    Attributes
    ----------
    score : ndarray
        Distinct scores.
    n : ndarray of int
        Number of pairs.
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
        """Total weight W."""
        return self.w.sum(axis=-1)

    @property
    def rate(self) -> Float64s:
        """Observed frequency at each score."""
        return np.asarray(self.wy / self.w)

    @property
    def excess(self) -> Float64s:
        """Sum of w (y - p) at each score."""
        return np.asarray(self.wy - self.w * self.score)

    @property
    def variance(self) -> Float64s:
        """Variance of `excess` if the scores are calibrated: sum of w^2 p (1 - p)."""
        return np.asarray(self.w2 * self.score * (1 - self.score))

    def gathered(self, starts: Ints) -> Points:
        """Return points with neighbours merged at their mean score; `starts` says where each begins."""
        n, w, wp = (np.add.reduceat(values, starts) for values in (self.n, self.w, self.w * self.score))
        sums = (np.add.reduceat(values, starts, axis=-1) for values in (self.wy, self.w2, self.w2y))
        return Points(wp / w, n, w, *sums)

    def merged(self, most: int) -> tuple[Points, Float64s]:
        """Return at most `most` points, merged from neighbours, and the last score of each."""
        if len(self.score) <= most:
            return self, self.score
        starts = _kernels.cell_starts(self.score, self.w, most)
        return self.gathered(starts), self.score[np.append(starts[1:], len(self.score)) - 1]


@dataclass(frozen=True, slots=True, eq=False)
class PointStats(ReadableView):
    """The points of every stratum of a view, as a sequence; resampled in place of rows, and not meant to be saved.

    `index` holds the classes or ranks of the strata, which are those with pairs.
    """

    gives: ClassVar[frozenset[Needs]] = frozenset({"cells"})
    view: View
    strata: tuple[Points, ...]
    index: tuple[int, ...] = (0,)

    def __iter__(self) -> Iterator[Points]:
        return iter(self.strata)

    def __len__(self) -> int:
        return len(self.strata)

    def __getitem__(self, i: int) -> Points:
        return self.strata[i]

    def read_bins(self, asked: BinsAsked) -> BinStats:
        """Raise an error: points are finer than bins, but have no bin edges."""
        same_question(self.view, asked.notion, asked.r, asked.threshold, asked.pooled)
        raise UndefinedError("this needs bins, which points do not have")

    def read_points(self, notion: Notion | None, r: int | None, logits: bool) -> PointStats:
        """Return the statistic itself."""
        return self


# --- two grids that counted the same pairs, combined: narrow cells in the middle and in the tails ---------------------


POINT_SUMS = ("n", "ny", "w", "wp", "wy", "w2", "w2y")


def joined(uniform: CellStats, logit: CellStats) -> Points:
    """Return the points of one stratum: logit-spaced cells in the tails, where they are narrower, uniform ones between.

    The grids share no edge at the transition. The pairs between the last logit-spaced edge of the tail and the uniform
    edge where the middle begins are the difference of what the two grids counted: counts are exact, sums of scores are
    exact except for rounding.
    """
    cells = uniform.grid.n_cells
    turn = logit.grid.n_cells / (2 * LOGIT_REACH * cells)  # p (1 - p) where cells are as wide on both grids
    if turn >= 0.25:
        return _points({name: np.asarray(getattr(logit, name), np.float64) for name in POINT_SUMS})
    edges = uniform.grid.inner_edges()
    k = math.ceil((0.5 - math.sqrt(0.25 - turn)) * cells)
    begin, end = edges[k], edges[cells - k]
    (low, high), (u_low, u_high) = _ends(logit), _ends(uniform)
    tail, head = high <= begin, low >= end
    parts = [
        _sums(logit, tail),
        _left(_sums(uniform, u_high <= begin), _sums(logit, tail), (float(high[tail].max(initial=0)), float(begin))),
        _sums(uniform, (u_low >= begin) & (u_high <= end) & (u_high > begin) & (u_low < end)),
        _left(_sums(uniform, u_low >= end), _sums(logit, head), (float(end), float(low[head].min(initial=1)))),
        _sums(logit, head),
    ]
    return _points({name: np.concatenate([part[name] for part in parts]) for name in POINT_SUMS})


def _ends(cells: CellStats) -> tuple[Array, Array]:
    """Return the lower and upper end of each non-empty cell; for {0} and {1} the two are equal."""
    edges = cells.grid.inner_edges()
    low = np.concatenate([edges[:1], edges])
    return low[cells.index], cells.grid.upper_edges()[cells.index]


def _sums(cells: CellStats, chosen: Array) -> dict[str, Array]:
    return {name: np.asarray(getattr(cells, name)[chosen], np.float64) for name in POINT_SUMS}


def _left(all_of: dict[str, Array], part: dict[str, Array], within: tuple[float, float]) -> dict[str, Array]:
    """Return what one grid counted beyond the other, as one point; empty if that is no pair."""
    n, ny, w, wp, wy, w2, w2y = (math.fsum(all_of[name]) - math.fsum(part[name]) for name in POINT_SUMS)
    if n < 0.5:
        return {name: np.empty(0) for name in POINT_SUMS}
    # Differences of large sums are rounded, so enforce the bounds that hold for any pairs.
    w = max(w, math.fsum(all_of["w"]) * np.finfo(np.float64).epsneg)
    wp = min(max(wp, w * within[0]), w * within[1])
    wy = 0.0 if ny <= 0 else w if ny >= n else min(max(wy, 0.0), w)
    w2 = max(w2, w * w / n)
    w2y = 0.0 if ny <= 0 else w2 if ny >= n else min(max(w2y, 0.0), w2)
    return {name: np.array([value]) for name, value in zip(POINT_SUMS, (n, ny, w, wp, wy, w2, w2y), strict=True)}


def _points(sums: dict[str, Array]) -> Points:
    n = np.rint(sums["n"]).astype(np.int64)
    return Points(sums["wp"] / sums["w"], n, sums["w"], sums["wy"], sums["w2"], sums["w2y"])
