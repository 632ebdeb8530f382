"""The regularised incomplete beta function as a calibration map, and its maximum likelihood fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from believable._kernels.probabilities import sigmoid
from believable._kernels.solve import Iterate, SearchSettings, Step, minimise
from believable._kernels.sorting import at_distinct
from believable._types import Array, Float64s

BETA_CDF_RANGE = 1e-4, 1e4  # range of the two parameters
LEAST_PROBABILITY = 1e-300  # smaller probabilities count as this, so that their logarithm is finite
NEARLY_ALL = 1 - 1e-7  # below this, 1 - I_q(b, a) keeps nine digits, more than p itself has left near 1

Stencil = tuple[float, tuple[float, ...]]  # step in the logarithms of the parameters, coefficients of differences
ROUGH: Stencil = (2e-3, (1 / 2,))
EXACT: Stencil = (
    0.02,
    (4 / 5, -1 / 5, 4 / 105, -1 / 280),
)  # eighth order, so that the step can be long enough not to round
# Lengths are in the logarithms of the parameters. Because of rounding, a step of 1e-3 may seem not to lower the cost.
EXACT_SEARCH = SearchSettings(close=1e-9, settled=1e-3, sure=1e-3, furthest=2.0)
ROUGH_BETA_SEARCH = replace(EXACT_SEARCH, close=1e-3)
FLAT_CURVATURE = 1e-9  # curvatures below this share of the larger one are rounding

POINTS_FOR_CELLS = 20_000  # more points are merged into cells
CELL_WIDTH, FINEST_CELL = 1 / 256, 1 / 8192  # in logits, and as a share of their range; the smaller one applies
COARSER_CELLS = 16  # the search starts with cells made of this many
SMOOTH_IN_CELLS = 1e-5  # cells are too coarse if parameter times squared width exceeds this


class WeightedLogits(NamedTuple):
    """Logits of one class, within +-27.6, and their weights."""

    logit: Float64s
    weight: Float64s


def beta_cdf(logit: Float64s, a: float, b: float) -> Float64s:
    """Return I_p(a, b) of probabilities given by their logits."""
    return np.exp(_log_cdf(_Points(logit), a, b))


def fit_beta_cdf(positive: WeightedLogits, negative: WeightedLogits) -> tuple[float, float]:
    """Return the a and b in [1e-4, 1e4] that maximise the likelihood, starting from a = b = 1.

    Equal logits are merged first, so that neither the order of rows nor weights in place of repetitions matter: where
    the likelihood is flat, rounding decides where the search ends. Many points are then merged into cells, each at the
    mean logit of its class there. The cells are so fine that this changes the calibration map by less than 1e-6; if the
    map is too steep for that, the points themselves are used.
    """
    positive, negative = _distinct(positive), _distinct(negative)
    start = np.zeros(2)
    if len(positive.logit) + len(negative.logit) > POINTS_FOR_CELLS:
        low = min(positive.logit.min(), negative.logit.min())
        high = max(positive.logit.max(), negative.logit.max())
        width = min(CELL_WIDTH, float(high - low) * FINEST_CELL)
        above, below = (_gathered(side, low, width) for side in (positive, negative))
        higher, lower = (_gathered(side, low, width * COARSER_CELLS) for side in (above, below))
        start = _maximum(above, below, _maximum(higher, lower, start, ROUGH_BETA_SEARCH))
        if np.exp(start).max() * width**2 <= SMOOTH_IN_CELLS:
            return _parameters(start)
    return _parameters(_maximum(positive, negative, start))


def _parameters(logs: Float64s) -> tuple[float, float]:
    low, high = BETA_CDF_RANGE
    inside = np.where(logs <= np.log(low), low, np.where(logs >= np.log(high), high, np.exp(logs)))
    a, b = inside.tolist()  # exactly at the ends of the range, so that callers can detect them
    return a, b


def _distinct(side: WeightedLogits) -> WeightedLogits:
    """Return distinct logits in ascending order."""
    logit, weight, _ = at_distinct(side.logit, side.weight, side.weight)
    return WeightedLogits(logit, weight)


def _gathered(side: WeightedLogits, low: float, width: float) -> WeightedLogits:
    index = ((side.logit - low) / width).astype(np.intp)
    weight = np.bincount(index, side.weight).astype(np.float64)
    total = np.bincount(index, side.weight * side.logit)
    some = np.flatnonzero(weight)
    return WeightedLogits(total[some] / weight[some], weight[some])


def _maximum(
    positive: WeightedLogits, negative: WeightedLogits, start: Float64s, settings: SearchSettings = EXACT_SEARCH
) -> Float64s:
    """Return the logarithms of a and b, by Newton's method within bounds."""
    low, high = np.log(BETA_CDF_RANGE)
    return minimise(_Likelihood(positive, negative), start, settings, float(low), float(high)).x


