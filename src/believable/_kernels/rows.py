"""Blocks of rows, and the extremes and largest entries of rows.

Every kernel works on blocks of rows that fit in the processor's cache, so that extra memory does not grow with the
data, and accumulates in float64, whatever the dtype of the input.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from believable._kernels.compiled import rows as compiled
from believable._kernels.twins import twin
from believable._types import Array, Floats, Ints

VECTOR_BLOCK = 1 << 15  # rows per block of a vector
MATRIX_BLOCK = 1 << 18  # entries per block of a matrix
FEW_COLUMNS = 32  # blocks of no more columns are transposed, because long rows vectorise and short ones do not
FEW_RANKS = 8  # for no more ranks, repeated argmax is faster than sorting


def row_blocks(n: int, width: int = 1, at_least: int = 0) -> Iterator[slice]:
    """Yield slices that cover n rows of the given width, each small enough for the cache (or of the length given)."""
    step = max(at_least, VECTOR_BLOCK if width == 1 else max(1, MATRIX_BLOCK // width))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


@twin(compiled.extrema)
def extrema(values: Array) -> tuple[float, float]:
    """Return the smallest and largest entry; a NaN anywhere makes both NaN."""
    low, high = np.inf, -np.inf
    width = values.shape[1] if values.ndim == 2 else 1
    for rows in row_blocks(len(values), width):
        block = values[rows]
        low, high = np.minimum(low, block.min()), np.maximum(high, block.max())
    return float(low), float(high)


@twin(compiled.row_sum_extrema)
def row_sum_extrema(matrix: Floats) -> tuple[float, float]:
    """Return the smallest and largest row sum."""
    low, high = np.inf, -np.inf
    ones = np.ones(matrix.shape[1], matrix.dtype)
    for rows in row_blocks(*matrix.shape):
        sums = matrix[rows] @ ones
        low, high = np.minimum(low, sums.min()), np.maximum(high, sums.max())
    return float(low), float(high)


def label_scores(matrix: Floats, labels: Ints) -> Floats:
    """Return the entry of each row at its label."""
    result: Floats = matrix[np.arange(len(matrix)), labels]
    return result


@twin(compiled.top_one)
def top_one(matrix: Floats) -> tuple[Floats, Ints]:
    """Return the largest entry of each row and its column; ties go to the lowest column."""
    column = matrix.argmax(axis=1)
    return label_scores(matrix, column), column


@twin(compiled.top_hit)
def top_hit(matrix: Floats, labels: Ints) -> tuple[Floats, Array]:
    """Return the largest entry of each row, and whether its column is the label; ties go to the lowest column.

    For few columns, argmax is slow and not needed: the label wins if its entry is the largest and no tie comes before.
    """
    if matrix.shape[1] > FEW_COLUMNS:
        top, column = top_one(matrix)
        return top, column == labels
    columns = np.ascontiguousarray(matrix.T)
    top = columns.max(axis=0)
    hit = columns[labels, np.arange(len(labels))] == top
    n_largest = np.add.reduce((columns == top).view(np.uint8), axis=0, dtype=np.uint8)
    tied = np.flatnonzero(hit & (n_largest > 1))
    hit[tied] = matrix[tied].argmax(axis=1) == labels[tied]
    return top, hit


@twin(compiled.top_ranked)
def top_ranked(matrix: Floats, r: int) -> tuple[Floats, Ints]:
    """Return the r largest entries of each row, descending, and their columns; ties go to the lower column first."""
    n, width = matrix.shape
    if r > FEW_RANKS:
        column = np.argsort(-matrix, axis=1, kind="stable")[:, :r]
        return np.take_along_axis(matrix, column, axis=1), column
    rows = np.arange(n)
    left = matrix.copy()
    column = np.empty((n, min(r, width)), np.intp)
    for j in range(column.shape[1]):
        column[:, j] = left.argmax(axis=1)
        left[rows, column[:, j]] = -1
    return np.take_along_axis(matrix, column, axis=1), column
