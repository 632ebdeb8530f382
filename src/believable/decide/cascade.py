"""Cascades: a fast model answers where it is confident, a slow one (or a person) answers the rest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from believable import _check
from believable._arrays import as_numpy
from believable._check import generator, renamed
from believable._types import Array, Float64s, Ints
from believable.decide.confidence import (
    answer,
    checked_scores,
    confidence,
    equalled_confidence,
    mistakes,
    rounded,
    share_wrong,
)
from believable.decide.costs import CascadeRows, CostCurve, Prices
from believable.errors import InputError
from believable.inference.clusters import cluster_of_rows
from believable.inference.compare import mean_of_rows
from believable.inference.interval import Interval
from believable.predictions import Predictions, as_predictions
from believable.predictions.view import MIXED_PAIRS, PAIRS_ARE_1D

MAX_COST = 1e100  # the highest cost allowed, so that sums over rows stay finite


@dataclass(frozen=True, slots=True, eq=False)
class Cascade:
    """A threshold on the confidence of a fast model: rows at or below it go to a slow one.

    Attributes
    ----------
    cut : float
        Rows with a confidence of at most this go to the slow model; the first of `curve.cut` (0, or -1 if a stated
        confidence is 0) routes none.
    cost : float
        Mean cost per row with that threshold, on the rows that it was chosen on.
    cost_fast_only, cost_slow_only : float
        Mean cost per row if one model answers every row. With the slow model alone, the fast one is not run.
    routed : float
        Share of the rows that go to the slow model.
    error : float
        Error rate of the cascade.
    fast_error, slow_error : float
        Error rate of each model on all rows.
    kept_error, routed_error : float
        Error rate of the fast model on the rows it keeps, and of the slow model on the rows routed to it; NaN where
        there are none.
    theoretical_cut : float
        The best threshold if the scores are calibrated: 1 - slow_error - cost_slow / cost_error, at least 0.
    theoretical_cost : float
        The mean cost per row of that threshold on these rows.
    fresh_cost : float
        Mean cost per row by cross-fitting: each row is routed by a threshold chosen on other rows.
    saving : Interval
        The cost of the cheaper single model minus `fresh_cost`, with its interval.
    cheaper : {"fast", "slow"}
        The cheaper of the two single models.
    prices : Prices
        Cost of running the fast model, of running the slow one, and of an error.
    n : int
        The number of rows.
    curve : CostCurve
        The cost at every threshold.
    are_pairs : bool
        Whether the scores are confidences in answers, so that `route` reads new 1-D scores as such.
    """

    cut: float
    cost: float
    cost_fast_only: float
    cost_slow_only: float
    routed: float
    error: float
    fast_error: float
    slow_error: float
    kept_error: float
    routed_error: float
    theoretical_cut: float
    theoretical_cost: float
    fresh_cost: float
    saving: Interval
    cheaper: Literal["fast", "slow"]
    prices: Prices
    n: int
    curve: CostCurve
    are_pairs: bool = False

    @property
    def pays(self) -> bool:
        """Whether the interval of the saving lies above 0."""
        return self.saving.low > 0

    def route(self, predictions: Any) -> Array:
        """Return which rows go to the slow model: True where the confidence is at most the threshold.

        Parameters
        ----------
        predictions : array-like of shape (n,) or (n, K)
            New predictions of the fast model.

        Returns
        -------
        ndarray of bool
        """
        scores = checked_scores(predictions)
        if isinstance(predictions, Predictions) and predictions.are_pairs != self.are_pairs:
            raise InputError(MIXED_PAIRS)
        if self.are_pairs and scores.ndim == 2:
            raise InputError(PAIRS_ARE_1D, argument="pairs")
        sure = confidence(scores, self.are_pairs)
        cut = np.asarray(self.cut, sure.dtype)  # rounded to the type of the scores, as bin edges are
        if not self.are_pairs and (scores.ndim == 1 or scores.shape[1] == 2):
            sure, cut = rounded(sure, scores), rounded(cut, scores)
        return np.asarray(sure <= cut)

    def lines(self) -> list[str]:
        """Return the result as sentences."""
        alone = (
            f"{self.cost_fast_only:.4g} with the fast model alone, {self.cost_slow_only:.4g} with the slow one alone"
        )
        cost = f"The cost is {self.cost:.4g} per row ({alone})."
        if self.routed == 0:
            first = f"Route no rows: the fast model answers all of them. {cost}"
        else:
            share = f"the {_percent(self.routed)} of rows with a confidence of at most {self.cut:.4g}"
            first = f"Route {share} to the slow model. {cost}"
        ends = f"{100 * self.saving.level:.4g} % interval {self.saving.low:+.4g} to {self.saving.high:+.4g}"
        saved = f"a saving of {self.saving.value:+.4g} over the {self.cheaper} model alone ({ends})"
        says = f"On rows not used to choose the threshold it costs {self.fresh_cost:.4g} per row, {saved}."
        if self.pays:
            second = f"The cascade pays off. {says}"
        elif self.saving.high < 0:
            second = f"The cascade does not pay off: use the {self.cheaper} model alone. {says}"
        else:
            second = f"These rows do not show whether the cascade pays off. {says}"
        errors = f"Its error rate is {_percent(self.error)}"
        if 0 < self.routed < 1:
            errors += f" ({_percent(self.kept_error)} on rows kept, {_percent(self.routed_error)} on rows routed)"
        third = f"{errors}; fast model alone {_percent(self.fast_error)}, slow model alone {_percent(self.slow_error)}."
        fourth = (
            f"If the scores were calibrated, the best threshold would be {self.theoretical_cut:.4g}; on these rows, "
            f"that threshold costs {self.theoretical_cost:.4g} per row."
        )
        return [first, second, third, fourth]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__


@renamed(groups="clusters")
def cascade(
    predictions: Any,
    actuals: Any = None,
    *,
    cost_fast: float,
    cost_slow: float,
    cost_error: float = 1.0,
    slow: Any = None,
    slow_error: float = 0.0,
    cv: int = 5,
    pairs: bool = False,
    clusters: Any = None,
    level: float = 0.95,
    random_state: Any = 0,
    sample_weight: Any = None,
) -> Cascade:
    """Choose when a fast model answers and when rows go to a slow one, at the lowest expected cost.

    The fast model is run on every row. Where its confidence c, max(p, 1 - p) or the largest probability of a row, is at
    most a threshold t, the slow model is run too, and its answer is used. The mean cost per row is

        C(t) = cost_fast + mean of (cost_slow + cost_error * slow is wrong  where c <= t,
                                    cost_error * fast is wrong              elsewhere).

    The threshold is the confidence at which this is lowest on the given rows, or 0, which routes none; in ties, the
    lowest. Rows of equal confidence (0.93 and 1 - 0.07 are equal) go the same way. For comparison, the fast model alone
    costs C(0), and the slow model alone cost_slow + cost_error * (its error rate). The latter is less than routing all
    rows, because the fast model is not run.

    If the scores are calibrated, no data are needed: a row with confidence c is wrong with probability 1 - c, so
    routing it pays off when (1 - c) cost_error > cost_slow + slow_error * cost_error, and the threshold is
    1 - slow_error - cost_slow / cost_error. It is reported beside the threshold from the data. With an over-confident
    model it routes too few rows. (It assumes that the slow model is wrong equally often whatever the confidence of the
    fast one.)

    The lowest cost is optimistic, because the threshold is chosen on the rows it is measured on. So the saving is
    cross-fitted: each fold is routed by a threshold chosen on the other folds. The saving over each model alone is a
    mean over rows (over clusters, with `clusters`) with its own interval. The saving over the cheaper model takes the
    smaller of the two values, and the smaller ends, so that choosing the cheaper one afterwards is not optimistic
    either. Standard errors allow for one more error (or one cluster of errors) than observed. In simulations with 100
    to 2,000 rows (`python -m benchmarks.figures cascade`), 95 % intervals contained the true saving of the threshold
    in 91 to 97 % of 200 data sets.

    Parameters
    ----------
    predictions, actuals
        Arrays, or a `Predictions`, of the fast model. One answer per row; soft labels count as fractions of a row.
    cost_fast, cost_slow : float
        The cost of running each model on one row, in the units of `cost_error`; at least 0.
    cost_error : float
        The cost of a wrong answer, from either model.
    slow : array-like or Predictions, optional
        The slow model's predictions for the same rows: probabilities in the shape of the predictions or, for a matrix
        of predictions, the n classes that it (or the person) answers. With `pairs`, whether its answer to each row is
        right (0 or 1), or its own pairs.
    slow_error : float
        The slow model's error rate, where its predictions are not available.
    cv : int
        The number of folds to measure the saving.
    pairs : bool
        The 1-D predictions are confidences in answers, and the outcomes say whether the answer was right, as for
        language models; the same as passing `Predictions(..., pairs=True)`. A wrong answer is then a mistake of the
        fast model at any confidence; without it, 0.2 and wrong counts as a correct "no".
    clusters : array-like of shape (n,), optional
        The cluster of each row. The rows of a cluster stay in one fold, and the interval counts clusters, not rows.
    level : float
        Confidence level of the interval.
    random_state : None, int or numpy Generator
        Random seed for the folds. Pass an integer for reproducible results.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    Returns
    -------
    Cascade

    References
    ----------
    Chow (1970), On optimum recognition error and reject tradeoff, IEEE Transactions on Information Theory, for the
    rule; Viola & Jones (2001), Rapid object detection using a boosted cascade of simple features, for cascades.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(4000)
    >>> found = cascade(p, rng.random(4000) < p, cost_fast=0.01, cost_slow=0.2)
    >>> bool(0.7 < found.cut < 0.9), round(found.theoretical_cut, 12), found.pays
    (True, 0.8, True)
    >>> found.route([0.05, 0.4, 0.99])
    array([False,  True, False])
    """
    prices = Prices(
        _check.number(cost_fast, "cost_fast", 0, MAX_COST),
        _check.number(cost_slow, "cost_slow", 0, MAX_COST),
        _check.number(cost_error, "cost_error", 0, MAX_COST),
    )
    if prices.error == 0:
        raise InputError(
            "{argument} must be above 0: if errors cost nothing, there is nothing to decide", argument="cost_error"
        )
    slow_error = _check.number(slow_error, "slow_error", 0, 1)
    n_folds = _check.positive_integer(cv, "cv", 2)
    _check.level(level)
    source = as_predictions(predictions, actuals, sample_weight, pairs=pairs)
    if source.kind == "multilabel":
        raise InputError("a cascade needs one answer per row, not multilabel predictions")
    if slow is None:
        slow_wrong = np.full(len(source), slow_error)
    elif slow_error:
        raise InputError("pass either slow or slow_error: the error rate is computed from the predictions")
    elif source.are_pairs:
        slow_wrong = 1 - _slow_was_right(slow, predictions, source, sample_weight)
    else:
        slow_wrong = share_wrong(_answers_of_slow(slow, predictions, source, sample_weight), source.labels)
    rows = CascadeRows(equalled_confidence(source, np.maximum), mistakes(source), slow_wrong, source.weights)
    cluster = cluster_of_rows(clusters, predictions, source, sample_weight)
    fresh_cost, saving = _saving(rows, prices, cluster, n_folds, level, generator(random_state))
    return replace(_result(rows, prices, fresh_cost, saving), are_pairs=source.are_pairs)


def _saving(
    rows: CascadeRows, prices: Prices, cluster: Ints | None, n_folds: int, level: float, rng: np.random.Generator
) -> tuple[float, Interval]:
    """Return the cross-fitted cost per row, and the saving over the cheaper single model."""
    from scipy.special import stdtrit

    unit = np.arange(len(rows.sure)) if cluster is None else cluster
    n_units = int(unit.max()) + 1
    if n_units < n_folds:
        what = "rows" if cluster is None else "clusters of rows"
        raise InputError(f"the saving is measured in cv={n_folds} folds, but there are only {n_units} {what}")
    fold = (rng.permutation(n_units) % n_folds)[unit]
    cost = np.empty(len(unit))
    for k in range(n_folds):
        curve = rows.take(fold != k).curve(prices)
        cost[fold == k] = rows.take(fold == k).cascaded(prices, float(curve.cut[curve.cheapest]))
    found = []
    for single in (rows.fast_only(prices), rows.slow_only(prices)):
        value, error, df = mean_of_rows(single - cost, rows.weight, cluster)
        error = float(np.hypot(error, prices.error / n_units))  # errors may be rare: allow for one more
        reach = float(stdtrit(df, (1 + level) / 2)) * error
        found.append((value, value - reach, value + reach))
    value, low, high = (min(each) for each in zip(*found, strict=True))
    return rows.mean(cost), Interval(low, high, level, value, value, "cross-fitted mean")


def _result(rows: CascadeRows, prices: Prices, fresh_cost: float, saving: Interval) -> Cascade:
    curve = rows.curve(prices)
    best = curve.cheapest
    cut, sent = float(curve.cut[best]), rows.sure <= curve.cut[best]
    slow_error = rows.mean(rows.slow_wrong)
    theoretical = 1 - slow_error - prices.slow / prices.error  # below 0, even an answer that is surely wrong is kept
    there = max(int(np.searchsorted(curve.cut, theoretical, side="right")) - 1, 0)
    return Cascade(
        cut=cut,
        cost=float(curve.cost[best]),
        cost_fast_only=rows.mean(rows.fast_only(prices)),
        cost_slow_only=rows.mean(rows.slow_only(prices)),
        routed=float(curve.routed[best]),
        error=float(curve.error[best]),
        fast_error=rows.mean(rows.fast_wrong),
        slow_error=slow_error,
        kept_error=rows.mean(rows.fast_wrong, ~sent) if not sent.all() else float("nan"),
        routed_error=rows.mean(rows.slow_wrong, sent) if sent.any() else float("nan"),
        theoretical_cut=max(theoretical, float(curve.cut[0])),
        theoretical_cost=float(curve.cost[there]),
        fresh_cost=fresh_cost,
        saving=saving,
        cheaper=rows.cheaper(prices),
        prices=prices,
        n=len(rows.sure),
        curve=curve,
    )


def _answers_of_slow(slow: Any, predictions: Any, source: Predictions, sample_weight: Any) -> Array:
    """Return the class that the slow model answers for each row of positive weight."""
    if isinstance(slow, Predictions):
        if slow.are_pairs:
            raise InputError(MIXED_PAIRS)
        if len(slow) != len(source) or not np.array_equal(slow.labels, source.labels):
            raise InputError(
                "{argument} and slow are not for the same rows: their labels differ", argument="predictions"
            )
        values: Array = checked_scores(slow, "slow")
    else:
        values = _entries_of_rows(slow, predictions, source, sample_weight)
        if values.ndim == 1 and source.scores.ndim == 2:
            return _as_classes(values, source)
        values = checked_scores(values, "slow")
    if values.ndim == 2 and values.shape[1] != source.n_classes:
        raise InputError(
            "{argument} has {n_columns} columns, the predictions have {n_classes} classes",
            argument="slow",
            n_columns=values.shape[1],
            n_classes=source.n_classes,
        )
    return answer(values)


def _slow_was_right(slow: Any, predictions: Any, source: Predictions, sample_weight: Any) -> Float64s:
    """Return whether the slow model's answer to each row of positive weight is right; for soft labels, the share."""
    if isinstance(slow, Predictions):
        if not slow.are_pairs:
            raise InputError(MIXED_PAIRS)
        if len(slow) != len(source):
            raise InputError(
                "{argument} must have one entry for each of {n} rows of positive weight, got {got}",
                argument="slow",
                n=len(source),
                got=len(slow),
            )
        return slow.labels.astype(np.float64)
    right = _check.numeric(_entries_of_rows(slow, predictions, source, sample_weight), "slow").astype(np.float64)
    if right.ndim != 1 or not np.isin(right, (0, 1)).all():
        raise InputError(
            "{argument} must say whether each answer is right, 0 or 1, because the predictions are (confidence, "
            "correct) pairs; for confidences too, pass {Predictions}(confidences, correct, pairs=True)",
            argument="slow",
        )
    return right


