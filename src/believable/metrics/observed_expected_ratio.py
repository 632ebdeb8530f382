"""Ratio of observed to expected events."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from believable import _check
from believable._types import Ints, Notion
from believable.errors import UndefinedError
from believable.metrics._logistic import normal_quantile
from believable.metrics.table import Estimate, SumFacts, metric
from believable.predictions import Predictions
from believable.stats import ScoreSums
from believable.stats.source import Source, count_points, event_sums, one_stratum, sums_or_source


class Totals(NamedTuple):
    """Sums of w, w^2, w y, w p and w^2 (y - p)^2."""

    w: Any
    w2: Any
    observed: Any
    expected: Any
    squared: Any


def _totals(source: ScoreSums | Source, notion: Notion | None = None, r: int | None = None) -> Totals:
    sums = event_sums(source, notion, r)
    if sums is not None:
        return _of_sums(sums)
    points = one_stratum(count_points(source, notion=notion, r=r), "the observed/expected ratio")  # type: ignore[arg-type]
    p = points.score
    squared = np.sum(points.w2y * (1 - p) ** 2 + (points.w2 - points.w2y) * p**2, axis=-1)
    return Totals(points.total, points.w2.sum(axis=-1), points.wy.sum(axis=-1), (points.w * p).sum(axis=-1), squared)


def _of_sums(sums: ScoreSums) -> Totals:
    if sums.kind == "binary":
        return Totals(sums.w, sums.w2, sums.wy[..., 0], sums.wp[..., 0], sums.w2_squared)
    if sums.kind == "multiclass":
        return Totals(sums.w, sums.w2, sums.correct, sums.confidence, sums.w2_squared)
    raise UndefinedError("the observed/expected ratio is defined for one outcome: pass the column of one label")


def _ratio(totals: Totals, level: float = 0.95) -> Estimate:
    if np.any(np.asarray(totals.expected) <= 0):
        raise UndefinedError("the observed/expected ratio needs a score above 0: all scores are 0")
    with np.errstate(over="ignore"):
        values = np.asarray(totals.observed / totals.expected)
    if np.isinf(values).any():
        raise UndefinedError("the observed/expected ratio overflows: all scores are nearly 0")
    if values.ndim:
        return values  # type: ignore[return-value] # an array, for replicates
    value = float(values)
    if value <= 0:
        bound = -math.log((1 - level) / 2) / float(totals.expected * (totals.w / totals.w2))
        return Estimate(0.0, 0.0, bound, level, "poisson")
    error = normal_quantile(level) * math.sqrt(totals.squared) / float(totals.observed)
    with np.errstate(over="ignore"):  # a standard error of hundreds has an infinite upper end
        return Estimate(value, value * math.exp(-error), float(value * np.exp(error)), level, "log")


def _interval_without_events(
    source: Any, level: float, options: Mapping[str, Any], cluster: Ints | None
) -> Estimate | None:
    """Return the interval of a ratio of 0, which does not vary when rows are resampled; None for any other ratio."""
    asked = {name: options[name] for name in ("notion", "r") if name in options}
    found = _ratio(_totals(source, **asked), level)
    if found.value > 0:
        return None
    if cluster is None or not isinstance(source, Predictions):
        return found
    # In the worst case all rows of a cluster have the same outcome, and then each cluster counts once.
    w = np.ones(len(source)) if source.weights is None else source.weights
    by_cluster = np.bincount(cluster, w)
    fewer = float(np.sum(by_cluster**2) / np.sum(w**2))
    return replace(found, high=found.high * fewer)


@metric(
    alias="oe",
    counts=_totals,
    says=_ratio,
    interval=_interval_without_events,
    needs="sums",
    sums=SumFacts(of_predicted=True),
    of="confidence",
    high=math.inf,
    best=1.0,
    kinds=("binary", "multiclass"),
    reference="Steyerberg 2019",
)
def observed_expected_ratio(
    predictions: Any,
    actuals: Any = None,
    *,
    level: float = 0.95,
    notion: Notion | None = None,
    r: int | None = None,
    sample_weight: Any = None,
) -> Estimate:
    r"""Observed number of events divided by the number expected from the scores.

    .. math:: \frac{O}{E} = \frac{\sum_i w_i y_i}{\sum_i w_i p_i}

    Above 1 the scores are too low overall, below 1 too high; in [0, inf), 1 is best. For a matrix, it is the accuracy
    of the predicted class divided by the mean confidence. Undefined if all scores are 0, or so small that the ratio
    overflows.

    The interval is symmetric on the log scale, with standard error sqrt(sum w^2 (y - p)^2) / sum w y. Without events it
    runs from 0 to the largest ratio at which a Poisson number of events is 0 with probability (1 - level) / 2, that is
    to -log((1 - level) / 2) / E; with weights, E (sum w) / (sum w^2) replaces E.

    From `ScoreSums` of a matrix, the interval is too wide, because they hold the squared residuals of all classes and
    not of the predicted class alone.

    Parameters
    ----------
    level : float
        Confidence level of the interval.
    notion, r
        For a matrix: which pairs of score and outcome to use, "confidence" by default. Notions that keep classes or
        ranks apart are refused.

    References
    ----------
    Steyerberg (2019), Clinical Prediction Models; Debray et al. (2017), BMJ.

    Examples
    --------
    >>> ratio = observed_expected_ratio([0.2, 0.4, 0.6, 0.8], [0, 1, 1, 1])
    >>> ratio.value, round(ratio.low, 4), round(ratio.high, 4)
    (1.5, 0.9043, 2.4881)
    """
    _check.level(level)
    return _ratio(_totals(sums_or_source(predictions, actuals, sample_weight), notion, r), level)
