"""Between a classifier and a map: what a map reads of a model, and folds in which no model has seen its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, check_cv

from believable import _check
from believable._types import Array, Floats, Ints
from believable.errors import InputError
from believable.recalibrate._base import Recalibrator

Split = tuple[Ints, Ints]


def classes_of(model: Any) -> Array:
    """The labels of a fitted model, in the order of its columns."""
    if not hasattr(model, "classes_"):
        raise InputError(
            f"{type(model).__name__} has no classes_, so the order of its columns is not known: it must be a classifier"
        )
    return np.asarray(model.classes_)


def response(model: Any, X: Any, method: Recalibrator, classes: Array) -> Floats:
    """What the map reads of a model, one column per class: predict_proba, or decision_function ((n,) for two classes).

    A class that the model has not seen has the probability 0.
    """
    name = "predict_proba" if method.input == "probabilities" else "decision_function"
    if not hasattr(model, name):
        raise InputError(_no_response(model, name, method))
    values = np.asarray(getattr(model, name)(X))
    known = classes_of(model)
    one_column = name == "decision_function" and len(known) == 2
    if values.shape[1:] != (() if one_column else (len(known),)):
        raise InputError(
            f"{name} of {type(model).__name__} has the shape {values.shape} for {len(known)} classes, where one column "
            "per class is needed (of one against the rest, not of pairs)"
        )
    if np.array_equal(known, classes):
        return values
    if name == "decision_function":
        unseen = [label for label in classes.tolist() if label not in known.tolist()]
        raise InputError(
            f"a model was fitted to rows without the class {unseen[0]!r}, and there is no telling what it would say of "
            "it; use folds that hold every class, or a method with input='probabilities', where it counts as 0"
        )
    full = np.zeros((len(values), len(classes)), values.dtype)
    full[:, _check.named_labels(known, classes.tolist(), None)] = values
    return full


def _no_response(model: Any, name: str, method: Recalibrator) -> str:
    kind, of = type(model).__name__, type(method).__name__
    other = "decision_function" if name == "predict_proba" else "predict_proba"
    if not hasattr(model, other):
        return f"{kind} has neither predict_proba nor decision_function: there is nothing to recalibrate"
    able = [word for word in method.inputs if (word == "probabilities") == (other == "predict_proba")]
    advice = f"make the method {of}(input={' or '.join(map(repr, able))})" if able else f"{of} cannot read it"
    if other == "decision_function" and "scores" not in method.inputs:
        advice += " if these are logits, or PlattScaling(input='scores'), which takes any numbers"
    return f"{kind} has no {name}, which {of}(input={method.input!r}) reads; it has {other}: {advice}"


def splits(cv: Any, X: Any, y: Array, groups: Any, request: dict[str, Any]) -> list[Split]:
    """Rows to fit a model to and rows to ask it about; no row, and no row of its group, is on both sides.

    `request` is what the splitter has asked for.
    """
    if isinstance(cv, str):
        raise InputError(f"cv must be a number of folds, a splitter, a list of splits or 'prefit', got {cv!r}")
    if isinstance(cv, (int, np.integer)):
        n_folds = _check.positive_integer(cv, "cv", 2)
        if groups is not None:
            cv, request = StratifiedGroupKFold(n_folds), {"groups": groups}
            n_groups = len(np.unique(np.asarray(groups)))
            if n_groups < n_folds:
                raise InputError(f"cv={n_folds} folds need as many groups, got {n_groups}")
    rows = np.arange(len(y))
    found = [(rows[train], rows[test]) for train, test in check_cv(cv, y, classifier=True).split(X, y, **request)]
    for fold, (train, test) in enumerate(found):
        both = np.isin(test, train)
        if both.any():
            raise InputError(f"fold {fold} of cv fits the model to row {test[both][0]} and asks it about the same row")
        if groups is not None:
            shared = np.intersect1d(np.asarray(groups)[train], np.asarray(groups)[test])
            if len(shared):
                raise InputError(
                    f"fold {fold} of cv has rows of the group {shared.tolist()[0]!r} on both sides; use a splitter "
                    "that keeps groups together, such as StratifiedGroupKFold, or cv as an integer"
                )
    found = [(train, test) for train, test in found if len(test)]
    if not found:
        raise InputError("cv has no fold with rows to test")
    return found
