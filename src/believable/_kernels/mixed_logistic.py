"""Logistic regression on a logit whose intercept and slope vary among levels: partial pooling.

With x = (1, z), the linear predictor of an entry is x' (beta + the effects of its levels, one for each column). Effects
are normal with mean 0 and a covariance Sigma = L L' for each column, and are written as L s with s ~ N(0, I). The cost
is minus the marginal log-likelihood in Laplace's approximation, at the s of greatest posterior density:

    F = sum_j cost_j + |s|^2 / 2 + log det(A) / 2    with A = I + Y' V Y

where V has the second derivatives of cost_j by the linear predictor, and Y has the numbers y = L' x of every entry, in
the places of its levels. Nothing is divided by Sigma, so a singular one is an ordinary point. Z is measured from its
mean in standard deviations, which changes nothing but the units of the search and of the prior.

Entries with the same levels in all columns make a pattern, and share all that their effects add to x. So whatever
belongs to levels is computed once per pattern, from sums over its entries.

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
    gains : tuple of float
        By how much the effects of each column raise the log-likelihood (with the prior). Without those of the only
        column, the common coefficients are `common`; without those of one column among others, all else stays.
    common : tuple of float
        Slope and intercept that are fitted without any effects.
    converged : bool
        False if the steps were used up.
    """

    slope: float
    intercept: float
    covariances: tuple[Float64s, ...]
    effects: tuple[Float64s, ...]
    shares: tuple[Float64s, ...]
    log_likelihood: float
    gains: tuple[float, ...]
    common: tuple[float, float]
    converged: bool


