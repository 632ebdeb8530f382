"""Outcomes and labels that are drawn repeatedly, in C; replicates are divided among threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from believable._kernels.compiled.threads import in_parts, ranges
from believable._kernels.twins import c
from believable._types import Array, Float64s

if TYPE_CHECKING:
    from believable._kernels.pairs import Similarity

DRAWS_PER_THREAD = 1 << 16  # draws that justify a thread
RESAMPLED_TILE_ROWS = 256  # rows of a tile; more rows make longer lists of rows with the same label


def redrawn_labels(
    uniform: Float64s, reached: Float64s, cells: Array, weight: Float64s | None, n_cells: int
) -> Float64s:
    n, width = reached.shape
    sums = np.zeros((len(uniform), n_cells))
    uniform, reached = np.ascontiguousarray(uniform, np.float64), np.ascontiguousarray(reached, np.float64)
    cells, weight = np.ascontiguousarray(cells, np.int32), _weights(weight)

    def work(number: int, start: int, stop: int) -> None:
        c.label_sums(uniform, reached, cells, weight, sums, n, width, n_cells, start, stop)

    if sums.size and n:
        in_parts(work, ranges(len(sums), max(1, DRAWS_PER_THREAD // n)))
    return sums


def redrawn_events(
    uniform: Float64s, chance: Float64s, cells: Array, weight: Float64s | None, n_cells: int
) -> Float64s:
    n = len(chance)
    sums = np.zeros((len(uniform), n_cells))
    uniform, chance = np.ascontiguousarray(uniform, np.float64), np.ascontiguousarray(chance, np.float64)
    cells, weight = np.ascontiguousarray(cells, np.int32), _weights(weight)

    def work(number: int, start: int, stop: int) -> None:
        c.event_sums(uniform, chance, cells, weight, sums, n, n_cells, start, stop)

    if sums.size and n:
        in_parts(work, ranges(len(sums), max(1, DRAWS_PER_THREAD // n)))
    return sums


def _weights(weight: Float64s | None) -> Float64s | None:
    return None if weight is None else np.ascontiguousarray(weight, np.float64)


def skce_replicates(points: Float64s, weight: Float64s, similarity: Similarity, labels: Array) -> Float64s:
    # R = D + Q, with D = e_label - e_top, and Q the residual if the likeliest label, the top, had been drawn. D is zero
    # for most rows of certain predictions, and only pairs with a class in common have a <D_i, D_j>.
    n, width = points.shape
    rows, top = np.arange(n), points.argmax(axis=1).astype(np.int32)
    labels = np.ascontiguousarray(labels, np.int32)
    fixed = -points
    fixed[rows, top] += 1
    means, drawn, once = np.zeros(points.shape), np.zeros(len(labels)), np.zeros(len(labels))
    for start in range(0, n, RESAMPLED_TILE_ROWS):
        a = slice(start, min(start + RESAMPLED_TILE_ROWS, n))
        for other in range(start, n, RESAMPLED_TILE_ROWS):
            b = slice(other, min(other + RESAMPLED_TILE_ROWS, n))
            k = similarity.between(points[a], points[b])
            k *= weight[a, None]
            k *= weight[b]
            into = once
            if start == other:
                np.fill_diagonal(k, 0)
            else:
                into = drawn
                means[b] += k.T @ fixed[a]
            means[a] += k @ fixed[b]
            _add_pairs(k, labels, top, into, width, start, other)
    taken = np.array([means[rows, row].sum() for row in labels])
    own = means[rows, top].sum()
    return np.asarray(once + 2 * (drawn + (taken - own)) + (means * fixed).sum())


def _add_pairs(k: Float64s, labels: Array, top: Array, into: Float64s, width: int, a: int, b: int) -> None:
    def work(number: int, start: int, stop: int) -> None:
        c.pair_sums_of_labels(k, labels, top, into, width, a, k.shape[0], b, k.shape[1], start, stop)

    in_parts(work, ranges(len(labels), max(1, 16 * DRAWS_PER_THREAD // k.size)))
