"""The Brier score, split with bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from believable._types import Bins, Notion, Strategy
from believable.stats.source import TEN, UNIFORM, BinsAsked, count_asked, not_empty, source_of


@dataclass(frozen=True, slots=True)
class MurphyDecomposition:
    """The Brier score, split as reliability - resolution + uncertainty + within_variance - within_covariance.

    Attributes
    ----------
    reliability : float
        Weighted mean over bins of (conf_c - acc_c)^2; 0 is best.
    resolution : float
        Weighted mean over bins of (acc_c - base rate)^2; larger is better.
    uncertainty : float
        base rate (1 - base rate).
    within_variance : float
        Mean over rows of (p - conf_c)^2, the variance of the scores within bins.
    within_covariance : float
        Mean over rows of 2 (p - conf_c)(y - acc_c): twice the covariance within bins.
    score : float
        The Brier score.
    """

    reliability: float
    resolution: float
    uncertainty: float
    within_variance: float
    within_covariance: float
    score: float


def murphy_decomposition(
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
) -> MurphyDecomposition:
    """Split the Brier score into reliability, resolution, uncertainty and variation within bins.

    Murphy's three parts add up to the Brier score if all scores of a bin are equal. Otherwise the variance of the
    scores within bins and their covariance with the outcomes complete the sum; both vanish as bins get narrower. The
    parts depend on the bins; those of `corp_decomposition` do not.

    If the notion keeps classes or ranks apart, each has its own base rate, and the parts are weighted means over them:
    for "classwise", the score is the mean of the one-vs-rest scores.

    Parameters are those of `expected_calibration_error`.

    References
    ----------
    Murphy (1973), Journal of Applied Meteorology; Stephenson, Coelho, Jolliffe (2008), Weather and Forecasting.

    Examples
    --------
    >>> parts = murphy_decomposition([0.1, 0.1, 0.8, 0.8], [0, 1, 1, 1], n_bins=2)
    >>> [round(part, 12) for part in (parts.reliability, parts.resolution, parts.uncertainty, parts.score)]
    [0.1, 0.0625, 0.1875, 0.225]
    """
    source = source_of(predictions, actuals, sample_weight)
    stats = not_empty(
        count_asked(source, BinsAsked(n_bins, strategy, notion, r, threshold, pooled, edges), squares=True)
    )
    share, stratum = stats.w / stats.w.sum(), stats.stratum
    rate = (np.bincount(stratum, stats.wy) / np.maximum(np.bincount(stratum, stats.w), 1e-300))[stratum]

    def mean(values: Any) -> float:
        return float(np.sum(share * values))

    return MurphyDecomposition(
        reliability=mean(stats.gap**2),
        resolution=mean((stats.acc - rate) ** 2),
        uncertainty=mean(rate * (1 - rate)),
        within_variance=mean(np.maximum(stats.wpp / stats.w - stats.conf**2, 0)),
        within_covariance=2 * mean(stats.wpy / stats.w - stats.conf * stats.acc),
        score=mean((stats.wpp - 2 * stats.wpy + stats.wy) / stats.w),
    )
