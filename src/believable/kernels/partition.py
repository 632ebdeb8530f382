"""How [0, 1] is cut, and the moments of what lies in each part."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from believable._types import Array, Float64s, Floats, Ints
from believable.kernels.reference import LOOKUP, bin_index, uniform_index


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
        """How many inner edges lie in cells before each of `LOOKUP` + 2: where a search for a score may begin."""
        cell = (self.edges[1:-1] * self.edges.dtype.type(LOOKUP)).astype(np.intp)  # the same map as for scores
        return np.searchsorted(cell, np.arange(LOOKUP + 2), side="left").astype(np.int32)

    def place(self, scores: Floats) -> Ints:
        """The part of each score, which must lie in [0, 1]."""
        found = (uniform_index if self.uniform else bin_index)(scores, self.edges)
        if self.apart:
            found += 1
            found[scores == 0] = 0
            found[scores == 1] = self.n_parts - 1
        return found


class Moments(NamedTuple):
    """Sums by code (part, or group * parts + part), as `n_moments` lists them.

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
