"""How metrics of `ScoreSums` get them."""

from __future__ import annotations

from typing import Any

from believable.errors import UndefinedError
from believable.predictions import Predictions, as_predictions
from believable.stats import BinStats, CellStats, ScoreSums, Summary
from believable.stats.source import refuse_extras


def score_sums(predictions: Any, actuals: Any = None, sample_weight: Any = None) -> ScoreSums:
    """The sums handed over, or those of the predictions."""
    if isinstance(predictions, ScoreSums):
        refuse_extras("ScoreSums", actuals=actuals, sample_weight=sample_weight)
        return predictions
    if isinstance(predictions, Summary):
        refuse_extras("Summary", actuals=actuals, sample_weight=sample_weight)
        return predictions.sums
    if isinstance(predictions, (BinStats, CellStats)):
        raise UndefinedError(f"this metric is read from ScoreSums, not from {type(predictions).__name__}")
    return ScoreSums.of(as_predictions(predictions, actuals, sample_weight))


def lone_matrix(predictions: Any, actuals: Any, sample_weight: Any) -> Predictions | None:
    """A matrix that is looked at for one call, whose entries need not all be summed to answer it; None otherwise."""
    if isinstance(predictions, (ScoreSums, Summary, BinStats, CellStats, Predictions)):
        return None
    checked = as_predictions(predictions, actuals, sample_weight)
    return checked if checked.kind == "multiclass" else None
