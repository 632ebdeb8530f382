"""How [0, 1] is cut, and the moments of what lies in each part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from believable._kernels.bins import LOOKUP_CELLS, bin_index, uniform_index
from believable._types import Array, Float64s, Floats, Int64s, Ints


class Partition(NamedTuple):
    """Right-closed parts between edges, the first of which also owns 0.

    Attributes
    ----------
    edges : ndarray
        From 0 to 1, in the type of the scores.
    uniform : bool
        They are k/M, so nothing has to be searched for.
    apart : bool
        0 and 1 have parts of their own, before and after the others.
    """

    edges: Floats
    uniform: bool
    apart: bool = False

    @property
    def n_parts(self) -> int:
        """How many parts there are."""
        return len(self.edges) - 1 + 2 * self.apart

    def first(self) -> Array:
        """How many inner edges lie in cells before each of `LOOKUP_CELLS` + 2: where a search for a score may begin."""
        cell = (self.edges[1:-1] * self.edges.dtype.type(LOOKUP_CELLS)).astype(np.intp)  # the same map as for scores
        return np.searchsorted(cell, np.arange(LOOKUP_CELLS + 2), side="left").astype(np.int32)

    def place(self, scores: Floats) -> Ints:
        """The part of each score, which must lie in [0, 1]."""
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
        Of all pairs, and of those whose outcome is 1.
    valid : bool
        All scores and labels were what they should be. If not, the sums mean nothing.
    """

    total: Float64s
    positive: Float64s
    valid: bool

    @classmethod
    def invalid(cls) -> Moments:
        """Of rows that cannot be counted."""
        return cls(np.empty((0, 0)), np.empty((0, 0)), False)


# --- What one pass over 1-D scores is asked for, and what it answers --------------------------------------------------


# Of scores, and their logits (which may be overwritten), to cells as floats; whatever it says of 0 and 1 is not used.
Place = Callable[[Floats, Float64s], Floats]
Sums = dict[str, float]
CellSums = tuple[Int64s, Float64s, Float64s]  # cells that occur, and moments of all rows and of those with outcome 1


class PassGrid(NamedTuple):
    """A grid of cells as this pass reads it: cell 0 is {0}, the last is {1}, the others lie between the edges.

    Attributes
    ----------
    edges : ndarray of float64
        One more than there are cells between 0 and 1: k/M, or the sigmoids of numbers evenly spaced.
    near_one : ndarray of int32 or None
        Of logit-spaced cells, their `near_one`; None if cells are uniform.
    reach : float
        The logit of the last edge before it was made 1.
    searched : bool
        Cells are too many to follow from the logit: they have to be searched for.
    cells : ndarray of int32
        The cell behind every code.
    place : callable
        From scores and logits to cells, as floats.
    """

    edges: Float64s
    near_one: Array | None
    reach: float
    searched: bool
    cells: Ints
    place: Place


class PassSums(NamedTuple):
    """Of all rows.

    Attributes
    ----------
    sums : dict of str to float
        Those behind proper scores, by name; empty if they were not asked for.
    cells : list of (cells, moments of all rows, moments of those with outcome 1)
        One entry for each grid.
    valid : bool
        All scores and labels were what they should be. If not, the rest is empty.
    """

    sums: Sums
    cells: list[CellSums]
    valid: bool

    @classmethod
    def invalid(cls) -> PassSums:
        """Of rows that cannot be counted."""
        return cls({}, [], False)


class MatrixSums(NamedTuple):
    """Of all rows of a matrix.

    Attributes
    ----------
    sums : dict of str to float or ndarray
        Those behind proper scores, by name.
    valid : bool
        All entries and labels were what they should be. If not, the sums are empty.
    """

    sums: dict[str, Any]
    valid: bool

    @classmethod
    def invalid(cls) -> MatrixSums:
        """Of rows that cannot be counted."""
        return cls({}, False)
