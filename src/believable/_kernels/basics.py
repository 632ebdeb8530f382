"""The kernels in NumPy.

Everything works on blocks of rows that fit the processor's cache, so the extra memory does not grow with the data, and
everything is accumulated in float64 whatever the input is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from believable._kernels.compiled import basics as compiled
from believable._kernels.compiled import sorting as compiled_sorting
from believable._kernels.sorting import ascending
from believable._kernels.twins import backend, twin
from believable._types import Array, Float64s, Floats, Ints

BLOCK = 1 << 15  # rows of a vector
MATRIX_BLOCK = 1 << 18  # entries of a matrix
FEW_COLUMNS = 32  # up to here, work on transposed blocks: long rows vectorise, short ones do not
FEW_RANKS = 8  # up to here, repeated argmax beats a sort
LOOKUP = 1 << 12  # cells of the table that finds a bin without a search

LANES, FEW_CODES, FEW_ROWS = 8, 512, 1 << 12  # tables that rows of long blocks take turns in, where those are small
CROWDED = 0.25  # of all rows in those cells: sorting beats that too
SORTED = 1 << (17 if backend == "numpy" else 15)  # up to here, sorting beats looking for the cells that need it


def row_blocks(n: int, width: int = 1, at_least: int = 0) -> Iterator[slice]:
    """Slices that cover n rows of the given width, each small enough for the cache (or as long as asked)."""
    step = max(at_least, BLOCK if width == 1 else max(1, MATRIX_BLOCK // width))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


@twin(compiled.extrema)
def extrema(values: Array) -> tuple[float, float]:
    """Smallest and largest entry; a NaN anywhere makes both NaN."""
    low, high = np.inf, -np.inf
    width = values.shape[1] if values.ndim == 2 else 1
    for rows in row_blocks(len(values), width):
        block = values[rows]
        low, high = np.minimum(low, block.min()), np.maximum(high, block.max())
    return float(low), float(high)


@twin(compiled.row_sum_extrema)
def row_sum_extrema(matrix: Floats) -> tuple[float, float]:
    """Smallest and largest row sum."""
    low, high = np.inf, -np.inf
    ones = np.ones(matrix.shape[1], matrix.dtype)
    for rows in row_blocks(*matrix.shape):
        sums = matrix[rows] @ ones
        low, high = np.minimum(low, sums.min()), np.maximum(high, sums.max())
    return float(low), float(high)


# --- from logits ------------------------------------------------------------------------------------------------------


@twin(compiled.sigmoid)
def sigmoid(logits: Array) -> Float64s:
    """1 / (1 + exp(-z)) in float64, without overflow."""
    z = np.asarray(logits, np.float64)
    small = np.exp(-np.abs(z))
    return np.asarray(np.where(z >= 0, 1.0, small) / (1.0 + small))


@twin(compiled.softmax)
def softmax(logits: Array) -> Float64s:
    """exp(z_k) / sum_j exp(z_j) by row, in float64, without overflow."""
    result = np.empty(logits.shape, np.float64)
    for rows in row_blocks(*logits.shape):
        z = result[rows]
        z[...] = logits[rows]
        with np.errstate(over="ignore"):  # logits further apart than float64 reaches: the lower ones count nothing
            z -= z.max(axis=1, keepdims=True)
        np.exp(z, out=z)
        z /= z.sum(axis=1, keepdims=True)
    return result


# --- from scores to bins ----------------------------------------------------------------------------------------------


def uniform_floor(scores: Floats, edges: Floats) -> Floats:
    """Bin of each score between right-closed edges k/M, as a float; the first bin also owns 0.

    Multiply and round down, then compare with the edge itself where the product is at most rounding above a whole
    number. It is never below one by rounding: edges are k/M correctly rounded, so a score above edge k is at least k/M.
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
    """Bin of each score between right-closed edges k/M; the first bin also owns 0."""
    return uniform_floor(scores, edges).astype(np.intp)


def bin_index(scores: Floats, edges: Floats) -> Ints:
    """Bin of each score between any right-closed edges: the number of inner edges below it.

    A table over a coarse grid answers for all cells that hold no edge; only the others are searched.
    """
    inner = edges[1:-1]
    if len(scores) < LOOKUP or len(inner) > LOOKUP // 4:
        return np.searchsorted(inner, scores, side="left")
    scale = edges.dtype.type(LOOKUP)
    cell = (scores * scale).astype(np.intp)
    edge_cell = (inner * scale).astype(np.intp)  # the same monotone map, so cells compare as scores do
    has_edge = np.zeros(LOOKUP + 1, bool)
    has_edge[edge_cell] = True
    index = np.searchsorted(edge_cell, np.arange(LOOKUP + 1), side="left").take(cell)
    near = np.flatnonzero(has_edge.take(cell))
    index[near] = np.searchsorted(inner, scores[near], side="left")
    return index


