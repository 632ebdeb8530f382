"""Logistic regression with an offset and a ridge, for few points and many coefficients."""

from __future__ import annotations

import numpy as np

from believable._kernels.probabilities import sigmoid
from believable._kernels.solve import Iterate, SearchSettings, Step, minimise
from believable._types import Float64s

RIDGE_SEARCH = SearchSettings(
    close=1e-7,  # in linear predictors; the next step would be the square of this
    most_steps=100,
    rounding=1e-12,
    furthest=4.0,
    sure=1.0,  # a Newton step this short cannot overshoot, because |s''| <= s' for a sigmoid
    slack=1e-13,
    most_halvings=40,
)


def fit_ridge_logistic(
    x: Float64s, offset: Float64s, w: Float64s, wy: Float64s, ridge: Float64s, start: Float64s | None = None
) -> Float64s:
    """Return the coefficients b that maximise the likelihood of logit E y = offset + x b less sum_k ridge_k b_k^2 / 2.

    A point, a row of x, has a weight w and a weight of positives wy.
    """
    first = np.zeros(x.shape[1]) if start is None else start
    return minimise(_Penalised(x, offset, w, wy, ridge), first, RIDGE_SEARCH).x if len(first) else first


class _Penalised:
    """The negative log-likelihood with its penalty."""

    convex = True

    def __init__(self, x: Float64s, offset: Float64s, w: Float64s, wy: Float64s, ridge: Float64s) -> None:
        self.columns, self.offset, self.w, self.wy, self.ridge = x, offset, w, wy, ridge

    def at(self, x: Float64s) -> Iterate:
        e = sigmoid(self.offset + self.columns @ x)
        gradient = self.columns.T @ (self.w * e - self.wy) + self.ridge * x
        return Iterate(gradient, self.w * e * (1 - e))

    def cost(self, x: Float64s) -> float:
        eta = self.offset + self.columns @ x
        return float(np.sum(self.w * np.logaddexp(0, eta) - self.wy * eta) + self.ridge @ x**2 / 2)

    def step(self, x: Float64s, place: Iterate) -> Step:
        information = (self.columns * place.model[:, None]).T @ self.columns
        information[np.diag_indices(len(x))] += self.ridge
        direction = np.linalg.solve(information, -place.gradient)
        return Step(direction, float(np.abs(self.columns @ direction).max()))
