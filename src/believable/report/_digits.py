"""How many digits a number deserves."""

from __future__ import annotations

import math


def decimals(least: int, *shares: float) -> int:
    """Digits after the point: two that count of the smallest share, and of what the largest lacks of 1; at most 8."""
    seen = [one for share in shares for one in (share, 1 - share) if one > 1e-8]
    return min(max([least, *(1 - math.floor(math.log10(one)) for one in seen)]), 8)


def digits_apart(low: float, high: float) -> int:
    """Digits after the point, with which the ends of an interval differ: four, or more where very many rows make it
    narrow; at most 10."""
    width = abs(high - low)
    return min(max(4, -math.floor(math.log10(width))), 10) if 0 < width < math.inf else 4


def rounded_up(number: float) -> int:
    """To two digits that count: a number of rows that is asked for is never less than those there are."""
    step: int = 10 ** max(math.floor(math.log10(number)) - 1, 0)
    return math.ceil(number / step - 1e-9) * step
