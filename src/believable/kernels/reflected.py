"""Local means under a Gaussian that is reflected at 0 and 1."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from believable._types import Float64s
from believable.kernels.smoothing import TIE, Block, nearest_distance, windows

WIDEST = 3.0  # from here on the kernel is flat to 1e-19
NARROWEST = 1e-6  # below, the nearest score has all the weight
CUT = 9.0  # bandwidths beyond the nearest score; what is further weighs less than 3e-18 of it


def reflected_gaussian(score: Float64s, w: Float64s, at: Float64s, s: float) -> Iterator[Block]:
    """The smoother of a local mean, with weights K_s(t, p) w; K_s is the sum over all mirror images of p in 0 and 1.

    Weights are taken relative to that of the nearest score, so that a place far from all scores has the rate of the
    nearest, which is the limit. No score is nearer than its images.
    """
    s = min(s, WIDEST)
    near = nearest_distance(score, at)
    reach = near * (1 + TIE) if s < NARROWEST else near + CUT * s
    first, last = np.searchsorted(score, at - reach, "left"), np.searchsorted(score, at + reach, "right")
    for places, scores in windows(first, last):
        t, p = at[places, None], score[scores]
        if s < NARROWEST:
            k = (np.abs(p - t) <= reach[places, None]).astype(np.float64)
        else:
            k = _images(t, p, near[places, None], s)
        k *= w[scores] / w[scores].max()
        yield places, scores, k / k.sum(axis=1, keepdims=True)


def _images(t: Float64s, p: Float64s, near: Float64s, s: float) -> Float64s:
    total = np.zeros(np.broadcast_shapes(t.shape, p.shape))
    cut = CUT * s + near.max()
    most = int(cut / 2) + 1
    for turn in range(-most, most + 1):
        for image in (p + 2 * turn, 2 * turn - p):
            if image.min() - t.max() <= cut and t.min() - image.max() <= cut:
                total += np.exp((near**2 - (image - t) ** 2) / (2 * s * s))
    return total
