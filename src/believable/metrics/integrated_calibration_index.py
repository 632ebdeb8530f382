"""Integrated calibration index (ICI): the mean distance of the smoothed curve from the diagonal."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from believable._types import Notion
from believable.counting import source_of
from believable.curves.smoothed import Degree, Smoother
from believable.metrics._local import over_replicates
from believable.metrics._table import metric
from believable.points import Points, count_points, mean_over_groups


@metric(
    alias="ici",
    needs="cells",
    of="confidence",
    power=1,
    reference="Austin and Steyerberg 2019",
    elsewhere={
        "calzone": (
            "`lowess_regression_analysis`: local lines instead of parabolas, the nearest half of the rows, and a "
            "curve that may leave [0, 1]; the same with `degree=1` and equal spans where it does not"
        ),
        "R: rms": "Eavg of `val.prob`: `lowess`, local lines, the nearest two thirds",
    },
)
def integrated_calibration_index(
    predictions: Any,
    actuals: Any = None,
    *,
    span: float = 0.75,
    bandwidth: float | None = None,
    degree: Degree = 2,
    notion: Notion | None = None,
    r: int | None = None,
    sample_weight: Any = None,
) -> float:
    """Mean distance between the scores and the smoothed calibration curve at them.

    `sum_i w_i |g(p_i) - p_i| / W`, g the curve of `smoothed_calibration_curve` with local parabolas, as R's loess has
    them. In [0, 1], 0 is best. `calibration_index` has the median, the 90 % quantile and the maximum beside it.

    g is fitted at each score where there are up to 2,000 distinct ones, else at 1,000 of them with lines between, half
    of them at equal distances and half at equal weights; that moves the index by about 1e-6.

    One value per group where the notion keeps groups apart, averaged by weight. From `CellStats` each cell stands at
    its mean score.

    Parameters
    ----------
    predictions : array-like of shape (n,) or (n, K), Predictions or CellStats
    actuals : array-like of shape (n,)
    span, bandwidth, degree
        The smoother, as in `smoothed_calibration_curve`.
    notion, r : optional
        As in `expected_calibration_error`.
    sample_weight : array-like of shape (n,), optional

    References
    ----------
    Austin, Steyerberg (2019), Statistics in Medicine.

    Examples
    --------
    >>> round(integrated_calibration_index([0.1, 0.2, 0.4, 0.5, 0.7, 0.9], [0, 0, 1, 0, 1, 1]), 4)
    0.1605
    """
    smoother = Smoother.of(span, bandwidth, degree)
    points = count_points(source_of(predictions, actuals, sample_weight), notion=notion, r=r)
    values = [over_replicates(partial(_index, smoother), group) for group in points]
    value: float = mean_over_groups(values, points)
    return value


def _index(smoother: Smoother, points: Points) -> Any:
    return np.abs(smoother.rates_at_scores(points) - points.score) @ points.w / points.total
