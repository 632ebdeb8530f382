"""What an audit is made from: rows, or the summary that was counted from them.

`source_of_audit` looks once at what `audit` and `verdict` were handed. From there on everything asks an `AuditSource`,
which is either `RowSource` or `SummarySource` and answers the same questions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, final, get_args

import numpy as np

from believable import _check
from believable._types import Array, Ints, Kind, Notion
from believable.auditing.drawn_rows import drawn_rows
from believable.auditing.heaping import Heaping, heaping, heaping_of_cells, holds_one_score
from believable.errors import InputError
from believable.inference.clusters import cluster_of_rows
from believable.inference.subgroups import columns_of, with_columns
from believable.predictions import Predictions, as_predictions
from believable.predictions.view import View
from believable.report.packed import N_PAGE_CELLS
from believable.stats import CellStats, ScoreSums, Summary
from believable.stats.source import refuse_extras

SUMMARIES_CANNOT_BE_COMPARED = (
    "compare_with sets two models side by side row by row, and a summary has put all rows into cells: audit each by "
    "itself, or compare them on a sample of rows"
)


class Event(NamedTuple):
    """One class against the rest: what intervals and floors are asked of, and the number of rows that have it."""

    pairs: Predictions | CellStats
    n: int


class ClusteredRows(NamedTuple):
    """Rows that come in clusters, and the cluster of each, numbered from 0."""

    predictions: Predictions
    cluster: Ints

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return int(self.cluster.max()) + 1


class AuditSource(ABC):
    """What an audit asks of the predictions, whether it has their rows or a summary of them.

    Attributes
    ----------
    data : Predictions or Summary
        What metrics, curves, intervals and noise floors are computed from.
    clustered : ClusteredRows or None
        The rows with their clusters; None where rows stand for themselves.
    columns : mapping of str to ndarray, or None
        The subgroup of each row, by column; None where the data hold their subgroups themselves.
    """

    __slots__ = ()

    taken: ClassVar[str]  # what was read, in words, where the caller does not say
    counted_in_cells: ClassVar[bool]  # whether cells stand for the rows
    data: Predictions | Summary
    clustered: ClusteredRows | None
    columns: Mapping[str, Array] | None

    @property
    @abstractmethod
    def sums(self) -> ScoreSums:
        """The sums over all rows."""

    @property
    @abstractmethod
    def n(self) -> int:
        """The number of rows."""

    @property
    @abstractmethod
    def n_entries(self) -> int:
        """Rows times classes of a matrix that every draw has to go through; 0 where there is no such matrix."""

    @property
    @abstractmethod
    def is_weighted(self) -> bool:
        """Whether rows count differently."""

    @property
    @abstractmethod
    def has_classes(self) -> bool:
        """Whether each class can be looked at by itself."""

    @property
    @abstractmethod
    def has_subgroups(self) -> bool:
        """Whether there are columns of subgroups."""

    @abstractmethod
    def left_out(self) -> dict[str, int]:
        """Rows that were dropped, by reason."""

    @abstractmethod
    def view(self, notion: Notion | None, pooled: bool) -> View:
        """The view for a notion (None: the default), or an error where the notion does not fit."""

    @abstractmethod
    def too_coarse(self, n_bins: int, strategy: str) -> str:
        """Why nothing can be said of single classes in such bins; "" where it can."""

    @abstractmethod
    def event(self, k: int) -> Event:
        """One class against the rest, as one event."""

    @abstractmethod
    def subgroup(self, column: str, level: str) -> AuditSource | None:
        """One subgroup; None where it cannot be told from the others."""

    @abstractmethod
    def page_cells(self, view: View) -> CellStats | None:
        """The 840 cells of a view; None where they were not counted."""

    @abstractmethod
    def page_cells_of_class(self, k: int) -> CellStats | None:
        """The 840 cells of one class against the rest; None where they were not counted."""

    @abstractmethod
    def score_range(self) -> tuple[float, float]:
        """Below and above which no score of an event is."""

    @abstractmethod
    def heaps(self) -> Heaping | None:
        """Whether the scores of an event, or the confidences, lie in heaps."""

    @abstractmethod
    def remembering(self) -> AuditSource:
        """The same, with data that keep what was counted from them until the audit is done."""

    @abstractmethod
    def rows_to_recalibrate(self, random_state: Any) -> Predictions:
        """Rows to choose and to judge a recalibration by."""

    @abstractmethod
    def recalibrated(self, predictions: Predictions) -> AuditSource:
        """The same after recalibration, from rows with the scores that it led to."""

    @abstractmethod
    def beside(self, other: Any, actuals: Any, sample_weight: Any) -> tuple[Predictions, Predictions]:
        """These predictions, and others for the same rows, checked."""

    @property
    def kind(self) -> Kind:
        """Whether it is about one event, classes, or independent labels."""
        return self.data.kind

    @property
    def n_classes(self) -> int:
        """The number of classes; 2 for one event."""
        return self.data.n_classes

    @property
    def default_notion(self) -> Notion:
        """What the headline is about where nothing was asked for."""
        return self.data.default_notion

    @property
    def effective_n(self) -> float:
        """Rows of equal weight that tell as much."""
        sums = self.sums
        return sums.w**2 / sums.w2 / (sums.n_classes if sums.kind == "multilabel" else 1)

    @property
    def cluster(self) -> Ints | None:
        """The cluster of each row; None where rows stand for themselves."""
        return None if self.clustered is None else self.clustered.cluster

    @property
    def n_clusters(self) -> int | None:
        """The number of clusters; None where rows stand for themselves."""
        return None if self.clustered is None else self.clustered.n_clusters

    def class_name(self, k: int) -> str:
        """What to call class k."""
        return self.data.class_name(k)


def source_of_audit(
    predictions: Any,
    actuals: Any = None,
    sample_weight: Any = None,
    *,
    clusters: Any = None,
    by: Any = None,
    pairs: bool = False,
) -> AuditSource:
    """Check what an audit was handed: rows with their clusters and subgroups, or a summary fit for a report."""
    if isinstance(predictions, Summary):
        refuse_extras("Summary", actuals=actuals, sample_weight=sample_weight)
        _check_cells(predictions)
        if not pairs:
            _refuse_predicted_classes(predictions)
        source = SummarySource(with_columns(predictions, by))
        if clusters is not None:
            raise InputError(
                "{argument} says which rows belong together, and a summary has put all rows into cells: audit the "
                "rows, or a sample of whole clusters",
                argument="clusters",
            )
        return source
    rows = as_predictions(predictions, actuals, sample_weight)
    if not pairs:  # a confidence of 0 or 1 may be just what was stated
        _check.refuse_predicted_classes(rows.scores)
    columns = {} if by is None else columns_of(by, rows, predictions, sample_weight)
    cluster = cluster_of_rows(clusters, predictions, rows, sample_weight)
    return RowSource(rows, None if cluster is None else ClusteredRows(rows, cluster), columns)


def _check_cells(summary: Summary) -> None:
    """Raise unless the cells of a summary make up the bins of a report."""
    grids = [summary.cells_of().grid, *(one.grid for one in summary.cells if one.grid.spacing == "uniform")]
    for grid in grids:
        if grid.spacing != "uniform" or grid.n_cells % N_PAGE_CELLS:
            raise InputError(
                f"an audit is made from uniform cells, as many as {N_PAGE_CELLS} or a multiple of it; the summary has "
                f"{grid.n_cells:,} {grid.spacing} ones: count again with another layout"
            )


def _refuse_predicted_classes(summary: Summary) -> None:
    """Raise where every score, or confidence, was counted in the cell of exactly 0 or in that of exactly 1."""
    cells = summary.cells_of()
    certain = np.isin(cells.index, (0, cells.grid.n_cells + 1)).all()
    if summary.kind != "multilabel" and certain and (cells.n.sum() > _check.MAX_ROWS_ALIKE or len(cells.index) > 1):
        raise _check.predicted_classes(one_event=summary.kind == "binary")


# --- rows -------------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, eq=False)
class RowSource(AuditSource):
    """Rows, with the clusters that they come in and the subgroups that they belong to, where these are named."""

    taken: ClassVar[str] = ""
    counted_in_cells: ClassVar[bool] = False

    data: Predictions
    clustered: ClusteredRows | None = None
    columns: Mapping[str, Array] = field(default_factory=dict)
    _rows_of: dict[tuple[str, str], Ints] = field(default_factory=dict)  # of the subgroups asked for so far

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
        if column not in self.columns:
            return None
        if (column, level) not in self._rows_of:
            self._rows_of[column, level] = np.flatnonzero(self.columns[column] == level)
        rows = self._rows_of[column, level]
        data = self.data.take(rows)
        if self.cluster is None:
            return RowSource(data)
        return RowSource(data, ClusteredRows(data, np.unique(self.cluster[rows], return_inverse=True)[1]))

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
                "{argument} must be a Predictions too, where the predictions are one", argument="compare_with"
            )
        else:
            rival = Predictions(other, actuals, sample_weight=sample_weight)
        if (rival.kind, rival.n_classes) != (self.kind, self.n_classes):
            raise InputError(
                "{argument} must be of the same kind as the predictions, got {got!r} beside {data!r}",
                argument="compare_with",
                got=rival,
                data=self.data,
            )
        return self.data, rival

    def _column(self, k: int) -> Predictions:
        """One class against the rest, as 1-D scores."""
        pairs = self.data.column(self.data.view("classwise"), k)
        return Predictions(pairs.score, np.asarray(pairs.outcome, np.int64), sample_weight=pairs.weight)


# --- a summary --------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, eq=False)
class SummarySource(AuditSource):
    """What was counted from the rows of a stream, a large file or a table: it knows its subgroups, and no clusters."""

    taken: ClassVar[str] = "the cells of a summary"
    counted_in_cells: ClassVar[bool] = True

    data: Summary
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
        return View(notion, self.n_classes, pooled=pooled, multilabel=self.kind == "multilabel")

    def too_coarse(self, n_bins: int, strategy: str) -> str:
        """Of many classes each is counted on a coarser grid, which makes up fewer numbers of bins."""
        if strategy != "uniform":
            return ""
        grids = [one.grid.n_cells for one in self.data.cells if one.view.n_strata > 1 and one.grid.n_cells % n_bins]
        if not grids:
            return ""
        suit = ", ".join(str(bins) for bins in range(10, 31) if grids[0] % bins == 0)
        return (
            f"Each class was counted in {grids[0]:,} cells, and {n_bins} bins are not made of whole ones: nothing is "
            f"said of single classes. Bins that suit: {suit}."
        )

    def event(self, k: int) -> Event:
        cells = self._cells_of_class(k)
        return Event(cells, int(np.rint(cells.ny.sum())))

    def subgroup(self, column: str, level: str) -> SummarySource | None:
        found = self.data.by[column].get(level) if column in self.data.by else None
        return None if found is None else SummarySource(found)

    def page_cells(self, view: View) -> CellStats | None:
        if not self._has_counted(view.notion):
            return None
        cells = self.data.cells_of(view.notion).regrid(N_PAGE_CELLS)
        return cells.pool() if view.pooled else cells

    def page_cells_of_class(self, k: int) -> CellStats | None:
        return self._cells_of_class(k).regrid(N_PAGE_CELLS) if self.has_classes else None

    def score_range(self) -> tuple[float, float]:
        """The ends of the outermost cells; of several grids those that are closer together."""
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
        return RowSource(predictions)  # rows that were drawn from the cells, whose subgroups are not known

    def beside(self, other: Any, actuals: Any, sample_weight: Any) -> tuple[Predictions, Predictions]:
        raise InputError(SUMMARIES_CANNOT_BE_COMPARED)

    def _has_counted(self, notion: Notion) -> bool:
        return any(one.view.notion == notion for one in self.data.cells)

    def _cells_of_class(self, k: int) -> CellStats:
        return replace(self.data.cells_of("classwise").only_stratum(k), view=View("binary"))


def _range_of_cells(cells: CellStats) -> tuple[float, float]:
    """The ends of the outermost cells; where all scores of such a cell are the same, that score."""
    upper = cells.grid.upper_edges()
    alone = holds_one_score(cells)
    low = float(upper[max(cells.index[0] - 1, 0)])
    high = float(upper[cells.index[-1]])
    return float(cells.conf[0]) if alone[0] else low, float(cells.conf[-1]) if alone[-1] else high
