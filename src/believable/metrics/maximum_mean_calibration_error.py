"""Maximum mean calibration error."""

from __future__ import annotations

from typing import Any

import numpy as np

from believable import _check, _kernels
from believable._types import Notion
from believable.errors import UndefinedError
from believable.metrics.kernel_vectors import checked_bandwidth
from believable.metrics.table import metric
from believable.stats.source import Points, PointStats, Source, count_points, mean_over_strata, rows_in, source_of


def _points(
    source: Source, *, notion: Notion | None = None, r: int | None = None, unbiased: bool = False
) -> PointStats:
    points = count_points(source, notion=notion, r=r)
    rows = rows_in(source) if unbiased else None
    if rows is not None and rows.label_kind == "f":
        raise UndefinedError(
            "the unbiased MMCE needs outcomes of 0 and 1, got soft labels; squared_kernel_calibration_error supports "
            "them"
        )
    return points


def _norm(points: PointStats, *, unbiased: bool = False, bandwidth: float = 0.4) -> float:
    of_stratum = _unbiased if unbiased else _root
    value: float = mean_over_strata([of_stratum(stratum, bandwidth) for stratum in points], points)
    return value


@metric(
    alias="mmce",
    counts=_points,
    says=_norm,
    needs="cells",
    of="confidence",
    power=1,
    signed_by="unbiased",
    reference="Kumar, Sarawagi and Jain 2018",
    elsewhere={
        "netcal": (
            "`MMCE`: the same for a matrix; for one column, p is compared with whether p > 0.5 was right, a "
            "different number"
        ),
    },
)
def maximum_mean_calibration_error(
    predictions: Any,
    actuals: Any = None,
    *,
    unbiased: bool = False,
    bandwidth: float = 0.4,
    notion: Notion | None = None,
    r: int | None = None,
    sample_weight: Any = None,
) -> float:
    """Calibration error without bins: the largest mean of (y - p) f(p) over smooth functions f.

    `sqrt( sum_ij w_i w_j (y_i - p_i)(y_j - p_j) exp(-|p_i - p_j| / h) ) / W`, including each row with itself, h = 0.4:
    the norm of the mean of (y - p) k(p, ·) for a Laplace kernel k, which is its largest product with a function of norm
    1. In [0, 1], 0 is best. Exact for any n: the scores are sorted, and one decaying running sum covers all pairs.

    With `unbiased=True`, the unbiased estimate of the square, without a root: the sum over pairs of different rows
    divided by W^2 - sum w^2. It is signed, with mean 0 for calibrated scores.

    If the notion keeps classes or ranks apart (classwise, top_label, classwise_top_r, top_r), the result is their
    weighted mean. From `CellStats`, all rows of a cell count at the cell's mean score.

    Parameters
    ----------
    predictions : array-like of shape (n,) or (n, K), Predictions, or CellStats
        Scores of one event, or one column of probabilities per class, or cells of them.
    actuals : array-like of shape (n,)
        Outcomes or class numbers.
    unbiased : bool
        Return the U-statistic instead of the root. It needs two rows of every class or rank, and outcomes of 0 and 1.
    bandwidth : float
        The bandwidth h, above 0.
    notion : str, optional
        Which pairs of score and outcome to use. By default "binary" for 1-D scores, "confidence" for a matrix,
        "classwise" for independent columns.
    r : int, optional
        The rank, for the ranked notions.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    References
    ----------
    Kumar, Sarawagi, Jain (2018), ICML.

    Examples
    --------
    >>> round(maximum_mean_calibration_error([0.1, 0.3, 0.6, 0.8], [0, 1, 1, 0]), 6)
    0.220146
    >>> round(maximum_mean_calibration_error([0.1, 0.3, 0.6, 0.8], [0, 1, 1, 0], unbiased=True), 6)
    -0.043714
    """
    _check.choice(unbiased, (True, False), "unbiased")
    bandwidth = checked_bandwidth(bandwidth)
    source = source_of(predictions, actuals, sample_weight)
    return _norm(_points(source, notion=notion, r=r, unbiased=unbiased), unbiased=unbiased, bandwidth=bandwidth)


def _root(points: Points, bandwidth: float) -> Any:
    return np.sqrt(_kernels.laplace_form(points.score, points.excess, bandwidth)) / points.total


def _unbiased(points: Points, bandwidth: float) -> Any:
    """Sum pairs at different scores and pairs of different rows at the same score, and divide by their weights."""
    excess, tied = points.excess, points.n > 1
    before = _kernels.faded_before(points.score, excess, bandwidth)
    own = points.w2y * (1 - 2 * points.score) + points.w2 * points.score**2  # w^2 (y - p)^2, for y of 0 and 1
    pairs = 2 * (excess * before).sum(axis=-1) + np.where(tied, excess**2 - own, 0).sum(axis=-1)
    w = points.w
    weight = 2 * (w[..., 1:] * np.cumsum(w, axis=-1)[..., :-1]).sum(axis=-1)
    weight = weight + np.where(tied, w**2 - points.w2, 0).sum(axis=-1)
    if not np.all(weight > 0):
        raise UndefinedError("the unbiased MMCE compares pairs of rows: it needs two rows of every class or rank")
    return pairs / weight
