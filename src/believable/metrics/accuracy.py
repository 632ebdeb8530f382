"""Accuracy."""

from __future__ import annotations

from typing import Any, NamedTuple

from believable.metrics._sums import lone_matrix, score_sums
from believable.metrics.table import SumFacts, metric
from believable.stats import ScoreSums
from believable.stats.source import BinsAsked, count_asked


class _Hits(NamedTuple):
    correct: float
    w: float


def _share(sums: ScoreSums | _Hits) -> float:
    return sums.correct / sums.w


@metric(
    alias="acc",
    counts=score_sums,
    says=_share,
    needs="sums",
    sums=SumFacts(mean_of="correct", of_predicted=True, is_share=True),
    best=1.0,
    reference="—",
    elsewhere={
        "scikit-learn": "`accuracy_score` takes decisions; the same for p > 0.5 or the argmax",
        "torchmetrics": (
            '`multiclass_accuracy` is the mean over classes by default; the same with `average="micro"`, and '
            "`binary_accuracy` too"
        ),
        "probmetrics": "`accuracy`: the same",
    },
)
def accuracy(predictions: Any, actuals: Any = None, *, sample_weight: Any = None) -> float:
    """Share of rows whose most probable class is the label.

    In [0, 1], 1 is best. Ties go to the lowest class, so a 1-D score of exactly 0.5 predicts 0. Multilabel: share of
    entries on the right side of 0.5. (Confidence, correct) pairs (`Predictions(..., pairs=True)`): share of right
    answers, whatever the confidence. Accuracy does not measure calibration, nor calibration accuracy: report both.

    References
    ----------
    No single source. It is in the table because always predicting the base rate is perfectly calibrated, but useless.

    Examples
    --------
    >>> accuracy([0.1, 0.8, 0.5, 0.7], [0, 1, 1, 1])
    0.75
    """
    matrix = lone_matrix(predictions, actuals, sample_weight)
    if matrix is not None:
        hits = count_asked(matrix, BinsAsked(1, notion="confidence"))
        return _share(_Hits(float(hits.wy.sum()), float(hits.w.sum())))
    return _share(score_sums(predictions, actuals, sample_weight))
