"""Partitions of [0, 1], and the results of passes over scores in their parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from believable._kernels.bins import LOOKUP_CELLS, bin_index, uniform_index
from believable._types import Array, Float64s, Floats, Int64s, Ints


class Partition(NamedTuple):
    """Right-closed parts between edges; the first also contains 0.

    Attributes
    ----------
    edges : ndarray
        Edges from 0 to 1, in the dtype of the scores.
    uniform : bool
        Whether the edges are k/M, so that no search is needed.
    apart : bool
        Whether 0 and 1 have separate parts, before and after the others.
    """

    edges: Floats
    uniform: bool
    apart: bool = False

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return len(self.edges) - 1 + 2 * self.apart

    def first(self) -> Array:
        """Return the number of inner edges before each of `LOOKUP_CELLS` + 2 cells, where a search can start."""
        cell = (self.edges[1:-1] * self.edges.dtype.type(LOOKUP_CELLS)).astype(
            np.intp
        )  # the same function as for scores
        return np.searchsorted(cell, np.arange(LOOKUP_CELLS + 2), side="left").astype(np.int32)

    def place(self, scores: Floats) -> Ints:
        """Return the part of each score, which must lie in [0, 1]."""
        found = (uniform_index if self.uniform else bin_index)(scores, self.edges)
        if self.apart:
            found += 1
            found[scores == 0] = 0
            found[scores == 1] = self.n_parts - 1
        return found


class Moments(NamedTuple):
    """Sums by code (part, or stratum * parts + part), as `n_moments` lists them.

    Attributes
    ----------
    total, positive : ndarray of shape (moments, codes)
        Moments of all pairs, and of those whose outcome is 1.
    valid : bool
        Whether all scores and labels are valid. If not, the sums are meaningless.
    """

    total: Float64s
    positive: Float64s
    valid: bool

    @classmethod
    def invalid(cls) -> Moments:
        """Return the result for invalid rows."""
        return cls(np.empty((0, 0)), np.empty((0, 0)), False)


# --- Input and result of one pass over 1-D scores ---------------------------------------------------------------------


# Takes scores and their logits (which may be overwritten), and returns cells as floats; those of 0 and 1 are not used.
Place = Callable[[Floats, Float64s], Floats]
Sums = dict[str, float]
CellSums = tuple[Int64s, Float64s, Float64s]  # cells that occur, and moments of all rows and of those with outcome 1


class PassGrid(NamedTuple):
    """A grid of cells for the pass: cell 0 is {0}, the last is {1}, the others lie between the edges.

    Attributes
    ----------
    edges : ndarray of float64
        Edges of the cells between 0 and 1: k/M, or sigmoids of evenly spaced numbers.
    near_one : ndarray of int32 or None
        The table `near_one` of logit-spaced cells; None if cells are uniform.
    reach : float
        Logit of the last edge before it was set to 1.
    searched : bool
        Whether there are too many cells to compute them from the logit, so that they have to be searched.
    cells : ndarray of int32
        The cell of every code.
    place : callable
        Function from scores and logits to cells, as floats.
    """

    edges: Float64s
    near_one: Array | None
    reach: float
    searched: bool
    cells: Ints
    place: Place


class PassSums(NamedTuple):
    """Result of a pass over 1-D scores.

    Attributes
    ----------
    sums : dict of str to float
        The sums behind proper scores, by name; empty if they were not requested.
    cells : list of (cells, moments of all rows, moments of those with outcome 1)
        One entry for each grid.
    valid : bool
        Whether all scores and labels are valid. If not, the rest is empty.
    """

    sums: Sums
    cells: list[CellSums]
    valid: bool

    @classmethod
    def invalid(cls) -> PassSums:
        """Return the result for invalid rows."""
        return cls({}, [], False)


class MatrixSums(NamedTuple):
    """Result of a pass over a matrix.

    Attributes
    ----------
    sums : dict of str to float or ndarray
        The sums behind proper scores, by name.
    valid : bool
        Whether all entries and labels are valid. If not, the sums are empty.
    """

    sums: dict[str, Any]
    valid: bool

    @classmethod
    def invalid(cls) -> MatrixSums:
        """Return the result for invalid rows."""
        return cls({}, False)
