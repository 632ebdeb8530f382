"""Sums by cell of outcomes that are drawn repeatedly for the same predictions."""

from __future__ import annotations

from math import erfc, exp, pi, sqrt

import numpy as np

from believable._kernels.compiled import resampling as compiled
from believable._kernels.pairs import FEW_CLASSES, Similarity, tiles
from believable._kernels.rows import MATRIX_BLOCK
from believable._kernels.twins import twin
from believable._types import Array, Float64s


@twin(compiled.redrawn_labels)
def redrawn_labels(
    uniform: Float64s, reached: Float64s, cells: Array, weight: Float64s | None, n_cells: int
) -> Float64s:
    """Return weights by cell of labels drawn from each row's probabilities, for every row of a (B, n) array in [0, 1).

    `reached` holds the running sums of the probabilities, (n, K). The label is the first class whose running sum
    exceeds the uniform number times the last sum. It counts in its cell of the (n, K) array `cells`, unless that is
    negative.
    """
    n = len(reached)
    sums = np.empty((len(uniform), n_cells))
    rows = np.arange(n)
    for i, row in enumerate(uniform):
        label = np.count_nonzero((row * reached[:, -1])[:, None] >= reached[:, :-1], axis=1)
        sums[i] = _by_cell(cells[rows, label], weight, n_cells)
    return sums


@twin(compiled.redrawn_events)
def redrawn_events(
    uniform: Float64s, chance: Float64s, cells: Array, weight: Float64s | None, n_cells: int
) -> Float64s:
    """Return weights by cell of events that occur if a uniform number is below their probability, by row of (B, m)."""
    sums = np.empty((len(uniform), n_cells))
    for i, row in enumerate(uniform):
        occurred = np.flatnonzero(row < chance)
        sums[i] = _by_cell(cells[occurred], None if weight is None else weight[occurred], n_cells)
    return sums


def _by_cell(cell: Array, weight: Float64s | None, n_cells: int) -> Float64s:
    """Return the sums of weights by cell, without those of negative cells."""
    return np.asarray(np.bincount(cell + 1, weight, n_cells + 1)[1:], np.float64)


# --- The SKCE of many drawn sets of labels: the kernel is computed once for all of them -------------------------------


def draw_labels(points: Float64s, size: int, rng: np.random.Generator) -> Array:
    """Draw `size` labels for every row from its probabilities, as a (size, n) array."""
    n, n_classes = points.shape
    labels = np.empty((size, n), np.int16 if n_classes < 2**15 else np.int32)
    for i, row in enumerate(points):
        reached = np.cumsum(row)
        labels[:, i] = np.searchsorted(reached[:-1], rng.random(size) * reached[-1], side="right")
    return labels


@twin(compiled.skce_replicates)
def skce_replicates(points: Float64s, weight: Float64s, similarity: Similarity, labels: Array) -> Float64s:
    """Return the sum over i != j of w_i w_j k_ij <e_i - P_i, e_j - P_j>, for each row of a (B, n) array of labels.

    For few classes, residuals are multiplied. For many, equal labels are matched, which is faster but rounds more if
    predictions are nearly certain. The extra memory is that of a few tiles.
    """
    total = np.zeros(len(labels))
    few = points.shape[1] <= FEW_CLASSES
    means = np.zeros(points.shape)
    for a, b in tiles(*points.shape):
        k = similarity.between(points[a], points[b])
        k *= weight[a, None]
        k *= weight[b]
        if a == b:
            np.fill_diagonal(k, 0)
        times = 1 if a == b else 2
        if few:
            total += times * _products(k, points[a], points[b], labels[:, a], labels[:, b])
            continue
        # <e_i - P_i, e_j - P_j> = [l_i = l_j] - P_i(l_j) - P_j(l_i) + <P_i, P_j>; the middle two are looked up below.
        into = k @ points[b]
        means[a] += into
        if a != b:
            means[b] += k.T @ points[a]
        equal = [k[one[:, None] == other].sum() for one, other in zip(labels[:, a], labels[:, b], strict=True)]
        total += times * (np.array(equal) + (into * points[a]).sum())
    if not few:
        rows = np.arange(len(points))
        total -= 2 * np.array([means[rows, row].sum() for row in labels])
    return total


def _products(k: Float64s, x: Float64s, y: Float64s, rows: Array, columns: Array) -> Float64s:
    """Return the sum of k_ij <R_i, R_j> for each replicate, with residuals R from the labels of rows and columns."""
    n_classes = x.shape[1]
    found = []
    step = max(1, MATRIX_BLOCK // (k.shape[1] * n_classes))
    for start in range(0, len(rows), step):
        left, right = (
            (part[start : start + step].T[:, :, None] == np.arange(n_classes)) - points[:, None, :]
            for part, points in ((rows, x), (columns, y))
        )  # (rows of the tile, replicates, classes)
        sums = (k @ right.reshape(len(right), -1)).reshape(left.shape)
        found.append(np.einsum("irk,irk->r", left, sums))
    return np.concatenate(found)


# --- Extremes of Brownian motion on [0, 1]: the limits of the cumulative tests ----------------------------------------
# Each probability has two series, one from reflecting the path at two walls, one from the eigenvalues of the strip
# between them. They are equal; the first converges fast for large x, the second for small x.


SERIES_TERMS = 8  # enough for either series on its side of 1.2 and 2: further terms are below 1e-17
CERTAIN_DISTANCE = 0.05  # the probability of staying this close to the start is 0 to the last digit


def sup_tail(x: float) -> float:
    """Return P(max |B| > x)."""
    if x < CERTAIN_DISTANCE:
        return 1.0
    if x > 1.2:
        return 2 * sum((-1.0) ** k * erfc((2 * k + 1) * x / sqrt(2)) for k in range(SERIES_TERMS))
    within = sum((-1.0) ** k / (2 * k + 1) * exp(-((pi * (2 * k + 1) / x) ** 2) / 8) for k in range(SERIES_TERMS))
    return 1 - 4 / pi * within


def range_tail(x: float) -> float:
    """Return P(max B - min B > x), from Feller's density 8 sum_k (-1)^(k-1) k^2 phi(k x)."""
    if x < CERTAIN_DISTANCE:
        return 1.0
    if x > 2:
        return 4 * sum((-1.0) ** (k - 1) * k * erfc(k * x / sqrt(2)) for k in range(1, SERIES_TERMS + 1))
    odd = [pi * (2 * k + 1) for k in range(SERIES_TERMS)]
    return 1 - 8 * sum((1 / x**2 + 1 / m**2) * exp(-((m / x) ** 2) / 2) for m in odd)
