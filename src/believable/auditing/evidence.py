"""The evidence for a verdict: the average, the slope, ranges of scores and the ECE, each with its interval."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from believable import _kernels
from believable._types import Float64s, Ints
from believable.errors import ClippedWarning, UndefinedError
from believable.metrics import calibration_slope_intercept
from believable.predictions.view import Pairs
from believable.report.verdicts import Range
from believable.stats import BinStats
from believable.stats.source import Points, PointStats

FEW_EVENTS, RARE_RATE = 50, 0.2  # with fewer events than this, and a lower rate, the interval is exact
FEWEST_EVENTS_FOR_SLOPE = 10  # of the rarer outcome: with fewer, intervals of the slope are too narrow
FEWEST_BINS_OF_RANGES = 5  # with fewer bins in the headline, ranges are made of quantile bins
FEWEST_ROWS_IN_RANGE = 30  # neighbouring bins with fewer are merged
CROWDED_BIN_SHARE = 0.5  # if one bin of equal width holds more of the weight, ranges are made of quantile bins
N_QUANTILE_RANGES = 10
NEAREST_TO_CERTAIN = 1e-12  # scores nearer to 0 or 1 have the logit of this


@dataclass(frozen=True, slots=True)
class Bounded:
    """An estimate and its interval."""

    value: float
    low: float
    high: float

    def nearest_to(self, target: float) -> float:
        """Return the point of the interval that is nearest to a target."""
        return min(max(target, self.low), self.high)


@dataclass(frozen=True, slots=True, eq=False)
class ClusteredPairs:
    """The scores, outcomes and weights of a curve whose rows come in clusters, and the cluster of each."""

    score: Float64s
    outcome: Float64s
    weight: Float64s
    cluster: Ints

    @classmethod
    def of(cls, pairs: Pairs, cluster: Ints) -> ClusteredPairs:
        """Take the pairs of rows, of which each may have several, and the cluster of each row."""
        weight = np.ones(len(pairs.score)) if pairs.weight is None else pairs.weight
        score, outcome, w = (np.asarray(one, np.float64) for one in (pairs.score, pairs.outcome, weight))
        return cls(score, outcome, w, np.repeat(cluster, len(score) // len(cluster)))

    def design_of_ratio(self) -> float:
        """Return the factor by which clusters increase the variance of the ratio of rarer outcomes; at least 1."""
        w, p, y = self.weight, self.score, self.outcome
        if w @ y > w.sum() / 2:
            p, y = 1 - p, 1 - y
        expected = float(w @ p)
        if expected <= 0:
            return 1.0
        together = self._squared_sums(w * (y - float(w @ y) / expected * p))
        return _at_least_one(together, float((w * (y - p)) @ (w * (y - p))))

    def design_of_slope(self, intercept: float, slope: float) -> float:
        """Return the factor by which clusters increase the variance of the slope (Liang and Zeger 1986); at least 1."""
        by = np.stack([np.ones_like(self.score), _logit(self.score)])
        rate = _rate(intercept + slope * by[1])
        varies = rate * (1 - rate)
        effect = np.linalg.pinv((self.weight * varies * by) @ by.T, hermitian=True)[1] @ by
        together = self._squared_sums(self.weight * (self.outcome - rate) * effect)
        return _at_least_one(together, float((self.weight**2 * varies) @ effect**2))

    def _squared_sums(self, added: Float64s) -> float:
        """Return the sum over clusters of the squares of what their rows add."""
        sums = np.bincount(self.cluster, added)
        return float(sums @ sums) * len(sums) / max(len(sums) - 1, 1)


def _at_least_one(together: float, alone: float) -> float:
    return max(together / alone, 1.0) if alone > 0 else 1.0


def _logit(score: Float64s) -> Float64s:
    p = np.clip(score, NEAREST_TO_CERTAIN, 1 - NEAREST_TO_CERTAIN)
    return np.asarray(np.log(p / (1 - p)))


def _rate(logit: Float64s) -> Float64s:
    return np.asarray(1 / (1 + np.exp(-np.clip(logit, -700, 700))))


@dataclass(frozen=True, slots=True)
class Average:
    """The average prediction and the observed rate.

    Attributes
    ----------
    predicted, observed : float
        The average prediction and the observed rate.
    gap : Bounded
        The observed rate minus the average prediction.
    ratio : Bounded
        The observed rate over the average prediction.
    rarer : Bounded
        The same ratio for the rarer outcome, the event or its absence. The intervals of gap and ratio follow from its
        interval, so that exchanging event and non-event gives the mirrored answer.
    """

    predicted: float
    observed: float
    gap: Bounded
    ratio: Bounded
    rarer: Bounded

    @classmethod
    def of(cls, stats: BinStats, level: float, design: float = 1.0) -> Average:
        """Compute the average from bins; `design` is the factor by which clusters increase its variance."""
        w, predicted, observed = (float(sums.sum()) for sums in (stats.w, stats.wp, stats.wy))
        squared = design * max(float((stats.w2y - 2 * stats.w2py + stats.w2pp).sum()), 0.0)
        unit = design * float(stats.w2.sum()) / w
        turned = observed > w / 2
        of_rarer = (w - predicted, w - observed) if turned else (predicted, observed)
        rarer = _ratio(*of_rarer, w, squared, unit, level)
        # The gap of the rarer outcome is its ratio minus 1, times its prediction. No rate is below 0 or above 1.
        gaps = [(end - 1) * of_rarer[0] / w for end in (rarer.low, rarer.high)]
        if of_rarer[0] <= 0:  # certain not to happen: no ratio, but a number of events
            gaps = [end * unit / w for end in _poisson(of_rarer[1] / unit, level)]
        gaps = sorted(np.clip([-end if turned else end for end in gaps], -predicted / w, 1 - predicted / w).tolist())
        gap = Bounded((observed - predicted) / w, *gaps)
        largest = w / predicted if predicted > 0 else math.inf  # the ratio if every row were an event
        ratio = Bounded(rarer.value, rarer.low, min(rarer.high, largest))
        if turned:
            ends = [max(1 + end * w / predicted, 0.0) if predicted > 0 else math.inf for end in gaps]
            ratio = Bounded(observed / predicted if predicted > 0 else math.inf, *ends)
        return cls(predicted / w, observed / w, gap, ratio, rarer)


def _ratio(predicted: float, observed: float, w: float, squared: float, unit: float, level: float) -> Bounded:
    """Return the observed over the predicted number of rarer outcomes; `unit` is the weight of one independent row.

    The interval is exact for a Poisson number if there are few, and symmetric on the log scale if there are many.
    """
    if predicted <= 0:
        return Bounded(math.inf if observed > 0 else 1.0, 0.0 if observed <= 0 else 1.0, math.inf)
    value, events = observed / predicted, observed / unit
    if events < FEW_EVENTS and observed < RARE_RATE * w:
        low, high = _poisson(events, level)
        return Bounded(value, low * unit / predicted, high * unit / predicted)
    z = -NormalDist().inv_cdf((1 - level) / 2)
    error = min(z * math.sqrt(squared) / observed, 700.0) if observed > 0 else 700.0
    return Bounded(value, value * math.exp(-error), value * math.exp(error))


def _poisson(events: float, level: float) -> tuple[float, float]:
    """Return the exact interval of the mean of a Poisson number, which need not be whole."""
    from scipy.special import gammaincinv

    tail = (1 - level) / 2
    return float(gammaincinv(events, tail)) if events > 0 else 0.0, float(gammaincinv(events + 1, 1 - tail))


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What is known about the calibration of one curve.

    Attributes
    ----------
    rejected : bool
        Whether perfect calibration is rejected.
    about_confidence : bool
        Whether the scores are confidences in an answer, not probabilities of an event.
    average : Average
        The average prediction and the observed rate.
    ranges : tuple of Range
        Ranges of scores that are certainly wrong; neighbours with errors in the same direction are merged.
    all_ranges : tuple of Range
        Every range that was examined.
    slope : Bounded or None
        The calibration slope; None if it is undefined or was not asked for.
    moved_by_slope : float
        How far recalibration by slope and intercept would move scores on average.
    ece : Bounded or None
        The estimate of the ECE and its interval; None if it was not asked for.
    """

    rejected: bool
    about_confidence: bool
    average: Average
    ranges: tuple[Range, ...]
    all_ranges: tuple[Range, ...]
    slope: Bounded | None = None
    moved_by_slope: float = 0.0
    ece: Bounded | None = None

    @property
    def rarer_rate(self) -> float:
        """The observed rate of the event, or of its absence where that is rarer."""
        return min(self.average.observed, 1 - self.average.observed)

    @property
    def least_error(self) -> float:
        """A lower bound of the ECE, from the average and the ranges."""
        return max(abs(self.average.gap.nearest_to(0)), sum(one.share * one.least for one in self.ranges))


