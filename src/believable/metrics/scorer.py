"""Metrics as scikit-learn scorers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from believable._types import Array
from believable.errors import InputError
from believable.metrics.table import NEGATED, find_metric, known_metric
from believable.predictions import Predictions


@dataclass(frozen=True)
class Scorer:
    """`scorer(estimator, X, y) -> float` for model selection; greater is better. Made by `believable.scorer`.

    Attributes
    ----------
    name : str
        The metric.
    options : dict
        Passed to it.
    """

    name: str
    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        row = find_metric(self.name)
        predictions = predictions_of(estimator, X, y, sample_weight)
        sign = -1.0 if row.direction == "lower" else 1.0
        return sign * float(row.function(predictions, **self.options))


def scorer(metric: str, **options: Any) -> Scorer:
    """A metric as a scorer for scikit-learn's `cross_validate`, `GridSearchCV` and others.

    scikit-learn holds that greater is better, so metrics that are better when lower are negated, as its own
    `neg_log_loss` is. Called with `sample_weight` it is weighted; scikit-learn's metadata routing cannot ask it for
    that.

    Parameters
    ----------
    metric : str
        A name or alias from the table of metrics, or what scikit-learn calls it; here "log_loss" and "neg_log_loss" are
        the same, since a scorer of a loss is negated.
    **options
        Choices of that metric, such as `n_bins=15`.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> round(scorer("expected_calibration_error", n_bins=2)(model, [[0.0], [3.0]], [0, 1]), 3)
    -0.192
    """
    loss = known_metric(metric.removeprefix(NEGATED)) if isinstance(metric, str) else None
    row = loss if loss is not None and loss.direction == "lower" else find_metric(metric)
    unknown = set(options) - row.options
    if unknown:
        raise InputError(f"{row.name} has no option {sorted(unknown)[0]!r}; it has {sorted(row.options)}")
    if row.direction is None:
        raise InputError(f"{row.name} has no better or worse, so it cannot score models")
    return Scorer(row.name, dict(options))


def predictions_of(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> Predictions:
    """The checked predictions of a fitted classifier: P(second class) for two classes, all columns for more."""
    if not hasattr(estimator, "predict_proba"):
        raise InputError(f"{type(estimator).__name__} has no predict_proba: calibration is about probabilities")
    probabilities = estimator.predict_proba(X)
    if isinstance(probabilities, list):
        raise InputError("predict_proba gives several outputs: score them one by one")
    matrix: Array = np.asarray(probabilities)
    classes = np.asarray(estimator.classes_).tolist()
    if matrix.ndim == 2 and matrix.shape[1] == 2:
        matrix = np.ascontiguousarray(matrix[:, 1])
    return Predictions(matrix, y, classes=classes, sample_weight=sample_weight)
