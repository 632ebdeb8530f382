"""Linear smoothers: estimates at some positions are weighted sums of the rates at the scores.

A smoother is a stream of blocks (positions, scores, weights): slices of both, and a matrix whose rows sum to 1. Scores
ascend, so the window of a position is a slice, and no matrix of all positions by all scores is ever held.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np

from believable._kernels.bins import running_sum
from believable._types import Array, Float64s, Ints

Block: TypeAlias = tuple[slice, slice, Float64s]

WEIGHTS_AT_ONCE = 1 << 15  # bounds memory
TIED_DISTANCE = 1e-6  # distances of a smaller relative difference are equal, so that ties survive float32


def smoothed(blocks: Iterable[Block], rate: Float64s, n: int) -> Float64s:
    """Return the estimates at n positions; rates may hold replicates along leading axes."""
    found = np.empty((*rate.shape[:-1], n))
    for places, scores, weights in blocks:
        found[..., places] = rate[..., scores] @ weights.T
    return found


def smoothed_variance(blocks: Iterable[Block], variance: Float64s, n: int) -> Float64s:
    """Return the variances of the estimates, from those of the rates."""
    found = np.empty(n)
    for places, scores, weights in blocks:
        found[places] = weights**2 @ variance[scores]
    return found


def windows(first: Ints, last: Ints) -> Iterator[tuple[slice, slice]]:
    """Yield slices of positions and of the scores in their windows: first[i] to last[i] - 1 for position i."""
    start = 0
    while start < len(first):
        stop = start + max(1, WEIGHTS_AT_ONCE // max(1, int(last[start] - first[start])))
        while True:
            low, high = int(first[start:stop].min()), int(last[start:stop].max())
            if stop == start + 1 or (min(stop, len(first)) - start) * (high - low) <= 2 * WEIGHTS_AT_ONCE:
                break
            stop = start + max(1, (stop - start) // 2)
        yield slice(start, min(stop, len(first))), slice(low, high)
        start = stop


def nearest_distance(score: Float64s, at: Float64s) -> Float64s:
    """Return the distance to the nearest score."""
    above = np.searchsorted(score, at).clip(0, len(score) - 1)
    below = np.maximum(above - 1, 0)
    return np.asarray(np.minimum(np.abs(score[above] - at), np.abs(score[below] - at)))


def nearest_place(score: Float64s, at: Float64s) -> Ints:
    """Return the evenly spaced position, from the first score to the last, nearest to each score; ties go down."""
    if len(at) == 1:
        return np.zeros(len(score), np.intp)
    steps = (score - at[0]) / (at[-1] - at[0]) * (len(at) - 1)
    return np.asarray(np.ceil(steps - 0.5 - TIED_DISTANCE), np.intp)


def cell_starts(score: Float64s, w: Float64s, most: int) -> Ints:
    """Return where to cut ascending scores into at most `most` short cells, shorter where scores are dense.

    Half of the cuts are equally spaced, half are at equal weights.
    """
    width = np.floor((score - score[0]) / (score[-1] - score[0]) * (most // 2 - 1))
    share = np.cumsum(w)
    share = np.floor(share / share[-1] * (most // 2 - 1))
    return np.flatnonzero(np.concatenate([[True], (np.diff(width) != 0) | (np.diff(share) != 0)]))


# --- Local polynomial regression, with tricube weights and nearest neighbours by weight -------------------------------


DISTINCT_SCORES = 1e-4  # scores closer than this share of the half-width count as one when the degree is chosen


def neighbour_distance(score: Float64s, w: Float64s, at: Float64s, span: float) -> Float64s:
    """Return the distance within which the weight of the scores first reaches span * W (minus 1e-9 W).

    A window that starts at score a ends where its weight suffices; the further left a is, the closer that end. The best
    a has both ends at about the same distance, and is found for all positions at once.
    """
    reached = np.concatenate([[0], running_sum(w)])
    target = max(span - 1e-9, 1e-12) * reached[-1]
    ends = np.append(score, np.inf)

    def right_of(a: Array) -> Float64s:
        end = np.searchsorted(reached, reached[a] + target, side="left") - 1
        return np.asarray(ends[np.maximum(end, a)] - at)

    low, high = np.zeros(len(at), np.intp), np.full(len(at), len(score) - 1)
    while np.any(low < high):
        middle = (low + high) // 2
        enough = right_of(middle) >= at - score[middle]
        high, low = np.where(enough, middle, high), np.where(enough, low, np.minimum(middle + 1, high))
    before = np.maximum(low - 1, 0)
    return np.minimum(np.maximum(at - score[low], right_of(low)), np.maximum(at - score[before], right_of(before)))


def local_polynomial(
    score: Float64s, w: Float64s, at: Float64s, *, span: float, bandwidth: float | None, degree: int
) -> Iterator[Block]:
    """Return the smoother of a local polynomial: weights (1 - |u|^3)^3 w, u the distance in units of the half-width h.

    h is the distance to the last of the nearest neighbours that hold `span` of the weight, or a fixed bandwidth. If no
    score is within h, the nearest get all the weight. If those within are too few for the degree, or too close to each
    other (within 1e-4 h) to determine a slope or a curvature, the degree is lowered.
    """
    near = nearest_distance(score, at)
    h = neighbour_distance(score, w, at, span) if bandwidth is None else np.full(len(at), float(bandwidth))
    alone = near >= h * (1 - TIED_DISTANCE)
    reach = np.where(alone, near * (1 + TIED_DISTANCE), h * (1 - TIED_DISTANCE))
    first, last = np.searchsorted(score, at - reach, "left"), np.searchsorted(score, at + reach, "right")
    for places, scores in windows(first, last):
        by_nearest = alone[places, None]
        distance = score[scores] - at[places, None]
        inside = np.abs(distance) <= reach[places, None]
        u = np.where(inside, distance, 0.0)
        u /= np.where(by_nearest, 1.0, h[places, None])
        k = np.where(inside, w[scores], 0.0)
        k /= k.max(axis=1, keepdims=True)
        k *= np.where(by_nearest, 1.0, _cube(1 - _cube(np.abs(u))))
        k /= k.sum(axis=1, keepdims=True)
        lowered = np.where(alone[places], 0, np.minimum(_determined(u, inside), degree))
        yield places, scores, _polynomial_weights(u, k, lowered)


def _cube(x: Float64s) -> Float64s:
    """Return x^3, without a power, which would use logarithms."""
    return x * x * x


def _determined(u: Float64s, inside: Array) -> Array:
    """Return the largest degree that the scores determine: 0, 1 or 2."""
    low = np.where(inside, u, np.inf).min(axis=1)[:, None] + DISTINCT_SCORES
    high = np.where(inside, u, -np.inf).max(axis=1)[:, None] - DISTINCT_SCORES
    between = (inside & (u > low) & (u < high)).any(axis=1)
    return np.where(between, 2, (high[:, 0] > low[:, 0] - DISTINCT_SCORES).astype(np.intp))


def _polynomial_weights(u: Float64s, k: Float64s, degree: Array) -> Float64s:
    """Return the weights of the rates in the fitted value at u = 0, from polynomials orthogonal under the weights k.

    Each is orthogonalised twice, which keeps all digits however uneven the weights are.
    """
    weights = k.copy()
    one = (np.ones((1, 1)), k, np.ones(len(u)))  # values at the scores, those times k, and the value at u = 0
    lower: list[tuple[Float64s, Float64s, Float64s]] = [one]
    power, power_here = u.copy(), np.zeros(len(u))
    for d in range(1, int(degree.max(initial=0)) + 1):
        for values, weighted, here in lower * 2:
            share = np.einsum("ij,ij->i", power, weighted)
            power -= share[:, None] * values
            power_here -= share * here
        weighted = k * power
        size = np.sqrt(np.einsum("ij,ij->i", power, weighted))
        fits = (degree >= d) & (size > 0)
        size = np.where(fits, size, 1)
        power /= size[:, None]
        weighted /= size[:, None]
        here = np.where(fits, power_here / size, 0)
        weights += weighted * here[:, None]
        lower.append((power, weighted, here))
        power, power_here = power * lower[1][0], here * lower[1][2]
    return weights


# --- Local means under a Gaussian that is reflected at 0 and 1 --------------------------------------------------------


WIDEST_BANDWIDTH = 3.0  # for larger bandwidths, the kernel is flat to 1e-19
NARROWEST_BANDWIDTH = 1e-6  # for smaller bandwidths, the nearest score has all the weight
CUT_BANDWIDTHS = 9.0  # scores this many bandwidths beyond the nearest have less than 3e-18 of its weight


def reflected_gaussian(score: Float64s, w: Float64s, at: Float64s, s: float) -> Iterator[Block]:
    """Return the smoother of a local mean, with weights K_s(t, p) w; K_s sums over all mirror images of p in 0 and 1.

    Weights are relative to that of the nearest score, so that a position far from all scores gets the rate of the
    nearest, which is the limit. Images are never closer than the score itself.
    """
    s = min(s, WIDEST_BANDWIDTH)
    near = nearest_distance(score, at)
    reach = near * (1 + TIED_DISTANCE) if s < NARROWEST_BANDWIDTH else near + CUT_BANDWIDTHS * s
    first, last = np.searchsorted(score, at - reach, "left"), np.searchsorted(score, at + reach, "right")
    for places, scores in windows(first, last):
        t, p = at[places, None], score[scores]
        if s < NARROWEST_BANDWIDTH:
            k = (np.abs(p - t) <= reach[places, None]).astype(np.float64)
        else:
            k = _images(t, p, near[places, None], s)
        k *= w[scores] / w[scores].max()
        yield places, scores, k / k.sum(axis=1, keepdims=True)


def _images(t: Float64s, p: Float64s, near: Float64s, s: float) -> Float64s:
    total = np.zeros(np.broadcast_shapes(t.shape, p.shape))
    cut = CUT_BANDWIDTHS * s + near.max()
    most = int(cut / 2) + 1
    for turn in range(-most, most + 1):
        for image in (p + 2 * turn, 2 * turn - p):
            if image.min() - t.max() <= cut and t.min() - image.max() <= cut:
                total += np.exp((near**2 - (image - t) ** 2) / (2 * s * s))
    return total
