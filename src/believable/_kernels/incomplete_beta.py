"""The regularised incomplete beta function as a map of probabilities, and its maximum likelihood."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from believable._kernels.basics import sigmoid
from believable._types import Array, Float64s

BETA_CDF_RANGE = SMALLEST, LARGEST = 1e-4, 1e4  # of the two parameters
LEAST = 1e-300  # what a probability is taken for where it is less, so that its logarithm is finite
Stencil = tuple[float, tuple[float, ...]]  # step in the logarithms of the parameters, coefficients of differences
ROUGH: Stencil = (2e-3, (1 / 2,))
EXACT: Stencil = (
    0.02,
    (4 / 5, -1 / 5, 4 / 105, -1 / 280),
)  # of the eighth order: it truncates where others would round
CLOSE, ROUGHLY = 1e-9, 1e-3  # a step as short as this is the last
MOST_STEPS, FARTHEST = 100, 2.0  # steps, and how far one may go
SURE = 1e-3  # a step as short as this needs no look at whether it leads down: rounding might say no
FLAT = 1e-9  # of the larger curvature: less is rounding
MANY = 20_000  # points beyond which they are gathered into cells
WIDTH, FINEST, COARSER = 1 / 256, 1 / 8192, 16  # of a cell, in logits and as a share of their range
NEARLY_ALL = 1 - 1e-7  # up to here 1 - I_q(b, a) keeps nine digits, more than p itself has left near 1
SMOOTH = 1e-5  # what parameter times squared width must not exceed, or cells are not fine enough


class WeightedLogits(NamedTuple):
    """Logits of one class, within +-27.6, and their weights."""

    logit: Float64s
    weight: Float64s


def beta_cdf(logit: Float64s, a: float, b: float) -> Float64s:
    """I_p(a, b) of probabilities given by their logits."""
    return np.exp(_log_cdf(_Points(logit), a, b))


def fit_beta_cdf(positive: WeightedLogits, negative: WeightedLogits) -> tuple[float, float]:
    """a and b in [1e-4, 1e4] that maximise the likelihood, from a = b = 1 on.

    Many points are first gathered into cells, each at the mean logit of its class there. The cells are so fine that
    this changes the map by less than 1e-6; where it is so steep that they are not, the points themselves are used.
    """
    start = np.zeros(2)
    if len(positive.logit) + len(negative.logit) > MANY:
        low = min(positive.logit.min(), negative.logit.min())
        high = max(positive.logit.max(), negative.logit.max())
        width = min(WIDTH, float(high - low) * FINEST)
        above, below = (_gathered(side, low, width) for side in (positive, negative))
        higher, lower = (_gathered(side, low, width * COARSER) for side in (above, below))
        start = _maximum(above, below, _maximum(higher, lower, start, ROUGHLY))
        if np.exp(start).max() * width**2 <= SMOOTH:
            return _parameters(start)
    return _parameters(_maximum(positive, negative, start))


def _parameters(logs: Float64s) -> tuple[float, float]:
    inside = np.where(logs <= np.log(SMALLEST), SMALLEST, np.where(logs >= np.log(LARGEST), LARGEST, np.exp(logs)))
    a, b = inside.tolist()  # the ends exactly, so that they can be told
    return a, b


def _gathered(side: WeightedLogits, low: float, width: float) -> WeightedLogits:
    index = ((side.logit - low) / width).astype(np.intp)
    weight = np.bincount(index, side.weight).astype(np.float64)
    total = np.bincount(index, side.weight * side.logit)
    some = np.flatnonzero(weight)
    return WeightedLogits(total[some] / weight[some], weight[some])


def _maximum(positive: WeightedLogits, negative: WeightedLogits, start: Float64s, close: float = CLOSE) -> Float64s:
    """Logarithms of a and b, by Newton's method within bounds."""
    total = float(positive.weight.sum() + negative.weight.sum())
    up, down = _Points(positive.logit), _Points(-negative.logit)

    def cost(logs: Float64s) -> float:
        a, b = np.exp(logs)
        value = positive.weight @ _log_cdf(up, a, b) + negative.weight @ _log_cdf(down, b, a)
        return -float(value) / total

    here, low, high, last, stencil = start, np.log(SMALLEST), np.log(LARGEST), np.inf, ROUGH
    for _ in range(MOST_STEPS):
        value, slope, curvature = _derivatives(cost, here, stencil)
        free = ~(((here <= low) & (slope > 0)) | ((here >= high) & (slope < 0)))
        step = np.zeros(2)
        step[free] = -_downhill(curvature[np.ix_(free, free)], slope[free])
        step *= min(1, FARTHEST / max(np.abs(step).max(), close))
        ahead = np.clip(here + step, low, high)
        while np.abs(ahead - here).max() > SURE and cost(ahead) > value:
            step /= 2
            ahead = np.clip(here + step, low, high)
        moved, here = float(np.abs(ahead - here).max()), ahead
        settled = last / 2 <= moved <= SURE  # as near as rounding permits
        if moved <= close or (settled and stencil is EXACT):
            break
        if moved <= SURE:
            stencil = EXACT
        last = moved
    return here


def _derivatives(
    cost: Callable[[Float64s], float], here: Float64s, stencil: Stencil
) -> tuple[float, Float64s, Float64s]:
    """Value, gradient and Hessian, from differences."""
    h, coefficients = stencil
    h /= np.sqrt(max(1.0, np.exp(here.max())))  # the larger the parameters, the faster all changes
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
    """Newton's step, with curvatures that are not positive taken for their size."""
    if not len(slope):
        return slope
    sizes, axes = np.linalg.eigh(curvature)
    sizes = np.maximum(np.abs(sizes), FLAT * np.abs(sizes).max() + np.finfo(float).tiny)
    return np.asarray(axes @ ((axes.T @ slope) / sizes))


class _Points:
    """Probabilities, and how to take the incomplete beta function of them without losing either tail."""

    def __init__(self, logit: Float64s) -> None:
        self.p, self.q = sigmoid(logit), sigmoid(-logit)
        self.low: Array = np.flatnonzero(logit <= 0)
        self.high: Array = np.flatnonzero(logit > 0)


def _log_cdf(points: _Points, a: float, b: float) -> Float64s:
    """log I_p(a, b), from whichever of p and 1 - p is the smaller."""
    from scipy.special import betainc

    value = np.empty(len(points.p))
    value[points.low] = np.log(np.maximum(betainc(a, b, points.p[points.low]), LEAST))
    above = betainc(b, a, points.q[points.high])
    value[points.high] = np.log1p(-np.minimum(above, NEARLY_ALL))
    lost = points.high[above > NEARLY_ALL]
    value[lost] = np.log(np.maximum(betainc(a, b, points.p[lost]), LEAST))
    return value
