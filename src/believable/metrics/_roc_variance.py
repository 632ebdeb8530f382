"""How the AUC varies: DeLong's variance of placements, Obuchowski's for clusters, and Newcombe's interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from believable import _kernels
from believable._types import Array, Float64s, Ints
from believable.stats.source import Points

FEW_OF_AN_OUTCOME = 20  # with fewer rows of an outcome, the interval is nowhere narrower than Newcombe's
NO_VARIANCE = 1e-12  # smaller variances, and distances of the AUC from 0 and 1, are due to rounding
HALVINGS = 60  # of the range in which an end is sought


@dataclass(frozen=True, slots=True, eq=False)
class RocVariance:
    """The AUC of one class, and what its interval depends on.

    A positive's placement is the share of negatives below it, a negative's the share of positives above it; ties count
    half. The mean of either is the AUC. In a pair, positives come first.

    Attributes
    ----------
    value : float
        The AUC.
    parts : tuple of float
        Variance due to the positives and to the negatives; infinite or NaN if there is only one of them.
    shared : float
        Twice the covariance of the two, within clusters.
    n : tuple of float
        Effective numbers of rows, (sum w)^2 / sum w^2, divided by the design effect of clusters.
    units : tuple of float
        Numbers of clusters with positives and with negatives, or the effective numbers of rows.
    n_units : float
        Number of clusters, or of rows.
    off : ndarray
        What each unit adds to the AUC's deviation; empty if the rows are not known.
    """

    value: float
    parts: tuple[float, float]
    shared: float
    n: tuple[float, float]
    units: tuple[float, float]
    n_units: float
    off: Float64s

    @classmethod
    def of_points(cls, points: Points) -> Self:
        """Return the AUC of independent rows."""
        weights = points.wy, np.maximum(points.w - points.wy, 0)
        squares = points.w2y, np.maximum(points.w2 - points.w2y, 0)
        value, *placed = _placements(*weights)
        n = _sizes(weights, squares)
        parts = _variances(
            [float(np.sum(w2 * (at - value) ** 2)) for w2, at in zip(squares, placed, strict=True)], weights, n
        )
        return cls(value, parts, 0.0, n, n, float(points.n.sum()), np.empty(0))

    @classmethod
    def of_rows(cls, scores: Array, share: Float64s, weight: Float64s, unit: Ints) -> Self:
        """Return the AUC of rows in units, which are clusters, or the rows themselves."""
        distinct, at = np.unique(scores, return_inverse=True)
        weights = weight * share, weight * (1 - share)
        value, *placed = _placements(*(np.bincount(at, w, len(distinct)).astype(np.float64) for w in weights))
        n = _sizes(weights, tuple(w * w for w in weights))
        by_row = [w * (place[at] - value) for w, place in zip(weights, placed, strict=True)]
        alone = _variances([float(each @ each) for each in by_row], weights, n)
        n_units = int(unit.max()) + 1
        by_unit = [np.bincount(unit, each, n_units) for each in by_row]
        off = by_unit[0] / weights[0].sum() + by_unit[1] / weights[1].sum()
        if n_units == len(unit):
            return cls(value, alone, 0.0, n, n, n_units, off)
        counts = [float(np.count_nonzero(np.bincount(unit, w, n_units))) for w in weights]
        units = counts[0], counts[1]
        parts = _variances([float(each @ each) for each in by_unit], weights, units)
        both = float(by_unit[0] @ by_unit[1]) / float(weights[0].sum() * weights[1].sum())
        shared = 2 * both * n_units / (n_units - 1)
        total = sum(parts) + shared
        effect = max(total / sum(alone), 1.0) if sum(alone) > 0 and math.isfinite(total) else 1.0
        return cls(value, parts, shared, (n[0] / effect, n[1] / effect), units, n_units, off)

    @property
    def variance(self) -> float:
        """Variance of the AUC; 0 if the data do not show it."""
        total = sum(self.parts) + self.shared
        return total if self.value * (1 - self.value) > NO_VARIANCE and NO_VARIANCE**2 < total < math.inf else 0.0

    def interval(self, level: float) -> tuple[float, float]:
        """Return the ends of the interval."""
        t = _kernels.t_quantile(level, max(self.n_units - 1, 1))
        variance = self.variance
        if variance == 0:  # then all rows of a cluster count as one
            n = [min(sizes) for sizes in zip(self.n, self.units, strict=True)]
            return newcombe(round(self.value, 12), n[0], n[1], t)
        ends = newcombe(self.value, *self.n, t)
        df = sum(self.parts) ** 2 / sum(part**2 / (n - 1) for part, n in zip(self.parts, self.units, strict=True))
        df = max(min(df, self.n_units - 1), 1.0)
        centre = _logit(self.value)
        reach = _kernels.t_quantile(level, df) * math.sqrt(variance) / (self.value * (1 - self.value))
        share = min(FEW_OF_AN_OUTCOME / min(self.units), 1.0)
        low, high = (
            centre + side * max(reach, (1 - share) * reach + share * abs(_logit(end) - centre))
            for side, end in zip((-1, 1), ends, strict=True)
        )
        return _sigmoid(low), _sigmoid(high)


def mean_interval(classes: Sequence[RocVariance], level: float) -> tuple[float, float]:
    """Return the interval of the mean over classes of the same rows.

    The distances from each AUC to the ends of its interval are combined like standard errors (Zou and Donner 2008), and
    multiplied by what the classes' dependence does to the standard error of the mean.
    """
    value = float(np.mean([one.value for one in classes]))
    together, apart = sum(one.off for one in classes), sum(float(one.off @ one.off) for one in classes)
    ratio = float(together @ together) / apart if apart > 0 and len(classes) > 1 else 1.0  # type: ignore[operator]
    ends = [one.interval(level) for one in classes]
    below, above = (
        math.sqrt(ratio * sum((one.value - end) ** 2 for one, end in zip(classes, side, strict=True))) / len(classes)
        for side in zip(*ends, strict=True)
    )
    return max(value - below, 0.0), min(value + above, 1.0)


def newcombe(value: float, n: float, m: float, z: float) -> tuple[float, float]:
    """Return Newcombe's interval of an AUC (2006, method 5): all AUCs within z of their own standard errors.

    The standard errors are those of exponentially distributed scores (Hanley and McNeil 1982), with the mean of the two
    numbers of rows in place of either.
    """
    others = max((n + m) / 2 - 1, 0.0)

    def is_rejected(auc: float) -> bool:
        spread = 1 + others * (1 - auc) / (2 - auc) + others * auc / (1 + auc)
        return (auc - value) ** 2 > z * z * auc * (1 - auc) * spread / (n * m)

    ends = []
    for outside in (0.0, 1.0):
        inside = value
        for _ in range(HALVINGS if value != outside else 0):
            middle = (inside + outside) / 2
            inside, outside = (inside, middle) if is_rejected(middle) else (middle, outside)
        ends.append(outside)
    return ends[0], ends[1]


def _placements(positive: Float64s, negative: Float64s) -> tuple[float, Float64s, Float64s]:
    """Return the AUC, and the placements of positives and of negatives at each score in ascending order."""
    all_positive, all_negative = float(positive.sum()), float(negative.sum())
    above = (np.cumsum(negative) - negative / 2) / all_negative
    below = (all_positive - np.cumsum(positive) + positive / 2) / all_positive
    return float(positive @ above) / all_positive, above, below


def _sizes(weights: Sequence[Array], squares: Sequence[Array]) -> tuple[float, float]:
    """Return the effective numbers of positives and negatives."""
    positive, negative = (float(w.sum()) ** 2 / float(w2.sum()) for w, w2 in zip(weights, squares, strict=True))
    return positive, negative


def _variances(squares: Sequence[float], weights: Sequence[Array], n: tuple[float, float]) -> tuple[float, float]:
    """Return the variances due to positives and to negatives from sums of squared deviations, unbiased for n units."""
    positive, negative = (
        square / float(w.sum()) ** 2 * (size / (size - 1) if size > 1 else math.inf)
        for square, w, size in zip(squares, weights, n, strict=True)
    )
    return positive, negative


def _logit(p: float) -> float:
    return -math.inf if p <= 0 else math.inf if p >= 1 else math.log(p) - math.log1p(-p)


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0
