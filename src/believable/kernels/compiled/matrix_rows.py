"""Proper scores of the rows of a matrix, in one read; see the twin in `believable.kernels.matrix_rows`."""

from __future__ import annotations

from typing import Any

import numpy as np

from believable._types import Float64s, Floats, Ints
from believable.kernels._backend import TWINS, c
from believable.kernels.compiled.threads import in_parts, ranges
from believable.kernels.pass_sums import MatrixSums

OF_ROWS = ("brier", "nll", "correct", "confidence", "entropy")
NAMES = (*OF_ROWS, "w", "w2", "spread", "spread_variance")  # then w2x, w2xx and by_chance
N_SUMS = len(NAMES) + 2 * len(OF_ROWS) + 2
BY_CLASS = ("wp", "deviation", "wy", "w2y", "w2y_brier")
TILE_ROWS = 64
MOST_PARTS, PARTS_AND_CLASSES, FEWEST_PARTS = 64, 1 << 17, 4  # sums of parts are small beside the data
AT_LEAST = 1 << 16  # entries for a thread


def matrix_sums(matrix: Floats, labels: Ints, weights: Float64s | None, tolerance: float = np.inf) -> MatrixSums:
    n, n_classes = matrix.shape
    if not (matrix.dtype.isnative and labels.dtype.isnative) or labels.dtype == np.uint64:
        made: MatrixSums = TWINS["matrix_sums"][0](matrix, labels, weights, tolerance)
        return made
    matrix, labels = np.ascontiguousarray(matrix), np.ascontiguousarray(labels)
    weights = None if weights is None else np.ascontiguousarray(weights)
    # How rows are cut into parts does not depend on the threads, so neither does a bit of the result.
    wanted = max(FEWEST_PARTS, min(MOST_PARTS, PARTS_AND_CLASSES // n_classes))
    each = max(TILE_ROWS, -(-n // (wanted * TILE_ROWS)) * TILE_ROWS)
    parts = -(-n // each)
    sums, by_class = np.zeros((parts, N_SUMS)), np.zeros((parts, len(BY_CLASS), n_classes))
    valid = in_parts(
        lambda part, first, last: c.matrix_sums(matrix, labels, weights, sums, by_class, tolerance, each, first, last),
        ranges(parts, -(-AT_LEAST // (each * n_classes))),
    )
    return MatrixSums(_whole(n, sums, by_class), True) if all(valid) else MatrixSums.invalid()


def _whole(n: int, sums: Float64s, by_class: Float64s) -> dict[str, Any]:
    """From parts to all rows; deviations from each part's mean to that of all (Chan et al. 1983)."""
    total, of_classes = (sums[0], by_class[0]) if len(sums) == 1 else (sums.sum(axis=0), by_class.sum(axis=0))
    whole: dict[str, Any] = {"n": n, **dict(zip(NAMES, total[: len(NAMES)].tolist(), strict=True))}
    whole |= dict(zip(BY_CLASS, of_classes, strict=True))
    if len(sums) > 1:
        w = sums[:, NAMES.index("w")][:, None]
        moved = by_class[:, 1] + w * (by_class[:, 0] / w - whole["wp"] / whole["w"]) ** 2
        whole["deviation"] = moved.sum(axis=0)
    ends = [len(NAMES) + k * len(OF_ROWS) for k in range(3)]
    w2x, w2xx, by_chance = total[ends[0] : ends[1]], total[ends[1] : ends[2]], total[ends[2] :]
    return whole | {"w2_squared": float(w2x[0]), "w2x": w2x, "w2xx": w2xx, "by_chance": by_chance}
