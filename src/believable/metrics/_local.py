"""What the metrics on the smoothed curve share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from believable.points import Points


def over_replicates(value: Callable[[Points], Any], points: Points) -> Any:
    """A value of points; of each replicate apart, where the weights differ between them, and so the smoother does."""
    if points.w.ndim == 1:
        return value(points)
    shape = np.broadcast_shapes(points.w.shape, points.wy.shape)
    rows = [np.broadcast_to(part, shape).reshape(-1, shape[-1]) for part in (points.n, points.w, points.wy)]
    squares = [np.broadcast_to(part, shape).reshape(-1, shape[-1]) for part in (points.w2, points.w2y)]
    found = []
    for sums in zip(*rows, *squares, strict=True):
        kept = sums[1] > 0
        found.append(value(Points(points.score[kept], *(part[kept] for part in sums))))
    return np.reshape(found, shape[:-1])