def ranges_of(
    stats: BinStats, alpha: float, effective_n: Float64s | None = None
) -> tuple[tuple[Range, ...], tuple[Range, ...]]:
    """Return ranges of at least 30 rows, with exact intervals that hold simultaneously.

    Parameters
    ----------
    stats : BinStats
        The bins of one curve.
    alpha : float
        The probability that any of the intervals misses the true rate.
    effective_n : ndarray, optional
        How many independent rows each bin is worth; by default what its weights are worth.

    Returns
    -------
    all, wrong : tuple of Range
        Every range, and those that are certainly wrong; neighbours with errors in the same direction are merged.
    """
    size = stats.effective_n if effective_n is None else effective_n
    runs = _with_enough_rows(size)
    each = alpha / max(len(runs), 1)
    looked_at = [_range(stats, run, size, each) for run in runs]
    wrong: list[list[int]] = []  # the bins of each range
    before: Range | None = None
    for run, one in zip(runs, looked_at, strict=True):
        if one.least and before is not None and before.least and before.over == one.over:
            wrong[-1] = wrong[-1] + run
        elif one.least:
            wrong.append(run)
        before = one
    return tuple(looked_at), tuple(_range(stats, run, size, each) for run in wrong)


def _with_enough_rows(size: Float64s) -> list[list[int]]:
    """Merge neighbouring bins into runs worth at least 30 rows; return none if all bins together are not."""
    runs: list[list[int]] = []
    for b in range(len(size)):
        if runs and size[runs[-1]].sum() < FEWEST_ROWS_IN_RANGE:
            runs[-1].append(b)
        else:
            runs.append([b])
    if len(runs) > 1 and size[runs[-1]].sum() < FEWEST_ROWS_IN_RANGE:
        runs[-2:] = [runs[-2] + runs[-1]]
    return runs if size.sum() >= FEWEST_ROWS_IN_RANGE else []


