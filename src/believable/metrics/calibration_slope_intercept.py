"""Calibration slope and intercept."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from believable import _check, _kernels
from believable._types import Array, Float64s, Ints, Notion
from believable.curves.curve import TOO_FLAT, LogitPoints, by_logit
from believable.curves.logistic import Line
from believable.errors import UndefinedError
from believable.metrics._logistic import (
    INTERVALS,
    Interval,
    Rows,
    as_counts,
    as_effective_rows,
    counts_for_profile,
    normal_quantile,
    profile_end,
    scaled_profile,
    without_each_cluster,
)
from believable.metrics._slope_alone import slope_alone, slopes_alone
from believable.metrics.table import Estimate, metric
from believable.stats.source import Points, PointStats, Source, count_points, one_stratum, source_of

AT_LOGIT_0 = 1e-9  # a threshold this close to logit 0 counts as 0


@dataclass(frozen=True, slots=True)
class SlopeIntercept:
    """The fitted line from the logits of the scores to the logits of the event rates.

    Attributes
    ----------
    slope, intercept : Estimate
        b and a, with their intervals.
    n_clipped : int
        Number of rows whose scores were clipped to have a finite logit.
    """

    slope: Estimate
    intercept: Estimate
    n_clipped: int

    def __str__(self) -> str:
        return f"slope {self.slope}; intercept {self.intercept}"

    def __float__(self) -> float:
        return self.slope.value


def _points(source: Source, *, notion: Notion | None = None, r: int | None = None) -> PointStats:
    return count_points(source, notion=notion, r=r, logits=True)


def _slope_intercept(
    stats: PointStats, *, interval: Interval = "wald", level: float = 0.95, fix_intercept: bool = False
) -> SlopeIntercept:
    points = one_stratum(stats, "the calibration slope")
    given = by_logit(points)
    x, points, n_clipped = given.x, given.points, given.n_clipped
    if fix_intercept:
        if np.ndim(points.wy) > 1:
            return slopes_alone(given.logits, points)  # type: ignore[return-value] # an array, for replicates
        at_0 = Estimate(0.0, 0.0, 0.0, level, "fixed")
        return SlopeIntercept(slope_alone(given.logits, points, interval, level), at_0, n_clipped)
    separated = _kernels.separation(x, points.w, points.wy)
    if separated.ndim:
        return slopes(x, points, separated)  # type: ignore[return-value] # an array, for replicates
    if np.isnan(separated):
        what = "scores that are not all equal" if x[0] == x[-1] else "both outcomes"
        raise UndefinedError(f"the calibration slope needs {what}")
    if interval == "profile":
        counts_for_profile(points)
    if separated:
        return SlopeIntercept(*_infinite(given, int(separated), level), n_clipped)
    if interval == "profile":
        return SlopeIntercept(*_profile(given, counts_for_profile(points), level), n_clipped)
    return SlopeIntercept(*_wald(_line(x, points), given, points, level), n_clipped)


def _interval(source: Any, level: float, options: Mapping[str, Any], cluster: Ints | None) -> Estimate | None:
    """Return the profile-likelihood interval of the slope, widened as the jackknife or the sandwich say.

    With a fixed intercept there is none, and the slope is resampled.
    """
    if options.get("fix_intercept"):
        return None
    notion, r = options.get("notion"), options.get("r")
    given = by_logit(one_stratum(_points(source, notion=notion, r=r), "the calibration slope"))
    x, points = given.x, given.points
    separated = int(_kernels.separation(x, points.w, points.wy))
    if separated and cluster is not None:
        return Estimate(separated * math.inf, -math.inf, math.inf, level, "unbounded")
    if separated:
        return _infinite(given, separated, level)[0]
    line = _line(x, points)
    counts, by = as_effective_rows(points)
    assumed = np.linalg.inv(line.fit.information * by)
    if cluster is None:
        n, n_units = int(points.n.sum()), math.inf
        variance = float(line.variance(x, points, np.array([[0.0], [1.0]]))[0]) * n / max(n - 2, 1)
    else:
        rows, n_units = Rows.of(source, notion, r), int(cluster.max()) + 1
        columns = line.columns(rows.logit - given.origin)
        variance = float(without_each_cluster(columns, line.fit.coefficients, rows, cluster)[1, 1])
    deviance = _deviance(x, np.ones_like(x), counts, float(line.fit.log_likelihood) * by)
    unit = line.scale**2
    ends = scaled_profile(deviance, float(line.slope), variance / unit, float(assumed[1, 1]) / unit, level, n_units)
    return Estimate(float(line.slope), *ends, level, "profile")


@metric(
    alias="slope",
    counts=_points,
    says=_slope_intercept,
    interval=_interval,
    needs="cells",
    of="confidence",
    low=-math.inf,
    high=math.inf,
    best=1.0,
    kinds=("binary", "multiclass"),
    spacing="logit",
    reference="Cox 1958",
    elsewhere={
        "calzone": "`cox_regression_analysis`: the same, but scores are clipped at 1e-7, not at 1e-12",
        "R: rms": (
            "Slope and Intercept of `val.prob`: rows with scores of 0 or 1 are left out; otherwise the same to "
            "about 3e-5"
        ),
    },
)
def calibration_slope_intercept(
    predictions: Any,
    actuals: Any = None,
    *,
    interval: Interval = "wald",
    level: float = 0.95,
    fix_intercept: bool = False,
    notion: Notion | None = None,
    r: int | None = None,
    sample_weight: Any = None,
) -> SlopeIntercept:
    r"""Slope and intercept of a logistic regression of the outcomes on the logits of the scores.

    .. math:: \operatorname{logit} E\,y = a + b \operatorname{logit} p

    with a and b fitted by maximum likelihood, without a penalty. A slope below 1 means that the scores are too extreme,
    above 1 that they are not extreme enough; slope 1 with intercept 0 is best. Scores are clipped to
    [1e-12, 1 - 1e-12]; one warning says how many were clipped.

    If a threshold on the scores separates the classes (rows exactly at the threshold may belong to either), the slope
    is inf, or -inf if the positives are below. The intercept is then the limit of the best intercept for ever steeper
    lines. Because a/b tends to minus the threshold, halfway between the classes on the logit scale, it is infinite
    unless the threshold is a score of 1/2. Undefined if only one class occurs or all scores are equal.

    `interval("slope", ...)` is the profile-likelihood interval, with the deviance divided by the ratio of the sandwich
    variance (times n / (n - 2)) to that of the likelihood, where this is above 1 (Rao and Scott 1984). It allows for
    weights, and for rates that a line does not fit. With clusters the variance is the jackknife's, and the quantile
    Student's t.

    From `CellStats`, all rows of a cell count at the cell's mean score.

    Parameters
    ----------
    interval : {"wald", "profile"}
        "wald" uses sandwich standard errors, which allow for weights. "profile" inverts the likelihood-ratio test, with
        the other coefficient at its best value; it needs rows of equal weight. An infinite slope has a
        profile-likelihood bound on its finite side, or no bound if weights differ; an infinite intercept has none.
    level : float
        Confidence level of the intervals.
    fix_intercept : bool
        Hold the intercept a at 0 and fit the slope alone, logit E y = b logit p. The slope is then defined even if only
        one class occurs, and infinite if no score is on the wrong side of 1/2 (-inf if all are); it is undefined only
        if all scores are 1/2. It is also the inverse of the temperature that maximises the likelihood of one event.
    notion, r
        For a matrix: which pairs of score and outcome to use, "confidence" by default. Notions that keep classes or
        ranks apart are refused.

    Returns
    -------
    SlopeIntercept
        Both estimates; `float(result)` is the slope.

    References
    ----------
    Cox (1958), Biometrika; Van Calster et al. (2016), Journal of Clinical Epidemiology.

    Examples
    --------
    >>> line = calibration_slope_intercept([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    >>> round(line.slope.value, 4), round(abs(line.intercept.value), 4)
    (0.9522, 0.0)
    >>> calibration_slope_intercept([0.1, 0.4, 0.6, 0.9], [0, 0, 1, 1]).slope.value
    inf
    >>> round(calibration_slope_intercept([0.2, 0.2, 0.2, 0.2], [1, 0, 0, 0], fix_intercept=True).slope.value, 4)
    0.7925
    """
    _check.choice(interval, INTERVALS, "interval")
    _check.flag(fix_intercept, "fix_intercept")
    _check.level(level)
    points = _points(source_of(predictions, actuals, sample_weight), notion=notion, r=r)
    return _slope_intercept(points, interval=interval, level=level, fix_intercept=fix_intercept)


def slopes(x: Float64s, points: Points, separated: Array) -> Array:
    """Return the slope of each replicate; infinite where a threshold separates the classes, NaN where undefined."""
    values = np.where(separated > 0, np.inf, np.where(separated < 0, -np.inf, separated))
    fitted = separated == 0
    if fitted.any():
        w, wy = (part[fitted] for part in np.broadcast_arrays(points.w, points.wy))
        line = Line.of(x, w, wy)
        found = line.slope
        for b in np.flatnonzero(~line.sound):  # weights too unequal to be scaled like those of the other replicates
            alone = Line.of(x, w[b], wy[b])
            found[b] = alone.slope if alone.sound else np.nan
        values[fitted] = found
    return values


def _line(x: Float64s, points: Points) -> Line:
    line = Line.of(x, points.w, points.wy)
    if not line.sound:
        raise UndefinedError(f"the calibration slope cannot be fitted: {TOO_FLAT}")
    return line


def _wald(line: Line, given: LogitPoints, points: Points, level: float) -> tuple[Estimate, Estimate]:
    """Return slope and intercept with their intervals; the line is in x, whose origin is that of `given`."""
    directions = np.array([[0.0, 1.0], [1 / line.scale, -(line.centre + given.origin) / line.scale]])
    half = normal_quantile(level) * np.sqrt(line.variance(given.x, points, directions))
    slope, intercept = (
        Estimate(float(value), float(value - width), float(value + width), level, "wald")
        for value, width in zip((line.slope, line.intercept - line.slope * given.origin), half, strict=True)
    )
    return slope, intercept


def _profile(given: LogitPoints, counts: Points, level: float) -> tuple[Estimate, Estimate]:
    line = _line(given.x, counts)
    one, highest = np.ones_like(given.x), float(line.fit.log_likelihood)
    deviances = (_deviance(given.x, one, counts, highest), _deviance(one, given.logits, counts, highest))
    found = []
    for start, deviance in zip(_wald(line, given, counts, level), deviances, strict=True):
        low, high = (
            profile_end(deviance, start.value, end, side, level) for side, end in ((-1, start.low), (1, start.high))
        )
        found.append(Estimate(start.value, low, high, level, "profile"))
    slope, intercept = found
    return slope, intercept


def _deviance(
    fixed: Float64s, free: Float64s, counts: Points, highest: float
) -> Callable[[float], tuple[float, float]]:
    """Return the deviance as a function of one coefficient, with the other at its best value."""
    both, last = np.stack([free, fixed]), np.zeros(1)

    def deviance(value: float) -> tuple[float, float]:
        fit = _kernels.fit_logistic(both[:1], counts.w, counts.wy, value * fixed, last)
        last[:] = fit.coefficients  # where the next search begins
        at = np.append(fit.coefficients, value)
        found, gradient, _ = _kernels.likelihood(both, at, counts.w, counts.wy)
        return 2 * (highest - found), -2 * float(gradient[1])

    return deviance


def _infinite(given: LogitPoints, side: int, level: float) -> tuple[Estimate, Estimate]:
    """Slope and intercept when a threshold separates the classes; side is 1 if the positives are above, -1 if below."""
    x, points = given.x, given.points
    positive, negative = points.wy, points.w - points.wy
    below, above = (negative, positive) if side > 0 else (positive, negative)
    lower, upper = np.flatnonzero(below > 0)[-1], np.flatnonzero(above > 0)[0]  # equal if a point has both classes
    threshold = given.origin + (x[lower] + x[upper]) / 2
    if abs(threshold) > AT_LOGIT_0:
        limit = -side * math.copysign(math.inf, threshold)
    else:
        # For steep lines only the rows nearest to the threshold matter, and the best line balances both classes there.
        nearest = [lower] if lower == upper else [lower, upper]
        limit = math.log(positive[nearest].sum() / negative[nearest].sum()) / len(nearest)
    intercept = Estimate(limit, -math.inf, math.inf, level, "unbounded")
    counts = as_counts(points)
    if counts is None:
        return Estimate(side * math.inf, -math.inf, math.inf, level, "unbounded"), intercept
    highest = 0.0  # the limit of the log-likelihood for ever steeper lines
    if lower == upper:
        n, k = counts.w[lower], counts.wy[lower]
        highest = float(k * np.log(k / n) + (n - k) * np.log1p(-k / n))
    deviance = _deviance(x, np.ones_like(x), counts, highest)
    end = profile_end(deviance, side * math.inf, side * 2 / float(x[-1] - x[0]), -side, level)
    low, high = (end, math.inf) if side > 0 else (-math.inf, end)
    return Estimate(side * math.inf, low, high, level, "profile"), intercept
