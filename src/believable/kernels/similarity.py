"""How alike two probability vectors are: exp(-TV / nu), exp(-d^2 / (2 nu^2)), or a function of one's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from believable._types import Array, Float64s
from believable.kernels._backend import twin
from believable.kernels.compiled import tiles as compiled

NARROW = 0.03  # below it, rounding in |x|^2 + |y|^2 - 2 x y would show in the kernel: differences are squared instead


@dataclass(frozen=True, slots=True)
class Similarity:
    """A kernel on probability vectors.

    Attributes
    ----------
    name : {"tv", "gaussian"} or callable
        A callable takes two blocks of rows, (a, K) and (b, K), and returns the (a, b) matrix of their kernel.
    bandwidth : float
        nu; a callable has its own.
    """

    name: Literal["tv", "gaussian"] | Callable[[Float64s, Float64s], Array]
    bandwidth: float = 1.0

    def between(self, x: Float64s, y: Float64s) -> Float64s:
        """The kernel of every row of x with every row of y, as a matrix that is the caller's to change."""
        if callable(self.name):
            return np.array(self.name(x, y), np.float64)
        if self.name == "gaussian" and self.bandwidth >= NARROW:
            squares = x @ y.T
            squares *= -2
            squares += (x * x).sum(axis=1)[:, None]
            squares += (y * y).sum(axis=1)
            return self._of(np.maximum(squares, 0, out=squares))
        return self._of(distances(x, y, self.name))

    def along(self, x: Float64s, y: Float64s) -> Float64s:
        """The kernel of each row of x with the same row of y; not for a callable."""
        apart = x - y
        if self.name == "tv":
            return self._of(np.abs(apart, out=apart).sum(axis=1) / 2)
        return self._of(np.einsum("ij,ij->i", apart, apart))

    def _of(self, distance: Float64s) -> Float64s:
        """exp(-d / nu) of total variation, exp(-d / (2 nu^2)) of squared distance, in place."""
        with np.errstate(over="ignore"):  # further apart than a quotient can say: the kernel is 0
            distance /= self.bandwidth
            if self.name == "gaussian":
                distance /= 2 * self.bandwidth
        return np.exp(np.negative(distance, out=distance), out=distance)


@twin(compiled.distances)
def distances(x: Float64s, y: Float64s, name: str) -> Float64s:
    """Total variation (half the sum of absolute differences), or squared Euclidean distance, of all pairs of rows."""
    from scipy.spatial.distance import cdist

    if name == "tv":
        apart: Float64s = cdist(x, y, "cityblock")
        apart /= 2
        return apart
    return np.asarray(cdist(x, y, "sqeuclidean"))
