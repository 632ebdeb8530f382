"""What an audit is made from: rows, or the summary that was counted from them. Both answer the same few questions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias, get_args

import numpy as np

from believable import _check
from believable._types import Ints, Notion
from believable.auditing.heaping import Heaping, heaping, heaping_of_cells, holds_one_score
from believable.auditing.means import Means
from believable.errors import InputError
from believable.inference.clusters import cluster_of_rows
from believable.predictions import Predictions, as_predictions
from believable.predictions.view import View
from believable.report.packed import N_CELLS
from believable.stats import CellStats, ScoreSums, Summary
from believable.stats.source import refuse_extras

Source: TypeAlias = Predictions | Summary


class Event(NamedTuple):
    """One class against the rest: what intervals and floors are asked of, the rows that have it, and its means."""

    pairs: Predictions | CellStats
    n: int
    means: Means


def as_source(predictions: Any, actuals: Any = None, sample_weight: Any = None) -> Source:
    """Checked rows, or a summary whose cells make up the bins of a report."""
    if not isinstance(predictions, Summary):
        return as_predictions(predictions, actuals, sample_weight)
    refuse_extras("Summary", actuals=actuals, sample_weight=sample_weight)
    grids = [predictions.cells_of().grid, *(one.grid for one in predictions.cells if one.grid.spacing == "uniform")]
    for grid in grids:
        if grid.spacing != "uniform" or grid.n_cells % N_CELLS:
            raise InputError(
                f"an audit is made from uniform cells, as many as {N_CELLS} or a multiple of it; the summary has "
                f"{grid.n_cells:,} {grid.spacing} ones: count again with another layout"
            )
    return predictions


def cluster_of(groups: Any, predictions: Any, source: Source, sample_weight: Any) -> Ints | None:
    """The cluster of each row, numbered from 0; None where rows stand for themselves."""
    if isinstance(source, Predictions):
        return cluster_of_rows(groups, predictions, source, sample_weight)
    if groups is not None:
        raise InputError(
            "{argument} says which rows belong together, and a summary has put all rows into cells: audit the rows, or "
            "a sample of whole clusters",
            argument="groups",
        )
    return None


def sums_of(source: Source) -> ScoreSums:
    """The sums over all rows."""
    return source.sums if isinstance(source, Summary) else ScoreSums.of(source)


def n_rows(source: Source) -> int:
    """How many there are."""
    return source.n if isinstance(source, Summary) else len(source)


def n_entries(source: Source) -> int:
    """Rows times classes of a matrix that every draw has to go through; none where cells stand for the rows."""
    return int(source.scores.size) if isinstance(source, Predictions) and source.scores.ndim == 2 else 0


def is_weighted(source: Source) -> bool:
    """Whether rows count differently."""
    return source.weighted if isinstance(source, Summary) else source.weights is not None


def effective_n(source: Source) -> float:
    """Rows of equal weight that tell as much."""
    sums = sums_of(source)
    return sums.w**2 / sums.w2 / (sums.n_classes if sums.kind == "multilabel" else 1)


def left_out(source: Source) -> dict[str, int]:
    """Rows that were dropped, by reason."""
    if isinstance(source, Summary):
        return dict(source.dropped)
    return {"ignored label": source.n_ignored} if source.n_ignored else {}


def view_of(source: Source, notion: Notion | None, pooled: bool) -> View:
    """The view for a notion (None: the default), or an error where the notion does not fit."""
    if isinstance(source, Predictions):
        return source.view(notion, pooled=pooled)
    notion = source.default_notion if notion is None else notion
    _check.choice(notion, get_args(Notion), "notion")
    _check.notion_fits(notion, source.kind, source.n_classes)
    return View(notion, source.n_classes, pooled=pooled, multilabel=source.kind == "multilabel")


def has_classes(source: Source) -> bool:
    """Whether each class can be looked at by itself."""
    if source.kind == "binary" or isinstance(source, Predictions):
        return source.kind != "binary"
    return any(one.view.notion == "classwise" for one in source.cells)


def too_coarse(source: Source, n_bins: int, strategy: str) -> str:
    """Why nothing can be said of single classes in such bins; "" where it can.

    Of many classes each is counted on a coarser grid, which makes up fewer numbers of bins than the headline's.
    """
    if isinstance(source, Predictions) or strategy != "uniform":
        return ""
    grids = [one.grid.n_cells for one in source.cells if one.view.n_groups > 1 and one.grid.n_cells % n_bins]
    if not grids:
        return ""
    suit = ", ".join(str(bins) for bins in range(10, 31) if grids[0] % bins == 0)
    return (
        f"Each class was counted in {grids[0]:,} cells, and {n_bins} bins are not made of whole ones: nothing is said "
        f"of single classes. Bins that suit: {suit}."
    )


def event_of(source: Source, k: int) -> Event:
    """One class against the rest, as one event."""
    if isinstance(source, Summary):
        cells = replace(source.cells_of("classwise").only_group(k), view=View("binary"))
        return Event(cells, int(np.rint(cells.ny.sum())), Means.of_cells(cells))
    pairs = source.column(source.view("classwise"), k)
    column = Predictions(pairs.score, np.asarray(pairs.outcome, np.int64), sample_weight=pairs.weight)
    return Event(column, int(np.count_nonzero(column.labels)), Means.of(ScoreSums.of(column)))


def subgroup_of(source: Source, column: str, level: str, rows: Ints | None) -> Source | None:
    """One subgroup, of which these are the rows; None where it cannot be told from the others."""
    if isinstance(source, Summary):
        return source.by[column].get(level) if column in source.by else None
    return None if rows is None else source.take(rows)


def page_cells(source: Source, view: View, class_number: int | None) -> CellStats | None:
    """The 840 cells of a view, or of one class against the rest; None where a summary did not count them."""
    if class_number is not None:
        if not has_classes(source):
            return None
        pairs = event_of(source, class_number).pairs
        return pairs.regrid(N_CELLS) if isinstance(pairs, CellStats) else CellStats.of(pairs, cells=N_CELLS)
    if isinstance(source, Predictions):
        return CellStats.of(source, view, cells=N_CELLS)
    if all(one.view.notion != view.notion for one in source.cells):
        return None
    cells = source.cells_of(view.notion).regrid(N_CELLS)
    return cells.pool() if view.pooled else cells


def ends_of(source: Source) -> tuple[float, float]:
    """Below and above which no score of an event is: the extreme scores, or the ends of the outermost cells."""
    if isinstance(source, Predictions):
        return float(source.scores.min()), float(source.scores.max())
    found = [_ends(cells) for cells in source.cells]
    return max(low for low, _ in found), min(high for _, high in found)


def _ends(cells: CellStats) -> tuple[float, float]:
    """Of the outermost cells; where all scores of such a cell are the same, that score."""
    upper = cells.grid.upper_edges()
    alone = holds_one_score(cells)
    low = float(upper[max(cells.index[0] - 1, 0)])
    high = float(upper[cells.index[-1]])
    return float(cells.conf[0]) if alone[0] else low, float(cells.conf[-1]) if alone[-1] else high


def heaps_of(source: Source) -> Heaping | None:
    """Whether the scores of an event, or the confidences, lie in heaps."""
    if source.kind == "multilabel":
        return None
    if isinstance(source, Summary):
        notion: Notion = "binary" if source.kind == "binary" else "confidence"
        counted = any(one.view.notion == notion for one in source.cells)
        return heaping_of_cells(source.cells_of(notion)) if counted else None
    scores = source.scores if source.kind == "binary" else source.scores.max(axis=1)
    return heaping(scores, source.weights)
