"""Relative calibration error: gaps as a share of the predicted probability."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from believable._types import Bins, Notion, Strategy
from believable.metrics.table import metric
from believable.stats import BinStats
from believable.stats.source import QUANTILE, TEN, BinsAsked, Source, as_number, count_asked, not_empty, source_of


def _quantile_bins(
    source: Source,
    n_bins: Bins = TEN,
    strategy: Strategy = QUANTILE,
    *,
    notion: Notion | None = None,
    r: int | None = None,
    threshold: float | None = None,
    pooled: bool = False,
    edges: Any = None,
) -> BinStats:
    return not_empty(count_asked(source, BinsAsked(n_bins, strategy, notion, r, threshold, pooled, edges)))


def _mean_relative_gap(stats: BinStats) -> float:
    off = np.abs(stats.wy - stats.wp)
    with np.errstate(divide="ignore", over="ignore"):  # scores of 0, or nearly, may have infinite relative gaps
        relative = np.divide(off, stats.wp, out=np.zeros(off.shape), where=off > 0)
    mean: float = as_number(np.sum(stats.w * relative, axis=-1) / stats.w.sum(axis=-1))
    return mean


@metric(
    alias="rce",
    counts=_quantile_bins,
    says=_mean_relative_gap,
    needs="bins",
    bins="quantile",
    of="confidence",
    power=1,
    high=math.inf,
    reference="—",
)
def relative_calibration_error(
    predictions: Any,
    actuals: Any = None,
    n_bins: Bins = TEN,
    strategy: Strategy = QUANTILE,
    *,
    notion: Notion | None = None,
    r: int | None = None,
    threshold: float | None = None,
    pooled: bool = False,
    sample_weight: Any = None,
    edges: Any = None,
) -> float:
    r"""Mean gap between predicted probability and observed frequency, as a share of the predicted probability.

    .. math:: \sum_c \frac{W_c}{T} \frac{|\mathrm{acc}_c - \mathrm{conf}_c|}{\mathrm{conf}_c}

    over the non-empty bins c, with the symbols of `expected_calibration_error`: the mean of `|O/E - 1|`, with O/E the
    ratio of observed to expected events in a bin. 0.2 means that the rates are off by 20 % of what was predicted, on
    average. For rare events, whose gaps are all small, this is often what matters.

    A bin whose scores are all 0 has a relative gap of 0 if no event occurred there, and an infinite one otherwise. In
    [0, inf], 0 is best. Noise counts relatively too: a bin in which few events are expected has a large relative gap by
    chance, so bins of equal weight are the default; compare the value with its noise floor.

    The other parameters are those of `expected_calibration_error`.

    References
    ----------
    No single source. Pan, Ao, Tang, Lu, Liu, Xiao, He (2020), WWW, divide by the observed frequency instead.

    Examples
    --------
    >>> round(relative_calibration_error([0.01, 0.01, 0.01, 0.01, 0.5, 0.5], [0, 0, 0, 0, 1, 0], n_bins=2), 12)
    0.666666666667
    """
    source = source_of(predictions, actuals, sample_weight)
    choices: dict[str, Any] = {"notion": notion, "r": r, "threshold": threshold, "pooled": pooled, "edges": edges}
    return _mean_relative_gap(_quantile_bins(source, n_bins, strategy, **choices))
