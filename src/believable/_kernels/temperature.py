"""One temperature for all logits: softmax(b z), with b the inverse temperature.

A row costs log(sum_k exp(b z_k)) - b z_label, which is convex in b; its derivatives are cumulants of z under
softmax(b z). Logits are measured from the row's largest, x_k = b (z_k - max z) <= 0, so that nothing overflows, and
steps are relative to b, so that units do not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import numpy as np

from believable._kernels.compiled import temperature as compiled
from believable._kernels.rows import FEW_COLUMNS
from believable._kernels.solve import RootLook, RootSettings, find_root
from believable._kernels.twins import twin
from believable._kernels.values import LogitRows
from believable._types import Float64s, Floats, Ints

BLOCK_ENTRIES = 1 << 16  # entries of a block, of which two buffers fit in the cache
# exp() of smaller numbers is negligible, and slow to compute.
LOWEST_EXPONENT = {np.dtype(np.float32): -80.0, np.dtype(np.float64): -700.0}
ENTRIES_TO_SEARCH_SOME_ROWS_FIRST = 1 << 17
SAMPLE_STRIDE, FEWEST_SAMPLED_ROWS = 20, 2000  # the sample is every 20th row, but at least this many
LAST_STEP, ROUGH_STEP = 3e-5, 1e-2  # a step this short is the last, because the error left is its third power
FLATTEST_LOGITS = 1e-6  # smallest b times spread of logits: below it, they are uninformative
EXCESS_COST_WHEN_ALL_RIGHT = 1e-6  # mean cost above the infimum if the largest logit is always the label's
LEAP = 64.0  # no step changes b by a larger factor
LARGEST_INVERSE_TEMPERATURE = 1e306  # upper bound of the search, whose inverse is still a normal number
# Labels further behind the largest logit are clipped to this: far enough to decide everything, with finite sums.
FURTHEST_BEHIND = 1e200

Limit = Literal["", "equal", "right", "useless"]
Slopes = tuple[float, float, float]


class TemperatureFit(NamedTuple):
    """A temperature, and which limit it is ("" if it is none).

    "equal": all logits of every row are equal, and T = 1. "right": every label has the largest logit of its row, and T
    is where the mean cost is 1e-6 above its infimum at T -> 0. "useless": the cost falls until T is 1e6 times the
    largest difference within a row, and that T is used.
    """

    temperature: float
    limit: Limit


@twin(compiled.logit_rows)
def logit_rows(logits: Floats, labels: Ints, weights: Float64s | None = None) -> LogitRows:
    """Return the logits with what every pass needs, from one look at each of them."""
    n, width = logits.shape
    top, behind, spread = np.empty(n, logits.dtype), np.empty(n), 0.0
    few = width <= FEW_COLUMNS
    with np.errstate(over="ignore"):
        for part in _blocks(n, width):
            rows = logits[part]
            block, axis = (np.ascontiguousarray(rows.T), 0) if few else (rows, 1)
            largest = block.max(axis=axis).astype(np.float64)
            spread = max(spread, float((largest - block.min(axis=axis)).max()))
            top[part] = largest
            np.subtract(rows[np.arange(len(rows)), labels[part]], largest, out=behind[part])
    np.maximum(behind, np.finfo(np.float64).min, out=behind)
    return LogitRows(logits, top, behind, weights, spread)


@twin(compiled.power_sums)
def power_sums(rows: LogitRows, b: float, order: int, rough: bool = False) -> Float64s:
    """Return the sums of exp(x) x^j, j = 0..order <= 3, by row, of shape (order + 1, n).

    `rough` sums use float32, in half the time, unless b is beyond its range.
    """
    result = np.empty((order + 1, len(rows.top)))
    for part, sums in _sums_by_block(rows, b, order, rough):
        result[:, part] = sums
    return result


def _sums_by_block(rows: LogitRows, b: float, order: int, rough: bool = False) -> Iterator[tuple[slice, Float64s]]:
    """Yield the same sums for each block of rows; blocks of few columns are transposed, because long rows are fast."""
    logits, top = rows.logits, rows.top
    n, width = logits.shape
    dtype = np.dtype(np.float32 if rough and 1e-30 < b < 1e30 else np.float64)
    factor, floor = dtype.type(b), dtype.type(LOWEST_EXPONENT[dtype])
    beyond = not b * rows.spread < -float(floor)
    few, step = width <= FEW_COLUMNS, _step(width)
    shape = (width, min(step, n)) if few else (min(step, n), width)
    deviations, terms, ones = np.empty(shape, dtype), np.empty(shape, dtype), np.ones(width, dtype)
    for part in _blocks(n, width):
        block, m = logits[part], part.stop - part.start
        x, e = (deviations[:, :m], terms[:, :m]) if few else (deviations[:m], terms[:m])
        largest = top[part].astype(dtype, copy=False)
        with np.errstate(over="ignore", under="ignore"):
            np.copyto(x, block.T if few else block, casting="same_kind")
            np.subtract(x, largest if few else largest[:, None], out=x)
            np.multiply(x, factor, out=x)
            if beyond:
                np.maximum(x, floor, out=x)
            np.exp(x, out=e)
            sums = np.empty((order + 1, m))
            sums[0] = e.sum(axis=0) if few else e @ ones
            for j in range(1, order + 1):
                if few:
                    np.multiply(e, x, out=e)
                    sums[j] = e.sum(axis=0)
                else:
                    sums[j] = np.matmul(e[:, None, :], x[:, :, None])[:, 0, 0]
                    if j < order:
                        np.multiply(e, x, out=e)
        yield part, sums


def top_probability(rows: LogitRows, b: float) -> Float64s:
    """Return the largest probability of each row."""
    (total,) = power_sums(rows, b, 0)
    return np.asarray(np.divide(1, total, out=total))


@twin(compiled.label_terms)
def label_terms(rows: LogitRows, b: float) -> Float64s:
    """Return P(label), and its first and second derivative with respect to log b, of shape (3, n)."""
    result = np.empty((3, len(rows.top)))
    for part, sums in _sums_by_block(rows, b, 2):
        mean, square = sums[1:] / sums[0]
        with np.errstate(over="ignore"):
            x = np.maximum(b * rows.behind[part], LOWEST_EXPONENT[np.dtype(np.float64)])
        ahead = x - mean
        p, first, second = result[:, part]
        np.divide(np.exp(x), sums[0], out=p)
        np.multiply(p, ahead, out=first)
        np.multiply(p, ahead * ahead + ahead - (square - mean * mean), out=second)
    return result


@twin(compiled.tempered)
def tempered(logits: Floats, temperature: float) -> Float64s:
    """Return softmax(z / T) by row, in float64."""
    n, width = logits.shape
    result = np.empty((n, width))
    few = width <= FEW_COLUMNS
    buffer = np.empty((width, min(_step(width), n))) if few else None
    ones = np.ones(width)
    with np.errstate(over="ignore", under="ignore"):
        for rows in _blocks(n, width):
            x = result[rows] if buffer is None else buffer[:, : rows.stop - rows.start]
            x[...] = logits[rows] if buffer is None else logits[rows].T
            x -= x.max(axis=1, keepdims=True) if buffer is None else x.max(axis=0)
            x /= temperature
            np.exp(x, out=x)
            x /= (x @ ones)[:, None] if buffer is None else x.sum(axis=0)
            if buffer is not None:
                result[rows] = x.T
    return result


# --- The best temperature ---------------------------------------------------------------------------------------------


def fit_temperature(rows: LogitRows) -> TemperatureFit:
    """Return the temperature of least cost, by Newton's method with a third derivative, within a bracket.

    With many rows, the search starts from the optimum of some of them, found in float32, and one such step on all; then
    a single pass in float64 usually suffices.
    """
    if rows.spread == 0:
        return TemperatureFit(1.0, "equal")
    b = 1 / typical_difference(rows)
    if not rows.behind.any():
        return TemperatureFit(1 / _sharpest(rows, b), "right")
    lowest = min(
        FLATTEST_LOGITS / min(rows.spread, FLATTEST_LOGITS * LARGEST_INVERSE_TEMPERATURE), LARGEST_INVERSE_TEMPERATURE
    )
    n, width = rows.logits.shape
    stride = min(SAMPLE_STRIDE, n // FEWEST_SAMPLED_ROWS)
    if n * width >= ENTRIES_TO_SEARCH_SOME_ROWS_FIRST and stride > 1:
        rough = _fits_float32(rows)
        some = rows.every(stride)
        if some.behind.any():
            b = search(lambda at: slopes(some, at, rough), b, lowest, ROUGH_STEP)
        if rough and b > lowest:
            b = search(lambda at: slopes(rows, at, rough), b, lowest, np.inf)
    b = search(lambda at: slopes(rows, at), b, lowest, LAST_STEP)
    return TemperatureFit(1 / b, "useless" if b == lowest else "")


@twin(compiled.slopes)
def slopes(rows: LogitRows, b: float, rough: bool = False) -> Slopes:
    """Return the first three derivatives of the cost, times b, b^2 and b^3: cumulants of x, minus the label's x."""
    first = second = third = 0.0
    beyond = b * rows.spread > FURTHEST_BEHIND
    for part, sums in _sums_by_block(rows, b, 3, rough):
        mean, square, cube = sums[1:] / sums[0]
        variance = square - mean * mean
        with np.errstate(over="ignore"):  # a slope that overflows still has a sign
            behind = b * rows.behind[part]
            if beyond:
                np.maximum(behind, -FURTHEST_BEHIND, out=behind)
            first += rows.total(mean - behind, part)
        second += rows.total(variance, part)
        third += rows.total(cube - mean * (square + 2 * variance), part)
    return first, second, third


