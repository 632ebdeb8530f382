"""Metrics of this package as evaluation metrics of CatBoost, reported in every round of training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import catboost  # noqa: F401 - the file is of no use without it, and says so when it is imported
import numpy as np

from believable.metrics.scorer import scorer
from believable.metrics.table import find_metric
from believable.predictions import Predictions


class EvalMetric:
    """An `eval_metric` for `CatBoostClassifier`, with the loss functions "Logloss" and "MultiClass".

    Use it to watch calibration during training, with `use_best_model=False`. To decide when to stop, use a proper score
    ("log_loss", "brier"): the ECE is small for a model that has learnt nothing. CatBoost warns if numba is missing,
    which is harmless.

    Parameters
    ----------
    metric : str
        A name or alias from the table of metrics.
    **options
        Options of that metric, such as `n_bins=15`.

    Examples
    --------
    >>> import warnings
    >>> warnings.filterwarnings("ignore", "Failed to import numba")  # CatBoost says so; it is not needed
    >>> X, y = np.arange(40.0)[:, None], np.arange(40) > 22
    >>> model = catboost.CatBoostClassifier(
    ...     iterations=3, eval_metric=EvalMetric("ece", n_bins=5), verbose=False, allow_writing_files=False)
    >>> model = model.fit(X, y.astype(int), eval_set=(X, y.astype(int)))
    >>> len(model.evals_result_["validation"]["EvalMetric"])
    3
    """

    def __init__(self, metric: str, **options: Any) -> None:
        asked = scorer(metric, **options)  # checks the name and the options
        self.name = asked.name
        self.options = asked.options

    def is_max_optimal(self) -> bool:
        """Return whether higher is better."""
        return find_metric(self.name).direction == "higher"

    def evaluate(self, approxes: Sequence[Any], target: Any, weight: Any) -> tuple[float, float]:
        """Return the metric and the weight 1; `approxes` are margins, one sequence per class (one for two classes)."""
        margins = np.stack([np.asarray(one, np.float64) for one in approxes], axis=1)
        checked = Predictions(
            margins[:, 0] if margins.shape[1] == 1 else margins,
            np.asarray(target),
            sample_weight=None if weight is None else np.asarray(weight, np.float64),
            from_logits=True,
        )
        return float(find_metric(self.name).function(checked, **self.options)), 1.0

    def get_final_error(self, error: float, weight: float) -> float:
        """Return the metric from what `evaluate` returned."""
        return error / weight

    # Where numba is installed, CatBoost would try to compile these, and warn that it cannot.
    is_max_optimal.no_jit = evaluate.no_jit = get_final_error.no_jit = True  # type: ignore[attr-defined]