class _Likelihood:
    """The negative log-likelihood as a function of the logarithms of a and b: a problem for `minimise`.

    Derivatives come from rough differences until a step is short.
    """

    convex = False

    def __init__(self, positive: WeightedLogits, negative: WeightedLogits) -> None:
        self.weights, self.stencil = (positive.weight, negative.weight), ROUGH
        self.total = float(positive.weight.sum() + negative.weight.sum())
        self.points = _Points(positive.logit), _Points(-negative.logit)

    def at(self, x: Float64s) -> Iterate:
        cost, slope, curvature = _derivatives(self.cost, x, self.stencil)
        return Iterate(slope, curvature, cost)

    def cost(self, x: Float64s) -> float:
        (up, down), (above, below), (a, b) = self.points, self.weights, np.exp(x)
        return -float(above @ _log_cdf(up, a, b) + below @ _log_cdf(down, b, a)) / self.total

    def step(self, x: Float64s, place: Iterate) -> Step:
        slope, curvature = place.gradient, place.model
        low, high = np.log(BETA_CDF_RANGE)
        free = ~(((x <= low) & (slope > 0)) | ((x >= high) & (slope < 0)))
        direction = np.zeros(2)
        direction[free] = -_downhill(curvature[np.ix_(free, free)], slope[free])
        length = float(np.abs(direction).max())
        exact, self.stencil = self.stencil is EXACT, EXACT if length <= EXACT_SEARCH.sure else self.stencil
        return Step(direction, length, unit=float(exact))  # a step from rough differences never counts as the last


def _derivatives(
    cost: Callable[[Float64s], float], here: Float64s, stencil: Stencil
) -> tuple[float, Float64s, Float64s]:
    """Return value, gradient and Hessian, from differences."""
    h, coefficients = stencil
    h /= np.sqrt(max(1.0, np.exp(here.max())))  # the function changes faster for larger parameters
    value = cost(here)
    slope, curvature = np.zeros(2), np.zeros((2, 2))
    for i, along in enumerate(h * np.eye(2)):
        for k, coefficient in enumerate(coefficients, 1):
            on, back = cost(here + k * along), cost(here - k * along)
            slope[i] += coefficient * (on - back)
            if k == 1:
                curvature[i, i] = on - 2 * value + back
    both = cost(here + h) - 2 * value + cost(here - h)
    curvature[0, 1] = curvature[1, 0] = (both - np.trace(curvature)) / 2
    return value, slope / h, curvature / h**2


def _downhill(curvature: Float64s, slope: Float64s) -> Float64s:
    """Return Newton's step, with the absolute value of negative curvatures."""
    if not len(slope):
        return slope
    sizes, axes = np.linalg.eigh(curvature)
    sizes = np.maximum(np.abs(sizes), FLAT_CURVATURE * np.abs(sizes).max() + np.finfo(float).tiny)
    return np.asarray(axes @ ((axes.T @ slope) / sizes))


class _Points:
    """Probabilities in a form that keeps both tails of their incomplete beta function."""

    def __init__(self, logit: Float64s) -> None:
        self.p, self.q = sigmoid(logit), sigmoid(-logit)
        self.low: Array = np.flatnonzero(logit <= 0)
        self.high: Array = np.flatnonzero(logit > 0)


def _log_cdf(points: _Points, a: float, b: float) -> Float64s:
    """Return log I_p(a, b), computed from the smaller of p and 1 - p."""
    from scipy.special import betainc

    value = np.empty(len(points.p))
    value[points.low] = np.log(np.maximum(betainc(a, b, points.p[points.low]), LEAST_PROBABILITY))
    above = betainc(b, a, points.q[points.high])
    value[points.high] = np.log1p(-np.minimum(above, NEARLY_ALL))
    lost = points.high[above > NEARLY_ALL]
    value[lost] = np.log(np.maximum(betainc(a, b, points.p[lost]), LEAST_PROBABILITY))
    return value
