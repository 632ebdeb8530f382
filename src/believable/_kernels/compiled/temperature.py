"""Passes over logits in C, for `believable._kernels.temperature`.

Rows are divided into blocks, whose sums are added in a fixed order, however many threads there are.
"""

from __future__ import annotations

import numpy as np

from believable._kernels.compiled.probabilities import of_rows, plain
from believable._kernels.compiled.threads import in_parts, ranges
from believable._kernels.twins import c
from believable._kernels.values import LogitRows
from believable._types import Float64s, Floats, Ints

BLOCK_ENTRIES, BLOCK_ROWS = 1 << 16, 128  # largest number of entries and rows of a block
LOGITS_PER_THREAD = 1 << 16  # logits that justify a thread


def logit_rows(logits: Floats, labels: Ints, weights: Float64s | None = None) -> LogitRows:
    logits, labels = plain(logits), np.ascontiguousarray(labels)
    n, width = logits.shape
    top, behind = np.empty(n, logits.dtype), np.empty(n)
    spreads = in_parts(
        lambda _, start, stop: c.logit_rows(logits, labels, top, behind, start, stop), _parts(n, width, 1)
    )
    return LogitRows(logits, top, behind, weights, max(spreads))


def power_sums(rows: LogitRows, b: float, order: int, rough: bool = False) -> Float64s:
    logits, top = plain(rows.logits), np.ascontiguousarray(rows.top)
    n, width = logits.shape
    result = np.empty((order + 1, n))
    rough = rough and _in_reach(b)
    in_parts(lambda _, start, stop: c.power_sums(logits, top, result, b, rough, start, stop), _parts(n, width, 1))
    return result


def slopes(rows: LogitRows, b: float, rough: bool = False) -> tuple[float, float, float]:
    logits, top, behind = plain(rows.logits), np.ascontiguousarray(rows.top), np.ascontiguousarray(rows.behind)
    weights = None if rows.weights is None else np.ascontiguousarray(rows.weights, np.float64)
    n, width = logits.shape
    block = min(max(1, BLOCK_ENTRIES // width), BLOCK_ROWS)
    sums = np.empty((3, -(-n // block)))
    rough = rough and _in_reach(b)
    in_parts(
        lambda _, start, stop: c.slopes(logits, top, behind, weights, sums, b, rough, block, start, stop),
        _parts(sums.shape[1], width, block),
    )
    first, second, third = sums.sum(axis=1).tolist()
    return first, second, third


def label_terms(rows: LogitRows, b: float) -> Float64s:
    logits, top, behind = plain(rows.logits), np.ascontiguousarray(rows.top), np.ascontiguousarray(rows.behind)
    n, width = logits.shape
    result = np.empty((3, n))
    in_parts(lambda _, start, stop: c.label_terms(logits, top, behind, result, b, start, stop), _parts(n, width, 1))
    return result


def tempered(logits: Floats, temperature: float) -> Float64s:
    return of_rows(logits, temperature)


def _in_reach(b: float) -> bool:
    """Return whether b is in the range of float32."""
    return 1e-30 < b < 1e30


def _parts(n: int, width: int, block: int) -> list[tuple[int, int]]:
    """Return ranges of blocks for the threads."""
    return ranges(n, max(1, LOGITS_PER_THREAD // (width * block)))
