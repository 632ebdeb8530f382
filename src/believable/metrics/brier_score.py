"""Brier score."""

from __future__ import annotations

from typing import Any

from believable import _check
from believable.metrics._sums import score_sums
from believable.metrics.table import SumFacts, metric
from believable.stats import ScoreSums


def _mean_square(sums: ScoreSums, scale_by_half: bool = False) -> float:
    return _scale(sums, scale_by_half) * sums.brier / sums.w


def _by_chance(sums: ScoreSums, scale_by_half: bool = False) -> tuple[float, float | None]:
    """Return the mean and variance under perfect calibration."""
    mean = (sums.brier - sums.spread) / sums.w
    if sums.kind == "binary":
        return mean, sums.spread_variance / sums.w**2
    scale = _scale(sums, scale_by_half)
    return scale * mean, scale**2 * sums.by_chance[0] / sums.w**2 if len(sums.by_chance) else None


def _scale(sums: ScoreSums, scale_by_half: bool) -> float:
    return 0.5 if scale_by_half and sums.kind == "multiclass" else 1.0


@metric(
    alias="brier",
    counts=score_sums,
    says=_mean_square,
    needs="sums",
    sums=SumFacts(mean_of="brier", by_chance=_by_chance),
    high=2.0,
    reference="Brier 1950",
    elsewhere={
        "scikit-learn": "`brier_score_loss`: the same, but two columns are halved unless `scale_by_half=False`",
        "calibre": "`brier_score`: the same, for one event",
        "probmetrics": (
            "`brier` uses two columns for one event, so it is twice the value of 1-D scores; several classes: the same"
        ),
        "R: rms": "Brier of `val.prob`: the same",
    },
)
def brier_score(
    predictions: Any, actuals: Any = None, *, scale_by_half: bool = False, sample_weight: Any = None
) -> float:
    """Mean squared difference between predicted probability and outcome.

    Binary: mean (p - y)^2, in [0, 1]. Multiclass: mean over rows of the sum over classes, in [0, 2]; two columns give
    twice the binary value. Multilabel: mean over all entries, in [0, 1]. 0 is best. A soft label contributes its
    expected score.

    Parameters
    ----------
    scale_by_half : bool
        Halve the multiclass score, so that it lies in [0, 1] and two columns agree with the binary value.

    References
    ----------
    Brier (1950), Monthly Weather Review.

    Examples
    --------
    >>> round(brier_score([0.1, 0.8], [0, 1]), 12)
    0.025
    >>> round(brier_score([[0.9, 0.1], [0.2, 0.8]], [0, 1]), 12)
    0.05
    """
    _check.flag(scale_by_half, "scale_by_half")
    return _mean_square(score_sums(predictions, actuals, sample_weight), scale_by_half)
