"""Residuals smoothed by a Gaussian that is reflected at 0 and 1, and the bandwidth that equals their size.

Reflection at both ends makes the kernel diagonal in cosines,

    K_s(t, p) = 1 + 2 sum_k exp(-(pi k s)^2 / 2) cos(pi k t) cos(pi k p),

so only the cosine sums c_k = sum_i e_i cos(pi k p_i) of the residuals matter, scores of 0 and 1 need no special
treatment, and every bandwidth takes one damped cosine transform.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from believable._kernels.compiled import cosine as compiled
from believable._kernels.twins import twin
from believable._types import Array, Float64s, Floats, Ints

WAVES_PER_BANDWIDTH = 2.5  # waves beyond this / s are damped to 4e-14
NODES_PER_BANDWIDTH = 6  # with at least 256 nodes, the size of the smoothed residuals is accurate to 2e-7
FIRST_BANDWIDTH = 0.05  # where the search for the fixed point starts
SMALLEST_BANDWIDTH = 1e-6  # smaller bandwidths are not distinguished
FEW_COSINES = 1 << 19  # this many cosines, one for each score and wave, are cheap enough to compute exactly
GRID_FINENESS = 190  # a grid of this times sqrt(waves) nodes moves the fixed point by less than 1e-7
NUMBERS_AT_ONCE = 1 << 22  # bounds memory
TYPICAL_FALL = 1.3  # first guess of how fast the gap between log size(s) and log s falls with log s
MOST_FIXED_POINT_STEPS = 60
FIXED_POINT_ROUNDING = 1e-13

Waves = Callable[[Ints, int, int], Float64s]  # of some rows, up to a wave; and how many of those are asked for
Blocks = Callable[[], Iterable[tuple[Floats, Array]]]


def smooth_error(score: Float64s, excess: Float64s, total: Any) -> Float64s:
    """Return the bandwidth s at which the smoothed residuals have size s, for sums of w (y - p) at each score.

    The size does not grow with s, so there is exactly one such s, and it lies between s' and size(s') for every s'. It
    is accurate to 1e-6. `excess` may hold replicates along its leading axes.
    """
    rows = _rows(excess, total)
    found = _fixed_point(_waves_of(score, rows), np.abs(rows).sum(axis=1))
    return found.reshape(np.shape(excess)[:-1])


def smooth_error_at(score: Float64s, excess: Float64s, total: Any, s: Any) -> Float64s:
    """Return the size of residuals smoothed with bandwidth s: the integral of |sum_i e_i K_s(t, p_i)| / W over t."""
    rows = _rows(excess, total)
    found = _sizes_by_waves(_waves_of(score, rows), np.broadcast_to(np.asarray(s, np.float64), len(rows)))
    return found.reshape(np.shape(excess)[:-1])


def smooth_error_of_pairs(blocks: Blocks, total: float, s: float | None = None) -> float:
    """Return the size at s, or the fixed point if s is None, for pairs (score, w (y - p)) in any order, in blocks.

    Nothing is sorted. Pairs are spread over a grid, which is refined if the bandwidth requires it.
    """
    made: dict[int, Float64s] = {}

    def grid(nodes: int) -> Float64s:
        if nodes not in made:
            made.clear()
            made[nodes] = sum((spread(*block, nodes) for block in blocks()), start=np.zeros(nodes + 1)) / total
        return made[nodes]

    def waves(rows: Ints, n_waves: int, asked: int) -> Float64s:
        return _waves_of_grid(grid(_grid_nodes(n_waves, 1 << 14)), n_waves)[None, :]

    if s is not None:
        return float(_sizes_by_waves(waves, np.array([s]))[0])
    return float(_fixed_point(waves, np.array([np.abs(grid(1 << 14)).sum()]))[0])


# --- Cosine sums ------------------------------------------------------------------------------------------------------


def _rows(excess: Float64s, total: Any) -> Float64s:
    shares = excess / np.asarray(total, np.float64)[..., None]
    return np.asarray(shares.reshape(-1, shares.shape[-1]))


def _waves_of(score: Float64s, rows: Float64s) -> Waves:
    """Return the cosine sums of residuals at some scores: exactly if there are few, from a grid otherwise."""

    def waves(which: Ints, n_waves: int, asked: int) -> Float64s:
        if len(score) * n_waves <= FEW_COSINES:
            return _cosine_sums(score, rows if len(which) == len(rows) else rows[which], min(n_waves, asked))
        nodes = _grid_nodes(n_waves, 1 << 12)
        return np.stack([_waves_of_grid(spread(score, row, nodes), n_waves) for row in rows[which]])

    return waves


def _cosine_sums(score: Float64s, rows: Float64s, n_waves: int) -> Float64s:
    """Return sum_i e_i cos(pi k p_i) for k = 0..n_waves; cos(a + b) = cos a cos b - sin a sin b saves most cosines."""
    step = 1 << n_waves.bit_length() // 2  # about as many short ones as long ones
    short = np.pi * np.outer(score, np.arange(step))
    long = np.pi * np.outer(score, np.arange(0, n_waves + 1, step))
    if len(rows) == 1:
        each = rows.T
        sums = (each * np.cos(long)).T @ np.cos(short) - (each * np.sin(long)).T @ np.sin(short)
        return np.asarray(sums.reshape(1, -1)[:, : n_waves + 1])
    table = np.cos(long)[:, :, None] * np.cos(short)[:, None, :]
    table -= np.sin(long)[:, :, None] * np.sin(short)[:, None, :]
    return np.asarray(rows @ table.reshape(len(score), -1)[:, : n_waves + 1])


def _grid_nodes(n_waves: int, at_least: int) -> int:
    return max(at_least, int(_power_of_two(max(n_waves, GRID_FINENESS * n_waves**0.5))))


@twin(compiled.spread)
def spread(score: Floats, excess: Array, nodes: int) -> Float64s:
    """Distribute residuals linearly over the two nearest nodes j / nodes."""
    place = score.astype(np.float64) * nodes
    below = place.astype(np.intp)
    above = (place - below) * excess
    grid = np.bincount(below, excess - above, nodes + 2)
    grid[1:] += np.bincount(below, above, nodes + 2)[:-1]  # a score of 1 has no node above
    return np.asarray(grid[:-1], np.float64)


def _waves_of_grid(grid: Float64s, n_waves: int) -> Float64s:
    """Return the cosine sums of residuals that were spread over a grid, corrected for the blur of the spreading.

    Linear spreading convolves with a triangle, whose transform is a squared sinc.
    """
    from scipy.fft import dct

    nodes = len(grid) - 1
    halved = grid / 2
    halved[[0, -1]] = grid[[0, -1]]
    waves = dct(halved, type=1)[: n_waves + 1]
    return np.asarray(waves / np.sinc(np.arange(len(waves)) / (2 * nodes)) ** 2)


# --- The size of smoothed residuals -----------------------------------------------------------------------------------


def _power_of_two(values: Any) -> Ints:
    """Return the smallest powers of two that are not below the values."""
    return np.asarray(np.exp2(np.ceil(np.log2(values))), np.intp)


def _chunks(sizes: Ints) -> Iterator[tuple[int, Ints]]:
    """Yield each size with rows that have it, as many at a time as memory allows."""
    for size in sorted(set(sizes.tolist())):
        rows = np.flatnonzero(sizes == size)
        step = max(1, NUMBERS_AT_ONCE // size)
        for start in range(0, len(rows), step):
            yield size, rows[start : start + step]


def _sizes_by_waves(waves: Waves, s: Float64s) -> Float64s:
    sizes = np.empty(len(s))
    for n_waves, rows in _chunks(_power_of_two(np.maximum(WAVES_PER_BANDWIDTH / s, 1))):
        asked = int(WAVES_PER_BANDWIDTH / s[rows].min()) + 2
        sizes[rows] = _sizes(waves(rows, n_waves, asked), s[rows])
    return sizes


def _sizes(waves: Float64s, s: Float64s) -> Float64s:
    """Return the integral of |residuals smoothed with s| for each row; the nodes depend only on the row's bandwidth."""
    return smooth_sizes(waves, s, _power_of_two(np.maximum(NODES_PER_BANDWIDTH / s, 256)))


