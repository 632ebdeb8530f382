"""Rows as points: sums at each distinct score in ascending order, for maps that look at nothing else."""

from __future__ import annotations

import numpy as np

from believable import kernels
from believable._types import Float64s
from believable.points import Points


def points_of(score: Float64s, w: Float64s, wy: Float64s) -> Points:
    """The points behind rows or cells. Their w2 and w2y are those of rows of weight 1: maps have no use for them."""
    if np.all(w == 1) and np.all((wy == 0) | (wy == 1)):
        return Points(*kernels.by_score(score, wy != 0, None))
    order = kernels.ascending(score)
    score = score[order]
    starts = np.flatnonzero(np.append(True, score[1:] != score[:-1]))
    n = np.diff(np.append(starts, len(score)))
    w, wy = (np.add.reduceat(values[order], starts) for values in (w, wy))
    return Points(score[starts], n, w, wy, w, wy)
