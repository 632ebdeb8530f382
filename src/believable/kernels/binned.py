"""Moments of 1-D scores by bin, with a check of every row on the way."""

from __future__ import annotations

import numpy as np

from believable._types import Array, Floats
from believable.kernels._backend import twin
from believable.kernels.compiled import binned as compiled
from believable.kernels.partition import Moments, Partition
from believable.kernels.reference import extrema, n_moments, pair_sums, row_blocks

ROWS_PER_PART, MOST_ROWS = 8, 1 << 20  # blocks much shorter than the table of sums would spend their time adding it


@twin(compiled.bin_moments)
def bin_moments(scores: Floats, labels: Array, weights: Array | None, partition: Partition, squares: bool) -> Moments:
    """Moments by part of scores with 0/1 labels of any integer type.

    They are invalid if a score is not in [0, 1] or a label not 0 or 1; weights are not looked at.
    """
    n_parts = partition.n_parts
    total, positive = np.zeros((2, n_moments(weights is not None, squares), n_parts))
    for rows in row_blocks(len(scores), at_least=min(ROWS_PER_PART * n_parts, MOST_ROWS)):
        score, label = scores[rows], labels[rows]
        (low, high), (least, most) = extrema(score), extrema(label)
        if not (low >= 0 and high <= 1 and least >= 0 and most <= 1):
            return Moments.invalid()
        weight = None if weights is None else weights[rows]
        block_total, block_positive = pair_sums(partition.place(score), n_parts, score, label, weight, squares)
        total += block_total
        positive += block_positive
    return Moments(total, positive, True)
