"""Moments of 1-D scores by bin, from one pass over the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from believable._kernels.bins import LOOKUP_CELLS
from believable._kernels.compiled.threads import in_parts, ranges
from believable._kernels.partition import CellSums, Moments, Partition, PassGrid, PassSums, Sums
from believable._kernels.sums import n_moments
from believable._kernels.twins import TWINS, c
from believable._types import Array, Float64s, Floats, Ints

COUNTED_ROWS_PER_THREAD = 1 << 16
COPIED_ROWS = 1 << 18  # rows copied at a time if they are not contiguous
UNIFORM, TABLE, SEARCH = 0, 1, 2  # as in bins.h
MOST_FLOAT32_INTEGERS = 1 << 24  # float32 distinguishes whole numbers up to this


def bin_moments(scores: Floats, labels: Array, weights: Array | None, partition: Partition, squares: bool) -> Moments:
    n, n_parts = len(scores), partition.n_parts
    kind, first = how_to_find(partition, n)
    parts = ranges(n, max(COUNTED_ROWS_PER_THREAD, n_parts))
    tables = np.zeros((len(parts), 2, n_moments(weights is not None, squares), n_parts))
    together = all(array is None or array.flags.c_contiguous for array in (scores, labels, weights))
    given, choices = (scores, labels, weights), (kind, partition.apart, squares)

    def count(part: int, start: int, stop: int) -> bool:
        if together:
            return bool(c.bin_sums(*given, partition.edges, first, tables[part], *choices, start, stop))
        for at in range(start, stop, COPIED_ROWS):
            rows = slice(at, min(at + COPIED_ROWS, stop))
            here = [array if array is None else np.ascontiguousarray(array[rows]) for array in given]
            if c.bin_sums(*here, partition.edges, first, tables[part], *choices, 0, rows.stop - at):
                return True
        return False

    if any(in_parts(count, parts)):
        return Moments.invalid()
    total, positive = tables[0] if len(parts) == 1 else tables.sum(axis=0)
    return Moments(total, positive, True)


def how_to_find(partition: Partition, n: int) -> tuple[int, Array | None]:
    """Return the method of bins.h that finds the bin of a score, and its table, which is not worth it for few rows."""
    edges = partition.edges
    if partition.uniform and (edges.dtype == np.float64 or len(edges) <= MOST_FLOAT32_INTEGERS):
        return UNIFORM, None
    if n < LOOKUP_CELLS:
        return SEARCH, None
    return TABLE, partition.first()


# --- One pass over 1-D scores and outcomes ----------------------------------------------------------------------------


BINARY_SUM_NAMES = (
    *("w", "w2", "wp", "wy", "brier", "nll", "correct", "confidence", "entropy", "spread", "spread_variance"),
    *("w2_squared", "deviation"),
)
ROWS_OF_A_PART = 1 << 16  # rows summed as one part; threads start at whole parts, so their number changes nothing
CODES_PER_ROW_FOR_SORTING = 2  # from this many codes per row, sorting the codes is faster than scanning a table
PASS_ROWS_PER_THREAD = 1 << 17
CODES_PER_THREAD = 1 << 14  # codes whose conversion to cells justifies a thread
MOST_GRIDS, MOST_CODES = 8, 1 << 27  # limits of the arrays in C


def binary_pass(scores: Floats, labels: Array, weights: Float64s | None, grids: tuple[PassGrid, ...] = ()) -> PassSums:
    if not _known(scores, labels, grids):
        made: PassSums = TWINS["binary_pass"][0](scores, labels, weights, grids)
        return made
    return _pass(scores, labels, weights, grids, np.zeros((-(-len(scores) // ROWS_OF_A_PART), len(BINARY_SUM_NAMES))))


def binary_cells(scores: Floats, labels: Array, weights: Float64s | None, grids: tuple[PassGrid, ...]) -> PassSums:
    if not _known(scores, labels, grids):
        made: PassSums = TWINS["binary_cells"][0](scores, labels, weights, grids)
        return made
    return _pass(scores, labels, weights, grids, None)


def _known(scores: Floats, labels: Array, grids: tuple[PassGrid, ...]) -> bool:
    """Return whether the C code supports this input."""
    few = len(grids) <= MOST_GRIDS and sum(len(grid.edges) for grid in grids) < MOST_CODES
    native = scores.dtype.isnative and labels.dtype.isnative and labels.dtype.char not in "eg"
    return few and native and not any(grid.searched for grid in grids)


def _pass(
    scores: Floats, labels: Array, weights: Float64s | None, grids: tuple[PassGrid, ...], sums: Float64s | None
) -> PassSums:
    n, n_codes, width = len(scores), sum(len(grid.edges) for grid in grids) + 1, 6 if weights is None else 14
    scores, labels = np.ascontiguousarray(scores), np.ascontiguousarray(labels)
    weights = None if weights is None else np.ascontiguousarray(weights)
    given = [part for grid in grids for part in (grid.edges, grid.near_one, grid.reach)]
    few = n * CODES_PER_ROW_FOR_SORTING < n_codes
    parts = [(0, n)] if few else _parts(n)
    codes = np.empty(n, np.intc) if few else None
    tables = np.zeros((2 * len(parts), n_codes, width)) if grids and not few else [None] * (2 * len(parts))
    spilled = in_parts(
        lambda part, start, stop: c.binary_pass(
            scores, labels, weights, sums, tables[part], tables[len(parts) + part], codes, start, stop, *given
        ),
        parts,
    )
    if min(spilled) < 0:
        return PassSums.invalid()
    found: Any = np.empty(n if few else n_codes, np.intc)
    by_code: Any = None
    if few:
        by_code = np.empty((n, width))
        n_found = c.sum_by_code(codes, scores, labels, weights, found, by_code)
    elif grids:
        by_code, n_tables = tables[0], len(tables) if any(spilled) else len(parts)
        n_found = c.occupied(tables[:n_tables], found, n_tables)
    soft = labels.dtype.kind == "f"
    if len(grids) == 1:  # a code is a cell
        cells = [_by_cell(found[:n_found], by_code[:n_found].reshape(n_found, 2, width // 2), soft)]
    else:
        cells = [_on_grid(found[:n_found], by_code[:n_found], grid.cells, width // 2, soft) for grid in grids]
    return PassSums({} if sums is None else _whole(n, sums), cells, True)


def _by_cell(found: Ints, by_code: Float64s, soft: bool) -> CellSums:
    positive = np.ascontiguousarray(by_code[:, 1].T)
    total = np.ascontiguousarray(by_code[:, 0].T) if soft else by_code[:, 0].T + positive
    return found.astype(np.int64), total, positive


def _on_grid(found: Ints, by_code: Float64s, cells: Ints, moments: int, soft: bool) -> CellSums:
    n = c.cells_of_codes(found, by_code, cells)
    keys, (total, positive) = np.empty(n, np.int64), (out := np.empty((2, moments, n)))
    c.cells_of_codes(found, by_code, cells, keys, out, soft)
    return keys, total, positive


def cells_of_table(table: Float64s, cells: tuple[Ints, ...]) -> list[CellSums]:
    n_codes, _, moments = table.shape
    (found,) = (table[:, 0, 0] + table[:, 1, 0]).nonzero()
    by_code = table.reshape(n_codes, 2 * moments)
    by_code = np.ascontiguousarray(by_code) if len(found) == n_codes else by_code[found]
    codes: Any = found.astype(np.intc)
    work = ranges(len(cells), 1 if len(found) >= CODES_PER_THREAD else len(cells))
    made = in_parts(
        lambda _, first, last: [_on_grid(codes, by_code, of_codes, moments, False) for of_codes in cells[first:last]],
        work,
    )
    return [of_grid for part in made for of_grid in part]


def _parts(n: int) -> list[tuple[int, int]]:
    """Return ranges of rows, each starting at a part."""
    if n < 2 * PASS_ROWS_PER_THREAD:
        return [(0, n)]
    return [
        (start * ROWS_OF_A_PART, min(stop * ROWS_OF_A_PART, n))
        for start, stop in ranges(-(-n // ROWS_OF_A_PART), PASS_ROWS_PER_THREAD // ROWS_OF_A_PART)
    ]


def _whole(n: int, parts: Float64s) -> Sums:
    """Add the parts; deviations are converted to those from the mean of all rows (Chan et al. 1983)."""
    total = parts[0] if len(parts) == 1 else parts.sum(axis=0)
    sums: Sums = {"n": n, **dict(zip(BINARY_SUM_NAMES, total.tolist(), strict=True))}
    if len(parts) > 1:
        w, wp, deviation = (parts[:, BINARY_SUM_NAMES.index(name)] for name in ("w", "wp", "deviation"))
        moved = deviation + w * (wp / w - sums["wp"] / sums["w"]) ** 2
        sums["deviation"] = float(moved.sum())
    return sums


def logit_index(scores: Floats, edges: Floats, table: Array, reach: float) -> Ints:
    if not scores.dtype.isnative or len(edges) >= MOST_CODES:
        found: Ints = TWINS["logit_index"][0](scores, edges, table, reach)
        return found
    scores, wide = np.ascontiguousarray(scores), np.ascontiguousarray(edges, np.float64)
    index = np.empty(len(scores), np.int64)
    in_parts(
        lambda part, start, stop: c.logit_index(scores, wide, table, index, reach, start, stop),
        ranges(len(scores), PASS_ROWS_PER_THREAD),
    )
    return index.astype(np.intp, copy=False)
