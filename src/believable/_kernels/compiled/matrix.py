"""Moments of a matrix with one label per row, from one pass over the rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from believable._kernels.compiled.binary_pass import how_to_find
from believable._kernels.compiled.threads import in_parts, ranges
from believable._kernels.partition import MatrixSums, Moments, Partition
from believable._kernels.sums import n_moments
from believable._kernels.twins import TWINS, c
from believable._types import Array, Float64s, Floats, Ints

MATRIX_ENTRIES_PER_THREAD = 1 << 17
COPIED_ENTRIES = 1 << 20  # entries copied at a time if they are not contiguous
TOP, TOP_BY_CLASS, EVERY = 0, 1, 2  # as in matrix.c


def top_moments(
    matrix: Floats,
    labels: Array,
    weights: Array | None,
    partition: Partition,
    squares: bool,
    by_class: bool,
    tolerance: float,
) -> Moments:
    n_codes = partition.n_parts * (matrix.shape[1] if by_class else 1)
    what = TOP_BY_CLASS if by_class else TOP
    return _moments(matrix, labels, weights, partition, squares, tolerance, _Entries(what, n_codes, n_codes))


def classwise_moments(
    matrix: Floats,
    labels: Array,
    weights: Array | None,
    partition: Partition,
    squares: bool,
    tolerance: float,
) -> Moments:
    n_codes = partition.n_parts * matrix.shape[1]
    entries = _Entries(EVERY, n_codes, 4 * partition.n_parts)
    return _moments(matrix, labels, weights, partition, squares, tolerance, entries)


class _Entries(NamedTuple):
    """Which entries are counted (as in matrix.c), the number of codes, and the rows that justify a thread."""

    what: int
    n_codes: int
    fewest_rows: int


def _moments(
    matrix: Floats,
    labels: Array,
    weights: Array | None,
    partition: Partition,
    squares: bool,
    tolerance: float,
    entries: _Entries,
) -> Moments:
    n, width = matrix.shape
    kind, first = how_to_find(partition, n if entries.what != EVERY else n * width)
    # Each part has its own table; they are added at the end.
    parts = ranges(n, max(MATRIX_ENTRIES_PER_THREAD // width, entries.fewest_rows, 1))
    tables = np.zeros((len(parts), 2, n_moments(weights is not None, squares), entries.n_codes))
    labels = np.ascontiguousarray(labels)
    weights = None if weights is None else np.ascontiguousarray(weights, np.float64)
    choices = (tolerance, kind, partition.apart, squares, entries.what)

    def count(part: int, start: int, stop: int) -> bool:
        if matrix.flags.c_contiguous:
            here = (matrix, labels, weights)
            return bool(c.entry_sums(*here, partition.edges, first, tables[part], *choices, start, stop))
        step = max(1, COPIED_ENTRIES // width)
        for at in range(start, stop, step):
            rows = slice(at, min(at + step, stop))
            here = (np.ascontiguousarray(matrix[rows]), labels[rows], None if weights is None else weights[rows])
            if not c.entry_sums(*here, partition.edges, first, tables[part], *choices, 0, rows.stop - at):
                return False
        return True

    if not all(in_parts(count, parts)):
        return Moments.invalid()
    total, positive = tables[0] if len(parts) == 1 else tables.sum(axis=0)
    return Moments(total, positive, True)


# --- Contributions of the rows of a matrix of probabilities to proper scores ------------------------------------------


ROW_SUM_NAMES = ("brier", "nll", "correct", "confidence", "entropy")
MATRIX_SUM_NAMES = (*ROW_SUM_NAMES, "w", "w2", "spread", "spread_variance")  # then w2x, w2xx and by_chance
N_SUMS = len(MATRIX_SUM_NAMES) + 2 * len(ROW_SUM_NAMES) + 2
CLASS_SUM_NAMES = ("wp", "deviation", "wy", "w2y", "w2y_brier")
MATRIX_TILE_ROWS = 64
MOST_PARTS, PARTS_AND_CLASSES, FEWEST_PARTS = 64, 1 << 17, 4  # keep the sums of parts small compared with the data
SUM_ENTRIES_PER_THREAD = 1 << 16  # entries that justify a thread


def matrix_sums(matrix: Floats, labels: Ints, weights: Float64s | None, tolerance: float = np.inf) -> MatrixSums:
    n, n_classes = matrix.shape
    if not (matrix.dtype.isnative and labels.dtype.isnative) or labels.dtype == np.uint64:
        made: MatrixSums = TWINS["matrix_sums"][0](matrix, labels, weights, tolerance)
        return made
    matrix, labels = np.ascontiguousarray(matrix), np.ascontiguousarray(labels)
    weights = None if weights is None else np.ascontiguousarray(weights)
    # The parts do not depend on the number of threads, so neither does the result.
    wanted = max(FEWEST_PARTS, min(MOST_PARTS, PARTS_AND_CLASSES // n_classes))
    each = max(MATRIX_TILE_ROWS, -(-n // (wanted * MATRIX_TILE_ROWS)) * MATRIX_TILE_ROWS)
    parts = -(-n // each)
    sums, by_class = np.zeros((parts, N_SUMS)), np.zeros((parts, len(CLASS_SUM_NAMES), n_classes))
    valid = in_parts(
        lambda part, first, last: c.matrix_sums(matrix, labels, weights, sums, by_class, tolerance, each, first, last),
        ranges(parts, -(-SUM_ENTRIES_PER_THREAD // (each * n_classes))),
    )
    return MatrixSums(_whole(n, sums, by_class), True) if all(valid) else MatrixSums.invalid()


def _whole(n: int, sums: Float64s, by_class: Float64s) -> dict[str, Any]:
    """Add the parts; deviations are converted to those from the mean of all rows (Chan et al. 1983)."""
    total, of_classes = (sums[0], by_class[0]) if len(sums) == 1 else (sums.sum(axis=0), by_class.sum(axis=0))
    whole: dict[str, Any] = {
        "n": n,
        **dict(zip(MATRIX_SUM_NAMES, total[: len(MATRIX_SUM_NAMES)].tolist(), strict=True)),
    }
    whole |= dict(zip(CLASS_SUM_NAMES, of_classes, strict=True))
    if len(sums) > 1:
        w = sums[:, MATRIX_SUM_NAMES.index("w")][:, None]
        moved = by_class[:, 1] + w * (by_class[:, 0] / w - whole["wp"] / whole["w"]) ** 2
        whole["deviation"] = moved.sum(axis=0)
    ends = [len(MATRIX_SUM_NAMES) + k * len(ROW_SUM_NAMES) for k in range(3)]
    w2x, w2xx, by_chance = total[ends[0] : ends[1]], total[ends[1] : ends[2]], total[ends[2] :]
    return whole | {"w2_squared": float(w2x[0]), "w2x": w2x, "w2xx": w2xx, "by_chance": by_chance}
