"""Marginal calibration error."""

from __future__ import annotations

from typing import Any

from believable._types import Bins, Norm
from believable.metrics.binned_error import binned_error
from believable.metrics.table import metric
from believable.stats import BinStats
from believable.stats.source import TEN, BinsAsked, Source, count_asked, source_of


def _quantile_bins(
    source: Source, n_bins: Bins = TEN, *, threshold: float | None = None, pooled: bool = False
) -> BinStats:
    return count_asked(source, BinsAsked(n_bins, "quantile", "classwise", threshold=threshold, pooled=pooled))


def _error(stats: BinStats, norm: Norm = 2) -> float:
    return binned_error(stats, norm)


@metric(
    alias="cwce",
    counts=_quantile_bins,
    says=_error,
    needs="bins",
    bins="quantile",
    of="classwise",
    kinds=("multiclass", "multilabel"),
    power=1,
    reference="Kumar et al. 2019",
    elsewhere={
        "uncertainty-calibration": (
            "`get_calibration_error(debias=False)`: 15 bins, with edges halfway between scores; debiased by default"
        ),
        "calibre": "`classwise_ece`: the unweighted mean of debiased errors, one root per class; 15 bins",
    },
)
def marginal_calibration_error(
    predictions: Any,
    actuals: Any = None,
    n_bins: Bins = TEN,
    *,
    norm: Norm = 2,
    threshold: float | None = None,
    pooled: bool = False,
    sample_weight: Any = None,
) -> float:
    """Root mean square calibration error of all classes, in bins of equal weight.

    The root is taken once, over all classes: sqrt( 1/K sum_k sum_b W_kb/W (acc_kb - conf_kb)^2 ). In [0, 1], 0 is best.

    Parameters are those of `expected_calibration_error`.

    References
    ----------
    Kumar, Liang, Ma (2019), NeurIPS.

    Examples
    --------
    >>> round(marginal_calibration_error([[0.7, 0.3], [0.4, 0.6]], [0, 0], n_bins=2), 12)
    0.474341649025
    """
    source = source_of(predictions, actuals, sample_weight)
    return _error(_quantile_bins(source, n_bins, threshold=threshold, pooled=pooled), norm)
