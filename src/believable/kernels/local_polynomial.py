"""Local polynomial regression on one score, with tricube weights and nearest neighbours by weight."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from believable._types import Array, Float64s
from believable.kernels.reference import running_sum
from believable.kernels.smoothing import TIE, Block, nearest_distance, windows

DISTINCT = 1e-4  # scores closer than this share of the half-width are one, where the degree is chosen


def neighbour_distance(score: Float64s, w: Float64s, at: Float64s, span: float) -> Float64s:
    """The distance within which the weight of the scores first reaches span * W (less 1e-9 W).

    A window from score a on ends where its weight is enough; the further left a is, the nearer that end. The best a is
    where the two ends are about equally far, and is found for all places at once.
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
    """The smoother of a local polynomial: weights (1 - |u|^3)^3 w, u the distance in units of the half-width h.

    h is the distance to the last of the nearest neighbours that hold `span` of the weight, or a fixed bandwidth. Where
    no score is within h, the nearest have all the weight; where those within are too few for the degree, or too close
    to each other (to 1e-4 h) to tell a slope or a bend, it is lowered.
    """
    near = nearest_distance(score, at)
    h = neighbour_distance(score, w, at, span) if bandwidth is None else np.full(len(at), float(bandwidth))
    alone = near >= h * (1 - TIE)
    reach = np.where(alone, near * (1 + TIE), h * (1 - TIE))
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
    """x^3; a power would go by logarithms."""
    return x * x * x


def _determined(u: Float64s, inside: Array) -> Array:
    """The degree that the places of the scores can tell: 0, 1, or 2."""
    low = np.where(inside, u, np.inf).min(axis=1)[:, None] + DISTINCT
    high = np.where(inside, u, -np.inf).max(axis=1)[:, None] - DISTINCT
    between = (inside & (u > low) & (u < high)).any(axis=1)
    return np.where(between, 2, (high[:, 0] > low[:, 0] - DISTINCT).astype(int))


def _polynomial_weights(u: Float64s, k: Float64s, degree: Array) -> Float64s:
    """Weights of the rates in the fitted value at u = 0, by polynomials made orthogonal under the weights k.

    Each is made orthogonal twice, which is enough to keep all digits, however uneven the weights are.
    """
    weights = k.copy()
    one = (np.ones((1, 1)), k, np.ones(len(u)))  # values at the scores, those times k, and the value at the place
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
