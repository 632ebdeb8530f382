"""Moments of a matrix with one label to a row, with a check of every row on the way."""

from __future__ import annotations

from functools import partial

import numpy as np

from believable._types import Array, Float64s, Floats
from believable.kernels._backend import twin
from believable.kernels.classwise_cells import classwise_cells
from believable.kernels.compiled import matrix as compiled
from believable.kernels.partition import Moments, Partition
from believable.kernels.reference import (
    classwise_sums,
    extrema,
    n_moments,
    pair_sums,
    row_blocks,
    row_sum_extrema,
    top_hit,
    top_one,
)

ROWS_PER_CODE, MOST_ROWS = 8, 1 << 20  # blocks much shorter than the table of sums would spend their time adding it


@twin(compiled.top_moments)
def top_moments(
    matrix: Floats,
    labels: Array,
    weights: Array | None,
    partition: Partition,
    squares: bool,
    by_class: bool,
    tolerance: float,
) -> Moments:
    """Moments of the largest entry of each row and whether its column is the label; ties go to the lowest column.

    Codes are parts, or column * parts + part. The moments are invalid if an entry is not in [0, 1], a label is no
    column, or the sum of a row, which may be rounded to the type of the matrix, is not within the tolerance of 1. An
    infinite tolerance leaves sums alone.
    """
    n, width = matrix.shape
    n_codes = partition.n_parts * (width if by_class else 1)
    total, positive = _zeros(weights, squares, n_codes)
    for stretch in row_blocks(n, 1, min(ROWS_PER_CODE * n_codes, MOST_ROWS)):
        top = np.empty(stretch.stop - stretch.start, matrix.dtype)
        hit, code = np.empty(len(top), bool), np.zeros(len(top), np.intp)
        for here in row_blocks(len(top), width):
            rows = slice(stretch.start + here.start, stretch.start + here.stop)
            if not well_formed(matrix[rows], labels[rows], tolerance):
                return Moments.invalid()
            if by_class:
                top[here], column = top_one(matrix[rows])
                hit[here] = column == labels[rows]
                code[here] = column * partition.n_parts
            else:
                top[here], hit[here] = top_hit(matrix[rows], labels[rows])
        code += partition.place(top)
        weight = None if weights is None else weights[stretch]
        stretch_total, stretch_positive = pair_sums(code, n_codes, top, hit, weight, squares)
        total += stretch_total
        positive += stretch_positive
    return Moments(total, positive, True)


@twin(compiled.classwise_moments)
def classwise_moments(
    matrix: Floats,
    labels: Array,
    weights: Array | None,
    partition: Partition,
    squares: bool,
    tolerance: float,
) -> Moments:
    """Moments of every entry and whether its column is the label, by column * parts + part.

    They are invalid where those of `top_moments` are.
    """
    width, n_parts = matrix.shape[1], partition.n_parts
    total, positive = _zeros(weights, squares, width * n_parts)
    at_least = min(2 * n_parts, MOST_ROWS)  # with a hundred thousand classes, adding the table would take all the time
    count = partial(_apart if partition.apart else _together, partition=partition, squares=squares)
    for rows in row_blocks(len(matrix), width, at_least):
        if not well_formed(matrix[rows], labels[rows], tolerance):
            return Moments.invalid()
        block_total, block_positive = count(matrix[rows], labels[rows], None if weights is None else weights[rows])
        total += block_total
        positive += block_positive
    return Moments(total, positive, True)


def _zeros(weights: Array | None, squares: bool, n_codes: int) -> Float64s:
    return np.zeros((2, n_moments(weights is not None, squares), n_codes))


def well_formed(matrix: Floats, labels: Array, tolerance: float) -> bool:
    """Whether entries are probabilities, labels are columns, and rows sum to one within the tolerance."""
    (low, high), (least, most) = extrema(matrix), extrema(labels)
    if not (low >= 0 and high <= 1 and least >= 0 and most < matrix.shape[1]):
        return False
    if tolerance == np.inf:
        return True
    low, high = row_sum_extrema(matrix)
    return low >= 1 - tolerance and high <= 1 + tolerance


def _together(
    matrix: Floats, labels: Array, weight: Array | None, partition: Partition, squares: bool
) -> tuple[Float64s, Float64s]:
    return classwise_sums(matrix, labels, weight, partition.edges, partition.place, squares)


def _apart(
    matrix: Floats, labels: Array, weight: Array | None, partition: Partition, squares: bool
) -> tuple[Float64s, Float64s]:
    n_parts, (n, width) = partition.n_parts, matrix.shape
    if weight is None:
        edges = partition.edges
        first_edge = min(edges[1], np.nextafter(edges[-1], edges[0]))  # 1 is apart even from a single bin
        total, positive = classwise_cells(matrix, labels, n_parts, first_edge, partition.place)
        m = n_moments(weighted=False, squares=squares)
        return total[:m], positive[:m]
    code = np.tile(np.arange(width) * n_parts, n) + partition.place(matrix.ravel())
    happened = (labels[:, None] == np.arange(width)).ravel()
    return pair_sums(code, width * n_parts, matrix.ravel(), happened, np.repeat(weight, width), squares)
