"""Sums over pairs of rows, in C."""

from __future__ import annotations

from itertools import count
from math import inf
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from believable._kernels.compiled.threads import in_parts, ranges
from believable._kernels.twins import TWINS, c
from believable._kernels.values import SkceRows
from believable._types import Float64s

if TYPE_CHECKING:
    from believable._kernels.pairs import Similarity

N_STRIPS = 8  # shares of the work, added in a fixed order whichever thread computed them
ROWS_FOR_STRIPS = 512
DIFFERENCES_PER_THREAD = 1 << 20  # differences of entries that justify a thread
TV, GAUSSIAN = 0, 1


def _kind(name: object) -> int:
    return TV if name == "tv" else GAUSSIAN


def _scale(similarity: Similarity) -> float:
    """Return the scale of the kernel exp(-scale * sum of differences); infinite if the bandwidth is too small."""
    nu = similarity.bandwidth
    if nu < 1e-150:
        return inf
    return 0.5 / nu if similarity.name == "tv" else 0.5 / nu / nu


def _in_c(similarity: Similarity, width: int) -> bool:
    return not callable(similarity.name) and width > 0 and _scale(similarity) < inf


def skce_rows(
    points: Float64s, residuals: Float64s, weight: Float64s, similarity: Similarity, *, diagonal: bool = False
) -> SkceRows:
    n, width = points.shape
    if not _in_c(similarity, width):
        numpy = TWINS["skce_rows"][0](points, residuals, weight, similarity, diagonal=diagonal)
        return cast(SkceRows, numpy)
    points, weighted = np.ascontiguousarray(points, np.float64), np.ascontiguousarray(residuals * weight[:, None])
    scale, kind = _scale(similarity), _kind(similarity.name)
    strips = N_STRIPS if n >= ROWS_FOR_STRIPS else 1
    rows, squares, turns = np.zeros((strips, n)), [0.0] * strips, count()

    def work(number: int, start: int, stop: int) -> None:
        while (strip := next(turns)) < strips:
            squares[strip] = c.skce_strip(points, weighted, rows[strip], scale, kind, width, diagonal, strip, strips)

    in_parts(work, ranges(strips, max(1, DIFFERENCES_PER_THREAD * 2 * strips // max(n * n * width, 1))))
    return SkceRows(rows.sum(axis=0) / weight, sum(squares))


def skce_blocks(
    points: Float64s, residuals: Float64s, weight: Float64s, similarity: Similarity, size: int
) -> tuple[Float64s, Float64s]:
    width, n_blocks = points.shape[1], len(points) // size
    if not _in_c(similarity, width):
        numpy = TWINS["skce_blocks"][0](points, residuals, weight, similarity, size)
        return cast(tuple[Float64s, Float64s], numpy)
    points, residuals, weight = (np.ascontiguousarray(part, np.float64) for part in (points, residuals, weight))
    scale, kind = _scale(similarity), _kind(similarity.name)
    total = np.empty(n_blocks)

    def work(number: int, start: int, stop: int) -> None:
        c.skce_blocks(points, residuals, weight, total, scale, kind, width, size, start, stop)

    in_parts(work, ranges(n_blocks, max(1, 2 * DIFFERENCES_PER_THREAD // (size * size * width))))
    w = weight[: n_blocks * size].reshape(n_blocks, size)
    return total, 2 * (w[:, 1:] * np.cumsum(w, axis=1)[:, :-1]).sum(axis=1)


def distances(x: Float64s, y: Float64s, name: str) -> Float64s:
    """Return the distances of all pairs of rows."""
    x, y = np.ascontiguousarray(x, np.float64), np.ascontiguousarray(y, np.float64)
    out, width = np.empty((len(x), len(y))), x.shape[1]
    kind = _kind(name)

    def work(number: int, start: int, stop: int) -> None:
        c.row_distances(x, y, out, kind, width, start, stop)

    in_parts(work, ranges(len(x), max(1, DIFFERENCES_PER_THREAD // max(1, len(y) * width))))
    if name == "tv":
        out /= 2
    return out


# --- Sums over all pairs of sorted points; replicates are divided among threads ---------------------------------------


POINTS_PER_THREAD = 1 << 14  # points that justify a thread
FADED_SUMS, FADED_BEFORE, FADED_AROUND, FADED_FORM = range(4)


def faded_sums(x: Float64s, values: Float64s, bandwidth: float) -> Float64s:
    return _faded(x, values, bandwidth, FADED_SUMS)


def faded_before(x: Float64s, values: Float64s, bandwidth: float) -> Float64s:
    return _faded(x, values, bandwidth, FADED_BEFORE)


def faded_around(x: Float64s, values: Float64s, bandwidth: float) -> Float64s:
    return _faded(x, values, bandwidth, FADED_AROUND)


def laplace_form(x: Float64s, values: Float64s, bandwidth: float) -> Any:
    return _faded(x, values, bandwidth, FADED_FORM)[()]


def pairs_of_blocks(x: Float64s, values: Float64s, bandwidth: float) -> Float64s:
    x, values = np.ascontiguousarray(x, np.float64), np.ascontiguousarray(values, np.float64)
    pairs = np.empty(len(x))
    parts = ranges(len(x), POINTS_PER_THREAD // max(1, x.shape[1]) + 1)
    in_parts(lambda _, start, stop: c.fade_pairs(x, values, pairs, bandwidth, start, stop), parts)
    return pairs


def _faded(x: Float64s, values: Float64s, bandwidth: float, what: int) -> Float64s:
    x, values = np.ascontiguousarray(x, np.float64), np.ascontiguousarray(values, np.float64)
    found = np.empty(values.shape[:-1] if what == FADED_FORM else values.shape)
    parts = ranges(values.size // len(x), POINTS_PER_THREAD // len(x) + 1)
    in_parts(lambda _, start, stop: c.fade(x, values, found, bandwidth, what, start, stop), parts)
    return found
