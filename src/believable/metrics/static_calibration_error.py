"""Static calibration error: every class, in bins of equal width."""

from __future__ import annotations

from typing import Any

from believable._types import Bins, Norm
from believable.metrics.binned_error import binned_error
from believable.metrics.table import metric
from believable.stats import BinStats
from believable.stats.source import TEN, BinsAsked, Source, count_asked, source_of


def _uniform_bins(
    source: Source, n_bins: Bins = TEN, *, threshold: float | None = None, pooled: bool = False, edges: Any = None
) -> BinStats:
    return count_asked(
        source, BinsAsked(n_bins, "uniform", "classwise", threshold=threshold, pooled=pooled, edges=edges)
    )


@metric(
    alias="sce",
    counts=_uniform_bins,
    says=binned_error,
    needs="bins",
    bins="uniform",
    of="classwise",
    kinds=("multiclass", "multilabel"),
    power=1,
    reference="Nixon et al. 2019; Kull et al. 2019",
    elsewhere={
        "uncertainty-calibration": '`get_ece(mode="marginal")`: the same in float64, 15 bins by default',
        "calibre": "`classwise_ece` is a different metric: debiased squared gaps, in bins of equal weight",
        "MAPIE": (
            "`expected_calibration_error(classwise=True)`: `num_bins=n` gives n − 1 bins, plus one for scores of 0; 50"
            " by default"
        ),
    },
)
def static_calibration_error(
    predictions: Any,
    actuals: Any = None,
    n_bins: Bins = TEN,
    *,
    norm: Norm = 1,
    threshold: float | None = None,
    pooled: bool = False,
    sample_weight: Any = None,
    edges: Any = None,
) -> float:
    """Calibration error of the probabilities of all classes, each class in its own bins.

    The mean over classes of their one-vs-rest ECE in bins of equal width (norm 1); also called classwise or marginal
    ECE. In [0, 1], 0 is best. With many classes, most probabilities are close to 0 and well calibrated, which hides
    the others: `classwise_ece` shows each class.

    Parameters are those of `expected_calibration_error`.

    References
    ----------
    Nixon, Dusenberry, Zhang, Jerfel, Tran (2019), CVPR workshops; Kull et al. (2019), NeurIPS.

    Examples
    --------
    >>> round(static_calibration_error([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3]], [0, 2]), 12)
    0.333333333333
    """
    source = source_of(predictions, actuals, sample_weight)
    return binned_error(_uniform_bins(source, n_bins, threshold=threshold, pooled=pooled, edges=edges), norm)
