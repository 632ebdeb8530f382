"""Where curves without bins are read off, and what stands beside them."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from believable import kernels
from believable._types import Float64s
from believable.counting import Source
from believable.points import Points
from believable.predictions import Predictions
from believable.stats import Summary

N_PLACES = 101


def places_of(score: Float64s) -> Float64s:
    """101 places at equal distances from the smallest score to the largest; one, if they coincide."""
    low, high = score[0], score[-1]
    if low == high:
        return score[:1].copy()
    return np.asarray(np.append(low + (high - low) * np.arange(N_PLACES - 1) / (N_PLACES - 1), high))


def weight_near(points: Points, at: Float64s) -> Float64s:
    """The weight of the scores that are nearest to each place; halves go to the lower."""
    return np.bincount(kernels.nearest_place(points.score, at), points.w, len(at)).astype(np.float64)


def noise_of_rates(points: Points, at: Float64s, rate: Float64s) -> Float64s:
    """Variance of the rate at each score, if outcomes happen as often as the curve says: sum w^2 g (1 - g) / w^2."""
    g = np.interp(points.score, at, rate)
    return np.asarray(points.w2 * g * (1 - g) / points.w**2)


def interval(rate: Float64s, variance: Float64s, level: float) -> tuple[Float64s, Float64s]:
    """rate -+ z standard errors, within [0, 1]."""
    half = -NormalDist().inv_cdf((1 - level) / 2) * np.sqrt(variance)
    return np.clip(rate - half, 0, 1), np.clip(rate + half, 0, 1)


def notion_of(source: Source, notion: str | None) -> str:
    """What was looked at, for the settings of a curve."""
    return notion or (source.default_notion if isinstance(source, (Predictions, Summary)) else source.view.notion)
