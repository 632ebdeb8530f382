"""Brier score."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from believable import _check, _kernels
from believable._types import Float64s, Kind
from believable.metrics._sums import REDUCTIONS, Reduction, rows_to_score, score_sums
from believable.metrics.table import SumFacts, metric
from believable.predictions import Predictions
from believable.stats import ScoreSums
from believable.stats.sums import row_terms


def _mean_square(sums: ScoreSums, scale_by_half: bool = False) -> float:
    return _factor(sums.kind, scale_by_half) * sums.brier / sums.w


def _by_chance(sums: ScoreSums, scale_by_half: bool = False) -> tuple[float, float | None]:
    """Return the mean and variance under perfect calibration."""
    mean = (sums.brier - sums.spread) / sums.w
    if sums.kind == "binary":
        return mean, sums.spread_variance / sums.w**2
    scale = _factor(sums.kind, scale_by_half)
    return scale * mean, scale**2 * sums.by_chance[0] / sums.w**2 if len(sums.by_chance) else None


def _factor(kind: Kind, scale_by_half: bool) -> float:
    return 0.5 if scale_by_half and kind == "multiclass" else 1.0


@overload
def brier_score(
    predictions: Any,
    actuals: Any = None,
    *,
    scale_by_half: bool = ...,
    reduction: Literal["mean"] = ...,
    sample_weight: Any = None,
) -> float: ...


@overload
def brier_score(
    predictions: Any,
    actuals: Any = None,
    *,
    scale_by_half: bool = ...,
    reduction: Literal["none"],
    sample_weight: Any = None,
) -> Float64s: ...


@metric(
    alias="brier",
    counts=score_sums,
    says=_mean_square,
    needs="sums",
    sums=SumFacts(mean_of="brier", by_chance=_by_chance),
    high=2.0,
    reference="Brier 1950",
    elsewhere={
        "scikit-learn": "`brier_score_loss`: the same, but two columns are halved unless `scale_by_half=False`",
        "calibre": "`brier_score`: the same, for one event",
        "probmetrics": (
            "`brier` uses two columns for one event, so it is twice the value of 1-D scores; several classes: the same"
        ),
        "R: rms": "Brier of `val.prob`: the same",
    },
)
def brier_score(
    predictions: Any,
    actuals: Any = None,
    *,
    scale_by_half: bool = False,
    reduction: Reduction = "mean",
    sample_weight: Any = None,
) -> float | Float64s:
    """Mean squared difference between predicted probability and outcome.

    Binary: mean (p - y)^2, in [0, 1]. Multiclass: mean over rows of the sum over classes, in [0, 2]; two columns give
    twice the binary value. Multilabel: mean over all entries, in [0, 1]. 0 is best. A soft label, or a distribution
    over classes, contributes its expected score: sum over classes k of q_k times the score of label k.

    Parameters
    ----------
    scale_by_half : bool
        Halve the multiclass score, so that it lies in [0, 1] and two columns agree with the binary value.
    reduction : {"mean", "none"}
        "none" returns the score of each row as an array, without weights; the weighted mean of the array is the score.
        Rows that were dropped because of their label or a weight of 0 have no entry.

    Returns
    -------
    float or ndarray
        The score, or with `reduction="none"` an array with the score of each row.

    References
    ----------
    Brier (1950), Monthly Weather Review.

    Examples
    --------
    >>> round(brier_score([0.1, 0.8], [0, 1]), 12)
    0.025
    >>> round(brier_score([[0.9, 0.1], [0.2, 0.8]], [0, 1]), 12)
    0.05
    >>> brier_score([0.1, 0.8], [0, 1], reduction="none").round(12)
    array([0.01, 0.04])
    """
    _check.choice(reduction, REDUCTIONS, "reduction")
    if reduction == "none":
        return _of_rows(rows_to_score(predictions, actuals, sample_weight), scale_by_half)
    return _mean_square(score_sums(predictions, actuals, sample_weight), scale_by_half)


def _of_rows(rows: Predictions, scale_by_half: bool) -> Float64s:
    found = np.empty(len(rows))
    for block in _kernels.row_blocks(len(rows), rows.scores[:1].size):
        squares = row_terms(rows, block)["brier"]
        found[block] = squares.mean(axis=1) if rows.kind == "multilabel" else squares.sum(axis=1)
    return found * _factor(rows.kind, scale_by_half)
