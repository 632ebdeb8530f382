"""Metrics of this package as evaluation metrics of LightGBM, reported in every round of training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np

from believable.metrics.scorer import scorer
from believable.metrics.table import find_metric
from believable.predictions import Predictions


def eval_metric(metric: str, **options: Any) -> Callable[..., tuple[str, float, bool]]:
    """Make an evaluation metric: `feval` of `lightgbm.train` and `cv`, or `eval_metric` of `LGBMClassifier.fit`.

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
        It returns (name, value, whether higher is better), and takes what LightGBM passes: (predictions, Dataset), or
        (labels, predictions) and perhaps weights. It is for the objectives "binary" and "multiclass", whose predictions
        are probabilities; those of "multiclassova" do not sum to 1, and are refused.

    Examples
    --------
    >>> X, y = np.arange(200.0)[:, None], np.arange(200) > 120
    >>> data, seen = lightgbm.Dataset(X, y), {}
    >>> model = lightgbm.train(
    ...     {"objective": "binary", "verbose": -1}, data, 3, valid_sets=[data], feval=eval_metric("ece", n_bins=5),
    ...     callbacks=[lightgbm.record_evaluation(seen)])
    >>> len(seen["training"]["expected_calibration_error"])
    3
    """
    asked = scorer(metric, **options)  # checks the name and the options
    row = find_metric(asked.name)

    def evaluated(first: Any, second: Any, weight: Any = None) -> tuple[str, float, bool]:
        if isinstance(second, lightgbm.Dataset):
            scores, labels, weight = first, second.get_label(), second.get_weight()
        else:
            labels, scores = first, second
        checked = Predictions(np.asarray(scores), np.asarray(labels), sample_weight=weight)
        return row.name, float(row.function(checked, **asked.options)), row.direction == "higher"

    return evaluated