def search(slopes_at: Callable[[float], Slopes], b: float, lowest: float, enough: float) -> float:
    """Return where an increasing function of b >= lowest is zero; stop after a relative step of at most `enough`.

    If the function is already positive at `lowest`, that is returned. This is a root in one dimension with a third
    derivative, so it uses `find_root`: there is no cost to compare. b may be anywhere from 1e-306 to 1e306, so brackets
    are halved on the logarithmic scale.
    """

    def look(at: float) -> RootLook:
        value, slope, bend = slopes_at(at)
        return RootLook(value, at * (1 + _newton(value, slope, bend)))

    settings = RootSettings(close=enough, low=lowest, high=LARGEST_INVERSE_TEMPERATURE)
    return find_root(look, b, settings, bracket=(0.0, np.inf), middle=_geometric_middle)


def _geometric_middle(below: float, above: float) -> float:
    """Return the geometric middle of a bracket of positive numbers; if it has only one end, a leap from there."""
    if below > 0 and above < np.inf:
        return float(np.sqrt(below) * np.sqrt(above))
    return below * LEAP if below > 0 else above / LEAP


def _newton(value: float, slope: float, bend: float) -> float:
    """Return the nearer root of value + slope t + bend t^2 / 2, or Newton's step if there is none, cut in length."""
    if not slope > 0 or not abs(value) < np.inf:
        return LEAP - 1 if value < 0 else 1 / LEAP - 1
    ratio = value / slope
    inside = 1 - 2 * ratio * (bend / slope)
    step = -2 * ratio / (1 + np.sqrt(inside)) if 0 <= inside < np.inf else -ratio
    return float(min(max(step, 1 / LEAP - 1), LEAP - 1))


