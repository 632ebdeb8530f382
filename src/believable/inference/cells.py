"""The cells of a statistic, for resampling, and the way back from cells to a statistic."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np

from believable._types import Array, Float64s, Floats, Int64s, Ints
from believable.stats import BinStats
from believable.stats.points import PointStats

NO_CHANCE = 1e-12  # smaller probabilities count as this one
ABSENT_SHARE = 1e-12  # relative weight given to a cell that is empty in a replicate
# Cells of all strata are grouped by score and by rank, into so many groups of each, with about ten cells in a rank.
GROUPS_OF_SCORES, GROUPS_OF_RANKS, CELLS_PER_GROUP = 8, (4, 20), 10
EVENTS_BEFORE_POOLING = 30.0  # a cell's own events count as much as the pooled rate if there are so many
PRIOR_PRECISION_OF_SLOPE = 4.0  # the slope of outcomes on scores within a bin is 1 with a standard error of 1/2
BINS_PER_KEPT_PAIR, MOST_KEPT_PAIRS = 15, 8  # one pair of each bin is kept for so many bins
VARIANCE_OF_NORMAL_COUNT = 100.0  # counts of a larger variance are drawn from the normal distribution


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Cells(ABC):
    """The non-empty bins, or the points, of all strata.

    Attributes
    ----------
    w, conf, wy : ndarray
        Weight, mean score and weighted outcomes of each cell.
    size : ndarray
        Effective number of pairs, (sum w)^2 / sum w^2.
    spread : ndarray
        Variance of the scores within each cell.
    stratum : ndarray
        Class or rank of each cell.
    """

    statistic: Any
    n: Int64s
    w: Float64s
    conf: Float64s
    wy: Float64s
    size: Float64s
    spread: Float64s
    stratum: Int64s
    are_bins: ClassVar[bool]

    def __len__(self) -> int:
        return len(self.w)

    @property
    def gap(self) -> Float64s:
        """Mean outcome minus mean score of each cell."""
        return np.asarray(self.wy / self.w - self.conf)

    def variance(self, rate: Float64s) -> Float64s:
        """Return the variance of one outcome in a cell of this mean rate, if rates vary as much as scores within it."""
        largest = rate * (1 - rate)
        return np.asarray(np.maximum(largest - np.where(largest > 0, self.spread, 0), 0))

    def as_observed(self) -> Cells:
        """Return cells whose outcomes vary as the data do, instead of as those of calibrated scores."""
        return self

    @abstractmethod
    def with_outcomes(self, wy: Float64s, w: Float64s | None = None) -> Any:
        """Return the statistic with other outcomes (and weights); leading axes are replicates."""

    @abstractmethod
    def locate(self, score: Floats, stratum: Ints | None) -> Ints:
        """Return the cell of each pair."""

    def draw(self, rate: Float64s, rng: np.random.Generator, n_draws: int) -> Float64s:
        """Draw outcomes of the same pairs, with this rate in each cell.

        The outcomes of a cell are a sum of Bernoulli variables with different rates; a binomial variable of the same
        mean and variance approximates it.
        """
        rate = np.broadcast_to(rate, (n_draws, len(self)))
        drawn = matched(rng, np.broadcast_to(self.size, rate.shape), rate, self.variance(rate))
        return np.asarray(self.w * drawn / self.size)

    def times(self, rng: np.random.Generator, n_draws: int) -> Float64s:
        """Draw how many pairs new samples of the same size have in each cell, as a multiple of the observed number.

        A bin keeps at least one pair, and up to eight if there are many bins. New samples also fall into bins that are
        empty in this one, so they have about as many sparse bins as this one, and as much noise; resampling the
        non-empty bins alone would give less.
        """
        kept = np.minimum(self.n, np.clip(len(self) // BINS_PER_KEPT_PAIR, 1, MOST_KEPT_PAIRS)) * self.are_bins
        left = self.n - kept
        if not left.any():
            return np.ones((n_draws, len(self)))
        return np.asarray((kept + rng.multinomial(int(left.sum()), left / left.sum(), n_draws)) / self.n)

    def draw_anew(self, rate: Float64s, rng: np.random.Generator, times: Float64s) -> tuple[Float64s, Float64s]:
        """Draw outcomes and weights of new samples that have `times` as many pairs in each cell."""
        size = self.size * times
        drawn = matched(rng, size, rate, self.variance(rate))
        share = np.divide(drawn, size, out=np.broadcast_to(self.conf, rate.shape).copy(), where=size > 0)
        w = self.w * np.maximum(times, ABSENT_SHARE)
        return w * share, w


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BinCells(Cells):
    """The non-empty bins of a `BinStats`."""

    statistic: BinStats
    are_bins: ClassVar[bool] = True

    @classmethod
    def of(cls, stats: BinStats) -> BinCells:
        """Return the cells of a `BinStats`."""
        return cls(
            statistic=stats,
            n=stats.n,
            w=stats.w,
            conf=stats.conf,
            wy=stats.wy,
            size=stats.effective_n,
            spread=np.maximum(np.nan_to_num(stats.wpp / stats.w - stats.conf**2), 0),
            stratum=stats.stratum,
        )

    def as_observed(self) -> BinCells:
        """Return cells whose outcomes vary as the data do, instead of as those of calibrated scores.

        A gap of a bin varies like y - p, whose variance is r (1 - r) + Var(p) - 2 Cov(p, y). If the scores are
        calibrated, Cov(p, y) = Var(p). The slope of outcomes on scores within bins is estimated for bins of similar
        scores, then for each bin, and shrunk towards 1.
        """
        stats = self.statistic
        covariance = np.nan_to_num(stats.wpy / stats.w - self.conf * self.wy / self.w)
        precision = self.size / np.maximum(pooled_variance(self) * self.size, 1e-9)
        group = groups_of_scores(self.conf)
        known, seen = precision * self.spread, precision * covariance

        def slope(known: Array, seen: Array, before: Any) -> Any:
            return (seen + before * PRIOR_PRECISION_OF_SLOPE) / (known + PRIOR_PRECISION_OF_SLOPE)

        typical = slope(np.bincount(group, known), np.bincount(group, seen), 1.0)[group]
        return replace(self, spread=self.spread * (2 * slope(known, seen, typical) - 1))

    def with_outcomes(self, wy: Float64s, w: Float64s | None = None) -> BinStats:
        """Return the bins with other outcomes (and weights); leading axes are replicates."""
        if w is None:
            return replace(self.statistic, wy=wy)
        return replace(self.statistic, w=w, wp=w * self.conf, wy=wy)

    def with_products(self, wy: Float64s) -> BinStats:
        """Return the bins with drawn outcomes, and with the sums of w p y that such outcomes have on average."""
        stats = self.with_outcomes(wy)
        return replace(stats, wpy=stats.wpp + stats.conf * (wy - stats.wp))

    def locate(self, score: Floats, stratum: Ints | None) -> Ints:
        """Return the cell of each pair."""
        stats = self.statistic
        if len(stats.edges) == 1:
            index = stats.edges[0].index(score)
        else:
            assert stratum is not None
            index = np.empty(len(score), np.intp)
            for g in range(len(stats.edges)):
                here = np.flatnonzero(stratum == g)
                index[here] = stats.edges[g].index(score[here])
        key = index if stratum is None else stratum.astype(np.int64) * stats.per_stratum + index
        return np.searchsorted(stats.key, key)


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PointCells(Cells):
    """Points, possibly merged from neighbours; `last_scores` holds the last score of each, stratum by stratum."""

    statistic: PointStats
    last_scores: list[Float64s]
    are_bins: ClassVar[bool] = False

    @classmethod
    def of(cls, stats: PointStats, last_scores: list[Float64s]) -> PointCells:
        """Return the cells of a `PointStats`."""
        n, w, conf, wy, w2 = (
            np.concatenate([getattr(points, name) for points in stats]) for name in ("n", "w", "score", "wy", "w2")
        )
        return cls(
            statistic=stats,
            last_scores=last_scores,
            n=n,
            w=w,
            conf=conf,
            wy=wy,
            size=w**2 / w2,
            spread=np.zeros(len(w)),
            stratum=np.repeat(np.arange(len(stats)), [len(points.score) for points in stats]),
        )

    def with_outcomes(self, wy: Float64s, w: Float64s | None = None) -> PointStats:
        """Return the points with other outcomes but the same weights; leading axes are replicates."""
        ends = np.cumsum([len(points.score) for points in self.statistic])[:-1]
        parts = zip(self.statistic, np.split(wy, ends, axis=-1), strict=True)
        strata = (replace(points, wy=part, w2y=part * (points.w2 / points.w)) for points, part in parts)
        return replace(self.statistic, strata=tuple(strata))

    def locate(self, score: Floats, stratum: Ints | None) -> Ints:
        """Return the cell of each pair."""
        if stratum is None:
            return np.searchsorted(self.last_scores[0], score)
        starts = np.cumsum([0, *(len(last) for last in self.last_scores)])
        cell = np.empty(len(score), np.intp)
        for i, g in enumerate(self.statistic.index):
            here = np.flatnonzero(stratum == g)
            cell[here] = starts[i] + np.searchsorted(self.last_scores[i], score[here])
        return cell


def groups_of_scores(score: Float64s) -> Int64s:
    """Return a group of each cell, by its score and its rank among all cells; all strata have the same groups."""
    rank = np.argsort(np.argsort(score, kind="stable"), kind="stable") / len(score)
    n_ranks = np.clip(len(score) // CELLS_PER_GROUP, *GROUPS_OF_RANKS)
    code = np.floor(GROUPS_OF_SCORES * np.minimum(score, 1 - 1e-9)) + np.floor(n_ranks * rank)
    return np.unique(code, return_inverse=True)[1].astype(np.int64)


def pooled_rate(cells: Cells) -> Float64s:
    """Return the rate of each cell, shrunk towards what cells of similar scores in all strata show."""
    group = groups_of_scores(cells.conf)

    def pooled(events: Float64s) -> Array:
        return np.bincount(group, events)[group]

    events = np.clip(cells.wy / cells.w, 0, 1) * cells.size
    size, happened, expected = pooled(cells.size), pooled(events), pooled(cells.conf * cells.size)
    odds = np.maximum(cells.conf, NO_CHANCE) / np.maximum(1 - cells.conf, NO_CHANCE)
    odds *= (happened + 0.25) / np.maximum(expected, NO_CHANCE)
    odds *= np.maximum(size - expected, NO_CHANCE) / (size - happened + 0.25)
    least = 0.5 / (size + 1)  # what no event in a group of cells leaves possible
    centre = np.clip(odds / (1 + odds), least, 1 - least)
    share = (happened + 0.25) / (size + 0.5)
    weight = EVENTS_BEFORE_POOLING / np.minimum(share, 1 - share)
    return np.asarray((events + weight * centre) / (cells.size + weight))


def pooled_variance(cells: Cells) -> Float64s:
    """Return the variance of the gaps at pooled rates.

    A variance that depends on a cell's own few outcomes would give cells with an event less weight than those without,
    and so bias what they say together.
    """
    return np.asarray(np.maximum(cells.variance(pooled_rate(cells)), 1e-9) / cells.size)


def matched(rng: np.random.Generator, size: Float64s, rate: Float64s, variance: Float64s) -> Array:
    """Draw numbers of mean size * rate and variance size * variance: binomial for the rarer outcome, or normal.

    Where the variance is larger than that of a binomial variable, its distance from the mean is stretched.
    """
    if float((size * variance).min(initial=np.inf)) > VARIANCE_OF_NORMAL_COUNT:
        return np.asarray(size * rate + np.sqrt(size * variance) * rng.standard_normal(rate.shape))
    rare = np.minimum(rate, 1 - rate)
    most = rare * (1 - rare)
    beyond = variance > most + 1e-12  # not by rounding: certain outcomes stay certain
    if beyond.any():
        stretch = np.sqrt(np.divide(variance, most, out=np.ones(rate.shape), where=beyond & (most > 0)))
        drawn = matched(rng, size, rate, np.minimum(variance, most))
        return np.asarray(size * rate + stretch * (drawn - size * rate))
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = np.where(rare > 0, 1 - variance / rare, 0)
        trials = np.where(chance > 0, size * rare / chance, 0)
    trials = np.maximum(np.rint(trials), np.ceil(size * rare - 1e-9))  # at least the mean number of events
    chance = np.divide(size * rare, trials, out=np.zeros(rate.shape), where=trials > 0)
    drawn = np.minimum(rng.binomial(trials.astype(np.int64), np.minimum(chance, 1)), size)
    return np.where(rate > 0.5, size - drawn, drawn)
