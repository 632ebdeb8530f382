"""Top-label calibration error: calibration of the confidence, given the predicted class."""

from __future__ import annotations

from typing import Any

from believable._types import Bins, Norm, Strategy
from believable.metrics.binned_error import binned_error
from believable.metrics.table import metric
from believable.stats import BinStats
from believable.stats.source import TEN, UNIFORM, BinsAsked, Source, count_asked, source_of


def _bins_by_label(
    source: Source,
    n_bins: Bins = TEN,
    strategy: Strategy = UNIFORM,
    *,
    threshold: float | None = None,
    edges: Any = None,
) -> BinStats:
    return count_asked(source, BinsAsked(n_bins, strategy, notion="top_label", threshold=threshold, edges=edges))


@metric(
    alias="tlce",
    counts=_bins_by_label,
    says=binned_error,
    needs="bins",
    bins="uniform",
    of="top_label",
    kinds=("multiclass",),
    power=1,
    reference="Gupta and Ramdas 2022",
    elsewhere={
        "uncertainty-calibration": '`mode="top-label"` is the confidence error, over all predicted classes together',
        "calibre": (
            "`top_label_ece` is the confidence error, over all predicted classes together, from debiased squared gaps"
        ),
        "MAPIE": (
            "`top_label_ece`: the unweighted mean over predicted classes, however few rows they have;"
            " `num_bins=n` gives n − 1 bins, plus one for scores of 0"
        ),
    },
)
def top_label_calibration_error(
    predictions: Any,
    actuals: Any = None,
    n_bins: Bins = TEN,
    strategy: Strategy = UNIFORM,
    *,
    norm: Norm = 1,
    threshold: float | None = None,
    sample_weight: Any = None,
    edges: Any = None,
) -> float:
    """Calibration error of the predicted class's probability, with separate bins for each predicted class.

    Never below the ECE of the same bins, because errors of opposite sign in different classes do not cancel. In [0, 1],
    0 is best. Most libraries say "top-label" for the confidence notion; this metric conditions on the predicted class.

    Parameters are those of `expected_calibration_error`.

    References
    ----------
    Gupta, Ramdas (2022), ICLR.

    Examples
    --------
    >>> scores = [[0.8, 0.2], [0.8, 0.2], [0.2, 0.8], [0.2, 0.8]]
    >>> round(top_label_calibration_error(scores, [0, 0, 1, 0]), 12)
    0.25
    """
    source = source_of(predictions, actuals, sample_weight)
    return binned_error(_bins_by_label(source, n_bins, strategy, threshold=threshold, edges=edges), norm)
