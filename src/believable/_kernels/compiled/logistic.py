"""Derivatives of a logistic likelihood; see the twin in `believable._kernels.logistic`."""

from __future__ import annotations

import numpy as np

from believable._kernels.compiled.threads import in_parts, ranges
from believable._kernels.twins import TWINS, c
from believable._types import Float64s

PART = 1 << 14  # points summed as one part, so that the number of threads does not change the result
AT_LEAST = 1 << 16  # points that justify a thread
MOST_COLUMNS = 8  # as in logistic.c


def logistic_derivatives(
    here: Float64s, columns: Float64s, positive: Float64s, negative: Float64s, offset: Float64s
) -> tuple[Float64s, Float64s]:
    (n_replicates, k), n_points = here.shape, columns.shape[1]
    if k > MOST_COLUMNS or k == 0 or n_points == 0 or n_replicates == 0:
        found: tuple[Float64s, Float64s] = TWINS["logistic_derivatives"][0](here, columns, positive, negative, offset)
        return found
    here, columns, positive, negative, offset = map(
        np.ascontiguousarray, (here, columns, positive, negative, np.broadcast_to(offset, (1, n_points)))
    )
    n_parts = -(-n_points // PART)
    sums = np.zeros((n_replicates, n_parts, k + k * (k + 1) // 2))
    tasks = ranges(n_replicates * n_parts, max(1, AT_LEAST // min(n_points, PART)))
    in_parts(
        lambda _, first, last: c.logistic_sums(here, columns, offset, positive, negative, sums, PART, first, last),
        tasks,
    )
    total = sums[:, 0] if n_parts == 1 else sums.sum(axis=1)
    first, second = np.triu_indices(k)
    information = np.empty((n_replicates, k, k))
    information[:, first, second] = information[:, second, first] = total[:, k:]
    return total[:, :k].copy(), information
