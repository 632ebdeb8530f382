"""Proper scores split by isotonic recalibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from believable import _check, _kernels
from believable._types import Float64s, Notion
from believable.stats.source import Points, count_points, mean_over_strata, source_of


@dataclass(frozen=True, slots=True)
class CorpDecomposition:
    """A proper score, split as miscalibration - discrimination + uncertainty.

    Attributes
    ----------
    mcb : float
        Miscalibration: by how much isotonic recalibration would lower the score. At least 0; infinite if the score is.
    dsc : float
        Discrimination: how much lower the recalibrated scores are than always predicting the base rate. At least 0.
    unc : float
        Uncertainty: the score of always predicting the base rate.
    score : float
        The mean score itself, mcb - dsc + unc.
    """

    mcb: float
    dsc: float
    unc: float
    score: float


def corp_decomposition(
    predictions: Any,
    actuals: Any = None,
    *,
    score: Literal["brier", "log"] = "brier",
    notion: Notion | None = None,
    r: int | None = None,
    sample_weight: Any = None,
) -> CorpDecomposition:
    r"""Split a proper score into miscalibration, discrimination and uncertainty, without bins.

    .. math:: S(p) = \underbrace{S(p) - S(q)}_{\mathrm{MCB}}
              - \underbrace{(S(r) - S(q))}_{\mathrm{DSC}} + \underbrace{S(r)}_{\mathrm{UNC}}

    with S the mean score, q the isotonic recalibration of the scores p (see `corp_curve`), and r the base rate. None of
    the parts is negative.

    From `CellStats`, all rows of a cell count at the cell's mean score, for the score S as well.

    Parameters
    ----------
    score : {"brier", "log"}
        (p - y)^2, or minus the log of the probability of the observed outcome, which is infinite if that probability is
        0; 0 log 0 is 0.
    notion, r
        Which pairs of score and outcome to use. If the notion keeps classes or ranks apart, each is split separately
        and the result is the mean: for "classwise", the mean of one-vs-rest scores.

    References
    ----------
    Dimitriadis, Gneiting, Jordan (2021), PNAS.

    Examples
    --------
    >>> parts = corp_decomposition([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1])
    >>> round(parts.mcb, 12), parts.dsc, parts.unc, round(parts.score, 12)
    (0.025, 0.25, 0.25, 0.025)
    """
    _check.choice(score, ("brier", "log"), "score")
    points = count_points(source_of(predictions, actuals, sample_weight), notion=notion, r=r)
    parts = zip(*(_split(stratum, score) for stratum in points), strict=True)
    return CorpDecomposition(*(mean_over_strata(values, points) for values in parts))


def _split(points: Points, score: str) -> tuple[float, float, float, float]:
    mean, least = (_brier, _least_brier) if score == "brier" else (_log, _least_log)
    positive, negative = points.wy, np.maximum(points.w - points.wy, 0)
    starts = np.flatnonzero(np.diff(_kernels.pav(points.w, points.wy), prepend=-1.0))
    blocks = np.add.reduceat(positive, starts), np.add.reduceat(negative, starts)
    total = float(points.w.sum())
    recalibrated = float(least(*blocks).sum()) / total
    unc = float(least(*(masses.sum(keepdims=True) for masses in blocks)).sum()) / total
    found = float(mean(positive, negative, np.minimum(points.score, 1)).sum()) / total
    # The isotonic fit is optimal for every proper score, so differences below 0 are due to rounding.
    return max(found - recalibrated, 0.0), max(unc - recalibrated, 0.0), unc, found


def _brier(positive: Float64s, negative: Float64s, p: Float64s) -> Float64s:
    return positive * (1 - p) ** 2 + negative * p**2


def _log(positive: Float64s, negative: Float64s, p: Float64s) -> Float64s:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(positive > 0, -positive * np.log(p), 0) + np.where(negative > 0, -negative * np.log1p(-p), 0)


# A block's score at its own rate is computed from its masses, because the rate may round to 1, and 1 - rate to 0.


def _least_brier(positive: Float64s, negative: Float64s) -> Float64s:
    return positive * (negative / (positive + negative))


def _least_log(positive: Float64s, negative: Float64s) -> Float64s:
    small, large = np.minimum(positive, negative), np.maximum(positive, negative)
    share = small / (small + large)
    return np.asarray(large * np.log1p(small / large) - small * np.log(np.where(share > 0, share, 1)))
