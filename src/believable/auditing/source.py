"""The data of an audit: rows, or a summary of them.

`source_of_audit` checks once what `audit` and `verdict` were called with. Everything after that reads an `AuditSource`:
either a `RowSource` or a `SummarySource`, with the same methods.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, final, get_args

import numpy as np

from believable import _check
from believable._types import Array, Bins, Ints, Kind, Notion
from believable.auditing.drawn_rows import drawn_rows
from believable.auditing.heaping import Heaping, heaping, heaping_of_cells, holds_one_score
from believable.errors import Hint, InputError
from believable.inference.clusters import cluster_of_rows, rows_that_count
from believable.inference.segment_clusters import allowing_for_clusters
from believable.inference.subgroups import columns_of, with_columns
from believable.predictions import Predictions, as_predictions
from believable.predictions.view import View
from believable.report.packed import N_PAGE_CELLS
from believable.stats import CellStats, ScoreSums, SegmentStats, Summary
from believable.stats.levels import named_columns
from believable.stats.source import number_of_bins, refuse_extras
from believable.stats.summary import MAX_SUBGROUP_LEVELS

SUMMARIES_CANNOT_BE_COMPARED = (
    "compare_with compares two models row by row, but a summary has no rows: audit each model by itself, or compare "
    "them on a sample of rows"
)


class Event(NamedTuple):
    """One class against the rest: its scores and outcomes, and the number of rows that have it."""

    pairs: Predictions | CellStats
    n: int


class ClusteredRows(NamedTuple):
    """Rows that come in clusters, and the cluster of each row, numbered from 0."""

    predictions: Predictions
    cluster: Ints

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return int(self.cluster.max()) + 1


class AuditSource(ABC):
    """What an audit needs to know about the predictions, from their rows or from a summary of them.

    Attributes
    ----------
    data : Predictions or Summary
        What metrics, curves, intervals and noise floors are computed from.
    clustered : ClusteredRows or None
        The rows with their clusters; None if no clusters were given.
    columns : mapping of str to ndarray, or None
        The subgroup of each row, by column; None for a summary, which holds its subgroups itself.
    """

    __slots__ = ()

    taken: ClassVar[str]  # what was read, in words, unless the caller says so
    counted_in_cells: ClassVar[bool]  # whether the data are cells instead of rows
    data: Predictions | Summary
    clustered: ClusteredRows | None
    columns: Mapping[str, Array] | None

    @property
    @abstractmethod
    def sums(self) -> ScoreSums:
        """Sums over all rows."""

    @property
    @abstractmethod
    def n(self) -> int:
        """The number of rows."""

    @property
    @abstractmethod
    def n_entries(self) -> int:
        """The number of entries of the score matrix, which every resample has to read; 0 if there is no matrix."""

    @property
    @abstractmethod
    def is_weighted(self) -> bool:
        """Whether the rows have weights."""

    @property
    @abstractmethod
    def has_classes(self) -> bool:
        """Whether each class can be examined by itself."""

    @property
    @abstractmethod
    def has_subgroups(self) -> bool:
        """Whether there are columns of subgroups."""

    @abstractmethod
    def left_out(self) -> dict[str, int]:
        """Return how many rows were dropped, by reason."""

    @abstractmethod
    def view(self, notion: Notion | None, pooled: bool) -> View:
        """Return the view for a notion (None: the default); raise if the notion does not fit."""

    @abstractmethod
    def too_coarse(self, n_bins: int, strategy: str) -> str:
        """Say why single classes cannot be examined in such bins; "" if they can."""

    @abstractmethod
    def event(self, k: int) -> Event:
        """Return one class against the rest, as one event."""

    @abstractmethod
    def subgroup(self, column: str, level: str) -> AuditSource | None:
        """Return the rows of one subgroup; None if they are not known."""

    @abstractmethod
    def segment(self, where: Mapping[str, str]) -> AuditSource | None:
        """Return the rows that share a level of each of several columns; None if they are not known."""

    @abstractmethod
    def to_search(self) -> SegmentStats | Summary | None:
        """Return what segments are searched in; None if that was not requested."""

    @abstractmethod
    def page_cells(self, view: View) -> CellStats | None:
        """Return the 840 cells of a view; None if they were not counted."""

    @abstractmethod
    def page_cells_of_class(self, k: int) -> CellStats | None:
        """Return the 840 cells of one class against the rest; None if they were not counted."""

    @abstractmethod
    def score_range(self) -> tuple[float, float]:
        """Return bounds that no score of an event lies outside of."""

    @abstractmethod
    def heaps(self) -> Heaping | None:
        """Return the heaps that the scores of an event, or the confidences, lie on; None if they do not."""

    @abstractmethod
    def remembering(self) -> AuditSource:
        """Return the same source, with data that remember what was counted from them until the audit is done."""

    @abstractmethod
    def rows_to_recalibrate(self, random_state: Any) -> Predictions:
        """Return the rows to choose and judge a recalibrator on."""

    @abstractmethod
    def recalibrated(self, predictions: Predictions) -> AuditSource:
        """Return a source like this one, of recalibrated rows."""

    @abstractmethod
    def beside(self, other: Any, actuals: Any, sample_weight: Any) -> tuple[Predictions, Predictions]:
        """Return these predictions, and others for the same rows, checked."""

    def number_of_bins(self, n_bins: Bins) -> int:
        """Return the number of bins, checked, for these rows."""
        return _check.positive_integer(number_of_bins(self.data, n_bins), "n_bins")

    @property
    def kind(self) -> Kind:
        """Whether the scores are for one event, for classes, or for independent labels."""
        return self.data.kind

    @property
    def are_pairs(self) -> bool:
        """Whether the scores are confidences in answers, and the outcomes whether they were right."""
        return self.data.are_pairs

    @property
    def n_classes(self) -> int:
        """The number of classes; 2 for one event."""
        return self.data.n_classes

    @property
    def default_notion(self) -> Notion:
        """The notion of the headline, if the caller asks for none."""
        return self.data.default_notion

    @property
    def effective_n(self) -> float:
        """The number of rows of equal weight that carry as much information."""
        sums = self.sums
        return sums.w**2 / sums.w2 / (sums.n_classes if sums.kind == "multilabel" else 1)

    @property
    def cluster(self) -> Ints | None:
        """The cluster of each row; None if no clusters were given."""
        return None if self.clustered is None else self.clustered.cluster

    @property
    def n_clusters(self) -> int | None:
        """The number of clusters; None if no clusters were given."""
        return None if self.clustered is None else self.clustered.n_clusters

    def class_name(self, k: int) -> str:
        """Return the name of class k."""
        return self.data.class_name(k)


def source_of_audit(
    predictions: Any,
    actuals: Any = None,
    sample_weight: Any = None,
    *,
    clusters: Any = None,
    by: Any = None,
    pairs: bool = False,
    search: bool | SegmentStats = False,
) -> AuditSource:
    """Check the data of an audit: rows with their clusters and subgroups, or a summary with suitable cells.

    `search` is whether to search for segments, or the statistic to search. Subgroups of rows are then those that are
    searched, so columns of many values are cut into ranges or combined, and columns without segments are left out.
    """
    if not isinstance(search, SegmentStats):
        _check.flag(search, "find_segments")
    if isinstance(predictions, Summary):
        refuse_extras("Summary", actuals=actuals, sample_weight=sample_weight)
        _check.flag(pairs, "pairs")
        predictions = predictions.as_pairs() if pairs else predictions
        _check_cells(predictions)
        if not predictions.are_pairs:
            _refuse_predicted_classes(predictions)
        _refuse_other_rows(search, predictions.n)
        source = SummarySource(with_columns(predictions, by), search)
        if search is True and not source.has_subgroups:
            raise InputError(
                "segments are searched in the subgroups of a summary, and it counted none: {hint}",
                argument="by",
                hint=Hint.COUNT_BY,
            )
        if clusters is not None:
            raise InputError(
                "{argument} says which rows belong together, but a summary has no rows: audit the rows, or a sample of "
                "whole clusters",
                argument="clusters",
            )
        return source
    rows = as_predictions(predictions, actuals, sample_weight, pairs=pairs)
    if not rows.are_pairs:  # somebody may well state confidences of 0 and 1 only
        _check.refuse_predicted_classes(rows.scores)
    _refuse_other_rows(search, len(rows))
    cluster = cluster_of_rows(clusters, predictions, rows, sample_weight)
    if cluster is not None and isinstance(search, SegmentStats):
        raise InputError(
            "{argument} is a statistic, which does not know clusters: pass by= and find_segments=True",
            argument="find_segments",
        )
    clustered = None if cluster is None else ClusteredRows(rows, cluster)
    if search is True:
        given = {
            name: rows_that_count(values, f"by {name!r}", predictions, rows, sample_weight)
            for name, values in named_columns(by).items()
        }
        counted = SegmentStats.of(rows, given, max_levels=MAX_SUBGROUP_LEVELS)
        levels = _levels_by_name(counted, given)
        if cluster is not None:
            counted = allowing_for_clusters(counted, rows, given, cluster)
        return RowSource(rows, clustered, levels, counted)
    columns = {} if by is None else columns_of(by, rows, predictions, sample_weight)
    return RowSource(rows, clustered, columns, search or None)


def _refuse_other_rows(search: bool | SegmentStats, n: int) -> None:
    """Raise if segments were counted from other rows."""
    if isinstance(search, SegmentStats) and search.rows != n:
        raise InputError(
            "{argument} counts {got:,} rows, but the predictions have {n:,}: count the same rows",
            argument="find_segments",
            got=search.rows,
            n=n,
        )


def _levels_by_name(counted: SegmentStats, given: Mapping[str, Array]) -> dict[str, Array]:
    """Return the level of each row, as text, by column."""
    return {one.column: np.array(one.names)[one.codes(given[one.column])] for one in counted.columns}


def _check_cells(summary: Summary) -> None:
    """Raise unless the cells of a summary can be merged into those of the HTML report."""
    grids = [summary.cells_of().grid, *(one.grid for one in summary.cells if one.grid.spacing == "uniform")]
    for grid in grids:
        if grid.spacing != "uniform" or grid.n_cells % N_PAGE_CELLS:
            raise InputError(
                f"an audit needs uniform cells, {N_PAGE_CELLS} or a multiple of that; the summary has "
                f"{grid.n_cells:,} {grid.spacing} ones: count again with another layout"
            )


def _refuse_predicted_classes(summary: Summary) -> None:
    """Raise if every score, or confidence, was counted in the cell of exactly 0 or in that of exactly 1."""
    cells = summary.cells_of()
    certain = np.isin(cells.index, (0, cells.grid.n_cells + 1)).all()
    if summary.kind != "multilabel" and certain and (cells.n.sum() > _check.MAX_ROWS_ALIKE or len(cells.index) > 1):
        raise _check.predicted_classes(one_event=summary.kind == "binary")


# --- rows -------------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, eq=False)
class RowSource(AuditSource):
    """Rows, with their clusters and subgroups, if these were given."""

    taken: ClassVar[str] = ""
    counted_in_cells: ClassVar[bool] = False

    data: Predictions
    clustered: ClusteredRows | None = None
    columns: Mapping[str, Array] = field(default_factory=dict)
    searched: SegmentStats | None = None
    _rows_of: dict[tuple[str, str], Ints] = field(default_factory=dict)  # the subgroups asked for so far

    @property
    def sums(self) -> ScoreSums:
        return ScoreSums.of(self.data)

    @property
    def n(self) -> int:
        return len(self.data)

    @property
    def n_entries(self) -> int:
        return int(self.data.scores.size) if self.data.scores.ndim == 2 else 0

    @property
    def is_weighted(self) -> bool:
        return self.data.weights is not None

    @property
    def has_classes(self) -> bool:
        return self.kind != "binary"

    @property
    def has_subgroups(self) -> bool:
        return bool(self.columns)

    def left_out(self) -> dict[str, int]:
        return {"ignored label": self.data.n_ignored} if self.data.n_ignored else {}

    def view(self, notion: Notion | None, pooled: bool) -> View:
        return self.data.view(notion, pooled=pooled)

    def too_coarse(self, n_bins: int, strategy: str) -> str:
        return ""

    def event(self, k: int) -> Event:
        column = self._column(k)
        return Event(column, int(np.count_nonzero(column.labels)))

    def subgroup(self, column: str, level: str) -> RowSource | None:
        return self.segment({column: level})

    def segment(self, where: Mapping[str, str]) -> RowSource | None:
        rows = self.rows_of(where)
        if rows is None:
            return None
        data = self.data.take(rows)
        if self.cluster is None:
            return RowSource(data)
        return RowSource(data, ClusteredRows(data, np.unique(self.cluster[rows], return_inverse=True)[1]))

    def rows_of(self, where: Mapping[str, str]) -> Ints | None:
        """Return the numbers of the rows that share these levels; None if they are not known."""
        found: Ints | None = None
        for column, level in where.items():
            if column not in self.columns:
                return None
            if (column, level) not in self._rows_of:
                self._rows_of[column, level] = np.flatnonzero(self.columns[column] == level)
            rows = self._rows_of[column, level]
            found = rows if found is None else np.intersect1d(found, rows, assume_unique=True)
        return None if found is None or not len(found) else found

    def to_search(self) -> SegmentStats | None:
        return self.searched

    def page_cells(self, view: View) -> CellStats | None:
        return CellStats.of(self.data, view, cells=N_PAGE_CELLS)

    def page_cells_of_class(self, k: int) -> CellStats | None:
        return CellStats.of(self._column(k), cells=N_PAGE_CELLS) if self.has_classes else None

    def score_range(self) -> tuple[float, float]:
        return float(self.data.scores.min()), float(self.data.scores.max())

    def heaps(self) -> Heaping | None:
        if self.kind == "multilabel":
            return None
        scores = self.data.scores if self.kind == "binary" else self.data.scores.max(axis=1)
        return heaping(scores, self.data.weights)

    def remembering(self) -> RowSource:
        if not self.data.borrowed:
            return self
        rows = self.data.trusting(borrowed=False)
        cluster = self.cluster
        return replace(self, data=rows, clustered=None if cluster is None else ClusteredRows(rows, cluster))

    def rows_to_recalibrate(self, random_state: Any) -> Predictions:
        return self.data

    def recalibrated(self, predictions: Predictions) -> RowSource:
        return RowSource(predictions, columns=self.columns, _rows_of=self._rows_of)

    def beside(self, other: Any, actuals: Any, sample_weight: Any) -> tuple[Predictions, Predictions]:
        if isinstance(other, Summary):
            raise InputError(SUMMARIES_CANNOT_BE_COMPARED)
        if isinstance(other, Predictions):
            rival = other
        elif actuals is None:
            raise InputError(
                "{argument} must be a Predictions too, because the first argument is one", argument="compare_with"
            )
        else:
            rival = Predictions(other, actuals, sample_weight=sample_weight, pairs=self.are_pairs)
        if (rival.kind, rival.n_classes, rival.are_pairs) != (self.kind, self.n_classes, self.are_pairs):
            raise InputError(
                "{argument} must be of the same kind as the predictions, got {got!r} beside {data!r}",
                argument="compare_with",
                got=rival,
                data=self.data,
            )
        return self.data, rival

    def _column(self, k: int) -> Predictions:
        """Return one class against the rest, as 1-D scores."""
        pairs = self.data.column(self.data.view("classwise"), k)
        return Predictions(pairs.score, np.asarray(pairs.outcome, np.int64), sample_weight=pairs.weight)


# --- a summary --------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, eq=False)
class SummarySource(AuditSource):
    """A summary of a stream, a large file or a table: it has subgroups, but no clusters."""

    taken: ClassVar[str] = "the cells of a summary"
    counted_in_cells: ClassVar[bool] = True

    data: Summary
    search: bool | SegmentStats = False
    clustered: None = field(default=None, init=False)
    columns: None = field(default=None, init=False)

    @property
    def sums(self) -> ScoreSums:
        return self.data.sums

    @property
    def n(self) -> int:
        return self.data.n

    @property
    def n_entries(self) -> int:
        return 0

    @property
    def is_weighted(self) -> bool:
        return self.data.weighted

    @property
    def has_classes(self) -> bool:
        return self.kind != "binary" and self._has_counted("classwise")

    @property
    def has_subgroups(self) -> bool:
        return bool(self.data.by)

    def left_out(self) -> dict[str, int]:
        return dict(self.data.dropped)

    def view(self, notion: Notion | None, pooled: bool) -> View:
        notion = self.default_notion if notion is None else notion
        _check.choice(notion, get_args(Notion), "notion")
        _check.notion_fits(notion, self.kind, self.n_classes)
        multilabel = self.kind == "multilabel"
        return View(notion, self.n_classes, pooled=pooled, multilabel=multilabel, are_pairs=self.are_pairs)

    def too_coarse(self, n_bins: int, strategy: str) -> str:
        """Say why single classes cannot be examined: many classes have a coarser grid, which suits fewer bins."""
        if strategy != "uniform":
            return ""
        grids = [one.grid.n_cells for one in self.data.cells if one.view.n_strata > 1 and one.grid.n_cells % n_bins]
        if not grids:
            return ""
        suit = ", ".join(str(bins) for bins in range(10, 31) if grids[0] % bins == 0)
        return (
            f"Each class was counted in {grids[0]:,} cells, which cannot be merged into {n_bins} equal bins, so single "
            f"classes were not examined. Numbers of bins that work: {suit}."
        )

    def event(self, k: int) -> Event:
        cells = self._cells_of_class(k)
        return Event(cells, int(np.rint(cells.ny.sum())))

    def subgroup(self, column: str, level: str) -> SummarySource | None:
        found = self.data.by[column].get(level) if column in self.data.by else None
        return None if found is None else SummarySource(found)

    def segment(self, where: Mapping[str, str]) -> SummarySource | None:
        return self.subgroup(*next(iter(where.items()))) if len(where) == 1 else None

    def to_search(self) -> SegmentStats | Summary | None:
        if isinstance(self.search, SegmentStats):
            return self.search
        return self.data if self.search else None

    def page_cells(self, view: View) -> CellStats | None:
        if not self._has_counted(view.notion):
            return None
        cells = self.data.cells_of(view.notion).regrid(N_PAGE_CELLS)
        return cells.pool() if view.pooled else cells

    def page_cells_of_class(self, k: int) -> CellStats | None:
        return self._cells_of_class(k).regrid(N_PAGE_CELLS) if self.has_classes else None

    def score_range(self) -> tuple[float, float]:
        """Return the ends of the outermost cells; of several grids, the tightest ones."""
        found = [_range_of_cells(cells) for cells in self.data.cells]
        return max(low for low, _ in found), min(high for _, high in found)

    def heaps(self) -> Heaping | None:
        if self.kind == "multilabel":
            return None
        notion: Notion = "binary" if self.kind == "binary" else "confidence"
        return heaping_of_cells(self.data.cells_of(notion)) if self._has_counted(notion) else None

    def remembering(self) -> SummarySource:
        return self

    def rows_to_recalibrate(self, random_state: Any) -> Predictions:
        return drawn_rows(self.data, random_state)

    def recalibrated(self, predictions: Predictions) -> RowSource:
        return RowSource(predictions)  # rows drawn from the cells, whose subgroups are not known

    def beside(self, other: Any, actuals: Any, sample_weight: Any) -> tuple[Predictions, Predictions]:
        raise InputError(SUMMARIES_CANNOT_BE_COMPARED)

    def _has_counted(self, notion: Notion) -> bool:
        return any(one.view.notion == notion for one in self.data.cells)

    def _cells_of_class(self, k: int) -> CellStats:
        return replace(self.data.cells_of("classwise").only_stratum(k), view=View("binary"))


def _range_of_cells(cells: CellStats) -> tuple[float, float]:
    """Return the ends of the outermost cells; if all scores of such a cell are the same, that score."""
    upper = cells.grid.upper_edges()
    alone = holds_one_score(cells)
    low = float(upper[max(cells.index[0] - 1, 0)])
    high = float(upper[cells.index[-1]])
    return float(cells.conf[0]) if alone[0] else low, float(cells.conf[-1]) if alone[-1] else high
