"""Assignment of scores to cells, and selection of rows by their cell."""

from __future__ import annotations

import numpy as np

from believable._kernels.compiled.threads import in_parts, ranges
from believable._kernels.twins import TWINS, c
from believable._types import Array, Float64s, Floats, Ints

BINNED_ROWS_PER_THREAD = 1 << 15
LOOKUP_CELLS = 1 << 12  # as in the twin


def cell_weights(scores: Floats, weights: Array | None) -> Float64s:
    if scores.dtype.char not in "fd":
        return TWINS["cell_weights"][0](scores, weights)  # type: ignore[no-any-return]
    scores = np.ascontiguousarray(scores)
    weights = None if weights is None else np.ascontiguousarray(weights, np.float64)
    parts = ranges(len(scores), BINNED_ROWS_PER_THREAD)
    found = np.zeros((len(parts), LOOKUP_CELLS + 1))
    in_parts(lambda part, *rows: c.cell_weights(scores, weights, found[part], *rows), parts)
    return np.asarray(found.sum(axis=0))


def rows_in_cells(scores: Floats, wanted: Array) -> Ints:
    if scores.dtype.char not in "fd":
        return TWINS["rows_in_cells"][0](scores, wanted)  # type: ignore[no-any-return]
    return rows_wanted(np.ascontiguousarray(scores), wanted)


def rows_wanted(scores: Array, wanted: Array) -> Ints:
    """Return the rows in the wanted cells; scores of an integer dtype are cells already."""
    wanted = np.ascontiguousarray(wanted, bool).view(np.uint8)
    found = np.empty(len(scores), np.int64)  # most of it stays untouched, and so uses no memory
    parts = ranges(len(scores), BINNED_ROWS_PER_THREAD)
    counts = in_parts(lambda _, *rows: c.rows_in_cells(scores, wanted, found, *rows), parts)
    kept = [found[start : start + n] for (start, _), n in zip(parts, counts, strict=True)]
    return np.concatenate(kept).astype(np.intp, copy=False)
