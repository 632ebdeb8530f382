"""Sorting of rows by score: few rows are sorted directly, many are distributed over cells that threads sort.

A run of equal scores never leaves its cell, so results from sorted rows are computed right where they are sorted.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from believable._kernels.compiled.threads import in_parts, ranges
from believable._kernels.twins import TWINS, c
from believable._kernels.values import ByScore
from believable._types import Array, Float64s, Floats, Ints

Result = TypeVar("Result")
Work = Callable[[Array, int, int], Result]  # takes sorted items, start and stop

SCORES_FOR_NUMPY = 256  # fewer scores are sorted by NumPy faster than memory can be allocated for C
ROWS_FOR_CELLS = 1 << 15  # from this many rows, they are first distributed over cells
CELL_BITS = 11  # logarithm of the number of cells
SAMPLED_ROWS = 1 << 10  # rows from which the range of the cells is estimated
TRIMMED_ROWS = 4  # lowest and highest sampled rows that are ignored


def sort_pairs(score: Floats, outcome: Array, weight: Array | None) -> tuple[Floats, Array, Array | None]:
    if not _fits(score):
        return TWINS["sort_pairs"][0](score, outcome, weight)  # type: ignore[no-any-return]
    if weight is None and outcome.dtype.kind != "f":
        (items, _) = _sorted(score, _labels(outcome), _nothing)
        one = items.dtype.type(1)
        return (items >> one).view(score.dtype), items & one, None
    order = ascending(score)
    return score[order], outcome[order], None if weight is None else weight[order]


def sorted_scores(scores: Floats) -> Floats:
    if len(scores) < SCORES_FOR_NUMPY or not _fits(scores):
        return TWINS["sorted_scores"][0](scores)  # type: ignore[no-any-return]
    items, _ = _sorted(scores, np.zeros(len(scores), np.uint8), _nothing)
    items >>= items.dtype.type(1)
    return items.view(scores.dtype)


def by_score(score: Floats, outcome: Array, weight: Array | None) -> ByScore:
    if not _fits(score):
        return TWINS["by_score"][0](score, outcome, weight)  # type: ignore[no-any-return]
    if weight is None and outcome.dtype.kind != "f":
        distinct, n, w, wy = _of_pairs(score, _labels(outcome))
        return ByScore(distinct, n, w, wy, w, wy)
    outcome = _doubles(outcome)
    if weight is None:
        distinct, n, wy, _ = _of_rows(score, outcome, outcome, 2)
        w = n.astype(np.float64)
        return ByScore(distinct, n, w, wy, w, wy)
    return ByScore(*_of_rows(score, _doubles(weight), outcome, 4))


def at_distinct(score: Float64s, first: Float64s, second: Float64s) -> tuple[Float64s, Float64s, Float64s]:
    if not _fits(score):
        return TWINS["at_distinct"][0](score, first, second)  # type: ignore[no-any-return]
    score, _, first, second = _of_rows(score, _doubles(first), _doubles(second), 2)
    return score, first, second


def ascending(values: Array) -> Ints:
    if not _fits(values):
        return TWINS["ascending"][0](values)  # type: ignore[no-any-return]
    order = np.empty(len(values), np.intp)

    def rows(items: Array, start: int, stop: int) -> None:
        order[start:stop] = items[start:stop, 1]

    _sorted(values, None, rows)
    return order


def auc(scores: Array, positive: Array, negative: Array) -> float:
    if scores.ndim != 1 or len(scores) == 0 or scores.dtype.kind not in "fiu" or scores.dtype.itemsize > 8:
        return TWINS["auc"][0](scores, positive, negative)  # type: ignore[no-any-return]
    exact = _doubles(scores)
    positive, negative = _doubles(positive), _doubles(negative)
    labels = np.empty(len(exact), np.uint8)
    if c.outcomes(exact, positive, negative, labels):
        _, found = _sorted(scores if _fits(scores) else exact, labels, c.wins)
        won = above = below = 0
        for wins, positives, negatives in found:
            won += wins + 2 * positives * below
            above, below = above + positives, below + negatives
        return won / (2 * above * below)
    _, _, positives, negatives = _of_rows(exact, positive, negative, 2)
    before = np.cumsum(negatives) - negatives
    return float(np.sum(positives * (before + negatives / 2)) / (positives.sum() * negatives.sum()))


def _fits(score: Array) -> bool:
    return score.dtype.char in "fd" and score.ndim == 1 and len(score) > 0 and score.dtype.isnative


def _labels(outcome: Array) -> Array:
    narrow = outcome if outcome.dtype.itemsize == 1 else outcome != 0
    return np.ascontiguousarray(narrow).view(np.uint8)


def _doubles(values: Array) -> Float64s:
    return np.ascontiguousarray(values, np.float64)


def _nothing(items: Array, start: int, stop: int) -> None:
    """Do nothing, if rows only have to be sorted."""


def _of_pairs(score: Floats, labels: Array) -> list[Array]:
    n = len(score)
    into = [np.empty(n), np.empty(n, np.int64), np.empty(n), np.empty(n)]
    _, found = _sorted(score, labels, lambda items, start, stop: (start, c.distinct_pairs(items, *into, start, stop)))
    return _joined(into, found)


def _of_rows(score: Array, first: Float64s, second: Float64s, n_sums: int) -> list[Array]:
    n = len(score)
    into: list[Array] = [np.empty(n), np.empty(n, np.int64), *(np.empty(n) for _ in range(n_sums))]
    places = [*into, None, None][:6]

    def work(items: Array, start: int, stop: int) -> tuple[int, int]:
        return start, c.distinct_rows(items, first, second, *places, start, stop)

    _, found = _sorted(score, None, work)
    return _joined(into, found)


def _joined(columns: list[Array], found: list[tuple[int, int]]) -> list[Array]:
    """Return what the threads wrote, without the gaps between their ranges."""
    if sum(n for _, n in found) == len(columns[0]):
        return columns
    return [np.concatenate([column[start : start + n] for start, n in found]) for column in columns]


def _sorted(score: Array, labels: Array | None, work: Work[Result]) -> tuple[Array, list[Result]]:
    """Return the sorted items and the result of `work` for each range; items are packed keys, or keys and rows."""
    n = len(score)
    score = _doubles(score) if labels is None else np.ascontiguousarray(score)
    shape: Any = (n, 2) if labels is None else n
    kind = np.dtype(np.uint64 if labels is None else f"u{score.dtype.itemsize}")
    items, spare = np.empty(shape, kind), np.empty(shape, kind)
    if n < ROWS_FOR_CELLS:
        c.sort_scores(score, labels, items, spare)
        return items, [work(items, 0, n)]

    low, shift = _cells(score, labels, items.dtype)
    parts = ranges(n, ROWS_FOR_CELLS)
    counts = np.zeros((len(parts), 1 << CELL_BITS), np.int64)
    in_parts(lambda part, *rows: c.sort_count(score, labels, items, counts[part], low, shift, *rows), parts)
    total = counts.sum(axis=0)
    ends = np.cumsum(total)
    places = np.cumsum(counts, axis=0) - counts + (ends - total)
    in_parts(lambda part, *rows: c.sort_spread(score, labels, items, places[part], low, shift, *rows), parts)

    width = items.nbytes // n
    cuts = np.searchsorted(ends, [stop for _, stop in parts[:-1]], side="left") + 1
    cuts = np.unique([0, *cuts.tolist(), len(ends)])

    def sort(_: int, first: int, last: int) -> Result:
        c.sort_cells(items, spare, ends, width, first, last)
        return work(items, int(ends[first - 1]) if first else 0, int(ends[last - 1]))

    return items, in_parts(sort, list(pairwise(cuts.tolist())))


def _cells(score: Array, labels: Array | None, kind: Any) -> tuple[int, int]:
    """Return the lowest key of the cells, and the bits by which keys are shifted; both affect only the speed.

    The bit of the label is always shifted away, so that pairs of the same score are in the same cell.
    """
    some = np.ascontiguousarray(score[:: len(score) // SAMPLED_ROWS])
    none = None if labels is None else np.zeros(len(some), np.uint8)
    items = np.empty((len(some), 2) if labels is None else len(some), kind)
    c.sort_scores(some, none, items, np.empty_like(items))
    keys = items[:, 0] if labels is None else items
    low, high = int(keys[TRIMMED_ROWS]), int(keys[-1 - TRIMMED_ROWS])
    return low, max(0 if labels is None else 1, (high - low).bit_length() - CELL_BITS)
