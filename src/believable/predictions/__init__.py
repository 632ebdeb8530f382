"""Predictions (scores and outcomes, checked once) and the views of them that define notions of calibration."""

from believable.predictions.predictions import Predictions, as_predictions, average_predictions
from believable.predictions.view import Pairs, View

__all__ = ["Pairs", "Predictions", "View", "as_predictions", "average_predictions"]
