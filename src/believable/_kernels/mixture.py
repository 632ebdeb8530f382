"""The shares of a mixture whose components are known."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from believable._kernels.basics import row_blocks
from believable._kernels.temperature import label_terms
from believable._kernels.values import LogitRows
from believable._types import Float64s

EM_STEPS, NEWTON_STEPS = 10, 200
SETTLED = 1e-12  # the EM algorithm would move no share further, and no absent component asks for one
SHARES_RIDGE = 1e-12  # of the diagonal, for components that the data do not tell apart
NEGLIGIBLE_SHARE = (
    1e-6  # a share below this that the EM algorithm makes smaller is dropped, and comes back if that was wrong
)
HALVINGS = 60


def mixture_shares(density: Float64s, weight: Float64s, start: Float64s) -> tuple[Float64s, bool]:
    """Shares t that maximise sum_i w_i log(sum_k t_k f_ik), and whether they are found; f is (n, K), w positive.

    The EM algorithm, t_k <- t_k h_k with h_k the weighted mean of f_ik / sum_j t_j f_ij, has this maximum as its fixed
    point, but creeps where components overlap. So it begins, and Newton's method on t >= 0 goes on: -sum_i w_i log(f t)
    + sum_k t_k, which has its minimum at the same t and needs no constraint on their sum. The start is positive.
    """
    weight = weight / weight.sum()
    shares = start / start.sum()
    for _ in range(EM_STEPS):
        shares = shares * _pull(density, weight, shares)
    for _ in range(NEWTON_STEPS):
        pull = _pull(density, weight, shares)
        if (pull - 1).max() <= SETTLED and np.abs(shares * (pull - 1)).max() <= SETTLED:
            return shares / shares.sum(), True
        shares = _newton(density, weight, shares, pull)
    return shares / shares.sum(), False


def _pull(density: Float64s, weight: Float64s, shares: Float64s) -> Float64s:
    """h: what the EM algorithm multiplies the shares by."""
    return np.asarray((weight / (density @ shares)) @ density)


def _newton(density: Float64s, weight: Float64s, shares: Float64s, pull: Float64s) -> Float64s:
    """The shares after a step that lowers the cost, halved until it does; one of the EM algorithm if none does."""
    free = (shares > NEGLIGIBLE_SHARE) | (pull > 1)
    part = density[:, free] if not free.all() else density
    curvature = _curvature(part, weight, density @ shares)
    diagonal = np.diagonal(curvature)
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1))
    scaled = curvature / scale / scale[:, None]
    np.fill_diagonal(scaled, 1 + SHARES_RIDGE)
    step = -shares  # of those that are not free, which are on their way to zero
    step[free] = np.linalg.solve(scaled, (pull[free] - 1) / scale) / scale

    before = _cost_of_shares(density, weight, shares)
    for halving in range(HALVINGS):
        moved = np.maximum(shares + step / 2**halving, 0)
        gain = (pull - 1) @ (moved - shares)
        if gain > 0 and _cost_of_shares(density, weight, moved) <= before - 1e-4 * gain + 1e-15 * (1 + abs(before)):
            return np.asarray(moved)
    return shares * pull


def _cost_of_shares(density: Float64s, weight: Float64s, shares: Float64s) -> float:
    mixed = density @ shares
    return float(shares.sum() - weight @ np.log(mixed)) if mixed.min() > 0 else np.inf


def _curvature(density: Float64s, weight: Float64s, mixed: Float64s) -> Float64s:
    """Sum of w_i f_ik f_il / (f t)_i^2."""
    total = np.zeros((density.shape[1], density.shape[1]))
    root = np.sqrt(weight) / mixed
    for rows in row_blocks(*density.shape):
        one = density[rows] * root[rows, None]
        total += one.T @ one
    return total


# --- A mixture of softmax(b z), softmax(z) and 1/K: the weights and b that maximise the likelihood together -----------
# For given b the likelihood is concave in the weights. With the weights at their best it is a smooth function of b
# alone, perhaps with several maxima; its slope is that at fixed weights.


MOST_STEPS = 100
DONE = 1e-13  # a step of the weights that promises as little as this is the last; the next would promise its square
NEARLY = 0.99  # of the likelihood of any row may be lost in one step, so that the quadratic model holds
CURVATURE_RIDGE, CURVATURE_FLOOR = (
    1e-13,
    1e-200,
)  # added to curvatures, so that parts that are equal or nothing do not divide by zero
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
    damped = curvature + np.diag(CURVATURE_RIDGE * curvature.diagonal() + CURVATURE_FLOOR)
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
        return min(fits, key=_cost_of_fit)
    profile = _Profile(rows)
    fit = _descend(profile, float(np.log(min(fits, key=_cost_of_fit).b)), grid)
    others = around[:1] if not fit.weights[0] else []
    if not fit.cost <= profile.at(given, fit.weights).cost:
        others.append(given)
    return min([fit, *(_descend(profile, place, grid) for place in others)], key=_cost_of_fit)


def _cost_of_fit(fit: EnsembleFit) -> float:
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
        bend -= cross @ np.linalg.lstsq((ratio * shares) @ ratio.T, cross, rcond=CURVATURE_RIDGE)[0]
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
