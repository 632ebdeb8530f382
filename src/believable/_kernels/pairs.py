"""Sums over pairs of rows: kernels between two rows, and sums over all pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from believable._kernels.bins import running_sum
from believable._kernels.compiled import pairs as compiled
from believable._kernels.sorting import ascending
from believable._kernels.twins import twin
from believable._kernels.values import SkceRows
from believable._types import Array, Float64s, Ints

# --- Kernels on probability vectors: exp(-TV / nu), exp(-d^2 / (2 nu^2)), or a custom function ------------------------


# Below this bandwidth, rounding in |x|^2 + |y|^2 - 2 x y would affect the kernel, so differences are squared instead.
NARROWEST_BY_PRODUCTS = 0.03


@dataclass(frozen=True, slots=True)
class Similarity:
    """A kernel on probability vectors.

    Attributes
    ----------
    name : {"tv", "gaussian"} or callable
        A callable takes two blocks of rows, (a, K) and (b, K), and returns the (a, b) matrix of their kernel.
    bandwidth : float
        The bandwidth nu; not used by a callable.
    """

    name: Literal["tv", "gaussian"] | Callable[[Float64s, Float64s], Array]
    bandwidth: float = 1.0

    def between(self, x: Float64s, y: Float64s) -> Float64s:
        """Return the kernel of every row of x with every row of y, as a matrix that the caller may change."""
        if callable(self.name):
            return np.array(self.name(x, y), np.float64)
        if self.name == "gaussian" and self.bandwidth >= NARROWEST_BY_PRODUCTS:
            squares = x @ y.T
            squares *= -2
            squares += (x * x).sum(axis=1)[:, None]
            squares += (y * y).sum(axis=1)
            return self._of(np.maximum(squares, 0, out=squares))
        return self._of(distances(x, y, self.name))

    def along(self, x: Float64s, y: Float64s) -> Float64s:
        """Return the kernel of each row of x with the same row of y; not for a callable."""
        apart = x - y
        if self.name == "tv":
            return self._of(np.abs(apart, out=apart).sum(axis=1) / 2)
        return self._of(np.einsum("ij,ij->i", apart, apart))

    def _of(self, distance: Float64s) -> Float64s:
        """Compute exp(-d / nu) of total variation, or exp(-d / (2 nu^2)) of squared distance, in place."""
        with np.errstate(over="ignore"):  # if the quotient overflows, the kernel is 0
            distance /= self.bandwidth
            if self.name == "gaussian":
                distance /= 2 * self.bandwidth
        return np.exp(np.negative(distance, out=distance), out=distance)


@twin(compiled.distances)
def distances(x: Float64s, y: Float64s, name: str) -> Float64s:
    """Return the total variation (half the sum of absolute differences) or squared distance of all pairs of rows."""
    from scipy.spatial.distance import cdist

    if name == "tv":
        apart: Float64s = cdist(x, y, "cityblock")
        apart /= 2
        return apart
    return np.asarray(cdist(x, y, "sqeuclidean"))


# --- Sums over all pairs of rows --------------------------------------------------------------------------------------
# The kernel matrix is computed tile by tile, so that n x n numbers are never held at once.


# Rows of a tile, for few classes and for many: it fits in the cache, and products of few classes are small enough that
# BLAS uses no threads, which would wait for each other longer than they work.
SMALL_TILE_ROWS, TILE_ROWS, FEW_CLASSES = 128, 256, 16
SMALL_BLOCK_ROWS = 16  # small blocks are processed by pairs of positions, all blocks at once


@twin(compiled.skce_rows)
def skce_rows(
    points: Float64s, residuals: Float64s, weight: Float64s, similarity: Similarity, *, diagonal: bool = False
) -> SkceRows:
    """Return the sums of h over each row, and of its squares, for all pairs i != j, and for i = j if `diagonal`.

    Points P and residuals R are (n, K). Each tile of the symmetric matrix h is computed once and used for both halves.
    The extra memory is that of a few tiles and of one array as large as R.
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
    """Yield pairs of row ranges that cover the upper half of an n x n matrix, including its diagonal."""
    size = SMALL_TILE_ROWS if n_classes <= FEW_CLASSES else TILE_ROWS
    ranges = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    for i, a in enumerate(ranges):
        for b in ranges[i:]:
            yield a, b


@twin(compiled.skce_blocks)
def skce_blocks(
    points: Float64s, residuals: Float64s, weight: Float64s, similarity: Similarity, size: int
) -> tuple[Float64s, Float64s]:
    """Return the sums over i != j of w_i w_j h_ij, and of w_i w_j, for consecutive blocks of `size` rows.

    Rows that do not fill a last block are left out.
    """
    n_blocks = len(points) // size
    total, pairs = np.zeros(n_blocks), np.zeros(n_blocks)
    if size <= SMALL_BLOCK_ROWS and not callable(similarity.name):
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
    """Return W^2 - sum w^2, the weight of all ordered pairs of different rows, as a sum without cancellation."""
    return float(2 * (weight[1:] * np.cumsum(weight)[:-1]).sum())


# --- Sums over all pairs of sorted points -----------------------------------------------------------------------------
# The kernel is Laplace's, exp(-|x_i - x_j| / h), and no pair is visited: going up through sorted points, the sum over
# the points before decays by exp(-step / h), so that one running sum covers every pair.


LARGEST_SAFE_EXPONENT = 100.0  # smaller exponents neither overflow nor lose more than two digits


