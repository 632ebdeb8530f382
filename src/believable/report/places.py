"""Places: ranges of scores that are off."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from believable.curves.binned import ReliabilityTable
from believable.report._digits import decimals


@dataclass(frozen=True, slots=True)
class Place:
    """A range of scores where prediction and outcome differ by more than chance makes likely.

    Attributes
    ----------
    low, high : float
        Ends of the range.
    conf, acc : float
        What was predicted and what happened there, on average.
    n : int
        Rows.
    """

    low: float
    high: float
    conf: float
    acc: float
    n: int

    @property
    def way(self) -> Literal["too high", "too low"]:
        """Of the scores."""
        return "too high" if self.conf > self.acc else "too low"

    def __str__(self) -> str:
        width = max(self.high - self.low, 1e-8)
        ends, digits = max(-math.floor(math.log10(width)), 2), decimals(3, self.conf, self.acc)
        rows = "row" if self.n == 1 else "rows"
        return (
            f"scores from {self.low:.{ends}f} to {self.high:.{ends}f} are {self.way}: "
            f"{self.conf:.{digits}f} predicted, {self.acc:.{digits}f} happened ({self.n:,} {rows})"
        )


def places_of(table: ReliabilityTable) -> list[Place]:
    """Neighbouring bins that are off in the same direction, together."""
    with np.errstate(invalid="ignore"):
        sign = np.where(table.conf > table.high, -1, np.where(table.conf < table.low, 1, 0))
    occupied = np.flatnonzero(table.n)
    places: list[Place] = []
    run: list[int] = []
    for i, following in zip(occupied, [*occupied[1:], None], strict=True):
        if sign[i]:
            run.append(int(i))
        if run and (following is None or sign[following] != sign[run[0]]):
            weight = table.weight[run]
            conf, acc = np.average(table.conf[run], weights=weight), np.average(table.acc[run], weights=weight)
            places.append(
                Place(
                    float(table.edges[run[0], 0]),
                    float(table.edges[run[-1], 1]),
                    float(conf),
                    float(acc),
                    int(table.n[run].sum()),
                )
            )
            run = []
    return places
