"""Metrics of this package as evaluation metrics of XGBoost, reported in every round of training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xgboost

from believable.metrics.scorer import scorer
from believable.metrics.table import find_metric
from believable.predictions import Predictions

NativeMetric = Callable[[Any, "xgboost.DMatrix"], tuple[str, float]]


def custom_metric(metric: str, **options: Any) -> NativeMetric:
    """Make a `custom_metric` for `xgboost.train` and `xgboost.cv`.

    Use it to watch calibration during training. To decide when to stop, use a proper score ("log_loss", "brier"): the
    ECE is small for a model that has learnt nothing.

    Parameters
    ----------
    metric : str
        A name or alias from the table of metrics.
    **options
        Options of that metric, such as `n_bins=15`.

    Returns
    -------
    callable
        `custom_metric(predictions, dmatrix) -> (name, value)`, for the objectives "binary:logistic" and
        "multi:softprob", whose predictions are probabilities. The value is not negated: for early stopping on a metric
        for which higher is better, pass `maximize=True` to `xgboost.train`. The weights of the `DMatrix` are used.

    Examples
    --------
    >>> data = xgboost.DMatrix(np.arange(20.0)[:, None], label=np.arange(20) > 12)
    >>> seen: dict = {}
    >>> model = xgboost.train(
    ...     {"objective": "binary:logistic"}, data, 3, evals=[(data, "train")], evals_result=seen,
    ...     custom_metric=custom_metric("ece", n_bins=5), verbose_eval=False)
    >>> len(seen["train"]["expected_calibration_error"])
    3
    """
    asked = scorer(metric, **options)  # checks the name and the options
    row = find_metric(asked.name)

    def evaluated(predictions: Any, dmatrix: xgboost.DMatrix) -> tuple[str, float]:
        weight = dmatrix.get_weight()
        labels = dmatrix.get_label()
        checked = Predictions(predictions, labels, sample_weight=weight if len(weight) else None)
        return row.name, float(row.function(checked, **asked.options))

    return evaluated


def eval_metric(metric: str, **options: Any) -> Callable[..., float]:
    """Make an `eval_metric` for `XGBClassifier`: `eval_metric(labels, probabilities, sample_weight=None) -> value`.

    Its use is that of `custom_metric`. scikit-learn's interface has no switch for metrics of which higher is better, so
    these are negated, and called "negative_auc", for example.

    Parameters
    ----------
    metric : str
        A name or alias from the table of metrics.
    **options
        Options of that metric.

    Returns
    -------
    callable
        With the name of the metric, which `evals_result()` shows.

    Examples
    --------
    >>> X, y = np.arange(20.0)[:, None], (np.arange(20) > 12).astype(int)
    >>> model = xgboost.XGBClassifier(n_estimators=3, eval_metric=eval_metric("brier"))
    >>> model = model.fit(X, y, eval_set=[(X, y)], verbose=False)
    >>> list(model.evals_result()["validation_0"])
    ['logloss', 'brier_score']
    """
    asked = scorer(metric, **options)
    row = find_metric(asked.name)
    sign = 1.0 if row.direction == "lower" else -1.0

    def evaluated(labels: Any, probabilities: Any, sample_weight: Any = None) -> float:
        checked = Predictions(probabilities, np.asarray(labels), sample_weight=sample_weight)
        return sign * float(row.function(checked, **asked.options))

    evaluated.__name__ = row.name if sign > 0 else f"negative_{row.name}"  # XGBoost maximises what begins with "auc"
    return evaluated
