"""Points on the scale of logits, and what to say where a score has none."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from believable import kernels
from believable._types import Array, Float64s
from believable.errors import ClippedWarning
from believable.kernels.logistic import SMALLEST
from believable.points import Points

TOO_FLAT = "weights or scores differ by too many orders of magnitude; drop the rows that weigh next to nothing"


def by_logit(points: Points, stacklevel: int = 3) -> tuple[Float64s, Points, int]:
    """The distinct logits in ascending order, the points gathered there, and how many rows were moved to have one.

    Scores of 0 and 1, or nearly, are moved inwards, which is said in one warning. The scores of points that meet are
    forgotten: the first stands for all.
    """
    moved = (points.score < SMALLEST) | (points.score > 1 - SMALLEST)
    n_moved = int(points.n[..., moved].sum())
    if n_moved:
        warnings.warn(
            f"{n_moved} of {int(points.n.sum())} scores were moved to {SMALLEST:g} from 0 or 1, where logits are "
            "infinite: what follows depends on that choice",
            ClippedWarning,
            stacklevel=stacklevel,
        )
    logits = np.maximum.accumulate(kernels.clipped_logit(points.score))  # logarithms round, their order must not
    starts = np.flatnonzero(np.concatenate([[True], logits[1:] != logits[:-1]]))
    if len(starts) == len(logits):
        return logits, points, n_moved

    def together(values: Array) -> Array:
        return np.add.reduceat(values, starts, axis=-1)

    met = {name: together(getattr(points, name)) for name in ("n", "w", "wy", "w2", "w2y")}
    return logits[starts], replace(points, score=points.score[starts], **met), n_moved
