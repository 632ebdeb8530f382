"""The predictions of scikit-learn's classifiers: of one, or of those of a cross-validation on their held-out rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np

from believable import _check, _optional
from believable._types import Array
from believable.errors import InputError
from believable.predictions import Predictions

ResponseMethod = Literal["auto", "predict_proba", "decision_function"]
FROM_CROSS_VALIDATE = "cross_validate(..., return_estimator=True, return_indices=True)"
FROM_FOLDS = "predictions from the folds of cross_validate need"


def predictions_of(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    response_method: ResponseMethod = "auto",
    pos_label: Any = None,
) -> Predictions:
    """Return the checked predictions of a fitted classifier: P(second class) for two classes, else all columns.

    With `pos_label`, they are the probability of that class, of two or of more.
    """
    response = _response(estimator, X, response_method)
    logits = response_method == "decision_function"
    if logits:
        _refuse_pairs_of_classes(estimator)
    classes = _classes_of(estimator, response)
    place = len(classes) - 1 if pos_label is None else _place(pos_label, classes)
    scores = np.ascontiguousarray(response[:, place]) if response.ndim == 2 and len(classes) == 2 else response
    if pos_label is None:
        return Predictions(scores, y, classes=classes, sample_weight=sample_weight, from_logits=logits)
    _check.same_index(actuals=y, sample_weight=sample_weight)
    all_classes = Predictions(scores, y, classes=classes, from_logits=logits)  # checks the labels
    if response.ndim == 1:  # of the second of two classes
        first = -response if logits else 1 - response
        scores = response if place == 1 else first
    elif scores.ndim == 2:
        scores, logits = (all_classes.scores if logits else scores)[:, place], False
    is_it = (all_classes.labels == place).astype(np.int64)
    return Predictions(np.ascontiguousarray(scores), is_it, sample_weight=sample_weight, from_logits=logits)


def _classes_of(estimator: Any, response: Array) -> list[Any]:
    """Return the classes of an estimator, in the order of the columns of its response."""
    what = type(estimator).__name__
    if not hasattr(estimator, "classes_"):
        raise InputError(f"{what} has no classes_ that name its columns: pass its probabilities and the labels instead")
    classes: list[Any] = np.asarray(estimator.classes_).tolist()
    if len(classes) < 2:
        raise InputError(f"{what} was fitted on one class only, {classes[0]!r}: calibration needs at least two")
    if response.ndim == 2 and response.shape[1] != len(classes):
        raise InputError(
            f"{what} gives {response.shape[1]} columns for {len(classes)} classes: pass one column per class"
        )
    return classes


def _refuse_pairs_of_classes(estimator: Any) -> None:
    """Raise if decisions are about pairs of classes, as a support vector machine's may be; three classes have three."""
    while (inner := _inner(estimator)) is not None:
        estimator = inner
    if getattr(estimator, "decision_function_shape", None) == "ovo" and len(getattr(estimator, "classes_", ())) > 2:
        raise InputError(
            f"the decision_function of {type(estimator).__name__} compares pairs of classes, so its columns are not "
            "those of the classes: set decision_function_shape='ovr'"
        )


def _inner(estimator: Any) -> Any:
    """Return the last step of a pipeline, or the estimator that a search has chosen; None for other estimators."""
    steps = getattr(estimator, "steps", None)
    return steps[-1][1] if steps else getattr(estimator, "best_estimator_", None)


def _place(pos_label: Any, classes: list[Any]) -> int:
    if pos_label not in classes:
        raise InputError(
            "{argument} must be one of the classes {classes}, got {got!r}",
            argument="pos_label",
            classes=classes,
            got=pos_label,
        )
    return classes.index(pos_label)


