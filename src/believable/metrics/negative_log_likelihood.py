"""Negative log-likelihood."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from believable import _check
from believable._types import Array, Float64s
from believable.errors import UndefinedError
from believable.metrics._sums import lone_matrix, score_sums
from believable.metrics.table import SumFacts, metric
from believable.predictions import as_predictions
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
    predictions: Any, actuals: Any = None, *, eps: float | None = None, sample_weight: Any = None
) -> float:
    """Mean negative logarithm of the probability assigned to the observed outcome.

    In nats; 0 is best. An observed outcome of probability 0 gives infinity, not a clipped number. Multilabel: mean over
    all entries. Also called log loss or cross-entropy.

    Parameters
    ----------
    eps : float, optional
        Clip probabilities to [eps, 1 - eps] first. This needs the predictions, not their sums.

    References
    ----------
    Good (1952), JRSS B.

    Examples
    --------
    >>> round(negative_log_likelihood([0.1, 0.8], [0, 1]), 12)
    0.164252033486
    >>> negative_log_likelihood([0.0], [1])
    inf
    """
    matrix = lone_matrix(predictions, actuals, sample_weight) if eps is None else None
    if matrix is not None:
        return _mean(_Losses.of(log_loss_terms(matrix.scores, matrix.labels, "multiclass"), matrix.weights))
    if eps is None:
        return _mean(score_sums(predictions, actuals, sample_weight))
    eps = _check.number(eps, "eps", 0, 0.5)
    if isinstance(predictions, Readable):
        raise UndefinedError("{argument} clips predictions: pass them, not a statistic", argument="eps")
    checked = as_predictions(predictions, actuals, sample_weight)
    terms = log_loss_terms(checked.scores, checked.labels, checked.kind, eps)
    terms = terms if terms.ndim == 1 else terms.mean(axis=1)
    return _mean(_Losses.of(terms, checked.weights))
