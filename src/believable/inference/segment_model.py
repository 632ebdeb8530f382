"""The model in which segments are tested: the calibration of rows outside segments, and what segments add to it.

logit P(y = 1) = (the common logit) + (a number for each range of scores) + (an intercept and a slope for each segment).
The common logit is that of the calibration of the rows that belong to no segment of the model, and slopes multiply it:
a slope of 1 is that of these rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from believable import _kernels
from believable._types import Array, Float64s, Ints

RIDGE = 1e-3  # prior information on every number: keeps those of a segment with a single class finite
RIDGE_OF_SLOPES = 1.0  # that on a slope where another number is asked for: it is 1 unless many rows say otherwise
NO_VARIATION = 1e-6  # a smaller share of what a segment tells is not its own: other segments say the same
FURTHEST = 40.0  # bound of intercepts in searches, in logits; a rate that far away is 0 or 1
STEEPEST = 100.0  # bound of slopes less 1 in searches
FEW_STEPS, CLOSE = 40, 1e-3  # of a search for the end of an interval, in normal scores


class BothTails(NamedTuple):
    """Normal scores of both tails of a test: P(at least as high) = Phi(-above), P(at most as high) = Phi(-below)."""

    above: float
    below: float

    @property
    def log_p(self) -> float:
        """The logarithm of the two-sided p-value, twice the smaller tail."""
        from scipy.special import log_ndtr

        return min(float(log_ndtr(-max(self.above, self.below))) + math.log(2), 0.0)


UNTESTED = BothTails(0.0, 0.0)


class Estimate(NamedTuple):
    """An estimated number with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Strata:
    """Rows with the same range of scores that belong to the same segments, added together.

    Attributes
    ----------
    range : ndarray of int
        The range.
    z : ndarray
        The common logit.
    w, wy, w2 : ndarray
        Sums of w, w y and w^2.
    members : ndarray of bool, shape (segments, strata)
        Which strata belong to each segment.
    """

    range: Ints
    z: Float64s
    w: Float64s
    wy: Float64s
    w2: Float64s
    members: Array

    @classmethod
    def of(
        cls, place: Ints, pattern: Ints, e: Float64s, w: Float64s, wy: Float64s, w2: Float64s, members: Array
    ) -> Strata:
        """Add entries of the same range and pattern; column c of `members` says to which segments pattern c belongs."""
        n_patterns = members.shape[1]
        key = place.astype(np.int64) * n_patterns + pattern
        size = (int(place.max()) + 1) * n_patterns
        sums = np.array([np.bincount(key, values, size) for values in (w, w * e, wy, w2)], np.float64)
        there = np.flatnonzero(sums[0])
        total, expected, events, squares = sums[:, there]
        mean = expected / total  # so that expected counts are kept
        z = np.log(mean) - np.log1p(-mean)
        return cls(there // n_patterns, z, total, events, squares, members[:, there % n_patterns])

    def without(self, segment: int) -> Design:
        """Return the columns of the model without a segment."""
        return Design.of(self, [i for i in range(len(self.members)) if i != segment])

    def whole(self) -> Design:
        """Return the columns of the model with all segments."""
        return Design.of(self, range(len(self.members)))

    def centre(self, segment: int) -> float:
        """Return the mean of the common logit within a segment, weighted such that the gap there is the intercept's."""
        inside = self.members[segment]
        return float(np.average(self.z[inside], weights=self._information()[inside]))

    def slope_column(self, segment: int) -> Float64s:
        """Return the common logit less its mean within a segment, and 0 outside."""
        return np.where(self.members[segment], self.z - self.centre(segment), 0.0)

    def within_ranges(self) -> Float64s:
        """Return the common logit less its mean within each range."""
        information = self._information()
        total = np.maximum(np.bincount(self.range, information), 1e-300)
        return self.z - (np.bincount(self.range, information * self.z) / total)[self.range]

    def _information(self) -> Float64s:
        e = _kernels.sigmoid(self.z)
        return self.w * e * (1 - e)


@dataclass(frozen=True, slots=True)
class Design:
    """Columns of a model: a number for each range, an intercept and a slope for each segment.

    Attributes
    ----------
    x : ndarray of shape (strata, columns)
        The columns.
    ridge : ndarray
        Prior information on the number of each.
    """

    x: Float64s
    ridge: Float64s

    @classmethod
    def of(cls, strata: Strata, segments: Iterable[int]) -> Design:
        """Return the columns of some segments, in their order, after those of the ranges."""
        ranges = strata.range[:, None] == np.unique(strata.range)
        both = [np.column_stack([strata.members[i], strata.slope_column(i)]) for i in segments]
        x = np.hstack([ranges.astype(np.float64), *both])
        return cls(x, np.full(x.shape[1], RIDGE))

    def with_column(self, column: Array, ridge: float = RIDGE) -> Design:
        """Return the same columns and one more."""
        return Design(np.column_stack([self.x, column]), np.append(self.ridge, ridge))


class Fitted(NamedTuple):
    """A fitted model: coefficients and linear predictor."""

    values: Float64s
    eta: Float64s


def fitted(strata: Strata, design: Design, offset: Float64s | float = 0.0, start: Float64s | None = None) -> Fitted:
    """Fit the model by maximum likelihood, with a small ridge."""
    fixed = strata.z + offset
    values = _kernels.fit_ridge_logistic(design.x, fixed, strata.w, strata.wy, design.ridge, start)
    return Fitted(values, fixed + design.x @ values)


def score_test(strata: Strata, design: Design, fit: Fitted, column: Float64s) -> BothTails:
    """Test whether the model lacks a column: the score test, given the numbers that were estimated.

    The score is the sum of w (y - e) times the part of the column that the model's columns do not explain. Its tails
    are those of a sum of binomial numbers, one for each stratum, so few events are no problem.
    """
    e = _kernels.sigmoid(fit.eta)
    information = strata.w * e * (1 - e)
    weighted = design.x * information[:, None]
    inner = weighted.T @ design.x
    inner[np.diag_indices(len(inner))] += design.ridge
    own = column - design.x @ np.linalg.solve(inner, weighted.T @ column)
    if float(information @ own**2) <= NO_VARIATION * float(information @ column**2):
        return UNTESTED
    per_event = strata.w2 / strata.w  # the weight of an event, and the number of rows that would have it
    size = np.abs(column) * information
    step = float(size @ (np.abs(column) * per_event)) / float(size.sum())
    observed = float(own @ (strata.wy - strata.w * e))
    return BothTails(*_kernels.binomial_tails(own * per_event, fit.eta, strata.w / per_event, observed, step))


def shift_test(strata: Strata, segment: int, intercept: float = 0.0) -> BothTails:
    """Test whether the rate of a segment is that of others, or differs from it by a given intercept."""
    design, inside = strata.without(segment), strata.members[segment].astype(np.float64)
    return score_test(strata, design, fitted(strata, design, intercept * inside), inside)


def slope_test(strata: Strata, segment: int, slope: float = 1.0) -> BothTails:
    """Test whether the slope of a segment, which has an intercept of its own, is that of others, or a given one."""
    design, column = _for_slopes(strata, segment), strata.slope_column(segment)
    return score_test(strata, design, fitted(strata, design, (slope - 1) * column), column)


def _for_slopes(strata: Strata, segment: int) -> Design:
    """Return the columns beside a segment's slope: within ranges, too, that of the others is estimated."""
    return strata.without(segment).with_column(strata.within_ranges()).with_column(strata.members[segment])


class Profile:
    """The model with a column whose coefficient is fixed, at one value after the other; each fit begins at the last."""

    def __init__(self, strata: Strata, design: Design, column: Float64s) -> None:
        self.strata, self.design, self.column = strata, design, column
        *rest, own = fitted(strata, design.with_column(column)).values.tolist()
        self.estimate, self._values = float(own), np.array(rest)

    def at(self, coefficient: float) -> Fitted:
        """Fit the other coefficients."""
        fit = fitted(self.strata, self.design, coefficient * self.column, self._values)
        self._values = fit.values
        return fit

    def test(self, coefficient: float) -> BothTails:
        """Test whether the coefficient has this value."""
        return score_test(self.strata, self.design, self.at(coefficient), self.column)

    def ends(self, beyond: float, furthest: float) -> tuple[float, float]:
        """Return the numbers below and above which the test rejects, where its tail has a given normal score."""
        start = min(max(self.estimate, -furthest), furthest)
        low = _crossing(lambda x: beyond - self.test(x).above, start, -furthest)
        high = _crossing(lambda x: beyond - self.test(x).below, start, furthest)
        return float(low), float(high)


def gap_of(strata: Strata, segment: int, beyond: float) -> Estimate:
    """Return by how much the rate of a segment exceeds that of others, with an interval.

    The interval inverts the score test of the intercept, given a slope that is estimated: were it 1, the rate of others
    would be wrong for a segment with other scores than theirs. Where rates are near 0 or 1, the intercept says little
    about the gap, so what is uncertain of it whatever the intercept is added: squares of both lengths add up. `beyond`
    is the normal score of the tails outside.
    """
    inside, column = strata.members[segment], strata.slope_column(segment)
    design = strata.without(segment).with_column(column, RIDGE_OF_SLOPES)
    profile = Profile(strata, design, inside.astype(np.float64))
    share = np.where(inside, strata.w, 0.0) / strata.w[inside].sum()

    def rates(intercept: float) -> tuple[Float64s, Float64s]:
        fit = profile.at(intercept)
        elsewhere = fit.eta - intercept - fit.values[-1] * column
        return _kernels.sigmoid(fit.eta), _kernels.sigmoid(elsewhere)

    def as_gap(intercept: float) -> float:
        here, elsewhere = rates(intercept)
        return float(share @ (here - elsewhere))

    gap, (low, high) = as_gap(profile.estimate), map(as_gap, profile.ends(beyond, FURTHEST))
    here, elsewhere = rates(profile.estimate)
    per_logit = design.x * (share * here * (1 - here))[:, None]
    per_logit[:, :-1] -= design.x[:, :-1] * (share * elsewhere * (1 - elsewhere))[:, None]  # where there is no slope
    given_intercept = beyond * math.sqrt(variance_of(strata, design, here, per_logit.sum(axis=0)))
    return Estimate(gap, gap - math.hypot(gap - low, given_intercept), gap + math.hypot(high - gap, given_intercept))


def variance_of(strata: Strata, design: Design, e: Float64s, factor: Float64s) -> float:
    """Return the variance of a sum of the model's numbers times factors, where rates are e."""
    spread = e * (1 - e)
    inner = (design.x * (strata.w * spread)[:, None]).T @ design.x
    inner[np.diag_indices(len(inner))] += design.ridge
    own = design.x @ np.linalg.solve(inner, factor)
    return float((strata.w2 * spread) @ own**2)


def slope_of(strata: Strata, segment: int, beyond: float) -> Estimate | None:
    """Return the slope of a segment with the interval that inverts `slope_test`.

    None if its scores hardly vary, or if every slope is possible: with events only, or none, there is no slope.
    """
    if slope_test(strata, segment) is UNTESTED:
        return None
    profile = Profile(strata, _for_slopes(strata, segment), strata.slope_column(segment))
    low, high = profile.ends(beyond, STEEPEST)
    low, high = low if low > -STEEPEST else -math.inf, high if high < STEEPEST else math.inf
    if low == -math.inf and high == math.inf:
        return None
    return Estimate(1 + profile.estimate, 1 + low, 1 + high)


def _crossing(inside: Callable[[float], float], start: float, furthest: float) -> float:
    """Return where a function, positive at the start, becomes 0 on the way to a bound; the bound if it does not."""
    near, value, step = start, inside(start), np.sign(furthest - start) * 0.25
    if value <= 0 or step == 0:
        return start
    for _ in range(FEW_STEPS):  # steps grow until the sign changes
        far = near + step
        if abs(far) >= abs(furthest):
            far = furthest
        other = inside(far)
        if other <= 0:
            break
        if far == furthest:
            return furthest
        step = 1.5 * (far - near) * value / (value - other) if other < value < np.inf else 2 * step
        near, value = far, other
    return _root(inside, (near, value), (far, other))


def _root(f: Callable[[float], float], a: tuple[float, float], b: tuple[float, float]) -> float:
    """Return a root between two points of different signs: the secant method, with halved weights of stale ends."""
    kept = 0
    for _ in range(FEW_STEPS):
        (x, fx), (y, fy) = a, b
        at = (x * fy - y * fx) / (fy - fx) if np.isfinite(fx - fy) else (x + y) / 2
        value = f(at)
        if abs(value) < CLOSE or abs(y - x) < 1e-9:
            return at
        if (value > 0) == (fx > 0):
            a, kept = (at, value), max(kept, 0) + 1
            b = (y, fy / 2) if kept > 1 else b
        else:
            b, kept = (at, value), min(kept, 0) - 1
            a = (x, fx / 2) if kept < -1 else a
    return at
