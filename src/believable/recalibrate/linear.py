"""Shared code of linear maps of all logits: penalties, the choice of their strength, and limits."""

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
RidgeOf = Callable[[int, float], Float64s]  # a function of the number of classes and the strength

STRENGTHS = tuple(10.0**power for power in range(4, -5, -1))
LOWEST_LOG_PROBABILITY = -1e5  # lower values count as this: a masked logit of -1e9 is a zero, not a number to scale
HUGE_LOGIT = 1e6  # beside a larger logit, others may be lost to rounding
COEFFICIENT_RANGE = -1e100, 1e100  # entries of a saved map lie within, so that products do not overflow
N_PENALTY_FOLDS = 5
FOLD_DECIMALS = 9  # log-probabilities are rounded to this before rows are assigned to folds
SLIGHT_RIDGE = 1e-6  # added within folds, so that there always is a best map
PENALTY_GAIN = 1e-5  # a weaker penalty must lower the mean log loss by this many nats to count as better


class PenalisedRecalibrator(MatrixRecalibrator):
    """A linear map of all logits, with a penalty whose strength may be chosen by cross-validation.

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

    def _check_map(self, fitted: Map, n_classes: int) -> None:
        check_shapes(fitted, n_classes)

    def _coefficients(self, z: Floats, labels: Ints, weights: Float64s | None, ridge_of: RidgeOf) -> Float64s:
        auto = self.penalty == "auto"
        self.penalty_ = best_strength(z, labels, weights, ridge_of) if auto else float(self.penalty)
        return best_coefficients(z, labels, weights, ridge_of(z.shape[1], self.penalty_))


def check_penalty(penalty: Any) -> None:
    """Raise unless the penalty is "auto" or a number >= 0."""
    if not (isinstance(penalty, str) and penalty == "auto"):
        _check.number(penalty, "penalty, unless it is 'auto',", 0)


def odir(n_classes: int, strength: float) -> Float64s:
    """Return ridges (K, K + 1) that penalise the mean squared off-diagonal weight and the mean squared intercept."""
    ridge = np.full((n_classes, n_classes + 1), strength / (n_classes * (n_classes - 1)))
    ridge[:, -1] = strength / n_classes
    ridge[np.arange(n_classes), np.arange(n_classes)] = 0
    return ridge


def intercepts_only(n_classes: int, strength: float) -> Float64s:
    """Return ridges (K, 2) that penalise the mean squared intercept."""
    return np.column_stack([np.zeros(n_classes), np.full(n_classes, strength / n_classes)])


def best_coefficients(z: Floats, labels: Ints, weights: Float64s | None, ridge: Float64s) -> Float64s:
    """Return the coefficients of least penalised cost; if there are none, with a standard normal prior added."""
    return np.clip(_best(z, labels, weights, ridge), *COEFFICIENT_RANGE)


def _best(z: Floats, labels: Ints, weights: Float64s | None, ridge: Float64s) -> Float64s:
    absent = np.flatnonzero(np.bincount(labels, minlength=z.shape[1]) == 0)
    if not len(absent) or ridge.all():
        fit = _kernels.fit_multinomial(z, labels, weights, ridge)
        if fit.determined or ridge.all():  # if every coefficient has a ridge there is a best map
            return fit.coefficients
    why = "classes are separated by the scores"
    if len(absent):
        why = f"{len(absent)} of the classes do not occur in y"
    elif np.abs(z).max() > HUGE_LOGIT:
        why += ", or the scores are too large to tell"
    warn(
        f"{why}, so no map has the largest likelihood: a standard normal prior around the identity was added",
        LimitWarning,
    )
    total = len(z) if weights is None else float(weights.sum())
    return _kernels.fit_multinomial(z, labels, weights, ridge + 0.5 / total).coefficients


def best_strength(z: Floats, labels: Ints, weights: Float64s | None, ridge_of: RidgeOf) -> float:
    """Return the strength in `STRENGTHS` with the lowest log loss in five folds.

    Within each class, rows are assigned to folds in the order of the probability of that class, equal ones to the same
    fold, so that neither the order of rows nor repeated rows matter. The search goes from strong to weak and stops
    after two in a row that are no better. The strongest are often alike, so until something is gained only worse ones
    count.
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
    """Return log softmax(z) of the label of each row."""
    result = np.empty(len(z))
    for rows in _kernels.row_blocks(*z.shape):
        own = labels[rows]
        result[rows] = _kernels.log_softmax(z[rows])[np.arange(len(own)), own]
    return result


def dealt(values: Float64s, labels: Ints) -> Ints:
    """Return the fold of each row: the rank of its value within the class, modulo the number of folds."""
    values = np.round(values, FOLD_DECIMALS)
    order = np.lexsort((values, labels))
    new_class = np.diff(labels[order], prepend=-1) != 0
    new_value = new_class | (np.diff(values[order], prepend=np.inf) != 0)
    count = np.cumsum(new_value, dtype=np.intp)
    rank = count - np.maximum.accumulate(np.where(new_class, count, 0))
    folds = np.empty_like(order)
    folds[order] = rank % N_PENALTY_FOLDS
    return folds


def log_probabilities(logits: Floats, in_place: bool = False) -> Float64s:
    """Return log softmax(z), but at least -1e5."""
    return _kernels.log_softmax(logits, in_place, LOWEST_LOG_PROBABILITY)


def side_by_side(weights: Float64s, intercepts: Float64s) -> Float64s:
    """Return weights and intercepts as one array, as the kernels take them."""
    return np.column_stack([weights, intercepts])


def check_shapes(fitted: Map, n_classes: int) -> None:
    """Raise a SchemaError unless every field has one row per class, and a matrix one column per class too."""
    for name, value in fitted.items():
        if value.shape != (n_classes,) * value.ndim:
            raise SchemaError(f"the saved {name} must be for {n_classes} classes, got shape {value.shape}")
