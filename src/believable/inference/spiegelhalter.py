"""Spiegelhalter's test."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from believable._types import Notion
from believable.errors import UndefinedError
from believable.inference.null import TestResult
from believable.stats.source import count_points, event_sums, one_stratum, sums_or_source


def spiegelhalter(
    predictions: Any,
    actuals: Any = None,
    *,
    notion: Notion | None = None,
    r: int | None = None,
    sample_weight: Any = None,
) -> TestResult:
    r"""Test whether the Brier score is what calibrated scores would have.

    .. math:: z = \frac{\sum_i w_i (y_i - p_i)(1 - 2 p_i)}{\sqrt{\sum_i w_i^2 (1 - 2 p_i)^2 p_i (1 - p_i)}}

    The limit is standard normal if the scores are calibrated; the test is two-sided. z is positive if the Brier score
    is larger than expected (scores too extreme), negative if it is smaller. If all scores are 0, 1/2 or 1, the variance
    is 0: z is 0 with p-value 1 if the scores of 0 and 1 were right, otherwise infinite with p-value 0.

    For a matrix, the test uses the (confidence, correct) pairs of the predicted class. The classes of a row are not
    independent, so sums over classes, as in `ScoreSums`, have a different variance; the test therefore accepts binary
    `ScoreSums` only.

    From `CellStats`, all rows of a cell count at the cell's mean score.

    Parameters
    ----------
    notion, r
        For a matrix: which pairs of score and outcome to use, "confidence" by default. Notions that keep classes or
        ranks apart are refused.

    References
    ----------
    Spiegelhalter (1986), Statistics in Medicine.

    Examples
    --------
    >>> result = spiegelhalter([0.1, 0.2, 0.3, 0.9], [0, 1, 0, 1])
    >>> round(result.statistic, 4), round(result.p_value, 4)
    (0.4402, 0.6598)
    """
    spread, variance, n = _sums(predictions, actuals, sample_weight, notion, r)
    z = spread / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, spread) if spread else 0.0
    return TestResult(z, math.erfc(abs(z) / math.sqrt(2)), None, n, "normal")


def _sums(
    predictions: Any, actuals: Any, sample_weight: Any, notion: Notion | None, r: int | None
) -> tuple[float, float, int]:
    """Return the sum of w (y - p)(1 - 2p), its variance, and the number of rows."""
    source: Any = sums_or_source(predictions, actuals, sample_weight)
    sums = event_sums(source, notion, r)
    if sums is not None:
        if sums.kind != "binary":
            raise UndefinedError(
                f"Spiegelhalter's test needs binary ScoreSums, these are {sums.kind}, and the classes of a row are not "
                "independent: pass the predictions, or CellStats"
            )
        return sums.spread, sums.spread_variance, sums.n
    points = one_stratum(count_points(source, notion=notion, r=r), "Spiegelhalter's test")
    lean = 1 - 2 * points.score
    return (
        float(np.sum(points.excess * lean)),
        max(float(np.sum(points.variance * lean**2)), 0.0),
        int(points.n.sum()),
    )
