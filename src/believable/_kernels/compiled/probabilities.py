"""Conversion of logits to probabilities, in C."""

from __future__ import annotations

import numpy as np

from believable._kernels.compiled.threads import in_parts, ranges
from believable._kernels.twins import c
from believable._types import Array, Float64s, Floats

PROBABILITIES_PER_THREAD = 1 << 15


def plain(logits: Array) -> Floats:
    """Return logits in C order, as float32 or float64."""
    return np.ascontiguousarray(logits, np.float32 if logits.dtype == np.float32 else np.float64)


def of_rows(logits: Array, temperature: float) -> Float64s:
    """Return softmax(z / T) by row."""
    logits = plain(logits)
    n, width = logits.shape
    result = np.empty((n, width))
    if result.size:
        in_parts(
            lambda _, start, stop: c.softmax(logits, result, temperature, width, start, stop),
            ranges(n, max(1, PROBABILITIES_PER_THREAD // width)),
        )
    return result


def softmax(logits: Array) -> Float64s:
    return of_rows(logits, 1.0)


def sigmoid(logits: Array) -> Float64s:
    z = np.asarray(logits, np.float64, order="C")
    result = np.empty(z.shape)
    if z.size < 2 * PROBABILITIES_PER_THREAD:
        c.sigmoids(z, result)
        return result
    flat, out = z.ravel(), result.ravel()
    in_parts(
        lambda _, start, stop: c.sigmoids(flat[start:stop], out[start:stop]),
        ranges(len(flat), PROBABILITIES_PER_THREAD),
    )
    return result
