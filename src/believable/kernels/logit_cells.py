"""The cell of a score between logit-spaced edges, without a search.

Edge k of n cells is the sigmoid of reach * (2k/n - 1), rounded to the type of the scores, so the cell follows from the
logit by multiplying and rounding down. Only where that is within rounding of a whole number is the edge itself looked
at. Towards 1 rounded edges lie together, or on each other, and logits do not tell: but there scores are few, and a
table has the cell of each.
"""

from __future__ import annotations

import numpy as np

from believable._types import Array, Float64s, Floats, Ints
from believable.kernels._backend import twin
from believable.kernels.compiled import binary_pass as compiled
from believable.kernels.reference import row_blocks

NEAR_ONE = 1 << 16  # scores of the table: 1, the one below, and so on
MOST_LOGIT_CELLS = 1 << 19  # above, the window of rounding would be wider than a quarter of a cell


def near_one(edges: Floats) -> Array:
    """Number of inner edges below each of the scores 1 - j * spacing, j = 0..NEAR_ONE."""
    spacing = np.finfo(edges.dtype).epsneg
    scores = edges.dtype.type(1) - np.arange(NEAR_ONE + 1).astype(edges.dtype) * spacing
    return np.searchsorted(edges[1:-1], scores, side="left").astype(np.int32)


def logit_floor(scores: Floats, logit: Float64s, edges: Floats, table: Array, reach: float) -> Float64s:
    """Number of inner edges below each score, as a float; the logits, at most `reach`, are used up.

    Rounding an edge moves its logit by at most 2 / NEAR_ONE outside the table: half a spacing over p(1 - p), and the
    logarithms' own rounding, which is far less.
    """
    n_cells = len(edges) - 1
    per_unit = n_cells / (2 * reach)
    window = per_unit * 2 / NEAR_ONE
    logit *= per_unit
    logit += reach * per_unit + window
    if scores.min() <= edges[1]:  # those below the first edge, which may be far below
        np.maximum(logit, 0, out=logit)
    index = np.floor(logit)
    logit -= index
    near = np.flatnonzero(logit <= 2 * window)
    below = index[near]
    index[near] -= (scores[near] <= edges.take(below.astype(np.intp))) & (below > 0)

    spacing = np.finfo(edges.dtype).epsneg
    high = np.flatnonzero(scores >= 1 - NEAR_ONE * spacing)
    if len(high):
        index[high] = table.take(((1 - scores[high]) / spacing).astype(np.intp))
    return index


@twin(compiled.logit_index)
def logit_index(scores: Floats, edges: Floats, table: Array, reach: float) -> Ints:
    """Number of inner edges below each score: `bin_index` for logit-spaced edges, `table` being their `near_one`."""
    index = np.empty(len(scores), np.intp)
    for rows in row_blocks(len(scores)):
        p = scores[rows].astype(np.float64)
        with np.errstate(divide="ignore"):
            logit = np.minimum(np.log(p) - np.log1p(-p), reach)  # of 1 it is infinite
        index[rows] = logit_floor(scores[rows], logit, edges, table, reach)
    return index
