"""Are my numeric scores believable probabilities?

Measure, see, judge and fix the calibration of classifiers. Scores first, outcomes second:

>>> import believable
>>> round(believable.expected_calibration_error([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], n_bins=2), 12)
0.15
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from believable._version import __version__
from believable.binning import Edges
from believable.curves import (
    calibration_curve,
    corp_curve,
    kernel_calibration_curve,
    logistic_calibration_curve,
    reliability_table,
    smoothed_calibration_curve,
)
from believable.metrics import *  # noqa: F403 - its __all__ names the metrics and their table
from believable.metrics import __all__ as _metrics
from believable.predictions import Predictions, View, average_predictions
from believable.stats import BinStats, CellStats, Layout, ScoreSums, Summary

if TYPE_CHECKING:
    from believable.auditing import verdict as verdict
    from believable.auditing.make import audit as audit
    from believable.decide.cascade import cascade as cascade
    from believable.decide.net_benefit import net_benefit as net_benefit
    from believable.decide.ranking import risk_aware_rank as risk_aware_rank
    from believable.decide.sampling import uncertainty_sample as uncertainty_sample
    from believable.decide.selective import selective as selective
    from believable.decide.threshold import threshold_for as threshold_for
    from believable.decide.words import confidence_words as confidence_words
    from believable.inference.compare import compare as compare
    from believable.inference.cumulative_tests import kolmogorov_smirnov_test as kolmogorov_smirnov_test
    from believable.inference.cumulative_tests import kuiper_test as kuiper_test
    from believable.inference.hosmer_lemeshow import hosmer_lemeshow as hosmer_lemeshow
    from believable.inference.interval import interval as interval
    from believable.inference.kernel_calibration_test import kernel_calibration_test as kernel_calibration_test
    from believable.inference.noise_floor import noise_floor as noise_floor
    from believable.inference.rows_needed import expected_precision as expected_precision
    from believable.inference.rows_needed import rows_needed as rows_needed
    from believable.inference.spiegelhalter import spiegelhalter as spiegelhalter
    from believable.inference.subgroups import subgroups as subgroups
    from believable.plots import plot_calibration_over_time as plot_calibration_over_time
    from believable.plots import plot_cascade as plot_cascade
    from believable.plots import plot_classwise_reliability as plot_classwise_reliability
    from believable.plots import plot_confidence_histogram as plot_confidence_histogram
    from believable.plots import plot_confidence_words as plot_confidence_words
    from believable.plots import plot_corp_diagram as plot_corp_diagram
    from believable.plots import plot_cumulative_differences as plot_cumulative_differences
    from believable.plots import plot_improvement as plot_improvement
    from believable.plots import plot_metrics as plot_metrics
    from believable.plots import plot_miscalibration as plot_miscalibration
    from believable.plots import plot_net_benefit as plot_net_benefit
    from believable.plots import plot_ranking as plot_ranking
    from believable.plots import plot_reliability_diagram as plot_reliability_diagram
    from believable.plots import plot_risk_coverage as plot_risk_coverage
    from believable.plots import plot_smoothed_calibration as plot_smoothed_calibration
    from believable.plots import plot_subgroup_forest as plot_subgroup_forest
    from believable.plots import plot_threshold as plot_threshold
    from believable.plots import plot_uncertainty_sample as plot_uncertainty_sample
    from believable.readers import read_predictions as read_predictions
    from believable.recalibrate.calibrate import calibrate as calibrate
    from believable.recalibrate.refinement import refinement as refinement
    from believable.recalibrate.saved import load_recalibrator as load_recalibrator
    from believable.recalibrate.select import select as select
    from believable.report import Audit as Audit
    from believable.streams.drift import DriftAlarm as DriftAlarm
    from believable.streams.meter import CalibrationMeter as CalibrationMeter
    from believable.streams.monitor import CalibrationMonitor as CalibrationMonitor

# Loaded when first used: rooms by name, and functions that bring matplotlib or a file engine with them.
_ROOMS = (
    *("curves", "decide", "inference", "metrics", "plots", "readers", "recalibrate", "report", "stats"),
    *("engines", "streams", "toolbox", "torch"),
)
_LAZY = {
    "Audit": "believable.report",
    "audit": "believable.auditing",
    "CalibrationMeter": "believable.streams",
    "CalibrationMonitor": "believable.streams",
    "DriftAlarm": "believable.streams",
    "calibrate": "believable.recalibrate",
    "cascade": "believable.decide",
    "compare": "believable.inference",
    "confidence_words": "believable.decide",
    "expected_precision": "believable.inference",
    "hosmer_lemeshow": "believable.inference",
    "interval": "believable.inference",
    "kernel_calibration_test": "believable.inference",
    "kolmogorov_smirnov_test": "believable.inference",
    "kuiper_test": "believable.inference",
    "load_recalibrator": "believable.recalibrate",
    "net_benefit": "believable.decide",
    "noise_floor": "believable.inference",
    "plot_calibration_over_time": "believable.plots",
    "plot_cascade": "believable.plots",
    "plot_classwise_reliability": "believable.plots",
    "plot_confidence_histogram": "believable.plots",
    "plot_confidence_words": "believable.plots",
    "plot_corp_diagram": "believable.plots",
    "plot_cumulative_differences": "believable.plots",
    "plot_improvement": "believable.plots",
    "plot_metrics": "believable.plots",
    "plot_miscalibration": "believable.plots",
    "plot_net_benefit": "believable.plots",
    "plot_ranking": "believable.plots",
    "plot_reliability_diagram": "believable.plots",
    "plot_risk_coverage": "believable.plots",
    "plot_smoothed_calibration": "believable.plots",
    "plot_subgroup_forest": "believable.plots",
    "plot_threshold": "believable.plots",
    "plot_uncertainty_sample": "believable.plots",
    "read_predictions": "believable.readers",
    "refinement": "believable.recalibrate",
    "risk_aware_rank": "believable.decide",
    "rows_needed": "believable.inference",
    "select": "believable.recalibrate",
    "selective": "believable.decide",
    "spiegelhalter": "believable.inference",
    "subgroups": "believable.inference",
    "threshold_for": "believable.decide",
    "uncertainty_sample": "believable.decide",
    "verdict": "believable.auditing",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _ROOMS:
        return import_module(f"believable.{name}")
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'believable' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_ROOMS})


__all__ = [
    "BinStats",
    "CellStats",
    "Edges",
    "Layout",
    "Predictions",
    "ScoreSums",
    "Summary",
    "View",
    "__version__",
    "average_predictions",
    "calibration_curve",
    "corp_curve",
    "kernel_calibration_curve",
    "logistic_calibration_curve",
    "reliability_table",
    "smoothed_calibration_curve",
]
__all__ += _metrics
__all__ += _LAZY
