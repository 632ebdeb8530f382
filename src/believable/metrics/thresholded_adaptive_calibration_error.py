"""Thresholded adaptive calibration error: only entries above a threshold."""

from __future__ import annotations

from typing import Any

from believable._types import Bins, Norm
from believable.metrics.adaptive_calibration_error import adaptive_calibration_error, quantile_bins_of_classes
from believable.metrics.binned_error import binned_error
from believable.metrics.table import metric
from believable.stats import BinStats
from believable.stats.source import TEN, Source


def _thresholded_bins(source: Source, n_bins: Bins = TEN, *, threshold: float = 0.01, pooled: bool = False) -> BinStats:
    return quantile_bins_of_classes(source, n_bins, threshold=threshold, pooled=pooled)


@metric(
    alias="tace",
    counts=_thresholded_bins,
    says=binned_error,
    needs="bins",
    bins="quantile",
    of="classwise",
    power=1,
    reference="Nixon et al. 2019",
)
def thresholded_adaptive_calibration_error(
    predictions: Any,
    actuals: Any = None,
    n_bins: Bins = TEN,
    *,
    threshold: float = 0.01,
    norm: Norm = 1,
    pooled: bool = False,
    sample_weight: Any = None,
) -> float:
    """Adaptive calibration error of the entries with a score above a threshold.

    Each class has bins of equal weight, made from the entries above the threshold. In [0, 1], 0 is best. Without a
    threshold, the many tiny probabilities of unlikely classes dilute the error.

    Parameters are those of `expected_calibration_error`.

    References
    ----------
    Nixon, Dusenberry, Zhang, Jerfel, Tran (2019), CVPR workshops.

    Examples
    --------
    >>> round(thresholded_adaptive_calibration_error([[0.995, 0.005], [0.4, 0.6]], [0, 0], n_bins=1), 12)
    0.401666666667
    """
    return adaptive_calibration_error(
        predictions, actuals, n_bins, norm=norm, threshold=threshold, pooled=pooled, sample_weight=sample_weight
    )
