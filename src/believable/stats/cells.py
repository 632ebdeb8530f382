"""`CellStats`: sums on a grid so fine that the bins can be chosen afterwards."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np

from believable import _kernels
from believable._check import positive_integer
from believable._kernels.probabilities import SMALLEST_PROBABILITY
from believable._types import Float64s, Int64s, Needs, Notion, Spacing
from believable.binning import N_CELLS, Edges, Grid
from believable.errors import CoarseCellsWarning, InputError, SchemaError, UndefinedError
from believable.predictions import Predictions, View
from believable.stats import one_pass
from believable.stats.bins import BinStats
from believable.stats.counts import (
    SUMS,
    Counts,
    as_checked,
    better_sparse,
    check_scores,
    check_sets_of_edges,
    columns_of,
    count,
    from_moments,
    load_counts,
    not_empty,
)
from believable.stats.one_pass import read_once
from believable.stats.points import Points, PointStats
from believable.stats.readable import BinsAsked, same_question
from believable.stats.saved import field_of


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class CellStats(Counts):
    """Sums by cell of a fine grid, from which bins can be made later. See `Counts` for the fields.

    Uniform bins whose edges are edges of the grid are the same as from the data. The grid of 50,400 cells contains the
    edges of every number of bins from 2 to 10, and of 12, 14, 15, 16, 18, 20, 25, 30, 50, 100 and more.

    Examples
    --------
    >>> cells = CellStats.of(Predictions([0.1, 0.15, 0.4, 0.8], [0, 1, 0, 1]))
    >>> cells.coarsen(5).n
    array([2, 1, 1])
    """

    gives: ClassVar[frozenset[Needs]] = frozenset({"bins", "cells"})
    grid: Grid

    @classmethod
    def of(
        cls,
        predictions: Predictions,
        view: View | None = None,
        *,
        cells: int = N_CELLS,
        spacing: Spacing = "uniform",
    ) -> CellStats:
        """Count the pairs of a view (by default, of the default notion) on a grid."""
        view = as_checked(predictions).check_view(view)
        grid = Grid(cells, spacing, predictions.score_type.name)
        return cls(view=view, grid=grid, **_sums(predictions, view, grid))

    @property
    def per_stratum(self) -> int:
        return len(self.grid)

    def _mismatch(self, other: CellStats) -> str | None:
        if self.view != other.view:
            return f"they count different things, {self.view} and {other.view}"
        if self.grid != other.grid:
            found = f"their grids differ, {self.grid} and {other.grid}"
            if self.grid.dtype != other.grid.dtype:  # rounding makes the edges different numbers
                found += "; bins of float32 and float64 scores differ: convert one to the other before counting"
            return found
        return None

    def _layout(self) -> dict[str, Any]:
        return {"cells": self.grid.n_cells, "spacing": self.grid.spacing, "dtype": self.grid.dtype}

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> CellStats:
        """Restore a statistic from `to_dict`; a damaged or foreign dictionary raises an error."""
        columns, view = load_counts(cls, saved)
        try:
            grid = Grid(field_of(saved, "cells", int), field_of(saved, "spacing", str), field_of(saved, "dtype", str))
        except InputError as error:
            raise SchemaError(f"the saved grid is damaged: {error}") from error
        return cls._within(view, grid, columns)

    @classmethod
    def from_columns(cls, view: View, grid: Grid, columns: Mapping[str, Any]) -> CellStats:
        """Build a statistic from sums computed elsewhere, for example by a database; they are checked.

        Parameters
        ----------
        view : View
            The pairs that were counted.
        grid : Grid
            The grid of cells.
        columns : mapping of str to array-like
            key = stratum * len(grid) + cell, n and the sums, as in `Counts`, with one entry per non-empty (stratum,
            cell) in any order. Without weights, key, n, ny, wp, wpp and wpy suffice.
        """
        return cls._within(view, grid, columns_of(columns))

    @classmethod
    def _within(cls, view: View, grid: Grid, columns: dict[str, Any]) -> CellStats:
        stats = cls(view=view, grid=grid, **columns)
        if len(stats.key) and int(stats.key[-1]) >= view.n_strata * len(grid):
            raise SchemaError("the saved keys go beyond the cells")
        check_scores(columns, grid.lower_edges()[stats.index], grid.upper_edges()[stats.index])
        return stats

    def regrid(self, cells: int) -> CellStats:
        """Return the same sums on a coarser grid of the same spacing, whose cells are unions of cells of this grid.

        Examples
        --------
        >>> fine = CellStats.of(Predictions([0.0, 0.1, 0.15, 0.4, 1.0], [0, 0, 1, 0, 1]))
        >>> fine.regrid(840).index
        array([  0,  84, 126, 336, 841])
        """
        cells = positive_integer(cells, "cells", 2, self.grid.n_cells)
        times, rest = divmod(self.grid.n_cells, cells)
        if rest:
            raise InputError(f"{cells} cells are not made of whole cells of {self.grid}; choose a divisor of those")
        inner = -(-self.index // times)  # {0} stays 0
        index = np.where(self.index > self.grid.n_cells, cells + 1, inner)
        grid = replace(self.grid, n_cells=cells)
        return replace(self, grid=grid, **self._rekeyed(self.stratum * len(grid) + index))

    def coarsen(self, bins: int | Edges | tuple[Edges, ...], *, pooled: bool = False) -> BinStats:
        """Return the statistic of bins made of whole cells: a number of uniform bins, or edges on the grid."""
        if not isinstance(bins, (Edges, tuple)):
            bins = Edges.uniform(bins, self.grid.dtype)
        edges = bins if isinstance(bins, tuple) else (bins,)
        check_sets_of_edges(edges, self.view)
        grid_edges = self.grid.inner_edges()
        for one in edges:
            if not np.isin(one.as_array(), grid_edges).all():
                raise InputError(
                    f"{len(one)} {one.strategy} bins are not made of whole cells of {self.grid}; choose a number of "
                    "bins that divides the number of cells"
                )
        upper = self.grid.upper_edges()
        bin_of_cell = np.stack([one.index(upper) for one in edges])
        stratum, per_stratum = self.stratum, max(map(len, edges))
        index = bin_of_cell[stratum if len(edges) > 1 else 0, self.index]
        stats = BinStats(view=self.view, edges=edges, **self._rekeyed(stratum * per_stratum + index))
        return stats.pool() if pooled else stats

    def quantile_edges(self, n_bins: int) -> tuple[Edges, ...]:
        """Return edges of equal weight for each stratum: those of the data, rounded up to the end of their cell."""
        n_bins = positive_integer(n_bins, "n_bins")
        upper = self.grid.upper_edges()
        made = []
        for g in range(self.view.n_strata):
            here = self.only_stratum(g)
            if not len(here.n):
                made.append(Edges((0.0, 1.0), self.grid.dtype, "quantile"))
                continue
            position = _kernels.quantile_positions(_kernels.running_sum(here.w), n_bins)
            made.append(Edges._from_boundaries(np.unique(upper[here.index[position]]), self.grid.dtype))
        return tuple(made)

    def above(self, threshold: float) -> CellStats:
        """Return the statistic of the pairs whose score is above an edge of the grid, as with `View.threshold`.

        Examples
        --------
        >>> cells = CellStats.of(Predictions([0.005, 0.01, 0.4], [0, 1, 0]))
        >>> cells.above(0.01)
        CellStats(binary, threshold=0.01, n=1, 1 occupied)
        """
        view = replace(self.view, threshold=threshold)
        edge = np.dtype(self.grid.dtype).type(threshold)
        if not np.isin(edge, self.grid.inner_edges()):
            raise UndefinedError(
                f"the statistic was counted with threshold={self.view.threshold!r}, and {threshold!r} is not an edge "
                f"of {self.grid}: count again with this threshold"
            )
        if self.view.threshold is not None and threshold < self.view.threshold:
            raise UndefinedError(
                f"the statistic was counted with threshold={self.view.threshold!r}, not {threshold!r}: count again"
            )
        kept = self.grid.upper_edges()[self.index] > edge
        kept |= (self.index > self.grid.n_cells) & (edge < 1)  # {1} has the same upper end as the last cell
        return replace(self, view=view, **{name: getattr(self, name)[kept] for name in ("key", "n", *SUMS)})

    @property
    def spacing(self) -> Spacing:
        """Spacing of the grid."""
        return self.grid.spacing

    @property
    def score_type(self) -> np.dtype[Any]:
        """Data type of the scores."""
        return np.dtype(self.grid.dtype)

    def has_bins(self, n_bins: int) -> bool:
        """Return whether this number of bins of equal width can be made of whole cells."""
        return self.grid.spacing == "uniform" and self.grid.n_cells % n_bins == 0

    def read_cells(self, notion: Notion | None) -> CellStats:
        """Return the cells as they are; the caller has to compare views."""
        return self

    def read_bins(self, asked: BinsAsked) -> BinStats:
        """Return bins made of whole cells: given, of equal width, or of equal weight as far as cells allow."""
        cells, threshold = self, asked.threshold
        if threshold is not None and cells.view.threshold is None:
            cells = cells.above(threshold)
        same_question(cells.view, asked.notion, asked.r, threshold, asked.pooled)
        if asked.pooled and cells.view.n_strata > 1:
            cells = cells.pool()
        if asked.edges is not None:
            given = isinstance(asked.edges, (Edges, tuple))
            return cells.coarsen(asked.edges if given else Edges.given(asked.edges, cells.grid.dtype))
        if asked.strategy == "uniform":
            return cells.coarsen(asked.n_bins)
        cells.warn_if_crowded(asked.n_bins)
        return cells.coarsen(cells.quantile_edges(asked.n_bins))

    def read_points(self, notion: Notion | None, r: int | None, logits: bool) -> PointStats:
        """Return the cells as points, each at its mean score."""
        same_question(self.view, notion, r)
        not_empty(self)
        if logits:
            warn_of_wide_cells(self)
        present = np.unique(self.stratum).tolist()
        return PointStats(self.view, tuple(self.only_stratum(g).as_points() for g in present), tuple(present))

    def as_points(self) -> Points:
        """Return the cells of one stratum as points."""
        return Points(self.conf, self.n, self.w, self.wy, self.w2, self.w2y)

    def warn_if_crowded(self, n_bins: int) -> None:
        """Warn if one cell has more weight than a bin of equal weight should have, and its scores differ."""
        for stratum in range(self.view.n_strata):
            one = self.only_stratum(stratum) if self.view.n_strata > 1 else self
            crowded = (one.w > one.w.sum() / n_bins) & (_spread(one) > 0)
            if crowded.any():
                share = float(one.w[crowded].max() / one.w.sum())
                warn_caller(
                    f"one cell of {self.grid} holds {share:.0%} of the weight, at scores that differ: it cannot be "
                    f"split into {n_bins} bins of equal weight; {WHERE_CELLS_ARE_TOO_WIDE}",
                    CoarseCellsWarning,
                )
                return

    def only_stratum(self, stratum: int) -> CellStats:
        """Return the statistic of one class or rank (from 0)."""
        return replace(self, **self._only(stratum))

    def pool(self) -> CellStats:
        """Return the statistic with all strata on one common grid."""
        index: Int64s = self.index
        return replace(self, view=replace(self.view, pooled=True), **self._rekeyed(index))


def _sums(predictions: Predictions, view: View, grid: Grid) -> dict[str, Any]:
    partition = grid.partition()
    if partition is not None and not better_sparse(predictions, view, len(grid)):
        found = read_once(predictions, view, partition, squares=True)
        if found is not None:
            return from_moments(None, found.total, found.positive)
    if _by_class(predictions, view) and not better_sparse(predictions, view, len(grid)):
        total, positive = _kernels.classwise_cells(
            predictions.scores, predictions.labels, len(grid), grid.inner_edges()[1], grid.assign
        )
        return from_moments(None, total, positive)
    if grid.spacing == "logit" and one_pass.fits(predictions, [(view, grid)]):
        return one_pass.cells_on(predictions, grid)
    return count(predictions, view, len(grid), lambda scores, strata: grid.assign(scores))


def _by_class(predictions: Predictions, view: View) -> bool:
    """Return whether every entry is counted in its column, without weights."""
    every = view.notion == "classwise" and view.threshold is None and not view.pooled
    return every and predictions.kind == "multiclass" and predictions.weights is None


# --- warnings about cells that are too coarse: without them, a wrong number would look right --------------------------


MAX_HIDDEN_VARIANCE = 0.01  # share of the variance of logits within cells; above, slopes are wrong in the second digit
ROUNDING_OF_VARIANCE = 1e-10  # a variance below this times (mean score)^2 is rounding: the scores of the cell are equal
WHERE_CELLS_ARE_TOO_WIDE = "count with spacing='logit', or pass a Summary of 1-D scores, which has both grids"


def warn_caller(sentence: str, category: type[Warning]) -> None:
    """Warn at the line outside this package that made the call."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "believable":
        level, frame = level + 1, frame.f_back
    warnings.warn(sentence, category, stacklevel=level)


