"""Penalised logistic regression on one number, with a slope that is piecewise linear and not negative.

The linear predictor is f(z) = intercept + the integral of the slope from 0 to z. Its slope is linear between knots and
constant beyond them, so f does not decrease as long as the slopes at the knots are not negative.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from believable._kernels.logistic import DAMPING, LOGISTIC_SEARCH
from believable._kernels.probabilities import sigmoid
from believable._kernels.solve import Iterate, Step, minimise, unit_diagonal
from believable._types import Array, Float64s

RISING_SEARCH = replace(LOGISTIC_SEARCH, close=1e-10)
SHORT_REACH = 0.1  # the error of a step with a shorter reach is about its square
NO_GAIN = 1e-13  # a slope of the quadratic model this small, relative to the largest, is rounding


class RisingFit(NamedTuple):
    """A minimum of the penalised cost.

    Attributes
    ----------
    slopes : ndarray of shape (k,)
        The slopes at the knots, none of them negative.
    intercept : float
        f(0).
    held_out : float
        The cost of every row by the fit to the others, to first order.
    """

    slopes: Float64s
    intercept: float
    held_out: float


def slope_columns(z: Float64s, knots: Float64s) -> Float64s:
    """Return the integrals from 0 to z of the hat functions of the knots, of shape (k, n).

    A hat function is 1 at its knot, 0 at all others, and linear between; the outer ones are 1 beyond the knots.
    """
    integral = _from_first(z, knots)
    integral -= _from_first(np.zeros(1), knots)
    return integral


def _from_first(z: Float64s, knots: Float64s) -> Float64s:
    columns = np.zeros((len(knots), len(z)))
    for j, width in enumerate(np.diff(knots)):
        passed = np.clip(z - knots[j], 0, width)
        rising = passed**2 / (2 * width)
        columns[j] += passed - rising
        columns[j + 1] += rising
    columns[0] += np.minimum(z - knots[0], 0)
    columns[-1] += np.maximum(z - knots[-1], 0)
    return columns


def fit_rising(columns: Float64s, w: Float64s, wy: Float64s, ridge: Float64s) -> RisingFit:
    """Return the slopes s >= 0 and the intercept a of least penalised cost.

    With x = (s, a), eta = s @ columns + a and x0 = (1, ..., 1, 0), the cost is
    sum(w log(1 + exp(eta)) - wy eta) + (x - x0)' ridge (x - x0). The ridge (k + 1, k + 1) must be positive definite, so
    that there is one minimum.
    """
    problem = _Rising(np.vstack([columns, np.ones(columns.shape[1])]), w, wy, ridge)
    x = minimise(problem, problem.centre, RISING_SEARCH).x
    x[:-1] = np.maximum(x[:-1], 0)
    return RisingFit(x[:-1], float(x[-1]), problem.held_out(x))


class _Rising:
    """The penalised cost, a problem for `minimise`; the columns include that of the intercept."""

    convex = True

    def __init__(self, columns: Float64s, w: Float64s, wy: Float64s, ridge: Float64s) -> None:
        self.columns, self.w, self.wy, self.ridge = columns, w, wy, ridge
        self.centre = np.append(np.ones(len(columns) - 1), 0.0)

    def at(self, x: Float64s) -> Iterate:
        eta = x @ self.columns
        p = sigmoid(eta)
        gradient = self.columns @ (self.w * p - self.wy) + 2 * self.ridge @ (x - self.centre)
        return Iterate(gradient, self._curvature(p, eta))

    def cost(self, x: Float64s) -> float:
        eta, away = x @ self.columns, x - self.centre
        return float(self.w @ np.logaddexp(0, eta) - self.wy @ eta + away @ self.ridge @ away)

    def step(self, x: Float64s, place: Iterate) -> Step:
        scaled, root = unit_diagonal(place.model, DAMPING)
        direction = _nearest(scaled, scaled @ (x * root) - place.gradient / root, x * root) / root - x
        reach = float(np.abs(direction @ self.columns).max())
        scale = 1 + float(np.abs(x @ self.columns).max())
        return Step(direction, reach, reach**2 if reach <= SHORT_REACH else np.inf, unit=scale, scale=scale)

    def held_out(self, x: Float64s) -> float:
        """Return the cost of each row by one Newton step away from it, with slopes at 0 kept there."""
        eta = x @ self.columns
        p, free = sigmoid(eta), np.append(x[:-1] > 0, True)
        scaled, root = unit_diagonal(self._curvature(p, eta)[np.ix_(free, free)], DAMPING)
        columns = self.columns[free] / root[:, None]
        leverage = np.einsum("kn,kn->n", columns, np.linalg.solve(scaled, columns))
        one = np.minimum(self.w, 1)  # the weight of the row that is left out
        shift = one * leverage / (1 - one * p * sigmoid(-eta) * leverage)
        positive, negative = eta - shift * sigmoid(-eta), eta + shift * p
        return float(self.wy @ np.logaddexp(0, -positive) + (self.w - self.wy) @ np.logaddexp(0, negative))

    def _curvature(self, p: Float64s, eta: Float64s) -> Float64s:
        return np.asarray((self.columns * (self.w * p * sigmoid(-eta))) @ self.columns.T + 2 * self.ridge)


def _nearest(curvature: Float64s, target: Float64s, start: Float64s) -> Float64s:
    """Return the minimum of x' curvature x / 2 - target' x where all but the last of x are at least 0.

    This is the method of Lawson and Hanson (1974), from a start that is allowed: coordinates at 0 become free one at a
    time, and free ones that would fall below 0 stay there.
    """
    x, free = start.copy(), np.ones(len(start), dtype=bool)
    bounded = np.arange(len(x)) < len(x) - 1
    small = NO_GAIN * float(np.abs(target).max())
    for _ in range(3 * len(x)):
        while True:
            trial = np.zeros_like(x)
            trial[free] = np.linalg.solve(curvature[np.ix_(free, free)], target[free])
            below: Array = free & bounded & (trial < 0)
            if not below.any():
                break
            share = np.where(below, x / np.where(below, x - trial, 1), np.inf)
            first = share.argmin()
            x += share[first] * (trial - x)
            x[first], free[first] = 0, False
        x = trial
        gain = np.where(free, -np.inf, target - curvature @ x)
        if gain.max() <= small:
            break
        free[gain.argmax()] = True
    return x