def _sharpest(rows: LogitRows, b: float) -> float:
    """Return the b at which the mean cost exceeds its infimum by EXCESS_COST_WHEN_ALL_RIGHT.

    This is for labels that all have the largest logit, whose cost falls for ever as b grows.
    """
    n, width = rows.logits.shape
    ties = np.empty(n)
    for part in _blocks(n, width):
        ties[part] = np.count_nonzero(rows.logits[part] == rows.top[part, None], axis=1)
    weight = n if rows.weights is None else rows.weights.sum()

    def shortfall(at: float) -> Slopes:
        """Return log EXCESS_COST_WHEN_ALL_RIGHT - log excess, and its derivative times b."""
        total, fallen = power_sums(rows, at, 1)
        fall = rows.total(fallen / total, slice(None))
        excess = rows.total(np.log1p((total - ties) / ties), slice(None))
        if not excess > 0:
            return np.inf, 0.0, 0.0
        return np.log(EXCESS_COST_WHEN_ALL_RIGHT) - np.log(excess / weight), -fall / excess, 0.0

    return search(shortfall, b, 1 / LARGEST_INVERSE_TEMPERATURE, LAST_STEP)


def typical_difference(rows: LogitRows) -> float:
    """Return a typical difference between the largest and the middle logit of a row, from which a search starts."""
    some = rows.every(max(1, len(rows.top) // 64))
    halves = np.sort(some.logits.astype(np.float64) / 2, axis=1)  # differences of halves cannot overflow
    distance = np.sort(halves[:, -1] - halves[:, (halves.shape[1] - 1) // 2])
    distance = distance[distance > 0]
    typical = float(distance[len(distance) // 2]) if len(distance) else rows.spread / 2
    return min(max(typical, 1 / LARGEST_INVERSE_TEMPERATURE), LARGEST_INVERSE_TEMPERATURE)


def _fits_float32(rows: LogitRows) -> bool:
    """Return whether differences of logits keep a few digits in float32."""
    if not 1e-15 < rows.spread < 1e15:
        return False
    return rows.logits.dtype == np.float32 or bool(np.abs(rows.top).max() < 16 * rows.spread)


def _step(width: int) -> int:
    return max(1, BLOCK_ENTRIES // width)


def _blocks(n: int, width: int) -> Iterator[slice]:
    step = _step(width)
    for first in range(0, n, step):
        yield slice(first, min(first + step, n))
