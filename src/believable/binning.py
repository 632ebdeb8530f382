"""Bins: their edges, and the rule that assigns scores to them.

Bins are right-closed, ((m-1)/M, m/M], and the first also contains 0. Edges are rounded to the data type of the scores
and kept as a tuple, so that sets of edges can be compared and a statistic records exactly what it counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, get_args

import numpy as np

from believable import _check, _kernels
from believable._types import Array, Float64s, Floats, Ints, Spacing
from believable.errors import InputError

N_CELLS = 50_400  # divisible by every number of bins from 2 to 10, and 12, 14, 15, 16, 18, 20, 21, 24, 25, …, 100
MAX_BINS = _check.MAX_COUNTS["n_bins"]  # float32 still distinguishes such edges near 1
FEW_SCORES = 512  # with fewer scores, a binary search is faster than the logarithms that replace it
LOGIT_REACH = 40.0  # |logit p| of the outermost logit-spaced cell edge


@dataclass(frozen=True, slots=True)
class Edges:
    """The edges of bins, from 0 to 1, rounded to the data type of the scores.

    Create them with `Edges.uniform`, `Edges.quantile` or `Edges.given`. `len(edges)` is the number of bins.

    Examples
    --------
    >>> Edges.uniform(4).values
    (0.0, 0.25, 0.5, 0.75, 1.0)
    >>> Edges.uniform(10).assign([0.0, 0.3, 0.30000001, 1.0])
    array([0, 2, 3, 9])
    """

    values: tuple[float, ...]
    dtype: str = "float64"
    strategy: str = field(default="given", compare=False)
    _partition: _kernels.Partition = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check.choice(self.dtype, ("float32", "float64"), "dtype")
        _check.choice(self.strategy, ("uniform", "quantile", "given", "column"), "strategy")
        values = np.array(self.values, self.dtype)
        values.flags.writeable = False
        object.__setattr__(self, "_partition", _kernels.Partition(values, self.strategy == "uniform"))
        steps = values[1:] - values[:-1]
        if len(values) < 2 or values[0] != 0 or values[-1] != 1:
            raise InputError(
                "{argument} must be at least two numbers that begin with 0 and end with 1", argument="edges"
            )
        zero_alone = self.strategy == "quantile" and len(steps) > 1  # {0} may be a bin of its own
        if not (steps[1:] > 0).all() or not (steps[0] > 0 or (zero_alone and steps[0] == 0)):
            raise InputError(
                "{argument} must increase, also when rounded to {dtype}", argument="edges", dtype=self.dtype
            )
        if self.strategy == "uniform" and not np.array_equal(values, _division(len(steps)).astype(self.dtype)):
            raise InputError("uniform edges must be k/M")

    def __reduce__(self) -> tuple[Any, ...]:
        return Edges, (self.values, self.dtype, self.strategy)  # a copied array would be writeable

    @classmethod
    def uniform(cls, n_bins: int, dtype: Any = "float64") -> Edges:
        """Return M bins of equal width, with edges k/M computed by division."""
        return _uniform_edges(_check.positive_integer(n_bins, "n_bins", 1, MAX_BINS), np.dtype(dtype))

    @classmethod
    def quantile(cls, scores: Any, n_bins: int, weights: Any = None) -> Edges:
        """Return at most M bins of equal weight; there may be fewer, because equal scores are never split."""
        scores = _check.numeric(scores, "scores")
        if scores.ndim != 1 or len(scores) == 0:
            raise InputError("quantile bins need at least one score, in a 1-D array")
        _check.probabilities(scores, "scores", None)
        if weights is not None:
            weights = _check.weights(weights, len(scores))
            scores, weights = scores[weights > 0], weights[weights > 0]
        return cls._of_scores(scores, n_bins, weights)

    @classmethod
    def _of_scores(cls, scores: Floats, n_bins: int, weights: Array | None) -> Edges:
        """Return quantile edges of checked scores, without those of weight 0."""
        n_bins = _check.positive_integer(n_bins, "n_bins", 1, MAX_BINS)
        inner = dict.fromkeys(_kernels.quantile_boundaries(scores, weights, n_bins).tolist())  # ascending and distinct
        return cls((0.0, *(edge for edge in inner if edge < 1), 1.0), _name(scores.dtype), "quantile")

    @classmethod
    def _from_boundaries(cls, inner: Array, dtype: Any) -> Edges:
        """Return quantile edges from distinct inner boundaries: one at 1 is the last edge, one at 0 makes {0} a bin."""
        return cls._rounded(np.concatenate([[0], inner[inner < 1], [1]]), dtype, "quantile")

    @classmethod
    def given(cls, values: Sequence[float] | Array, dtype: Any = "float64") -> Edges:
        """Return custom edges, which must increase from 0 to 1."""
        array = _check.numeric(values, "edges").astype(np.float64)
        if array.ndim != 1:
            raise InputError("{argument} must be 1-D, got shape {got}", argument="edges", got=array.shape)
        return cls._rounded(array, dtype, "given")

    @classmethod
    def _rounded(cls, values: Array, dtype: Any, strategy: str) -> Edges:
        name = _name(dtype)
        return cls(tuple(values.astype(name).tolist()), name, strategy)

    def __len__(self) -> int:
        return len(self.values) - 1

    def as_array(self) -> Floats:
        """Return the edges as a read-only array, in the data type of the scores."""
        return self._partition.edges

    def assign(self, scores: Any) -> Ints:
        """Return the bin of each score, 0 to len(edges) - 1."""
        scores = np.atleast_1d(_check.numeric(scores, "scores"))
        _check.probabilities(scores, "scores", None)
        return self.index(scores)

    def index(self, scores: Floats) -> Ints:
        """Return the bin of each score, like `assign`, for checked scores."""
        if self.strategy == "column":
            raise InputError(
                "{argument} makes bins of another column, but comparisons, clusters and several classes need bins of "
                "the scores here: leave it out",
                argument="bin_by",
            )
        return self.partition(scores.dtype).place(scores)

    def partition(self, dtype: np.dtype[Any]) -> _kernels.Partition:
        """Return the bins in the form that kernels take, for scores of this data type."""
        if dtype != self._partition.edges.dtype:
            raise InputError(
                f"edges rounded to {self.dtype} cannot sort {dtype} scores: make the edges with dtype='{dtype}', or "
                "convert the scores"
            )
        return self._partition


@dataclass(frozen=True, slots=True, eq=False)
class ColumnBins:
    """Bins of the values of a column other than the scores, with the bin of every row.

    Attributes
    ----------
    index : ndarray of int
        Bin of each row.
    ends : ndarray of shape (m, 2)
        Lower (open) and upper (closed) end of each bin, in the units of the column; the first bin also contains its
        lower end.
    """

    index: Ints
    ends: Float64s

    @classmethod
    def of(cls, column: Float64s, n_bins: int, strategy: str, edges: Any, weights: Array | None) -> ColumnBins:
        """Make bins of equal width or equal weight, or of given edges."""
        n_bins = _check.positive_integer(n_bins, "n_bins", 1, MAX_BINS)
        low, high = float(column.min()), float(column.max())
        if edges is not None:
            ends = _increasing(edges)
            outside = (column < ends[0]) | (column > ends[-1])
            if outside.any():
                row = int(np.argmax(outside))
                raise InputError(
                    "{argument} must cover all values of {bin_by}, got {got:g} at {row}",
                    argument="edges",
                    got=column[row],
                    row=row,
                )
        elif strategy == "uniform" and low < high:
            ends = np.asarray(low + (high - low) * _division(n_bins), np.float64)
            ends[-1] = high  # the sum may be rounded
        else:
            values, code = np.unique(column, return_inverse=True)
            reached = _kernels.running_sum(np.bincount(code, weights).astype(np.float64))
            inner = values[np.unique(_kernels.quantile_positions(reached, n_bins))]
            ends = np.concatenate([[low], inner[inner < high], [high]])
        index = np.searchsorted(ends[1:-1], column, side="left")
        return cls(index, np.column_stack([ends[:-1], ends[1:]]))

    def __len__(self) -> int:
        return len(self.ends)

    def as_edges(self, dtype: Any) -> Edges:
        """Return numbered bins that stand for these in a `BinStats`, and that no score can be assigned to."""
        return Edges(tuple(_division(len(self)).astype(dtype).tolist()), _name(dtype), "column")


def _increasing(edges: Any) -> Float64s:
    """Return edges in the units of a column, checked."""
    ends = _check.numeric(edges, "edges").astype(np.float64)
    if ends.ndim != 1 or len(ends) < 2 or not np.all(np.diff(ends) > 0):
        raise InputError("{argument} must be at least two numbers that increase", argument="edges")
    return ends


@dataclass(frozen=True, slots=True)
class Grid:
    """A fine grid of cells: count once, and choose the bins later.

    Cell 0 is {0} and cell n + 1 is {1}. Between them are n right-closed cells, of equal width in p ("uniform") or in
    logit p ("logit", for the tails).
    """

    n_cells: int = N_CELLS
    spacing: Spacing = "uniform"
    dtype: str = "float64"

    def __post_init__(self) -> None:
        _check.positive_integer(self.n_cells, "cells", 2, MAX_BINS)
        _check.choice(self.spacing, get_args(Spacing), "spacing")
        _check.choice(self.dtype, ("float32", "float64"), "dtype")

    def __len__(self) -> int:
        return self.n_cells + 2

    def inner_edges(self) -> Floats:
        """Return the n + 1 edges of the cells between {0} and {1}, as a read-only array."""
        return _grid_edges(self.n_cells, self.spacing, self.dtype)

    def partition(self) -> _kernels.Partition | None:
        """Return cells of equal width in the form that kernels take; None for a logit-spaced grid."""
        return _kernels.Partition(self.inner_edges(), True, apart=True) if self.spacing == "uniform" else None

    def lower_edges(self) -> Floats:
        """Return the lower end of every cell, including {0} and {1}."""
        edges = self.inner_edges()
        return np.concatenate([edges[:1], edges[:-1], edges[-1:]])

    def upper_edges(self) -> Floats:
        """Return the upper end of every cell, including {0} and {1}."""
        edges = self.inner_edges()
        return np.concatenate([edges[:1], edges[1:], edges[-1:]])

    def lower_bounds(self) -> Floats:
        """Return one bound for each cell from the second on; a score's cell is the number of bounds below it."""
        edges = self.inner_edges()
        below_one = np.nextafter(edges[-1], edges[0])  # logit-spaced edges may be rounded to 1 itself
        return np.asarray(np.minimum(edges, below_one))

    def near_one(self) -> Array:
        """Return `_kernels.near_one` of logit-spaced edges, read-only."""
        return _near_one(self.n_cells, self.dtype)

    def assign(self, scores: Floats) -> Ints:
        """Return the cell of each score, 0 to n + 1."""
        edges = self.inner_edges()
        if self.spacing == "uniform":
            cell = _kernels.uniform_index(scores, edges)
        elif len(scores) < FEW_SCORES or self.n_cells > _kernels.MOST_LOGIT_CELLS:
            cell = _kernels.bin_index(scores, edges)
        else:
            cell = _kernels.logit_index(scores, edges, self.near_one(), LOGIT_REACH)
        cell += 1
        cell[scores == 0] = 0
        cell[scores == 1] = self.n_cells + 1
        return cell

    def place(self, scores: Floats, logit: Float64s) -> Floats:
        """Return `assign` as floats, for scores other than 0 and 1 with known logits, which may be overwritten."""
        edges = self.inner_edges()
        if self.spacing == "uniform":
            cell = _kernels.uniform_floor(scores, edges)
        elif len(scores) < FEW_SCORES or self.n_cells > _kernels.MOST_LOGIT_CELLS:
            cell = _kernels.bin_index(scores, edges).astype(np.float64)
        else:
            cell = _kernels.logit_floor(scores, logit, edges, self.near_one(), LOGIT_REACH)
        cell += 1
        return cell


