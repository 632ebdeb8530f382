"""Multinomial logistic regression on logits, with a ridge penalty towards the identity.

With x = (z_1, ..., z_K, 1), coefficients c (K, K + 1), or (K, 2) if each class uses its own logit only, and eta = c x,
the cost to minimise is

    sum_i w_i (log sum_k exp(eta_ik) - eta_i,label) / sum_i w_i + sum r (c - identity)^2.

Ridges r >= 0 have the shape of c, which also says which coefficients there are. The search uses its own coordinates
(`Coordinates`). Rows are processed in transposed blocks, because long rows are fast.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np

from believable._kernels.multinomial_steps import FARTHEST_LOGIT, Coordinates, Directions, Products, frame_of
from believable._kernels.separated_classes import separated
from believable._kernels.solve import Iterate, SearchSettings, Step, minimise
from believable._kernels.temperature import fit_temperature, logit_rows
from believable._types import Float64s, Floats, Ints

CACHED_ENTRIES = 1 << 18  # entries of the largest buffer of a block of rows
MOST_COEFFICIENTS = 300  # with more, steps are found by conjugate gradients instead of from all second derivatives
# The length of a step is the root mean square change of probabilities; one of 1e-4 cannot overshoot beyond rounding.
MULTINOMIAL_SEARCH = SearchSettings(
    close=1e-11,
    most_steps=200,
    settled=1e-7,
    furthest=2.0,
    sure=1e-4,
    allowance=1e-8,
    slack=1e-14,
    most_halvings=60,
    stuck=1e-5,
    no_gain=1e-13,
)
ROUGH_MULTINOMIAL_SEARCH = replace(MULTINOMIAL_SEARCH, close=1e-3, most_steps=60)
FAR_STEP = 0.5  # a step that changes almost no probability but moves predictors this far leads to infinity
WORSE_BY_ROUNDING = 1e-7  # cost that rounding of coefficients may add
LOST_CURVATURE = 1e-6  # a direction with less curvature, relative to equal probabilities, may lead to infinity
PERFECT_COST = 1e-10  # below this, all labels are almost certain
ROWS_PER_COEFFICIENT = 32  # a rough fit on this many rows per coefficient saves steps on all of them
ENOUGH_FOR_TEMPERATURE = 5000  # rows that suffice for a first temperature


class MultinomialFit(NamedTuple):
    """The coefficients of least cost.

    Among coefficients with the same probabilities and cost, those closest to the identity are taken (in units of the
    logits' root mean square): without ridges, columns of c - identity sum to zero over the classes. This is skipped if
    rounding would make it cost more, for example with logits of -1e30.

    Attributes
    ----------
    coefficients : ndarray of shape (K, K + 1) or (K, 2)
        Weights, then the intercept.
    determined : bool
        False if no minimum was found, for example because classes are separated. The cost is then at most that of the
        start.
    """

    coefficients: Float64s
    determined: bool


class MultinomialProblem(NamedTuple):
    """Logits (n, K), their labels, weights that sum to one (None for equal weights), and ridges.

    With a frame, coefficients are in its coordinates, except for `origin`; ridges stay those of coefficients of logits.
    """

    z: Floats
    labels: Ints
    weights: Float64s | None
    ridge: Float64s
    frame: Coordinates | None = None

    @property
    def diagonal(self) -> bool:
        """Whether each class uses its own logit only."""
        return bool(self.ridge.shape[1] == 2)

    @property
    def origin(self) -> Float64s:
        """Coefficients of logits of the identity."""
        return _identity(self.z.shape[1], self.diagonal)

    def every(self, stride: int) -> MultinomialProblem:
        """Return some of the rows, without copying the logits."""
        weights = None if self.weights is None else self.weights[::stride]
        if weights is not None:
            weights = weights / weights.sum() if weights.any() else None
        return MultinomialProblem(self.z[::stride], self.labels[::stride], weights, self.ridge, self.frame)

    def inside(self, c: Float64s) -> Float64s:
        """Convert coefficients of logits to the coordinates of the problem."""
        return c if self.frame is None else self.frame.forth(c)

    def outside(self, c: Float64s) -> Float64s:
        """Convert coefficients in the coordinates of the problem to those of logits."""
        if self.frame is None:
            return c
        return np.asarray(self.origin + self.frame.back(c - self.frame.forth(self.origin)))

    def blocks(self, height: int) -> Iterator[tuple[Float64s, Ints, Float64s]]:
        """Yield x (K + 1, m), labels and weights of each block of rows, for buffers of `height` numbers per row."""
        n, n_classes = self.z.shape
        length = max(64, min(CACHED_ENTRIES // height, n))
        for first in range(0, n, length):
            rows = slice(first, min(first + length, n))
            x = np.ones((n_classes + 1, rows.stop - first))
            x[:-1] = self.z[rows].T
            np.clip(x, -FARTHEST_LOGIT, FARTHEST_LOGIT, out=x)
            if self.frame is not None:
                x[:-1] -= self.frame.centre[:, None]
                x[:-1] *= self.frame.seen[:, None]
            w = np.full(x.shape[1], 1 / n) if self.weights is None else self.weights[rows]
            yield x, self.labels[rows], w

    def predictors(self, c: Float64s, x: Float64s) -> Float64s:
        """Return c x, of shape (K, m)."""
        return c[:, :1] * x[:-1] + c[:, 1:] if self.diagonal else c @ x

    def against(self, residuals: Float64s, x: Float64s) -> Float64s:
        """Return sums of residuals (K, m) times the inputs of each class, in the shape of c."""
        if not self.diagonal:
            return residuals @ x.T
        return np.column_stack([np.einsum("km,km->k", residuals, x[:-1]), residuals.sum(axis=1)])

    def farthest(self, step: Float64s) -> float:
        """Return how far a step moves two classes of any row apart, without outlying logits."""
        result = 0.0
        for x, _, _ in self.blocks(2 * len(step)):
            if self.frame is not None:
                np.clip(x[:-1], *self.frame.bound, out=x[:-1])
            result = max(result, float(np.ptp(self.predictors(step, x), axis=0).max()))
        return result

    def separated(self) -> bool | None:
        """Return whether coefficients without ridges separate the classes; None if that takes too long to find out."""
        assert self.frame is not None
        free = self.ridge == 0
        rows = slice(None) if self.weights is None else np.flatnonzero(self.weights)
        u = np.clip(self.z[rows].astype(np.float64), -FARTHEST_LOGIT, FARTHEST_LOGIT)
        u = np.clip((u - self.frame.centre) * self.frame.seen, *self.frame.bound[..., 0])
        if not free[:, -1].all():  # without intercepts, centring would change what the weights can do
            u += self.frame.centre * self.frame.seen
        return separated(u, self.labels[rows], free)

    def drawn(self, c: Float64s) -> tuple[float, Float64s]:
        """Return the contribution of the ridges to the cost at c and to its gradient."""
        away = c - self.origin if self.frame is None else self.frame.back(c - self.frame.forth(self.origin))
        gradient = 2 * self.ridge * away
        return float(np.vdot(gradient, away)) / 2, gradient if self.frame is None else self.frame.slopes(gradient)

    def bends(self) -> Float64s:
        """Return the contribution of the ridges to second derivatives within each class, (K, width, width)."""
        if self.frame is not None:
            return self.frame.bends(self.ridge)
        return np.asarray(2 * self.ridge[:, :, None] * np.eye(self.ridge.shape[1]))

    def at(self, c: Float64s, second: bool) -> Iterate:
        """Return the cost at c with its gradient and, if requested, its second derivatives (p, p) as the model."""
        n_classes, width = c.shape
        cost, gradient = self.drawn(c)
        first, last = np.triu_indices(width if second else 0)
        products = np.zeros((c.size, c.size) if second else 0)
        squares = np.zeros((n_classes, len(first)) if second else 0)
        for x, labels, w in self.blocks(c.size if second else 3 * n_classes):
            own = (labels, np.arange(len(labels)))
            p, excess = _softmax(self.predictors(c, x), own)
            cost += float(w @ excess)
            if second:
                seen = np.stack([x[:-1], np.ones_like(x[:-1])], axis=1) if self.diagonal else x[None]
                spread = ((p * np.sqrt(w))[:, None] * seen).reshape(c.size, -1)
                products += spread @ spread.T
            p *= w
            if second:
                squares += _paired(p, x, first, last, self.diagonal)
            p[own] -= w
            gradient += self.against(p, x)
        if second:
            np.negative(products, out=products)
            blocks = products.reshape(n_classes, width, n_classes, width)
            own_bends = self.bends()
            for k in range(n_classes):
                own_bends[k, first, last] += squares[k]
                own_bends[k, last, first] = own_bends[k, first, last]
                blocks[k, :, k] += own_bends[k]
        return Iterate(gradient, products, cost)

    def own_curvatures(self, c: Float64s) -> Float64s:
        """Return the second derivatives at c between coefficients of the same class, of shape (K, width, width)."""
        n_classes, width = c.shape
        first, last = np.triu_indices(width)
        squares = np.zeros((n_classes, len(first)))
        for x, labels, w in self.blocks(max(len(first), 4 * n_classes)):
            p, _ = _softmax(self.predictors(c, x), (labels, np.arange(len(labels))))
            p *= (1 - p) * w
            squares += _paired(p, x, first, last, self.diagonal)
        result = np.empty((n_classes, width, width))
        result[:, first, last] = result[:, last, first] = squares
        result += self.bends()
        return result

    def curvature_times(self, c: Float64s, direction: Float64s) -> Float64s:
        """Return the second derivatives at c times a direction, without forming their matrix."""
        total = np.asarray((self.bends() @ direction[..., None])[..., 0]) if self.ridge.any() else np.zeros_like(c)
        for x, labels, w in self.blocks(4 * len(c)):
            p, _ = _softmax(self.predictors(c, x), (labels, np.arange(len(labels))))
            change = self.predictors(direction, x)
            change -= np.einsum("km,km->m", p, change)
            change *= p
            change *= w
            total += self.against(change, x)
        return total


def fit_multinomial(
    z: Floats,
    labels: Ints,
    weights: Float64s | None,
    ridge: Float64s,
    start: Float64s | None = None,
    rough: bool = False,
    frame: Coordinates | None = None,
) -> MultinomialFit:
    """Return the coefficients of least cost, by Newton's method with halved steps, from the start or a temperature.

    Weights need not sum to one, and may be zero. The root mean square error of the probabilities is at most 1e-11, or
    1e-3 for a rough fit. The cost is never above that of the start, or of the identity if no start is given. A frame of
    the logits saves time if it is known, even if it was computed with other weights.
    """
    weights = None if weights is None else weights / weights.sum()
    problem = MultinomialProblem(z, labels, weights, ridge, frame or frame_of(z, weights))
    first = _first_guess(problem) if start is None else start
    here, steps, determined = _descend(
        problem, problem.inside(first), ROUGH_MULTINOMIAL_SEARCH if rough else MULTINOMIAL_SEARCH
    )
    if rough:
        return MultinomialFit(problem.outside(here), determined)
    # Compare with the start as given, because converting 1e-20 to the coordinates and back would give 0.
    return _rounded(problem._replace(frame=None), problem.outside(here), steps, first, determined)


def multinomial_cost(z: Floats, labels: Ints, weights: Float64s | None, coefficients: Float64s) -> float:
    """Return the weighted mean of log(sum_k exp(eta_k)) - eta_label."""
    weights = None if weights is None else weights / weights.sum()
    return float(MultinomialProblem(z, labels, weights, np.zeros_like(coefficients)).at(coefficients, False).cost)


def mapped_softmax(z: Floats, coefficients: Float64s) -> Float64s:
    """Return softmax(c x) by row, of shape (n, K), in float64."""
    problem = MultinomialProblem(z, np.zeros(len(z), np.intp), None, coefficients)
    result, first = np.empty(z.shape), 0
    for x, labels, _ in problem.blocks(3 * len(coefficients)):
        p, _ = _softmax(problem.predictors(coefficients, x), (labels, labels))
        result[first : first + len(labels)] = p.T
        first += len(labels)
    return result


def log_softmax(z: Floats, in_place: bool = False, lowest: float = -FARTHEST_LOGIT) -> Float64s:
    """Return z_k - log(sum_j exp(z_j)) by row in float64, at least `lowest`; `in_place` overwrites float64 logits."""
    result = z.astype(np.float64, copy=not in_place)
    length = max(64, CACHED_ENTRIES // z.shape[1])
    for first in range(0, len(z), length):
        block = result[first : first + length]
        with np.errstate(over="ignore"):
            block -= block.max(axis=1, keepdims=True)
        np.maximum(block, -FARTHEST_LOGIT, out=block)
        block -= np.log(np.exp(block).sum(axis=1, keepdims=True))
        np.maximum(block, lowest, out=block)
    return result


# --- The cost ---------------------------------------------------------------------------------------------------------


def _softmax(eta: Float64s, own: tuple[Ints, Ints]) -> tuple[Float64s, Float64s]:
    """Return probabilities (K, m), which overwrite their predictors, and -log of those of the labels."""
    eta -= eta.max(axis=0)
    behind = eta[own]
    np.exp(eta, out=eta)
    total = eta.sum(axis=0)
    eta /= total
    return eta, np.log(total) - behind


def _paired(values: Float64s, x: Float64s, first: Ints, last: Ints, diagonal: bool) -> Float64s:
    """Return sums of values (K, m) times products of two inputs of the class, of shape (K, pairs)."""
    if not diagonal:
        return values @ (x[first] * x[last]).T
    own = values * x[:-1]
    return np.column_stack([np.einsum("km,km->k", own, x[:-1]), own.sum(axis=1), values.sum(axis=1)])


# --- The search -------------------------------------------------------------------------------------------------------


def _first_guess(problem: MultinomialProblem) -> Float64s:
    """Return the best of three sets of coefficients: the identity, the best temperature, and a fit of some rows."""
    n, n_classes = problem.z.shape
    stride = n // (ROWS_PER_COEFFICIENT * problem.ridge.size)
    some = problem.every(max(1, n // ENOUGH_FOR_TEMPERATURE))
    temperature, limit = fit_temperature(logit_rows(some.z, some.labels, some.weights))
    guesses = [problem.origin, problem.origin / (1 if limit == "right" else max(temperature, 1 / FARTHEST_LOGIT))]
    some = problem.every(stride) if stride > 3 else problem
    if stride > 3 and len(np.unique(some.labels)) == n_classes:
        here, _, determined = _descend(some, some.inside(_first_guess(some)), ROUGH_MULTINOMIAL_SEARCH)
        if determined:
            guesses.append(some.outside(here))
    costs = [problem.at(problem.inside(guess), False).cost for guess in guesses]
    return guesses[int(np.nanargmin(costs))]


def _descend(
    problem: MultinomialProblem, start: Float64s, settings: SearchSettings
) -> tuple[Float64s, Directions | Products, bool]:
    """Return where the cost is least, the directions used, and whether there is a minimum."""
    descent = _Descent(problem, settings)
    found = minimise(descent, start, settings)
    determined = found.status == "converged"
    if found.status == "limit":
        determined = found.length <= settings.stuck
    elif found.status == "stuck":
        determined = found.length <= settings.stuck and problem.farthest(found.step) <= FAR_STEP
    if problem.ridge.all():
        return found.x, descent.steps, determined
    if settings is MULTINOMIAL_SEARCH and not (found.status == "converged" and descent.is_informed(found.place)):
        diverges = problem.separated()
        if diverges is not None:
            return found.x, descent.steps, determined and not diverges
    return found.x, descent.steps, determined and found.place.cost > PERFECT_COST


class _Descent:
    """The cost of coefficients in the coordinates of a frame: a problem for `minimise`."""

    convex = True

    def __init__(self, problem: MultinomialProblem, settings: SearchSettings) -> None:
        frame = problem.frame
        assert frame is not None
        self.problem, self.settings = problem, settings
        self.exact = problem.ridge.size <= MOST_COEFFICIENTS
        self.steps = Directions(problem, frame) if self.exact else Products(problem, frame)
        self.widest = np.array([frame.widest.max(), 1]) if problem.diagonal else frame.widest
        self.last = np.inf

    def at(self, x: Float64s) -> Iterate:
        return self.problem.at(x, self.exact)

    def cost(self, x: Float64s) -> float:
        return float(self.problem.at(x, False).cost)

    def is_informed(self, place: Iterate) -> bool:
        """Return whether no direction has lost almost all its curvature, as those to infinity have."""
        return isinstance(self.steps, Directions) and self.steps.least_curvature(place.model) > LOST_CURVATURE

    def step(self, x: Float64s, place: Iterate) -> Step:
        accuracy = 0.0 if self.exact else min(0.1, self.last)
        direction = self.steps.newton(x, place, accuracy)
        decrement = float(np.sqrt(max(-float(np.vdot(place.gradient, direction)), 0.0)))
        ratio = min(decrement / self.last, 1.0) if self.last < np.inf else 1.0
        self.last = decrement
        return Step(
            direction,
            decrement,
            left=decrement * max(ratio**2, accuracy),  # Newton's error is the square
            reach=float((np.abs(direction) @ self.widest).max()),
            scale=1 + float((np.abs(x) @ self.widest).max()),
            away=decrement <= self.settings.settled and self.problem.farthest(direction) > FAR_STEP,
        )


@cache
def _identity(n_classes: int, diagonal: bool) -> Float64s:
    """Return the coefficients that leave logits as they are, shared by all problems of this shape."""
    weights = np.ones(n_classes) if diagonal else np.eye(n_classes)
    result = np.column_stack([weights, np.zeros(n_classes)])
    result.flags.writeable = False
    return result


def _rounded(
    problem: MultinomialProblem, c: Float64s, steps: Directions | Products, start: Float64s, determined: bool
) -> MultinomialFit:
    """Return the coefficients of the same cost closest to the identity; c, or the start, if rounding makes it worse."""
    cost = problem.at(c, False).cost
    nearest = problem.origin + steps.within(c - problem.origin)
    if problem.at(nearest, False).cost <= cost + WORSE_BY_ROUNDING * (1 + abs(cost)):
        c = nearest
    started = problem.at(start, False).cost
    if not cost <= started + WORSE_BY_ROUNDING * (1 + abs(started)):
        return MultinomialFit(start, False)
    return MultinomialFit(c, determined)
