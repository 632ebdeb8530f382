"""Maximum calibration error."""

from __future__ import annotations

from typing import Any

from believable._types import Bins, Convention, Notion, Strategy
from believable.metrics.binned_error import binned_error, in_own_bins
from believable.metrics.expected_calibration_error import expected_calibration_error
from believable.metrics.table import metric
from believable.stats import BinStats
from believable.stats.source import TEN, UNIFORM, count_bins


def _largest_gap(stats: BinStats) -> float:
    return binned_error(stats, "max")


@metric(
    alias="mce",
    counts=count_bins,
    says=_largest_gap,
    largest_gap=True,
    needs="bins",
    bins="uniform",
    of="confidence",
    in_halves=in_own_bins,
    power=1,
    reference="Naeini et al. 2015",
    elsewhere={
        "torchmetrics": '`CalibrationError(norm="max")`: in its own bins (`convention="torchmetrics"`)',
        "netcal": '`MCE`: in its own bins (`convention="netcal"`)',
        "calibre": '`maximum_calibration_error`: in its own bins (`convention="calibre"`)',
        "probmetrics": "`mce-15`: that of torchmetrics after clipping to [1e-7, 1 − 1e-7]",
        "calzone": "MCE-H: right-closed bins; rows with a score of 0 are left out",
    },
)
def maximum_calibration_error(
    predictions: Any,
    actuals: Any = None,
    n_bins: Bins = TEN,
    strategy: Strategy = UNIFORM,
    *,
    notion: Notion | None = None,
    r: int | None = None,
    threshold: float | None = None,
    pooled: bool = False,
    sample_weight: Any = None,
    edges: Any = None,
    convention: Convention | None = None,
) -> float:
    r"""Largest gap between predicted probability and observed frequency in any bin.

    The maximum of abs(acc - conf) over the non-empty bins; in [0, 1], 0 is best. A single bin with few rows can decide
    the value, so look at the counts of the bins as well.

    Parameters are those of `expected_calibration_error`.

    References
    ----------
    Naeini, Cooper, Hauskrecht (2015), AAAI.

    Examples
    --------
    >>> round(maximum_calibration_error([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 0], n_bins=2), 12)
    0.35
    """
    return expected_calibration_error(
        predictions,
        actuals,
        n_bins,
        strategy,
        notion=notion,
        r=r,
        norm="max",
        threshold=threshold,
        pooled=pooled,
        sample_weight=sample_weight,
        edges=edges,
        convention=convention,
    )
