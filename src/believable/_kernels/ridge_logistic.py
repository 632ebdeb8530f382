"""Logistic regression with an offset and a ridge, for few points and many coefficients."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from believable._kernels.probabilities import sigmoid
from believable._kernels.solve import Iterate, SearchSettings, Step, minimise
from believable._types import Float64s

RIDGE_SEARCH = SearchSettings(
    close=1e-7,  # in linear predictors; the next step would be the square of this
    most_steps=1000,  # a few suffice, unless an offset is far from what the data say: a step gains 4
    rounding=1e-12,
    furthest=4.0,
    sure=1.0,  # a Newton step this short cannot overshoot, because |s''| <= s' for a sigmoid
    slack=1e-13,
    most_halvings=40,
)
SLOPED_SEARCH = replace(RIDGE_SEARCH, sure=0.0)  # any step may overshoot


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


class Sloped(NamedTuple):
    """Fitted numbers of `fit_sloped_logistic`.

    Attributes
    ----------
    shared : ndarray
        The coefficients b.
    intercepts, slopes : ndarray
        The numbers a and c of each segment.
    """

    shared: Float64s
    intercepts: Float64s
    slopes: Float64s


def fit_sloped_logistic(
    x: Float64s, offset: Float64s, members: Float64s, w: Float64s, wy: Float64s, ridge: Float64s
) -> Sloped:
    """Fit logit E y = u + sum_j in_j (a_j + c_j (u - m_j)), u = offset + x b: segments multiply what they share.

    `members` of shape (segments, points) is 1 where a point is in segment j, and m_j the mean of the offset there. The
    ridge is that on b, a and c, one after the other.
    """
    problem = _Sloped(x, offset, members, w, wy, ridge)
    values = minimise(problem, np.zeros(len(ridge)), SLOPED_SEARCH).x
    shared, intercepts, slopes = np.split(values, [x.shape[1], x.shape[1] + len(members)])
    return Sloped(shared, intercepts, slopes)


class _Sloped:
    """The negative log-likelihood with its penalty; it is not convex, because slopes multiply coefficients."""

    convex = False

    def __init__(
        self, x: Float64s, offset: Float64s, members: Float64s, w: Float64s, wy: Float64s, ridge: Float64s
    ) -> None:
        self.columns, self.offset, self.members, self.w, self.wy, self.ridge = x, offset, members, w, wy, ridge
        self.middle = (members @ (w * offset)) / np.maximum(members @ w, 1e-300)

    def _predicted(self, x: Float64s) -> tuple[Float64s, Float64s, Float64s]:
        """Return the linear predictor, what multiplies the shared part of it, and the columns of the slopes."""
        n_shared, n_segments = self.columns.shape[1], len(self.members)
        b, a, c = x[:n_shared], x[n_shared : n_shared + n_segments], x[n_shared + n_segments :]
        shared = self.offset + self.columns @ b
        sloped = self.members * (shared - self.middle[:, None])
        return shared + a @ self.members + c @ sloped, 1 + c @ self.members, sloped

    def at(self, x: Float64s) -> Iterate:
        eta, factor, sloped = self._predicted(x)
        e = sigmoid(eta)
        columns = np.hstack([factor[:, None] * self.columns, self.members.T, sloped.T])
        excess = self.w * e - self.wy
        model = _Curvature(columns, self.w * e * (1 - e), (self.members * excess) @ self.columns)
        return Iterate(columns.T @ excess + self.ridge * x, model)

    def cost(self, x: Float64s) -> float:
        eta, _, _ = self._predicted(x)
        return float(np.sum(self.w * np.logaddexp(0, eta) - self.wy * eta) + self.ridge @ x**2 / 2)

    def step(self, x: Float64s, place: Iterate) -> Step:
        """Newton's step or, where the cost bends down, that with the expected curvature."""
        columns, information, crossed = place.model
        expected = (columns * information[:, None]).T @ columns
        expected[np.diag_indices(len(x))] += self.ridge
        n_shared, n_segments = self.columns.shape[1], len(self.members)
        curvature = expected.copy()
        curvature[n_shared + n_segments :, :n_shared] += crossed
        curvature[:n_shared, n_shared + n_segments :] += crossed.T
        try:
            np.linalg.cholesky(curvature)
        except np.linalg.LinAlgError:
            curvature = expected
        direction = np.linalg.solve(curvature, -place.gradient)
        return Step(direction, float(np.abs(columns @ direction).max()))


class _Curvature(NamedTuple):
    """The columns of the model linearised, their information, and by how much slopes and coefficients interact."""

    columns: Float64s
    information: Float64s
    crossed: Float64s
