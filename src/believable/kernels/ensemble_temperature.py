"""A mixture of softmax(b z), softmax(z) and 1/K: the weights and b that maximise the likelihood together.

For given b the likelihood is concave in the weights. With the weights at their best it is a smooth function of b alone,
perhaps with several maxima; its slope is that at fixed weights.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from believable._types import Float64s
from believable.kernels.logits import LogitRows
from believable.kernels.temperature import label_terms

MOST_STEPS = 100
DONE = 1e-13  # a step of the weights that promises as little as this is the last; the next would promise its square
NEARLY = 0.99  # of the likelihood of any row may be lost in one step, so that the quadratic model holds
RIDGE, TINY = 1e-13, 1e-200  # added to curvatures, so that parts that are equal or nothing do not divide by zero
WIDEST, GRID, SAMPLE = 100.0, 21, 2000  # range of b on both sides, places that are looked at, on so many rows or twice
BESIDE = 0.05  # log b of places next to the unscaled part, where a minimum may be narrow
CLOSE = 1e-6  # a step in log b as short as this is the last


class EnsembleFit(NamedTuple):
    """b and the weights of softmax(b z), softmax(z) and 1/K; the mean cost; whether b is at an end of its range."""

    b: float
    weights: Float64s
    cost: float
    at_end: bool


def part_weights(parts: Float64s, shares: Float64s, start: Float64s | None = None) -> Float64s:
    """Weights v >= 0, of sum 1, that minimise -sum_i shares_i log(sum_j v_j parts_ji), for shares of sum 1.

    The parts are few. The sum of v is added to the cost instead of fixed: at the minimum it is 1. Each step solves the
    quadratic model with all its signs, so parts that are not needed get exactly 0.
    """
    n_parts = len(parts)
    v = np.full(n_parts, 1 / n_parts) if start is None else 0.99 * start + 0.01 / n_parts
    mixed = v @ parts
    cost = float(v.sum() - shares @ np.log(mixed))
    for _ in range(MOST_STEPS):
        ratio = parts / mixed
        gradient = 1 - ratio @ shares
        curvature = (ratio * shares) @ ratio.T
        step = _nonnegative(curvature, gradient - curvature @ v) - v
        promised = -gradient @ step - step @ curvature @ step / 2
        step *= min(1.0, NEARLY / max(-float((step @ ratio).min()), NEARLY))
        there, mixed, cost_there = _along(v, step, parts, shares)
        while cost_there > cost and promised > DONE:
            step /= 2
            there, mixed, cost_there = _along(v, step, parts, shares)
        v, cost = there, cost_there
        if promised <= DONE:
            break
    return np.asarray(v / v.sum())


def _along(v: Float64s, step: Float64s, parts: Float64s, shares: Float64s) -> tuple[Float64s, Float64s, float]:
    there = np.maximum(v + step, 0)
    mixed = there @ parts
    return there, mixed, float(there.sum() - shares @ np.log(mixed))


def _nonnegative(curvature: Float64s, linear: Float64s) -> Float64s:
    """v >= 0 that minimises v' curvature v / 2 + linear' v; of equals the one with the fewest parts."""
    damped = curvature + np.diag(RIDGE * curvature.diagonal() + TINY)
    best, lowest = np.zeros(len(linear)), 0.0
    for size in range(1, len(linear) + 1):
        for chosen in map(list, combinations(range(len(linear)), size)):
            v = -np.linalg.solve(damped[np.ix_(chosen, chosen)], linear[chosen])
            value = float(linear[chosen] @ v) / 2
            if (v >= 0).all() and value < lowest - 1e-15 * abs(lowest):
                best, lowest = np.zeros(len(linear)), value
                best[chosen] = v
    return best


# --- with a temperature -----------------------------------------------------------------------------------------------


def fit_ensemble_temperature(rows: LogitRows, b: float) -> EnsembleFit:
    """The mixture with the least cost, for b within a factor 100 of the given one.

    A grid on some of the rows says where to start. At b = 1 the scaled part is the unscaled one, so that all weight is
    its own and can be moved: the search also starts there, if that is in the range. The result is not worse than with
    the b that was given.
    """
    stride = max(1, len(rows.top) // SAMPLE)
    profile = _Profile(rows.every(stride))
    given = float(np.log(b))
    grid = given + np.linspace(-np.log(WIDEST), np.log(WIDEST), GRID)
    around = [place for place in (0.0, -BESIDE, BESIDE) if grid[0] < place < grid[-1]]
    costs, weights = [], None
    for place in (*grid, *around):
        found = profile.at(float(place), weights)
        costs.append(found.cost)
        weights = found.weights
    places = [float(np.append(grid, around)[np.argmin(costs)]), *around[:1], given]
    fits = [_descend(profile, place, grid) for place in places]
    if stride == 1:
        return min(fits, key=_cost)
    profile = _Profile(rows)
    fit = _descend(profile, float(np.log(min(fits, key=_cost).b)), grid)
    others = around[:1] if not fit.weights[0] else []
    if not fit.cost <= profile.at(given, fit.weights).cost:
        others.append(given)
    return min([fit, *(_descend(profile, place, grid) for place in others)], key=_cost)


def _cost(fit: EnsembleFit) -> float:
    return fit.cost


class _Place(NamedTuple):
    """The least cost at some log b, its weights, and its first two derivatives."""

    weights: Float64s
    cost: float
    slope: float
    bend: float


class _Profile:
    """The least cost of rows, as a function of log b."""

    def __init__(self, rows: LogitRows) -> None:
        n, n_classes = rows.logits.shape
        self.rows = rows
        self.shares = np.full(n, 1 / n) if rows.weights is None else rows.weights / rows.weights.sum()
        self.parts = np.empty((3, n))
        self.parts[1] = label_terms(rows, 1.0)[0]
        self.parts[2] = 1 / n_classes

    def at(self, place: float, start: Float64s | None) -> _Place:
        parts, shares = self.parts, self.shares
        parts[0], first, second = label_terms(self.rows, float(np.exp(place)))
        v = part_weights(parts, shares, start)
        mixed = v @ parts
        first /= mixed
        second /= mixed
        slope = shares @ first
        pull = v[0] * first
        bend = shares @ (pull * pull) - v[0] * (shares @ second)  # at fixed weights; then they give way
        used = np.flatnonzero(v)
        ratio = parts[used] / mixed
        cross = ratio @ (shares * pull)
        cross[used == 0] -= slope
        bend -= cross @ np.linalg.lstsq((ratio * shares) @ ratio.T, cross, rcond=RIDGE)[0]
        return _Place(v, -float(shares @ np.log(mixed)), -float(v[0] * slope), float(bend))


def _descend(profile: _Profile, place: float, grid: Float64s) -> EnsembleFit:
    """The minimum that is reached from a place by Newton's method, kept between slopes of both signs.

    Steps that do not lower the cost are halved: where the first part gets no weight the cost is flat.
    """
    low, high, stride = grid[0], grid[-1], grid[1] - grid[0]
    below, above = -np.inf, np.inf
    here = profile.at(place, None)
    for _ in range(MOST_STEPS):
        if here.slope == 0:
            break
        below, above = (place, above) if here.slope < 0 else (below, place)
        step = -here.slope / here.bend if here.bend > 0 else -np.sign(here.slope) * stride
        to = float(np.clip(place + np.clip(step, -stride, stride), low, high))
        if to != place and not below < to < above:
            to = (below + above) / 2
        there = profile.at(to, here.weights)
        while there.cost > here.cost and abs(to - place) > CLOSE:
            to = (place + to) / 2
            there = profile.at(to, here.weights)
        moved, place, here = abs(to - place), to, there
        if moved <= CLOSE:
            break
    at_end = bool(here.weights[0] > 0 and not low < place < high)
    return EnsembleFit(float(np.exp(place)), here.weights, here.cost, at_end)
