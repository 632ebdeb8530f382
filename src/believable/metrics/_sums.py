"""How the metrics of `ScoreSums` obtain their sums."""

from __future__ import annotations

from typing import Any, Literal, get_args

from believable.errors import UndefinedError
from believable.predictions import Predictions, as_predictions
from believable.stats import ScoreSums
from believable.stats.readable import Readable
from believable.stats.source import is_checked, refuse_extras


def score_sums(predictions: Any, actuals: Any = None, sample_weight: Any = None) -> ScoreSums:
    """Return the sums of a statistic, or compute those of predictions."""
    if isinstance(predictions, Readable):
        sums = predictions.read_sums()
        refuse_extras(type(predictions).__name__, actuals=actuals, sample_weight=sample_weight)
        return sums
    return ScoreSums.of(as_predictions(predictions, actuals, sample_weight))


Reduction = Literal["mean", "none"]
REDUCTIONS = get_args(Reduction)


def rows_to_score(predictions: Any, actuals: Any, sample_weight: Any) -> Predictions:
    """Return the checked rows for a score of each of them; a statistic does not hold them."""
    if isinstance(predictions, Readable):
        raise UndefinedError(
            "{reduction='none'} scores each row: pass the predictions, not a statistic of them", argument="reduction"
        )
    return as_predictions(predictions, actuals, sample_weight)


def lone_matrix(predictions: Any, actuals: Any, sample_weight: Any) -> Predictions | None:
    """Return a multiclass matrix passed for this call only, so that not all of its sums are computed; else None."""
    if is_checked(predictions):
        return None
    checked = as_predictions(predictions, actuals, sample_weight)
    return checked if checked.kind == "multiclass" and not checked.has_distributions else None
