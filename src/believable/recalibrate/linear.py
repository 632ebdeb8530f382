"""What linear maps of all logits share: their penalties, the limit where there is no best map, the best strength."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from believable import _check, _kernels
from believable._types import Float64s, Floats, Ints
from believable.errors import LimitWarning, SchemaError
from believable.recalibrate.base import MatrixRecalibrator
from believable.recalibrate.facts import Map
from believable.recalibrate.inputs import Input, warn

Penalty = float | Literal["auto"]
RidgeOf = Callable[[int, float], Float64s]  # of the number of classes and the strength

STRENGTHS = tuple(10.0**power for power in range(4, -5, -1))
LOWEST_LOG_PROBABILITY = -1e5  # less counts as this: a masked logit of -1e9 is a zero, not a number to be scaled
HUGE_LOGIT = 1e6  # logits that may drown others in rounding
COEFFICIENT_RANGE = -1e100, 1e100  # entries of a saved map are within, so that they can be multiplied
N_PENALTY_FOLDS = 5
FOLD_DECIMALS = 9  # decimals to which log-probabilities are told apart when rows are dealt to folds
SLIGHT_RIDGE = 1e-6  # within folds: it makes every map exist
PENALTY_GAIN = 1e-5  # of mean log loss, in nats, for a weaker penalty to be called better


class PenalisedRecalibrator(MatrixRecalibrator):
    """A linear map of all logits, with a penalty whose strength may be left to folds.

    Attributes
    ----------
    penalty_ : float
        The strength that was used.
    """

    penalty_: float

    def __init__(
        self,
        *,
        input: Input = "probabilities",
        penalty: Penalty = "auto",
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.input = input
        self.penalty = penalty
        self.classes = classes

    @property
    def intercepts_(self) -> Any:
        return self._parameter("intercepts")

    def _check_settings(self) -> None:
        super()._check_settings()
        check_penalty(self.penalty)

    def _check_map(self, learnt: Map, n_classes: int) -> None:
        check_shapes(learnt, n_classes)

    def _coefficients(self, z: Floats, labels: Ints, weights: Float64s | None, ridge_of: RidgeOf) -> Float64s:
        auto = self.penalty == "auto"
        self.penalty_ = best_strength(z, labels, weights, ridge_of) if auto else float(self.penalty)
        return best_coefficients(z, labels, weights, ridge_of(z.shape[1], self.penalty_))


def check_penalty(penalty: Any) -> None:
    """Raise unless it is "auto" or a number >= 0."""
    if not (isinstance(penalty, str) and penalty == "auto"):
        _check.number(penalty, "penalty, unless it is 'auto',", 0)


def odir(n_classes: int, strength: float) -> Float64s:
    """Ridges (K, K + 1): the strength, for means of squared off-diagonal weights and of squared intercepts."""
    ridge = np.full((n_classes, n_classes + 1), strength / (n_classes * (n_classes - 1)))
    ridge[:, -1] = strength / n_classes
    ridge[np.arange(n_classes), np.arange(n_classes)] = 0
    return ridge


def intercepts_only(n_classes: int, strength: float) -> Float64s:
    """Ridges (K, 2): the strength, for the mean of squared intercepts."""
    return np.column_stack([np.zeros(n_classes), np.full(n_classes, strength / n_classes)])


def best_coefficients(z: Floats, labels: Ints, weights: Float64s | None, ridge: Float64s) -> Float64s:
    """Coefficients of least penalised cost; where there are none, of least cost with a standard normal prior."""
    return np.clip(_best(z, labels, weights, ridge), *COEFFICIENT_RANGE)


def _best(z: Floats, labels: Ints, weights: Float64s | None, ridge: Float64s) -> Float64s:
    absent = np.flatnonzero(np.bincount(labels, minlength=z.shape[1]) == 0)
    if not len(absent) or ridge.all():
        fit = _kernels.fit_multinomial(z, labels, weights, ridge)
        if fit.determined or ridge.all():  # with all ridges there is a best map
            return fit.coefficients
    why = "classes are separated by the scores"
    if len(absent):
        why = f"{len(absent)} of the classes do not occur in y"
    elif np.abs(z).max() > HUGE_LOGIT:
        why += ", or these are too large to tell"
    warn(
        f"{why}, so no map has the largest likelihood: a standard normal prior around the identity was added",
        LimitWarning,
    )
    total = len(z) if weights is None else float(weights.sum())
    return _kernels.fit_multinomial(z, labels, weights, ridge + 0.5 / total).coefficients


def best_strength(z: Floats, labels: Ints, weights: Float64s | None, ridge_of: RidgeOf) -> float:
    """The strength in `STRENGTHS` of least log loss, over five folds.

    In each class, rows are dealt to the folds in the order of the probability of that class, equal ones to one fold: so
    neither the order of rows nor repeated rows matter. From strong to weak, until two in a row are no better; the
    strongest are often alike, so as long as nothing has been gained only a loss counts as no better.
    """
    n_classes = z.shape[1]
    w = np.ones(len(z)) if weights is None else weights
    folds = dealt(label_log_probability(z, labels), labels)
    used = [f for f in range(folds.max() + 1) if (folds != f).any()]
    found: dict[int, Float64s] = {}
    frame = _kernels.frame_of(z, w / w.sum())
    best, chosen, worse = np.inf, STRENGTHS[-1], 0
    for strength in STRENGTHS if used else ():
        ridge = ridge_of(n_classes, strength) + SLIGHT_RIDGE
        loss = 0.0
        for f in used:
            learn, held = np.where(folds == f, 0, w), np.where(folds == f, w, 0)
            start = found.get(f, found.get(f - 1))
            c = found[f] = _kernels.fit_multinomial(
                z, labels, learn, ridge, start, rough=True, frame=frame
            ).coefficients
            loss += held.sum() / w.sum() * _kernels.multinomial_cost(z, labels, held, c)
        if loss < best - PENALTY_GAIN:
            best, chosen, worse = loss, strength, 0
        elif chosen != STRENGTHS[0] or loss > best + PENALTY_GAIN:
            worse += 1
        if worse == 2:
            break
    return chosen


def label_log_probability(z: Floats, labels: Ints) -> Float64s:
    """log softmax(z) of the label, by row."""
    result = np.empty(len(z))
    for rows in _kernels.row_blocks(*z.shape):
        own = labels[rows]
        result[rows] = _kernels.log_softmax(z[rows])[np.arange(len(own)), own]
    return result


def dealt(values: Float64s, labels: Ints) -> Ints:
    """The fold of each row: ranks of distinct values within the class, taken modulo the number of folds."""
    values = np.round(values, FOLD_DECIMALS)
    order = np.lexsort((values, labels))
    new_class = np.diff(labels[order], prepend=-1) != 0
    new_value = new_class | (np.diff(values[order], prepend=np.inf) != 0)
    count = np.cumsum(new_value)
    rank = count - np.maximum.accumulate(np.where(new_class, count, 0))
    folds = np.empty_like(order)
    folds[order] = rank % N_PENALTY_FOLDS
    return folds


def log_probabilities(logits: Floats, in_place: bool = False) -> Float64s:
    """log softmax(z), or -1e5 where it is less."""
    return _kernels.log_softmax(logits, in_place, LOWEST_LOG_PROBABILITY)


def side_by_side(weights: Float64s, intercepts: Float64s) -> Float64s:
    """Coefficients as the kernels want them."""
    return np.column_stack([weights, intercepts])


def check_shapes(learnt: Map, n_classes: int) -> None:
    """Raise a SchemaError unless every field has one row for each class, and a matrix one column too."""
    for name, value in learnt.items():
        if value.shape != (n_classes,) * value.ndim:
            raise SchemaError(f"the saved {name} must be for {n_classes} classes, got shape {value.shape}")
