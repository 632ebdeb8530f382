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
    classes: list[Any] = np.asarray(estimator.classes_).tolist()
    logits = response_method == "decision_function"
    if pos_label is None:
        if response.ndim == 2 and response.shape[1] == 2:
            response = np.ascontiguousarray(response[:, 1])
        return Predictions(response, y, classes=classes, sample_weight=sample_weight, from_logits=logits)
    if pos_label not in classes:
        raise InputError(
            "{argument} must be one of the classes {classes}, got {got!r}",
            argument="pos_label",
            classes=classes,
            got=pos_label,
        )
    place = classes.index(pos_label)
    if response.ndim == 1:  # decisions for the second of two classes
        response = response if place == 1 else -response
    elif logits:
        response, logits = Predictions(response, y, classes=classes, from_logits=True).scores[:, place], False
    else:
        response = response[:, place]
    is_it = np.array([label == pos_label for label in np.asarray(y).tolist()], np.int64)
    unknown = [label for label in np.unique(np.asarray(y)).tolist() if label not in classes]
    if unknown:
        raise InputError(f"the estimator knows the classes {classes}, but a label is {unknown[0]!r}")
    return Predictions(np.ascontiguousarray(response), is_it, sample_weight=sample_weight, from_logits=logits)


def _response(estimator: Any, X: Any, method: ResponseMethod) -> Array:
    """Return the probabilities of a classifier, or its decision function where that is asked for."""
    _check.choice(method, get_args(ResponseMethod), "response_method")
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

    estimators, test_rows = _of_cross_validate(cv_results, X)
    classes = [np.asarray(one.classes_).tolist() for one in estimators]
    for k, own in enumerate(classes):
        if own != classes[0]:
            raise InputError(
                f"the classifier of fold {k} knows the classes {own}, that of fold 0 {classes[0]}: use stratified folds"
            )
    parts = []
    for estimator, rows in zip(estimators, test_rows, strict=True):
        weight = None if sample_weight is None else np.asarray(sample_weight)[rows]
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


def _together(parts: list[Predictions]) -> tuple[Predictions, Array]:
    """Return the held-out rows of all folds, and the fold of each."""
    fold = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    weighted = any(part.weights is not None for part in parts)
    weights = [np.ones(len(part)) if part.weights is None else part.weights for part in parts]
    scores, labels = (np.concatenate([getattr(part, name) for part in parts]) for name in ("scores", "labels"))
    return Predictions(scores, labels, sample_weight=np.concatenate(weights) if weighted else None), fold
