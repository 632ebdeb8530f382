"""Area under the ROC curve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np

from believable import _check, _kernels
from believable._types import Array, Float64s, Ints, MultiClass
from believable.errors import InputError, UndefinedError
from believable.metrics._roc_variance import RocVariance, mean_interval
from believable.metrics.table import Estimate, metric
from believable.predictions import Predictions
from believable.stats import CellStats
from believable.stats.source import PointStats, count_points, rows_in, source_of

Average = Literal["macro", "weighted"]


def _points(source: Any) -> PointStats:
    """Return the points of every class, whatever the notion."""
    if "cells" not in source.gives:
        raise UndefinedError("the AUC cannot be computed from BinStats: pass predictions or CellStats")
    rows = rows_in(source)
    if rows is not None:
        several = rows.kind == "multiclass"
        return count_points(rows, notion=("binary" if rows.n_classes == 2 else "classwise") if several else None)
    if source.problem not in (None, "binary"):
        source = source.cells_of("classwise")
    if source.spacing is None:  # no cells: points, or the two grids of a summary
        return count_points(source)
    return _points_of_cells(source)


def _points_of_cells(cells: CellStats) -> PointStats:
    view = cells.view
    if view.notion not in ("binary", "classwise") or view.pooled or view.threshold is not None:
        raise UndefinedError(f"the AUC needs cells of the notion binary or classwise, not of {view}")
    # With several classes, most scores of a class are small and their order matters little, so cells may be wide.
    points = count_points(cells, logits=view.n_strata == 1)
    if view.n_strata != 2 or view.multilabel:
        return points
    return PointStats(replace(view, stratum=1), points.strata[1:], (1,))  # the other column has the same AUC


def _mean_over_classes(stats: PointStats, average: Average = "macro") -> float:
    named = stats.index if len(stats) > 1 or stats.index != (0,) else (None,)
    values = [_one(one.score, one.rate, one.w, k) for one, k in zip(stats, named, strict=True)]
    return _mean(values, [one.wy.sum() for one in stats], average)


def _mean(values: list[float], weights: list[float], average: Average) -> float:
    return float(np.average(values, weights=weights) if average == "weighted" else np.mean(values))


def _one_vs_rest(rows: Predictions) -> Iterator[tuple[Array, Float64s, int | None]]:
    """Yield the scores and outcomes of each class, and its number if there are several."""
    if rows.kind == "binary":
        yield rows.scores, rows.labels.astype(np.float64), None
        return
    if rows.kind == "multiclass" and rows.n_classes == 2:
        yield rows.scores[:, 1], (rows.labels == 1).astype(np.float64), None
        return
    for k in range(rows.n_classes):
        occurred = rows.labels[:, k] if rows.kind == "multilabel" else rows.labels == k
        yield np.ascontiguousarray(rows.scores[:, k]), occurred.astype(np.float64), k


def _interval(source: Any, level: float, options: Mapping[str, Any], cluster: Ints | None) -> Estimate | None:
    """Return the interval of the unweighted one-vs-rest mean; None for other means, for which rows are resampled."""
    rows = rows_in(source)
    value = auc(source, **options)
    is_plain = options.get("average", "macro") == "macro" and options.get("multi_class", "ovr") == "ovr"
    if not (is_plain or source.is_binary):
        return None
    if rows is None or (cluster is None and len(_points(rows)) == 1):
        # The points of several classes do not say how classes correlate: assume that they do so perfectly.
        low, high = np.mean([RocVariance.of_points(one).interval(level) for one in _points(source)], axis=0)
        return Estimate(value, float(low), float(high), level, "delong")
    weight = _weights(rows)
    unit = np.arange(len(rows)) if cluster is None else cluster
    classes = [RocVariance.of_rows(scores, share, weight, unit) for scores, share, _ in _one_vs_rest(rows)]
    return Estimate(value, *mean_interval(classes, level), level, "delong")


@metric(
    alias="auc",
    counts=_points,
    says=_mean_over_classes,
    interval=_interval,
    needs="cells",
    best=1.0,
    spacing="logit",
    reference="Hanley and McNeil 1982",
    elsewhere={
        "scikit-learn": (
            "`roc_auc_score`: the same; for several classes, `multi_class` must be given, and "
            '`multi_class="ovo"` takes no weights'
        ),
        "torchmetrics": "`binary_auroc`, `multiclass_auroc`: the same, in float32",
        "probmetrics": "`auroc-ovr`: the same, in float32, after clipping to [1e-7, 1 − 1e-7]",
        "R: rms": "C of `val.prob`: without rows that score 0 or 1; scores within 1/500 may count as equal",
    },
)
def auc(
    predictions: Any,
    actuals: Any = None,
    *,
    average: Average = "macro",
    multi_class: MultiClass = "ovr",
    sample_weight: Any = None,
) -> float:
    r"""Probability that a random positive scores higher than a random negative; ties count half.

    For more than two classes, and for multilabel predictions, an average of values for two groups of rows each:

    .. math:: \mathrm{ovr}: \, \sum_k a_k \, \mathrm{AUC}(k, \mathrm{rest})

    .. math:: \mathrm{ovo}: \, \sum_{j < k} a_{jk} \, \frac{\mathrm{AUC}(j, k) + \mathrm{AUC}(k, j)}{2}

    where AUC(j, k) is that of the scores of class j, from the rows of classes j and k only. The averages are unweighted
    ("macro"), or a_k is proportional to the weight of class k, and a_jk to that of j and k together ("weighted"). In
    [0, 1], 1 is best and 1/2 is guessing. Undefined when a class is never or always the label. The AUC depends on the
    order of the scores only, so it cannot detect miscalibration, and an increasing calibration map leaves it unchanged.

    Parameters
    ----------
    average : {"macro", "weighted"}
        How values are averaged over classes, or pairs of classes.
    multi_class : {"ovr", "ovo"}
        Compare each class with the rest, or with each other class (Hand and Till), which needs the rows of predictions.
        "ovo" does not depend on how frequent the classes are.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    `interval("auc", ...)` uses DeLong's variance (Obuchowski's, for clusters) on the logit scale, with Student's t and
    Welch's degrees of freedom. Alone, it is too narrow when an outcome is rare, because few rows rarely show the low
    scores that some of them have. So with m rows (or clusters) of the rarer outcome, the distance to either end is at
    least v times that of Newcombe's method 5 plus (1 - v) times DeLong's (of logits), where v = min(1, 20 / m). If the
    data show no variance, as for an AUC of 1, the interval is Newcombe's. For several classes, the distances of their
    ends are combined like standard errors, with the correlation that the rows show.

    From `CellStats` (binary or classwise), rows within a cell count as ties. This is exact when the scores lie on the
    grid; otherwise the error is at most half the share of (positive, negative) pairs that share a cell.

    References
    ----------
    Hanley, McNeil (1982), Radiology; Hand, Till (2001), Machine Learning, for "ovo"; DeLong et al. (1988), Biometrics;
    Obuchowski (1997), Biometrics; Newcombe (2006), Statistics in Medicine 25, 559-573.

    Examples
    --------
    >>> auc([0.1, 0.4, 0.4, 0.9], [0, 0, 1, 1])
    0.875
    >>> rows = [[0.6, 0.3, 0.1], [0.5, 0.2, 0.3], [0.3, 0.5, 0.2], [0.4, 0.3, 0.3]]
    >>> round(auc(rows, [0, 0, 1, 2]), 4), round(auc(rows, [0, 0, 1, 2], multi_class="ovo"), 4)
    (0.9444, 0.9583)
    """
    _check.choice(average, get_args(Average), "average")
    _check.choice(multi_class, get_args(MultiClass), "multi_class")
    source = source_of(predictions, actuals, sample_weight)
    rows = rows_in(source)
    if multi_class == "ovo" and source.problem == "multilabel":
        raise InputError(
            "{multi_class='ovo'} compares classes of which one is the label, not independent columns",
            argument="multi_class",
        )
    if multi_class == "ovo" and not source.is_binary:
        return _one_against_one(rows, average)
    return _mean_over_classes(_points(source), average) if rows is None else _of_rows(rows, average)


def _of_rows(rows: Predictions, average: Average) -> float:
    """Return the AUC from the rows, without first merging rows of equal scores."""
    weight = _weights(rows)
    values, weights = [], []
    for scores, occurred, k in _one_vs_rest(rows):
        values.append(_one(scores, occurred, weight, k))
        weights.append(float(weight @ occurred))
    return _mean(values, weights, average)


def _one_against_one(rows: Predictions | None, average: Average) -> float:
    """Return the mean over pairs of classes, each from the rows of these two."""
    if rows is None:
        raise UndefinedError(
            "multi_class='ovo' needs the rows of predictions: a statistic does not hold pairs of classes"
        )
    weight = _weights(rows)
    of_class = [np.flatnonzero((rows.labels == k) & (weight > 0)) for k in range(rows.n_classes)]
    for k, own in enumerate(of_class):
        _refuse_absent(len(own) == 0 or len(own) == np.count_nonzero(weight), k)
    values, weights = [], []
    for pair in combinations(range(rows.n_classes), 2):
        both = np.concatenate([of_class[k] for k in pair])
        w, is_first = weight[both], np.arange(len(both)) < len(of_class[pair[0]])
        in_first, in_second = w * is_first, w * ~is_first
        first, second = (np.ascontiguousarray(rows.scores[both, k]) for k in pair)
        values.append((_kernels.auc(first, in_first, in_second) + _kernels.auc(second, in_second, in_first)) / 2)
        weights.append(float(w.sum()))
    return _mean(values, weights, average)


def _weights(rows: Predictions) -> Float64s:
    return np.ones(len(rows)) if rows.weights is None else rows.weights


def _one(scores: Array, share: Array, weight: Array, k: int | None) -> float:
    positive, negative = weight * share, weight * (1 - share)
    _refuse_absent(not positive.any() or not negative.any(), k)
    return _kernels.auc(scores, positive, negative)


def _refuse_absent(absent: bool, k: int | None) -> None:
    if absent:
        which = "all labels are the same" if k is None else f"class {k} is the label of no row, or of every row"
        raise UndefinedError(f"the AUC needs positives and negatives, but {which}")
