"""Moments of a matrix with one label to a row, read once."""

from __future__ import annotations

import numpy as np

from believable._types import Array, Floats
from believable.kernels._backend import c
from believable.kernels.compiled.binned import how_to_find
from believable.kernels.compiled.threads import in_parts, ranges
from believable.kernels.partition import Moments, Partition
from believable.kernels.reference import n_moments

ENTRIES_PER_THREAD = 1 << 17
COPIED = 1 << 20  # entries that are copied at a time, where they do not lie next to each other
TOP, TOP_BY_CLASS, EVERY = 0, 1, 2  # as in matrix.c


def top_moments(
    matrix: Floats,
    labels: Array,
    weights: Array | None,
    partition: Partition,
    squares: bool,
    by_class: bool,
    tolerance: float,
) -> Moments:
    n_codes = partition.n_parts * (matrix.shape[1] if by_class else 1)
    what = TOP_BY_CLASS if by_class else TOP
    return _moments(matrix, labels, weights, partition, squares, what, tolerance, n_codes, n_codes)


def classwise_moments(
    matrix: Floats,
    labels: Array,
    weights: Array | None,
    partition: Partition,
    squares: bool,
    tolerance: float,
) -> Moments:
    n_codes = partition.n_parts * matrix.shape[1]
    return _moments(matrix, labels, weights, partition, squares, EVERY, tolerance, n_codes, 4 * partition.n_parts)


def _moments(
    matrix: Floats,
    labels: Array,
    weights: Array | None,
    partition: Partition,
    squares: bool,
    what: int,
    tolerance: float,
    n_codes: int,
    at_least: int,
) -> Moments:
    n, width = matrix.shape
    kind, first = how_to_find(partition, n if what != EVERY else n * width)
    parts = ranges(n, max(ENTRIES_PER_THREAD // width, at_least, 1))  # each has a table of its own, to be added
    tables = np.zeros((len(parts), 2, n_moments(weights is not None, squares), n_codes))
    labels = np.ascontiguousarray(labels)
    weights = None if weights is None else np.ascontiguousarray(weights, np.float64)
    choices = (tolerance, kind, partition.apart, squares, what)

    def count(part: int, start: int, stop: int) -> bool:
        if matrix.flags.c_contiguous:
            here = (matrix, labels, weights)
            return bool(c.entry_sums(*here, partition.edges, first, tables[part], *choices, start, stop))
        step = max(1, COPIED // width)
        for at in range(start, stop, step):
            rows = slice(at, min(at + step, stop))
            here = (np.ascontiguousarray(matrix[rows]), labels[rows], None if weights is None else weights[rows])
            if not c.entry_sums(*here, partition.edges, first, tables[part], *choices, 0, rows.stop - at):
                return False
        return True

    if not all(in_parts(count, parts)):
        return Moments.invalid()
    total, positive = tables[0] if len(parts) == 1 else tables.sum(axis=0)
    return Moments(total, positive, True)
