"""Pictures: compute a value, then draw it on an ax."""

from believable.plots.classwise import plot_classwise_reliability
from believable.plots.histogram import ConfidenceHistogram, draw_confidence_histogram, plot_confidence_histogram
from believable.plots.reliability import (
    Reliability,
    draw_reliability,
    draw_score_histogram,
    plot_reliability_diagram,
)

__all__ = [
    "ConfidenceHistogram",
    "Reliability",
    "draw_confidence_histogram",
    "draw_reliability",
    "draw_score_histogram",
    "plot_classwise_reliability",
    "plot_confidence_histogram",
    "plot_reliability_diagram",
]
