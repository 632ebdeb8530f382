"""Conversion of logits to probabilities, and of probabilities to logits."""

from __future__ import annotations

import numpy as np

from believable._kernels.compiled import probabilities as compiled
from believable._kernels.rows import row_blocks
from believable._kernels.twins import twin
from believable._types import Array, Float64s

SMALLEST_PROBABILITY = 1e-12  # probabilities closer to 0 or 1 than this are clipped before their logit is taken
LARGEST_LOGIT = float(np.log1p(-SMALLEST_PROBABILITY) - np.log(SMALLEST_PROBABILITY))


@twin(compiled.sigmoid)
def sigmoid(logits: Array) -> Float64s:
    """Return 1 / (1 + exp(-z)) in float64, without overflow."""
    z = np.asarray(logits, np.float64)
    small = np.exp(-np.abs(z))
    return np.asarray(np.where(z >= 0, 1.0, small) / (1.0 + small))


@twin(compiled.softmax)
def softmax(logits: Array) -> Float64s:
    """Return exp(z_k) / sum_j exp(z_j) by row, in float64, without overflow."""
    result = np.empty(logits.shape, np.float64)
    for rows in row_blocks(*logits.shape):
        z = result[rows]
        z[...] = logits[rows]
        with np.errstate(over="ignore"):  # if a difference of logits overflows, the lower one gets probability 0
            z -= z.max(axis=1, keepdims=True)
        np.exp(z, out=z)
        z /= z.sum(axis=1, keepdims=True)
    return result


def clipped_logit(p: Float64s) -> Float64s:
    """Return log(p / (1 - p)) for p clipped to [1e-12, 1 - 1e-12].

    The logits of the two ends are exact opposites, which those of the floats 1e-12 and 1 - 1e-12 would not be.
    """
    logit = np.empty(np.shape(p))
    for part in row_blocks(len(logit)):
        inside, odds = np.clip(p[part], SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY), logit[part]
        np.log(inside, out=odds)
        np.negative(inside, out=inside)
        odds -= np.log1p(inside, out=inside)
        np.copyto(odds, LARGEST_LOGIT, where=p[part] >= 1 - SMALLEST_PROBABILITY)
        np.copyto(odds, -LARGEST_LOGIT, where=p[part] <= SMALLEST_PROBABILITY)
    return logit