@twin(compiled.smooth_sizes)
def smooth_sizes(waves: Float64s, s: Float64s, nodes: Ints) -> Float64s:
    """Return the integral over [0, 1] of |sum_k c_k exp(-(pi k s)^2 / 2) cos(pi k t)| for each row of cosine sums.

    The sum is over positive and negative k. Each curve is evaluated on this many nodes, a power of two of at least 256.
    """
    from scipy.fft import dct

    sizes = np.empty(len(s))
    for size, rows in _chunks(nodes):
        k = np.arange(min(waves.shape[1], size, int(WAVES_PER_BANDWIDTH / s[rows].min()) + 2))
        damped = np.zeros((len(rows), size + 1))
        damped[:, : len(k)] = waves[rows, : len(k)] * np.exp(-0.5 * (np.pi * k * s[rows, None]) ** 2)
        sizes[rows] = _absolute_area(dct(damped, type=1, overwrite_x=True))
    return sizes


def _absolute_area(curve: Float64s) -> Float64s:
    """Return the integral over [0, 1] of the absolute value of smooth curves on a grid, flat at both ends.

    The trapezoid rule is very accurate except where the sign changes. There it misses h^2/6 times the slope and the
    corner that it cuts off; a parabola through the neighbouring nodes corrects that, and leaves an error of order h^4.
    """
    last = curve.shape[1] - 1
    size = np.abs(curve)
    area = size.sum(axis=1) - (size[:, 0] + size[:, -1]) / 2
    row, at = np.nonzero((curve[:, 1:] < 0) != (curve[:, :-1] < 0))
    left, right = size[row, at], size[row, at + 1]
    both = left + right
    root = left / both  # where a line crosses zero, in steps from the left node
    outer = curve[row, np.abs(at - 1)] + curve[row, last - np.abs(last - at - 2)]
    bend = np.where(curve[row, at] < 0, 1, -1) * (outer - curve[row, at] - curve[row, at + 1]) / 2
    missed = both / 6 - root * right + bend * (root**2 / 2 - root**3 / 3 - 1 / 12)
    return np.asarray((area + np.bincount(row, missed, len(area))) / last)


