"""Sums and cells of 1-D scores from one pass, on several grids at once, by way of `kernels.binary_pass`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from believable import kernels
from believable._types import Ints
from believable.binning import LOGIT_REACH, Grid
from believable.predictions import Predictions
from believable.stats.counts import DENSE_CODES, from_moments
from believable.stats.sums import ScoreSums, from_pass
from believable.views import View


def fits(predictions: Predictions, views: Sequence[tuple[View, Grid]]) -> bool:
    """Whether this file can count what is asked."""
    known = predictions.kind == "binary" and all(view == View("binary") for view, _ in views)
    return known and _n_codes([grid for _, grid in views]) <= DENSE_CODES


def sums_and_cells(predictions: Predictions, grids: tuple[Grid, ...]) -> tuple[ScoreSums, list[dict[str, Any]]]:
    """The score sums, and the key, n and sums of `Counts` on each grid; rows that were not looked at are checked."""
    passed = predictions.moments(partial(kernels.binary_pass, grids=pass_grids(grids))) or kernels.PassSums.invalid()
    predictions._counted["sums"] = sums = from_pass(passed.sums)
    return sums, [from_moments(*one) for one in passed.cells]


def cells_on(predictions: Predictions, grid: Grid) -> dict[str, Any]:
    """The key, n and sums of `Counts` alone, on one grid."""
    passed = predictions.moments(partial(kernels.binary_cells, grids=pass_grids((grid,)))) or kernels.PassSums.invalid()
    return from_moments(*passed.cells[0])


def _n_codes(grids: Sequence[Grid]) -> int:
    """Sums of cells go from 0 to the sum of the last ones; each with two labels."""
    return 2 * (sum(grid.n_cells + 1 for grid in grids) + 1)


@lru_cache(maxsize=8)
def pass_grids(grids: tuple[Grid, ...]) -> tuple[kernels.PassGrid, ...]:
    """The grids with what a pass looks up."""
    return tuple(
        kernels.PassGrid(
            edges=grid.inner_edges().astype(np.float64),
            near_one=grid.near_one() if grid.spacing == "logit" else None,
            reach=LOGIT_REACH,
            searched=grid.spacing == "logit" and grid.n_cells > kernels.MOST_LOGIT_CELLS,
            cells=cells.astype(np.int32),
            place=grid.place,
        )
        for grid, cells in zip(grids, cells_of_sums(grids), strict=True)
    )


@lru_cache(maxsize=8)
def cells_of_sums(grids: tuple[Grid, ...]) -> tuple[Ints, ...]:
    """The cell on each grid behind every sum of cells: as scores grow, whose edge is passed next."""
    bounds = [grid.lower_bounds() for grid in grids]
    owner = np.repeat(np.arange(len(grids)), [len(values) for values in bounds])
    owner = owner[np.argsort(np.concatenate(bounds), kind="stable")]
    return tuple(np.concatenate([[0], np.cumsum(owner == k)]) for k in range(len(grids)))