def warn_of_wide_cells(cells: CellStats) -> None:
    """Warn if logits differ within uniform cells, because scores are so close to 0 or 1 that cells are too wide.

    The variance of logits within a cell is that of its scores divided by (p (1 - p))^2. Its share of the variance of
    all logits, weighted by w p (1 - p), is what the cells lose.
    """
    if cells.grid.spacing == "logit":
        return
    p = np.clip(cells.conf, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
    information = cells.w * p * (1 - p)
    logit = np.log(p) - np.log1p(-p)
    between = float(np.average((logit - np.average(logit, weights=information)) ** 2, weights=information))
    within = float(np.average(_spread(cells) / (p * (1 - p)) ** 2, weights=information))
    if within > MAX_HIDDEN_VARIANCE * (within + between):
        warn_caller(
            f"scores are so close to 0 or 1 that {within / (within + between):.0%} of the variance of their logits is "
            f"lost within cells of the uniform grid of {cells.grid.n_cells:,}: {WHERE_CELLS_ARE_TOO_WIDE}",
            CoarseCellsWarning,
        )


def _spread(cells: CellStats) -> Float64s:
    """Return the variance of the scores within each cell; 0 if it is only rounding."""
    variance = np.maximum(cells.wpp / cells.w - cells.conf**2, 0)
    return np.where(variance > ROUNDING_OF_VARIANCE * cells.conf**2, variance, 0)
