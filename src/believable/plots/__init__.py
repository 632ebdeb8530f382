"""Pictures: compute a value, then draw it on an ax."""

from believable.plots.cascade import draw_cascade, plot_cascade
from believable.plots.classwise import plot_classwise_reliability
from believable.plots.corp import CorpDiagram, draw_corp, plot_corp_diagram
from believable.plots.cumulative import CumulativeDifferences, draw_cumulative, plot_cumulative_differences
from believable.plots.forest import draw_subgroups, plot_subgroup_forest
from believable.plots.histogram import (
    ConfidenceHistogram,
    ScoreHistogram,
    draw_confidence_histogram,
    draw_score_histogram,
    plot_confidence_histogram,
)
from believable.plots.improvement import plot_improvement
from believable.plots.metric_bars import MetricBar, draw_metrics, metric_bars, plot_metrics
from believable.plots.miscalibration import draw_miscalibration, plot_miscalibration
from believable.plots.net_benefit import draw_net_benefit, plot_net_benefit
from believable.plots.over_time import draw_over_time, plot_calibration_over_time
from believable.plots.ranking import draw_ranking, plot_ranking
from believable.plots.reliability import Reliability, draw_reliability, plot_reliability_diagram
from believable.plots.reliability_display import ReliabilityDisplay
from believable.plots.risk_coverage import draw_risk_coverage, plot_risk_coverage
from believable.plots.sampling import SampledScores, draw_uncertainty_sample, plot_uncertainty_sample
from believable.plots.segments import draw_segments, plot_segments
from believable.plots.smoothed import SmoothedCalibration, draw_smoothed, plot_smoothed_calibration
from believable.plots.threshold import draw_threshold, plot_threshold
from believable.plots.words import SpokenScores, draw_confidence_words, plot_confidence_words

__all__ = [
    "ConfidenceHistogram",
    "CorpDiagram",
    "CumulativeDifferences",
    "MetricBar",
    "Reliability",
    "ReliabilityDisplay",
    "SampledScores",
    "ScoreHistogram",
    "SmoothedCalibration",
    "SpokenScores",
    "draw_cascade",
    "draw_confidence_histogram",
    "draw_confidence_words",
    "draw_corp",
    "draw_cumulative",
    "draw_metrics",
    "draw_miscalibration",
    "draw_net_benefit",
    "draw_over_time",
    "draw_ranking",
    "draw_reliability",
    "draw_risk_coverage",
    "draw_score_histogram",
    "draw_segments",
    "draw_smoothed",
    "draw_subgroups",
    "draw_threshold",
    "draw_uncertainty_sample",
    "metric_bars",
    "plot_calibration_over_time",
    "plot_cascade",
    "plot_classwise_reliability",
    "plot_confidence_histogram",
    "plot_confidence_words",
    "plot_corp_diagram",
    "plot_cumulative_differences",
    "plot_improvement",
    "plot_metrics",
    "plot_miscalibration",
    "plot_net_benefit",
    "plot_ranking",
    "plot_reliability_diagram",
    "plot_risk_coverage",
    "plot_segments",
    "plot_smoothed_calibration",
    "plot_subgroup_forest",
    "plot_threshold",
    "plot_uncertainty_sample",
]
