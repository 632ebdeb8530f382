"""Logistic regression with few parameters on many points, for one set of outcomes or many at once.

A point has a weight w and a weight of positives wy, so ties, weights and fractional outcomes need no special treatment.
Columns are rows of an array (k, J), because long rows are fast. Outcomes may be (B, J), one row per replicate.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from believable._kernels.compiled import logistic as compiled
from believable._kernels.solve import Iterate, SearchSettings, Step, minimise_many, unit_diagonal
from believable._kernels.twins import twin
from believable._types import Array, Float64s, Ints

CACHED_POINTS = 1 << 13  # points times replicates that fit in the cache; products this short stay on one core
DAMPING = 1e-13  # share added to the diagonal, so that a flat likelihood does not divide by zero
LONGEST_STEP = 1e250  # bound of a step before it is cut to what the linear predictors can need
LOGISTIC_SEARCH = SearchSettings(
    close=1e-9,  # in linear predictors; the next step would be the square of this
    most_steps=1000,  # a few suffice unless weights differ by 10^200: there a step gains a factor e
    rounding=1e-14,
    settled=1e-6,
    furthest=2.0,
    sure=1.5,  # a Newton step this short cannot overshoot, because |s''| <= s' for a sigmoid
)


class LogisticFit(NamedTuple):
    """A maximum of the likelihood; replicates are leading axes.

    Attributes
    ----------
    coefficients : ndarray of shape (k,)
        Coefficients of the columns.
    log_likelihood : ndarray of shape ()
        Log-likelihood at the coefficients.
    information : ndarray of shape (k, k)
        Sum of w mu (1 - mu) x x' at the coefficients.
    converged : ndarray of bool, shape ()
        False if the likelihood was too flat to find its maximum.
    """

    coefficients: Float64s
    log_likelihood: Float64s
    information: Float64s
    converged: Array


def separation(x: Float64s, w: Float64s, wy: Float64s) -> Array:
    """Return whether a threshold on ascending x separates positives from negatives (both may occur at the threshold).

    1 if the positives are above, -1 if they are below, 0 if the classes overlap; NaN if there is only one class or one
    distinct x, so that there is no line to fit.
    """
    positive, negative = wy > 0, w - wy > 0
    first_positive, last_positive = _ends(x, positive)
    first_negative, last_negative = _ends(x, negative)
    above, below = last_negative <= first_positive, last_positive <= first_negative
    one_class = ~(positive.any(axis=-1) & negative.any(axis=-1))
    return np.where(one_class | (above & below), np.nan, above.astype(np.float64) - below)


def _ends(x: Float64s, present: Array) -> tuple[Array, Array]:
    """Return x of the first and last point that is present."""
    return x[present.argmax(axis=-1)], x[-1 - present[..., ::-1].argmax(axis=-1)]


def fit_logistic(
    columns: Float64s,
    w: Float64s,
    wy: Float64s,
    offset: Float64s | None = None,
    start: Float64s | None = None,
) -> LogisticFit:
    """Fit logit E y = offset + sum_k c_k x_k by maximum likelihood: Newton's method with halved steps.

    The maximum must exist; the caller has to exclude classes that a hyperplane separates. Steps are taken until no
    linear predictor moves by more than 1e-9, and then once more. No step more than triples the linear predictors.
    """
    single = wy.ndim == w.ndim == 1
    unit = np.exp2(
        np.frexp(np.atleast_2d(w).max(axis=1, keepdims=True))[1]
    )  # a power of 2, so that scaling does not round
    positive, negative = np.broadcast_arrays(np.atleast_2d(wy) / unit, np.atleast_2d(w - wy) / unit)
    given = np.zeros((1, columns.shape[1])) if offset is None else offset[None]
    first = np.zeros((len(positive), len(columns)))
    if start is not None:
        first += start
    found, converged = minimise_many(_Points(columns, positive, negative, given), first, LOGISTIC_SEARCH)
    _, information = logistic_derivatives(found, columns, positive, negative, given)
    value = _log_likelihood(found, columns, positive, negative, given)
    fit = LogisticFit(found, value * unit[:, 0], information * unit[:, :, None], converged)
    return LogisticFit(*(part[0] for part in fit)) if single else fit


def likelihood(
    columns: Float64s, coefficients: Float64s, w: Float64s, wy: Float64s, offset: Float64s | None = None
) -> tuple[float, Float64s, Float64s]:
    """Return the log-likelihood, its gradient (k,) and the information (k, k) at any coefficients."""
    given = np.zeros((1, columns.shape[1])) if offset is None else offset[None]
    problem = (columns, wy[None], (w - wy)[None], given)
    gradient, information = logistic_derivatives(coefficients[None], *problem)
    return float(_log_likelihood(coefficients[None], *problem)[0]), gradient[0], information[0]


def score_products(
    columns: Float64s, coefficients: Float64s, w2: Float64s, w2y: Float64s, offset: Float64s | None = None
) -> Float64s:
    """Return the sum of w^2 (y - mu)^2 x x' at fitted coefficients, of shape (k, k): the middle of the sandwich."""
    total = np.zeros((len(columns), len(columns)))
    given = np.zeros((1, columns.shape[1])) if offset is None else offset[None]
    for part in _blocks(columns.shape[1], 1):
        mu, nu, _ = _means(coefficients[None], columns[:, part], given[:, part])
        squared = w2y[part] * nu[0] ** 2 + (w2[part] - w2y[part]) * mu[0] ** 2
        total += (columns[:, part] * squared) @ columns[:, part].T
    return total


