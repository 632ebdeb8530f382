"""What is summed at each distinct score."""

from __future__ import annotations

from typing import NamedTuple

from believable._types import Float64s, Int64s


class ByScore(NamedTuple):
    """Sums at each distinct score, in ascending order."""

    score: Float64s
    n: Int64s
    w: Float64s
    wy: Float64s
    w2: Float64s
    w2y: Float64s
