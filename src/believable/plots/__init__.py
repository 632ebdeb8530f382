"""Pictures: compute a value, then draw it on an ax."""

from believable.plots.classwise import plot_classwise_reliability
from believable.plots.corp import CorpDiagram, draw_corp, plot_corp_diagram
from believable.plots.cumulative import CumulativeDifferences, draw_cumulative, plot_cumulative_differences
from believable.plots.forest import draw_subgroups, plot_subgroup_forest
from believable.plots.histogram import ConfidenceHistogram, draw_confidence_histogram, plot_confidence_histogram
from believable.plots.improvement import plot_improvement
from believable.plots.metric_bars import MetricBar, draw_metrics, metric_bars, plot_metrics
from believable.plots.miscalibration import draw_miscalibration, plot_miscalibration
from believable.plots.reliability import Reliability, draw_reliability, plot_reliability_diagram
from believable.plots.scores import ScoreHistogram, draw_score_histogram
from believable.plots.smoothed import SmoothedCalibration, draw_smoothed, plot_smoothed_calibration

__all__ = [
    "ConfidenceHistogram",
    "CorpDiagram",
    "CumulativeDifferences",
    "MetricBar",
    "Reliability",
    "ScoreHistogram",
    "SmoothedCalibration",
    "draw_confidence_histogram",
    "draw_corp",
    "draw_cumulative",
    "draw_metrics",
    "draw_miscalibration",
    "draw_reliability",
    "draw_score_histogram",
    "draw_smoothed",
    "draw_subgroups",
    "metric_bars",
    "plot_classwise_reliability",
    "plot_confidence_histogram",
    "plot_corp_diagram",
    "plot_cumulative_differences",
    "plot_improvement",
    "plot_metrics",
    "plot_miscalibration",
    "plot_reliability_diagram",
    "plot_smoothed_calibration",
    "plot_subgroup_forest",
]