def sandwich(information: Float64s, middle: Float64s) -> Float64s:
    """Return the covariance of the coefficients: inverse information, middle, inverse information."""
    half = np.linalg.solve(information, middle)
    covariance = np.linalg.solve(information, half.T)
    return np.asarray((covariance + covariance.T) / 2)


class _Points:
    """The negative log-likelihood of every replicate: a batch of problems for `minimise_many`."""

    convex = True

    def __init__(self, columns: Float64s, positive: Float64s, negative: Float64s, offset: Float64s) -> None:
        self.columns, self.positive, self.negative, self.offset = columns, positive, negative, offset
        self.widest = np.abs(columns).max(axis=1)
        self.furthest = float(np.abs(offset).max())

    def at(self, x: Float64s, which: Ints) -> Iterate:
        gradient, information = logistic_derivatives(x, *self._of(which))
        return Iterate(-gradient, information)

    def cost(self, x: Float64s, which: Ints) -> Float64s:
        return -_log_likelihood(x, *self._of(which))

    def step(self, x: Float64s, place: Iterate, which: Ints) -> Step:
        correlation, root = logistic_system(place.model, place.gradient, self.widest)
        direction = np.linalg.solve(correlation, (-place.gradient / root)[..., None])[..., 0] / root
        reach = np.abs(direction) @ self.widest  # no linear predictor moves further than this
        scale = 1 + self.furthest + np.abs(x) @ self.widest
        return Step(direction, reach, unit=scale, scale=scale)

    def _of(self, which: Ints) -> tuple[Float64s, Float64s, Float64s, Float64s]:
        rows = which if len(which) < len(self.positive) else slice(None)
        return self.columns, self.positive[rows], self.negative[rows], self.offset


def logistic_system(information: Float64s, gradient: Float64s, widest: Float64s) -> tuple[Float64s, Float64s]:
    """Return the matrix of Newton's equations, scaled to a unit diagonal, and its scale; `widest` bounds columns."""
    return unit_diagonal(information, DAMPING, np.abs(gradient) * (widest / LONGEST_STEP))


def _blocks(n_points: int, n_replicates: int) -> Iterator[slice]:
    step = max(CACHED_POINTS // n_replicates, 64)
    for first in range(0, n_points, step):
        yield slice(first, min(first + step, n_points))


def _means(coefficients: Float64s, x: Float64s, offset: Float64s) -> tuple[Float64s, Float64s, Float64s]:
    """Return mu, 1 - mu and mu (1 - mu), each as accurate in the tails as in the middle."""
    predictor = coefficients @ x
    predictor += offset
    tail = np.exp(-np.abs(predictor))
    large = 1 / (1 + tail)
    small = tail * large
    above = predictor >= 0
    return np.where(above, large, small), np.where(above, small, large), small * large


@lru_cache(maxsize=16)
def _upper_half(size: int) -> tuple[Ints, Ints]:
    """Return rows and columns of the entries of a square matrix on and above its diagonal, read-only."""
    first, second = np.triu_indices(size)
    first.flags.writeable = second.flags.writeable = False
    return first, second


@twin(compiled.logistic_derivatives)
def logistic_derivatives(
    here: Float64s, columns: Float64s, positive: Float64s, negative: Float64s, offset: Float64s
) -> tuple[Float64s, Float64s]:
    """Return the gradient (B, k) and the information (B, k, k) of the log-likelihood."""
    n_columns, n_points = columns.shape
    first, second = _upper_half(n_columns)
    gradient, products = np.zeros_like(here), np.zeros((len(here), len(first)))
    for part in _blocks(n_points, len(here)):
        x, above, below = columns[:, part], positive[:, part], negative[:, part]
        mu, nu, variance = _means(here, x, offset[:, part])
        gradient += (above * nu - below * mu) @ x.T
        products += ((above + below) * variance) @ (x[first] * x[second]).T
    information = np.empty((len(here), n_columns, n_columns))
    information[:, first, second] = products
    information[:, second, first] = products
    return gradient, information


def _log_likelihood(
    here: Float64s, columns: Float64s, positive: Float64s, negative: Float64s, offset: Float64s
) -> Float64s:
    total = np.zeros(len(here))
    for part in _blocks(columns.shape[1], len(here)):
        predictor = here @ columns[:, part]
        predictor += offset[:, part]
        above, below = positive[:, part], negative[:, part]
        cost = above * np.maximum(-predictor, 0) + below * np.maximum(predictor, 0)
        cost += (above + below) * np.log1p(np.exp(-np.abs(predictor)))
        total -= cost.sum(axis=1)
    return total
