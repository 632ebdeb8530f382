"""Sums over all pairs of rows with a kernel on probability vectors, tile by tile: never n x n numbers at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from believable._types import Float64s
from believable.kernels._backend import twin
from believable.kernels._pairs import SkceRows
from believable.kernels.compiled import tiles as compiled
from believable.kernels.similarity import Similarity

# Rows of a tile, for few classes and for many: it stays in the cache, and products of few classes are small enough that
# BLAS does not share them out among threads, which would wait for each other longer than they work.
SMALL_TILE, TILE, FEW_CLASSES = 128, 256, 16
SMALL_BLOCK = 16  # up to here, blocks go through their pairs of positions, all blocks at once


@twin(compiled.skce_rows)
def skce_rows(
    points: Float64s, residuals: Float64s, weight: Float64s, similarity: Similarity, *, diagonal: bool = False
) -> SkceRows:
    """The sums of h over each row, and of its squares, of all pairs i != j; with i = j too if `diagonal`.

    Points P and residuals R are (n, K). Each tile of the symmetric matrix h is made once and serves both its halves.
    Memory is that of a few tiles beside the arrays given, and of one as large as R.
    """
    rows, squares = np.zeros(len(points)), 0.0
    weighted = residuals * weight[:, None]
    for a, b in tiles(*points.shape):
        h = similarity.between(points[a], points[b])
        h *= weighted[a] @ weighted[b].T
        if a == b and not diagonal:
            np.fill_diagonal(h, 0)
        rows[a] += h.sum(axis=1)
        if a != b:
            rows[b] += h.sum(axis=0)
        squares += (1 if a == b else 2) * float(np.einsum("ij,ij->", h, h))
    return SkceRows(rows / weight, squares)


def tiles(n: int, n_classes: int) -> Iterator[tuple[slice, slice]]:
    """Pairs of row ranges that cover the upper half of an n x n matrix, its diagonal included."""
    size = SMALL_TILE if n_classes <= FEW_CLASSES else TILE
    ranges = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    for i, a in enumerate(ranges):
        for b in ranges[i:]:
            yield a, b


@twin(compiled.skce_blocks)
def skce_blocks(
    points: Float64s, residuals: Float64s, weight: Float64s, similarity: Similarity, size: int
) -> tuple[Float64s, Float64s]:
    """For consecutive blocks of `size` rows, the sum over i != j of w_i w_j h_ij, and of w_i w_j.

    Rows that do not fill a last block are left out.
    """
    n_blocks = len(points) // size
    total, pairs = np.zeros(n_blocks), np.zeros(n_blocks)
    if size <= SMALL_BLOCK and not callable(similarity.name):
        for i, j in zip(*np.triu_indices(size, 1), strict=True):
            one, other = (slice(start, n_blocks * size, size) for start in (i, j))
            h = similarity.along(points[one], points[other])
            h *= np.einsum("ij,ij->i", residuals[one], residuals[other])
            both = weight[one] * weight[other]
            total += 2 * both * h
            pairs += 2 * both
        return total, pairs
    for block in range(n_blocks):
        rows = slice(block * size, (block + 1) * size)
        w = weight[rows]
        total[block] = w @ skce_rows(points[rows], residuals[rows], w, similarity).rows
        pairs[block] = pair_weight(w)
    return total, pairs


def pair_weight(weight: Float64s) -> float:
    """W^2 - sum w^2, the weight of all ordered pairs of different rows, as a sum in which nothing cancels."""
    return float(2 * (weight[1:] * np.cumsum(weight)[:-1]).sum())
