"""Isotonic regression in C; rows of replicates are divided among threads."""

from __future__ import annotations

import numpy as np

from believable._kernels.compiled.bins import rows_wanted
from believable._kernels.compiled.threads import in_parts, ranges
from believable._kernels.twins import c
from believable._types import Array, Float64s, Ints

POOLED_ROWS_PER_THREAD = 1 << 15


def pav(w: Float64s, wy: Float64s) -> Float64s:
    fitted = np.empty(len(w))
    _pooled(w, wy, None, fitted)
    return fitted


def pav_blocks(w: Float64s, wy: Float64s) -> tuple[Ints, Float64s]:
    starts, value = np.empty(len(w), np.int64), np.empty(len(w))
    n = _pooled(w, wy, starts, value)
    return starts[:n].astype(np.intp), value[:n].copy()


def _pooled(w: Float64s, wy: Float64s, starts: Ints | None, value: Float64s) -> int:
    """Pool points in ranges, then the blocks of the ranges like points; the result does not depend on the ranges."""
    w, wy = np.ascontiguousarray(w, np.float64), np.ascontiguousarray(wy, np.float64)
    blocks = np.empty((len(w), 4))
    parts = ranges(len(w), POOLED_ROWS_PER_THREAD)
    found = in_parts(lambda _, start, stop: (start, c.pav_pool(w, wy, blocks, start, stop)), parts)
    return int(c.pav_join(w, wy, blocks, np.array(found, np.int64), starts, value))


def pav_rows(x: Float64s, w: Float64s, wy: Float64s) -> Float64s:
    x, w, wy = (np.ascontiguousarray(values, np.float64) for values in (x, w, wy))
    if w.ndim == 2 and len(w) != len(wy):
        w = np.broadcast_to(w, wy.shape).copy()
    fitted = np.empty_like(wy)
    parts = ranges(len(wy), POOLED_ROWS_PER_THREAD // len(x) + 1)
    if not all(in_parts(lambda _, start, stop: c.pav_rows(x, w, wy, fitted, start, stop), parts)):
        raise ValueError("a row without any weight has no fit")
    return fitted


def rows_of_cells(cell: Array, wanted: Array) -> Ints:
    return rows_wanted(np.ascontiguousarray(cell, np.int32), wanted)


def cell_sums(
    score: Float64s, w: Float64s, wy: Float64s, ends: tuple[float, float], n_cells: int
) -> tuple[Array, Float64s]:
    score, w, wy = (np.ascontiguousarray(values, np.float64) for values in (score, w, wy))
    low, high = ends
    scale = (n_cells - 1) / (high - low)
    cell = np.empty(len(score), np.int32)
    parts = ranges(len(score), POOLED_ROWS_PER_THREAD)
    sums = np.zeros((len(parts), n_cells, 2, 3))
    in_parts(lambda part, *rows: c.cell_sums(score, w, wy, cell, sums[part], low, high, scale, *rows), parts)
    total = sums.sum(axis=0)
    return cell, np.ascontiguousarray((total[:, 0] - total[:, 1]).T)
