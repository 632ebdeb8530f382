"""The noise floor of the ECE from cells, without random draws: the formula that the HTML report computes too."""

from __future__ import annotations

import math

import numpy as np

from believable.errors import InputError
from believable.stats import BinStats, CellStats


def expected_by_chance(cells: CellStats, bins: BinStats) -> float:
    r"""Approximate the ECE that a perfectly calibrated model with these scores would show on average.

    .. math:: \frac{1}{W} \sum_b \sqrt{2/\pi} \, s_b, \quad s_b^2 = \sum_{c \in b} w2_c \, conf_c (1 - conf_c)

    over the bins b and their cells c. The sum of outcomes in a bin is approximated by a normal distribution, with the
    variance it has if the mean score of each cell is the probability of its outcomes. The result is within a few per
    cent of the mean of `noise_floor`, which draws the outcomes, where a bin expects several events and several
    non-events. It is rough where a bin expects fewer than one.

    Parameters
    ----------
    cells : CellStats
        The cells to read the scores from.
    bins : BinStats
        The bins, made from these cells: `cells.coarsen(10)`, or `cells.coarsen(cells.quantile_edges(10))`.

    Returns
    -------
    float

    Examples
    --------
    >>> from believable import Predictions
    >>> cells = CellStats.of(Predictions([0.1, 0.1, 0.8, 0.8], [0, 1, 0, 1]), cells=840)
    >>> round(expected_by_chance(cells, cells.coarsen(2)), 4)
    0.1975
    """
    made = cells.coarsen(bins.edges)
    if not np.array_equal(made.key, bins.key) or not np.array_equal(made.n, bins.n):
        raise InputError("these bins were not made from these cells: use cells.coarsen")
    upper = cells.grid.upper_edges()
    of_cell = np.stack([bins.edges_of(g).index(upper) for g in range(cells.view.n_strata)])
    code = cells.stratum * bins.per_stratum + of_cell[cells.stratum, cells.index]
    variance = np.bincount(code, cells.w2 * cells.conf * (1 - cells.conf))
    return float(math.sqrt(2 / math.pi) * np.sqrt(variance).sum() / cells.w.sum())
