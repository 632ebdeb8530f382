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
    """A callable `scorer(estimator, X, y) -> float` for model selection; greater is better. See `believable.scorer`.

    Attributes
    ----------
    name : str
        Name of the metric.
    options : dict
        Options passed to the metric.
    """

    name: str
    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        row = find_metric(self.name)
        predictions = predictions_of(estimator, X, y, sample_weight)
        sign = -1.0 if row.direction == "lower" else 1.0
        return sign * float(row.function(predictions, **self.options))


def scorer(metric: str, **options: Any) -> Scorer:
    """Make a scorer of a metric, for scikit-learn's `cross_validate`, `GridSearchCV` and others.

    In scikit-learn greater is better, so metrics for which lower is better are negated, as in its own `neg_log_loss`.
    The scorer accepts `sample_weight`, but not through scikit-learn's metadata routing.

    Parameters
    ----------
    metric : str
        A name or alias from the table of metrics, or what scikit-learn calls it; here "log_loss" and "neg_log_loss" are
        the same, since a scorer of a loss is negated.
    **options
        Options of that metric, such as `n_bins=15`.

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
    if options.get("reduction", "mean") != "mean":
        raise InputError("{argument} must be 'mean' here, because one number is needed", argument="reduction")
    if row.direction is None:
        raise InputError(f"higher values of {row.name} are neither better nor worse, so it cannot score models")
    return Scorer(row.name, dict(options))


def predictions_of(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> Predictions:
    """Return the checked predictions of a fitted classifier: P(second class) for two classes, else all columns."""
    if not hasattr(estimator, "predict_proba"):
        raise InputError(f"{type(estimator).__name__} has no predict_proba: calibration needs probabilities")
    probabilities = estimator.predict_proba(X)
    if isinstance(probabilities, list):
        raise InputError("predict_proba returns several outputs: score each of them separately")
    matrix: Array = np.asarray(probabilities)
    classes = np.asarray(estimator.classes_).tolist()
    if matrix.ndim == 2 and matrix.shape[1] == 2:
        matrix = np.ascontiguousarray(matrix[:, 1])
    return Predictions(matrix, y, classes=classes, sample_weight=sample_weight)
