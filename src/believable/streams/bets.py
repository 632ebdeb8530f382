"""Bets against calibration: the gain or loss of a stake on a batch, as a sum of logs.

A bet on a bin of scores and a direction multiplies its capital, for each row in the bin, by

    1 + stake * (y - p - margin)    scores too low
    1 + stake * (p - y - margin)    scores too high

whose expectation is at most 1 while outcomes occur at the predicted rate, within the margin. A cell of scores stands
for its rows: the log of a factor is concave in p, so the chord between the ends of the cell, at the mean score, is
never above it. Gains are thus never overstated, whatever the scores within the cell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from believable._types import Array, Float64s, Int64s
from believable.binning import Edges
from believable.errors import InputError
from believable.predictions.view import Pairs
from believable.stats import CellStats

STAKE_SHARES = 2.0 ** -np.arange(1, 8)  # shares of the largest stake that cannot lose everything
BET_DIRECTIONS = ("too low", "too high")  # what is wrong with the scores
SMALLEST_LOSS_PER_STAKE = 0.01  # limits stakes to 100 where almost nothing can be lost


@dataclass(frozen=True, slots=True)
class BetCells:
    """Rows by bin and cell: ends of the scores, and counts and mean scores of events and non-events.

    An unknown mean is NaN; the end of the cell with the smaller gain is then used for its rows.
    """

    place: Int64s
    low: Float64s
    high: Float64s
    events: Float64s
    others: Float64s
    mean_events: Float64s
    mean_others: Float64s


def largest_stakes(low: Float64s, high: Float64s, margin: Float64s) -> Float64s:
    """Return, by direction and bin, the stake that could lose everything on one row, for scores in (low, high].

    `margin` has a row for each direction.
    """
    most_lost = np.stack([high, 1 - low]) + margin
    return np.asarray(1 / np.maximum(most_lost, SMALLEST_LOSS_PER_STAKE))


def log_factors(cells: BetCells, stake: Float64s, margin: Float64s, direction: int) -> Float64s:
    """Return the log of the factor by which the rows of each cell multiply a capital.

    `margin` has an entry for each cell, and so has `stake`, or several rows of entries.
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
    """Return sums by bin, for each row."""
    return np.stack([np.bincount(place, row, minlength=n_places) for row in values])


# --- cells of rows or statistics, and margins from a reference period -------------------------------------------------


def cells_of_rows(pairs: Pairs, edges: Edges) -> BetCells:
    """Return each pair as its own cell, whose ends are its score."""
    score, events = pairs.score.astype(np.float64), np.asarray(pairs.outcome, np.float64)
    place = edges.index(pairs.score).astype(np.int64)
    if pairs.stratum is not None:
        place = place + pairs.stratum * len(edges)
    return BetCells(place, score, score, events, 1 - events, score, score)


def cells_of_statistic(cells: CellStats, n_bins: int) -> BetCells:
    """Return cells with their mean scores; with weighted rows the mean is unknown, and the worse end is used."""
    low, high = _ends(cells)
    others = cells.n - cells.ny
    place = cells.stratum * n_bins + np.clip(-(-cells.index * n_bins // cells.grid.n_cells) - 1, 0, n_bins - 1)
    if is_weighted(cells):
        return BetCells(place, low, high, cells.ny, others, np.full(len(low), np.nan), np.full(len(low), np.nan))
    mean_events = np.divide(cells.wpy, cells.ny, out=low.copy(), where=cells.ny > 0)
    mean_others = np.divide(cells.wp - cells.wpy, others, out=low.copy(), where=others > 0)
    return BetCells(place, low, high, cells.ny, others, mean_events, mean_others)


def is_weighted(cells: CellStats) -> bool:
    """Return whether rows had weights other than 1."""
    return not (np.array_equal(cells.w, cells.n) and np.array_equal(cells.w2, cells.n))


def _ends(cells: CellStats) -> tuple[Float64s, Float64s]:
    upper = cells.grid.upper_edges().astype(np.float64)
    lower = np.concatenate([upper[:1], upper[:-1]])
    lower[-1] = 1.0  # {1}
    return lower[cells.index], upper[cells.index]


def reference_margins(cells: CellStats, n_bins: int, alpha: float) -> Float64s:
    """Return, by direction and bin, an upper bound of the mean of y - p (and p - y) with confidence 1 - alpha.

    This is the empirical Bernstein bound of Maurer and Pontil (2009), for all bins and both directions at once. Where
    the reference has fewer than two rows, the bound is 1.
    """
    if is_weighted(cells):
        raise InputError("the reference has weights, which the alarm does not use: count it without weights")
    bins = cells.coarsen(n_bins)
    n_places = cells.view.n_strata * n_bins
    margins = np.ones((2, n_places))
    n = bins.n.astype(np.float64)
    gap = bins.ny - bins.wp
    total, squares = np.stack([gap, -gap]), bins.ny - 2 * bins.wpy + bins.wpp
    log_term = math.log(2 * 2 * n_places / alpha)
    enough = n >= 2
    n = np.maximum(n, 2)
    mean = total / n
    variance = np.maximum(squares - n * (total[0] / n) ** 2, 0) / (n - 1)
    width = 1 + 1 / n_bins  # the range of y - p within a bin
    bound = mean + np.sqrt(2 * variance * log_term / n) + 7 * width * log_term / (3 * (n - 1))
    margins[:, bins.key[enough]] = np.minimum(bound, 1)[:, enough]
    return margins
