"""`BinStats`: sums by bin, for one view of the predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np

from believable import _kernels
from believable._check import choice, positive_integer
from believable._types import Array, Floats, Ints, Needs, Strategy
from believable.binning import ColumnBins, Edges
from believable.errors import InputError, SchemaError, UndefinedError
from believable.predictions import Predictions, View
from believable.stats.counts import (
    Counts,
    as_checked,
    check_scores,
    check_sets_of_edges,
    columns_of,
    count,
    count_rows,
    from_moments,
    load_counts,
    moments,
)
from believable.stats.one_pass import read_once
from believable.stats.readable import BinsAsked, DefaultBins, DefaultStrategy, refuse_extras, same_question
from believable.stats.saved import field_of, float_list


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class BinStats(Counts):
    """Sums by bin: counts, weights, scores and outcomes. See `Counts` for the fields.

    Attributes
    ----------
    edges : tuple of Edges
        One set of edges for all strata, or one set for each.

    Examples
    --------
    >>> monday = BinStats.of(Predictions([0.1, 0.8], [0, 1]), n_bins=5)
    >>> tuesday = BinStats.of(Predictions([0.15, 0.4], [1, 0]), n_bins=5)
    >>> week = monday + tuesday
    >>> week.n, week.wy
    (array([2, 1, 1]), array([1., 0., 1.]))
    """

    gives: ClassVar[frozenset[Needs]] = frozenset({"bins"})
    edges: tuple[Edges, ...]

    @classmethod
    def of(
        cls,
        predictions: Predictions,
        view: View | None = None,
        *,
        n_bins: int = 10,
        strategy: Strategy = "uniform",
        edges: Edges | tuple[Edges, ...] | Array | list[float] | None = None,
    ) -> BinStats:
        """Count the pairs of a view (by default, of the default notion) in bins.

        Quantile bins are made from the data themselves, for each class or rank if those are kept apart. To count
        another shard in the same bins, pass `edges=stats.edges`.
        """
        view = as_checked(predictions).check_view(view)
        return cls.counted(predictions, view, edges_for(predictions, view, n_bins, strategy, edges))

    @classmethod
    def counted(cls, predictions: Predictions, view: View, edges: tuple[Edges, ...], squares: bool = True) -> BinStats:
        """Count, or return the cached counts; without squares, wpp and w2pp are NaN and nothing is cached."""
        if not squares:
            return cls(view=view, edges=edges, **_sums(predictions, view, edges, squares))
        # The cache makes a second metric on the same predictions free.
        return predictions.remembered(
            (view, edges, edges[0].strategy),
            lambda: cls(view=view, edges=edges, **_sums(predictions, view, edges, squares)),
        )

    @classmethod
    def by_column(cls, predictions: Predictions, view: View, bins: ColumnBins, squares: bool = True) -> BinStats:
        """Count the pairs of a view in bins of another column; all strata have the same bins."""
        sums = count_rows(predictions, view, len(bins), bins.index, squares)
        return cls(view=view, edges=(bins.as_edges(predictions.score_type),), **sums)

    @property
    def per_stratum(self) -> int:
        return max(map(len, self.edges))

    @property
    def strategy(self) -> str:
        """Strategy by which the bins were made."""
        return self.edges[0].strategy

    def edges_of(self, stratum: int) -> Edges:
        """Return the edges of a stratum."""
        return self.edges[stratum if len(self.edges) > 1 else 0]

    def _mismatch(self, other: BinStats) -> str | None:
        if self.view != other.view:
            return f"they count different things, {self.view} and {other.view}"
        if self.edges != other.edges:
            return f"their edges differ ({_words(self.edges)}, and {_words(other.edges)})"
        return None

    def _layout(self) -> dict[str, Any]:
        return {
            "edges": [np.array(edges.values) for edges in self.edges],
            "dtype": self.edges[0].dtype,
            "strategy": self.strategy,
        }

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> BinStats:
        """Restore a statistic from `to_dict`; a damaged or foreign dictionary raises an error."""
        columns, view = load_counts(cls, saved)
        dtype, strategy = field_of(saved, "dtype", str), field_of(saved, "strategy", str)
        lists = [float_list({"edges": values}, "edges") for values in field_of(saved, "edges", list)]
        if len(lists) not in (1, view.n_strata):
            raise SchemaError("the saved edges must be one set for all classes or ranks, or one for each")
        try:
            edges = tuple(Edges(tuple(values.tolist()), dtype, strategy) for values in lists)
        except InputError as error:
            raise SchemaError(f"the saved edges are damaged: {error}") from error
        return cls._within(view, edges, columns)

    @classmethod
    def from_columns(cls, view: View, edges: Edges | tuple[Edges, ...], columns: Mapping[str, Any]) -> BinStats:
        """Build a statistic from sums computed elsewhere, for example by a database; they are checked.

        Parameters
        ----------
        view : View
            The pairs that were counted.
        edges : Edges or tuple of Edges
            One set of edges for all strata, or one set for each.
        columns : mapping of str to array-like
            key = stratum * bins per stratum + bin, n and the sums, as in `Counts`, with one entry per non-empty
            (stratum, bin) in any order. Without weights, key, n, ny, wp, wpp and wpy suffice.
        """
        edges = edges if isinstance(edges, tuple) else (edges,)
        check_sets_of_edges(edges, view)
        return cls._within(view, edges, columns_of(columns))

    @classmethod
    def _within(cls, view: View, edges: tuple[Edges, ...], columns: dict[str, Any]) -> BinStats:
        stats = cls(view=view, edges=edges, **columns)
        beyond = len(stats.key) and int(stats.key[-1]) >= view.n_strata * stats.per_stratum
        lengths = np.array([len(own) for own in edges])  # a stratum may have fewer bins than another
        stratum = np.zeros(len(stats.key), np.int64) if beyond or len(edges) == 1 else stats.stratum
        if beyond or np.any(stats.index >= lengths[stratum]):
            raise SchemaError("the saved keys go beyond the bins")
        at = (np.cumsum(lengths) - lengths)[stratum] + stats.index
        lower, upper = (np.concatenate([own.values[side] for own in edges]) for side in (slice(-1), slice(1, None)))
        check_scores(columns, lower[at], upper[at])
        return stats

    def read_bins(self, asked: BinsAsked) -> BinStats:
        """Return the statistic itself if it has the bins requested; raise an error otherwise."""
        same_question(self.view, asked.notion, asked.r, asked.threshold, asked.pooled)
        refuse_extras("BinStats", edges=asked.edges)
        if not isinstance(asked.strategy, DefaultStrategy) and self.strategy not in (asked.strategy, "given"):
            raise UndefinedError(f"this needs {asked.strategy} bins, but the statistic has {self.strategy} bins")
        if not isinstance(asked.n_bins, DefaultBins) and asked.n_bins != self.per_stratum:
            raise UndefinedError(
                f"the statistic has {self.per_stratum} bins, not {asked.n_bins}: count again, or use CellStats"
            )
        return self.pool() if asked.pooled and self.view.n_strata > 1 else self

    def only_stratum(self, stratum: int) -> BinStats:
        """Return the statistic of one class or rank (from 0)."""
        return replace(self, edges=(self.edges_of(stratum),), **self._only(stratum))

    def pool(self) -> BinStats:
        """Return the statistic with all strata in common bins."""
        if len(self.edges) > 1:
            raise InputError("classes or ranks with separate bins cannot be pooled: count with pooled=True")
        return replace(self, view=replace(self.view, pooled=True), **self._rekeyed(self.index))


def _words(edges: tuple[Edges, ...]) -> str:
    one = f"{len(edges[0])} {edges[0].strategy} bins of {edges[0].dtype} scores"
    return one if len(edges) == 1 else f"{one} and {len(edges) - 1} more sets"


def edges_for(predictions: Predictions, view: View, n_bins: int, strategy: Strategy, given: Any) -> tuple[Edges, ...]:
    """Return the edges requested: given, of equal width, or of equal weight."""
    choice(strategy, ("uniform", "quantile"), "strategy")
    dtype = predictions.score_type
    if isinstance(given, Edges):
        return (given,)
    if isinstance(given, tuple) and given and all(isinstance(item, Edges) for item in given):
        check_sets_of_edges(given, view)
        return given
    if given is not None:
        return (Edges.given(given, dtype),)
    if strategy == "uniform":
        return (Edges.uniform(n_bins, dtype),)
    positive_integer(n_bins, "n_bins")
    return predictions.remembered(("quantile", view, n_bins), lambda: tuple(_quantile_edges(predictions, view, n_bins)))


def _quantile_edges(predictions: Predictions, view: View, n_bins: int) -> list[Edges]:
    if view.notion == "binary" and predictions.kind == "binary" and view.threshold is None:
        return [Edges._of_scores(predictions.scores, n_bins, predictions.weights)]
    if _by_column(view):
        return [_quantile_or_whole(pairs.score, pairs.weight, n_bins) for pairs in predictions.columns(view)]
    pairs = predictions.all_pairs(view)
    if pairs.stratum is None:
        return [_quantile_or_whole(pairs.score, pairs.weight, n_bins)]
    made = []
    for g in range(view.n_strata):
        here = pairs.stratum == g
        weight = None if pairs.weight is None else pairs.weight[here]
        made.append(_quantile_or_whole(pairs.score[here], weight, n_bins))
    return made


def _by_column(view: View) -> bool:
    """Return whether the strata are the columns of the matrix, so that each can be counted alone."""
    return view.notion == "classwise" and not view.pooled


def _quantile_or_whole(scores: Floats, weights: Array | None, n_bins: int) -> Edges:
    """Return quantile edges; a class without scores (below the threshold, never predicted) gets one empty bin."""
    return (
        Edges._of_scores(scores, n_bins, weights) if len(scores) else Edges((0.0, 1.0), scores.dtype.name, "quantile")
    )


def _sums(predictions: Predictions, view: View, edges: tuple[Edges, ...], squares: bool) -> dict[str, Any]:
    per_stratum = max(map(len, edges))
    if _by_column(view) and len(edges) > 1:
        return _column_by_column(predictions, view, edges, squares)
    if len(edges) == 1:
        found = read_once(predictions, view, edges[0].partition(predictions.score_type), squares)
        if found is not None:
            return from_moments(None, found.total, found.positive)
        return count(predictions, view, per_stratum, lambda scores, strata: edges[0].index(scores), squares)

    def assign(scores: Floats, strata: Ints | None) -> Ints:
        assert strata is not None  # several sets of edges belong to separate strata
        index = np.empty(len(scores), np.intp)
        for g in range(view.n_strata):
            rows = np.flatnonzero(strata == g)
            index[rows] = edges[g].index(scores[rows])
        return index

    return count(predictions, view, per_stratum, assign, squares)


def _column_by_column(predictions: Predictions, view: View, edges: tuple[Edges, ...], squares: bool) -> dict[str, Any]:
    per_stratum = max(map(len, edges))
    total, positive = moments(predictions, view.n_classes * per_stratum, squares)
    for k, (own, pairs) in enumerate(zip(edges, predictions.columns(view), strict=True)):
        here = slice(k * per_stratum, k * per_stratum + len(own))
        found = _kernels.bin_moments(*pairs[:3], own.partition(predictions.score_type), squares)
        total[:, here], positive[:, here] = found.total, found.positive
    return from_moments(None, total, positive)
