"""The cost of a cascade: prices, the errors of both models, and the cost at every threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from believable import _kernels
from believable._types import Array, Float64s, Floats

EQUAL_COST_TOLERANCE = 1e-12  # costs that differ by less, relatively, are equal


class Prices(NamedTuple):
    """The cost of running the fast model, of running the slow one, and of an error."""

    fast: float
    slow: float
    error: float


@dataclass(frozen=True, slots=True, eq=False)
class CostCurve:
    """The mean cost per row at every threshold, from routing no rows to routing all.

    Attributes
    ----------
    cut : ndarray
        Rows with a confidence of at most this are routed; the first routes none: 0, or -1 if a confidence is 0.
    routed : ndarray
        Share of the weight that is routed.
    cost : ndarray
        Mean cost per row, with the observed errors.
    promised : ndarray
        Mean cost per row if the scores of the fast model were calibrated: it is wrong with probability 1 - confidence.
    error : ndarray
        Error rate.
    """

    cut: Float64s
    routed: Float64s
    cost: Float64s
    promised: Float64s
    error: Float64s

    @property
    def cheapest(self) -> int:
        """The index of the lowest cost; in ties, the one that routes fewest rows."""
        return int(np.argmax(self.cost <= self.cost.min() + EQUAL_COST_TOLERANCE * np.abs(self.cost).max()))


@dataclass(frozen=True, slots=True, eq=False)
class CascadeRows:
    """The confidence of the fast model in each row, and whether each model is wrong."""

    sure: Floats
    fast_wrong: Float64s
    slow_wrong: Float64s
    weight: Float64s | None

    def take(self, rows: Array) -> CascadeRows:
        weight = None if self.weight is None else self.weight[rows]
        return CascadeRows(self.sure[rows], self.fast_wrong[rows], self.slow_wrong[rows], weight)

    def mean(self, values: Float64s, rows: Array | slice = slice(None)) -> float:
        return float(np.average(values[rows], weights=None if self.weight is None else self.weight[rows]))

    def fast_only(self, prices: Prices) -> Float64s:
        """Return the cost of each row if the fast model answers."""
        return prices.fast + prices.error * self.fast_wrong

    def slow_only(self, prices: Prices) -> Float64s:
        """Return the cost of each row if the slow model answers and the fast one is not run."""
        return prices.slow + prices.error * self.slow_wrong

    def cheaper(self, prices: Prices) -> Literal["fast", "slow"]:
        return "fast" if self.mean(self.fast_only(prices)) <= self.mean(self.slow_only(prices)) else "slow"

    def cascaded(self, prices: Prices, cut: float) -> Float64s:
        """Return the cost of each row with a threshold."""
        return np.where(self.sure <= cut, prices.fast + self.slow_only(prices), self.fast_only(prices))

    def curve(self, prices: Prices) -> CostCurve:
        fast = _kernels.by_score(self.sure, self.fast_wrong, self.weight)
        slow = _kernels.by_score(self.sure, self.slow_wrong, self.weight)
        total, routed, wrong_routed = fast.w.sum(), _before(fast.w), _before(slow.wy)
        wrong = wrong_routed + _after(fast.wy)
        promised = wrong_routed + _after(fast.w * (1 - fast.score))
        asked = prices.fast + prices.slow * routed / total
        return CostCurve(
            cut=np.concatenate([[0.0 if fast.score[0] > 0 else -1.0], fast.score]),
            routed=routed / total,
            cost=asked + prices.error * wrong / total,
            promised=asked + prices.error * promised / total,
            error=wrong / total,
        )


def _before(values: Float64s) -> Float64s:
    """Return the sums of the first 0, 1, 2, … values."""
    return np.concatenate([[0.0], np.cumsum(values)])


def _after(values: Float64s) -> Float64s:
    """Return the sums of all values after the first 0, 1, 2, …."""
    return np.concatenate([np.cumsum(values[::-1])[::-1], [0.0]])
