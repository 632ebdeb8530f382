"""Moments and cells computed directly from the arrays, which are checked in the same pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from believable import _kernels
from believable._types import Ints
from believable.binning import LOGIT_REACH, Grid
from believable.predictions import Predictions, View
from believable.stats.counts import DENSE_CODES, better_sparse, from_moments
from believable.stats.sums import ScoreSums, from_pass


def read_once(
    predictions: Predictions, view: View, partition: _kernels.Partition, squares: bool
) -> _kernels.Moments | None:
    """Return the moments by (stratum, part) of a view; None if no kernel counts it, or another way is faster."""
    if view.threshold is not None or view.pooled or view.multilabel or predictions.label_kind == "f":
        return None
    if view.notion == "binary":
        count = partial(_kernels.bin_moments, partition=partition, squares=squares)
        if predictions.kind == "binary":
            return predictions.moments(count)
        return count(predictions.scores[:, 1], predictions.labels, predictions.weights)
    if view.notion == "top_label" and squares and better_sparse(predictions, view, partition.n_parts):
        return None
    if view.notion in ("confidence", "top_label", "classwise"):
        return _matrix_moments(predictions, view, partition, squares)
    return None


def _matrix_moments(
    predictions: Predictions, view: View, partition: _kernels.Partition, squares: bool
) -> _kernels.Moments | None:
    """Return the moments of a matrix with one label per row: of its largest entries, or of all entries by class."""
    if view.notion == "classwise":
        count = partial(_kernels.classwise_moments, partition=partition, squares=squares)
    else:
        by_class = view.notion == "top_label"
        count = partial(_kernels.top_moments, partition=partition, squares=squares, by_class=by_class)
    return predictions.row_moments(count)


# --- sums and cells of 1-D scores from one pass, on several grids at once, with `_kernels.binary_pass` ----------------


def fits(predictions: Predictions, views: Sequence[tuple[View, Grid]]) -> bool:
    """Return whether one pass can count these views."""
    known = predictions.kind == "binary" and all(replace(view, are_pairs=False) == View("binary") for view, _ in views)
    return known and _n_codes([grid for _, grid in views]) <= DENSE_CODES


def sums_and_cells(predictions: Predictions, grids: tuple[Grid, ...]) -> tuple[ScoreSums, list[dict[str, Any]]]:
    """Return the score sums, and the key, n and sums of `Counts` on each grid; unchecked rows are checked."""
    passed = predictions.moments(partial(_kernels.binary_pass, grids=pass_grids(grids))) or _kernels.PassSums.invalid()
    found = from_pass(passed.sums)
    sums = predictions.remember("sums", found.as_pairs() if predictions.are_pairs else found)
    return sums, [from_moments(*one) for one in passed.cells]


def cells_on(predictions: Predictions, grid: Grid) -> dict[str, Any]:
    """Return only the key, n and sums of `Counts`, on one grid."""
    passed = (
        predictions.moments(partial(_kernels.binary_cells, grids=pass_grids((grid,)))) or _kernels.PassSums.invalid()
    )
    return from_moments(*passed.cells[0])


def _n_codes(grids: Sequence[Grid]) -> int:
    """Return the number of codes: one for each possible sum of cell numbers, from 0 up, and for each of two labels."""
    return 2 * (sum(grid.n_cells + 1 for grid in grids) + 1)


@lru_cache(maxsize=8)
def pass_grids(grids: tuple[Grid, ...]) -> tuple[_kernels.PassGrid, ...]:
    """Return the grids with the tables that a pass uses."""
    return tuple(
        _kernels.PassGrid(
            edges=grid.inner_edges().astype(np.float64),
            near_one=grid.near_one() if grid.spacing == "logit" else None,
            reach=LOGIT_REACH,
            searched=grid.spacing == "logit" and grid.n_cells > _kernels.MOST_LOGIT_CELLS,
            cells=cells.astype(np.int32),
            place=grid.place,
        )
        for grid, cells in zip(grids, cells_of_sums(grids), strict=True)
    )


@lru_cache(maxsize=8)
def cells_of_sums(grids: tuple[Grid, ...]) -> tuple[Ints, ...]:
    """Return the cell on each grid for every sum of cell numbers: sorted edges say which grid's cell grows next."""
    bounds = [grid.lower_bounds() for grid in grids]
    owner = np.repeat(np.arange(len(grids)), [len(values) for values in bounds])
    owner = owner[np.argsort(np.concatenate(bounds), kind="stable")]
    return tuple(np.concatenate([[0], np.cumsum(owner == k, dtype=np.intp)]) for k in range(len(grids)))
