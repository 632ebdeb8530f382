"""`Curve`: what every way of estimating a calibration curve returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from believable._types import Float64s


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
