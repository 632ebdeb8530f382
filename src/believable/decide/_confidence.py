"""Scores that need no outcomes, checked; the answer they give, and how sure of it they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from believable import _check, kernels
from believable._types import Array, Float64s, Floats
from believable.errors import InputError
from believable.predictions import Predictions

LOGITS = "these look like logits: take the sigmoid or softmax first"
ONE_EACH = "one column at a time if they are independent"
ROUNDING = {"float32": 6, "float64": 12}  # decimals: 1 - 0.07 and 0.93 are the same confidence


def checked_scores(predictions: Any, name: str = "predictions") -> Floats:
    """P(y = 1), or one column per class, of as many rows as there are; the scores of a `Predictions`."""
    if isinstance(predictions, Predictions):
        if predictions.kind == "multilabel":
            raise InputError(f"{name} must give one answer per row, not several labels: pass {ONE_EACH}")
        return predictions.scores
    scores = _check.numeric(predictions, name)
    _check.shape_of_predictions(scores, multilabel=False)
    _check.probabilities(scores, name, None, LOGITS)
    if scores.ndim == 2:
        _check.row_sums(scores, predictions, None, name, ONE_EACH)
    return scores


def confidence(scores: Floats) -> Floats:
    """The probability of the answer: max(p, 1 - p), or the largest of a row, in the type of the scores."""
    return np.asarray(np.maximum(scores, 1 - scores) if scores.ndim == 1 else kernels.top_one(scores)[0])


def rounded(values: Floats, like: Floats) -> Floats:
    """What differs by rounding alone made equal; `like` are the scores that it comes from."""
    return np.asarray(np.round(values, ROUNDING[like.dtype.name]))


def equalled_confidence(scores: Floats, end: np.ufunc) -> Floats:
    """The confidence, of two outcomes the least or largest (`end`) of those that differ by rounding alone.

    It is one of the scores' own confidences, so that a rule such as "at least the cut" keeps all of them or none.
    """
    sure = confidence(scores)
    if scores.ndim == 2 and scores.shape[1] > 2:
        return sure
    _, first, place = np.unique(rounded(sure, scores), return_index=True, return_inverse=True)
    ends = sure[first]
    end.at(ends, place, sure)
    return np.asarray(ends[place])


def answer(scores: Floats) -> Array:
    """The class with the largest probability; the lower one in a tie, as accuracy has it."""
    return np.asarray((scores > 0.5).astype(np.intp) if scores.ndim == 1 else kernels.top_one(scores)[1])


def share_wrong(answers: Array, labels: Array) -> Float64s:
    """1 where the answer is not the label; of soft labels the share that says otherwise."""
    if labels.dtype.kind == "f":
        return np.asarray(np.abs(answers - labels.astype(np.float64)))
    return np.asarray(answers != labels, np.float64)
