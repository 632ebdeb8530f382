"""Over- and under-confidence: the two halves of the ECE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from believable._types import Notion, Strategy
from believable.stats.source import TEN, UNIFORM, BinsAsked, count_asked, not_empty, source_of


@dataclass(frozen=True, slots=True)
class ConfidenceDecomposition:
    """How much of the calibration error is too much confidence, and how much too little.

    Attributes
    ----------
    over : float
        Sum over bins whose scores are too high of W_c/T (conf - acc).
    under : float
        Sum over bins whose scores are too low of W_c/T (acc - conf).
    """

    over: float
    under: float

    @property
    def total(self) -> float:
        """over + under: the expected calibration error."""
        return self.over + self.under

    def __float__(self) -> float:
        return self.total


def confidence_decomposition(
    predictions: Any,
    actuals: Any = None,
    n_bins: int = TEN,
    strategy: Strategy = UNIFORM,
    *,
    notion: Notion | None = None,
    r: int | None = None,
    threshold: float | None = None,
    pooled: bool = False,
    sample_weight: Any = None,
    edges: Any = None,
) -> ConfidenceDecomposition:
    """Split the expected calibration error into its over-confident and under-confident part.

    A bin is over-confident where the mean score is above the mean outcome. For 1-D scores this means "too high",
    which below 0.5 is not the same as too sure: a score of 0.1 for what happens 30 % of the time counts as under.

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
