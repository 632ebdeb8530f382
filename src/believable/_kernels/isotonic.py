"""Isotonic regression: the increasing values nearest to some means, by pooling adjacent violators."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from believable._kernels.compiled import isotonic as compiled
from believable._kernels.rows import row_blocks
from believable._kernels.sorting import at_distinct
from believable._kernels.twins import twin
from believable._types import Array, Float64s, Ints

ROWS_PER_CELL = 16  # rows, about, of a cell that is looked at as a whole
ROWS_FOR_CELLS = 1 << 14  # from here on, cells are faster than sorting every row
SAMPLED_ROWS = 1 << 10  # rows that say where the cells are
TAIL_QUANTILE = 0.005  # scores beyond, on both sides, are in the outermost cells
SPLIT_ROUNDING = 1e-10  # of the total weight: cells that are this near to being split are


class FlatPieces(NamedTuple):
    """The pieces on which an isotonic regression is level, in ascending order of score and of value.

    Attributes
    ----------
    first, last, middle : ndarray of shape (m,)
        The lowest, the highest and the weighted mean score of a piece.
    value : ndarray of shape (m,)
        Its mean outcome; they increase.
    """

    first: Float64s
    last: Float64s
    middle: Float64s
    value: Float64s


@twin(compiled.pav)
def pav(w: Float64s, wy: Float64s) -> Float64s:
    """The non-decreasing values closest, in weighted squares, to the means wy / w of points in order.

    Weights are positive. Each value is the mean of its block, summed afresh: means updated merge by merge would drift.
    """
    starts, value = pav_blocks(w, wy)
    return np.repeat(value, np.diff(np.append(starts, len(w))))


@twin(compiled.pav_blocks)
def pav_blocks(w: Float64s, wy: Float64s) -> tuple[Ints, Float64s]:
    """Where each pooled block starts, and its mean."""
    from scipy.optimize import isotonic_regression

    starts = isotonic_regression(wy / w, weights=w).blocks[:-1]
    block = np.add.reduceat(wy, starts) / np.add.reduceat(w, starts)
    return starts, np.maximum.accumulate(block)


@twin(compiled.pav_rows)
def pav_rows(x: Float64s, w: Float64s, wy: Float64s) -> Float64s:
    """`pav` for every row of wy of shape (B, J), at points x in order; w is (J,) or (B, J).

    Points without weight take the value interpolated between those that have some, or of the nearest at the ends.
    """
    fitted = np.empty_like(wy)
    for row, (weights, sums) in enumerate(zip(np.broadcast_to(w, wy.shape), wy, strict=True)):
        here = weights > 0
        if here.all():
            fitted[row] = pav(weights, sums)
        else:
            fitted[row] = np.interp(x, x[here], pav(weights[here], sums[here]))
    return fitted


# --- Rows in any order ------------------------------------------------------------------------------------------------


def flat_pieces(score: Float64s, w: Float64s, wy: Float64s) -> FlatPieces:
    """The isotonic regression of wy / w on scores in any order; equal scores are one point, others never are."""
    n_cells = len(score) // ROWS_PER_CELL
    points = _pooled_by_cells(score, w, wy, n_cells) if len(score) >= ROWS_FOR_CELLS else at_distinct(score, w, wy)
    score, w, wy = points
    starts, value = pav_blocks(w, wy)
    starts = starts[np.append(True, value[1:] > value[:-1])]  # means that only rounding told apart
    ends = np.append(starts[1:], len(w))
    weight = np.add.reduceat(w, starts)
    value = np.minimum(np.add.reduceat(wy, starts) / weight, 1)
    first, last = score[starts], score[ends - 1]
    with np.errstate(over="ignore"):  # scores at the end of what float64 holds
        middle = np.add.reduceat(w / np.repeat(weight, ends - starts) * score, starts)
    return FlatPieces(first, last, np.clip(middle, first, last), np.maximum.accumulate(value))


def _pooled_by_cells(score: Float64s, w: Float64s, wy: Float64s, n_cells: int) -> tuple[Float64s, Float64s, Float64s]:
    """`at_distinct`, with rows that are in one block whatever their order already pooled, at their mean score.

    Isotonic regression is the greatest convex minorant of the cumulative weight of positives. That of whole cells lies
    nowhere below it. Inside a cell the cumulative weight is lowest if its negatives come first; where even that stays
    above the minorant of the cells, nothing in the cell can touch the minorant, so no block begins or ends there.
    Cells at the ends of a block always can, and so can the outermost: hence ends of blocks are scores of rows.
    """
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        some = score[:: len(score) // SAMPLED_ROWS]
        low, high = np.quantile(some, [TAIL_QUANTILE, 1 - TAIL_QUANTILE])  # only speed hangs on these
        scale = (n_cells - 1) / (high - low)
    if not 0 < scale < np.inf:  # one score nearly everywhere, or a range beyond float64
        return at_distinct(score, w, wy)

    cell, total = cell_sums(score, w, wy, (low, high), n_cells)
    filled = np.flatnonzero(total[0])
    cell_w, cell_wy, cell_w_position = total[:, filled]
    value = pav(cell_w, cell_wy)
    above = np.cumsum(cell_wy - cell_w * value)
    above = np.append(0, above[:-1])  # of the cumulative weight over the minorant, where the cell begins
    inside = above > value * (cell_w - cell_wy) + SPLIT_ROUNDING * cell_w.sum()

    pooled = np.zeros(n_cells, bool)
    pooled[filled[inside]] = True
    rest = rows_of_cells(cell, ~pooled)
    points = at_distinct(score[rest], w[rest], wy[rest])
    place = np.searchsorted(_position(points[0], low, high, n_cells).astype(np.int32), filled[inside])
    mean = low + cell_w_position[inside] / cell_w[inside] / scale
    whole = (mean, cell_w[inside], cell_wy[inside])
    at_score, at_w, at_wy = (np.insert(one, place, more) for one, more in zip(points, whole, strict=True))
    return at_score, at_w, at_wy


@twin(compiled.cell_sums)
def cell_sums(
    score: Float64s, w: Float64s, wy: Float64s, ends: tuple[float, float], n_cells: int
) -> tuple[Array, Float64s]:
    """The cell of each row, of so many between these ends; and sums in each cell of w, wy and w times position."""
    cell = np.empty(len(score), np.int32)
    total = np.zeros((3, n_cells))
    for rows in row_blocks(len(score)):
        here = _position(score[rows], *ends, n_cells)
        cell[rows] = here
        for into, terms in zip(total, (w[rows], wy[rows], w[rows] * here), strict=True):
            into += np.bincount(cell[rows], terms, n_cells)
    return cell, total


@twin(compiled.rows_of_cells)
def rows_of_cells(cell: Array, wanted: Array) -> Ints:
    """Rows whose cell is wanted, in their order."""
    return np.flatnonzero(wanted.take(cell))


def _position(score: Float64s, low: float, high: float, n_cells: int) -> Float64s:
    """From 0 to n_cells - 1; scores beyond the ends are there."""
    return np.asarray((np.clip(score, low, high) - low) * ((n_cells - 1) / (high - low)))
