"""One read of 1-D scores and outcomes; see the twins in `believable.kernels.binary_pass` and `logit_cells`."""

from __future__ import annotations

from typing import Any

import numpy as np

from believable._types import Array, Float64s, Floats, Ints
from believable.kernels._backend import TWINS, c
from believable.kernels.compiled.threads import in_parts, ranges
from believable.kernels.pass_sums import CellSums, PassGrid, PassSums, Sums

NAMES = (
    *("w", "w2", "wp", "wy", "brier", "nll", "correct", "confidence", "entropy", "spread", "spread_variance"),
    *("w2_squared", "deviation"),
)
PART = 1 << 16  # rows whose sums come as one: threads begin at whole parts, so their number does not change a bit
FEWER_ROWS = 2  # than codes, by this factor: sorting them is quicker than going through a table
AT_LEAST = 1 << 17  # rows for a thread
MOST_GRIDS, MOST_CODES = 8, 1 << 27  # that the C has room for


def binary_pass(scores: Floats, labels: Array, weights: Float64s | None, grids: tuple[PassGrid, ...] = ()) -> PassSums:
    if not _known(scores, labels, grids):
        made: PassSums = TWINS["binary_pass"][0](scores, labels, weights, grids)
        return made
    return _pass(scores, labels, weights, grids, np.zeros((-(-len(scores) // PART), len(NAMES))))


def binary_cells(scores: Floats, labels: Array, weights: Float64s | None, grids: tuple[PassGrid, ...]) -> PassSums:
    if not _known(scores, labels, grids):
        made: PassSums = TWINS["binary_cells"][0](scores, labels, weights, grids)
        return made
    return _pass(scores, labels, weights, grids, None)


def _known(scores: Floats, labels: Array, grids: tuple[PassGrid, ...]) -> bool:
    """Whether the C can count this."""
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
    few = n * FEWER_ROWS < n_codes
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
    cells = [_on_grid(found[:n_found], by_code[:n_found], grid.cells, width // 2, soft) for grid in grids]
    return PassSums({} if sums is None else _whole(n, sums), cells, True)


def _on_grid(found: Ints, by_code: Float64s, cells: Ints, moments: int, soft: bool) -> CellSums:
    n = c.cells_of_codes(found, by_code, cells)
    keys, (total, positive) = np.empty(n, np.int64), (out := np.empty((2, moments, n)))
    c.cells_of_codes(found, by_code, cells, keys, out, soft)
    return keys, total, positive


def _parts(n: int) -> list[tuple[int, int]]:
    """Ranges of rows, each from the beginning of a part."""
    if n < 2 * AT_LEAST:
        return [(0, n)]
    return [(start * PART, min(stop * PART, n)) for start, stop in ranges(-(-n // PART), AT_LEAST // PART)]


def _whole(n: int, parts: Float64s) -> Sums:
    """From parts to all rows; deviations from each part's mean to that of all (Chan et al. 1983)."""
    total = parts[0] if len(parts) == 1 else parts.sum(axis=0)
    sums: Sums = {"n": n, **dict(zip(NAMES, total.tolist(), strict=True))}
    if len(parts) > 1:
        w, wp, deviation = (parts[:, NAMES.index(name)] for name in ("w", "wp", "deviation"))
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
        ranges(len(scores), AT_LEAST),
    )
    return index.astype(np.intp, copy=False)
