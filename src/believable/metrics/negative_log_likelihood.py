"""Negative log-likelihood."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from believable import _check
from believable._types import Array, Float64s
from believable.errors import UndefinedError
from believable.metrics._sums import REDUCTIONS, Reduction, lone_matrix, rows_to_score, score_sums
from believable.metrics.table import SumFacts, metric
from believable.predictions import Predictions, as_predictions
from believable.stats import ScoreSums
from believable.stats.readable import Readable
from believable.stats.sums import log_loss_terms


class _Losses(NamedTuple):
    nll: float
    w: float

    @classmethod
    def of(cls, terms: Float64s, weights: Array | None) -> _Losses:
        if weights is None:
            return cls(float(terms.sum()), len(terms))
        return cls(float((terms * weights).sum()), float(weights.sum(dtype=np.float64)))


def _mean(sums: ScoreSums | _Losses) -> float:
    return sums.nll / sums.w


def _by_chance(sums: ScoreSums) -> tuple[float, float | None]:
    """Return the mean and variance under perfect calibration."""
    return sums.entropy / sums.w, sums.by_chance[1] / sums.w**2 if len(sums.by_chance) else None


@overload
def negative_log_likelihood(
    predictions: Any,
    actuals: Any = None,
    *,
    eps: float | None = ...,
    reduction: Literal["mean"] = ...,
    sample_weight: Any = None,
) -> float: ...


@overload
def negative_log_likelihood(
    predictions: Any,
    actuals: Any = None,
    *,
    eps: float | None = ...,
    reduction: Literal["none"],
    sample_weight: Any = None,
) -> Float64s: ...


@metric(
    alias="nll",
    counts=score_sums,
    says=_mean,
    needs="sums",
    sums=SumFacts(mean_of="nll", by_chance=_by_chance),
    high=math.inf,
    reference="Good 1952",
    elsewhere={
        "scikit-learn": (
            "`log_loss`: clipped to [eps, 1 − eps] of the scores' dtype, so never infinite (`eps=`); otherwise the same"
        ),
        "probmetrics": "`logloss`: logarithms are clipped at −87.3, so never infinite; otherwise the same",
    },
)
def negative_log_likelihood(
    predictions: Any,
    actuals: Any = None,
    *,
    eps: float | None = None,
    reduction: Reduction = "mean",
    sample_weight: Any = None,
) -> float | Float64s:
    """Mean negative logarithm of the probability assigned to the observed outcome.

    In nats; 0 is best. An observed outcome of probability 0 gives infinity, not a clipped number. Multilabel: mean over
    all entries. Also called log loss or cross-entropy. A soft label, or a distribution over classes, contributes its
    expected score, the cross-entropy -sum of q_k log p_k over the classes k.

    Parameters
    ----------
    eps : float, optional
        Clip probabilities to [eps, 1 - eps] first. This needs the predictions, not their sums.
    reduction : {"mean", "none"}
        "none" returns the score of each row as an array, without weights; the weighted mean of the array is the score.
        Rows that were dropped because of their label or a weight of 0 have no entry.

    Returns
    -------
    float or ndarray
        The score, or with `reduction="none"` an array with the score of each row.

    References
    ----------
    Good (1952), JRSS B.

    Examples
    --------
    >>> round(negative_log_likelihood([0.1, 0.8], [0, 1]), 12)
    0.164252033486
    >>> negative_log_likelihood([0.0], [1])
    inf
    >>> negative_log_likelihood([0.1, 0.8], [0, 1], reduction="none").round(4)
    array([0.1054, 0.2231])
    """
    _check.choice(reduction, REDUCTIONS, "reduction")
    if eps is not None:
        eps = _check.number(eps, "eps", 0, 0.5)
    if reduction == "none":
        return _of_rows(rows_to_score(predictions, actuals, sample_weight), eps)
    matrix = lone_matrix(predictions, actuals, sample_weight) if eps is None else None
    if matrix is not None:
        return _mean(_Losses.of(log_loss_terms(matrix.scores, matrix.labels, "multiclass"), matrix.weights))
    if eps is None:
        return _mean(score_sums(predictions, actuals, sample_weight))
    if isinstance(predictions, Readable):
        raise UndefinedError("{argument} clips predictions: pass them, not a statistic", argument="eps")
    checked = as_predictions(predictions, actuals, sample_weight)
    return _mean(_Losses.of(_of_rows(checked, eps), checked.weights))


def _of_rows(rows: Predictions, eps: float | None) -> Float64s:
    terms = log_loss_terms(rows.scores, rows.targets, rows.kind, eps or 0.0)
    return terms if terms.ndim == 1 else np.asarray(terms.mean(axis=1))
