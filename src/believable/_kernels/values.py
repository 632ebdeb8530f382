"""Results shared by several kernels: sums at distinct scores, sums over pairs, and logits prepared for passes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from believable._types import Float64s, Floats, Int64s


class ByScore(NamedTuple):
    """Sums at each distinct score, in ascending order."""

    score: Float64s
    n: Int64s
    w: Float64s
    wy: Float64s
    w2: Float64s
    w2y: Float64s


class SkceRows(NamedTuple):
    """The sums behind estimators and intervals of the SKCE.

    With h_ij = k(P_i, P_j) <R_i, R_j>:

    rows : ndarray of shape (n,)
        Sums over j of w_j h_ij. The total, sum of w_i rows_i, is the numerator of the SKCE; the variation of rows_i
        gives the first-order (Hoeffding, jackknife) part of its variance.
    squares : float
        Sum over i and j of (w_i w_j h_ij)^2, for the second-order part, the only one for calibrated scores.
    """

    rows: Float64s
    squares: float


class LogitRows(NamedTuple):
    """Logits (n, K) with what every pass over them needs.

    Attributes
    ----------
    logits : ndarray of shape (n, K)
        The logits.
    top : ndarray of shape (n,)
        Largest logit of each row.
    behind : ndarray of shape (n,)
        The label's logit minus the largest, <= 0.
    weights : ndarray of shape (n,) or None
        Weights of the rows.
    spread : float
        Largest difference within a row.
    """

    logits: Floats
    top: Floats
    behind: Float64s
    weights: Float64s | None
    spread: float

    def every(self, stride: int) -> LogitRows:
        """Return some of the rows as a contiguous copy, because they will be read often."""
        logits, top = np.ascontiguousarray(self.logits[::stride]), np.ascontiguousarray(self.top[::stride])
        behind = np.ascontiguousarray(self.behind[::stride])
        weights = None if self.weights is None else np.ascontiguousarray(self.weights[::stride])
        return LogitRows(logits, top, behind, weights, self.spread)

    def total(self, values: Float64s, rows: slice) -> float:
        """Return the weighted sum of the values of some rows."""
        return float(values.sum() if self.weights is None else self.weights[rows] @ values)
