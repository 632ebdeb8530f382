"""From rows or statistics to the places of bets, and what a reference period says about them."""

from __future__ import annotations

import math

import numpy as np

from believable._types import Float64s
from believable.binning import Edges
from believable.errors import InputError
from believable.stats import CellStats
from believable.streams._betting import Cells
from believable.views import Pairs


def cells_of_rows(pairs: Pairs, edges: Edges) -> Cells:
    """Each pair as a cell of its own, whose ends are its score."""
    score, events = pairs.score.astype(np.float64), np.asarray(pairs.outcome, np.float64)
    place = edges.index(pairs.score).astype(np.int64)
    if pairs.group is not None:
        place = place + pairs.group * len(edges)
    return Cells(place, score, score, events, 1 - events, score, score)


def cells_of_statistic(cells: CellStats, n_bins: int) -> Cells:
    """Cells with their mean scores; where rows had weights the mean is not known, and the worse end is taken."""
    low, high = _ends(cells)
    others = cells.n - cells.ny
    place = cells.group * n_bins + np.clip(-(-cells.index * n_bins // cells.grid.n_cells) - 1, 0, n_bins - 1)
    if is_weighted(cells):
        return Cells(place, low, high, cells.ny, others, np.full(len(low), np.nan), np.full(len(low), np.nan))
    mean_events = np.divide(cells.wpy, cells.ny, out=low.copy(), where=cells.ny > 0)
    mean_others = np.divide(cells.wp - cells.wpy, others, out=low.copy(), where=others > 0)
    return Cells(place, low, high, cells.ny, others, mean_events, mean_others)


def is_weighted(cells: CellStats) -> bool:
    """Whether rows had weights other than 1."""
    return not (np.array_equal(cells.w, cells.n) and np.array_equal(cells.w2, cells.n))


def _ends(cells: CellStats) -> tuple[Float64s, Float64s]:
    upper = cells.grid.upper_edges().astype(np.float64)
    lower = np.concatenate([upper[:1], upper[:-1]])
    lower[-1] = 1.0  # {1}
    return lower[cells.index], upper[cells.index]


def reference_margins(cells: CellStats, n_bins: int, alpha: float) -> Float64s:
    """By direction and place: how far, at most, y - p (and p - y) was from 0 on average, surely but for alpha.

    The empirical Bernstein bound of Maurer and Pontil (2009), for all places and both directions at once. Where the
    reference has fewer than two rows nothing is known, and the bound is 1.
    """
    if is_weighted(cells):
        raise InputError("the reference has weights, which the alarm does not use: count it without them")
    bins = cells.coarsen(n_bins)
    n_places = cells.view.n_groups * n_bins
    margins = np.ones((2, n_places))
    n = bins.n.astype(np.float64)
    gap = bins.ny - bins.wp
    total, squares = np.stack([gap, -gap]), bins.ny - 2 * bins.wpy + bins.wpp
    log_term = math.log(2 * 2 * n_places / alpha)
    enough = n >= 2
    n = np.maximum(n, 2)
    mean = total / n
    variance = np.maximum(squares - n * (total[0] / n) ** 2, 0) / (n - 1)
    width = 1 + 1 / n_bins  # of the values of y - p within a bin
    bound = mean + np.sqrt(2 * variance * log_term / n) + 7 * width * log_term / (3 * (n - 1))
    margins[:, bins.key[enough]] = np.minimum(bound, 1)[:, enough]
    return margins
