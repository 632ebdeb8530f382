"""The natural cubic spline nearest to a broken line on [0, 1], exactly: no points are sampled on the way."""

from __future__ import annotations

import numpy as np

from believable._types import Float64s


def spline_slopes(width: Float64s, slope: Float64s, n_knots: int) -> Float64s:
    """Mean slopes of a spline, one over each piece of the broken line that it is fitted to.

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

    # by parts: the integral of t^m L is L(1) / (m + 1), less that of t^(m + 1) L' / (m + 1)
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
    size = np.maximum(t1 - t0, np.finfo(float).tiny)  # a piece too narrow to see has the slope at its place
    return np.asarray(np.bincount(owner, size * slopes) / np.bincount(owner, size))


def _cubics(n_knots: int) -> Float64s:
    """Coefficients (power, segment, knot) of the natural splines that are 1 at one knot and 0 at the others."""
    from scipy.interpolate import CubicSpline

    return np.asarray(CubicSpline(np.arange(n_knots), np.eye(n_knots), bc_type="natural").c[::-1])
