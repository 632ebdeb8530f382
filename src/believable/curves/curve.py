"""`Curve`, the result of every calibration curve, and what the curves share."""

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
    """A calibration curve: the estimated event rate at some scores.

    Attributes
    ----------
    x, y : ndarray
        Scores in ascending order, and the estimated event rate at each.
    weight : ndarray
        Weight of the data behind each point.
    low, high : ndarray or None
        Pointwise interval, if there is one.
    method : str
        How the curve was estimated.
    settings : dict
        Settings of the method.
    """

    x: Float64s
    y: Float64s
    weight: Float64s
    low: Float64s | None
    high: Float64s | None
    method: str
    settings: dict[str, Any] = field(default_factory=dict)


# --- the positions at which curves without bins are evaluated, with weights and intervals -----------------------------


N_PLACES = 101


def places_of(score: Float64s) -> Float64s:
    """Return 101 equally spaced positions from the smallest score to the largest; one, if they coincide."""
    low, high = score[0], score[-1]
    if low == high:
        return score[:1].copy()
    return np.asarray(np.append(low + (high - low) * np.arange(N_PLACES - 1, dtype=np.float64) / (N_PLACES - 1), high))


def weight_near(points: Points, at: Float64s) -> Float64s:
    """Return the weight of the scores nearest to each position; ties go to the lower position."""
    return np.bincount(_kernels.nearest_place(points.score, at), points.w, len(at)).astype(np.float64)


def noise_of_rates(points: Points, at: Float64s, rate: Float64s) -> Float64s:
    """Return the variance of the rate at each score if the curve g is right: sum w^2 g (1 - g) / w^2."""
    g = np.interp(points.score, at, rate)
    return np.asarray(points.w2 * g * (1 - g) / points.w**2)


def interval(rate: Float64s, variance: Float64s, level: float) -> tuple[Float64s, Float64s]:
    """Return rate -+ z standard errors, within [0, 1]."""
    half = -NormalDist().inv_cdf((1 - level) / 2) * np.sqrt(variance)
    return np.clip(rate - half, 0, 1), np.clip(rate + half, 0, 1)


def notion_of(source: Source, notion: str | None) -> str:
    """Return the notion used, for the settings of a curve."""
    return notion or source.default_notion


# --- points on the logit scale, and the warning about scores of 0 and 1 -----------------------------------------------


TOO_FLAT = "weights or scores differ by too many orders of magnitude; drop the rows of almost no weight"


@dataclass(frozen=True, slots=True, eq=False)
class LogitPoints:
    """Points at distinct scores in ascending order, on the logit scale.

    Attributes
    ----------
    x : ndarray
        Logits, minus that of `middle`: accurate also where scores are almost equal and their logits, rounded, are not.
    middle : float
        One of the scores.
    points : Points
        The points, merged where x is equal; they keep the first of their scores.
    n_clipped : int
        How many rows were clipped.
    """

    x: Float64s
    middle: float
    points: Points
    n_clipped: int

    @property
    def origin(self) -> float:
        """The logit where x is 0."""
        return float(_kernels.clipped_logit(np.array([self.middle]))[0])

    @property
    def logits(self) -> Float64s:
        """The logits of the scores."""
        return self.origin + self.x

    def at(self, scores: Float64s) -> Float64s:
        """Return x of any scores."""
        return _beyond(scores, self.middle)


def by_logit(points: Points) -> LogitPoints:
    """Return points on the logit scale; one warning says how many rows were clipped.

    Scores of 0 and 1, or nearly, are clipped.
    """
    moved = (points.score < SMALLEST_PROBABILITY) | (points.score > 1 - SMALLEST_PROBABILITY)
    n_moved = int(points.n[..., moved].sum())
    if n_moved:
        warn_caller(
            f"{n_moved} of {int(points.n.sum())} scores were clipped to [{SMALLEST_PROBABILITY:g}, 1 - "
            f"{SMALLEST_PROBABILITY:g}], because the logits of 0 and 1 are infinite: the result depends on that choice",
            ClippedWarning,
        )
    middle = float(points.score[len(points.score) // 2])
    x = np.maximum.accumulate(_beyond(points.score, middle))  # rounding must not change the order
    starts = np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]]))
    if len(starts) == len(x):
        return LogitPoints(x, middle, points, n_moved)

    def together(values: Array) -> Array:
        return np.add.reduceat(values, starts, axis=-1)

    met = {name: together(getattr(points, name)) for name in ("n", "w", "wy", "w2", "w2y")}
    return LogitPoints(x[starts], middle, replace(points, score=points.score[starts], **met), n_moved)


def _beyond(scores: Float64s, middle: float) -> Float64s:
    """Return logit p - logit q for a score q. Near q, p - q is exact, and the difference of two logits is not."""
    found: Float64s = _kernels.clipped_logit(scores) - _kernels.clipped_logit(np.array([middle]))
    if SMALLEST_PROBABILITY < middle < 1 - SMALLEST_PROBABILITY:
        away = scores - middle
        near = np.abs(away) < min(middle, 1 - middle) / 2
        near &= (scores > SMALLEST_PROBABILITY) & (scores < 1 - SMALLEST_PROBABILITY)
        found[near] = np.log1p(away[near] / middle) - np.log1p(-away[near] / (1 - middle))
    return found
