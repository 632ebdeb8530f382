"""Logits by row, with what every pass over them needs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from believable._types import Float64s, Floats


class LogitRows(NamedTuple):
    """Logits (n, K) with what every pass over them needs.

    Attributes
    ----------
    logits : ndarray of shape (n, K)
    top : ndarray of shape (n,)
        The largest of each row.
    behind : ndarray of shape (n,)
        The label's less the largest, <= 0.
    weights : ndarray of shape (n,) or None
    spread : float
        The largest difference within a row.
    """

    logits: Floats
    top: Floats
    behind: Float64s
    weights: Float64s | None
    spread: float

    def every(self, stride: int) -> LogitRows:
        """Some of the rows, side by side: they will be read often."""
        logits, top = np.ascontiguousarray(self.logits[::stride]), np.ascontiguousarray(self.top[::stride])
        behind = np.ascontiguousarray(self.behind[::stride])
        weights = None if self.weights is None else np.ascontiguousarray(self.weights[::stride])
        return LogitRows(logits, top, behind, weights, self.spread)

    def total(self, values: Float64s, rows: slice) -> float:
        """The weighted sum of the values of some rows."""
        return float(values.sum() if self.weights is None else self.weights[rows] @ values)
