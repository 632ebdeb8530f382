"""Calibration error with the largest number of bins whose observed frequencies are monotone."""

from __future__ import annotations

from typing import Any

import numpy as np

from believable import _kernels
from believable._types import Array, Float64s, Norm, Notion
from believable.errors import UndefinedError
from believable.metrics.binned_error import power_mean
from believable.metrics.table import metric
from believable.predictions import View
from believable.stats import CellStats
from believable.stats.source import (
    PointStats,
    Source,
    as_number,
    count_points,
    not_empty,
    one_stratum,
    rows_in,
    same_question,
    source_of,
)

SAME_ACCURACY = 1e-12  # observed frequencies of weighted bins that differ by less count as equal


def _points(source: Source, *, notion: Notion | None = None) -> PointStats:
    _needs_cells(source)
    return count_points(source, notion=notion)


def _error_of_points(stats: PointStats, norm: Norm = 1) -> float:
    points = one_stratum(stats, "the sweep")
    value: float = as_number(_error(points.w, points.w * points.score, points.wy, norm))
    return value


@metric(
    alias="sweepece",
    counts=_points,
    says=_error_of_points,
    needs="cells",
    bins="own",
    of="confidence",
    kinds=("binary", "multiclass"),
    power=1,  # it is 0 for other scores only where rates do not rise with the scores and gaps cancel
    reference="Roelofs et al. 2022",
    elsewhere={
        "calibre": "`sweep_calibration_error`: for one event, the same for every norm, but `norm=2` by default",
    },
)
def sweep_calibration_error(
    predictions: Any,
    actuals: Any = None,
    *,
    notion: Notion | None = None,
    norm: Norm = 1,
    sample_weight: Any = None,
) -> float:
    """Expected calibration error with the number of bins chosen from the data.

    The number of bins of equal weight is raised from 1 as long as the observed frequencies do not decrease from bin to
    bin, to at most the number of distinct scores; the result is the error at the last such number. In [0, 1], 0 is
    best. Less biased than a fixed number of bins.

    Parameters
    ----------
    notion : str, optional
        "binary", "confidence", "rth" or "within_top_r"; those that keep classes or ranks apart are refused.
    norm : number >= 1 or "max"
        The power p of the error in the chosen bins, as in `expected_calibration_error`. The choice of the bins does not
        depend on it.

    References
    ----------
    Roelofs, Cain, Shlens, Mozer (2022), AISTATS.

    Examples
    --------
    >>> round(sweep_calibration_error([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]), 12)
    0.15
    """
    source = source_of(predictions, actuals, sample_weight)
    sums = _exact_sums(source, notion)
    return _error_of_points(_points(source, notion=notion), norm) if sums is None else float(_error(*sums, norm))


def _error(w: Float64s, wp: Float64s, wy: Float64s, norm: Norm) -> Float64s:
    """Return the error of each replicate: the leading axes of wy."""
    rows = wy.reshape(-1, len(w))
    reached = _kernels.running_sum(w)
    rising = ~_decrease(rows / w)  # monotone at single scores, so in all coarser bins too
    coarsest = power_mean(w.sum(keepdims=True), wp.sum(keepdims=True), rows.sum(axis=1, keepdims=True), norm)
    error = np.where(rising, power_mean(w, wp, rows, norm), coarsest)
    swept = np.flatnonzero(~rising)
    for n_bins in range(2, len(w) + 1):
        last = np.unique(np.append(_kernels.quantile_positions(reached, n_bins), len(w) - 1))
        starts = np.append(0, last[:-1] + 1)
        bins, bins_wp, sums = (np.add.reduceat(each, starts, axis=-1) for each in (w, wp, rows[swept]))
        kept = ~_decrease(sums / bins)
        swept = swept[kept]
        if not len(swept):
            break
        error[swept] = power_mean(bins, bins_wp, sums[kept], norm)
    return np.asarray(error.reshape(wy.shape[:-1]))


def _decrease(rates: Float64s) -> Array:
    """Return whether an observed frequency is below the one before it, for each replicate."""
    return np.asarray(np.any(np.diff(rates, axis=-1) < -SAME_ACCURACY, axis=-1))


def _exact_sums(source: Source, notion: Notion | None) -> tuple[Float64s, Float64s, Float64s] | None:
    """Return w, wp and wy by score or cell, in ascending order, where they are exact; None otherwise."""
    _needs_cells(source)
    if isinstance(source, CellStats):
        _one_stratum(source.view)
        same_question(source.view, notion)
        not_empty(source)
        return source.w, source.wp, source.wy
    rows = rows_in(source)
    if rows is None:
        return None
    view = rows.view(notion)
    _one_stratum(view)
    score, outcome, weight, *_ = rows.all_pairs(view)
    weight = np.ones(len(score)) if weight is None else weight
    distinct, code = np.unique(score, return_inverse=True)
    w = np.bincount(code, weight).astype(np.float64)
    return w, w * distinct, np.bincount(code, weight * outcome.astype(np.float64)).astype(np.float64)


def _needs_cells(source: Source) -> None:
    if "cells" not in source.gives:
        raise UndefinedError("the sweep chooses its own bins: pass predictions or CellStats, not BinStats")


def _one_stratum(view: View) -> None:
    if view.n_strata > 1:
        raise UndefinedError(
            "the sweep needs a notion that keeps no classes or ranks apart, not {notion=}", notion=view.notion
        )
