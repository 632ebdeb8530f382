"""Piecewise functions: lines between knots, steps, and bins."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from believable._kernels.bins import quantile_positions
from believable._kernels.compiled import piecewise as compiled
from believable._kernels.rows import row_blocks
from believable._kernels.twins import twin
from believable._types import Array, Float64s, Floats, Ints

FAR_KNOT = 1e300  # knots beyond this may differ by more than float64 holds


@twin(compiled.lines_between)
def lines_between(x: Float64s, knots: Float64s, values: Float64s) -> Float64s:
    """Interpolate linearly between values at increasing knots; constant beyond the ends.

    The result is exact at the knots and never outside the values on either side, so rounding cannot break monotonicity.
    """
    unit = 4 if max(-knots[0], knots[-1]) > FAR_KNOT else 1
    at = knots / unit
    gap = np.append(np.diff(at), 1)
    gap[gap == 0] = 1
    rise = np.append(np.diff(values), 0)
    top = np.append(values[1:], values[-1])
    result = np.empty(len(x))
    for rows in row_blocks(len(x)):
        piece = np.maximum(np.searchsorted(knots, x[rows], side="right") - 1, 0)
        share = np.maximum(x[rows] / unit - at[piece], 0) / gap[piece]
        result[rows] = np.minimum(values[piece] + share * rise[piece], top[piece])
    return result


@twin(compiled.last_step)
def last_step(x: Float64s, knots: Float64s, values: Float64s) -> Float64s:
    """Return the value of the last knot that is not above x; that of the first, if all are above."""
    return np.asarray(values[np.maximum(np.searchsorted(knots, x, side="right") - 1, 0)])


@twin(compiled.edges_below)
def edges_below(x: Floats, edges: Float64s) -> Ints:
    """Return how many inner edges are below x, its right-closed bin; edges are rounded to the dtype of x."""
    with np.errstate(over="ignore"):  # edges beyond the range of float32 become infinite
        return np.searchsorted(edges.astype(x.dtype), x, side="left")


# --- The natural cubic spline nearest to a broken line on [0, 1] ------------------------------------------------------


def spline_slopes(width: Float64s, slope: Float64s, n_knots: int) -> Float64s:
    """Return the mean slopes of a spline, one over each piece of the broken line that it is fitted to.

    The line starts at (0, 0) and has pieces of these widths, which sum to 1, and slopes. The spline g has equally
    spaced knots from 0 to 1 and minimises the integral of (g - line)^2. On the segment after each knot, in units of
    the knots' distance, it is a cubic in t, so the integrals needed are those of t^m times the line, m = 0..3.
    """
    basis = _cubics(n_knots)
    knots = np.arange(n_knots) / (n_knots - 1)
    place = np.append(0, np.cumsum(width))
    place /= place[-1]
    height = np.append(0, np.cumsum(width * slope))

    at = np.searchsorted(place, knots[1:-1])  # pieces are cut at the knots
    owner = np.insert(np.arange(len(width)), at, at - 1)
    ends = np.insert(place, at, knots[1:-1])
    segment = np.minimum((ends[:-1] + ends[1:]) / 2 * (n_knots - 1), n_knots - 2).astype(np.intp)
    t0, t1 = ends[:-1] * (n_knots - 1) - segment, ends[1:] * (n_knots - 1) - segment

    # integration by parts: that of t^m L is L(1) / (m + 1) minus that of t^(m + 1) L' / (m + 1)
    upper = np.interp(knots[1:], place, height)
    steps = slope[owner] / (n_knots - 1)
    moments = np.empty((4, n_knots - 1))
    for m in range(4):
        rise = np.bincount(segment, steps * (t1 ** (m + 2) - t0 ** (m + 2)) / (m + 2), n_knots - 1)
        moments[m] = (upper - rise) / (m + 1)
    power = np.arange(4)
    gram = np.einsum("aji,bjk,ab->ik", basis, basis, 1 / (power[:, None] + power + 1))
    at_knots = np.linalg.solve(gram, np.einsum("aji,aj->i", basis, moments))

    _, c1, c2, c3 = (basis @ at_knots)[:, segment]
    slopes = (c1 + c2 * (t0 + t1) + c3 * (t0 * t0 + t0 * t1 + t1 * t1)) * (n_knots - 1)
    size = np.maximum(t1 - t0, np.finfo(float).tiny)  # a piece of no width gets the slope at its position
    return np.asarray(np.bincount(owner, size * slopes) / np.bincount(owner, size))


def _cubics(n_knots: int) -> Float64s:
    """Return coefficients (power, segment, knot) of the natural splines that are 1 at one knot and 0 at the others."""
    from scipy.interpolate import CubicSpline

    return np.asarray(CubicSpline(np.arange(n_knots), np.eye(n_knots), bc_type="natural").c[::-1])


# --- Binnings of the same points into quantiles, and how well each explains the outcomes ------------------------------


class Binnings(NamedTuple):
    """Binnings of points in order, one after the other.

    Attributes
    ----------
    last : ndarray of int
        Last point of each bin.
    starts : ndarray of int
        Where the bins of each binning start.
    n_bins : ndarray of int
        Number of bins of each binning.
    """

    last: Ints
    starts: Ints
    n_bins: Ints


def quantile_binnings(reached: Array, fewest: int, most: int) -> Binnings:
    """Return the distinct binnings into quantiles, for every number of bins from `fewest` to `most`.

    `reached` is the cumulative weight of points that are never split. Equal boundaries are merged and no bin is empty,
    so there may be fewer bins than requested.
    """
    end = len(reached) - 1
    found: dict[bytes, Ints] = {}
    for wanted in range(fewest, most + 1):
        last = np.append(quantile_positions(reached, wanted), end)
        last = last[np.append(last[1:] != last[:-1], True)]
        found.setdefault(last.tobytes(), last)
    n_bins = np.array([len(last) for last in found.values()])
    return Binnings(np.concatenate(list(found.values())), np.cumsum(n_bins) - n_bins, n_bins)


def binned_sums(reached: Array, binnings: Binnings) -> Float64s:
    """Return the sum in each bin, from the cumulative sum over points."""
    upper = reached[binnings.last]
    lower = np.append(0, upper[:-1])
    lower[binnings.starts] = 0
    return np.asarray(np.maximum(upper - lower, 0), np.float64)


def log_evidence(positive: Float64s, negative: Float64s, alpha: Float64s, beta: Float64s, starts: Ints) -> Float64s:
    """Return the log marginal likelihood of each binning, with a Beta(alpha, beta) prior in every bin."""
    from scipy.special import betaln

    return np.asarray(np.add.reduceat(betaln(positive + alpha, negative + beta) - betaln(alpha, beta), starts))


def mixed_steps(binnings: Binnings, values: Float64s, shares: Float64s) -> tuple[Ints, Float64s]:
    """Return the weighted mean of step functions, one per binning: where it steps, and its values between.

    Binnings of share 0 add no steps.
    """
    of_bins = np.repeat(shares, binnings.n_bins)
    jump = np.append(np.diff(values), 0) * of_bins
    inner = of_bins > 0
    inner[binnings.starts + binnings.n_bins - 1] = False
    last, index = np.unique(binnings.last[inner], return_inverse=True)
    steps = np.bincount(index, jump[inner], len(last))
    return last, np.cumsum(np.append(shares @ values[binnings.starts], steps))
