"""What every cut keeps: rows from the highest score down, and what they are worth for a test of their precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from believable._types import Array, Float64s, Int64s, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """The rows with a score of at least each distinct score, highest first.

    Attributes
    ----------
    cut : ndarray
        The distinct scores.
    n : ndarray
        Rows kept.
    w, wy : ndarray
        Their weight, and that of those that happened.
    independent : ndarray
        How many independent observations they are at least, whatever happened: (sum W)^2 / sum W^2 over clusters of
        weight W.
    effective : ndarray
        As how many they count, see `effective_rows`.
    """

    cut: Float64s
    n: Int64s
    w: Float64s
    wy: Float64s
    independent: Float64s
    effective: Float64s

    @property
    def rate(self) -> Float64s:
        """The precision of what is kept."""
        return np.clip(self.wy / self.w, 0, 1)

    @classmethod
    def of(cls, score: Array, outcome: Array, weight: Array | None, cluster: Ints | None) -> Kept:
        """Sort once, add up."""
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
        total, happened = np.cumsum(w)[last], np.cumsum(w * y)[last]
        squares, products, hits = (part[last] for part in _sums_of_clusters(w, w * y, unit))
        effective = effective_rows(total, happened, squares, products, hits, np.cumsum(w * w)[last])
        return cls(ordered[last].astype(np.float64), n, total, happened, total**2 / squares, effective)


def _sums_of_clusters(w: Float64s, wy: Float64s, unit: Ints) -> tuple[Float64s, Float64s, Float64s]:
    """Sums over clusters of W^2, W S and S^2, after each row; W and S are a cluster's weight and hits so far."""
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


def effective_rows(
    w: Float64s, wy: Float64s, squares: Float64s, products: Float64s, hits: Float64s, row_squares: Float64s
) -> Float64s:
    """As how many independent rows of equal weight the kept rows tell their precision.

    That is p (1 - p) / V, with V the variance of p between clusters (rows, where there are none). Clusters without a
    mistake would show no variance at all, so one cluster of typical size is added that is wrong throughout, and taken
    off again as one row: then n equal rows count as n, and G equal clusters without a mistake as G. Never more than
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
