"""Calibration-in-the-large."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from believable import _check, _kernels
from believable._types import Array, Float64s, Ints, Notion
from believable.curves.curve import TOO_FLAT, by_logit
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
from believable.metrics.table import Estimate, metric
from believable.stats.source import Points, PointStats, Source, count_points, one_stratum, source_of


def _points(source: Source, *, notion: Notion | None = None, r: int | None = None) -> PointStats:
    return count_points(source, notion=notion, r=r, logits=True)


def _shift(stats: PointStats, *, interval: Interval = "wald", level: float = 0.95) -> Estimate:
    points = one_stratum(stats, "calibration-in-the-large")
    given = by_logit(points)
    logits, points = given.logits, given.points
    values = shifts(logits, points)
    if values.ndim:
        return values  # type: ignore[return-value] # an array, for replicates
    value = float(values)
    if math.isnan(value):
        raise UndefinedError(f"calibration-in-the-large cannot be fitted: {TOO_FLAT}")
    if not math.isinf(value):
        return _finite(value, logits, points, interval, level)
    counts = counts_for_profile(points) if interval == "profile" else as_counts(points)
    return _one_sided(value, logits, counts, level)


def _one_sided(value: float, logits: Float64s, counts: Points | None, level: float) -> Estimate:
    """Return the interval of an infinite shift; without bounds if there is no likelihood."""
    if counts is None:
        return Estimate(value, -math.inf, math.inf, level, "unbounded")
    side = -1 if value > 0 else 1
    end = profile_end(_deviance(logits, counts, value), value, -float(logits.mean()), side, level)
    return Estimate(value, -math.inf if side > 0 else end, end if side > 0 else math.inf, level, "profile")


def _interval(source: Any, level: float, options: Mapping[str, Any], cluster: Ints | None) -> Estimate:
    """Return the profile-likelihood interval, widened as the jackknife or the sandwich say."""
    notion, r = options.get("notion"), options.get("r")
    given = by_logit(one_stratum(_points(source, notion=notion, r=r), "calibration-in-the-large"))
    logits, points = given.logits, given.points
    value = float(shifts(logits, points))
    if math.isinf(value):
        unbounded = Estimate(value, -math.inf, math.inf, level, "unbounded")
        return unbounded if cluster is not None else _one_sided(value, logits, as_counts(points), level)
    counts, by = as_effective_rows(points)
    one, at = np.ones((1, len(logits))), np.array([value])
    information = _kernels.likelihood(one, at, points.w, points.wy, logits)[2].item()
    if cluster is None:
        n, n_units = int(points.n.sum()), math.inf
        middle = _kernels.score_products(one, at, points.w2, points.w2y, logits).item()
        variance = middle / information**2 * n / max(n - 1, 1)
    else:
        rows, n_units = Rows.of(source, notion, r), int(cluster.max()) + 1
        constant = np.ones((1, len(rows.logit)))
        variance = without_each_cluster(constant, at, rows, cluster, rows.logit).item()
    deviance = _deviance(logits, counts, value)
    ends = scaled_profile(deviance, value, variance, 1 / (information * by), level, n_units)
    return Estimate(value, *ends, level, "profile")


@metric(
    alias="citl",
    counts=_points,
    says=_shift,
    interval=_interval,
    needs="cells",
    of="confidence",
    low=-math.inf,
    high=math.inf,
    kinds=("binary", "multiclass"),
    spacing="logit",
    reference="Cox 1958",
    elsewhere={
        "calzone": "`cox_regression_analysis(fix_slope=True)`: the same, but scores are clipped at 1e-7, not at 1e-12",
        "R": "`glm(y ~ 1, binomial, offset = qlogis(p))`: the same, where no score is 0 or 1",
    },
)
def calibration_in_the_large(
    predictions: Any,
    actuals: Any = None,
    *,
    interval: Interval = "wald",
    level: float = 0.95,
    notion: Notion | None = None,
    r: int | None = None,
    sample_weight: Any = None,
) -> Estimate:
    r"""Shift on the logit scale that makes the mean predicted probability equal the event rate.

    .. math:: \operatorname{logit} E\,y = a + \operatorname{logit} p

    with a fitted by maximum likelihood. Positive values mean that the scores are too low overall, negative that they
    are too high; 0 is best. The value is -inf if there are no events, and inf if every row is an event. Scores are
    clipped to [1e-12, 1 - 1e-12]; one warning says how many were clipped.

    The weight of the negatives at a score is the total weight there minus that of the positives, so a row is lost to
    rounding if it shares its score with rows of 1e16 times its weight.

    `interval("citl", ...)` is the profile-likelihood interval, widened for weights and clusters as in
    `calibration_slope_intercept`, with n / (n - 1).

    From `CellStats`, all rows of a cell count at the cell's mean score.

    Parameters
    ----------
    interval : {"wald", "profile"}
        "wald" uses the sandwich standard error, which allows for weights. "profile" inverts the likelihood-ratio test;
        it needs rows of equal weight. An infinite estimate has a profile-likelihood bound on its finite side, or no
        bound if weights differ.
    level : float
        Confidence level of the interval.
    notion, r
        For a matrix: which pairs of score and outcome to use, "confidence" by default. Notions that keep classes or
        ranks apart are refused.

    References
    ----------
    Cox (1958), Biometrika; Steyerberg (2019), Clinical Prediction Models.

    Examples
    --------
    >>> shift = calibration_in_the_large([0.2, 0.2, 0.2, 0.2], [1, 0, 0, 1])
    >>> round(shift.value, 6), round(shift.low, 2), round(shift.high, 2)
    (1.386294, -0.57, 3.35)
    """
    _check.choice(interval, INTERVALS, "interval")
    _check.level(level)
    points = _points(source_of(predictions, actuals, sample_weight), notion=notion, r=r)
    return _shift(points, interval=interval, level=level)


def shifts(logits: Float64s, points: Points) -> Array:
    """Return a for each replicate; infinite where only one class occurs."""
    nothing = ~(points.wy > 0).any(axis=-1)
    everything = ~(points.w - points.wy > 0).any(axis=-1)
    w, wy = np.broadcast_arrays(points.w, points.wy)
    values = np.where(nothing, -np.inf, np.where(everything, np.inf, 0.0))
    fitted = values == 0
    if fitted.any():
        fit = _kernels.fit_logistic(np.ones((1, len(logits))), w[fitted], wy[fitted], logits)
        values[fitted] = np.where(fit.converged, fit.coefficients[..., 0], np.nan)
    return values


def _finite(value: float, logits: Float64s, points: Points, interval: Interval, level: float) -> Estimate:
    one, at = np.ones((1, len(logits))), np.array([value])
    _, _, information = _kernels.likelihood(one, at, points.w, points.wy, logits)
    middle = _kernels.score_products(one, at, points.w2, points.w2y, logits)
    half = normal_quantile(level) * math.sqrt(middle.item()) / information.item()
    if interval == "wald":
        return Estimate(value, value - half, value + half, level, "wald")
    deviance = _deviance(logits, counts_for_profile(points), value)
    low, high = (profile_end(deviance, value, value + side * half, side, level) for side in (-1, 1))
    return Estimate(value, low, high, level, "profile")


def _deviance(logits: Float64s, counts: Points, best: float) -> Callable[[float], tuple[float, float]]:
    """Return the deviance from the best shift and its derivative; the deviance is 0 at an infinite best shift."""
    one = np.ones((1, len(logits)))

    def at(shift: float) -> tuple[float, Float64s, Float64s]:
        return _kernels.likelihood(one, np.array([shift]), counts.w, counts.wy, logits)

    highest = 0.0 if math.isinf(best) else at(best)[0]

    def deviance(shift: float) -> tuple[float, float]:
        value, gradient, _ = at(shift)
        return 2 * (highest - value), -2 * gradient.item()

    return deviance
