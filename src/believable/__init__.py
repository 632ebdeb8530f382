"""Are my numeric scores believable probabilities?

Measure, see and judge the calibration of classifiers. Scores first, outcomes second:

>>> import believable
>>> round(believable.expected_calibration_error([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], n_bins=2), 12)
0.15
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from believable._version import __version__
from believable.binning import Edges
from believable.curves import calibration_curve, reliability_table
from believable.metrics import (
    METRICS,
    accuracy,
    adaptive_calibration_error,
    auc,
    average_calibration_error,
    brier_score,
    brier_skill_score,
    classwise_ece,
    confidence_decomposition,
    debiased_calibration_error,
    evaluate,
    expected_calibration_error,
    marginal_calibration_error,
    maximum_calibration_error,
    mean_confidence,
    mean_entropy,
    negative_log_likelihood,
    root_mean_square_calibration_error,
    scorer,
    sharpness,
    static_calibration_error,
    sweep_calibration_error,
    thresholded_adaptive_calibration_error,
    top_label_calibration_error,
    top_r_calibration_error,
)
from believable.predictions import Predictions, View, average_predictions
from believable.stats import BinStats, CellStats, ScoreSums

if TYPE_CHECKING:
    from believable.plots import plot_classwise_reliability, plot_confidence_histogram, plot_reliability_diagram
    from believable.readers import read_predictions
    from believable.report import verdict

# Loaded when first used, because they bring matplotlib or a file engine with them.
_LAZY = {
    "plot_classwise_reliability": "believable.plots",
    "plot_confidence_histogram": "believable.plots",
    "plot_reliability_diagram": "believable.plots",
    "read_predictions": "believable.readers",
    "verdict": "believable.report",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'believable' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_LAZY))


__all__ = [
    "METRICS",
    "BinStats",
    "CellStats",
    "Edges",
    "Predictions",
    "ScoreSums",
    "View",
    "__version__",
    "accuracy",
    "adaptive_calibration_error",
    "auc",
    "average_calibration_error",
    "average_predictions",
    "brier_score",
    "brier_skill_score",
    "calibration_curve",
    "classwise_ece",
    "confidence_decomposition",
    "debiased_calibration_error",
    "evaluate",
    "expected_calibration_error",
    "marginal_calibration_error",
    "maximum_calibration_error",
    "mean_confidence",
    "mean_entropy",
    "negative_log_likelihood",
    "plot_classwise_reliability",
    "plot_confidence_histogram",
    "plot_reliability_diagram",
    "read_predictions",
    "reliability_table",
    "root_mean_square_calibration_error",
    "scorer",
    "sharpness",
    "static_calibration_error",
    "sweep_calibration_error",
    "thresholded_adaptive_calibration_error",
    "top_label_calibration_error",
    "top_r_calibration_error",
    "verdict",
]
