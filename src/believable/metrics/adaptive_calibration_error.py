"""Adaptive calibration error: bins of equal weight."""

from __future__ import annotations

from typing import Any

from believable._check import refuse_array
from believable._types import Bins, Norm, Notion
from believable.metrics.binned_error import binned_error
from believable.metrics.table import metric
from believable.stats import BinStats
from believable.stats.source import TEN, BinsAsked, Source, count_asked, source_of


def quantile_bins_of_classes(
    source: Source,
    n_bins: Bins = TEN,
    *,
    notion: Notion | None = None,
    threshold: float | None = None,
    pooled: bool = False,
) -> BinStats:
    """Count bins of equal weight; for a matrix, those of every class."""
    if notion is None:
        notion = "binary" if source.is_binary else "classwise"
    return count_asked(source, BinsAsked(n_bins, "quantile", notion, threshold=threshold, pooled=pooled))


@metric(
    alias="ace",
    counts=quantile_bins_of_classes,
    says=binned_error,
    needs="bins",
    bins="quantile",
    of="classwise",
    power=1,
    reference="Nixon et al. 2019",
    elsewhere={
        "netcal": "`ACE` is a different metric: the average calibration error",
        "uncertainty-calibration": (
            '`get_ece_em(mode="marginal")`: 15 bins by default, with edges halfway between scores; the same if the '
            "number of bins divides the number of rows and no two scores are equal"
        ),
        "calibre": "`plugin_calibration_error`: for one event, the same bins; by default 15 of them, and `norm=2`",
        "calzone": "ECE-C: for one event, with interpolated quantiles; rows with the smallest score are left out",
        "MAPIE": (
            '`expected_calibration_error(split_strategy="quantile")`: one of n bins holds only the smallest '
            "score, the edges of the other n − 1 are interpolated quantiles; 50 by default"
        ),
        "tutorials": (
            "`np.array_split` of sorted scores can put equal scores into different bins, so the order of rows matters "
            '(`expected_calibration_error(convention="array_split")`, or "floor_split")'
        ),
    },
)
def adaptive_calibration_error(
    predictions: Any,
    actuals: Any = None,
    n_bins: Bins = TEN,
    *,
    notion: Notion | None = None,
    norm: Norm = 1,
    threshold: float | None = None,
    pooled: bool = False,
    sample_weight: Any = None,
) -> float:
    """Calibration error in bins of equal weight; for a matrix, over all classes.

    The notion is "binary" for 1-D scores and "classwise" for a matrix, where each class has its own bins. Each bin is
    weighted by the rows in it; Nixon et al. weight bins and classes equally, which is the same when all bins hold
    equally many rows. In [0, 1], 0 is best. This is not the *average* calibration error that some libraries call ACE:
    see `average_calibration_error`.

    Parameters are those of `expected_calibration_error`.

    References
    ----------
    Nixon, Dusenberry, Zhang, Jerfel, Tran (2019), CVPR workshops.

    Examples
    --------
    >>> round(adaptive_calibration_error([0.1, 0.2, 0.3, 0.9], [0, 0, 1, 1], n_bins=2), 12)
    0.275
    """
    refuse_array(n_bins, "n_bins")
    source = source_of(predictions, actuals, sample_weight)
    stats = quantile_bins_of_classes(source, n_bins, notion=notion, threshold=threshold, pooled=pooled)
    return binned_error(stats, norm)
