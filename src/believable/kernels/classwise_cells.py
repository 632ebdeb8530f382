"""Moments by (class, cell) of every entry of a matrix, on a grid that is much longer than a few bins.

Class by class where those are few, so that the sums of one class stay in the cache. Of many classes most entries lie in
the first cell above 0: those are summed by column, and only the others are assigned.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from believable._types import Array, Float64s, Floats, Ints
from believable.kernels.reference import FEW_COLUMNS, label_scores, row_blocks

ROWS = 1 << 18  # counted together, of few columns
WAITING = 1 << 21  # entries that are assigned before they are counted together, of many columns

Assign = Callable[[Floats], Ints]


def classwise_cells(
    matrix: Floats, labels: Array, per_group: int, first_edge: float, assign: Assign
) -> tuple[Float64s, Float64s]:
    """Sums of 1, p and p^2 by class * per_group + cell, of all entries and of the labels' own.

    Cell 0 is {0} and cell 1 ends with `first_edge`; `assign` gives the cell of scores.
    """
    n_classes = matrix.shape[1]
    few = n_classes <= FEW_COLUMNS
    total = _few(matrix, per_group, assign) if few else _many(matrix, per_group, first_edge, assign)
    own = label_scores(matrix, labels)
    code = labels.astype(np.intp) * per_group + assign(own)
    return total.reshape(3, -1), _moments(code, own, n_classes * per_group)


def _few(matrix: Floats, per_group: int, assign: Assign) -> Float64s:
    total = np.zeros((3, matrix.shape[1], per_group))
    for rows in row_blocks(len(matrix), 1, ROWS):
        for k, into in enumerate(np.moveaxis(total, 1, 0)):
            scores = np.ascontiguousarray(matrix[rows, k])
            into += _moments(assign(scores), scores, per_group)
    return total


def _many(matrix: Floats, per_group: int, first_edge: float, assign: Assign) -> Float64s:
    n_classes = matrix.shape[1]
    total = np.zeros((3, n_classes, per_group))
    flat = total.reshape(3, -1)
    waiting: list[tuple[Ints, Floats]] = []
    for rows in row_blocks(*matrix.shape):
        block = matrix[rows]
        beyond = np.flatnonzero(block > first_edge)
        scores = block.ravel()[beyond]
        column = beyond % n_classes
        waiting.append((column * per_group + assign(scores), scores))
        if sum(len(code) for code, _ in waiting) > WAITING:
            flat += _of_parts(waiting, flat.shape[1])
            waiting = []
        first = block.astype(np.float64, order="C")
        first.ravel()[beyond] = 0
        n_zero = np.count_nonzero(block == 0, axis=0) if block.min() == 0 else 0
        total[0, :, 0] += n_zero
        total[0, :, 1] += len(block) - np.bincount(column, minlength=n_classes) - n_zero
        total[1, :, 1] += first.sum(axis=0)
        first *= first
        total[2, :, 1] += first.sum(axis=0)
    if waiting:
        flat += _of_parts(waiting, flat.shape[1])
    return total


def _of_parts(waiting: list[tuple[Ints, Floats]], n_codes: int) -> Float64s:
    code, scores = (np.concatenate(parts) for parts in zip(*waiting, strict=True))
    return _moments(code, scores, n_codes)


def _moments(code: Ints, scores: Floats, n_codes: int) -> Float64s:
    p = scores.astype(np.float64)
    return np.array([np.bincount(code, term, n_codes) for term in (None, p, p * p)], np.float64)
