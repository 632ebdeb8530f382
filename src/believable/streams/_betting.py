"""Bets against calibration: what a stake wins or loses on a batch, as a sum of logs.

A bet on a place (a bin of scores) and a direction multiplies its capital, for each row there, by

    1 + stake * (y - p - margin)    scores too low
    1 + stake * (p - y - margin)    scores too high

whose expectation is at most 1 while outcomes happen at the predicted rate, give or take the margin. A cell of scores
stands for its rows: the log of a factor is concave in p, so the chord between the ends of the cell, taken at the mean
score there, is never above it. What is won is thus never overstated, whatever the scores within the cell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from believable._types import Array, Float64s, Int64s

STAKES = 2.0 ** -np.arange(1, 8)  # shares of the largest stake that cannot lose everything
DIRECTIONS = ("too low", "too high")  # what is wrong with the scores
SMALLEST_LOSS = 0.01  # per unit of stake: keeps stakes below 100 where almost nothing can be lost


@dataclass(frozen=True, slots=True)
class Cells:
    """Rows by place and cell: ends of the scores, and counts and mean scores of events and of the others.

    A mean that is not known is NaN; then the end at which less is won stands for the rows.
    """

    place: Int64s
    low: Float64s
    high: Float64s
    events: Float64s
    others: Float64s
    mean_events: Float64s
    mean_others: Float64s


def largest_stakes(low: Float64s, high: Float64s, margin: Float64s) -> Float64s:
    """By direction and place, for scores in (low, high]: the stake that could lose everything on one row.

    `margin` has a row for each direction.
    """
    most_lost = np.stack([high, 1 - low]) + margin
    return np.asarray(1 / np.maximum(most_lost, SMALLEST_LOSS))


def log_factors(cells: Cells, stake: Float64s, margin: Float64s, direction: int) -> Float64s:
    """The log of what each cell's rows multiply a capital by.

    `margin` has an entry for each cell, `stake` too, or several rows of them.
    """
    sign = 1.0 if direction == 0 else -1.0

    def log_factor(outcome: float, score: Float64s) -> Float64s:
        return np.asarray(np.log1p(stake * (sign * (outcome - score) - margin)))

    def total(outcome: float, count: Float64s, mean: Float64s) -> Float64s:
        at_low = log_factor(outcome, cells.low)
        if cells.low is cells.high:
            return np.asarray(count * at_low)
        at_high, width = log_factor(outcome, cells.high), cells.high - cells.low
        share = np.divide(mean - cells.low, width, out=np.zeros_like(mean), where=width > 0)
        chord = at_low + np.clip(share, 0, 1) * (at_high - at_low)
        return np.asarray(count * np.where(np.isnan(mean), np.minimum(at_low, at_high), chord))

    return total(1.0, cells.events, cells.mean_events) + total(0.0, cells.others, cells.mean_others)


def by_place(values: Float64s, place: Array, n_places: int) -> Float64s:
    """Sums by place, of each row."""
    return np.stack([np.bincount(place, row, minlength=n_places) for row in values])
