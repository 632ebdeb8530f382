"""Top-r calibration error: the r most probable classes."""

from __future__ import annotations

from typing import Any

from believable import _check
from believable._types import Bins, Norm, Strategy
from believable.metrics.binned_error import binned_error
from believable.metrics.table import metric
from believable.stats import BinStats
from believable.stats.source import TEN, UNIFORM, BinsAsked, Source, count_asked, source_of


def _bins_by_rank(
    source: Source,
    n_bins: Bins = TEN,
    strategy: Strategy = UNIFORM,
    *,
    r: int = 3,
    threshold: float | None = None,
    pooled: bool = False,
    edges: Any = None,
) -> BinStats:
    r = min(_check.positive_integer(r, "r"), source.n_classes)
    return count_asked(source, BinsAsked(n_bins, strategy, "top_r", r, threshold, pooled, edges))


@metric(
    alias="toprce",
    counts=_bins_by_rank,
    says=binned_error,
    needs="bins",
    bins="uniform",
    of="top_r",
    kinds=("multiclass",),
    power=1,
    reference="Gupta et al. 2021",
)
def top_r_calibration_error(
    predictions: Any,
    actuals: Any = None,
    n_bins: Bins = TEN,
    strategy: Strategy = UNIFORM,
    *,
    r: int = 3,
    norm: Norm = 1,
    threshold: float | None = None,
    pooled: bool = False,
    sample_weight: Any = None,
    edges: Any = None,
) -> float:
    """Calibration error of the r largest probabilities of each row, with separate bins for each rank.

    The largest probability is compared with how often that class was right, then the second largest, up to the r-th; r
    is at most the number of classes. r = 1 is the ECE. In [0, 1], 0 is best. To keep these entries apart by class in
    place of rank, use `expected_calibration_error` with `notion="classwise_top_r"`, of which r = K is the class-wise
    error; `toolbox.ToprCE` is the same with the sum divided by N K in place of N r.

    Parameters are those of `expected_calibration_error`.

    References
    ----------
    Gupta et al. (2021), ICLR, for calibration of the r-th class.

    Examples
    --------
    >>> round(top_r_calibration_error([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3]], [0, 2], r=2), 12)
    0.425
    """
    source = source_of(predictions, actuals, sample_weight)
    stats = _bins_by_rank(source, n_bins, strategy, r=r, threshold=threshold, pooled=pooled, edges=edges)
    return binned_error(stats, norm)
