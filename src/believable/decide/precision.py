"""Confidence in a precision: exact binomial probabilities and bounds, and the rows kept at every threshold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from believable._types import Array, Float64s, Int64s, Ints

MAX_ROWS_NEEDED = 10**9


def chance_of_as_many(hits: Any, n: Any, target: float) -> Float64s:
    """Return P(X >= hits) for X binomial with n and the target; non-integers by the incomplete beta function."""
    from scipy.special import betainc

    hits = np.asarray(hits, np.float64)
    return np.where(hits > 0, betainc(np.maximum(hits, 1e-300), np.maximum(n - hits, 0) + 1, target), 1.0)


def lower_bound(rate: Array, n: Array, confidence: float) -> Float64s:
    """Return the one-sided Clopper–Pearson bound: the rate at which this many hits have probability 1 - confidence."""
    from scipy.special import betaincinv

    hits = n * rate
    bound = betaincinv(np.maximum(hits, 1e-300), np.maximum(n - hits, 0) + 1, 1 - confidence)
    return np.where(hits > 0, bound, 0.0)


def rows_at_least(mistakes: int, target: float, confidence: float) -> int:
    """Return the smallest number of rows with this many mistakes whose bound reaches the target."""
    return _fewest(lambda n: n - mistakes, target, confidence, mistakes + 1)


def rows_needed_for_precision(rate: float, target: float, confidence: float) -> int | None:
    """Return the fewest rows at this rate whose bound reaches the target; None unless the rate is clearly above it."""
    if rate <= target or chance_of_as_many(MAX_ROWS_NEEDED * rate, MAX_ROWS_NEEDED, target) > 1 - confidence:
        return None
    return _fewest(lambda n: n * rate, target, confidence, 1)


def _fewest(hits: Callable[[int], float], target: float, confidence: float, low: int) -> int:
    """Search by doubling, then halving: with more rows the probability falls."""
    high = low
    while chance_of_as_many(hits(high), high, target) > 1 - confidence:
        low, high = high + 1, 2 * high
    while low < high:
        middle = (low + high) // 2
        if chance_of_as_many(hits(middle), middle, target) <= 1 - confidence:
            high = middle
        else:
            low = middle + 1
    return low


# --- the rows kept at every threshold, from the highest score down, and their effective number -----------------------


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """The rows with a score of at least each distinct score, highest first.

    Attributes
    ----------
    cut : ndarray
        The distinct scores.
    n : ndarray
        The number of rows kept.
    w, wy : ndarray
        Their weight, and the weight of the positives among them.
    independent : ndarray
        The least number of independent observations they amount to: (sum W)^2 / sum W^2 over clusters of weight W.
    effective : ndarray
        The effective number of rows; see `effective_rows_kept`.
    """

    cut: Float64s
    n: Int64s
    w: Float64s
    wy: Float64s
    independent: Float64s
    effective: Float64s

    @property
    def rate(self) -> Float64s:
        """The precision of the kept rows."""
        return np.clip(self.wy / self.w, 0, 1)

    @classmethod
    def of(cls, score: Array, outcome: Array, weight: Array | None, cluster: Ints | None) -> Kept:
        """Sort the rows by score and accumulate."""
        order = np.argsort(-score, kind="stable")
        ordered = score[order]
        last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))  # equal scores are kept together
        y = outcome[order].astype(np.float64)
        n = last + 1
        if weight is None and cluster is None:
            size = n.astype(np.float64)
            return cls(ordered[last].astype(np.float64), n, size, np.cumsum(y)[last], size, size)
        w = np.ones(len(y)) if weight is None else weight[order].astype(np.float64)
        unit = np.arange(len(y)) if cluster is None else cluster[order]
        total, events = np.cumsum(w)[last], np.cumsum(w * y)[last]
        squares, products, hits = (part[last] for part in _sums_of_clusters(w, w * y, unit))
        effective = effective_rows_kept(total, events, squares, products, hits, np.cumsum(w * w)[last])
        return cls(ordered[last].astype(np.float64), n, total, events, total**2 / squares, effective)


def _sums_of_clusters(w: Float64s, wy: Float64s, unit: Ints) -> tuple[Float64s, Float64s, Float64s]:
    """Return sums over clusters of W^2, W S and S^2 after each row, with W, S a cluster's weight and hits so far."""
    together = np.argsort(unit, kind="stable")
    first = np.flatnonzero(np.append(True, np.diff(unit[together]) > 0))
    sizes = np.diff(np.append(first, len(unit)))
    before = []
    for values in (w, wy):
        reached = np.cumsum(values[together]) - values[together]
        inside = np.empty(len(values))
        inside[together] = np.maximum(reached - np.repeat(reached[first], sizes), 0)
        before.append(inside)
    weight, hits = before
    return (
        np.cumsum(w * (2 * weight + w)),
        np.cumsum(w * hits + wy * weight + w * wy),
        np.cumsum(wy * (2 * hits + wy)),
    )


def effective_rows_kept(
    w: Float64s, wy: Float64s, squares: Float64s, products: Float64s, hits: Float64s, row_squares: Float64s
) -> Float64s:
    """Return the number of independent rows of equal weight that would give the precision as accurately.

    This is p (1 - p) / V, with V the variance of p between clusters (or rows, without clusters). Clusters without a
    mistake would show no variance, so one cluster of typical size that is wrong throughout is added, and one row is
    subtracted again: then n equal rows count as n, and G equal clusters without a mistake as G. It is at most
    (sum w)^2 / sum w^2 over rows.
    """
    added = squares / w
    total = w + added
    p = wy / total
    spread = hits - 2 * p * products + p * p * squares + (p * added) ** 2
    rows = w**2 / row_squares
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = p * (1 - p) * total**2 / spread - 1
    return np.where(wy > 0, np.clip(effective, 0, rows), rows)
