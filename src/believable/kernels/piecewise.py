"""Functions made of pieces: lines between knots, steps, and the bins that edges make."""

from __future__ import annotations

import numpy as np

from believable._types import Float64s, Floats, Ints
from believable.kernels._backend import twin
from believable.kernels.compiled import piecewise as compiled
from believable.kernels.reference import row_blocks

FAR = 1e300  # knots beyond this may differ by more than float64 holds


@twin(compiled.lines_between)
def lines_between(x: Float64s, knots: Float64s, values: Float64s) -> Float64s:
    """Values at increasing knots, joined by straight lines; level beyond the ends.

    Exact at the knots, and never outside of the values on either side, so it rises where they do in spite of rounding.
    """
    unit = 4 if max(-knots[0], knots[-1]) > FAR else 1
    at = knots / unit
    gap = np.append(np.diff(at), 1)
    gap[gap == 0] = 1
    rise = np.append(np.diff(values), 0)
    top = np.append(values[1:], values[-1])
    result = np.empty(len(x))
    for rows in row_blocks(len(x)):
        piece = np.maximum(np.searchsorted(knots, x[rows], side="right") - 1, 0)
        share = np.maximum(x[rows] / unit - at[piece], 0) / gap[piece]
        result[rows] = np.minimum(values[piece] + share * rise[piece], top[piece])
    return result


@twin(compiled.last_step)
def last_step(x: Float64s, knots: Float64s, values: Float64s) -> Float64s:
    """The value of the last knot that is not above x; of the first, where all are."""
    return np.asarray(values[np.maximum(np.searchsorted(knots, x, side="right") - 1, 0)])


@twin(compiled.edges_below)
def edges_below(x: Floats, edges: Float64s) -> Ints:
    """How many inner edges lie below x: the number of its right-closed bin. Edges are rounded to the type of x."""
    with np.errstate(over="ignore"):  # edges that float32 cannot reach are above or below all of it
        return np.searchsorted(edges.astype(x.dtype), x, side="left")
