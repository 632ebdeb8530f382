"""Calibration decision loss: what the worst decision task loses by taking the scores at face value."""

from __future__ import annotations

from typing import Any

import numpy as np

from believable._types import Array, Bins, Float64s, Notion, Strategy
from believable.metrics.table import metric
from believable.stats import BinStats
from believable.stats.source import TEN, UNIFORM, BinsAsked, as_number, count_asked, count_bins, not_empty, source_of


def _loss(stats: BinStats) -> float:
    not_empty(stats)
    w, conf, acc = np.broadcast_arrays(stats.w, stats.conf, stats.acc)
    strata = [stats.stratum == g for g in np.unique(stats.stratum)]
    weights = [w[..., here].sum(axis=-1) for here in strata]
    losses = [largest_loss(w[..., here], conf[..., here], acc[..., here]) for here in strata]
    total = sum(weight * loss for weight, loss in zip(weights, losses, strict=True))
    mean: float = as_number(total / sum(weights))
    return mean


def largest_loss(w: Float64s, conf: Float64s, acc: Float64s) -> Array:
    """Return 2 R(1/2), with R the least concave function that is nowhere below the regrets, along the last axis.

    Between the scores the regret is convex in the threshold, so that it touches R only at scores, 0 and 1.
    """
    regret = regrets(w / w.sum(axis=-1, keepdims=True), conf, acc)
    end = np.zeros((*conf.shape[:-1], 1))
    at = np.concatenate([end, conf, end + 1], axis=-1)
    height = np.concatenate([end, regret, end], axis=-1)
    best = np.zeros(conf.shape[:-1])
    for i in range(at.shape[-1]):  # every line from a point at or below 1/2 to one at or above it
        before, after = 0.5 - at[..., i, None], at - 0.5
        width = before + after
        across = (before >= 0) & (after >= 0) & (width > 0)
        line = height[..., i, None] * after + height * before
        found = np.divide(line, width, out=np.zeros(line.shape), where=across).max(axis=-1)
        best = np.maximum(best, np.where(before[..., 0] == 0, np.maximum(found, height[..., i]), found))
    return np.asarray(np.minimum(2 * best, 1))


def regrets(share: Float64s, conf: Float64s, acc: Float64s) -> Float64s:
    """Return the regret of acting at each score as a threshold, just above or just below it, whichever is larger."""
    regret = np.empty(conf.shape)
    for i in range(conf.shape[-1]):
        threshold = conf[..., i, None]
        missed, false = share * np.maximum(acc - threshold, 0), share * np.maximum(threshold - acc, 0)
        above = np.where(conf <= threshold, missed, false).sum(axis=-1)
        below = np.where(conf < threshold, missed, false).sum(axis=-1)
        regret[..., i] = np.maximum(above, below)
    return regret


@metric(
    alias="cdl",
    counts=count_bins,
    says=_loss,
    needs="bins",
    bins="uniform",
    of="confidence",
    power=1,
    proportional=False,
    reference="Hu and Wu 2024",
)
def calibration_decision_loss(
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
) -> float:
    r"""Largest payoff that any decision task loses by taking the scores at face value.

    .. math:: \sup_U \sum_c \frac{W_c}{T} \left[ U(b_c, \mathrm{acc}_c) - U(a_c, \mathrm{acc}_c) \right]

    over all decision tasks whose payoff U(a, y) for action a and outcome y lies in [0, 1], with U(a, q) its expectation
    at probability q, b_c the best action at the event rate of bin c, and a_c the action that would be best if the mean
    score of the bin were its event rate. So no decision maker gains more than this by recalibrating the bins, and one
    gains exactly this. In [0, 1], 0 is best.

    It is computed exactly. A task with two actions and threshold t, where acting gains y - t, loses R(t): the sum of
    W_c/T `|acc_c - t|` over the bins for which t lies between conf_c and acc_c. Every task is a mixture of such tasks,
    and payoffs in [0, 1] allow any mixture of weights m(t) with sum m(t) t <= 1 and sum m(t) (1 - t) <= 1. The best
    mixture has at most two thresholds, and its loss is twice the value at 1/2 of the least concave function that is
    nowhere below R.

    At most twice the ECE of the same bins. Like the ECE it depends on the bins and is inflated by noise: compare it
    with its noise floor. If the notion keeps classes or ranks apart, the result is their weighted mean.

    Parameters are those of `expected_calibration_error`.

    References
    ----------
    Hu, Wu (2024), FOCS; also called "Calibration Error for Decision Making".

    Examples
    --------
    >>> scores, outcomes = [0.2, 0.2, 0.8, 0.8], [0, 1, 1, 1]
    >>> round(calibration_decision_loss(scores, outcomes), 12)
    0.25
    """
    source = source_of(predictions, actuals, sample_weight)
    return _loss(count_asked(source, BinsAsked(n_bins, strategy, notion, r, threshold, pooled, edges)))
