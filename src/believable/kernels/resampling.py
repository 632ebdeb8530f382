"""Sums by cell of outcomes that are drawn again and again for the same predictions."""

from __future__ import annotations

import numpy as np

from believable._types import Array, Float64s
from believable.kernels._backend import twin
from believable.kernels.compiled import resampling as compiled


@twin(compiled.redrawn_labels)
def redrawn_labels(
    uniform: Float64s, reached: Float64s, cells: Array, weight: Float64s | None, n_cells: int
) -> Float64s:
    """Weights by cell of labels drawn from each row's probabilities, for every row of a (B, n) array in [0, 1).

    `reached` are the running sums of the probabilities, (n, K). The label is the first class whose sum is above the
    uniform number times the last; it counts in the cell that the (n, K) array `cells` names, nowhere if it is negative.
    """
    n = len(reached)
    sums = np.empty((len(uniform), n_cells))
    rows = np.arange(n)
    for i, row in enumerate(uniform):
        label = ((row * reached[:, -1])[:, None] >= reached[:, :-1]).sum(axis=1)
        sums[i] = _by_cell(cells[rows, label], weight, n_cells)
    return sums


@twin(compiled.redrawn_events)
def redrawn_events(
    uniform: Float64s, chance: Float64s, cells: Array, weight: Float64s | None, n_cells: int
) -> Float64s:
    """Weights by cell of events that happen where a number of [0, 1) is below their chance, for every row of (B, m)."""
    sums = np.empty((len(uniform), n_cells))
    for i, row in enumerate(uniform):
        happened = np.flatnonzero(row < chance)
        sums[i] = _by_cell(cells[happened], None if weight is None else weight[happened], n_cells)
    return sums


def _by_cell(cell: Array, weight: Float64s | None, n_cells: int) -> Float64s:
    """Sums of weights, those of a negative cell left out."""
    return np.asarray(np.bincount(cell + 1, weight, n_cells + 1)[1:], np.float64)
