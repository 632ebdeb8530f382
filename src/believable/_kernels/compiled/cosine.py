"""The size of many smoothed curves, in C; threads share out the curves, eight by eight."""

from __future__ import annotations

from typing import cast

import numpy as np

from believable._kernels.compiled.threads import in_parts, ranges
from believable._kernels.twins import TWINS, c
from believable._types import Float64s, Ints

FEW, FINE = 4, 1 << 10  # so few curves, on more nodes than these, are not worth a table of cosines
TOO_FINE = 1 << 16  # nodes from which on eight curves do not fit the cache
LANES = 8
WORTH = 1 << 15  # nodes, of all curves, that a thread is started for


def smooth_sizes(waves: Float64s, s: Float64s, nodes: Ints) -> Float64s:
    if nodes.max(initial=0) > (FINE if len(s) < FEW else TOO_FINE):
        return cast(Float64s, TWINS["smooth_sizes"][0](waves, s, nodes))
    waves, s = np.ascontiguousarray(waves, np.float64), np.ascontiguousarray(s, np.float64)
    sizes = np.empty(len(s))
    for size in sorted(set(nodes.tolist())):
        _sizes_on(waves, s, size, np.flatnonzero(nodes == size), sizes)
    return sizes


def _sizes_on(waves: Float64s, s: Float64s, nodes: int, rows: Ints, sizes: Float64s) -> None:
    which = rows.astype(np.int64, copy=False)

    def work(number: int, start: int, stop: int) -> None:
        stop = min(stop * LANES, len(which))
        c.smooth_sizes(waves, s, which, sizes, waves.shape[1], nodes, start * LANES, stop)

    in_parts(work, ranges(-(-len(which) // LANES), max(1, WORTH // (nodes * LANES))))