def quantile_boundaries(scores: Floats, weights: Array | None, n_bins: int) -> Floats:
    """The scores at which the cumulative weight first reaches j/M of the total (less 1e-9), j = 1..M-1."""
    if len(scores) > SORTED:
        return _boundaries_by_cells(scores, weights, n_bins)
    return _boundaries_by_sort(scores, weights, n_bins)


def running_sum(weights: Array) -> Array:
    """The cumulative weight; in float64 the sum of many 0.1 would drift."""
    return np.cumsum(weights, dtype=np.longdouble)


def quantile_positions(reached: Array, n_bins: int) -> Ints:
    """Where a cumulative weight first reaches j/M of the total (less 1e-9 of it), j = 1..M-1."""
    return np.searchsorted(reached, _targets(reached[-1], n_bins), side="left")


def _targets(total: Any, n_bins: int) -> Array:
    return np.asarray(np.arange(1, n_bins) * total / n_bins - 1e-9 * total)


@twin(compiled_sorting.sorted_scores)
def sorted_scores(scores: Floats) -> Floats:
    """Scores, which are not negative, in ascending order."""
    return np.sort(scores)


def _boundaries_by_sort(scores: Floats, weights: Array | None, n_bins: int) -> Floats:
    if weights is None:
        position = np.ceil(_targets(len(scores), n_bins)).astype(np.intp) - 1
        return sorted_scores(scores)[np.maximum(position, 0)]
    order = ascending(scores)
    return scores[order][quantile_positions(running_sum(weights[order]), n_bins)]


def _boundaries_by_cells(scores: Floats, weights: Array | None, n_bins: int) -> Floats:
    """A histogram says in which cells the boundaries lie; only those cells are sorted."""
    in_cells = cell_weights(scores, weights)
    cumulative = running_sum(in_cells)
    targets = _targets(cumulative[-1], n_bins)
    target_cell = np.searchsorted(cumulative, targets, side="left")
    wanted = np.zeros(LOOKUP + 1, bool)
    wanted[target_cell] = True
    if in_cells[wanted].sum() > CROWDED * cumulative[-1]:  # as scores of a thousand classes are, next to 0
        return _boundaries_by_sort(scores, weights, n_bins)

    near = rows_in_cells(scores, wanted)
    near = near[ascending(scores[near])]
    near_cell = (scores[near] * scores.dtype.type(LOOKUP)).astype(np.intp)
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
    """The weight, or the number, of scores in each of the cells [k/C, (k+1)/C) of [0, 1]; the last is 1 itself."""
    in_cells = np.zeros(LOOKUP + 1)
    for rows in row_blocks(len(scores)):
        cell = (scores[rows] * scores.dtype.type(LOOKUP)).astype(np.intp)
        in_cells += np.bincount(cell, None if weights is None else weights[rows], LOOKUP + 1)
    return in_cells


@twin(compiled.rows_in_cells)
def rows_in_cells(scores: Floats, wanted: Array) -> Ints:
    """Rows whose scores are in these of the same cells, in their order."""
    scale = scores.dtype.type(LOOKUP)
    kept = [
        np.flatnonzero(wanted.take((scores[rows] * scale).astype(np.intp))) + rows.start
        for rows in row_blocks(len(scores))
    ]
    return np.concatenate(kept)


# --- the largest entries of a row -------------------------------------------------------------------------------------


def label_scores(matrix: Floats, labels: Ints) -> Floats:
    """The entry of each row that its label names."""
    result: Floats = matrix[np.arange(len(matrix)), labels]
    return result


@twin(compiled.top_one)
def top_one(matrix: Floats) -> tuple[Floats, Ints]:
    """Largest entry of each row and its column; ties go to the lowest column."""
    column = matrix.argmax(axis=1)
    return label_scores(matrix, column), column


