"""From what a function was handed to the bins it reads: one way to count, for metrics, curves and pictures."""

from __future__ import annotations

from typing import Any, TypeVar, get_args

import numpy as np

from believable import _check
from believable._types import Notion, Spacing, Strategy
from believable.binning import Edges
from believable.errors import InputError, UndefinedError
from believable.predictions import Predictions, as_predictions
from believable.stats import BinStats, CellStats, Summary
from believable.stats.bins import edges_for
from believable.stats.coarse import warn_of_crowded_cells
from believable.stats.points import PointStats
from believable.stats.sums import ScoreSums
from believable.views import View


class DefaultBins(int):
    """The default number of bins, which remembers that nobody asked for it.

    A statistic has bins of its own: `n_bins` that was asked for must agree with them, the default need not.
    """


class DefaultStrategy(str):
    """The default strategy, which remembers the same."""

    __slots__ = ()


TEN = DefaultBins(10)
UNIFORM: Any = DefaultStrategy("uniform")
QUANTILE: Any = DefaultStrategy("quantile")

STRATEGIES = get_args(Strategy)

Source = Predictions | BinStats | CellStats | PointStats | Summary
Statistic = TypeVar("Statistic", BinStats, CellStats)


def source_of(predictions: Any, actuals: Any = None, sample_weight: Any = None) -> Source:
    """What a metric was handed: a statistic as it is, anything else as checked predictions."""
    if type(predictions) in (np.ndarray, list):  # what it is most often, and quicker told than what it is not
        return as_predictions(predictions, actuals, sample_weight)
    if isinstance(predictions, ScoreSums):
        raise UndefinedError("this is not read from ScoreSums: pass CellStats or the predictions")
    if isinstance(predictions, (BinStats, CellStats, PointStats, Summary)):
        refuse_extras(type(predictions).__name__, actuals=actuals, sample_weight=sample_weight)
        return predictions
    return as_predictions(predictions, actuals, sample_weight)


def is_binary(source: Source) -> bool:
    """Whether the scores are P(y = 1)."""
    return source.kind == "binary" if isinstance(source, (Predictions, Summary)) else source.view.notion == "binary"


def cells_in(
    summary: Summary, notion: Notion | None = None, r: int | None = None, *, spacing: Spacing = "uniform"
) -> CellStats:
    """The cells that a summary counted for a notion (None: its headline), on the grid asked for, if it was counted."""
    if notion is not None:
        _check.choice(notion, get_args(Notion), "notion")
        _check.notion_fits(notion, summary.kind, summary.n_classes)
    return summary.cells_of(notion, r=r, spacing=spacing)


def _finest(summary: Summary, notion: Notion | None, r: int | None) -> CellStats:
    """The cells of the grid that keeps more pairs apart: the logit-spaced one, where scores are next to 0."""
    grids = (cells_in(summary, notion, r), cells_in(summary, notion, r, spacing="logit"))
    return min(grids, key=lambda cells: float(np.sum(cells.w**2)))


def count_bins(
    source: Source,
    n_bins: int = TEN,
    strategy: Strategy = UNIFORM,
    *,
    notion: Notion | None = None,
    r: int | None = None,
    threshold: float | None = None,
    pooled: bool = False,
    edges: Any = None,
    only: Strategy | None = None,
    squares: bool = False,
) -> BinStats:
    """The `BinStats` behind a metric: counted from predictions, or read from a statistic.

    `only` names the strategy of metrics that are defined by it; `squares` is for those that read wpp. Arrays that are
    looked at for one call are not counted further than that; a `Predictions` is counted in full, once.
    """
    strategy = strategy if only is None else only
    _check.choice(strategy, STRATEGIES, "strategy")
    if isinstance(source, Predictions):
        view = source.view(notion, r=r, threshold=threshold, pooled=pooled)
        made = edges_for(source, view, n_bins, strategy, edges)
        return BinStats.counted(source, view, made, squares or not source.borrowed)
    if isinstance(source, Summary):
        own_edges = strategy == "quantile" and edges is None and threshold is None
        source = _finest(source, notion, r) if own_edges else cells_in(source, notion, r)
    if isinstance(source, CellStats) and threshold is not None and source.view.threshold is None:
        source = source.above(threshold)
    same_question(source.view, notion, r, threshold, pooled)
    if isinstance(source, PointStats):
        raise UndefinedError("this is read from bins, which points do not have")
    if isinstance(source, CellStats):
        return _from_cells(source, n_bins, strategy, pooled, edges)
    return _from_bins(source, n_bins, strategy, pooled, edges)


def same_question(
    view: View,
    notion: Notion | None,
    r: int | None = None,
    threshold: float | None = None,
    pooled: bool = False,
) -> None:
    """Raise unless a statistic counted what is asked.

    Nothing asked is fine: the statistic speaks for itself. A notion that is asked for, or fixed by the name of a
    metric, asks for all pairs of it, each group apart, unless a threshold or pooling are asked for too.
    """
    asked_of = [("notion", notion, view.notion), ("r", r, view.r), ("threshold", threshold, view.threshold)]
    for name, asked, counted in asked_of:
        strict = asked is not None or (name == "threshold" and notion is not None)
        if strict and asked != counted:
            raise UndefinedError(f"the statistic was counted with {name}={counted!r}, not {asked!r}: count again")
    if view.group is not None and notion is not None:
        raise UndefinedError(f"the statistic holds group {view.group} alone, not all of notion={notion!r}")
    if view.pooled and notion is not None and not pooled:
        raise UndefinedError("the statistic was counted with pooled=True: count again to keep the groups apart")


def _from_bins(stats: BinStats, n_bins: int, strategy: Strategy, pooled: bool, edges: Any) -> BinStats:
    refuse_extras("BinStats", edges=edges)
    if not isinstance(strategy, DefaultStrategy) and stats.strategy not in (strategy, "given"):
        raise UndefinedError(f"this asks for {strategy} bins; the statistic has {stats.strategy} bins")
    if not isinstance(n_bins, DefaultBins) and n_bins != stats.per_group:
        raise UndefinedError(f"the statistic has {stats.per_group} bins, not {n_bins}: count again, or use CellStats")
    return stats.pool() if pooled and stats.view.n_groups > 1 else stats


def _from_cells(stats: CellStats, n_bins: int, strategy: Strategy, pooled: bool, edges: Any) -> BinStats:
    if pooled and stats.view.n_groups > 1:
        stats = stats.pool()
    if edges is not None:
        return stats.coarsen(edges if isinstance(edges, (Edges, tuple)) else Edges.given(edges, stats.grid.dtype))
    if strategy == "uniform":
        return stats.coarsen(n_bins)
    warn_of_crowded_cells(stats, n_bins)
    return stats.coarsen(stats.quantile_edges(n_bins))


def not_empty(stats: Statistic) -> Statistic:
    """Raise when a threshold kept nothing."""
    if not len(stats.key):
        raise UndefinedError(f"no score is above threshold={stats.view.threshold}: there is nothing to measure")
    return stats


def refuse_extras(what: str, **extras: Any) -> None:
    """A statistic already holds its outcomes and weights: passing them again is an error."""
    for name, value in extras.items():
        if value is not None:
            raise InputError(f"a {what} already holds what it counted: leave {name} out")
