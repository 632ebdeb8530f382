"""Moments of 1-D scores by bin, read once."""

from __future__ import annotations

import numpy as np

from believable._types import Array, Floats
from believable.kernels._backend import c
from believable.kernels.compiled.threads import in_parts, ranges
from believable.kernels.partition import Moments, Partition
from believable.kernels.reference import LOOKUP, n_moments

ROWS_PER_THREAD = 1 << 16
STEP = 1 << 18  # rows that are copied at a time, where they do not lie next to each other
UNIFORM, TABLE, SEARCH = 0, 1, 2  # as in bins.h
MOST_FLOATS = 1 << 24  # whole numbers that float32 can tell apart


def bin_moments(scores: Floats, labels: Array, weights: Array | None, partition: Partition, squares: bool) -> Moments:
    n, n_parts = len(scores), partition.n_parts
    kind, first = how_to_find(partition, n)
    parts = ranges(n, max(ROWS_PER_THREAD, n_parts))
    tables = np.zeros((len(parts), 2, n_moments(weights is not None, squares), n_parts))
    together = all(array is None or array.flags.c_contiguous for array in (scores, labels, weights))
    given, choices = (scores, labels, weights), (kind, partition.apart, squares)

    def count(part: int, start: int, stop: int) -> bool:
        if together:
            return bool(c.bin_sums(*given, partition.edges, first, tables[part], *choices, start, stop))
        for at in range(start, stop, STEP):
            rows = slice(at, min(at + STEP, stop))
            here = [array if array is None else np.ascontiguousarray(array[rows]) for array in given]
            if c.bin_sums(*here, partition.edges, first, tables[part], *choices, 0, rows.stop - at):
                return True
        return False

    if any(in_parts(count, parts)):
        return Moments.invalid()
    total, positive = tables[0] if len(parts) == 1 else tables.sum(axis=0)
    return Moments(total, positive, True)


def how_to_find(partition: Partition, n: int) -> tuple[int, Array | None]:
    """Which of the ways of bins.h finds the bin of a score, and the table for it; a table is not worth it for few."""
    edges = partition.edges
    if partition.uniform and (edges.dtype == np.float64 or len(edges) <= MOST_FLOATS):
        return UNIFORM, None
    if n < LOOKUP:
        return SEARCH, None
    return TABLE, partition.first()
