"""The kernels in NumPy.

Everything works on blocks of rows that fit the processor's cache, so the extra memory does not grow with the data, and
everything is accumulated in float64 whatever the input is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from believable._types import Array, Float64s, Floats, Ints

BLOCK = 1 << 15  # rows of a vector
MATRIX_BLOCK = 1 << 18  # entries of a matrix
FEW_COLUMNS = 32  # up to here, work on transposed blocks: long rows vectorise, short ones do not
FEW_RANKS = 8  # up to here, repeated argmax beats a sort
LOOKUP = 1 << 12  # cells of the table that finds a bin without a search

N_MOMENTS = 7  # n, w, wp, wpp, w2, w2p, w2pp


def row_blocks(n: int, width: int = 1) -> Iterator[slice]:
    """Slices that cover n rows of the given width, each small enough for the cache."""
    step = BLOCK if width == 1 else max(1, MATRIX_BLOCK // width)
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def extrema(values: Array) -> tuple[float, float]:
    """Smallest and largest entry; a NaN anywhere makes both NaN."""
    low, high = np.inf, -np.inf
    width = values.shape[1] if values.ndim == 2 else 1
    for rows in row_blocks(len(values), width):
        block = values[rows]
        low, high = np.minimum(low, block.min()), np.maximum(high, block.max())
    return float(low), float(high)


def row_sum_extrema(matrix: Floats) -> tuple[float, float]:
    """Smallest and largest row sum."""
    low, high = np.inf, -np.inf
    ones = np.ones(matrix.shape[1], matrix.dtype)
    for rows in row_blocks(*matrix.shape):
        sums = matrix[rows] @ ones
        low, high = np.minimum(low, sums.min()), np.maximum(high, sums.max())
    return float(low), float(high)


# --- from logits ------------------------------------------------------------------------------------------------------


def sigmoid(logits: Array) -> Float64s:
    """1 / (1 + exp(-z)) in float64, without overflow."""
    z = np.asarray(logits, np.float64)
    small = np.exp(-np.abs(z))
    return np.asarray(np.where(z >= 0, 1.0, small) / (1.0 + small))


def softmax(logits: Array) -> Float64s:
    """exp(z_k) / sum_j exp(z_j) by row, in float64, without overflow."""
    result = np.empty(logits.shape, np.float64)
    for rows in row_blocks(*logits.shape):
        z = result[rows]
        z[...] = logits[rows]
        z -= z.max(axis=1, keepdims=True)
        np.exp(z, out=z)
        z /= z.sum(axis=1, keepdims=True)
    return result


# --- from scores to bins ----------------------------------------------------------------------------------------------


def uniform_index(scores: Floats, edges: Floats) -> Ints:
    """Bin of each score between right-closed edges k/M; the first bin also owns 0.

    Multiply and truncate, then correct against the edge itself. One step down is the only correction ever needed: edges
    are k/M correctly rounded, so a score above edge k is at least k/M, and its product with M rounds to at least k.
    """
    n_bins = len(edges) - 1
    index = (scores * edges.dtype.type(n_bins)).astype(np.intp)
    lower = edges.copy()
    lower[0] = -1
    index -= scores <= lower.take(index, mode="clip")
    return index


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
    """The scores at which the cumulative weight first reaches j/M of the total (less 1e-9), j = 1..M-1.

    A histogram says in which cells the boundaries lie; only those cells are sorted.
    """
    cell_sums = np.zeros(LOOKUP + 1)
    scale = scores.dtype.type(LOOKUP)
    for rows in row_blocks(len(scores)):
        cell = (scores[rows] * scale).astype(np.intp)
        cell_sums += np.bincount(cell, None if weights is None else weights[rows], LOOKUP + 1)
    cumulative = np.cumsum(cell_sums, dtype=np.longdouble)
    total = cumulative[-1]
    targets = np.arange(1, n_bins) * total / n_bins - 1e-9 * total
    target_cell = np.searchsorted(cumulative, targets, side="left")
    wanted = np.zeros(LOOKUP + 1, bool)
    wanted[target_cell] = True

    kept_scores, kept_weights = [], []
    for rows in row_blocks(len(scores)):
        keep = wanted.take((scores[rows] * scale).astype(np.intp))
        kept_scores.append(scores[rows][keep])
        if weights is not None:
            kept_weights.append(weights[rows][keep])
    near = np.concatenate(kept_scores)
    order = np.argsort(near, kind="stable")
    near = near[order]
    near_weights = np.ones(len(near)) if weights is None else np.concatenate(kept_weights)[order]

    boundaries = np.empty(n_bins - 1, scores.dtype)
    near_cell = (near * scale).astype(np.intp)
    for cell_of_target in np.unique(target_cell):
        first, last = np.searchsorted(near_cell, [cell_of_target, cell_of_target + 1])
        here = slice(first, last)
        below = cumulative[cell_of_target - 1] if cell_of_target else np.longdouble(0)
        reached = below + np.cumsum(near_weights[here], dtype=np.longdouble)
        asked = target_cell == cell_of_target
        position = np.searchsorted(reached, targets[asked], side="left")
        boundaries[asked] = near[here][np.minimum(position, last - first - 1)]
    return boundaries


# --- the largest entries of a row -------------------------------------------------------------------------------------


def label_scores(matrix: Floats, labels: Ints) -> Floats:
    """The entry of each row that its label names."""
    result: Floats = matrix[np.arange(len(matrix)), labels]
    return result


def top_one(matrix: Floats) -> tuple[Floats, Ints]:
    """Largest entry of each row and its column; ties go to the lowest column."""
    column = matrix.argmax(axis=1)
    return label_scores(matrix, column), column


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


def _moments(code: Ints, n_codes: int, score: Array, weight: Array | None, share: Array | None = None) -> Float64s:
    """n, w, wp, wpp, w2, w2p, w2pp by code; `share` is the part of each row that is counted."""
    score = score.astype(np.float64, copy=False)
    squared = score * score
    result = np.empty((N_MOMENTS, n_codes))

    def total(factor: Array | None, row: int) -> None:
        if share is not None:
            factor = share if factor is None else factor * share
        result[row] = np.bincount(code, factor, n_codes)

    total(None, 0)
    if weight is None:
        total(score, 2)
        total(squared, 3)
        result[1], result[4:] = result[0], result[[0, 2, 3]]
        return result
    weight = weight.astype(np.float64, copy=False)
    for row, power in ((1, weight), (4, weight * weight)):
        total(power, row)
        total(power * score, row + 1)
        total(power * squared, row + 2)
    return result


def pair_sums(
    code: Ints, n_codes: int, score: Array, outcome: Array, weight: Array | None
) -> tuple[Float64s, Float64s]:
    """Moments by code, of all pairs and of those with outcome 1; a fractional outcome counts as a share of one."""
    if outcome.dtype.kind == "f":
        return (
            _moments(code, n_codes, score, weight),
            _moments(code, n_codes, score, weight, outcome.astype(np.float64, copy=False)),
        )
    split = _moments(2 * code + outcome, 2 * n_codes, score, weight).reshape(N_MOMENTS, n_codes, 2)
    return split.sum(axis=2), split[:, :, 1]


def classwise_sums(
    matrix: Floats, labels: Ints, weight: Array | None, edges: Floats, assign: Callable[[Floats], Ints]
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
    total = _moments(column * n_bins + assign(scores), n_codes, scores, beyond_weight)

    first = matrix.astype(np.float64)
    first.ravel()[beyond] = 0
    squared = first * first
    into = total.reshape(N_MOMENTS, n_classes, n_bins)[:, :, 0]
    n_first = n - np.bincount(column, minlength=n_classes)
    into[0] += n_first
    if weight is None:
        ones = np.ones(n)
        sums = np.stack([n_first, ones @ first, ones @ squared])
        into[1:4] += sums
        into[4:7] += sums
    else:
        is_first = (matrix <= edges[1]).astype(np.float64)
        for row, power in ((1, weight), (4, weight * weight)):
            into[row : row + 3] += np.stack([power @ is_first, power @ first, power @ squared])

    own = label_scores(matrix, labels)
    return total, _moments(labels * n_bins + assign(own), n_codes, own, weight)


# --- ranking ----------------------------------------------------------------------------------------------------------


def auc(scores: Array, positive: Array, negative: Array) -> float:
    """P(score of a positive > score of a negative) + half the ties, for weights of being positive and negative."""
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    positives = np.add.reduceat(positive[order], starts)
    negatives = np.add.reduceat(negative[order], starts)
    below = np.cumsum(negatives) - negatives
    return float(np.sum(positives * (below + negatives / 2)) / (positives.sum() * negatives.sum()))
