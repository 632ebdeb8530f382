"""Metrics, one per file. Importing a file registers its metric in the table, and the table makes it public."""

from believable.metrics.accuracy import accuracy as accuracy
from believable.metrics.adaptive_calibration_error import adaptive_calibration_error as adaptive_calibration_error
from believable.metrics.auc import auc as auc
from believable.metrics.average_calibration_error import average_calibration_error as average_calibration_error
from believable.metrics.brier_score import brier_score as brier_score
from believable.metrics.brier_skill_score import brier_skill_score as brier_skill_score
from believable.metrics.calibration_decision_loss import calibration_decision_loss as calibration_decision_loss
from believable.metrics.calibration_in_the_large import calibration_in_the_large as calibration_in_the_large
from believable.metrics.calibration_slope_intercept import SlopeIntercept as SlopeIntercept
from believable.metrics.calibration_slope_intercept import calibration_slope_intercept as calibration_slope_intercept
from believable.metrics.classwise_ece import classwise_ece as classwise_ece
from believable.metrics.confidence_decomposition import ConfidenceDecomposition as ConfidenceDecomposition
from believable.metrics.confidence_decomposition import confidence_decomposition as confidence_decomposition
from believable.metrics.corp_decomposition import CorpDecomposition as CorpDecomposition
from believable.metrics.corp_decomposition import corp_decomposition as corp_decomposition
from believable.metrics.cumulative import cutoff_calibration_error as cutoff_calibration_error
from believable.metrics.cumulative import kolmogorov_smirnov_calibration_error as kolmogorov_smirnov_calibration_error
from believable.metrics.cumulative import kuiper_calibration_error as kuiper_calibration_error
from believable.metrics.debiased_calibration_error import DebiasedError as DebiasedError
from believable.metrics.debiased_calibration_error import debiased_calibration_error as debiased_calibration_error
from believable.metrics.evaluate import Evaluation as Evaluation
from believable.metrics.evaluate import evaluate as evaluate
from believable.metrics.expected_calibration_error import expected_calibration_error as expected_calibration_error
from believable.metrics.kernel_blocks import KernelBlocks as KernelBlocks
from believable.metrics.kernel_calibration_error import kernel_calibration_error as kernel_calibration_error
from believable.metrics.kernel_calibration_error import (
    squared_kernel_calibration_error as squared_kernel_calibration_error,
)
from believable.metrics.marginal_calibration_error import marginal_calibration_error as marginal_calibration_error
from believable.metrics.maximum_calibration_error import maximum_calibration_error as maximum_calibration_error
from believable.metrics.maximum_mean_calibration_error import (
    maximum_mean_calibration_error as maximum_mean_calibration_error,
)
from believable.metrics.murphy_decomposition import MurphyDecomposition as MurphyDecomposition
from believable.metrics.murphy_decomposition import murphy_decomposition as murphy_decomposition
from believable.metrics.negative_log_likelihood import negative_log_likelihood as negative_log_likelihood
from believable.metrics.observed_expected_ratio import observed_expected_ratio as observed_expected_ratio
from believable.metrics.ordered import ordinal_log_score as ordinal_log_score
from believable.metrics.ordered import ranked_probability_score as ranked_probability_score
from believable.metrics.relative_calibration_error import relative_calibration_error as relative_calibration_error
from believable.metrics.root_mean_square_calibration_error import (
    root_mean_square_calibration_error as root_mean_square_calibration_error,
)
from believable.metrics.scorer import Scorer as Scorer
from believable.metrics.scorer import scorer as scorer
from believable.metrics.sharpness import mean_confidence as mean_confidence
from believable.metrics.sharpness import mean_entropy as mean_entropy
from believable.metrics.sharpness import sharpness as sharpness
from believable.metrics.smooth_calibration_error import SmoothError as SmoothError
from believable.metrics.smooth_calibration_error import smooth_calibration_error as smooth_calibration_error
from believable.metrics.smooth_calibration_error import (
    smooth_calibration_error_detail as smooth_calibration_error_detail,
)
from believable.metrics.smoothed_curve import CalibrationIndex as CalibrationIndex
from believable.metrics.smoothed_curve import calibration_index as calibration_index
from believable.metrics.smoothed_curve import integrated_calibration_index as integrated_calibration_index
from believable.metrics.smoothed_curve import local_calibration_score as local_calibration_score
from believable.metrics.static_calibration_error import static_calibration_error as static_calibration_error
from believable.metrics.sweep_calibration_error import sweep_calibration_error as sweep_calibration_error
from believable.metrics.table import METRICS as METRICS
from believable.metrics.table import Estimate as Estimate
from believable.metrics.table import Metric as Metric
from believable.metrics.table import find_metric as find_metric
from believable.metrics.thresholded_adaptive_calibration_error import (
    thresholded_adaptive_calibration_error as thresholded_adaptive_calibration_error,
)
from believable.metrics.top_label_calibration_error import top_label_calibration_error as top_label_calibration_error
from believable.metrics.top_r_calibration_error import top_r_calibration_error as top_r_calibration_error

# Sort the table by name: files that hold several metrics would break the order otherwise.
for _name in sorted(METRICS):
    METRICS[_name] = METRICS.pop(_name)

# A metric is public because it is in the table; these names are public too, but return more than one number.
_MORE = (
    "METRICS",
    "KernelBlocks",
    "calibration_index",
    "classwise_ece",
    "confidence_decomposition",
    "corp_decomposition",
    "cutoff_calibration_error",
    "evaluate",
    "murphy_decomposition",
    "scorer",
    "smooth_calibration_error_detail",
)
PUBLIC_NAMES = sorted({*METRICS, *_MORE})  # type checkers cannot see an `__all__` built at run time