@twin(compiled.faded_sums)
def faded_sums(x: Float64s, values: Float64s, bandwidth: float) -> Float64s:
    """Return S_j = sum over i <= j of v_i exp(-(x_j - x_i) / h), along the last axis; x ascends."""
    if x[-1] - x[0] <= LARGEST_SAFE_EXPONENT * bandwidth:
        growth = np.exp((x - x[0]) / bandwidth)
        sums: Float64s = np.cumsum(values * growth, axis=-1)
        sums /= growth
        return sums
    # The range is too wide to scale at once: build sums over the last 2, 4, 8, … points from pairs of shorter ones.
    sums = np.array(values, np.float64)
    step = 1
    while step < len(x):
        fade = _fade(x[step:] - x[:-step], bandwidth)
        if not fade.any():
            break
        sums[..., step:] += fade * sums[..., :-step]
        step *= 2
    return sums


@twin(compiled.faded_before)
def faded_before(x: Float64s, values: Float64s, bandwidth: float) -> Float64s:
    """Return the same sums over i < j; S_j - v_j would lose digits if v_j is large."""
    before = np.zeros(values.shape)
    before[..., 1:] = _fade(np.diff(x), bandwidth) * faded_sums(x, values, bandwidth)[..., :-1]
    return before


@twin(compiled.faded_around)
def faded_around(x: Float64s, values: Float64s, bandwidth: float) -> Float64s:
    """Return the sum over j != i of v_j exp(-|x_i - x_j| / h)."""
    return faded_before(x, values, bandwidth) + faded_before(-x[::-1], values[..., ::-1], bandwidth)[..., ::-1]


@twin(compiled.pairs_of_blocks)
def pairs_of_blocks(x: Float64s, values: Float64s, bandwidth: float) -> Float64s:
    """Return the sum over i < j of v_i v_j exp(-|x_i - x_j| / h) for each row of two matrices, all rows at once."""
    order = np.argsort(x, axis=1)
    x, values = (np.take_along_axis(matrix, order, axis=1).T.copy() for matrix in (x, values))
    total, behind = np.zeros(x.shape[1]), np.zeros(x.shape[1])
    for j in range(1, len(x)):
        behind += values[j - 1]
        behind *= _fade(x[j] - x[j - 1], bandwidth)
        total += behind * values[j]
    return total


@twin(compiled.laplace_form)
def laplace_form(x: Float64s, values: Float64s, bandwidth: float) -> Any:
    """Return sum_ij v_i v_j exp(-|x_i - x_j| / h), including each point with itself.

    It is computed as a sum of squares, sum_j S_j^2 (1 - exp(-2 (x_{j+1} - x_j) / h)), with factor 1 for the last: the
    kernel is the overlap of one-sided exponentials, so the form is the integral of S^2. Nothing cancels, and its root
    is as accurate as the values even near 0.
    """
    sums = faded_sums(x, values, bandwidth)
    sums *= sums
    with np.errstate(over="ignore"):  # if the quotient overflows, the points do not interact
        share = -np.expm1(-2 * (np.diff(x) / bandwidth))
    return (sums[..., :-1] * share).sum(axis=-1) + sums[..., -1]


def _fade(gap: Float64s, bandwidth: float) -> Float64s:
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(-(gap / bandwidth)))


# --- An order of rows that depends only on their entries --------------------------------------------------------------


MEDIAN_ROWS = 1000  # the median distance uses at most this many rows


def row_order(*keys: Float64s) -> Ints:
    """Return positions that sort rows by their entries, first entry first; later matrices break ties of the earlier."""
    first = keys[0][:, 0]
    order = ascending(first)
    ordered = first[order]
    same = ordered[1:] == ordered[:-1]
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    if len(tied):  # usually few: only tied rows compare all their entries
        rows = order[tied]
        columns = [column for key in keys for column in key[rows].T]
        order[tied] = rows[np.lexsort(columns[::-1])]
    return order


def runs(rows: Float64s) -> Ints:
    """Return where each run of equal rows starts."""
    return np.flatnonzero(np.append(True, (rows[1:] != rows[:-1]).any(axis=1)))


def spread_rows(matrix: Float64s, weight: Float64s) -> tuple[Ints, Float64s]:
    """Return distinct rows and their weights; if there are more than `MEDIAN_ROWS`, that many, evenly by weight.

    They are taken in the order of their entries, each row sorted downwards (the identity of classes only breaks ties).
    So neither the order of rows nor that of classes matters, and two equal rows count like one of weight 2.
    """
    order = row_order(-np.sort(-matrix, axis=1), matrix)
    starts = runs(matrix[order])
    rows, weight = order[starts], np.add.reduceat(weight[order], starts)
    if len(rows) <= MEDIAN_ROWS:
        return rows, weight
    reached = running_sum(weight)
    targets = (np.arange(MEDIAN_ROWS) + 0.5) / MEDIAN_ROWS - 1e-9
    return rows[np.searchsorted(reached, targets * reached[-1], side="left")], np.ones(MEDIAN_ROWS)


def middle_of_pairs(distance: Float64s, weight: Float64s) -> float:
    """Return the weighted median of a matrix of distances, including every row with itself.

    The weight of a pair is the product of its weights. The median is the smallest distance at which the cumulative
    weight reaches half of the total (minus 1e-9 of it).
    """
    flat = distance.ravel()
    if np.all(weight == weight[0]):
        half = int(np.ceil((0.5 - 1e-9) * len(flat))) - 1
        return float(np.partition(flat, half)[half])
    order = np.argsort(flat, kind="stable")
    reached = running_sum(np.multiply.outer(weight, weight).ravel()[order])
    return float(flat[order[np.searchsorted(reached, (0.5 - 1e-9) * reached[-1], side="left")]])
