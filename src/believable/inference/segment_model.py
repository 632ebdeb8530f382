"""The model in which segments are tested: the calibration of the whole, and what segments add to it.

logit P(y = 1) = (the whole's logit) + (a number for each range of scores) + (an intercept and a slope for each
segment). "The whole's logit" is that of the calibration of all rows, and slopes multiply it: a slope of 1 is that of
the other rows.
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
NO_VARIATION = 1e-6  # a smaller share of what a segment tells is not its own: other segments say the same
FURTHEST = 40.0  # bound of intercepts in searches, in logits; a rate that far away is 0 or 1
STEEPEST = 100.0  # bound of slopes in searches
FEW_STEPS, CLOSE = 40, 1e-3  # of a search for the end of an interval, in normal scores


class Tested(NamedTuple):
    """Normal scores of both tails of a test: P(at least as high) = Phi(-above), P(at most as high) = Phi(-below)."""

    above: float
    below: float

    @property
    def log_p(self) -> float:
        """The logarithm of the two-sided p-value, twice the smaller tail."""
        from scipy.special import log_ndtr

        return min(float(log_ndtr(-max(self.above, self.below))) + math.log(2), 0.0)


UNTESTED = Tested(0.0, 0.0)


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
        The whole's logit.
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
        key = place * n_patterns + pattern
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

    def slope_column(self, segment: int) -> Float64s:
        """Return the whole's logit less its mean within a segment, and 0 outside."""
        inside = self.members[segment]
        return np.where(inside, self.z - np.average(self.z[inside], weights=self.w[inside]), 0.0)


@dataclass(frozen=True, slots=True)
class Design:
    """Columns of a model: a number for each range, an intercept and a slope for each segment."""

    x: Float64s

    @classmethod
    def of(cls, strata: Strata, segments: Iterable[int]) -> Design:
        """Return the columns of some segments, in their order, after those of the ranges."""
        ranges = strata.range[:, None] == np.unique(strata.range)
        both = [np.column_stack([strata.members[i], strata.slope_column(i)]) for i in segments]
        return cls(np.hstack([ranges.astype(np.float64), *both]))

    def with_column(self, column: Array) -> Design:
        """Return the same columns and one more."""
        return Design(np.column_stack([self.x, column]))


class Fitted(NamedTuple):
    """A fitted model: coefficients and linear predictor."""

    values: Float64s
    eta: Float64s


def fitted(strata: Strata, design: Design, offset: Float64s | float = 0.0, start: Float64s | None = None) -> Fitted:
    """Fit the model by maximum likelihood, with a small ridge."""
    fixed = strata.z + offset
    ridge = np.full(design.x.shape[1], RIDGE)
    values = _kernels.fit_ridge_logistic(design.x, fixed, strata.w, strata.wy, ridge, start)
    return Fitted(values, fixed + design.x @ values)


def score_test(strata: Strata, design: Design, fit: Fitted, column: Float64s) -> Tested:
    """Test whether the model lacks a column: the score test, given the numbers that were estimated.

    The score is the sum of w (y - e) times the part of the column that the model's columns do not explain. Its tails
    are those of a sum of binomial numbers, one for each stratum, so few events are no problem.
    """
    e = _kernels.sigmoid(fit.eta)
    information = strata.w * e * (1 - e)
    weighted = design.x * information[:, None]
    inner = weighted.T @ design.x
    inner[np.diag_indices(len(inner))] += RIDGE
    own = column - design.x @ np.linalg.solve(inner, weighted.T @ column)
    centred = np.where(column != 0, column, 0.0)
    if float(information @ own**2) <= NO_VARIATION * float(information @ centred**2) or not centred.any():
        return UNTESTED
    per_event = strata.w2 / strata.w  # the weight of an event, and the number of rows that would have it
    size = np.abs(centred) * information
    step = float(size @ (np.abs(centred) * per_event)) / float(size.sum())
    observed = float(own @ (strata.wy - strata.w * e))
    return Tested(*_kernels.binomial_tails(own * per_event, fit.eta, strata.w / per_event, observed, step))


def shift_test(strata: Strata, segment: int, intercept: float = 0.0) -> Tested:
    """Test whether the rate of a segment is that of others, or differs from it by a given intercept."""
    design, inside = strata.without(segment), strata.members[segment].astype(np.float64)
    return score_test(strata, design, fitted(strata, design, intercept * inside), inside)


def slope_test(strata: Strata, segment: int, slope: float = 1.0) -> Tested:
    """Test whether the slope of a segment, which has an intercept of its own, is that of others, or a given one."""
    column = strata.slope_column(segment)
    design = strata.without(segment).with_column(strata.members[segment])
    return score_test(strata, design, fitted(strata, design, (slope - 1) * column), column)


def gap_of(strata: Strata, segment: int, beyond: float) -> Estimate:
    """Return by how much the rate of a segment exceeds that of others, with the interval that inverts `shift_test`.

    `beyond` is the normal score of the tails outside the interval.
    """
    design, inside = strata.without(segment), strata.members[segment]
    column = inside.astype(np.float64)
    own = fitted(strata, design.with_column(column)).values[-1]
    low, high = _ends(lambda d: shift_test(strata, segment, d), own, beyond, FURTHEST)

    def as_gap(intercept: float) -> float:
        eta = fitted(strata, design, intercept * column).eta[inside]
        elsewhere = _kernels.sigmoid(eta - intercept)
        return float(np.average(_kernels.sigmoid(eta) - elsewhere, weights=strata.w[inside]))

    return Estimate(as_gap(own), as_gap(low), as_gap(high))


def slope_of(strata: Strata, segment: int, beyond: float) -> Estimate | None:
    """Return the slope of a segment with the interval that inverts `slope_test`; None if its scores hardly vary."""
    if slope_test(strata, segment) is UNTESTED:
        return None
    design, column = strata.without(segment).with_column(strata.members[segment]), strata.slope_column(segment)
    own = 1 + fitted(strata, design.with_column(column)).values[-1]
    low, high = _ends(lambda slope: slope_test(strata, segment, slope), own, beyond, STEEPEST)
    return Estimate(own, low if low > -STEEPEST else -np.inf, high if high < STEEPEST else np.inf)


def _ends(test: Callable[[float], Tested], middle: float, beyond: float, furthest: float) -> tuple[float, float]:
    """Return the numbers below and above which a test rejects, where its tail has a given normal score."""
    middle = min(max(middle, -furthest), furthest)
    low = _crossing(lambda x: beyond - test(x).above, middle, -furthest)
    high = _crossing(lambda x: beyond - test(x).below, middle, furthest)
    return low, high


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
