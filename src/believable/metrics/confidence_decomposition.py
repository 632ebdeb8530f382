"""The ECE split by direction: scores that are too high, and scores that are too low."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from believable._types import Bins, Notion, Strategy
from believable.stats.source import TEN, UNIFORM, BinsAsked, count_asked, not_empty, source_of


@dataclass(frozen=True, slots=True)
class ConfidenceDecomposition:
    """The expected calibration error, split into bins that over-predict and bins that under-predict.

    Attributes
    ----------
    over : float
        Sum of W_c/T (conf - acc) over the bins whose mean score is too high.
    under : float
        Sum of W_c/T (acc - conf) over the bins whose mean score is too low.
    """

    over: float
    under: float

    @property
    def total(self) -> float:
        """Expected calibration error, over + under."""
        return self.over + self.under

    def __float__(self) -> float:
        return self.total


def confidence_decomposition(
    predictions: Any,
    actuals: Any = None,
    n_bins: Bins = TEN,
    strategy: Strategy = UNIFORM,
    *,
    notion: Notion | None = None,
    r: int | None = None,
    threshold: float | None = None,
    pooled: bool = False,
    sample_weight: Any = None,
    edges: Any = None,
) -> ConfidenceDecomposition:
    """Split the expected calibration error by direction: mean score above or below the observed frequency.

    For confidences (a matrix) the two parts are over- and under-confidence. For 1-D scores they are over- and
    under-prediction, which is not the same below 0.5: a score of 0.1 for an event with an observed frequency of 30 %
    counts as `under`, although the model is too sure that there is no event.

    Parameters are those of `expected_calibration_error`.

    Examples
    --------
    >>> parts = confidence_decomposition([0.1, 0.2, 0.8, 0.9], [0, 1, 1, 0], n_bins=2)
    >>> round(parts.over, 12), round(parts.under, 12), round(parts.total, 12)
    (0.175, 0.175, 0.35)
    """
    source = source_of(predictions, actuals, sample_weight)
    stats = not_empty(count_asked(source, BinsAsked(n_bins, strategy, notion, r, threshold, pooled, edges)))
    excess = (stats.wp - stats.wy) / stats.w.sum()
    return ConfidenceDecomposition(over=float(np.maximum(excess, 0).sum()), under=float(np.maximum(-excess, 0).sum()))