def _entries_of_rows(slow: Any, predictions: Any, source: Predictions, sample_weight: Any) -> Array:
    """Return the entries of the rows of positive weight, one for each."""
    values = as_numpy(slow, "slow")
    weighed = not isinstance(predictions, Predictions) and sample_weight is not None
    if weighed and values.ndim and len(values) == len(np.asarray(sample_weight)):
        values = values[np.asarray(sample_weight) > 0]
    if values.ndim not in (1, 2) or len(values) != len(source):
        raise InputError(
            "{argument} must have one entry for each of {n} rows of positive weight, got {got}",
            argument="slow",
            n=len(source),
            got=values.shape,
        )
    return values


def _as_classes(values: Array, source: Predictions) -> Ints:
    if source.classes is not None:
        return _check.named_labels(values, source.classes, None)
    if values.dtype.kind == "b" and source.n_classes > 2:
        raise InputError(
            "{argument} is True or False, but there are more than two classes: pass the class that it answers",
            argument="slow",
        )
    numbers = _check.numeric(values, "slow")
    bad = np.flatnonzero(~np.isin(numbers, np.arange(source.n_classes)))
    if len(bad):
        raise InputError(
            "{argument} must be class numbers 0..{last} or one column per class, got {got:g} at {row}",
            argument="slow",
            last=source.n_classes - 1,
            got=numbers[bad[0]],
            row=bad[0],
        )
    return numbers.astype(np.intp)


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
