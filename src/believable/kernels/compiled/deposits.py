"""Rows put into cells along a line, and found again by their cell."""

from __future__ import annotations

import numpy as np

from believable._types import Array, Float64s, Floats, Ints
from believable.kernels._backend import TWINS, c
from believable.kernels.compiled.threads import in_parts, ranges

FEW = 1 << 15  # rows that are not worth a thread
CELLS = 1 << 12  # of [0, 1]


def cell_weights(scores: Floats, weights: Array | None) -> Float64s:
    if scores.dtype.char not in "fd":
        return TWINS["cell_weights"][0](scores, weights)  # type: ignore[no-any-return]
    scores = np.ascontiguousarray(scores)
    weights = None if weights is None else np.ascontiguousarray(weights, np.float64)
    parts = ranges(len(scores), FEW)
    found = np.zeros((len(parts), CELLS + 1))
    in_parts(lambda part, *rows: c.cell_weights(scores, weights, found[part], *rows), parts)
    return np.asarray(found.sum(axis=0))


def rows_in_cells(scores: Floats, wanted: Array) -> Ints:
    if scores.dtype.char not in "fd":
        return TWINS["rows_in_cells"][0](scores, wanted)  # type: ignore[no-any-return]
    return _rows(np.ascontiguousarray(scores), wanted)


def rows_of_cells(cell: Array, wanted: Array) -> Ints:
    return _rows(np.ascontiguousarray(cell, np.int32), wanted)


def _rows(scores: Array, wanted: Array) -> Ints:
    wanted = np.ascontiguousarray(wanted, bool).view(np.uint8)
    found = np.empty(len(scores), np.int64)  # most of which is never touched
    parts = ranges(len(scores), FEW)
    counts = in_parts(lambda _, *rows: c.rows_in_cells(scores, wanted, found, *rows), parts)
    kept = [found[start : start + n] for (start, _), n in zip(parts, counts, strict=True)]
    return np.concatenate(kept).astype(np.intp, copy=False)


def cell_sums(
    score: Float64s, w: Float64s, wy: Float64s, ends: tuple[float, float], n_cells: int
) -> tuple[Array, Float64s]:
    score, w, wy = (np.ascontiguousarray(values, np.float64) for values in (score, w, wy))
    low, high = ends
    scale = (n_cells - 1) / (high - low)
    cell = np.empty(len(score), np.int32)
    parts = ranges(len(score), FEW)
    sums = np.zeros((len(parts), n_cells, 2, 3))
    in_parts(lambda part, *rows: c.cell_sums(score, w, wy, cell, sums[part], low, high, scale, *rows), parts)
    total = sums.sum(axis=0)
    return cell, np.ascontiguousarray((total[:, 0] - total[:, 1]).T)


def spread(score: Floats, excess: Array, nodes: int) -> Float64s:
    score = np.ascontiguousarray(score, np.float32 if score.dtype == np.float32 else np.float64)
    grid = np.zeros(nodes + 2)
    c.share_out(score, np.ascontiguousarray(excess, np.float64), grid)
    return grid[:-1]
