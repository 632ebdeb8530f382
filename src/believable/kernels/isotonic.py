"""Isotonic regression: the increasing values nearest to some means, by pooling adjacent violators."""

from __future__ import annotations

import numpy as np

from believable._types import Float64s


def pav(w: Float64s, wy: Float64s) -> Float64s:
    """The non-decreasing values closest, in weighted squares, to the means wy / w of points in order.

    Weights are positive. Each value is the mean of its block, summed afresh: means updated merge by merge would drift.
    """
    from scipy.optimize import isotonic_regression

    starts = isotonic_regression(wy / w, weights=w).blocks[:-1]
    block = np.add.reduceat(wy, starts) / np.add.reduceat(w, starts)
    return np.repeat(np.maximum.accumulate(block), np.diff(np.append(starts, len(w))))


def pav_rows(x: Float64s, w: Float64s, wy: Float64s) -> Float64s:
    """`pav` for every row of wy of shape (B, J), at points x in order; w is (J,) or (B, J).

    Points without weight take the value interpolated between those that have some, or of the nearest at the ends.
    """
    fitted = np.empty_like(wy)
    for row, (weights, sums) in enumerate(zip(np.broadcast_to(w, wy.shape), wy, strict=True)):
        here = weights > 0
        if here.all():
            fitted[row] = pav(weights, sums)
        else:
            fitted[row] = np.interp(x, x[here], pav(weights[here], sums[here]))
    return fitted
