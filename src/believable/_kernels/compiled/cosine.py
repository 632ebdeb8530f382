"""The size of many smoothed curves, in C; threads process the curves eight at a time."""

from __future__ import annotations

from typing import cast

import numpy as np

from believable._kernels.compiled.threads import in_parts, ranges
from believable._kernels.twins import TWINS, c
from believable._types import Array, Float64s, Floats, Ints

FEW_CURVES, MANY_NODES = 4, 1 << 10  # fewer curves, on more nodes, are not worth a table of cosines
TOO_MANY_NODES = 1 << 16  # from this many nodes, eight curves do not fit in the cache
CURVES_AT_ONCE = 8
NODES_PER_THREAD = 1 << 15  # nodes of all curves that justify a thread


def smooth_sizes(waves: Float64s, s: Float64s, nodes: Ints) -> Float64s:
    if nodes.max(initial=0) > (MANY_NODES if len(s) < FEW_CURVES else TOO_MANY_NODES):
        return cast(Float64s, TWINS["smooth_sizes"][0](waves, s, nodes))
    waves, s = np.ascontiguousarray(waves, np.float64), np.ascontiguousarray(s, np.float64)
    sizes = np.empty(len(s))
    for size in sorted(set(nodes.tolist())):
        _sizes_on(waves, s, size, np.flatnonzero(nodes == size), sizes)
    return sizes


def _sizes_on(waves: Float64s, s: Float64s, nodes: int, rows: Ints, sizes: Float64s) -> None:
    which = rows.astype(np.int64, copy=False)

    def work(number: int, start: int, stop: int) -> None:
        stop = min(stop * CURVES_AT_ONCE, len(which))
        c.smooth_sizes(waves, s, which, sizes, waves.shape[1], nodes, start * CURVES_AT_ONCE, stop)

    in_parts(work, ranges(-(-len(which) // CURVES_AT_ONCE), max(1, NODES_PER_THREAD // (nodes * CURVES_AT_ONCE))))


def spread(score: Floats, excess: Array, nodes: int) -> Float64s:
    score = np.ascontiguousarray(score, np.float32 if score.dtype == np.float32 else np.float64)
    grid = np.zeros(nodes + 2)
    c.share_out(score, np.ascontiguousarray(excess, np.float64), grid)
    return grid[:-1]
