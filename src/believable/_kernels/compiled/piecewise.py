"""Search and linear interpolation between knots; see the twins in `believable._kernels.piecewise`."""

from __future__ import annotations

import numpy as np

from believable._kernels.compiled.threads import in_parts, ranges
from believable._kernels.twins import TWINS, c
from believable._types import Array, Float64s, Floats, Ints

NUMBERS_PER_THREAD = 1 << 15  # numbers that justify a thread
FEWEST_LOOKUP_CELLS, MOST_LOOKUP_CELLS = 1 << 12, 1 << 16


def edges_below(x: Floats, edges: Float64s) -> Ints:
    if not _known(x):
        found: Ints = TWINS["edges_below"][0](x, edges)
        return found
    with np.errstate(over="ignore"):
        return _below(x, edges.astype(x.dtype), or_equal=False)


def last_step(x: Float64s, knots: Float64s, values: Float64s) -> Float64s:
    if not (_known(x) and x.dtype == knots.dtype):
        found: Float64s = TWINS["last_step"][0](x, knots, values)
        return found
    return np.asarray(values[np.maximum(_below(x, knots, or_equal=True) - 1, 0)])


def lines_between(x: Float64s, knots: Float64s, values: Float64s) -> Float64s:
    if not (_known(x) and x.dtype == knots.dtype == values.dtype == np.float64):
        found: Float64s = TWINS["lines_between"][0](x, knots, values)
        return found
    unit = 4.0 if max(-knots[0], knots[-1]) > FAR_KNOT else 1.0
    at = knots / unit
    gap = np.append(np.diff(at), 1)
    gap[gap == 0] = 1
    rise, top = np.append(np.diff(values), 0), np.append(values[1:], values[-1])
    pieces = np.column_stack([at, gap, values, rise, top])
    x, knots, result = np.ascontiguousarray(x), np.ascontiguousarray(knots), np.empty(len(x))
    first, low, scale = _table(knots, len(x))
    in_parts(
        lambda _, start, stop: c.knot_lines(x, knots, first, pieces, result, unit, low, scale, start, stop),
        ranges(len(x), NUMBERS_PER_THREAD),
    )
    return result


FAR_KNOT = 1e300  # as in the twin


def _known(x: Array) -> bool:
    return x.ndim == 1 and x.dtype.char in "fd" and x.dtype.isnative


def _below(x: Floats, knots: Floats, or_equal: bool) -> Ints:
    x, knots, found = np.ascontiguousarray(x), np.ascontiguousarray(knots), np.empty(len(x), np.int64)
    first, low, scale = _table(knots, len(x))
    in_parts(
        lambda _, start, stop: c.knots_below(x, knots, first, found, or_equal, low, scale, start, stop),
        ranges(len(x), NUMBERS_PER_THREAD),
    )
    return found.astype(np.intp, copy=False)


def _table(knots: Floats, n: int) -> tuple[Array | None, float, float]:
    """Return the number of knots before each cell, and the function to cells; no table if it is not worth it."""
    n_cells = FEWEST_LOOKUP_CELLS
    while n_cells < 2 * len(knots) and n_cells < MOST_LOOKUP_CELLS:
        n_cells *= 2
    if n < n_cells or len(knots) < 2:
        return None, 0.0, 0.0
    low = knots[0]
    with np.errstate(all="ignore"):
        width = knots[-1] - low
        scale = knots.dtype.type(n_cells - 1) / width
        usable = 0 < width < np.inf and 0 < scale < np.inf
        place = (knots - low) * scale if usable else knots
    if not usable:
        return None, 0.0, 0.0
    cell = np.minimum(place, knots.dtype.type(n_cells - 1)).astype(np.int32)  # as in piecewise.c
    first = np.searchsorted(cell, np.arange(n_cells + 1), side="left").astype(np.int32)
    return first, float(low), float(scale)
