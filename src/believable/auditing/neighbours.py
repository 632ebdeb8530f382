"""A check for unnamed clusters: neighbouring rows err together, as rows of one patient, query or day do."""

from __future__ import annotations

import math

import numpy as np

from believable._types import Float64s, Floats
from believable.auditing.source import AuditSource
from believable.inference.cells import BinCells
from believable.inference.clusters import has_several_pairs_per_row
from believable.stats import BinStats
from believable.stats.source import rows_in

FEWEST_ROWS_FOR_NEIGHBOURS = 200
REACHES = (1, 4, 16)  # rows apart, up to which neighbours are compared
SURELY_TOGETHER = 4.0  # standard errors above 0
SMALLEST_CORRELATION = 0.02  # a smaller correlation of neighbouring rows is not reported
SELDOM_TURNED_BACK = 0.1  # if a smaller share of steps goes the other way, the file is sorted but for a few rows
FAR_SHARE = 0.05  # of all rows: rows this far apart are not in one cluster, but are alike in a sorted file


def neighbours_err_together(source: AuditSource, stats: BinStats) -> bool:
    """Return whether rows next to each other have similar errors, and no clusters were given.

    An error is the outcome minus the observed rate of its bin, so that miscalibration does not count. If rows far apart
    are alike too, the file is sorted by outcome or drifts slowly, and its rows do not count as clusters.
    """
    rows = rows_in(source.data)
    if rows is None or source.cluster is not None or len(rows) < FEWEST_ROWS_FOR_NEIGHBOURS:
        return False
    if has_several_pairs_per_row(stats.view) or rows.kind == "multilabel":
        return False
    score, outcome, _, stratum, _ = rows.all_pairs(stats.view)
    if len(score) != len(rows) or _looks_sorted(score):
        return False
    error = outcome - stats.acc[BinCells.of(stats).locate(score, stratum)]
    for reach in REACHES:
        correlation, surely = _correlation(error, range(1, reach + 1))
        if surely > SURELY_TOGETHER and correlation > SMALLEST_CORRELATION:
            far = max(int(FAR_SHARE * len(error)), 5 * reach)
            apart, _ = _correlation(error, range(far, far + reach))
            return apart < correlation / 2
    return False


def _looks_sorted(score: Floats) -> bool:
    """Return whether the rows are sorted by score, up or down: then neighbours say nothing about clusters."""
    step = np.diff(score)
    up, down = int(np.count_nonzero(step > 0)), int(np.count_nonzero(step < 0))
    return up + down > 0 and min(up, down) < SELDOM_TURNED_BACK * max(up, down)


def _correlation(error: Float64s, lags: range) -> tuple[float, float]:
    """Return the mean correlation of errors at these distances in rows, and its value in standard errors."""
    products = [error[:-lag] * error[lag:] for lag in lags if lag < len(error)]
    total, squares = sum(float(one.sum()) for one in products), sum(float(one @ one) for one in products)
    size = sum(map(len, products)) * float(error @ error) / len(error)
    return (total / size, total / math.sqrt(squares)) if size and squares else (0.0, 0.0)
