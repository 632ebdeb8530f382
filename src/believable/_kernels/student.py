"""Student's t, and the standard error and degrees of freedom of values that leave out one unit at a time."""

from __future__ import annotations

import math

import numpy as np

from believable._types import Float64s

LARGEST_LEVEL = 1 - 1e-12  # whose quantiles are still finite


def t_quantile(level: float, df: float) -> float:
    """Return t such that a share `level` of Student's t distribution lies between -t and t."""
    from scipy.special import stdtrit

    return float(stdtrit(df, (1 + level) / 2))


def expanded_level(level: float, n_units: float, df: float | None = None) -> float:
    """Return the level at which quantiles of n resampled units are as wide as an interval with Student's t.

    A bootstrap sample varies less than a new one, by the factor sqrt((n - 1) / n), and does not know that its variance
    is estimated. Quantiles at the normal distribution's share within t sqrt(n / (n - 1)) allow for both (Hesterberg
    2015, What teachers should know about the bootstrap). The degrees of freedom are n - 1 unless given.
    """
    if n_units <= 1:
        return level
    reach = t_quantile(level, n_units - 1 if df is None else df) * math.sqrt(n_units / (n_units - 1))
    return min(math.erf(reach / math.sqrt(2)), LARGEST_LEVEL)


def expanded_p_value(p_value: float, n_units: float) -> float:
    """Return the two-sided p-value of n resampled units to which `expanded_level` corresponds."""
    from scipy.special import ndtri, stdtr

    reach = -float(ndtri(p_value / 2)) * math.sqrt((n_units - 1) / n_units)
    return min(2 * float(stdtr(n_units - 1, -reach)), 1.0)


def jackknife_error(left_out: Float64s, times: Float64s | None = None) -> float:
    """Return the standard error of a value, from the values without each unit; `times` is how many units each is."""
    times = np.ones(len(left_out)) if times is None else times
    n = float(times.sum())
    off = left_out - np.average(left_out, weights=times)
    return math.sqrt(max(n - 1, 0.0) * float(np.average(off**2, weights=times)))


def degrees_of_freedom(left_out: Float64s, n_units: float, times: Float64s | None = None) -> float:
    """Return the degrees of freedom of a standard error, from the values without each unit, or without parts of them.

    They are n - 1 for normal contributions, and fewer if a few units contribute most of the variance (Satterthwaite
    1946, with the kurtosis k of the m contributions that are left out):

        2 / df = 2 / (n - 1) + max(k - 3, 0) / m
    """
    most = max(n_units - 1, 1.0)
    if not np.isfinite(left_out).all():
        return most
    times = np.ones(len(left_out)) if times is None else times
    off = left_out - np.average(left_out, weights=times)
    second = float(np.average(off**2, weights=times))
    if second <= 0:
        return most
    excess = max(float(np.average((off**2 / second) ** 2, weights=times)) - 3, 0.0)
    return max(2 / (2 / most + excess / float(times.sum())), 1.0)
