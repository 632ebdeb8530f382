"""Logistic regression on few columns and many rows, with the rows of the two classes stored separately.

A positive contributes log sigmoid(eta), a negative log sigmoid(-eta). Stored separately, each needs one exponential,
accurate in both tails, and no outcomes: a pass over the rows is about three times as fast as in `fit_logistic`.
Coefficients may be bounded below by 0. Columns may have any size and location: `ColumnUnit` rescales them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np

from believable._kernels.logistic import LOGISTIC_SEARCH, logistic_system
from believable._kernels.solve import Iterate, Minimum, SearchSettings, Step, minimise
from believable._types import Array, Float64s

CACHED_ROWS = 1 << 13  # rows that fit in the cache; dot products this short stay on one core
ROWS_FOR_A_SAMPLE = 1 << 16  # from this many rows, a sample is fitted first, so that two passes over all rows suffice
CLASS_SAMPLE_STRIDE = 8  # the sample is every eighth row
# The error left after a step is bounded as the root mean square of the linear predictors.
CLASSES_SEARCH = replace(LOGISTIC_SEARCH, close=2e-9)
SAMPLE_SEARCH = replace(LOGISTIC_SEARCH, close=1e-4, most_steps=30)
SHORT_REACH = 0.1  # the error of a step with a shorter reach is known to be its square
LARGEST_EXPONENT = 700.0  # exp() of larger numbers overflows
FLAT_COLUMN = 1e-8  # a column is moved if 1 - squared correlation with the intercept is smaller
MOST_MOVES = 3  # how often columns are moved, each time followed by another fit
ROUGH_LOG_ODDS = 1e-5  # larger errors of linear predictors are reported as "rounded"

MIDDLE_SAMPLE = 1000  # numbers of each part that determine the middle of a column
FAR_FROM_ZERO = 100.0  # a column further from 0 than this many deviations is moved
TINIEST_COLUMN, HUGEST_COLUMN = 1e-100, 1e100  # between these, squares neither underflow nor overflow
CONSTANT_COLUMN = 1e-280  # a narrower column counts as constant, because its coefficient could overflow

ClassesLimit = Literal["", "rounded", "cut"]


class ClassRows(NamedTuple):
    """The rows of one class.

    Attributes
    ----------
    columns : sequence of ndarray of shape (n,)
        The columns, without an intercept.
    weight : ndarray of shape (n,), or float
        One weight for each row, or one for all.
    noise : float
        The share of each row that counts as the other class, as with Platt's smoothed targets.
    """

    columns: Sequence[Float64s]
    weight: Float64s | float
    noise: float = 0.0

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0])


class ClassesFit(NamedTuple):
    """A maximum of the likelihood.

    Attributes
    ----------
    coefficients : ndarray of shape (k + 1,)
        Coefficients of the columns, then the intercept.
    limit : {"", "rounded", "cut"}
        "rounded": columns are so far from 0, relative to their spread, that rounding changes the linear predictors by
        more than 1e-5 when the coefficients are applied. "cut": numbers more than 1e100 times as large as is typical of
        a large column were clipped to that.
    """

    coefficients: Float64s
    limit: ClassesLimit


def fit_logistic_classes(
    positive: ClassRows, negative: ClassRows, *, intercept: bool = True, rising: bool = False
) -> ClassesFit:
    """Return the maximum likelihood coefficients of the columns, then the intercept (0 if there is none).

    `rising` keeps the coefficients of columns from being negative: every step maximises the quadratic model over the
    allowed region, so the limit is the constrained maximum. The caller has to ensure that this maximum exists. It is
    accurate to 1e-9 or better in the linear predictors, if rounding permits.
    """
    units = [column_unit(pair, intercept) for pair in zip(positive.columns, negative.columns, strict=True)]
    for moves_left in reversed(range(1 + MOST_MOVES)):
        widest = np.ones(len(units) + intercept)
        widest[: len(units)] = [unit.widest for unit in units]
        rows = _Rows(_in_units(positive, units), _in_units(negative, units), widest, rising)
        fit = _fit(rows, np.zeros(len(widest)), CLASSES_SEARCH)
        found, (information, _) = fit.x, fit.place.model
        flat = _flat(information)[: len(units)]
        if not intercept or not flat.any() or not moves_left:
            break
        # A few rows, far from the others, determine the coefficients: centre the columns there and start again.
        away = np.where(flat, information[:-1, -1] / information[-1, -1], 0.0)
        units = [unit.moved_by(float(shift)) for unit, shift in zip(units, away, strict=True)]

    centres = np.array([unit.centre for unit in units])
    slopes, constant = found[: len(units)], float(found[-1]) if intercept else 0.0
    rounding = float(np.abs(slopes) @ np.abs(centres)) * float(np.finfo(np.float64).eps)
    cut = any(unit.cut for unit in units)
    with np.errstate(under="ignore"):
        coefficients = np.ldexp(slopes, [-unit.exponent for unit in units])
    coefficients = np.append(coefficients, constant - float(slopes @ centres))
    return ClassesFit(coefficients, "rounded" if rounding > ROUGH_LOG_ODDS else "cut" if cut else "")


def _flat(information: Float64s) -> Array:
    """Return the columns that are nearly constant over the rows that matter."""
    diagonal = np.diag(information)
    root = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    return np.asarray(np.abs(information[:, -1] / root / root[-1]) > np.sqrt(1 - FLAT_COLUMN))


def _in_units(rows: ClassRows, units: Sequence[ColumnUnit]) -> ClassRows:
    return rows._replace(columns=[unit.moved(column) for unit, column in zip(units, rows.columns, strict=True)])


def _fit(rows: _Rows, start: Float64s, settings: SearchSettings) -> Minimum:
    """Return the maximum of the likelihood; with many rows, the search starts from that of a sample."""
    if rows.positive.n_rows + rows.negative.n_rows > ROWS_FOR_A_SAMPLE:
        some = _Rows(_some(rows.positive), _some(rows.negative), rows.widest, rows.rising)
        near = _fit(some, start, SAMPLE_SEARCH)
        start = near.x if near.status == "converged" else start
    return minimise(rows, start, settings)


def _some(rows: ClassRows) -> ClassRows:
    """Return every eighth row; or all rows of a rare class, at an eighth of their weight."""
    if rows.n_rows < CACHED_ROWS:
        return rows._replace(weight=rows.weight / CLASS_SAMPLE_STRIDE)
    weight = rows.weight if isinstance(rows.weight, float) else rows.weight[::CLASS_SAMPLE_STRIDE]
    return rows._replace(
        columns=[np.ascontiguousarray(column[::CLASS_SAMPLE_STRIDE]) for column in rows.columns], weight=weight
    )


def _pull(rows: ClassRows, n_coefficients: int) -> Float64s:
    """Return the contribution of noise to the gradient: log s(eta) becomes log s(eta) - noise eta."""
    pull = np.zeros(n_coefficients)
    if rows.noise:
        ones = np.ones(rows.n_rows)
        for i, column in zip(range(n_coefficients), [*rows.columns, ones], strict=False):
            pull[i] = rows.noise * (rows.weight * column).sum()
    return pull


class _Rows:
    """The negative log-likelihood of the rows: a problem for `minimise`. `widest` bounds the columns."""

    convex = True

    def __init__(self, positive: ClassRows, negative: ClassRows, widest: Float64s, rising: bool) -> None:
        self.positive, self.negative, self.widest, self.rising = positive, negative, widest, rising
        self.pull = _pull(positive, len(widest)) - _pull(negative, len(widest))
        self.bounded = (np.arange(len(widest)) < len(positive.columns)) & rising

    def at(self, x: Float64s) -> Iterate:
        """Return the derivatives; the model is the information (k, k) and the sum of w s(eta) s(-eta)."""
        extreme = bool(np.abs(x) @ self.widest > LARGEST_EXPONENT)
        gradient, information, total = _of_class(x, self.positive, extreme)
        minus, more, more_total = _of_class(-x, self.negative, extreme)
        return Iterate(-(gradient - minus - self.pull), (information + more, total + more_total))

    def cost(self, x: Float64s) -> float:
        smooth = float(x @ self.pull)
        return smooth - (_likelihood_of_class(x, self.positive) + _likelihood_of_class(-x, self.negative))

    def step(self, x: Float64s, place: Iterate) -> Step:
        information, total = place.model
        direction = self._to_maximum(x, information, -place.gradient)
        reach = float(np.abs(direction) @ self.widest)  # no linear predictor moves further than this
        scale = 1 + float(np.abs(x) @ self.widest)
        squared = max(float(direction @ information @ direction), 0.0)
        typical = float(np.sqrt(squared / total)) if total > 0 else reach
        # The error after a short step is, in the norm of the information, at most its length times half its reach.
        left = typical * reach / 2 if reach <= SHORT_REACH else np.inf
        return Step(direction, reach, left, unit=scale, scale=scale)

    def _to_maximum(self, x: Float64s, information: Float64s, gradient: Float64s) -> Float64s:
        """Return the step to the maximum of the quadratic model under the bounds.

        The unconstrained maximum is taken if it is allowed. Otherwise every subset of bounded ones is tried at 0.
        """
        correlation, root = logistic_system(information, gradient, self.widest)
        slope, place = gradient / root, x * root
        whole = np.linalg.solve(correlation, slope)
        if np.isfinite(whole).all() and not ((place + whole < 0) & self.bounded).any():
            return np.asarray(whole / root)
        best, gain = np.zeros_like(x), -np.inf
        candidates = np.flatnonzero(self.bounded)
        for n_zero in range(1, len(candidates) + 1):
            for zero in combinations(candidates, n_zero):
                step = np.zeros_like(x)
                step[list(zero)] = -place[list(zero)]
                free = [i for i in range(len(x)) if i not in zero]
                within = correlation[free]
                step[free] = np.linalg.solve(within[:, free], slope[free] - within @ step)
                value = float(slope @ step - step @ correlation @ step / 2)
                if value > gain and (place + step)[self.bounded].min(initial=0) >= 0:
                    best, gain = step, value
        return np.asarray(best / root)


# --- Units of columns -------------------------------------------------------------------------------------------------


class ColumnUnit(NamedTuple):
    """Location and scale of a column: x becomes (x 2^-exponent - centre), within +-1e100.

    With this, squares and sums of its numbers keep their digits.

    Attributes
    ----------
    centre : float
        Centre, in the new unit.
    exponent : int
        Power of 2 of the scale.
    widest : float
        Largest |x| after centring, in the new unit.
    cut : bool
        Whether some x exceeds 1e100 and was clipped.
    """

    centre: float
    exponent: int
    widest: float
    cut: bool

    @property
    def plain(self) -> bool:
        """Whether the column is unchanged."""
        return self.centre == 0 and self.exponent == 0 and not self.cut

    def moved(self, column: Float64s) -> Float64s:
        """Return the column in this unit."""
        if self.plain:
            return column
        with np.errstate(over="ignore"):
            values = np.ldexp(column, -self.exponent)
            values -= self.centre
        return np.clip(values, -HUGEST_COLUMN, HUGEST_COLUMN, out=values)

    def moved_by(self, shift: float) -> ColumnUnit:
        """Return the unit with another centre."""
        return self._replace(centre=self.centre + shift, widest=self.widest + abs(shift))


def column_unit(parts: Sequence[Float64s], centred: bool) -> ColumnUnit:
    """Return the unit of a column that comes in parts; it is moved only if `centred`.

    Ordinary columns are unchanged. A column that is far from 0, relative to its spread, is moved to 0, and one whose
    squares would overflow or underflow is multiplied by a power of 2, which does not round.
    """
    low, high = min(float(part.min()) for part in parts), max(float(part.max()) for part in parts)
    some = (
        np.concatenate([part[:: -(-len(part) // MIDDLE_SAMPLE)] for part in parts]) / 2
    )  # differences cannot overflow
    some.sort()
    middle = float(some[len(some) // 2]) if centred else 0.0
    distance = np.abs(some - middle)
    distance = np.sort(distance[distance > 0])
    typical = float(distance[len(distance) // 2]) if len(distance) else high / 2 - low / 2
    centre = 2 * middle if abs(middle) > FAR_FROM_ZERO * typical else 0.0

    half = max(high / 2 - centre / 2, centre / 2 - low / 2)  # half of the largest distance from the centre
    exponent = 0
    if CONSTANT_COLUMN < half < TINIEST_COLUMN:
        exponent = int(np.frexp(half)[1]) + 1
    elif half > HUGEST_COLUMN:
        exponent = max(0, int(np.frexp(typical)[1]) + 1)
    widest = float(np.ldexp(half, 1 - exponent)) if exponent else 2 * half
    return ColumnUnit(float(np.ldexp(centre, -exponent)), exponent, min(widest, HUGEST_COLUMN), widest > HUGEST_COLUMN)


# --- Passes over the rows ---------------------------------------------------------------------------------------------


def _of_class(here: Float64s, rows: ClassRows, extreme: bool) -> tuple[Float64s, Float64s, float]:
    """Return the sums of w s(-eta) x, w s(eta) s(-eta) x x' and w s(eta) s(-eta), with s the sigmoid."""
    columns, n_columns = rows.columns, len(rows.columns)
    gradient, information, total = np.zeros(len(here)), np.zeros((len(here), len(here))), 0.0
    intercept = len(here) > n_columns
    buffers = np.empty((3, min(rows.n_rows, CACHED_ROWS)))
    for first in range(0, rows.n_rows, CACHED_ROWS):
        x = [column[first : first + CACHED_ROWS] for column in columns]
        eta, missed, product = buffers[:, : len(x[0])]
        _predict(here, x, eta, product)
        if extreme:
            np.minimum(eta, LARGEST_EXPONENT, out=eta)
        np.exp(eta, out=eta)
        np.add(eta, 1, out=missed)
        np.divide(1, missed, out=missed)  # s(-eta)
        eta *= missed  # s(eta)
        eta *= missed
        if not isinstance(rows.weight, float):
            w = rows.weight[first : first + CACHED_ROWS]
            eta *= w
            missed *= w
        for i in range(n_columns):
            gradient[i] += missed @ x[i]
            np.multiply(eta, x[i], out=product)
            for j in range(i, n_columns):
                information[i, j] += product @ x[j]
            if intercept:
                information[i, -1] += product.sum()
        if intercept:
            gradient[-1] += missed.sum()
        total += float(eta.sum())
    if intercept:
        information[-1, -1] = total
    for i in range(1, len(here)):
        information[i, :i] = information[:i, i]
    one = rows.weight if isinstance(rows.weight, float) else 1.0
    return gradient * one, information * one, total * one


def _predict(here: Float64s, x: Sequence[Float64s], eta: Float64s, spare: Float64s) -> None:
    """Write the linear predictor into eta."""
    np.multiply(x[0], here[0], out=eta)
    for column, coefficient in zip(x[1:], here[1:], strict=False):
        eta += np.multiply(column, coefficient, out=spare)
    if len(here) > len(x):
        eta += here[-1]


def _likelihood_of_class(here: Float64s, rows: ClassRows) -> float:
    """Return the sum of w log s(eta)."""
    total = 0.0
    buffers = np.empty((2, min(rows.n_rows, CACHED_ROWS)))
    for first in range(0, rows.n_rows, CACHED_ROWS):
        x = [column[first : first + CACHED_ROWS] for column in rows.columns]
        eta, cost = buffers[:, : len(x[0])]
        _predict(here, x, eta, cost)
        np.maximum(-eta, 0, out=cost)
        cost += np.log1p(np.exp(-np.abs(eta)))
        w = rows.weight if isinstance(rows.weight, float) else rows.weight[first : first + CACHED_ROWS]
        total -= float((w * cost).sum())
    return total