# --- The fixed point --------------------------------------------------------------------------------------------------


def _fixed_point(waves: Waves, most: Float64s) -> Float64s:
    """Solve s = size(s) for every row; `most` is the size of the unsmoothed residuals, an upper bound."""
    found = most.copy()
    rows = np.flatnonzero(most > SMALLEST_BANDWIDTH)  # otherwise the fixed point is 0 to the accuracy of 1e-6
    if not len(rows):
        return found
    start = np.minimum(most[rows], FIRST_BANDWIDTH)
    first = np.empty(len(rows))
    for n_waves, part in _chunks(_power_of_two(WAVES_PER_BANDWIDTH / start)):
        first[part] = _sizes(waves(rows[part], n_waves, n_waves), start[part])
    low, high = np.maximum(np.minimum(start, first), SMALLEST_BANDWIDTH), np.maximum(start, first)
    guess = np.maximum(np.exp(np.log(start) + _gap(first, start) / TYPICAL_FALL), low)
    enough = _power_of_two(np.maximum(WAVES_PER_BANDWIDTH / (0.8 * guess), 1))
    left = np.arange(len(rows))
    while len(left):
        for n_waves, part in _chunks(enough[left]):
            here = left[part]
            held = waves(rows[here], n_waves, n_waves)
            found[rows[here]] = _search(held, start[here], first[here], low[here], high[here])
        left = left[found[rows[left]] < WAVES_PER_BANDWIDTH / enough[left]]
        enough[left] *= 2
    return found


def _search(waves: Float64s, start: Float64s, first: Float64s, low: Float64s, high: Float64s) -> Float64s:
    """Search by secants in log s and log size(s), which is almost a straight line, within the bracket."""
    low, high = np.log(low), np.log(high)
    before, gap = np.log(start), _gap(first, start)
    now = np.clip(before + gap / TYPICAL_FALL, low, high)
    found = np.empty(len(start))
    left = np.arange(len(start))
    for _ in range(MOST_FIXED_POINT_STEPS):
        s = np.exp(now)
        size = _sizes(waves[left], s)
        new_gap = _gap(size, s)
        low, high = np.maximum(low, np.minimum(now, now + new_gap)), np.minimum(high, np.maximum(now, now + new_gap))
        moved = now != before
        slope = np.where(moved, (new_gap - gap) / np.where(moved, now - before, 1), -1.0)
        after = now - new_gap / np.minimum(slope, -1.0)  # size does not grow with s, so the slope is at most -1
        after = np.where((after < low) | (after > high), (low + high) / 2, after)
        found[left] = np.exp(after)
        more = (np.abs(new_gap) > FIXED_POINT_ROUNDING) & (high - low > FIXED_POINT_ROUNDING)
        if not more.any():
            break
        left, before, gap, now = left[more], now[more], new_gap[more], after[more]
        low, high = low[more], high[more]
    return found


def _gap(size: Float64s, s: Float64s) -> Float64s:
    return np.asarray(np.log(np.maximum(size, 1e-300)) - np.log(s))
