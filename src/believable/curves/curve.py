"""`Curve`, which every way of estimating a calibration curve returns, and what those ways share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from believable import _kernels
from believable._kernels.probabilities import SMALLEST_PROBABILITY
from believable._types import Array, Float64s
from believable.errors import ClippedWarning
from believable.stats.cells import warn_caller
from believable.stats.source import Points, Source


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """The estimated event rate at some scores.

    Attributes
    ----------
    x, y : ndarray
        Scores in ascending order and the event rate estimated there.
    weight : ndarray
        The weight of the data behind each point.
    low, high : ndarray or None
        Pointwise interval, where there is one.
    method : str
        How it was estimated.
    settings : dict
        The choices it was estimated with.
    """

    x: Float64s
    y: Float64s
    weight: Float64s
    low: Float64s | None
    high: Float64s | None
    method: str
    settings: dict[str, Any] = field(default_factory=dict)


# --- where curves without bins are read off, and what stands beside them ----------------------------------------------


N_PLACES = 101


def places_of(score: Float64s) -> Float64s:
    """101 places at equal distances from the smallest score to the largest; one, if they coincide."""
    low, high = score[0], score[-1]
    if low == high:
        return score[:1].copy()
    return np.asarray(np.append(low + (high - low) * np.arange(N_PLACES - 1) / (N_PLACES - 1), high))


def weight_near(points: Points, at: Float64s) -> Float64s:
    """The weight of the scores that are nearest to each place; halves go to the lower."""
    return np.bincount(_kernels.nearest_place(points.score, at), points.w, len(at)).astype(np.float64)


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
    return notion or source.default_notion


# --- points on the scale of logits, and what to say where a score has none --------------------------------------------


TOO_FLAT = "weights or scores differ by too many orders of magnitude; drop the rows that weigh next to nothing"


def by_logit(points: Points) -> tuple[Float64s, Points, int]:
    """The distinct logits in ascending order, the points gathered there, and how many rows were moved to have one.

    Scores of 0 and 1, or nearly, are moved inwards, which is said in one warning. The scores of points that meet are
    forgotten: the first stands for all.
    """
    moved = (points.score < SMALLEST_PROBABILITY) | (points.score > 1 - SMALLEST_PROBABILITY)
    n_moved = int(points.n[..., moved].sum())
    if n_moved:
        warn_caller(
            f"{n_moved} of {int(points.n.sum())} scores were moved to {SMALLEST_PROBABILITY:g} from 0 or 1, "
            "where logits are infinite: what follows depends on that choice",
            ClippedWarning,
        )
    logits = np.maximum.accumulate(_kernels.clipped_logit(points.score))  # logarithms round, their order must not
    starts = np.flatnonzero(np.concatenate([[True], logits[1:] != logits[:-1]]))
    if len(starts) == len(logits):
        return logits, points, n_moved

    def together(values: Array) -> Array:
        return np.add.reduceat(values, starts, axis=-1)

    met = {name: together(getattr(points, name)) for name in ("n", "w", "wy", "w2", "w2y")}
    return logits[starts], replace(points, score=points.score[starts], **met), n_moved