def _response(estimator: Any, X: Any, method: ResponseMethod) -> Array:
    """Return the probabilities of a classifier, or its decision function where that is asked for."""
    _check.choice(method, get_args(ResponseMethod), "response_method")
    if isinstance(estimator, type):
        raise InputError(f"the estimator is the class {estimator.__name__}: pass a fitted instance of it")
    what = type(estimator).__name__
    named = "predict_proba" if method == "auto" else method
    if not hasattr(estimator, named):
        instead = ""
        if named == "predict_proba" and hasattr(estimator, "decision_function"):
            instead = (
                "; its decision_function gives scores of any size: recalibrate it, for example with "
                "Recalibrated(estimator, PlattScaling(input='scores')), or pass response_method='decision_function' to "
                "read these as logits"
            )
        raise InputError(f"{what} has no {named}: calibration needs probabilities{instead}")
    response = getattr(estimator, named)(X)
    if isinstance(response, list):
        raise InputError(f"{named} returns several outputs: score each of them separately")
    return np.asarray(response)


def held_out_predictions(
    cv_results: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    response_method: ResponseMethod = "auto",
    pos_label: Any = None,
) -> tuple[Predictions, Array]:
    """Return the predictions of each fold's classifier on the rows that it did not see, and the fold of each row."""
    rows_of = _optional.load("sklearn.utils", FROM_FOLDS)._safe_indexing
    num_samples = _optional.load("sklearn.utils.validation", FROM_FOLDS)._num_samples

    estimators, test_rows = _of_cross_validate(cv_results, X)
    y = y if _check.index_of(y) is not None else np.asarray(y)
    _refuse_other_length(num_samples(X), y=y)
    if sample_weight is not None:
        sample_weight = np.asarray(sample_weight)
        _refuse_other_length(num_samples(X), sample_weight=sample_weight)
    classes = [np.asarray(one.classes_).tolist() for one in estimators]
    for k, own in enumerate(classes):
        if own != classes[0]:
            raise InputError(
                f"the classifier of fold {k} knows the classes {own}, that of fold 0 {classes[0]}: use stratified folds"
            )
    parts = []
    for estimator, rows in zip(estimators, test_rows, strict=True):
        weight = None if sample_weight is None else sample_weight[rows]
        held_out = rows_of(X, rows), rows_of(y, rows)
        parts.append(predictions_of(estimator, *held_out, weight, response_method=response_method, pos_label=pos_label))
    return _together(parts)


def _of_cross_validate(cv_results: Any, X: Any) -> tuple[list[Any], list[Array]]:
    """Return the fitted estimators of a cross-validation and the rows that each did not see."""
    num_samples = _optional.load("sklearn.utils.validation", FROM_FOLDS)._num_samples

    for key in ("estimator", "indices"):
        if not isinstance(cv_results, Mapping) or key not in cv_results:
            raise InputError(
                "{argument} has no {key!r}: pass what {call} returned",
                argument="cv_results",
                key=key,
                call=FROM_CROSS_VALIDATE,
            )
    indices = cv_results["indices"]
    n = sum(len(indices[part][0]) for part in ("train", "test"))
    if n > num_samples(X):
        raise InputError(
            "{argument} has {got} rows, but the folds were made of {n}: pass the arrays of cross_validate",
            argument="X",
            got=num_samples(X),
            n=n,
        )
    return list(cv_results["estimator"]), [np.asarray(rows) for rows in indices["test"]]


def _refuse_other_length(n: int, **values: Any) -> None:
    for name, one in values.items():
        if np.shape(one)[:1] != (n,):
            got = f"{len(one):,} rows" if np.ndim(one) else "no rows"
            raise InputError("{argument} has {got}, but X has {n:,}", argument=name, got=got, n=n)


def _together(parts: list[Predictions]) -> tuple[Predictions, Array]:
    """Return the held-out rows of all folds, and the fold of each."""
    fold = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    weighted = any(part.weights is not None for part in parts)
    weights = [np.ones(len(part)) if part.weights is None else part.weights for part in parts]
    scores, labels = (np.concatenate([getattr(part, name) for part in parts]) for name in ("scores", "labels"))
    return Predictions(scores, labels, sample_weight=np.concatenate(weights) if weighted else None), fold
