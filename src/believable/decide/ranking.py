"""Rankings that count the uncertainty of a score against it, or in its favour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from believable import _check
from believable._arrays import as_numpy
from believable._check import renamed
from believable._types import Float64s, Int64s, Ints
from believable.decide.confidence import interval_ends
from believable.errors import InputError
from believable.predictions import Predictions


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Rows ranked by score and uncertainty.

    Attributes
    ----------
    order : ndarray of int
        Row numbers, best first; with clusters, query by query, in order of first appearance.
    adjusted : ndarray
        The adjusted score of each row, which it was ranked by.
    rank, plain_rank : ndarray of int
        The rank of each row, from 1 (within its query), in this ranking and in that of the scores alone.
    scores, low, high : ndarray
        The given scores, and the ends of their intervals, or one standard deviation on either side.
    query : ndarray of int
        The number of each row's query, from 0 in order of first appearance; all 0 without clusters.
    aversion : float
        The aversion to risk.
    by : {"interval", "standard deviation"}
        The measure of uncertainty.
    """

    order: Ints
    adjusted: Float64s
    rank: Int64s
    plain_rank: Int64s
    scores: Float64s
    low: Float64s
    high: Float64s
    query: Ints
    aversion: float
    by: str

    def __len__(self) -> int:
        return len(self.order)

    def __str__(self) -> str:
        first = int(np.count_nonzero((self.rank == 1) & (self.plain_rank > 1)))
        moved = int(np.count_nonzero(self.rank != self.plain_rank))
        queries = int(self.query.max()) + 1
        where = f" in {queries:,} queries" if queries > 1 else ""
        changed = (
            f"the top row changes in {first:,} queries"
            if queries > 1
            else ("the top row changes" if first else "the top row stays the same")
        )
        return (
            f"{len(self):,} rows{where} ranked by score and {self.by}, aversion {self.aversion:g}: {moved:,} rows "
            f"change rank, and {changed}."
        )

    __repr__ = __str__


@renamed(groups="clusters")
def risk_aware_rank(
    predictions: Any,
    *,
    variance: Any = None,
    interval: Any = None,
    aversion: float = 1.0,
    clusters: Any = None,
) -> Ranking:
    """Rank rows by their score minus a penalty for its uncertainty.

    With a variance v the adjusted score is s - a sqrt(v), with a the aversion to risk. With an interval [l, h] around
    the score it is s - a (s - l): a = 1 ranks by the lower end, 0 < a < 1 by a point between, a > 1 by a point below.
    a = 0 is the plain ranking by score. A negative aversion explores, as upper confidence bounds do: uncertain rows are
    raised to `s + |a| sqrt(v)` or `s + |a| (h - s)`, so that they are shown and feedback on them is collected. The
    highest adjusted score comes first; ties keep their given order.

    Parameters
    ----------
    predictions : array-like of shape (n,) or Predictions
        Scores, higher is better. They need not be probabilities.
    variance : array-like of shape (n,), optional
        The variance of each score, for example over the members of an ensemble. Not the variance of the outcome, which
        is p (1 - p) and adds nothing.
    interval : tuple (low, high) or array-like of shape (n, 2), optional
        The ends for each score, for example from `believable.recalibrate.VennAbers.predict_interval`; the scores are
        then its `transform`. Pass exactly one of variance and interval.
    aversion : float
        How much uncertainty counts against a row.
    clusters : array-like of shape (n,), optional
        The query of each row: rows are ranked within queries.

    Returns
    -------
    Ranking

    References
    ----------
    Zhu, Wang, Cox & Taylor (2009), Risky business: modeling and exploiting uncertainty in information retrieval, SIGIR.
    Auer, Cesa-Bianchi & Fischer (2002), Finite-time analysis of the multiarmed bandit problem, Machine Learning, for
    upper confidence bounds.

    Examples
    --------
    >>> found = risk_aware_rank([0.9, 0.8, 0.5], interval=([0.4, 0.7, 0.45], [1.0, 0.9, 0.55]))
    >>> found.order, found.rank
    (array([1, 2, 0]), array([3, 1, 2]))
    >>> risk_aware_rank([0.9, 0.8, 0.5], variance=[0.0, 0.04, 0.0], aversion=-1).order
    array([1, 0, 2])
    """
    scores = _scores_to_rank(predictions)
    aversion = _check.number(aversion, "aversion")
    if (variance is None) == (interval is None):
        raise InputError("pass exactly one of variance and interval, the uncertainty of each score")
    if interval is not None:
        low, high = interval_ends(interval, scores)
        end, by = (low if aversion >= 0 else high), "interval"
        # Not s - a (s - l), which rounds: rows with equal lower ends would no longer be tied.
        adjusted = (1 - abs(aversion)) * scores + abs(aversion) * end
    else:
        deviation, by = np.sqrt(_variances(variance, len(scores))), "standard deviation"
        low, high = scores - deviation, scores + deviation
        adjusted = scores - aversion * deviation
    query = np.zeros(len(scores), np.intp) if clusters is None else _queries(clusters, len(scores))
    order, rank = _ranked(adjusted, query)
    return Ranking(order, adjusted, rank, _ranked(scores, query)[1], scores, low, high, query, aversion, by)


def _ranked(values: Float64s, query: Ints) -> tuple[Ints, Int64s]:
    """Return rows by query and descending value, and the rank of each row in its query."""
    order = np.lexsort((-values, query))  # a stable sort
    sizes = np.bincount(query)
    place = np.arange(len(values)) - np.repeat(np.cumsum(sizes, dtype=np.intp) - sizes, sizes)
    rank = np.empty(len(values), np.int64)
    rank[order] = place + 1
    return order, rank


def _scores_to_rank(predictions: Any) -> Float64s:
    given = predictions.scores if isinstance(predictions, Predictions) else _check.numeric(predictions, "predictions")
    if given.ndim != 1:
        raise InputError(f"ranking needs one score per row, got shape {given.shape}: pass the column of one class")
    if not len(given):
        raise InputError("{argument} are empty: there is nothing to rank", argument="predictions")
    _check.finite(given, "predictions", None)
    return given.astype(np.float64)


def _variances(variance: Any, n: int) -> Float64s:
    values = _check.numeric(variance, "variance").astype(np.float64)
    if values.shape != (n,):
        raise InputError(
            "{argument} must be one number per row, {n} of them, got shape {got}",
            argument="variance",
            n=n,
            got=values.shape,
        )
    _check.finite(values, "variance", None)
    negative = np.flatnonzero(values < 0)
    if len(negative):
        raise InputError(
            "{argument} must not be negative, got {got:g} at {row}",
            argument="variance",
            got=values[negative[0]],
            row=negative[0],
        )
    return values


def _queries(clusters: Any, n: int) -> Ints:
    """Return the number of each row's query, in order of first appearance."""
    names = as_numpy(clusters, "clusters")
    if names.shape != (n,):
        raise InputError(
            "{argument} must name one query per row, {n} of them, got shape {got}",
            argument="clusters",
            n=n,
            got=names.shape,
        )
    missing = [i for i, name in enumerate(names.tolist()) if name is None or name != name]
    if missing:
        raise InputError(
            "{argument} must name a query in every row; it is missing at {row}", argument="clusters", row=missing[0]
        )
    names = names.astype(str) if names.dtype == object else names
    _, first, number = np.unique(names, return_index=True, return_inverse=True)
    place = np.empty(len(first), np.intp)
    place[np.argsort(first)] = np.arange(len(first))
    return np.asarray(place[number])