@twin(compiled.top_hit)
def top_hit(matrix: Floats, labels: Ints) -> tuple[Floats, Array]:
    """Largest entry of each row, and whether its column is the label; ties go to the lowest column.

    For few columns argmax is slow, and not needed: the label wins if its entry is the largest and no tie is before it.
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
    """The r largest entries of each row in descending order, and their columns; ties go to the lower column first."""
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


# --- sums by code -----------------------------------------------------------------------------------------------------


def n_moments(weighted: bool, squares: bool) -> int:
    """How many sums there are by code: n, p and pp; or n, w, wp, w2, w2p, wpp and w2pp. Without squares, no pp."""
    return (5 + 2 * squares) if weighted else (2 + squares)


def _moments(
    code: Ints, n_codes: int, score: Array, weight: Array | None, squares: bool, share: Array | None = None
) -> Float64s:
    """The moments by code; `share` is the part of each row that is counted."""
    score = score.astype(np.float64, copy=False)
    if weight is None:
        terms: list[Array | None] = [None, score]
        terms += [score * score] if squares else []
    else:
        weight2 = weight * weight
        first, first2 = weight * score, weight2 * score
        terms = [None, weight, first, weight2, first2]
        terms += [first * score, first2 * score] if squares else []
    if share is not None:
        terms = [share if term is None else term * share for term in terms]
    if len(code) < FEW_ROWS or n_codes > FEW_CODES:
        return np.array([np.bincount(code, term, n_codes) for term in terms], np.float64)
    # Rows take turns in LANES tables: chains of additions are shorter, so they round less and wait less for each other.
    code = code + _lane(len(code), n_codes)
    sums = np.array([np.bincount(code, term, LANES * n_codes) for term in terms], np.float64)
    return np.asarray(sums.reshape(len(terms), LANES, n_codes).sum(axis=1))


@lru_cache(maxsize=8)
def _lane(n: int, n_codes: int) -> Ints:
    return np.arange(n) % LANES * n_codes


def pair_sums(
    code: Ints, n_codes: int, score: Array, outcome: Array, weight: Array | None, squares: bool = True
) -> tuple[Float64s, Float64s]:
    """Moments by code, of all pairs and of those with outcome 1; a fractional outcome counts as a share of one.

    The codes may be overwritten.
    """
    if outcome.dtype.kind == "f":
        share = outcome.astype(np.float64, copy=False)
        return _moments(code, n_codes, score, weight, squares), _moments(code, n_codes, score, weight, squares, share)
    code *= 2
    code += outcome
    split = _moments(code, 2 * n_codes, score, weight, squares).reshape(-1, n_codes, 2)
    return split[:, :, 0] + split[:, :, 1], split[:, :, 1]


def classwise_sums(
    matrix: Floats,
    labels: Ints,
    weight: Array | None,
    edges: Floats,
    assign: Callable[[Floats], Ints],
    squares: bool = True,
) -> tuple[Float64s, Float64s]:
    """Moments by (class, bin) for every entry of a matrix, of all entries and of the labels' own.

    Most entries of a wide matrix lie in the first bin: those are summed by matrix products, the others are assigned.
    """
    n, n_classes = matrix.shape
    n_bins = len(edges) - 1
    labels = labels.astype(np.intp, copy=False)  # a small integer type would overflow in the codes
    n_codes = n_classes * n_bins
    flat = matrix.ravel()
    beyond = np.flatnonzero(flat > edges[1])
    column = beyond % n_classes
    beyond_weight = None if weight is None else weight[beyond // n_classes]
    scores = flat[beyond]
    total = _moments(column * n_bins + assign(scores), n_codes, scores, beyond_weight, squares)

    first = matrix.astype(np.float64, order="C")  # so that ravel is a view
    first.ravel()[beyond] = 0
    into = total.reshape(len(total), n_classes, n_bins)[:, :, 0]
    into[0] += n - np.bincount(column, minlength=n_classes)
    if weight is None:
        factors = np.ones((1, n))
        into[1:2] += factors @ first
    else:
        factors = np.stack([weight, weight * weight])
        into[[1, 3]] += factors @ (matrix <= edges[1])
        into[[2, 4]] += factors @ first
    if squares:
        first *= first
        into[-len(factors) :] += factors @ first

    own = label_scores(matrix, labels)
    return total, _moments(labels * n_bins + assign(own), n_codes, own, weight, squares)


# --- ranking ----------------------------------------------------------------------------------------------------------


@twin(compiled_sorting.auc)
def auc(scores: Array, positive: Array, negative: Array) -> float:
    """P(score of a positive > score of a negative) + half the ties, for weights of being positive and negative."""
    if np.array_equal(positive, positive != 0) and np.array_equal(negative, positive == 0):
        above, below = np.sort(scores[positive != 0]), np.sort(scores[negative != 0])
        won = np.searchsorted(below, above, side="left").sum() + np.searchsorted(below, above, side="right").sum()
        return float(won / (2 * len(above) * len(below)))
    order = ascending(scores)
    ordered = scores[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    positives = np.add.reduceat(positive[order], starts)
    negatives = np.add.reduceat(negative[order], starts)
    below = np.cumsum(negatives) - negatives
    return float(np.sum(positives * (below + negatives / 2)) / (positives.sum() * negatives.sum()))
