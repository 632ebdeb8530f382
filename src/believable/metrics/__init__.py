"""Metrics: one file each. Importing the file enters it into the table."""

from believable.metrics._table import METRICS, Metric, find_metric
from believable.metrics.accuracy import accuracy
from believable.metrics.adaptive_calibration_error import adaptive_calibration_error
from believable.metrics.auc import auc
from believable.metrics.average_calibration_error import average_calibration_error
from believable.metrics.brier_score import brier_score
from believable.metrics.brier_skill_score import brier_skill_score
from believable.metrics.classwise_ece import classwise_ece
from believable.metrics.confidence_decomposition import confidence_decomposition
from believable.metrics.debiased_calibration_error import debiased_calibration_error
from believable.metrics.evaluate import evaluate
from believable.metrics.expected_calibration_error import expected_calibration_error
from believable.metrics.marginal_calibration_error import marginal_calibration_error
from believable.metrics.maximum_calibration_error import maximum_calibration_error
from believable.metrics.mean_confidence import mean_confidence
from believable.metrics.mean_entropy import mean_entropy
from believable.metrics.negative_log_likelihood import negative_log_likelihood
from believable.metrics.root_mean_square_calibration_error import root_mean_square_calibration_error
from believable.metrics.scorer import scorer
from believable.metrics.sharpness import sharpness
from believable.metrics.static_calibration_error import static_calibration_error
from believable.metrics.sweep_calibration_error import sweep_calibration_error
from believable.metrics.thresholded_adaptive_calibration_error import thresholded_adaptive_calibration_error
from believable.metrics.top_label_calibration_error import top_label_calibration_error
from believable.metrics.top_r_calibration_error import top_r_calibration_error

__all__ = [
    "METRICS",
    "Metric",
    "accuracy",
    "adaptive_calibration_error",
    "auc",
    "average_calibration_error",
    "brier_score",
    "brier_skill_score",
    "classwise_ece",
    "confidence_decomposition",
    "debiased_calibration_error",
    "evaluate",
    "expected_calibration_error",
    "find_metric",
    "marginal_calibration_error",
    "maximum_calibration_error",
    "mean_confidence",
    "mean_entropy",
    "negative_log_likelihood",
    "root_mean_square_calibration_error",
    "scorer",
    "sharpness",
    "static_calibration_error",
    "sweep_calibration_error",
    "thresholded_adaptive_calibration_error",
    "top_label_calibration_error",
    "top_r_calibration_error",
]
