"""Mixtures: shares of known components, and shares of logits at an unknown temperature."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np

from believable._kernels.rows import row_blocks
from believable._kernels.solve import Iterate, SearchSettings, Step, minimise, unit_diagonal
from believable._kernels.temperature import label_terms
from believable._kernels.values import LogitRows
from believable._types import Float64s, Ints

EM_STEPS = 10  # EM steps before Newton's method
# At the end, the EM algorithm would move no share by more than `close`, and no dropped component would return.
SHARES_SEARCH = SearchSettings(close=1e-12, most_steps=200, slack=1e-15, most_halvings=60)
SHARES_RIDGE = 1e-12  # share added to the diagonal, for components that the data do not distinguish
# A share below this that the EM algorithm makes smaller is dropped, until the gradient asks for it again.
NEGLIGIBLE_MIXTURE_SHARE = 1e-6


def mixture_shares(density: Float64s, weight: Float64s, start: Float64s) -> tuple[Float64s, bool]:
    """Return the shares t that maximise sum_i w_i log(sum_k t_k f_ik), and whether they were found; f is (n, K), w > 0.

    The EM algorithm, t_k <- t_k h_k with h_k the weighted mean of f_ik / sum_j t_j f_ij, has this maximum as its fixed
    point, but is slow if components overlap. So it only starts the search, and Newton's method on t >= 0 minimises
    -sum_i w_i log(f t) + sum_k t_k, which has its minimum at the same t and needs no constraint on their sum. The start
    must be positive.
    """
    mixture = _Shares(density, weight / weight.sum())
    shares = start / start.sum()
    for _ in range(EM_STEPS):
        shares = shares * mixture.pull(shares)
    found = minimise(mixture, shares, SHARES_SEARCH, low=0.0)
    return found.x / found.x.sum(), found.status == "converged"


class _Shares:
    """The cost of shares, as a problem for `minimise`. Its gradient is 1 - h, with the h of the EM algorithm."""

    convex = False  # it is convex, but has no derivatives if all components of a row are dropped

    def __init__(self, density: Float64s, weight: Float64s) -> None:
        self.density, self.weight = density, weight

    def pull(self, shares: Float64s) -> Float64s:
        """Return h, the factors by which the EM algorithm multiplies the shares."""
        return np.asarray((self.weight / (self.density @ shares)) @ self.density)

    def at(self, x: Float64s) -> Iterate:
        return Iterate(1 - self.pull(x))

    def cost(self, x: Float64s) -> float:
        mixed = self.density @ x
        return float(x.sum() - self.weight @ np.log(mixed)) if mixed.min() > 0 else np.inf

    def step(self, x: Float64s, place: Iterate) -> Step:
        """Return Newton's step of the free shares, with an EM step as fallback if that does not lower the cost."""
        rise = -place.gradient
        left = max(float(rise.max()), float(np.abs(x * rise).max()))
        if left <= SHARES_SEARCH.close:
            return Step(np.zeros_like(x), left)
        free = (x > NEGLIGIBLE_MIXTURE_SHARE) | (rise > 0)
        part = self.density[:, free] if not free.all() else self.density
        scaled, root = unit_diagonal(_curvature(part, self.weight, self.density @ x), SHARES_RIDGE)
        direction = -x  # shares that are not free go to zero
        direction[free] = np.linalg.solve(scaled, rise[free] / root) / root
        return Step(direction, left, fallback=x * rise)


def _curvature(density: Float64s, weight: Float64s, mixed: Float64s) -> Float64s:
    """Return the sum of w_i f_ik f_il / (f t)_i^2."""
    total = np.zeros((density.shape[1], density.shape[1]))
    root = np.sqrt(weight) / mixed
    for rows in row_blocks(*density.shape):
        one = density[rows] * root[rows, None]
        total += one.T @ one
    return total


# --- A mixture of softmax(b z), softmax(z) and 1/K: the weights and b that maximise the likelihood together -----------
# For given b, the likelihood is concave in the weights. With optimal weights, it is a smooth function of b alone,
# possibly with several maxima; its slope is that at fixed weights.


