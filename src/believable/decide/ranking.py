"""Ranking that counts how unsure a score is against it, or in its favour."""

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
    """Rows in a new order.

    Attributes
    ----------
    order : ndarray of int
        Row numbers, best first; with clusters, one query after the other, as they first appear.
    adjusted : ndarray
        The score of each row that it was ranked by, in the order of the rows.
    rank, plain_rank : ndarray of int
        The place of each row from 1 (within its query), in this ranking and in that of the scores alone.
    scores, low, high : ndarray
        The scores as they were given, and the ends of their intervals, or one standard deviation either side.
    query : ndarray of int
        The number of each row's query, from 0 as they first appear; 0 everywhere without clusters.
    aversion : float
    by : {"interval", "standard deviation"}
        What being unsure was measured by.
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
            f"another row comes first in {first:,} of them"
            if queries > 1
            else ("another row comes first" if first else "the first row stays first")
        )
        return (
            f"{len(self):,} rows{where} ranked by score and {self.by}, aversion {self.aversion:g}: {moved:,} change "
            f"their place, and {changed}."
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
    """Rank rows by their score less what being unsure of it may cost.

    With a variance the adjusted score is s - a sqrt(v), a the aversion to risk. With an interval [l, h] around the
    score it is s - a (s - l): a = 1 ranks by the lower end, 0 < a < 1 by a point between, a > 1 goes below it. a = 0 is
    the plain ranking by score. A negative aversion is explorative, as upper confidence bounds are: unsure rows are
    lifted, to `s + |a| sqrt(v)` or `s + |a| (h - s)`, so that they are shown and something is learnt about them.
    Highest adjusted score first; rows with equal ones keep the order they were given in.

    Parameters
    ----------
    predictions : array-like of shape (n,) or Predictions
        Scores, higher is better. They need not be probabilities.
    variance : array-like of shape (n,), optional
        Of each score (over the members of an ensemble, say), not of the outcome: that is p (1 - p), and says nothing
        new.
    interval : tuple (low, high) or array-like of shape (n, 2), optional
        The ends for each score, such as `believable.recalibrate.VennAbers` gives in `predict_interval`; the scores are
        then its `transform`. Exactly one of variance and interval is needed.
    aversion : float
        How much being unsure counts against a row.
    clusters : array-like of shape (n,), optional
        The query of each row: rows are ranked within it.

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
        raise InputError("pass exactly one of variance and interval: how sure is each score?")
    if interval is not None:
        low, high = interval_ends(interval, scores)
        end, by = (low if aversion >= 0 else high), "interval"
        # Not s - a (s - l): that rounds, and rows whose lower ends are equal would no longer be.
        adjusted = (1 - abs(aversion)) * scores + abs(aversion) * end
    else:
        deviation, by = np.sqrt(_variances(variance, len(scores))), "standard deviation"
        low, high = scores - deviation, scores + deviation
        adjusted = scores - aversion * deviation
    query = np.zeros(len(scores), np.intp) if clusters is None else _queries(clusters, len(scores))
    order, rank = _ranked(adjusted, query)
    return Ranking(order, adjusted, rank, _ranked(scores, query)[1], scores, low, high, query, aversion, by)


def _ranked(values: Float64s, query: Ints) -> tuple[Ints, Int64s]:
    """Rows by query and falling value, and the place of each row in its query."""
    order = np.lexsort((-values, query))  # stable
    sizes = np.bincount(query)
    place = np.arange(len(values)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    rank = np.empty(len(values), np.int64)
    rank[order] = place + 1
    return order, rank


def _scores_to_rank(predictions: Any) -> Float64s:
    given = predictions.scores if isinstance(predictions, Predictions) else _check.numeric(predictions, "predictions")
    if given.ndim != 1:
        raise InputError(f"rows are ranked by one score each, got shape {given.shape}: pass the column of one class")
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
    """Numbers of the queries, in the order in which they first appear."""
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
