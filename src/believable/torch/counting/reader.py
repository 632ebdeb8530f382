"""`TallyReader`: metrics from a tally where it is, so that only the numbers a metric needs leave the device."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from believable._types import Float64s, Ints, Kind, Needs, Notion
from believable.binning import Edges, Grid
from believable.errors import UndefinedError
from believable.stats import BinStats, CellStats, ScoreSums, Summary
from believable.stats.counts import from_moments
from believable.stats.one_pass import cells_of_sums
from believable.stats.points import PointStats
from believable.stats.readable import BinsAsked, Readable
from believable.torch.counting import gpu
from believable.torch.counting.tally import Tally, parts_of, raise_if_any, score_sums, views_of

NO_ROWS = "no rows have been counted yet"
FETCHED_WHOLE = 4096  # a tally of no more numbers than this comes to the host in one transfer


class TallyReader(Readable):
    """What a `Summary` says, read from a tally as it is asked for, after `refuse_invalid`.

    Bins of equal width are added up on the device of the tally; sums over rows are a few numbers. Everything else is
    read from the summary of all cells, which is fetched once. A reader is for the counts of one moment.
    """

    gives: ClassVar[frozenset[Needs]] = Summary.gives

    def __init__(self, tally: Tally) -> None:
        small = tally.buffer.is_cuda and tally.buffer.numel() <= FETCHED_WHOLE
        self._tally = Tally(tally.layout, tally.buffer.cpu(), tally.weighted) if small else tally
        self._bins: dict[tuple[int, int], BinStats] = {}
        self._sums: ScoreSums | None = None
        self._summary: Summary | None = None
        self._invalid: list[float] | None = None

    # --- what was counted ---

    @property
    def problem(self) -> Kind:
        """Kind of the predictions; every notion that was counted can be requested."""
        return self._tally.layout.kind

    @property
    def is_binary(self) -> bool:
        """Whether the scores are P(y = 1)."""
        return self.problem == "binary"

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self._tally.layout.n_classes

    @property
    def default_notion(self) -> Notion:
        """Notion of the main view."""
        return self._tally.layout.views[0][0].notion

    @property
    def score_type(self) -> np.dtype[Any]:
        """Data type of the scores."""
        return np.dtype(self._tally.layout.dtype)

    def invalid(self) -> list[float]:
        """Return the number of invalid rows, by reason; on a GPU this waits for pending work."""
        if self._invalid is None:
            self._invalid = self._tally.invalid.tolist()
        return self._invalid

    def refuse_invalid(self) -> None:
        """Raise if rows were invalid."""
        raise_if_any(self.invalid())

    @property
    def n(self) -> int:
        """The number of rows; on a GPU this waits for pending work."""
        return round(float(self._tally.sums[0]))

    @property
    def counted_rows(self) -> int:
        """The number of rows; on a GPU this waits for pending work."""
        return self.n

    # --- reading ---

    def read_sums(self) -> ScoreSums:
        """Return the sums over rows."""
        if self._sums is None:
            parts = parts_of(self._tally.layout, self._tally.weighted)
            by_class = parts["by_class"]
            found = self._tally.buffer[: by_class.stop].cpu().numpy()
            of_rows = found[parts["sums"].start : parts["sums"].stop]
            if not of_rows[0]:
                raise UndefinedError(NO_ROWS)
            of_classes = found[by_class.start :].reshape(by_class.shape)
            self._sums = score_sums(self._tally.layout, of_rows, of_classes)
        return self._sums

    def read_bins(self, asked: BinsAsked) -> BinStats:
        """Return bins: those of equal width without fetching the cells."""
        place = self._place(asked)
        if place is None:
            return self.read_all().read_bins(asked)
        if (place, asked.n_bins) not in self._bins:
            self._bins[place, asked.n_bins] = self.uniform_bins(place, int(asked.n_bins))
        found = self._bins[place, asked.n_bins]
        if not len(found.key):
            raise UndefinedError(NO_ROWS)
        return found

    def read_points(self, notion: Notion | None, r: int | None, logits: bool) -> PointStats:
        """Return the pairs by score, from all cells."""
        return self.read_all().read_points(notion, r, logits)

    def read_cells(self, notion: Notion | None) -> CellStats:
        """Return the cells of a notion."""
        return self.read_all().read_cells(notion)

    def cells_of(self, notion: Notion) -> CellStats:
        """Return the cells of a notion, on the uniform grid if it was counted."""
        return self.read_all().cells_of(notion)

    def warn_if_crowded(self, n_bins: int) -> None:
        """Warn if the cells are too wide for this number of bins of equal weight."""
        self.read_all().warn_if_crowded(n_bins)

    def read_all(self) -> Summary:
        """Return the summary of all cells, fetched once."""
        if self._summary is None:
            sums = self.read_sums()
            ignored = int(self._tally.ignored)
            dropped = {"ignored label": ignored} if ignored else {}
            self._summary = Summary(sums=sums, cells=self._tally.cells(), dropped=dropped)
        return self._summary

    # --- bins ---

    def _place(self, asked: BinsAsked) -> int | None:
        """Return the table that these bins can be made of; None if it takes all cells, or is an error."""
        n_bins = asked.n_bins
        simple = asked.strategy == "uniform" and asked.edges is asked.threshold is None and not asked.pooled
        if not simple or isinstance(n_bins, bool) or not isinstance(n_bins, int) or n_bins < 1:
            return None
        wanted = (asked.notion or self.default_notion, asked.r)
        for place, (view, grids) in enumerate(views_of(self._tally.layout)):
            if (view.notion, view.r) == wanted:
                fits = any(grid.spacing == "uniform" and grid.n_cells % n_bins == 0 for grid in grids)
                return place if fits else None
        return None

    def uniform_bins(self, place: int, n_bins: int) -> BinStats:
        """Return bins of equal width, of the view in this place; empty if no rows were counted."""
        tally = self._tally
        view, grids = views_of(tally.layout)[place]
        starts = starts_of_bins(grids, n_bins)
        table, strata = tally.tables[place], view.n_strata
        if gpu.can_launch(table):
            found = gpu.bins(table, strata, starts).cpu().numpy()
        else:
            found = plain_bins(table.cpu().numpy(), strata, starts)
        moments = found.transpose(1, 2, 0)
        sums = from_moments(None, moments[0] + moments[1], moments[1])
        return BinStats(view=view, edges=(Edges.uniform(n_bins, tally.layout.dtype),), **sums)


def plain_bins(table: Float64s, strata: int, starts: tuple[int, ...]) -> Float64s:
    """Return the sums of a table's codes by bin, (strata * bins, 2, moments); `starts` ends with the end."""
    codes = table.reshape(strata, -1, *table.shape[1:])
    found = np.add.reduceat(codes, starts[:-1], axis=1)
    return np.asarray(found.reshape(-1, *table.shape[1:]))


@lru_cache(maxsize=64)
def starts_of_bins(grids: tuple[Grid, ...], n_bins: int) -> tuple[int, ...]:
    """Return the first code of each bin of equal width, and the end: bins are made of whole cells."""
    place = next(i for i, grid in enumerate(grids) if grid.spacing == "uniform" and grid.n_cells % n_bins == 0)
    cell: Ints = cells_of_sums(grids)[place]
    first_cells = np.arange(1, n_bins, dtype=np.int64) * (grids[place].n_cells // n_bins) + 1
    return (0, *np.searchsorted(cell, first_cells).tolist(), len(cell))