# The length of a step is the predicted decrease of the cost; after 1e-13, the next would be its square. The reach of a
# step is the relative decrease of a row's likelihood, at most 0.99, where the quadratic model is still valid.
WEIGHTS_SEARCH = SearchSettings(close=1e-13, sure=1e-13, furthest=0.99)
# A share of the curvature, and a curvature, that are added so that equal or vanishing parts do not divide by zero.
CURVATURE_RIDGE, CURVATURE_FLOOR = 1e-13, 1e-200
WIDEST_FACTOR = 100.0  # b is searched within this factor of the given value
N_GRID_PLACES = 21
GRID_ROWS = 2000  # the grid uses this many rows, or up to twice as many
BESIDE_UNSCALED = 0.05  # |log b| of starting points next to the unscaled part, where a minimum may be narrow
CLOSE_LOG_B = 1e-6  # a step in log b this short is the last
LOG_B_SEARCH = SearchSettings(close=CLOSE_LOG_B, sure=CLOSE_LOG_B)


class EnsembleFit(NamedTuple):
    """The fitted b and weights of softmax(b z), softmax(z) and 1/K, the mean cost, and whether b is at a bound."""

    b: float
    weights: Float64s
    cost: float
    at_end: bool


def part_weights(parts: Float64s, shares: Float64s, start: Float64s | None = None) -> Float64s:
    """Return the weights v >= 0 of sum 1 that minimise -sum_i shares_i log(sum_j v_j parts_ji), for shares of sum 1.

    There are few parts. The sum of v is added to the cost instead of being fixed; at the minimum it is 1. Each step
    minimises the quadratic model under v >= 0, so parts that are not needed get exactly 0.
    """
    n_parts = len(parts)
    v = np.full(n_parts, 1 / n_parts) if start is None else 0.99 * start + 0.01 / n_parts
    v = minimise(_Weights(parts, shares), v, WEIGHTS_SEARCH, low=0.0).x
    return np.asarray(v / v.sum())


class _Weights:
    """The cost of the weights of parts, as a problem for `minimise`."""

    convex = False  # it is convex, but has no derivatives if no part of a row has weight

    def __init__(self, parts: Float64s, shares: Float64s) -> None:
        self.parts, self.shares = parts, shares
        self.seen: tuple[Float64s, Float64s, float] | None = None  # weights, their mixture and its cost

    def look(self, x: Float64s) -> tuple[Float64s, float]:
        """Return the mixture and its cost, cached for the last weights."""
        if self.seen is None or not np.array_equal(x, self.seen[0]):
            mixed = x @ self.parts
            self.seen = x.copy(), mixed, float(x.sum() - self.shares @ np.log(mixed))
        return self.seen[1:]

    def at(self, x: Float64s) -> Iterate:
        mixed, cost = self.look(x)
        ratio = self.parts / mixed
        return Iterate(1 - ratio @ self.shares, ratio, cost)

    def cost(self, x: Float64s) -> float:
        return self.look(x)[1]

    def step(self, x: Float64s, place: Iterate) -> Step:
        gradient, ratio = place.gradient, place.model
        curvature = (ratio * self.shares) @ ratio.T
        direction = _nonnegative(curvature, gradient - curvature @ x) - x
        promised = -gradient @ direction - direction @ curvature @ direction / 2
        return Step(direction, float(promised), reach=-float((direction @ ratio).min()))


def _nonnegative(curvature: Float64s, linear: Float64s) -> Float64s:
    """Return the v >= 0 that minimises v' curvature v / 2 + linear' v, with as few parts as possible."""
    damped = curvature + np.diag(CURVATURE_RIDGE * curvature.diagonal() + CURVATURE_FLOOR)
    best, lowest = np.zeros(len(linear)), 0.0
    for chosen in _subsets(len(linear)):
        slopes = linear[chosen]
        all_v = -np.linalg.solve(damped[chosen[:, :, None], chosen[:, None]], slopes[..., None])[..., 0]
        values = np.einsum("mk,mk->m", slopes, all_v) / 2
        for which, v, value in zip(chosen, all_v, values.tolist(), strict=True):
            if value < lowest - 1e-15 * abs(lowest) and v.min() >= 0:
                best, lowest = np.zeros(len(linear)), value
                best[which] = v
    return best


