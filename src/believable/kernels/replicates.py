"""The SKCE of many drawn sets of labels for the same predictions: the kernel is computed once for all of them."""

from __future__ import annotations

import numpy as np

from believable._types import Array, Float64s
from believable.kernels._backend import twin
from believable.kernels.compiled import resampling as compiled
from believable.kernels.reference import MATRIX_BLOCK
from believable.kernels.similarity import Similarity
from believable.kernels.tiles import FEW_CLASSES, tiles


def draw_labels(points: Float64s, size: int, rng: np.random.Generator) -> Array:
    """`size` labels for every row, drawn from its probabilities: a (size, n) array."""
    n, n_classes = points.shape
    labels = np.empty((size, n), np.int16 if n_classes < 2**15 else np.int32)
    for i, row in enumerate(points):
        reached = np.cumsum(row)
        labels[:, i] = np.searchsorted(reached[:-1], rng.random(size) * reached[-1], side="right")
    return labels


@twin(compiled.skce_replicates)
def skce_replicates(points: Float64s, weight: Float64s, similarity: Similarity, labels: Array) -> Float64s:
    """sum over i != j of w_i w_j k_ij <e_i - P_i, e_j - P_j>, for each row of a (B, n) array of labels.

    For few classes residuals are multiplied; for many, equal labels are looked for, which is quicker, though it rounds
    more where predictions are nearly certain. Memory is that of a few tiles beside the arrays given.
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
    """For each replicate, the sum of k_ij <R_i, R_j>, its residuals R made from rows' and columns' labels."""
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
