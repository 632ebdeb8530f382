"""Average calibration error: every bin has the same weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from believable._check import refuse_array
from believable._types import Bins, Notion, Strategy
from believable.metrics.table import metric
from believable.stats import BinStats
from believable.stats.source import TEN, UNIFORM, BinsAsked, as_number, count_asked, count_bins, not_empty, source_of


def _mean_gap(stats: BinStats) -> float:
    mean: float = as_number(np.mean(np.abs(not_empty(stats).gap), axis=-1))
    return mean


@metric(
    alias="avgce",
    counts=count_bins,
    says=_mean_gap,
    needs="bins",
    bins="uniform",
    of="confidence",
    power=1,
    reference="Neumann et al. 2018",
    elsewhere={
        "netcal": (
            "`ACE`: the same mean, in its own bins, left-closed after clipping; others call the adaptive error ACE"
        ),
    },
)
def average_calibration_error(
    predictions: Any,
    actuals: Any = None,
    n_bins: Bins = TEN,
    strategy: Strategy = UNIFORM,
    *,
    notion: Notion | None = None,
    sample_weight: Any = None,
    edges: Any = None,
) -> float:
    """Unweighted mean of the gaps between predicted probability and observed frequency, over non-empty bins.

    In [0, 1], 0 is best. A bin with one row counts as much as one with a million, so this metric needs more data than
    the ECE. Some libraries call it ACE, the usual abbreviation of the *adaptive* calibration error.

    Parameters are those of `expected_calibration_error`.

    References
    ----------
    Neumann, Zisserman, Vedaldi (2018), NeurIPS workshops.

    Examples
    --------
    >>> round(average_calibration_error([0.1, 0.1, 0.1, 0.8], [0, 0, 0, 1], n_bins=2), 12)
    0.15
    """
    refuse_array(n_bins, "n_bins")
    source = source_of(predictions, actuals, sample_weight)
    return _mean_gap(count_asked(source, BinsAsked(n_bins, strategy, notion=notion, edges=edges)))
