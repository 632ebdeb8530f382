"""Root mean square calibration error."""

from __future__ import annotations

from typing import Any

from believable._types import Bins, Convention, Notion, Strategy
from believable.metrics.binned_error import binned_error, in_own_bins
from believable.metrics.expected_calibration_error import expected_calibration_error
from believable.metrics.table import metric
from believable.stats import BinStats
from believable.stats.source import TEN, UNIFORM, count_bins


def _root_mean_square(stats: BinStats) -> float:
    return binned_error(stats, 2)


@metric(
    alias="rmsce",
    counts=count_bins,
    says=_root_mean_square,
    needs="bins",
    bins="uniform",
    of="confidence",
    in_halves=in_own_bins,
    power=1,
    reference="Nguyen and O'Connor 2015; Kumar et al. 2019",
    elsewhere={
        "torchmetrics": '`CalibrationError(norm="l2")`: in its own bins (`convention="torchmetrics"`)',
        "calibre": '`root_mean_squared_calibration_error`: in its own bins (`convention="calibre"`)',
        "probmetrics": "`rmsce-15`: that of torchmetrics after clipping to [1e-7, 1 − 1e-7]",
    },
)
def root_mean_square_calibration_error(
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
    r"""Root mean square gap between predicted probability and observed frequency, bin by bin.

    sqrt( sum_c W_c/T (acc_c - conf_c)^2 ); in [0, 1], 0 is best.

    Parameters are those of `expected_calibration_error`.

    References
    ----------
    Nguyen, O'Connor (2015), EMNLP; Kumar, Liang, Ma (2019), NeurIPS.

    Examples
    --------
    >>> round(root_mean_square_calibration_error([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 0], n_bins=2), 12)
    0.269258240357
    """
    return expected_calibration_error(
        predictions,
        actuals,
        n_bins,
        strategy,
        notion=notion,
        r=r,
        norm=2,
        threshold=threshold,
        pooled=pooled,
        sample_weight=sample_weight,
        edges=edges,
        convention=convention,
    )
