"""Sums that fade along sorted points; rows of replicates are shared out among threads."""

from __future__ import annotations

from typing import Any

import numpy as np

from believable._types import Float64s
from believable.kernels._backend import c
from believable.kernels.compiled.threads import in_parts, ranges

FEW = 1 << 14  # points that are not worth a thread
SUMS, BEFORE, AROUND, FORM = range(4)


def faded_sums(x: Float64s, values: Float64s, bandwidth: float) -> Float64s:
    return _faded(x, values, bandwidth, SUMS)


def faded_before(x: Float64s, values: Float64s, bandwidth: float) -> Float64s:
    return _faded(x, values, bandwidth, BEFORE)


def faded_around(x: Float64s, values: Float64s, bandwidth: float) -> Float64s:
    return _faded(x, values, bandwidth, AROUND)


def laplace_form(x: Float64s, values: Float64s, bandwidth: float) -> Any:
    return _faded(x, values, bandwidth, FORM)[()]


def pairs_of_blocks(x: Float64s, values: Float64s, bandwidth: float) -> Float64s:
    x, values = np.ascontiguousarray(x, np.float64), np.ascontiguousarray(values, np.float64)
    pairs = np.empty(len(x))
    parts = ranges(len(x), FEW // max(1, x.shape[1]) + 1)
    in_parts(lambda _, start, stop: c.fade_pairs(x, values, pairs, bandwidth, start, stop), parts)
    return pairs


def _faded(x: Float64s, values: Float64s, bandwidth: float, what: int) -> Float64s:
    x, values = np.ascontiguousarray(x, np.float64), np.ascontiguousarray(values, np.float64)
    found = np.empty(values.shape[:-1] if what == FORM else values.shape)
    parts = ranges(values.size // len(x), FEW // len(x) + 1)
    in_parts(lambda _, start, stop: c.fade(x, values, found, bandwidth, what, start, stop), parts)
    return found
