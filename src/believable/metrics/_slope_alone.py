"""The calibration slope with the intercept held at 0: logit E y = b logit p."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from believable import _kernels
from believable._types import Array, Float64s
from believable.curves.curve import TOO_FLAT
from believable.errors import UndefinedError
from believable.metrics._logistic import Interval, as_counts, counts_for_profile, normal_quantile, profile_end
from believable.metrics.table import Estimate
from believable.stats.source import Points


def slope_alone(logits: Float64s, points: Points, interval: Interval, level: float) -> Estimate:
    """Return b with its interval; infinite if every outcome is on the side of 1/2 that its score is on."""
    slope = float(slopes_alone(logits, points))
    if math.isnan(slope):
        flat = not logits.any()
        why = "needs scores other than 1/2 if the intercept is 0" if flat else f"cannot be fitted: {TOO_FLAT}"
        raise UndefinedError(f"the calibration slope {why}")
    counts = counts_for_profile(points) if interval == "profile" else as_counts(points)
    if math.isinf(slope):
        if counts is None:
            return Estimate(slope, -math.inf, math.inf, level, "unbounded")
        side = -1 if slope > 0 else 1
        end = profile_end(_deviance(logits, counts, slope), slope, -side * 2 / np.abs(logits).max(), side, level)
        return Estimate(slope, -math.inf if side > 0 else end, end if side > 0 else math.inf, level, "profile")
    _, _, information = _kernels.likelihood(logits[None], np.array([slope]), points.w, points.wy)
    middle = _kernels.score_products(logits[None], np.array([slope]), points.w2, points.w2y)
    half = normal_quantile(level) * math.sqrt(middle.item()) / information.item()
    if interval == "wald":
        return Estimate(slope, slope - half, slope + half, level, "wald")
    assert counts is not None
    deviance = _deviance(logits, counts, slope)
    low, high = (profile_end(deviance, slope, slope + side * half, side, level) for side in (-1, 1))
    return Estimate(slope, low, high, level, "profile")


def slopes_alone(logits: Float64s, points: Points) -> Array:
    """Return b for each replicate; infinite where no outcome contradicts an ever steeper line, NaN where undefined."""
    w, wy = np.broadcast_arrays(points.w, points.wy)
    event, other = wy > 0, w - wy > 0
    above, below = logits > 0, logits < 0
    against_rising = ((event & below) | (other & above)).any(axis=-1)
    against_falling = ((event & above) | (other & below)).any(axis=-1)
    values = np.where(
        against_rising, np.where(against_falling, 0.0, -np.inf), np.where(against_falling, np.inf, np.nan)
    )
    fitted = values == 0
    if fitted.any():
        fit = _kernels.fit_logistic(logits[None], w[fitted], wy[fitted])
        values[fitted] = np.where(fit.converged, fit.coefficients[..., 0], np.nan)
    return values


def _deviance(logits: Float64s, counts: Points, best: float) -> Callable[[float], tuple[float, float]]:
    """Return the deviance from the best slope and its derivative."""

    def at(slope: float) -> tuple[float, Float64s, Float64s]:
        return _kernels.likelihood(logits[None], np.array([slope]), counts.w, counts.wy)

    # For ever steeper lines only the rows with a score of 1/2 keep a cost.
    highest = -math.log(2) * float(counts.w[logits == 0].sum()) if math.isinf(best) else at(best)[0]

    def deviance(slope: float) -> tuple[float, float]:
        value, gradient, _ = at(slope)
        return 2 * (highest - value), -2 * gradient.item()

    return deviance
