"""Sums over pairs of rows, as a value."""

from __future__ import annotations

from typing import NamedTuple

from believable._types import Float64s


class SkceRows(NamedTuple):
    """What estimators of the SKCE, and intervals for it, are made of.

    With h_ij = k(P_i, P_j) <R_i, R_j>:

    rows : ndarray of shape (n,)
        sum over j of w_j h_ij. The total, sum of w_i rows_i, is the numerator of the SKCE; rows_i beside their mean are
        the first-order (Hoeffding, jackknife) part of its variance.
    squares : float
        sum over i and j of (w_i w_j h_ij)^2, for the second-order part, which is all there is for calibrated scores.
    """

    rows: Float64s
    squares: float