def fit_mixed_logistic(
    z: Float64s,
    w: Float64s,
    wy: Float64s,
    codes: Sequence[Ints],
    sizes: Sequence[int],
    offset: Float64s | None = None,
    *,
    prior: float = np.inf,
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

    `prior` is the standard deviation of a normal prior on the entries of all L, with z in standard deviations. It keeps
    effects from growing without bound in levels whose classes are separated.

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
    model = _Model(x, w, wy, [columns[c] for c in order], None if offset is None else offset[present], prior)
    problem = _Marginal(model, varying=scale > 0)
    end = minimise(problem, problem.start, MARGINAL_SEARCH)
    place = problem.look(end.x)
    gained = problem.gains(place)

    back = np.array([[1.0, -centre * scale], [0.0, scale]])  # from coefficients of x to those of (1, z)
    covariances, effects, shares = ([np.empty(0)] * len(codes) for _ in range(3))
    gains = [0.0] * len(codes)
    for k, c in enumerate(order):
        gains[c] = float(gained[k])
        root, levels = place.roots[k], columns[c].levels
        covariances[c] = back @ root @ root.T @ back.T
        effects[c], shares[c] = np.zeros((sizes[c], 2)), np.zeros(sizes[c])
        effects[c][levels] = (back @ root @ place.effects[k]).T[: len(levels)]
        shares[c][levels] = model.shares(k, root, place.second)[: len(levels)]
    intercept, slope = (back @ place.common).tolist()
    intercept_without, slope_without = (back @ problem.common).tolist()
    return MixedLogistic(
        slope,
        intercept,
        tuple(covariances),
        tuple(effects),
        tuple(shares),
        place.log_likelihood,
        tuple(gains),
        (slope_without, intercept_without),
        end.status == "converged",
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
        Minus the log-likelihood, plus the ridge and the prior.
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
    """Entries in the order of their patterns: first by their level in the first column, which has the most levels.

    Parameters are intercept and slope, and for each column the lower triangle of L.
    """

    def __init__(
        self,
        x: Float64s,
        w: Float64s,
        wy: Float64s,
        columns: Sequence[_Column],
        offset: Float64s | None,
        prior: float,
    ) -> None:
        keys = [key for column in reversed(columns) for key in (column.has, column.place)]
        order = np.lexsort(keys)
        same = np.logical_and.reduce([key[order][1:] == key[order][:-1] for key in keys])
        self.starts = np.flatnonzero(np.append(True, ~same))
        self.pattern = np.cumsum(np.append(False, ~same))
        self.x, self.w, self.wy = x[:, order], w[order], wy[order]
        self.offset = None if offset is None else offset[order]
        self.prior = prior
        self.sizes = [column.size for column in columns]
        self.first_rest = np.cumsum([0, *self.sizes[1:]])
        self.n_own, self.n_rest = self.sizes[0], int(self.first_rest[-1])
        # Of each pattern: the place of its level in each column, after those of other columns but the first.
        one_of = order[self.starts]
        self.index = [column.place[one_of] + self.first_of(k) for k, column in enumerate(columns)]
        self.has = [column.has[one_of] for column in columns]
        # With one column, the posterior density is a product over levels, and each has a step length of its own.
        own = columns[0].place[order]
        self.blocks = np.searchsorted(own, np.arange(self.n_own)) if len(columns) == 1 else np.zeros(1, np.intp)
        self.modes = _Levels(np.zeros((2, self.n_own)), np.zeros((2, self.n_rest)))  # those found last

    def at(self, parameters: Float64s) -> _Place:
        """Return the cost at these parameters; the search for the modes starts from those found last."""
        common, w, wy = parameters[:2], self.w, self.wy
        roots = [np.array([[p, 0.0], [q, r]]) for p, q, r in parameters[2:].reshape(-1, 3)]
        base = common @ self.x if self.offset is None else self.offset
        s = self.modes = self._mode(base, roots)
        eta = base + self._spread(roots, s)
        terms = _terms(eta, w, wy)
        information = self._information(terms.second)
        system = self._system(information, roots)
        density = _cost(eta, w, wy) + (float(np.vdot(s.own, s.own)) + float(np.vdot(s.rest, s.rest))) / 2
        value = density + system.log_det / 2
        penalty = self.penalty * parameters
        gradient = self._gradient(terms, information, system, roots, s) + penalty
        cost = value + float(penalty @ parameters) / 2
        return _Place(common, roots, self._by_column(s), -value, cost, gradient, terms.second)

    @property
    def penalty(self) -> Float64s:
        """The curvature of the ridge and of the prior."""
        ridge, prior = RIDGE * float(self.w.sum()), self.prior**-2
        return np.array([ridge] * 2 + [prior] * (3 * len(self.sizes)))

    def shares(self, k: int, root: Float64s, second: Float64s) -> Float64s:
        """Return how far the map of each level of column k is its own, given the effects of the other columns."""
        information = self.information(k, second)
        weight, moment = (self._by_level(k, total) for total in self._sums(self.w))
        mean = moment / np.where(weight > 0, weight, 1)
        own = root.T @ np.stack([np.ones(len(mean)), mean])
        left = np.linalg.solve(np.eye(2) + root.T @ information @ root, own.T[:, :, None])[:, :, 0]
        prior = np.einsum("ig,ig->g", own, own)
        posterior = np.einsum("ig,gi->g", own, left)
        return np.where(prior > 0, 1 - posterior / np.where(prior > 0, prior, 1), 0.0)

    def information(self, k: int, second: Float64s) -> Float64s:
        """Return what the entries of each level of column k say about its (intercept, slope), of shape (G, 2, 2)."""
        flat = self._information(second).reshape(-1, 4).T
        return np.asarray(np.stack([self._by_level(k, one) for one in flat], axis=1).reshape(-1, 2, 2))

    def first_of(self, k: int) -> int:
        """Return the place of the first level of column k: after those of other columns, except the first."""
        return 0 if k == 0 else int(self.first_rest[k - 1])

    def _sums(self, v: Float64s) -> Float64s:
        """Return the sums of v x over the entries of each pattern, (2, patterns)."""
        return np.add.reduceat(np.stack([v, v * self.x[1]]), self.starts, axis=1)

    def _by_level(self, k: int, values: Float64s) -> Float64s:
        """Return sums of values of patterns over the levels of column k."""
        return np.asarray(np.bincount(self.index[k] - self.first_of(k), values * self.has[k], self.sizes[k]), float)

    def _information(self, second: Float64s) -> Float64s:
        """Return the sums of second x x' over the entries of each pattern, (patterns, 2, 2)."""
        sloped = second * self.x[1]
        a, b, c = np.add.reduceat(np.stack([second, sloped, sloped * self.x[1]]), self.starts, axis=1)
        return np.stack([a, b, b, c], axis=1).reshape(-1, 2, 2)

    def _mode(self, base: Float64s, roots: list[Float64s]) -> _Levels:
        """Return the s of greatest posterior density, by Newton's method."""
        own, rest = self.modes
        for _ in range(MOST_MODE_STEPS):
            terms = _terms(base + self._spread(roots, _Levels(own, rest)), self.w, self.wy)
            slope = self._collect(roots, terms.first)
            system = self._system(self._information(terms.second), roots)
            step = system.solve(_Levels(slope.own + own, slope.rest + rest))
            reach = np.maximum.reduceat(np.abs(self._spread(roots, step)), self.blocks)
            share = _damping(reach)
            own, rest = own - share * step.own, rest - (share[:1] * step.rest)
            if reach.max() <= CLOSE_MODE:
                break
        return _Levels(own, rest)

    def _gradient(
        self, terms: _Terms, information: Float64s, system: _System, roots: list[Float64s], s: _Levels
    ) -> Float64s:
        """Return the gradient of F.

        The first two terms of F are stationary in s. The third one is not, and moves with the modes: its derivative by
        the linear predictors is q, of which the modes return a part through A^-1 Y' q.
        """
        towards = self._inverse_rows(system, roots)
        around = np.zeros((len(self.starts), 2, 2))  # x' around x is the leverage
        for has, root, rows in zip(self.has, roots, towards, strict=True):
            around += has[:, None, None] * np.einsum("ab,pbc->pac", root, rows)
        a, b, c = around[:, 0, 0], around[:, 0, 1] + around[:, 1, 0], around[:, 1, 1]
        place = self.x[1]
        leverage = a[self.pattern] + place * (b[self.pattern] + place * c[self.pattern])
        q = leverage * terms.third / 2
        back = system.solve(self._collect(roots, q))
        whole = terms.first + q - terms.second * self._spread(roots, back)
        first, whole_sums = self._sums(terms.first), self._sums(whole)
        gradient = [whole_sums.sum(axis=1)]
        for k, rows in enumerate(towards):
            has = self.has[k]
            informed = has[:, None, None] * information
            by_root = informed.transpose(1, 0, 2).reshape(2, -1) @ rows.transpose(1, 0, 2).reshape(2, -1).T
            by_root += (has * whole_sums) @ self._of_patterns(s, k).T
            by_root -= (has * first) @ self._of_patterns(back, k).T
            gradient.append(by_root[[0, 1, 1], [0, 0, 1]])
        return np.concatenate(gradient)

    def _system(self, information: Float64s, roots: list[Float64s]) -> _System:
        """Return the inverse of A = I + Y' V Y."""
        n, r, own = self.n_own, self.n_rest, self.index[0]

        def cells(k: int, m: int, index: Ints, size: int) -> Float64s:
            """Return what entries add to A where levels of columns k and m meet, (2, 2, size)."""
            both = self.has[k] * self.has[m]
            sums = [np.bincount(index, both * information[:, i, j], size) for i, j in np.ndindex(2, 2)]
            return np.asarray((np.kron(roots[k].T, roots[m].T) @ sums).reshape(2, 2, size))

        (first, mixed), (_, last) = cells(0, 0, own, n)
        first, last = 1 + first, 1 + last
        det = np.maximum(first * last - mixed**2, first + last - 1)  # it cannot be less, except by rounding
        inverse = np.stack([last, -mixed, -mixed, first], axis=1).reshape(n, 2, 2) / det[:, None, None]
        beside, between = np.zeros((2, 2, n, r)), np.zeros((2, 2, r, r))
        for k in range(1, len(roots)):
            beside += cells(0, k, own * r + self.index[k], n * r).reshape(2, 2, n, r)
            for m in range(1, len(roots)):
                between += cells(k, m, self.index[k] * r + self.index[m], r * r).reshape(2, 2, r, r)
        across = beside.transpose(2, 0, 1, 3).reshape(n, 2, 2 * r)
        rest = np.eye(2 * r) + between.transpose(0, 2, 1, 3).reshape(2 * r, 2 * r)
        half = inverse @ across
        left = rest - across.reshape(2 * n, 2 * r).T @ half.reshape(2 * n, 2 * r)
        log_det = float(np.log(det).sum() + np.linalg.slogdet(left)[1])
        return _System(inverse, half, np.linalg.inv(left), log_det)

    def _inverse_rows(self, system: _System, roots: list[Float64s]) -> list[Float64s]:
        """Return, for each column, the matrix (patterns, 2, 2) that turns x into the row of Y A^-1 of an entry."""
        n, r, own = self.n_own, self.n_rest, self.index[0]

        def times_y(matrices: Float64s, k: int) -> Float64s:
            """Return (patterns, 2, 2) times what turns x into the effects' columns y of column k."""
            return np.asarray(self.has[k][:, None, None] * (matrices.reshape(-1, 2) @ roots[k].T).reshape(-1, 2, 2))

        turned = system.half @ system.rest
        blocks = system.inverse + turned @ system.half.transpose(0, 2, 1)
        turned, rest = turned.reshape(n, 2, 2, r), system.rest.reshape(2, r, 2, r)
        rows = [times_y(blocks[own], 0)]
        for k in range(1, len(roots)):
            cross = turned[own, :, :, self.index[k]]
            rows[0] -= times_y(cross, k)
            row = -times_y(cross.transpose(0, 2, 1), 0)
            for m in range(1, len(roots)):
                row += times_y(rest[:, self.index[k], :, self.index[m]], m)
            rows.append(row)
        return rows

    def _of_patterns(self, values: _Levels, k: int) -> Float64s:
        """Return the values of the levels of column k, (2, patterns)."""
        return np.asarray(values[min(k, 1)][:, self.index[k]])

    def _by_column(self, values: _Levels) -> list[Float64s]:
        return [values.own, *np.split(values.rest, self.first_rest[1:-1], axis=1)][: len(self.sizes)]

    def _spread(self, roots: list[Float64s], values: _Levels) -> Float64s:
        """Return Y times values."""
        total = np.zeros((2, len(self.starts)))
        for k, root in enumerate(roots):
            total += self.has[k] * (root @ self._of_patterns(values, k))
        return np.asarray(total[0][self.pattern] + total[1][self.pattern] * self.x[1])

    def _collect(self, roots: list[Float64s], v: Float64s) -> _Levels:
        """Return Y' times v."""
        sums = self._sums(v)
        own, *others = [self.has[k] * (root.T @ sums) for k, root in enumerate(roots)]
        rest = np.zeros((2, self.n_rest))
        for one, index in zip(others, self.index[1:], strict=True):
            rest += [np.bincount(index, part, self.n_rest) for part in one]
        return _Levels(np.stack([np.bincount(self.index[0], part, self.n_own) for part in own]), rest)


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
        self.common, second = _common(model)
        start = np.concatenate([self.common, np.tile([START, 0.0, START], len(model.sizes))])
        self.start = start[self.free]
        self.inverse = np.linalg.inv(self._curvature(second)[np.ix_(self.free, self.free)])
        self.seen: tuple[Float64s, _Place] | None = None
        self.before: tuple[Float64s, Float64s] | None = None

    def look(self, x: Float64s) -> _Place:
        """Return the place at a point, cached for the last one."""
        if self.seen is None or not np.array_equal(x, self.seen[0]):
            parameters = np.zeros(len(self.free))
            parameters[self.free] = x
            self.seen = x.copy(), self.model.at(parameters)
        return self.seen[1]

    def gains(self, place: _Place) -> list[float]:
        """Return by how much the cost rises from this place without the effects of each column."""
        triangles = [root[[0, 1, 1], [0, 0, 1]] for root in place.roots]
        if len(triangles) == 1:
            without = self.model.at(np.concatenate([self.common, np.zeros(3)]))
            return [without.cost - place.cost]
        gains = []
        for k in range(len(triangles)):
            others = [np.zeros(3) if m == k else triangle for m, triangle in enumerate(triangles)]
            gains.append(self.model.at(np.concatenate([place.common, *others])).cost - place.cost)
        return gains

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
        curvature = np.diag(np.full(len(self.free), RIDGE * self.scale) + model.penalty)
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
