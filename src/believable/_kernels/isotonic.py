"""Isotonic regression: the non-decreasing values closest to some means, by pooling adjacent violators."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from believable._kernels.compiled import isotonic as compiled
from believable._kernels.rows import row_blocks
from believable._kernels.sorting import at_distinct
from believable._kernels.twins import twin
from believable._types import Array, Float64s, Ints

ROWS_PER_CELL = 16  # average number of rows in a cell
ROWS_FOR_CELLS = 1 << 14  # with at least this many rows, cells are faster than sorting every row
SAMPLED_ROWS = 1 << 10  # rows from which the range of the cells is estimated
TAIL_QUANTILE = 0.005  # scores beyond these quantiles, on both sides, are in the outermost cells
SPLIT_ROUNDING = 1e-10  # cells within this share of the total weight of being split are split


class FlatPieces(NamedTuple):
    """The pieces on which an isotonic regression is constant, in ascending order of score and of value.

    Attributes
    ----------
    first, last, middle : ndarray of shape (m,)
        Lowest, highest and weighted mean score of each piece.
    value : ndarray of shape (m,)
        Mean outcome of each piece; the values increase.
    """

    first: Float64s
    last: Float64s
    middle: Float64s
    value: Float64s


@twin(compiled.pav)
def pav(w: Float64s, wy: Float64s) -> Float64s:
    """Return the non-decreasing values closest, in weighted squares, to the means wy / w of ordered points.

    Weights are positive. Each value is the mean of its block, summed at the end, because means updated with every merge
    would drift.
    """
    starts, value = pav_blocks(w, wy)
    return np.repeat(value, np.diff(np.append(starts, len(w))))


@twin(compiled.pav_blocks)
def pav_blocks(w: Float64s, wy: Float64s) -> tuple[Ints, Float64s]:
    """Return where each pooled block starts, and its mean."""
    from scipy.optimize import isotonic_regression

    starts = isotonic_regression(wy / w, weights=w).blocks[:-1].astype(np.intp, copy=False)
    block = np.add.reduceat(wy, starts) / np.add.reduceat(w, starts)
    return starts, np.maximum.accumulate(block)


@twin(compiled.pav_rows)
def pav_rows(x: Float64s, w: Float64s, wy: Float64s) -> Float64s:
    """Return `pav` for every row of wy of shape (B, J), at ordered points x; w is (J,) or (B, J).

    Points without weight get the value interpolated between their neighbours, or that of the nearest at the ends.
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
    """Return the isotonic regression of wy / w on scores in any order; only equal scores are one point."""
    n_cells = len(score) // ROWS_PER_CELL
    points = _pooled_by_cells(score, w, wy, n_cells) if len(score) >= ROWS_FOR_CELLS else at_distinct(score, w, wy)
    score, w, wy = points
    starts, value = pav_blocks(w, wy)
    starts = starts[np.append(True, value[1:] > value[:-1])]  # merge means that differ only by rounding
    ends = np.append(starts[1:], len(w))
    weight = np.add.reduceat(w, starts)
    value = np.minimum(np.add.reduceat(wy, starts) / weight, 1)
    first, last = score[starts], score[ends - 1]
    with np.errstate(over="ignore"):  # scores may be at the limits of float64
        middle = np.add.reduceat(w / np.repeat(weight, ends - starts) * score, starts)
    return FlatPieces(first, last, np.clip(middle, first, last), np.maximum.accumulate(value))


def _pooled_by_cells(score: Float64s, w: Float64s, wy: Float64s, n_cells: int) -> tuple[Float64s, Float64s, Float64s]:
    """Return `at_distinct` with rows already pooled, at their mean score, if they share a block whatever their order.

    Isotonic regression is the greatest convex minorant of the cumulative weight of positives. The minorant of whole
    cells is nowhere below it. Inside a cell, the cumulative weight is lowest if its negatives come first; if even that
    stays above the minorant of the cells, nothing in the cell can touch the minorant, so no block starts or ends there.
    Cells at the ends of a block, and the outermost ones, are never pooled, so ends of blocks are scores of rows.
    """
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        some = score[:: len(score) // SAMPLED_ROWS]
        low, high = np.quantile(some, [TAIL_QUANTILE, 1 - TAIL_QUANTILE])  # these affect only the speed
        scale = (n_cells - 1) / (high - low)
    if not 0 < scale < np.inf:  # nearly all scores are equal, or their range exceeds float64
        return at_distinct(score, w, wy)

    cell, total = cell_sums(score, w, wy, (low, high), n_cells)
    filled = np.flatnonzero(total[0])
    cell_w, cell_wy, cell_w_position = total[:, filled]
    value = pav(cell_w, cell_wy)
    above = np.cumsum(cell_wy - cell_w * value)
    above = np.append(0, above[:-1])  # height of the cumulative weight over the minorant where the cell starts
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
    """Return the cell of each row, between these ends, and the sums in each cell of w, wy and w times position."""
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
    """Return the rows whose cell is wanted, in their order."""
    return np.flatnonzero(wanted.take(cell))


def _position(score: Float64s, low: float, high: float, n_cells: int) -> Float64s:
    """Return positions from 0 to n_cells - 1; scores beyond the ends are clipped to these."""
    return np.asarray((np.clip(score, low, high) - low) * ((n_cells - 1) / (high - low)))
