"""Area under the ROC curve."""

from __future__ import annotations

from typing import Any

import numpy as np

from believable import _kernels
from believable._types import Array
from believable.errors import UndefinedError
from believable.metrics.table import metric
from believable.predictions import Predictions
from believable.stats import BinStats, CellStats, Summary
from believable.stats.cells import warn_of_wide_cells
from believable.stats.points import PointStats
from believable.stats.source import count_points, source_of


@metric(
    alias="auc",
    needs="cells",
    best=1.0,
    spacing="logit",
    reference="Hanley and McNeil 1982",
    elsewhere={
        "scikit-learn": '`roc_auc_score`: the same; several classes with `multi_class="ovr"`',
        "torchmetrics": "`binary_auroc`, `multiclass_auroc`: the same, in float32",
        "probmetrics": "`auroc-ovr`: the same, in float32, after clipping to [1e-7, 1 − 1e-7]",
        "R: rms": "C of `val.prob`: without rows that score 0 or 1; scores nearer than 1/500 may count as equal",
    },
)
def auc(predictions: Any, actuals: Any = None, *, sample_weight: Any = None) -> float:
    """Probability that a row that happened scores above a row that did not; ties count half.

    For more than two classes (and multilabel) the plain mean of the one-vs-rest values. In [0, 1], 1 is best, 1/2 is
    guessing. Undefined when a class is never or always the label. Calibration does not change it as long as it is
    increasing, which is why it cannot see miscalibration.

    From `CellStats` (binary or classwise) rows within a cell count as ties: exact when the scores lie on the grid,
    otherwise off by at most half the share of (positive, negative) pairs that share a cell.

    References
    ----------
    Hanley, McNeil (1982), Radiology.

    Examples
    --------
    >>> auc([0.1, 0.4, 0.4, 0.9], [0, 0, 1, 1])
    0.875
    """
    source = source_of(predictions, actuals, sample_weight)
    if isinstance(source, BinStats):
        raise UndefinedError("the AUC is read from CellStats or predictions, not from BinStats")
    if isinstance(source, Summary):
        values = _of_summary(source)
    elif isinstance(source, PointStats):
        values = [_one(points.score, points.rate, points.w, None) for points in source.groups]
    else:
        values = _of_cells(source) if isinstance(source, CellStats) else _of_predictions(source)
    return float(np.mean(values))


def _of_predictions(source: Predictions) -> list[float]:
    weight = np.ones(len(source)) if source.weights is None else source.weights
    if source.kind == "binary":
        return [_one(source.scores, source.labels.astype(np.float64), weight, None)]
    if source.kind == "multiclass" and source.n_classes == 2:
        return [_one(source.scores[:, 1], (source.labels == 1).astype(np.float64), weight, None)]
    values = []
    for k in range(source.n_classes):
        happened = source.labels[:, k] if source.kind == "multilabel" else source.labels == k
        values.append(_one(np.ascontiguousarray(source.scores[:, k]), happened.astype(np.float64), weight, k))
    return values


def _of_summary(summary: Summary) -> list[float]:
    if summary.kind == "binary":
        (points,) = count_points(summary)
        return [_one(points.score, points.rate, points.w, None)]
    return _of_cells(summary.cells_of("classwise"))


def _of_cells(cells: CellStats) -> list[float]:
    if cells.view.notion not in ("binary", "classwise") or cells.view.pooled or cells.view.threshold is not None:
        raise UndefinedError(f"the AUC is read from cells of the notions binary and classwise, not from {cells.view}")
    classes = range(cells.view.n_groups)
    if cells.view.notion == "classwise" and len(classes) == 2 and not cells.view.multilabel:
        classes = range(1, 2)  # the other column says the same
    values = []
    for k in classes:
        if cells.view.n_groups == 1:  # of several classes each is rare in most rows, and its order there matters little
            warn_of_wide_cells(cells)
        here = cells.group == k
        share = cells.wy[here] / cells.w[here]
        values.append(_one(cells.index[here], share, cells.w[here], k if cells.view.n_groups > 1 else None))
    return values


def _one(scores: Array, share: Array, weight: Array, k: int | None) -> float:
    positive, negative = weight * share, weight * (1 - share)
    if not positive.any() or not negative.any():
        which = "one class" if k is None else f"class {k} never, or always"
        raise UndefinedError(f"the AUC needs positives and negatives; the labels hold {which}")
    return _kernels.auc(scores, positive, negative)
