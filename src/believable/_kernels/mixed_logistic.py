"""Logistic regression on a logit whose intercept and slope vary among levels: partial pooling.

With x = (1, z), the linear predictor of an entry is x' (beta + the effects of its levels, one for each column). Effects
are normal with mean 0 and a covariance Sigma = L L' for each column, and are written as L s with s ~ N(0, I). The cost
is minus the marginal log-likelihood in Laplace's approximation, at the s of greatest posterior density:

    F = sum_j cost_j + |s|^2 / 2 + log det(A) / 2    with A = I + Y' V Y

where V has the second derivatives of cost_j by the linear predictor, and Y has the numbers y = L' x of every entry, in
the places of its levels. Nothing is divided by Sigma, so a singular one is an ordinary point. Z is measured from its
mean in standard deviations, which changes nothing but the units of the search.

One level's coefficients appear in the entries of other levels of the same column nowhere, so the blocks of A that
belong to the column with the most levels are matrices (2, 2), which are eliminated first. The other columns ("rest")
leave a dense matrix; with one column it is empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from believable._kernels.solve import Iterate, SearchSettings, Step, minimise
from believable._types import Array, Float64s, Ints

CONSTANT_SPREAD = 1e-9  # a smaller spread, relative to the largest z, leaves no slope to fit
# The ridge of intercept and slope, as a share of the weight. It bounds them where classes are separated: linear
# predictors end near 20. Elsewhere it is below the accuracy of the search.
RIDGE = 1e-10
START = 0.5  # standard deviation of effects at the start, in which all searches that were tried agree with others
SURE = 1.5  # a Newton step that moves no linear predictor further cannot overshoot, because |s''| <= s' for a sigmoid
CLOSE_MODE = 1e-6  # after such a step of Newton's method, the error is about its square
MOST_MODE_STEPS = 200
# The length of a step is the square root of twice the decrease of the cost that it promises. Entries that weigh less
# than 1 altogether are measured in their weight.
MARGINAL_SEARCH = SearchSettings(close=1e-6, most_steps=300, sure=1e-3, furthest=1.0, slack=1e-14, most_halvings=40)
LEAST_BEND = 1e-10  # smaller curvatures along a step, relative to its length and change of gradient, are rounding


class MixedLogistic(NamedTuple):
    """Common coefficients, and how those of the levels vary around them.

    Attributes
    ----------
    slope, intercept : float
        Coefficients of a level without effects.
    covariances : tuple of ndarray of shape (2, 2)
        Covariance of (intercept, slope) among the levels, for each column.
    effects : tuple of ndarray of shape (levels, 2)
        What each level adds to (intercept, slope): the mode of its posterior distribution.
    shares : tuple of ndarray of shape (levels,)
        How far each level's map is its own, 1 - (posterior variance) / (variance among levels) of the linear predictor
        that its effects add at its mean z: from 0, the common map, to 1.
    log_likelihood : float
        Marginal log-likelihood in Laplace's approximation.
    converged : bool
        False if the steps were used up.
    """

    slope: float
    intercept: float
    covariances: tuple[Float64s, ...]
    effects: tuple[Float64s, ...]
    shares: tuple[Float64s, ...]
    log_likelihood: float
    converged: bool


def fit_mixed_logistic(
    z: Float64s,
    w: Float64s,
    wy: Float64s,
    codes: Sequence[Ints],
    sizes: Sequence[int],
    offset: Float64s | None = None,
) -> MixedLogistic:
    """Fit a logistic regression on z with normal effects of levels on its intercept and slope.

    An entry has a weight w, which counts rows, a weight of positives wy, and in each column c a level codes[c] from 0
    to sizes[c] - 1, or -1 for no level, which has no effects:

        logit P(y = 1) = (a + sum_c a_c) z + (b + sum_c b_c),    (b_c, a_c) ~ N(0, Sigma_c), independent over levels

    Intercept b, slope a and all Sigma_c maximise the marginal likelihood in Laplace's approximation, as `glmer` of
    lme4 does (Bates, Maechler, Bolker & Walker 2015, Fitting linear mixed-effects models using lme4). The effects are
    then the modes of their posterior distribution. With an offset, that number takes the place of a z + b, and a and b
    are 0. A level without weight has effects 0, as have all of a column with only one level. Equal z leave no slope to
    fit, so slopes and their effects are 0. If a threshold separates the classes, the coefficients are the limit of a
    tiny ridge.

    One column costs as much as its entries. Several columns need a dense matrix over all their levels but those of the
    largest column, so these should not exceed a few hundred.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> site, z = rng.integers(0, 50, 5000), rng.normal(size=5000)
    >>> shift = rng.normal(size=50)
    >>> y = (rng.random(5000) < 1 / (1 + np.exp(-(z + shift[site])))).astype(float)
    >>> fit = fit_mixed_logistic(z, np.ones(5000), y, [site], [50])
    >>> round(float(np.corrcoef(fit.effects[0][:, 0], shift)[0, 1]), 2)
    0.97
    """
    present = w > 0
    z, w, wy = z[present], w[present], wy[present]
    columns = [_Column.of(code[present]) for code in codes]
    order = sorted(range(len(codes)), key=lambda c: -columns[c].size)  # the column with the most levels comes first
    centre, scale = _spread(z, w)
    x = np.stack([np.ones(len(z)), (z - centre) * scale])
    by_level = np.argsort(columns[order[0]].place, kind="stable")
    fixed = None if offset is None else offset[present][by_level]
    model = _Model(x[:, by_level], w[by_level], wy[by_level], [columns[c].take(by_level) for c in order], fixed)
    problem = _Marginal(model, varying=scale > 0)
    end = minimise(problem, problem.start, MARGINAL_SEARCH)
    place = problem.look(end.x)

    back = np.array([[1.0, -centre * scale], [0.0, scale]])  # from coefficients of x to those of (1, z)
    covariances, effects, shares = ([np.empty(0)] * len(codes) for _ in range(3))
    for k, c in enumerate(order):
        root, levels = place.roots[k], columns[c].levels
        covariances[c] = back @ root @ root.T @ back.T
        effects[c], shares[c] = np.zeros((sizes[c], 2)), np.zeros(sizes[c])
        effects[c][levels] = (back @ root @ place.effects[k]).T[: len(levels)]
        shares[c][levels] = model.shares(k, root, place.second)[: len(levels)]
    intercept, slope = (back @ place.common).tolist()
    converged = end.status == "converged"
    return MixedLogistic(
        slope, intercept, tuple(covariances), tuple(effects), tuple(shares), place.log_likelihood, converged
    )


class _Column(NamedTuple):
    """The levels that occur in a column, and for each entry the place of its level among them, and whether it has one.

    Entries without a level are put into the first one, where their x are 0.
    """

    levels: Ints
    place: Ints
    has: Float64s

    @classmethod
    def of(cls, code: Ints) -> _Column:
        levels = np.unique(code)
        levels = levels[levels >= 0]
        return cls(levels, np.maximum(np.searchsorted(levels, code), 0), (code >= 0).astype(np.float64))

    def take(self, entries: Ints) -> _Column:
        """Return the column of other entries, with the same levels."""
        return _Column(self.levels, self.place[entries], self.has[entries])

    @property
    def size(self) -> int:
        """The number of levels; 1 if there is none."""
        return max(1, len(self.levels))


def _spread(z: Float64s, w: Float64s) -> tuple[float, float]:
    """Return the mean of z, and 1 over its standard deviation, or 0 if z is constant."""
    share = w / w.sum()
    centre = float(share @ z)
    deviation = float(np.sqrt(share @ (z - centre) ** 2))
    return centre, 1 / deviation if deviation > CONSTANT_SPREAD * float(np.abs(z).max()) else 0.0


class _Terms(NamedTuple):
    """The first three derivatives of the cost of every entry by its linear predictor."""

    first: Float64s
    second: Float64s
    third: Float64s


def _terms(eta: Float64s, w: Float64s, wy: Float64s) -> _Terms:
    tail = np.exp(-np.abs(eta))
    large = 1 / (1 + tail)
    small = tail * large
    mu, nu = np.where(eta >= 0, large, small), np.where(eta >= 0, small, large)
    second = w * (small * large)
    return _Terms((w - wy) * mu - wy * nu, second, second * (nu - mu))


def _cost(eta: Float64s, w: Float64s, wy: Float64s) -> float:
    cost = wy * np.maximum(-eta, 0) + (w - wy) * np.maximum(eta, 0) + w * np.log1p(np.exp(-np.abs(eta)))
    return float(cost.sum())


def _damping(reach: Array) -> Array:
    """Return how much of a Newton step cannot raise the cost, where `reach` is how far it moves linear predictors.

    The second derivative grows by at most exp(t) while a linear predictor moves by t, so the slope along the step is
    not positive before the share log(1 + reach) / reach.
    """
    return np.where(reach <= SURE, 1.0, np.log1p(reach) / np.maximum(reach, SURE))


class _Levels(NamedTuple):
    """Two numbers for each level: of the column with the most levels (2, G), and of the others in a row (2, R)."""

    own: Float64s
    rest: Float64s


class _System(NamedTuple):
    """The inverse of A in parts, and log det(A).

    A is [[D, B], [B', E]], with the levels of the largest column first. Its inverse is [[D^-1 + T H', -T], [-T', S]]
    with H = D^-1 B, S = (E - B' H)^-1 and T = H S.

    Attributes
    ----------
    inverse : ndarray of shape (G, 2, 2)
        The blocks of D^-1.
    half : ndarray of shape (G, 2, 2 R)
        H.
    rest : ndarray of shape (2 R, 2 R)
        S.
    log_det : float
        log det(A).
    """

    inverse: Float64s
    half: Float64s
    rest: Float64s
    log_det: float

    def solve(self, v: _Levels) -> _Levels:
        """Return the inverse of A times v."""
        rest = self.rest @ (v.rest.ravel() - np.einsum("gia,ig->a", self.half, v.own))
        own = np.einsum("gij,jg->ig", self.inverse, v.own) - np.einsum("gia,a->ig", self.half, rest)
        return _Levels(own, rest.reshape(2, -1))


class _Place(NamedTuple):
    """The cost at some parameters, and everything that comes with it.

    Attributes
    ----------
    common : ndarray of shape (2,)
        Intercept and slope.
    roots : list of ndarray of shape (2, 2)
        L of each column.
    effects : list of ndarray of shape (2, levels)
        s of each column at the posterior mode.
    log_likelihood : float
        The marginal log-likelihood.
    cost : float
        Minus the log-likelihood, plus the ridge.
    gradient : ndarray of shape (2 + 3 columns,)
        Gradient of the cost.
    second : ndarray of shape (m,)
        Second derivatives of the costs of all entries by their linear predictors.
    """

    common: Float64s
    roots: list[Float64s]
    effects: list[Float64s]
    log_likelihood: float
    cost: float
    gradient: Float64s
    second: Float64s


class _Model:
    """Entries, sorted by the first column, which has the most levels.

    Parameters are intercept and slope, and for each column the lower triangle of L.
    """

    def __init__(
        self, x: Float64s, w: Float64s, wy: Float64s, columns: Sequence[_Column], offset: Float64s | None
    ) -> None:
        self.x, self.w, self.wy = x, w, wy
        self.by_column = [x * column.has for column in columns]  # x of the effects
        self.offset = offset
        self.sizes, codes = [column.size for column in columns], [column.place for column in columns]
        self.first_rest = np.cumsum([0, *self.sizes[1:]])
        self.index = [codes[0], *(code + first for code, first in zip(codes[1:], self.first_rest, strict=False))]
        self.n_own, self.n_rest = self.sizes[0], int(self.first_rest[-1])
        # With one column, the posterior density is a product over levels, and each has a step length of its own.
        self.blocks = np.searchsorted(codes[0], np.arange(self.n_own)) if len(codes) == 1 else np.zeros(1, np.intp)
        self.modes = _Levels(np.zeros((2, self.n_own)), np.zeros((2, self.n_rest)))  # those found last

    def at(self, parameters: Float64s) -> _Place:
        """Return the cost at these parameters; the search for the modes starts from those found last."""
        common, w, wy = parameters[:2], self.w, self.wy
        roots = [np.array([[p, 0.0], [q, r]]) for p, q, r in parameters[2:].reshape(-1, 3)]
        y = [root.T @ x for root, x in zip(roots, self.by_column, strict=True)]
        base = common @ self.x if self.offset is None else self.offset
        s = self.modes = self._mode(base, y)
        eta = base + self._spread(y, s)
        terms = _terms(eta, w, wy)
        system = self._system(terms.second, y)
        density = _cost(eta, w, wy) + (float(np.vdot(s.own, s.own)) + float(np.vdot(s.rest, s.rest))) / 2
        value = density + system.log_det / 2
        ridge = RIDGE * float(w.sum()) * common
        gradient = self._gradient(terms, system, y, s)
        gradient[:2] += ridge
        cost = value + float(ridge @ common) / 2
        return _Place(common, roots, self._by_column(s), -value, cost, gradient, terms.second)

    def shares(self, k: int, root: Float64s, second: Float64s) -> Float64s:
        """Return how far the map of each level of column k is its own, given the effects of the other columns."""
        size, index, x = self.sizes[k], self.index[k] - self.first_of(k), self.by_column[k]
        information = self.information(k, second)
        weight = np.bincount(index, self.w * x[0], size)
        mean = np.bincount(index, self.w * x[1], size) / np.where(weight > 0, weight, 1)
        own = root.T @ np.stack([np.ones(size), mean])
        left = np.linalg.solve(np.eye(2) + root.T @ information @ root, own.T[:, :, None])[:, :, 0]
        prior = np.einsum("ig,ig->g", own, own)
        posterior = np.einsum("ig,gi->g", own, left)
        return np.where(prior > 0, 1 - posterior / np.where(prior > 0, prior, 1), 0.0)

    def information(self, k: int, second: Float64s) -> Float64s:
        """Return what the entries of each level of column k say about its (intercept, slope), of shape (G, 2, 2)."""
        size, index, x = self.sizes[k], self.index[k] - self.first_of(k), self.by_column[k]
        products = [np.bincount(index, second * x[i] * x[j], size) for i, j in np.ndindex(2, 2)]
        return np.asarray(np.stack(products, axis=1).reshape(size, 2, 2))

    def first_of(self, k: int) -> int:
        """Return the place of the first level of column k: after those of other columns, except the first."""
        return 0 if k == 0 else int(self.first_rest[k - 1])

    def _mode(self, base: Float64s, y: list[Float64s]) -> _Levels:
        """Return the s of greatest posterior density, by Newton's method."""
        own, rest = self.modes
        for _ in range(MOST_MODE_STEPS):
            terms = _terms(base + self._spread(y, _Levels(own, rest)), self.w, self.wy)
            slope = self._collect(y, terms.first)
            step = self._system(terms.second, y).solve(_Levels(slope.own + own, slope.rest + rest))
            reach = np.maximum.reduceat(np.abs(self._spread(y, step)), self.blocks)
            share = _damping(reach)
            own, rest = own - share * step.own, rest - (share[:1] * step.rest)
            if reach.max() <= CLOSE_MODE:
                break
        return _Levels(own, rest)

    def _gradient(self, terms: _Terms, system: _System, y: list[Float64s], s: _Levels) -> Float64s:
        """Return the gradient of F.

        The first two terms of F are stationary in s. The third one is not, and moves with the modes: its derivative by
        the linear predictors is q, of which the modes return a part through A^-1 Y' q.
        """
        towards = self._inverse_rows(system, y)
        leverage = sum((np.einsum("im,im->m", *pair) for pair in zip(y, towards, strict=True)), np.zeros(len(self.w)))
        q = leverage * terms.third / 2
        back = system.solve(self._collect(y, q))
        whole = terms.first + q - terms.second * self._spread(y, back)
        gradient = [self.x @ whole]
        for k, rows in enumerate(towards):
            x = self.by_column[k]
            by_root = (x * terms.second) @ rows.T
            by_root += (x * whole) @ self._of_entries(s, k).T
            by_root -= (x * terms.first) @ self._of_entries(back, k).T
            gradient.append(by_root[[0, 1, 1], [0, 0, 1]])
        return np.concatenate(gradient)

    def _system(self, second: Float64s, y: list[Float64s]) -> _System:
        """Return the inverse of A = I + Y' V Y."""
        n, r, own = self.n_own, self.n_rest, self.index[0]
        weighted = second * y[0]
        first, last = (1 + np.bincount(own, weighted[i] * y[0][i], n) for i in range(2))
        between = np.bincount(own, weighted[0] * y[0][1], n)
        det = np.maximum(first * last - between**2, first + last - 1)  # it cannot be less, except by rounding
        inverse = np.stack([last, -between, -between, first], axis=1).reshape(n, 2, 2) / det[:, None, None]
        across, rest = np.zeros((n, 2, 2, r)), np.eye(2 * r).reshape(2, r, 2, r)
        for k in range(1, len(y)):
            for i, j in np.ndindex(2, 2):
                cells = np.bincount(own * r + self.index[k], weighted[i] * y[k][j], n * r)
                across[:, i, j] += cells.reshape(n, r)
                for m in range(1, len(y)):
                    cells = np.bincount(self.index[k] * r + self.index[m], second * y[k][i] * y[m][j], r * r)
                    rest[i, :, j] += cells.reshape(r, r)
        half = inverse @ across.reshape(n, 2, 2 * r)
        left = rest.reshape(2 * r, 2 * r) - across.reshape(2 * n, 2 * r).T @ half.reshape(2 * n, 2 * r)
        log_det = float(np.log(det).sum() + np.linalg.slogdet(left)[1])
        return _System(inverse, half, np.linalg.inv(left), log_det)

    def _inverse_rows(self, system: _System, y: list[Float64s]) -> list[Float64s]:
        """Return the row of Y A^-1 of every entry, in the places of its own levels: (2, m) for each column."""
        n, r, own = self.n_own, self.n_rest, self.index[0]
        turned = system.half @ system.rest
        blocks = system.inverse + turned @ system.half.transpose(0, 2, 1)
        turned, rest = turned.reshape(n, 2, 2, r), system.rest.reshape(2, r, 2, r)
        rows = [np.einsum("mij,jm->im", blocks[own], y[0])]
        for k in range(1, len(y)):
            cross = turned[own, :, :, self.index[k]]
            rows[0] -= np.einsum("mij,jm->im", cross, y[k])
            row = -np.einsum("mij,im->jm", cross, y[0])
            for m in range(1, len(y)):
                row += np.einsum("mij,jm->im", rest[:, self.index[k], :, self.index[m]], y[m])
            rows.append(row)
        return rows

    def _of_entries(self, values: _Levels, k: int) -> Float64s:
        """Return the values of the levels of column k, (2, m)."""
        return np.asarray(values[min(k, 1)][:, self.index[k]])

    def _by_column(self, values: _Levels) -> list[Float64s]:
        return [values.own, *np.split(values.rest, self.first_rest[1:-1], axis=1)][: len(self.sizes)]

    def _spread(self, y: list[Float64s], values: _Levels) -> Float64s:
        """Return Y times values."""
        total = np.zeros(len(self.w))
        for k, one in enumerate(y):
            total += np.einsum("im,im->m", one, self._of_entries(values, k))
        return total

    def _collect(self, y: list[Float64s], v: Float64s) -> _Levels:
        """Return Y' times v."""
        own = [np.bincount(self.index[0], v * one, self.n_own) for one in y[0]]
        rest = np.zeros((2, self.n_rest))
        for one, index in zip(y[1:], self.index[1:], strict=True):
            rest += [np.bincount(index, v * part, self.n_rest) for part in one]
        return _Levels(np.stack(own), rest)


class _Marginal:
    """The marginal cost, a problem for `minimise`; steps are those of the quasi-Newton method BFGS.

    It searches the parameters that the data determine; the others stay 0.
    """

    convex = False

    def __init__(self, model: _Model, varying: bool) -> None:
        self.model = model
        common = model.offset is None
        self.free = np.array(
            [common, common and varying, *(f for g in model.sizes for f in (g > 1, *[g > 1 and varying] * 2))]
        )
        self.scale = min(1.0, float(model.w.sum()))
        found, curvature = _common(model)
        start = np.concatenate([found, np.tile([START, 0.0, START], len(model.sizes))])
        self.start = start[self.free]
        self.inverse = np.linalg.inv(self._curvature(curvature)[np.ix_(self.free, self.free)])
        self.seen: tuple[Float64s, _Place] | None = None
        self.before: tuple[Float64s, Float64s] | None = None

    def look(self, x: Float64s) -> _Place:
        """Return the place at a point, cached for the last one."""
        if self.seen is None or not np.array_equal(x, self.seen[0]):
            parameters = np.zeros(len(self.free))
            parameters[self.free] = x
            self.seen = x.copy(), self.model.at(parameters)
        return self.seen[1]

    def at(self, x: Float64s) -> Iterate:
        place = self.look(x)
        return Iterate(place.gradient[self.free], None, place.cost)

    def cost(self, x: Float64s) -> float:
        return self.look(x).cost

    def step(self, x: Float64s, place: Iterate) -> Step:
        if self.before is not None:
            self._learn(x - self.before[0], place.gradient - self.before[1])
        self.before = x.copy(), place.gradient
        direction = -self.inverse @ place.gradient
        length = np.sqrt(max(-float(place.gradient @ direction), 0.0) / self.scale)
        return Step(direction, length, reach=np.abs(direction).max(), scale=1 + float(np.abs(x).max()))

    def _learn(self, moved: Float64s, change: Float64s) -> None:
        """Update the inverse curvature by what the last step showed, unless it showed none."""
        bend = float(moved @ change)
        if bend > LEAST_BEND * float(np.linalg.norm(moved) * np.linalg.norm(change)):
            rest = np.eye(len(moved)) - np.outer(moved, change) / bend
            self.inverse = rest @ self.inverse @ rest.T + np.outer(moved, moved) / bend

    def _curvature(self, second: Float64s) -> Float64s:
        """Return the expected curvature at the start, as if effects were normal and each column were the only one.

        A level with the information H observes its effects with the covariance H^-1 + Sigma =: P^-1. The curvature is
        P for the common coefficients, and tr(P dSigma P dSigma) / 2 for L.
        """
        model = self.model
        curvature = np.diag(np.full(len(self.free), RIDGE * self.scale))
        units = np.zeros((3, 2, 2))
        units[[0, 1, 2], [0, 1, 1], [0, 0, 1]] = START
        for k in range(len(model.sizes)):
            information = model.information(k, second)
            precision = information @ np.linalg.inv(np.eye(2) + START**2 * information)
            if k == 0:
                curvature[:2, :2] += precision.sum(axis=0)
            turned = np.einsum("gij,ejk->geik", precision, units + units.transpose(0, 2, 1))
            part = slice(2 + 3 * k, 5 + 3 * k)
            curvature[part, part] += np.einsum("geij,gfji->ef", turned, turned) / 2
        return curvature


def _common(model: _Model) -> tuple[Float64s, Float64s]:
    """Return the coefficients of the logistic regression without effects, and its weights of entries."""
    x, ridge = model.x, RIDGE * float(model.w.sum())
    found = np.zeros(2)
    if model.offset is not None:
        return found, _terms(model.offset, model.w, model.wy).second
    for _ in range(MOST_MODE_STEPS):
        terms = _terms(found @ x, model.w, model.wy)
        curvature = (x * terms.second) @ x.T + ridge * np.eye(2)
        step = np.linalg.solve(curvature, x @ terms.first + ridge * found)
        reach = np.abs(step @ x).max()
        found = found - _damping(reach) * step
        if reach <= CLOSE_MODE:
            break
    return found, _terms(found @ x, model.w, model.wy).second
