"""How sure a rate is: exact binomial chances and bounds, for fractions of rows too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from believable._types import Array, Float64s

MOST_ROWS = 10**9


def chance_of_as_many(hits: Any, n: Any, target: float) -> Float64s:
    """P(X >= hits) for X binomial with n and the target; fractions by the incomplete beta function."""
    from scipy.special import betainc

    hits = np.asarray(hits, np.float64)
    return np.where(hits > 0, betainc(np.maximum(hits, 1e-300), np.maximum(n - hits, 0) + 1, target), 1.0)


def lower_bound(rate: Array, n: Array, confidence: float) -> Float64s:
    """The one-sided Clopper–Pearson bound: the target at which as many hits have a chance of 1 - confidence."""
    from scipy.special import betaincinv

    hits = n * rate
    bound = betaincinv(np.maximum(hits, 1e-300), np.maximum(n - hits, 0) + 1, 1 - confidence)
    return np.where(hits > 0, bound, 0.0)


def rows_at_least(mistakes: int, target: float, confidence: float) -> int:
    """The fewest rows, with so many mistakes among them, whose bound reaches the target."""
    return _fewest(lambda n: n - mistakes, target, confidence, mistakes + 1)


def rows_needed(rate: float, target: float, confidence: float) -> int | None:
    """The fewest rows of this rate whose bound reaches the target; None unless the rate is clearly above it."""
    if rate <= target or chance_of_as_many(MOST_ROWS * rate, MOST_ROWS, target) > 1 - confidence:
        return None
    return _fewest(lambda n: n * rate, target, confidence, 1)


def _fewest(hits: Callable[[int], float], target: float, confidence: float, low: int) -> int:
    """By doubling, then halving: with more rows the chance falls."""
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
