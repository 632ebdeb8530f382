"""The largest entries of each row, and the extremes of all entries."""

from __future__ import annotations

import numpy as np

from believable._kernels.compiled.threads import in_parts, ranges
from believable._kernels.twins import TWINS, c
from believable._types import Array, Floats, Ints

ROW_ENTRIES_PER_THREAD = 1 << 18
MOST_RANKS = 64  # for more ranks, sorting is faster than keeping a list


def extrema(values: Array) -> tuple[float, float]:
    flat = values if values.flags.c_contiguous else values.T  # the order does not matter here
    if not _taken(flat, "bBhHiIlLqQfd?"):
        low, high = TWINS["extrema"][0](values)
        return low, high
    if flat.size < 2 * ROW_ENTRIES_PER_THREAD:
        found: tuple[float, float] = c.extremes(flat, 0, flat.size)
        return found
    parts = ranges(flat.size, ROW_ENTRIES_PER_THREAD)
    return _widest(in_parts(lambda _, start, stop: c.extremes(flat, start, stop), parts))


def row_sum_extrema(matrix: Floats) -> tuple[float, float]:
    if not _taken(matrix, "fd"):
        low, high = TWINS["row_sum_extrema"][0](matrix)
        return low, high
    width = matrix.shape[1]
    parts = ranges(len(matrix), 1 + ROW_ENTRIES_PER_THREAD // width)
    return _widest(in_parts(lambda _, i, j: c.row_sum_extremes(matrix[i:j], j - i, width), parts))


def top_one(matrix: Floats) -> tuple[Floats, Ints]:
    top, column = _largest(matrix, 1)
    return top[:, 0], column[:, 0]


def top_hit(matrix: Floats, labels: Ints) -> tuple[Floats, Array]:
    top, column = top_one(matrix)
    return top, column == labels


def top_ranked(matrix: Floats, r: int) -> tuple[Floats, Ints]:
    if min(r, matrix.shape[1]) > MOST_RANKS:
        scores, columns = TWINS["top_ranked"][0](matrix, r)
        return scores, columns
    return _largest(matrix, r)


def _taken(array: Array, types: str) -> bool:
    """Return whether C accepts this array without a copy."""
    return array.flags.c_contiguous and array.dtype.char in types and array.dtype.isnative and array.size > 0


def _largest(matrix: Floats, r: int) -> tuple[Floats, Ints]:
    if not _taken(matrix, "fd"):
        matrix = np.ascontiguousarray(matrix, None if matrix.dtype == np.float32 else np.float64)
    n, width = matrix.shape
    r = min(r, width)
    scores, columns = np.empty((n, r), matrix.dtype), np.empty((n, r), np.int64)

    def work(_: int, i: int, j: int) -> None:
        c.largest(matrix[i:j], scores[i:j], columns[i:j], j - i, width, r)

    in_parts(work, ranges(n, 1 + ROW_ENTRIES_PER_THREAD // width))
    return scores, columns


def _widest(found: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the extremes over several ranges; NaN if one of them is."""
    low, high = np.array(found).T
    return float(low.min()), float(high.max())