@lru_cache(maxsize=32)
def _name(dtype: Any) -> str:
    """Return the name of a dtype, cached because NumPy builds the string at every access."""
    return str(np.dtype(dtype).name)


def cube_root_bins(n_rows: int) -> int:
    """Return the smallest number of bins whose cube is at least the number of rows: what "cube_root" stands for."""
    n_bins: int = max(round(n_rows ** (1 / 3)), 1)
    while n_bins**3 < n_rows:
        n_bins += 1
    while (n_bins - 1) ** 3 >= n_rows and n_bins > 1:
        n_bins -= 1
    return n_bins


def _division(n_bins: int) -> Floats:
    """Return k/M for k = 0..M by division, not by linspace or a running sum, which round differently."""
    return np.asarray(np.arange(n_bins + 1) / n_bins)


@lru_cache(maxsize=32)
def _uniform_edges(n_bins: int, dtype: np.dtype[Any]) -> Edges:
    return Edges._rounded(_division(n_bins), dtype, "uniform")


@lru_cache(maxsize=8)
def _grid_edges(n_cells: int, spacing: Spacing, dtype: str) -> Floats:
    steps = _division(n_cells)
    if spacing == "logit":
        steps = _kernels.sigmoid(LOGIT_REACH * (2 * steps - 1))
        steps[0], steps[-1] = 0, 1
    edges = steps.astype(dtype)
    edges.flags.writeable = False
    return edges


@lru_cache(maxsize=8)
def _near_one(n_cells: int, dtype: str) -> Array:
    table = _kernels.near_one(_grid_edges(n_cells, "logit", dtype))
    table.flags.writeable = False
    return table
