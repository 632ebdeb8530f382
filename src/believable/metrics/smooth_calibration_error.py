"""Smooth calibration error (smECE): no bins, and a bandwidth that follows from the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from believable import _check, _kernels
from believable._types import Array, Floats, Notion
from believable.metrics.table import metric
from believable.predictions import Pairs, Predictions, View
from believable.stats.source import Points, PointStats, count_points, mean_over_strata, one_stratum, rows_in, source_of

MAX_ROWS_TO_SORT = 1 << 14  # with more rows, sorting would dominate, and it is not needed


@dataclass(frozen=True, slots=True)
class SmoothError:
    """The smooth calibration error and the bandwidth at which it was measured.

    Attributes
    ----------
    value : float
        The smooth calibration error.
    bandwidth : float
        The same number, unless a bandwidth was given.
    """

    value: float
    bandwidth: float

    def __float__(self) -> float:
        return self.value


def _smooth_error(points: PointStats, *, bandwidth: float | None = None) -> float:
    value: float = mean_over_strata([_of_points(stratum, bandwidth) for stratum in points], points)
    return value


@metric(
    alias="smece",
    counts=count_points,
    says=_smooth_error,
    needs="cells",
    of="confidence",
    power=1,
    fixed_point="bandwidth",
    reference="Błasiok and Nakkiran 2024",
    elsewhere={
        "relplot": (
            "`smECE`: rounded up to a bandwidth of k/1024 and read off a grid; rows with scores of exactly 0 or 1"
            " count half; the kernel ends at a distance of 1/2, which makes large errors larger"
        ),
        "calibre": "`smooth_calibration_error`: for one event, as in relplot",
        "probmetrics": "`smece`: that of relplot",
    },
)
def smooth_calibration_error(
    predictions: Any,
    actuals: Any = None,
    *,
    notion: Notion | None = None,
    r: int | None = None,
    bandwidth: float | None = None,
    sample_weight: Any = None,
) -> float:
    r"""Calibration error without bins, from residuals smoothed along the scores.

    .. math:: \mathrm{smECE}_s = \int_0^1 \left| \frac1W \sum_i w_i K_s(t, p_i) (y_i - p_i) \right| \, dt

    where K_s is the Gaussian of standard deviation s, reflected at 0 and 1 as often as needed to keep its mass in
    [0, 1]. It does not increase with s, so there is exactly one s with :math:`smECE_s = s`: the smooth calibration
    error, accurate to 1e-6. In [0, 1], 0 is best. Unlike binned errors, it changes little when scores change little.

    If the notion keeps classes or ranks apart, the result is their weighted mean. From `CellStats`, all rows of a cell
    count at the cell's mean score.

    Parameters
    ----------
    predictions : array-like of shape (n,) or (n, K), Predictions or CellStats
        Scores of one event, or one column of probabilities per class, or cells of them.
    actuals : array-like of shape (n,)
        Outcomes or class numbers.
    notion, r : optional
        As in `expected_calibration_error`.
    bandwidth : float, optional
        Use this s, at least 1e-6, instead of the fixed point.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    References
    ----------
    Błasiok, Nakkiran (2024), ICLR.

    Examples
    --------
    >>> round(smooth_calibration_error([0.1, 0.3, 0.6, 0.8], [0, 1, 1, 0]), 4)
    0.2355
    >>> round(smooth_calibration_error([0.1, 0.3, 0.6, 0.8], [0, 1, 1, 0], bandwidth=0.01), 4)
    0.5
    """
    source = source_of(predictions, actuals, sample_weight)
    s = None if bandwidth is None else _check.number(bandwidth, "bandwidth", 1e-6, 100)
    rows = rows_in(source)
    if rows is not None and len(rows) > MAX_ROWS_TO_SORT:
        view = rows.view(notion, r=r)
        if view.n_strata == 1:
            return _of_pairs(partial(rows.pairs, view), rows, s)
        if view.notion == "classwise":
            columns = [partial(_column, rows, view, k) for k in range(view.n_classes)]
            return float(np.mean([_of_pairs(column, rows, s) for column in columns]))
    return _smooth_error(count_points(source, notion=notion, r=r), bandwidth=s)


def smooth_calibration_error_detail(
    predictions: Any,
    actuals: Any = None,
    *,
    notion: Notion | None = None,
    r: int | None = None,
    bandwidth: float | None = None,
    sample_weight: Any = None,
) -> SmoothError:
    """Compute the smooth calibration error of one set of scores, with its bandwidth.

    Parameters are those of `smooth_calibration_error`.

    Examples
    --------
    >>> found = smooth_calibration_error_detail([0.1, 0.3, 0.6, 0.8], [0, 1, 1, 0], bandwidth=0.01)
    >>> round(found.value, 4), found.bandwidth
    (0.5, 0.01)
    """
    source = source_of(predictions, actuals, sample_weight)
    rows = rows_in(source)
    if rows is None or rows.view(notion, r=r).n_strata > 1:
        one_stratum(count_points(source, notion=notion, r=r), "the bandwidth of the smooth calibration error")
    value = smooth_calibration_error(source, notion=notion, r=r, bandwidth=bandwidth)
    return SmoothError(value, value if bandwidth is None else float(bandwidth))


def _of_points(points: Points, s: float | None) -> Any:
    if s is None:
        return _kernels.smooth_error(points.score, points.excess, points.total)
    return _kernels.smooth_error_at(points.score, points.excess, points.total, s)


def _of_pairs(pairs: Callable[[], Iterable[Pairs]], source: Predictions, s: float | None) -> float:
    total = len(source) if source.weights is None else source.weights.sum()
    return _kernels.smooth_error_of_pairs(lambda: map(_residuals, pairs()), float(total), s)


def _residuals(pairs: Pairs) -> tuple[Floats, Array]:
    excess = pairs.outcome.astype(np.float64) - pairs.score
    return pairs.score, excess if pairs.weight is None else excess * pairs.weight


def _column(source: Predictions, view: View, k: int) -> list[Pairs]:
    return [source.column(view, k)]
