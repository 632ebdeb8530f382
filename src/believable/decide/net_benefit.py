"""Net benefit: compare acting on the scores with treating everyone and treating no one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from believable import _check
from believable._check import generator, renamed
from believable._types import Array, Float64s, Ints
from believable.decide.confidence import central, resampled_sums
from believable.decide.precision import Kept, lower_bound
from believable.errors import InputError
from believable.inference.clusters import cluster_of_rows
from believable.predictions import Predictions, as_predictions

DEFAULT_THRESHOLDS = np.arange(1, 100) / 100
ZERO_GAIN_TOLERANCE = 1e-12
MAX_STRETCHES_NAMED = 3


@dataclass(frozen=True, slots=True, eq=False)
class DecisionCurve:
    """Net benefit at every threshold, beside treating everyone and treating no one (which is 0).

    Attributes
    ----------
    threshold : ndarray
        Treat where the score is at least this.
    net_benefit, low, high : ndarray
        Net benefit of the model per row, with the ends of an interval at each threshold.
    treat_all : ndarray
        Net benefit of treating everyone.
    gain, gain_low, gain_high : ndarray
        Net benefit of the model minus that of the better of treating everyone and no one, max(treat_all, 0).
    treated : ndarray
        Share of the rows that the model treats.
    prevalence : float
        Observed rate of the event.
    n : int
        The number of rows.
    level : float
        Confidence level of the intervals.
    """

    threshold: Float64s
    net_benefit: Float64s
    low: Float64s
    high: Float64s
    treat_all: Float64s
    gain: Float64s
    gain_low: Float64s
    gain_high: Float64s
    treated: Float64s
    prevalence: float
    n: int
    level: float

    @property
    def standardised(self) -> Float64s:
        """Net benefit divided by its maximum, the prevalence; NaN if the event never occurred."""
        return self.net_benefit / (self.prevalence or np.nan)

    @property
    def useful(self) -> tuple[tuple[float, float], ...]:
        """The first and last threshold of each range where the model beats both alternatives in these data."""
        return _stretches(self.threshold, self.gain > 0)

    @property
    def surely_useful(self) -> tuple[tuple[float, float], ...]:
        """The first and last threshold of each range where the interval of the gain lies above 0."""
        return _stretches(self.threshold, self.gain_low > 0)

    def __str__(self) -> str:
        if not self.useful:
            return "At no threshold does the model beat both treating everyone and treating no one."
        sure = f"at {_spans(self.surely_useful)}" if self.surely_useful else "at no threshold"
        return (
            f"The model beats treating everyone and treating no one at thresholds {_spans(self.useful)}. The "
            f"{100 * self.level:.4g} % interval of its gain lies above 0 {sure}. "
            f"Observed rate: {100 * self.prevalence:.3g} % of {self.n:,} rows."
        )

    __repr__ = __str__


@renamed(groups="clusters")
def net_benefit(
    predictions: Any,
    actuals: Any = None,
    *,
    thresholds: Any = None,
    clusters: Any = None,
    level: float = 0.95,
    n_resamples: int = 1000,
    random_state: Any = None,
    sample_weight: Any = None,
) -> DecisionCurve:
    """Compute the decision curve: the net benefit of treating rows with a score of at least t, for each t.

    NB(t) = TP / n - FP / n * t / (1 - t), with TP and FP the treated rows with and without the event. Treating from a
    probability of t means that one missed case is as bad as (1 - t) / t unnecessary treatments. So t is a statement
    about costs, and the net benefit is in units of cases found per row. Treating no one has net benefit 0, treating
    everyone prevalence - (1 - prevalence) * t / (1 - t). At t = 0 treatment costs nothing, everyone is treated, and the
    net benefit is the prevalence. At t = 1 an unnecessary treatment would cost infinitely much, so thresholds must lie
    below 1. The largest possible net benefit is the prevalence; the standardised net benefit is the share of it.

    Parameters
    ----------
    predictions : array-like of shape (n,), or Predictions
        P(y = 1); of a matrix with two columns, the second.
    actuals : array-like of shape (n,)
        Outcomes or class numbers.
    thresholds : array-like, optional
        Thresholds in [0, 1); by default 0.01, 0.02, …, 0.99. Look at those that make sense in your field; do not choose
        them from the data.
    clusters : array-like of shape (n,), optional
        The cluster of each row; clusters are resampled as a whole.
    level : float
        Confidence level of the intervals at each threshold. They come from the bootstrap or, where that is wider, from
        the Clopper–Pearson interval of the rate among rows treated (and not treated): ten treated rows without a
        mistake do not show that mistakes are impossible. Where no row (or every row) is treated, the share of rows that
        would be (or would not be) may still be a few in n, with any rate.
    n_resamples : int
        Number of resampled data sets.
    random_state : None, int or numpy Generator
        Random seed, for reproducible results.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    Returns
    -------
    DecisionCurve

    References
    ----------
    Vickers, Elkin (2006), Medical Decision Making. Kerr, Brown, Zhu, Janes (2016), Journal of Clinical Oncology, for
    the standardised one.

    Examples
    --------
    >>> found = net_benefit([0.1, 0.3, 0.6, 0.9], [0, 0, 1, 1], thresholds=[0, 0.2, 0.5], random_state=0)
    >>> found.net_benefit.tolist(), found.treat_all.tolist()
    ([0.5, 0.4375, 0.5], [0.5, 0.375, 0.0])
    >>> found.useful
    ((0.2, 0.5),)
    """
    _check.level(level)
    n_resamples = _check.positive_integer(n_resamples, "n_resamples", 100)
    rng = generator(random_state)
    source = as_predictions(predictions, actuals, sample_weight)
    score, outcome = _one_event(source)
    cluster = cluster_of_rows(clusters, predictions, source, sample_weight)
    t = _checked(thresholds)
    weight = np.ones(len(source)) if source.weights is None else source.weights.astype(np.float64)

    # Cell j holds the rows treated at exactly the first j thresholds, which are rounded to the type of the scores.
    cell = np.searchsorted(t.astype(score.dtype), score, side="right")
    columns = [weight * outcome, weight * (1 - outcome)]
    sums = [np.bincount(cell, values, len(t) + 1).astype(np.float64) for values in columns]
    model, everyone, treated = _benefits(sums, t)
    drawn_model, drawn_all, _ = _benefits(resampled_sums(columns, cell, len(t) + 1, cluster, n_resamples, rng), t)
    low, high = central(drawn_model, level)
    gain_low, gain_high = central(drawn_model - np.maximum(drawn_all, 0), level)
    edges = t.astype(score.dtype).astype(np.float64)
    above, below = (Kept.of(s, y, source.weights, cluster) for s, y in ((score, outcome), (-score, 1 - outcome)))
    over_none = _exact_ends(above, np.searchsorted(-above.cut, -edges, side="right"), t, t, level)
    over_all = _exact_ends(below, np.searchsorted(-below.cut, edges, side="left"), 1 - t, t, level)
    gain = model - np.maximum(everyone, 0)
    return DecisionCurve(
        threshold=t,
        net_benefit=model,
        low=np.minimum(low, over_none[0]),
        high=np.maximum(high, over_none[1]),
        treat_all=everyone,
        gain=np.where(np.abs(gain) < ZERO_GAIN_TOLERANCE, 0, gain),
        gain_low=np.minimum(gain_low, np.minimum(over_none[0], over_all[0])),
        gain_high=np.maximum(gain_high, np.minimum(over_none[1], over_all[1])),
        treated=treated,
        prevalence=float(sums[0].sum() / (sums[0].sum() + sums[1].sum())),
        n=len(source),
        level=level,
    )


def _benefits(sums: list[Float64s], t: Float64s) -> tuple[Float64s, Float64s, Float64s]:
    """Return the net benefit of the model and of treating all, and the share treated, from sums in cells (last axis).

    The sums are of events and of non-events.
    """
    hits, misses = sums
    n = (hits + misses).sum(axis=-1, keepdims=True)
    odds = t / (1 - t)
    tp, fp = (np.cumsum(part[..., ::-1], axis=-1)[..., ::-1][..., 1:] / n for part in (hits, misses))
    cases = hits.sum(axis=-1, keepdims=True) / n
    return tp - fp * odds, cases - (1 - cases) * odds, tp + fp


def _exact_ends(kept: Kept, n_cuts: Ints, target: Float64s, t: Float64s, level: float) -> tuple[Float64s, Float64s]:
    """Return the ends of q (rate - target) / (1 - t), with q the share of rows that the first thresholds keep.

    This is the gain over treating no one if the treated rows are kept, rate is that of events and the target is t. It
    is the gain over treating everyone if the untreated rows are kept, rate is that of non-events and the target is
    1 - t. The ends are those of the rate, by Clopper and Pearson: resampling rows without a mistake never shows one.
    Where no rows are kept, q is at most the share that would show no row in as many with probability (1 - level) / 2,
    and the rate may be anything.
    """
    at, some = np.maximum(n_cuts - 1, 0), n_cuts > 0
    rate, n, tail = kept.rate[at], kept.effective[at], (1 + level) / 2
    unseen = np.where(target < 1, 1 - (1 - tail) ** (1 / kept.independent[-1]), 0)  # at t = 0 every row is treated
    share = np.where(some, kept.w[at] / kept.w[-1], unseen)
    least, most = np.where(some, lower_bound(rate, n, tail), 0), np.where(some, 1 - lower_bound(1 - rate, n, tail), 1)
    return share * (least - target) / (1 - t), share * (most - target) / (1 - t)


def _one_event(source: Predictions) -> tuple[Array, Float64s]:
    if source.kind == "multilabel" or source.n_classes > 2:
        raise InputError(
            f"net_benefit is about one event, these are {source.n_classes} classes: pass the column of one class and "
            "whether that class occurred"
        )
    score, outcome, *_ = source.all_pairs(source.view("binary"))
    return score, outcome.astype(np.float64)


def _checked(thresholds: Any) -> Float64s:
    """Return distinct thresholds in [0, 1), sorted."""
    if thresholds is None:
        return DEFAULT_THRESHOLDS
    found = np.unique(_check.numeric(np.atleast_1d(np.asarray(thresholds)), "thresholds").astype(np.float64))
    if found.size == 0:
        raise InputError("{argument} are empty: pass at least one", argument="thresholds")
    if not np.all((found >= 0) & (found < 1)):
        bad = found[~((found >= 0) & (found < 1))][0]
        raise InputError(
            "{argument} must lie in [0, 1), got {got:g}; at 1 an unnecessary treatment would cost infinitely much",
            argument="thresholds",
            got=bad,
        )
    return found


def _stretches(threshold: Float64s, where: Array) -> tuple[tuple[float, float], ...]:
    ends = np.flatnonzero(np.diff(np.concatenate([[False], where, [False]]).astype(np.int8)))
    return tuple((float(threshold[a]), float(threshold[b - 1])) for a, b in zip(ends[::2], ends[1::2], strict=True))


def _spans(stretches: tuple[tuple[float, float], ...]) -> str:
    """Return the longest ranges in words, in ascending order."""
    longest = sorted(sorted(stretches, key=lambda ends: ends[0] - ends[1])[:MAX_STRETCHES_NAMED])
    words = [f"{a:g}" if a == b else f"{a:g} to {b:g}" for a, b in longest]
    if len(stretches) > len(longest):
        words.append(f"{len(stretches) - len(longest)} shorter ranges")
    return ", ".join(words[:-1]) + " and " + words[-1] if len(words) > 1 else words[0]
