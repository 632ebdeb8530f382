"""From what a function was handed to the bins it reads: one way to count, for metrics, curves and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, get_args

import numpy as np

from believable import _check, _kernels
from believable._types import Array, Notion, Spacing, Strategy
from believable.binning import Edges
from believable.errors import InputError, UndefinedError
from believable.predictions import Predictions, as_predictions
from believable.predictions.view import View
from believable.stats import BinStats, CellStats, Summary
from believable.stats.bins import edges_for
from believable.stats.cells import warn_of_crowded_cells, warn_of_wide_cells
from believable.stats.points import Points as Points
from believable.stats.points import PointStats, joined
from believable.stats.sums import ScoreSums


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
            raise UndefinedError(
                "the statistic was counted with {argument}={counted!r}, not {got!r}: count again",
                argument=name,
                counted=counted,
                got=asked,
            )
    if view.group is not None and notion is not None:
        raise UndefinedError(
            "the statistic holds group {class_of} alone, not all of {notion=}", class_of=view.group, notion=notion
        )
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
            raise InputError("a {what} already holds what it counted: leave {argument} out", argument=name, what=what)


# --- from what a function was handed to the points it reads: one way to gather, for all that needs no bins ------------


def count_points(
    source: Source, *, notion: Notion | None = None, r: int | None = None, logits: bool = False
) -> list[Points]:
    """The points of every group that has any: one for notions that keep nothing apart.

    From a `Summary` they are those of both grids, each where its cells are narrower. What looks at `logits` gets a
    warning where uniform cells are too wide for that.
    """
    if isinstance(source, PointStats):
        return list(source.groups)
    if isinstance(source, BinStats):
        raise UndefinedError("this is read from CellStats or predictions, not from BinStats")
    if isinstance(source, Summary):
        return _of_summary(source, notion, r, logits)
    if isinstance(source, CellStats):
        same_question(source.view, notion, r)
        not_empty(source)
        if logits:
            warn_of_wide_cells(source)
        return [_of_cells(source.only_group(g)) for g in range(source.view.n_groups) if np.any(source.group == g)]
    view = source.view(notion, r=r)
    key = ("points", view)
    if key not in source._counted:
        made = _of_predictions(source, view)
        if source.borrowed:
            return made
        source._counted[key] = made
    points: list[Points] = source._counted[key]
    return points


def one_group(points: Sequence[Points], what: str) -> Points:
    """The points, where there is one group; otherwise an error that says what to do."""
    if len(points) > 1:
        raise UndefinedError(
            f"{what} is about one group of scores, these are {len(points)}: pass one class's column, or a notion with "
            "one group (confidence, rth, within_top_r)"
        )
    return points[0]


def mean_over_groups(values: Sequence[Any], points: Sequence[Points]) -> Any:
    """The mean of one value per group, by weight: classes weigh the same, predicted labels by how often they are."""
    weight = [group.total for group in points]
    mean = sum(w * value for w, value in zip(weight, values, strict=True)) / sum(weight)
    return as_number(mean if len(points) > 1 else values[0])


def as_number(value: Array | float) -> Any:
    """A float; an array of them where the statistic held replicates."""
    return float(value) if np.ndim(value) == 0 else np.asarray(value)


def _of_summary(summary: Summary, notion: Notion | None, r: int | None, logits: bool) -> list[Points]:
    uniform, logit = cells_in(summary, notion, r), cells_in(summary, notion, r, spacing="logit")
    if uniform.grid.spacing == logit.grid.spacing:  # one grid was counted
        return count_points(uniform, logits=logits)
    groups = np.unique(uniform.group).tolist()
    return [joined(uniform.only_group(g), logit.only_group(g)) for g in groups]


def _of_cells(cells: CellStats) -> Points:
    return Points(cells.conf, cells.n, cells.w, cells.wy, cells.w2, cells.w2y)


def _of_predictions(source: Predictions, view: View) -> list[Points]:
    if view.notion == "classwise" and source.scores.ndim == 2:
        columns = source.columns(view)
        return [Points(*_kernels.by_score(pairs.score, pairs.outcome, pairs.weight)) for pairs in columns]
    score, outcome, weight, group = source.all_pairs(view)
    if group is None:
        return [Points(*_kernels.by_score(score, outcome, weight))]
    found = []
    for g in range(view.n_groups):
        here = np.flatnonzero(group == g)
        if len(here):
            found.append(
                Points(*_kernels.by_score(score[here], outcome[here], None if weight is None else weight[here]))
            )
    return found