def _range(stats: BinStats, bins: list[int], size: Float64s, alpha: float) -> Range:
    weight = float(stats.w[bins].sum())
    rows = min(float(size[bins].sum()), weight**2 / float(stats.w2[bins].sum()))
    predicted = float(np.clip(stats.wp[bins].sum() / weight, 0, 1))
    observed = float(np.clip(stats.wy[bins].sum() / weight, 0, 1))
    low, high = map(float, _kernels.exact_interval(observed, rows, alpha))
    edges = stats.edges_of(0).values
    return Range(
        low=float(edges[stats.index[bins[0]]]),
        high=float(edges[stats.index[bins[-1]] + 1]),
        predicted=predicted,
        observed=observed,
        n=int(stats.n[bins].sum()),
        share=weight / float(stats.w.sum()),
        least=max(predicted - high, low - predicted, 0.0),
    )


def slope_of(
    points: Points, view: Any, level: float, pairs: ClusteredPairs | None = None
) -> tuple[Bounded | None, float]:
    """Return the calibration slope with its interval, and how far recalibration by it moves scores on average.

    If rows come in clusters, their `pairs` say how much wider that makes the interval.
    """
    unit = (1.0 if pairs is None else pairs.design_of_ratio()) * float(points.w2.sum()) / float(points.total)
    events = float(points.wy.sum())
    if min(events, float(points.total) - events) / unit < FEWEST_EVENTS_FOR_SLOPE:
        return None, 0.0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ClippedWarning)  # an audit says so in a note next to the slope
            line = calibration_slope_intercept(PointStats(view, (points,)), level=level)
    except UndefinedError:
        return None, 0.0
    slope, intercept = line.slope, line.intercept.value
    if not math.isfinite(slope.value):
        return Bounded(slope.value, slope.low, slope.high), 1.0
    stretch = 1.0 if pairs is None else math.sqrt(pairs.design_of_slope(intercept, slope.value))
    low, high = (slope.value + stretch * (end - slope.value) for end in (slope.low, slope.high))
    moved = np.abs(_rate(intercept + slope.value * _logit(points.score)) - points.score)
    return Bounded(slope.value, low, high), float((points.w * moved).sum() / points.total)


def is_crowded(stats: BinStats) -> bool:
    """Return whether there are too few bins to make ranges of, or one bin of equal width holds most of the weight."""
    share = float(stats.w.max() / stats.w.sum())
    crowded = stats.strategy == "uniform" and share > CROWDED_BIN_SHARE
    return crowded or stats.per_stratum < FEWEST_BINS_OF_RANGES
