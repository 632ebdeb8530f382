"""The bin of a score, and the boundaries of bins of equal weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from believable._kernels.compiled import bins as compiled
from believable._kernels.rows import row_blocks
from believable._kernels.sorting import ascending, sorted_scores
from believable._kernels.twins import backend, twin
from believable._types import Array, Float64s, Floats, Ints

LOOKUP_CELLS = 1 << 12  # size of the table that finds a bin without a search
SORTED_ROWS = 1 << (17 if backend == "numpy" else 15)  # with fewer rows, sorting all is faster than sorting some cells
CROWDED_CELLS = 0.25  # if these cells hold a larger share of the rows, sorting all is faster too


def uniform_floor(scores: Floats, edges: Floats) -> Floats:
    """Return the bin of each score between right-closed edges k/M, as a float; the first bin also contains 0.

    Multiply and round down, then compare with the edge itself if the product is within rounding above a whole number.
    Rounding never puts it below: edges are k/M correctly rounded, so a score above edge k is at least k/M.
    """
    n_bins = len(edges) - 1
    product = scores * edges.dtype.type(n_bins)
    index = np.floor(product)
    product -= index
    near = np.flatnonzero(product <= 2 * n_bins * np.finfo(edges.dtype).eps)
    if len(near):
        below = index[near]
        index[near] -= (scores[near] <= edges.take(below.astype(np.intp))) & (below > 0)
    return index


def uniform_index(scores: Floats, edges: Floats) -> Ints:
    """Return the bin of each score between right-closed edges k/M; the first bin also contains 0."""
    return uniform_floor(scores, edges).astype(np.intp)


def bin_index(scores: Floats, edges: Floats) -> Ints:
    """Return the bin of each score between any right-closed edges: the number of inner edges below it.

    A table over a coarse grid has the answer for all cells without an edge; only the others are searched.
    """
    inner = edges[1:-1]
    if len(scores) < LOOKUP_CELLS or len(inner) > LOOKUP_CELLS // 4:
        return np.searchsorted(inner, scores, side="left")
    scale = edges.dtype.type(LOOKUP_CELLS)
    cell = (scores * scale).astype(np.intp)
    edge_cell = (inner * scale).astype(np.intp)  # the same monotone function, so cells compare like scores
    has_edge = np.zeros(LOOKUP_CELLS + 1, bool)
    has_edge[edge_cell] = True
    index = np.searchsorted(edge_cell, np.arange(LOOKUP_CELLS + 1), side="left").take(cell)
    near = np.flatnonzero(has_edge.take(cell))
    index[near] = np.searchsorted(inner, scores[near], side="left")
    return index


def quantile_boundaries(scores: Floats, weights: Array | None, n_bins: int) -> Floats:
    """Return the scores at which the cumulative weight first reaches j/M of the total (minus 1e-9), j = 1..M-1."""
    if len(scores) > SORTED_ROWS:
        return _boundaries_by_cells(scores, weights, n_bins)
    return _boundaries_by_sort(scores, weights, n_bins)


def running_sum(weights: Array) -> Array:
    """Return the cumulative weight, in extended precision because the sum of many 0.1 would drift in float64."""
    return np.cumsum(weights, dtype=np.longdouble)


def quantile_positions(reached: Array, n_bins: int) -> Ints:
    """Return where a cumulative weight first reaches j/M of the total (minus 1e-9 of it), j = 1..M-1."""
    return np.searchsorted(reached, _targets(reached[-1], n_bins), side="left")


def _targets(total: Any, n_bins: int) -> Array:
    return np.asarray(np.arange(1, n_bins, dtype=np.float64) * total / n_bins - 1e-9 * total)


def _boundaries_by_sort(scores: Floats, weights: Array | None, n_bins: int) -> Floats:
    if weights is None:
        position = np.ceil(_targets(len(scores), n_bins)).astype(np.intp) - 1
        return sorted_scores(scores)[np.maximum(position, 0)]
    order = ascending(scores)
    return scores[order][quantile_positions(running_sum(weights[order]), n_bins)]


def _boundaries_by_cells(scores: Floats, weights: Array | None, n_bins: int) -> Floats:
    """Find the boundaries with a histogram: only the cells that contain them are sorted."""
    in_cells = cell_weights(scores, weights)
    cumulative = running_sum(in_cells)
    targets = _targets(cumulative[-1], n_bins)
    target_cell = np.searchsorted(cumulative, targets, side="left")
    wanted = np.zeros(LOOKUP_CELLS + 1, bool)
    wanted[target_cell] = True
    if in_cells[wanted].sum() > CROWDED_CELLS * cumulative[-1]:  # with a thousand classes, most scores are close to 0
        return _boundaries_by_sort(scores, weights, n_bins)

    near = rows_in_cells(scores, wanted)
    near = near[ascending(scores[near])]
    near_cell = (scores[near] * scores.dtype.type(LOOKUP_CELLS)).astype(np.intp)
    boundaries = np.empty(n_bins - 1, scores.dtype)
    for cell_here in np.unique(target_cell):
        first, last = np.searchsorted(near_cell, [cell_here, cell_here + 1])
        here = near[first:last]
        below = cumulative[cell_here - 1] if cell_here else np.longdouble(0)
        reached = below + running_sum(np.ones(len(here)) if weights is None else weights[here])
        asked = target_cell == cell_here
        position = np.searchsorted(reached, targets[asked], side="left")
        boundaries[asked] = scores[here][np.minimum(position, len(here) - 1)]
    return boundaries


@twin(compiled.cell_weights)
def cell_weights(scores: Floats, weights: Array | None) -> Float64s:
    """Return the weight, or the number, of scores in each cell [k/C, (k+1)/C) of [0, 1]; the last cell is {1}."""
    in_cells = np.zeros(LOOKUP_CELLS + 1)
    for rows in row_blocks(len(scores)):
        cell = (scores[rows] * scores.dtype.type(LOOKUP_CELLS)).astype(np.intp)
        in_cells += np.bincount(cell, None if weights is None else weights[rows], LOOKUP_CELLS + 1)
    return in_cells


@twin(compiled.rows_in_cells)
def rows_in_cells(scores: Floats, wanted: Array) -> Ints:
    """Return the rows whose scores are in the wanted cells, in their order."""
    scale = scores.dtype.type(LOOKUP_CELLS)
    kept = [
        np.flatnonzero(wanted.take((scores[rows] * scale).astype(np.intp))) + rows.start
        for rows in row_blocks(len(scores))
    ]
    return np.concatenate(kept)
