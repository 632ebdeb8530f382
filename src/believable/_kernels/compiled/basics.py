"""The largest entries of each row, and what is smallest and largest of all."""

from __future__ import annotations

import numpy as np

from believable._kernels.compiled.threads import in_parts, ranges
from believable._kernels.twins import TWINS, c
from believable._types import Array, Float64s, Floats, Ints

ENTRIES_PER_THREAD = 1 << 18
MOST_RANKS = 64  # above, sorting beats keeping a list


def extrema(values: Array) -> tuple[float, float]:
    flat = values if values.flags.c_contiguous else values.T  # the order does not matter here
    if not _taken(flat, "bBhHiIlLqQfd?"):
        low, high = TWINS["extrema"][0](values)
        return low, high
    if flat.size < 2 * ENTRIES_PER_THREAD:
        found: tuple[float, float] = c.extremes(flat, 0, flat.size)
        return found
    parts = ranges(flat.size, ENTRIES_PER_THREAD)
    return _widest(in_parts(lambda _, start, stop: c.extremes(flat, start, stop), parts))


def row_sum_extrema(matrix: Floats) -> tuple[float, float]:
    if not _taken(matrix, "fd"):
        low, high = TWINS["row_sum_extrema"][0](matrix)
        return low, high
    width = matrix.shape[1]
    parts = ranges(len(matrix), 1 + ENTRIES_PER_THREAD // width)
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
    """Whether C takes this array as it is."""
    return array.flags.c_contiguous and array.dtype.char in types and array.dtype.isnative and array.size > 0


def _largest(matrix: Floats, r: int) -> tuple[Floats, Ints]:
    if not _taken(matrix, "fd"):
        matrix = np.ascontiguousarray(matrix, None if matrix.dtype == np.float32 else np.float64)
    n, width = matrix.shape
    r = min(r, width)
    scores, columns = np.empty((n, r), matrix.dtype), np.empty((n, r), np.int64)

    def work(_: int, i: int, j: int) -> None:
        c.largest(matrix[i:j], scores[i:j], columns[i:j], j - i, width, r)

    in_parts(work, ranges(n, 1 + ENTRIES_PER_THREAD // width))
    return scores, columns


def _widest(found: list[tuple[float, float]]) -> tuple[float, float]:
    """The extremes of several; NaN if one of them is."""
    low, high = np.array(found).T
    return float(low.min()), float(high.max())


# --- probabilities of logits, in C ------------------------------------------------------------------------------------


ENTRIES = 1 << 15  # that are worth a thread of their own


def plain(logits: Array) -> Floats:
    """In C order, of float32 or float64."""
    return np.ascontiguousarray(logits, np.float32 if logits.dtype == np.float32 else np.float64)


def of_rows(logits: Array, temperature: float) -> Float64s:
    """softmax(z / T) by row."""
    logits = plain(logits)
    n, width = logits.shape
    result = np.empty((n, width))
    if result.size:
        in_parts(
            lambda _, start, stop: c.softmax(logits, result, temperature, width, start, stop),
            ranges(n, max(1, ENTRIES // width)),
        )
    return result


def softmax(logits: Array) -> Float64s:
    return of_rows(logits, 1.0)


def sigmoid(logits: Array) -> Float64s:
    z = np.asarray(logits, np.float64, order="C")
    result = np.empty(z.shape)
    if z.size < 2 * ENTRIES:
        c.sigmoids(z, result)
        return result
    flat, out = z.ravel(), result.ravel()
    in_parts(lambda _, start, stop: c.sigmoids(flat[start:stop], out[start:stop]), ranges(len(flat), ENTRIES))
    return result


# --- rows put into cells along a line, and found again by their cell --------------------------------------------------


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
