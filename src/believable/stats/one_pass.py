"""Sums and cells of 1-D scores with 0/1 labels from one pass, on several grids at once.

A row's cell grows with its score on every grid, so the sum of its cells tells each of them: rows are counted by that
sum, once, and the counts are then added up to every grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from believable import kernels
from believable._types import Float64s, Ints
from believable.binning import Grid
from believable.predictions import Predictions
from believable.stats.counts import DENSE_CODES, FEWER_PAIRS, from_moments
from believable.stats.sums import ScoreSums, from_pass
from believable.views import View

ROWS = 1 << 19  # counted together: fewer would spend their time on the table, more would round more


def fits(predictions: Predictions, views: Sequence[tuple[View, Grid]]) -> bool:
    """Whether this file can count what is asked."""
    plain = predictions.kind == "binary" and predictions.weights is None and predictions.labels.dtype.kind in "iu"
    known = all(view == View("binary") for view, _ in views)
    return plain and known and _n_codes([grid for _, grid in views]) <= DENSE_CODES


def sums_and_cells(predictions: Predictions, grids: tuple[Grid, ...]) -> tuple[ScoreSums, list[dict[str, Any]]]:
    """The score sums, and the key, n and sums of `Counts` on each grid."""
    n, n_codes = len(predictions), _n_codes(grids)
    step = min(n, ROWS)
    p, code = np.empty(step), np.empty(step, np.intp)
    over = kernels.BinaryPass([grid.place for grid in grids], [grid.n_cells + 1 for grid in grids])
    if n * FEWER_PAIRS < n_codes and n <= ROWS:
        over.over_cells(predictions.scores, predictions.labels, p, code)
        found, inverse = np.unique(code // 2, return_inverse=True)
        code = 2 * inverse + code % 2
        table = np.array([np.bincount(code, term, 2 * len(found)) for term in (None, p, p * p)], np.float64)
    else:
        found, table = None, np.zeros((3, n_codes))
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            p, code = p[: rows.stop - start], code[: rows.stop - start]
            over.over_cells(predictions.scores[rows], predictions.labels[rows], p, code)
            table[0] += np.bincount(code, None, n_codes)
            table[1] += np.bincount(code, p, n_codes)
            p *= p
            table[2] += np.bincount(code, p, n_codes)
    predictions._counted["sums"] = sums = from_pass(n, over.sums())
    return sums, _on_each_grid(found, table.reshape(3, -1, 2), grids)


def _n_codes(grids: Sequence[Grid]) -> int:
    """Sums of cells go from 0 to the sum of the last ones; each with two labels."""
    return 2 * (sum(grid.n_cells + 1 for grid in grids) + 1)


def _on_each_grid(found: Ints | None, split: Float64s, grids: tuple[Grid, ...]) -> list[dict[str, Any]]:
    """From moments by (sum of cells, label) to those by cell; `found` are the sums listed, None if all are."""
    positive = np.ascontiguousarray(split[:, :, 1])
    total = split[:, :, 0] + positive
    made = []
    for cell, grid in zip(cells_of_sums(grids), grids, strict=True):
        if found is None:
            keys, entry = np.arange(len(grid)), cell
        else:
            keys, entry = np.unique(cell[found], return_inverse=True)
        by_cell = [[np.bincount(entry, term, len(keys)) for term in terms] for terms in (total, positive)]
        made.append(from_moments(keys, *np.array(by_cell)))
    return made


@lru_cache(maxsize=8)
def cells_of_sums(grids: tuple[Grid, ...]) -> tuple[Ints, ...]:
    """The cell on each grid behind every sum of cells: as scores grow, whose edge is passed next."""
    bounds = [grid.lower_bounds() for grid in grids]
    owner = np.repeat(np.arange(len(grids)), [len(values) for values in bounds])
    owner = owner[np.argsort(np.concatenate(bounds), kind="stable")]
    return tuple(np.concatenate([[0], np.cumsum(owner == k)]) for k in range(len(grids)))
