"""Sharpness, mean confidence and mean entropy: how certain the scores are, regardless of the outcomes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from believable.metrics._sums import score_sums
from believable.metrics.table import SumFacts, metric
from believable.stats import ScoreSums


def _variance(sums: ScoreSums) -> float:
    return float(np.mean(sums.deviation / sums.class_weight))


@metric(
    alias="sharpness",
    counts=score_sums,
    says=_variance,
    sums=SumFacts(without_labels=True),
    needs="sums",
    high=0.25,
    best=None,
    reference="Gneiting et al. 2007",
)
def sharpness(predictions: Any, actuals: Any = None, *, sample_weight: Any = None) -> float:
    """Variance of the predictions: how widely they spread around their mean.

    For a matrix, the mean of the classes' variances. In [0, 1/4]. A calibrated forecast should be as sharp as possible;
    a constant forecast has sharpness 0.

    References
    ----------
    Gneiting, Balabdaoui, Raftery (2007), JRSS B.

    Examples
    --------
    >>> round(sharpness([0.1, 0.9], [0, 1]), 12)
    0.16
    """
    return _variance(score_sums(predictions, actuals, sample_weight))


# --- mean confidence --------------------------------------------------------------------------------------------------


def _confidence(sums: ScoreSums) -> float:
    return sums.confidence / sums.w


@metric(
    alias="conf",
    counts=score_sums,
    says=_confidence,
    sums=SumFacts(mean_of="confidence", without_labels=True, of_predicted=True),
    needs="sums",
    best=None,
    reference="Guo et al. 2017",
)
def mean_confidence(predictions: Any, actuals: Any = None, *, sample_weight: Any = None) -> float:
    """Mean probability of the predicted class.

    max(p, 1 - p) for 1-D scores, p for (confidence, correct) pairs (`Predictions(..., pairs=True)`). In [0, 1]. If it
    is above the accuracy, the model is over-confident overall; if below, under-confident.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger (2017), ICML.

    Examples
    --------
    >>> round(mean_confidence([0.1, 0.8], [0, 1]), 12)
    0.85
    """
    return _confidence(score_sums(predictions, actuals, sample_weight))


# --- mean entropy -----------------------------------------------------------------------------------------------------


def _entropy(sums: ScoreSums) -> float:
    return sums.entropy / sums.w


@metric(
    alias="entropy",
    counts=score_sums,
    says=_entropy,
    sums=SumFacts(mean_of="entropy", without_labels=True),
    needs="sums",
    high=math.inf,
    best=None,
    reference="Shannon 1948",
)
def mean_entropy(predictions: Any, actuals: Any = None, *, sample_weight: Any = None) -> float:
    """Mean entropy of the predicted distributions, in nats.

    0 if every prediction is certain, log K if every prediction is uniform. Multilabel: mean over all entries.

    References
    ----------
    Shannon (1948), Bell System Technical Journal.

    Examples
    --------
    >>> round(mean_entropy([0.5, 1.0], [0, 1]), 12)
    0.34657359028
    """
    return _entropy(score_sums(predictions, actuals, sample_weight))
