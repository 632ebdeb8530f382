"""Moments by (class, cell) of every entry of a matrix, on a fine grid.

Few classes are counted one by one, so that the sums of one class fit in the cache. With many classes, most entries lie
in the first cell above 0: those are summed by column, and only the others are assigned to cells.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from believable._kernels.compiled import matrix as compiled
from believable._kernels.partition import MatrixSums, Moments, Partition
from believable._kernels.rows import FEW_COLUMNS, extrema, label_scores, row_blocks, row_sum_extrema, top_hit, top_one
from believable._kernels.sums import classwise_sums, n_moments, pair_sums
from believable._kernels.twins import twin
from believable._types import Array, Float64s, Floats, Ints

COUNTED_MATRIX_ROWS = 1 << 18  # rows counted together if there are few columns
WAITING_ENTRIES = 1 << 21  # entries collected before they are counted if there are many columns

Assign = Callable[[Floats], Ints]


def classwise_cells(
    matrix: Floats, labels: Array, per_stratum: int, first_edge: float, assign: Assign
) -> tuple[Float64s, Float64s]:
    """Return sums of 1, p and p^2 by class * per_stratum + cell, of all entries and of those at the labels.

    Cell 0 is {0} and cell 1 ends with `first_edge`; `assign` gives the cell of scores.
    """
    n_classes = matrix.shape[1]
    few = n_classes <= FEW_COLUMNS
    total = _few(matrix, per_stratum, assign) if few else _many(matrix, per_stratum, first_edge, assign)
    own = label_scores(matrix, labels)
    code = labels.astype(np.int64) * per_stratum + assign(own)
    return total.reshape(3, -1), _moments(code, own, n_classes * per_stratum)


def _few(matrix: Floats, per_stratum: int, assign: Assign) -> Float64s:
    total = np.zeros((3, matrix.shape[1], per_stratum))
    for rows in row_blocks(len(matrix), 1, COUNTED_MATRIX_ROWS):
        for k, into in enumerate(np.moveaxis(total, 1, 0)):
            scores = np.ascontiguousarray(matrix[rows, k])
            into += _moments(assign(scores), scores, per_stratum)
    return total


def _many(matrix: Floats, per_stratum: int, first_edge: float, assign: Assign) -> Float64s:
    n_classes = matrix.shape[1]
    total = np.zeros((3, n_classes, per_stratum))
    flat = total.reshape(3, -1)
    waiting: list[tuple[Ints, Floats]] = []
    for rows in row_blocks(*matrix.shape):
        block = matrix[rows]
        beyond = np.flatnonzero(block > first_edge)
        scores = block.ravel()[beyond]
        column = (beyond % n_classes).astype(np.int64)
        waiting.append((column * per_stratum + assign(scores), scores))
        if sum(len(code) for code, _ in waiting) > WAITING_ENTRIES:
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


# --- Moments of a matrix with one label to a row, with a check of every row -------------------------------------------


# Blocks much shorter than the table of sums would spend most of their time adding the table.
ROWS_PER_CODE, MOST_MOMENT_ROWS = 8, 1 << 20


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
    """Return moments of the largest entry of each row and whether its column is the label; ties go to the lowest.

    Codes are parts, or column * parts + part. The moments are invalid if an entry is not in [0, 1], a label is not a
    column, or the sum of a row, which may be rounded to the dtype of the matrix, is not within the tolerance of 1. With
    an infinite tolerance, sums are not checked.
    """
    n, width = matrix.shape
    n_codes = partition.n_parts * (width if by_class else 1)
    total, positive = _zeros(weights, squares, n_codes)
    for stretch in row_blocks(n, 1, min(ROWS_PER_CODE * n_codes, MOST_MOMENT_ROWS)):
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
    """Return moments of every entry and whether its column is the label, by column * parts + part.

    They are invalid under the same conditions as those of `top_moments`.
    """
    width, n_parts = matrix.shape[1], partition.n_parts
    total, positive = _zeros(weights, squares, width * n_parts)
    at_least = min(
        2 * n_parts, MOST_MOMENT_ROWS
    )  # with a hundred thousand classes, adding the table would take all the time
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
    """Return whether entries are probabilities, labels are columns, and rows sum to one within the tolerance."""
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
        first_edge = min(
            edges[1], np.nextafter(edges[-1], edges[0])
        )  # 1 has its own cell even if there is a single bin
        total, positive = classwise_cells(matrix, labels, n_parts, first_edge, partition.place)
        m = n_moments(weighted=False, squares=squares)
        return total[:m], positive[:m]
    code = np.tile(np.arange(width, dtype=np.int64) * n_parts, n) + partition.place(matrix.ravel())
    occurred = (labels[:, None] == np.arange(width)).ravel()
    return pair_sums(code, width * n_parts, matrix.ravel(), occurred, np.repeat(weight, width), squares)


# --- Contributions of the rows of a matrix of probabilities to proper scores ------------------------------------------
# `believable.stats.sums.row_terms` is the plain form. Here every entry's logarithm is computed once, sums over classes
# are computed together, and blocks of few classes are transposed, because short rows do not vectorise.


MATRIX_BLOCK_ENTRIES = 1 << 17  # entries per block of rows
ROW_SUM_NAMES = ("brier", "nll", "correct", "confidence", "entropy")
SMALLEST_FLOAT = np.finfo(np.float64).tiny  # replaces 0 in logarithms, because 0 log 0 is 0 for any finite logarithm


class MatrixRows(NamedTuple):
    """Terms with one entry per row, except `p` and `squared_deviation`, which are sums over the rows by class.

    Attributes
    ----------
    brier, nll, correct, confidence, entropy, spread, spread_variance
        Contribution of the row to the sum of that name.
    squares, cubes, log_squares
        Sums over classes of p^2, p^3 and p log(p)^2.
    p, squared_deviation
        Weighted sums over rows of p, and of its squared difference from their mean.
    """

    brier: Float64s
    nll: Float64s
    correct: Array
    confidence: Floats
    entropy: Float64s
    spread: Float64s
    spread_variance: Float64s
    squares: Float64s
    cubes: Float64s
    log_squares: Float64s
    p: Float64s
    squared_deviation: Float64s


@twin(compiled.matrix_sums)
def matrix_sums(matrix: Floats, labels: Ints, weights: Float64s | None, tolerance: float = np.inf) -> MatrixSums:
    """Return the fields of `believable.ScoreSums`, except kind and n_classes, of a matrix with one label per row.

    They are invalid under the same conditions as the moments of `top_moments`.
    """
    n, n_classes = matrix.shape
    step = min(n, max(1, MATRIX_BLOCK_ENTRIES // n_classes))
    buffers = np.empty((3, step * n_classes))
    parts = []
    for start in range(0, n, step):
        rows = slice(start, start + step)
        if not well_formed(matrix[rows], labels[rows], tolerance):
            return MatrixSums.invalid()
        given = None if weights is None else weights[rows]
        parts.append(_sums(matrix_rows(matrix[rows], labels[rows], given, buffers), labels[rows], given, n_classes))
    whole: dict[str, Any] = {name: np.sum([part[name] for part in parts], axis=0) for name in parts[0]}
    # Each part keeps deviations from its own mean (Chan et al. 1983): a sum of squares minus a square would cancel.
    mean = whole["wp"] / whole["w"]
    moved = [part["deviation"] + part["w"] * (part["wp"] / part["w"] - mean) ** 2 for part in parts]
    whole = {name: value if np.ndim(value) else float(value) for name, value in whole.items()}
    return MatrixSums(whole | {"n": n, "deviation": np.sum(moved, axis=0)}, True)


def _sums(of: MatrixRows, labels: Ints, given: Float64s | None, n_classes: int) -> dict[str, Any]:
    """Return the sums of a block of rows."""
    weight = np.ones(len(labels)) if given is None else given
    square = weight * weight

    def by_label(values: Array) -> Array:
        return np.bincount(labels, values, n_classes)

    finite = [
        np.where(np.isinf(x), 0, x) for x in (np.asarray(getattr(of, name), np.float64) for name in ROW_SUM_NAMES)
    ]
    brier_variance = np.maximum(4 * (of.cubes - of.squares**2), 0)
    nll_variance = np.maximum(of.log_squares - of.entropy**2, 0)
    return {
        "n": len(labels),
        "w": float(np.sum(weight)),
        "w2": float(np.sum(square)),
        **{name: float(np.sum(weight * getattr(of, name))) for name in (*ROW_SUM_NAMES, "spread")},
        "spread_variance": float(np.sum(square * of.spread_variance)),
        "w2_squared": float(np.sum(square * of.brier)),
        "wp": of.p,
        "wy": by_label(weight),
        "deviation": of.squared_deviation,
        "w2x": np.array([np.sum(square * x) for x in finite]),
        "w2xx": np.array([np.sum(square * x * x) for x in finite]),
        "w2y": by_label(square),
        "w2y_brier": by_label(square * of.brier),
        "by_chance": np.array([np.sum(square * one) for one in (brier_variance, nll_variance)]),
    }


def matrix_rows(matrix: Floats, labels: Ints, weight: Float64s | None, buffers: Float64s) -> MatrixRows:
    """Return the terms of some rows; `buffers` has room for the three intermediate matrices.

    Allocating them each time would take longer than the computation.
    """
    confidence, correct = top_hit(matrix, labels)
    n, aside = len(matrix), matrix.shape[1] <= FEW_COLUMNS
    classes, rows = (0, 1) if aside else (1, 0)
    turned = matrix.T if aside else matrix
    p, log, work = (buffer[: matrix.size].reshape(turned.shape) for buffer in buffers)
    p[...] = turned
    own = label_scores(matrix, labels).astype(np.float64)
    at_labels = (labels, np.arange(n)) if aside else (np.arange(n), labels)
    weights = None if weight is None else weight if aside else weight[:, None]

    np.log(np.maximum(p, SMALLEST_FLOAT, out=log), out=log)
    np.multiply(p, log, out=work)
    entropy = -work.sum(axis=classes)
    log *= work
    log_squares = log.sum(axis=classes)

    square = np.multiply(p, p, out=log)
    cubes = np.multiply(square, p, out=work).sum(axis=classes)
    square[at_labels] = 0  # handled separately, because a label's 1 - p would be lost next to its p
    others = square.sum(axis=classes)
    squares = others + own * own
    spread = (1 - p.sum(axis=classes)) + 2 * (squares - own)
    not_p = np.subtract(1, p, out=log)
    tilt = np.subtract(not_p, p, out=work)
    not_p *= p
    tilt *= tilt
    not_p *= tilt
    spread_variance = not_p.sum(axis=classes)

    weighted = p if weights is None else np.multiply(p, weights, out=work)
    total = weighted.sum(axis=rows)
    mean = total / (n if weight is None else weight.sum())
    p -= mean[:, None] if aside else mean
    p *= p
    if weights is not None:
        p *= weights
    with np.errstate(divide="ignore"):
        nll = -np.log(own)
    return MatrixRows(
        brier=others + (1 - own) ** 2,
        nll=nll,
        correct=correct,
        confidence=confidence,
        entropy=entropy,
        spread=spread,
        spread_variance=spread_variance,
        squares=squares,
        cubes=cubes,
        log_squares=log_squares,
        p=total,
        squared_deviation=p.sum(axis=rows),
    )