@lru_cache(maxsize=16)
def _subsets(n_parts: int) -> list[Ints]:
    """Return the sets of parts, one array (sets, size) for each size from 1."""
    return [np.array(list(combinations(range(n_parts), size))) for size in range(1, n_parts + 1)]


def fit_ensemble_temperature(rows: LogitRows, b: float) -> EnsembleFit:
    """Return the mixture with the least cost, for b within a factor 100 of the given value.

    A grid on some of the rows gives the starting point. At b = 1 the scaled and the unscaled part are equal, so all
    weight can be moved to the scaled one; the search also starts there, if that is in the range. The result is not
    worse than with the b given.
    """
    stride = max(1, len(rows.top) // GRID_ROWS)
    profile = _Profile(rows.every(stride))
    given = float(np.log(b))
    grid = given + np.linspace(-np.log(WIDEST_FACTOR), np.log(WIDEST_FACTOR), N_GRID_PLACES)
    around = [place for place in (0.0, -BESIDE_UNSCALED, BESIDE_UNSCALED) if grid[0] < place < grid[-1]]
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
    """The least cost at a log b, its weights, and its first two derivatives."""

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
        bend = shares @ (pull * pull) - v[0] * (shares @ second)  # at fixed weights, which then adapt
        used = np.flatnonzero(v)
        ratio = parts[used] / mixed
        cross = ratio @ (shares * pull)
        cross[used == 0] -= slope
        bend -= cross @ np.linalg.lstsq((ratio * shares) @ ratio.T, cross, rcond=CURVATURE_RIDGE)[0]
        return _Place(v, -float(shares @ np.log(mixed)), -float(v[0] * slope), float(bend))


class _LogB:
    """A profile as a problem for `minimise`, kept between slopes of both signs.

    It may have several minima, and is flat where the first part gets no weight.
    """

    convex = False

    def __init__(self, profile: _Profile, grid: Float64s) -> None:
        self.profile, self.low, self.high = profile, float(grid[0]), float(grid[-1])
        self.stride = float(grid[1] - grid[0])
        self.below, self.above = -np.inf, np.inf
        self.seen: dict[float, _Place] = {}  # the place that the search is at, and those that it tries
        self.before = np.inf
        self.weights: Float64s | None = None

    def look(self, x: Float64s) -> _Place:
        """Return the cost at a point, computed once; the search for its weights starts from those of the last point."""
        place = float(x[0])
        if place not in self.seen:
            self.seen[place] = self.profile.at(place, self.weights)
        return self.seen[place]

    def at(self, x: Float64s) -> Iterate:
        found = self.look(x)
        self.seen, self.weights = {float(x[0]): found}, found.weights
        return Iterate(np.array([found.slope]), found, found.cost)

    def cost(self, x: Float64s) -> float:
        return self.look(x).cost

    def step(self, x: Float64s, place: Iterate) -> Step:
        here, found = float(x[0]), place.model
        if found.slope == 0 or abs(here - self.before) <= CLOSE_LOG_B:
            return Step(np.zeros(1), 0.0)
        self.before = here
        self.below, self.above = (here, self.above) if found.slope < 0 else (self.below, here)
        step = -found.slope / found.bend if found.bend > 0 else -np.sign(found.slope) * self.stride
        step = min(max(step, -self.stride), self.stride)
        to = min(max(here + step, self.low), self.high)
        if to != here and not self.below < to < self.above:
            to = (self.below + self.above) / 2
            step = to - here
        return Step(np.array([step]), abs(to - here))


def _descend(profile: _Profile, place: float, grid: Float64s) -> EnsembleFit:
    """Return the minimum that Newton's method reaches from a starting point."""
    problem = _LogB(profile, grid)
    found = minimise(problem, np.array([place]), LOG_B_SEARCH, problem.low, problem.high)
    here = problem.look(found.x)
    at_end = bool(here.weights[0] > 0 and not problem.low < found.x[0] < problem.high)
    return EnsembleFit(float(np.exp(found.x[0])), here.weights, here.cost, at_end)
