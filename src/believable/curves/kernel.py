"""The kernel calibration curve: local means of the outcomes, with the bandwidth of the smooth calibration error."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from believable import _check, kernels
from believable._types import Notion
from believable.counting import source_of
from believable.curves._places import interval, noise_of_rates, notion_of, places_of, weight_near
from believable.curves.curve import Curve
from believable.points import Points, count_points, one_group

MANY = 20_000  # distinct scores; more are merged
PER_BANDWIDTH = 200  # cells


def kernel_calibration_curve(
    predictions: Any,
    actuals: Any = None,
    *,
    bandwidth: float | None = None,
    notion: Notion | None = None,
    r: int | None = None,
    level: float = 0.95,
    sample_weight: Any = None,
) -> Curve:
    r"""The event rate as a mean of the outcomes around each score, weighted by a Gaussian.

    .. math:: g(t) = \frac{\sum_i w_i K_s(t, p_i) y_i}{\sum_i w_i K_s(t, p_i)}

    (Nadaraya and Watson) with the Gaussian of `smooth_calibration_error`, reflected at 0 and 1, at 101 places from the
    smallest score to the largest. Where no score is near, the rate of the nearest; so everywhere for a bandwidth below
    1e-6. More than 20,000 distinct scores are merged into cells of s/200 that stand at their mean, which moves the
    curve by less than a hundredth of its standard error.

    Parameters
    ----------
    predictions : array-like of shape (n,) or (n, K), Predictions or CellStats
    actuals : array-like of shape (n,)
    bandwidth : float, optional
        The standard deviation s; if left out, the smooth calibration error itself, as in relplot's diagrams.
    notion, r : optional
        As in `expected_calibration_error`; one group only.
    level : float
        Of the interval.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    Curve
        `low` and `high` are g(t) -+ z times its standard error, within [0, 1], point by point. The variance is that of
        this weighted mean, sum K^2 w^2 g (1 - g) / (sum K w)^2, with g at the scores. It does not know of the bias that
        smoothing brings, and where the curve sits at 0 or 1 it is 0. `weight` is that of the scores nearest to each
        place.

    References
    ----------
    Nadaraya (1964), Theory of Probability and Its Applications; Watson (1964), Sankhyā; Błasiok, Nakkiran (2024), ICLR,
    for the bandwidth.

    Examples
    --------
    >>> curve = kernel_calibration_curve([0.1, 0.3, 0.6, 0.8], [0, 1, 1, 0], bandwidth=0.1)
    >>> curve.x[[0, 50, 100]].round(2), curve.y[[0, 50, 100]].round(2)
    (array([0.1 , 0.45, 0.8 ]), array([0.11, 0.99, 0.12]))
    """
    level = _check.level(level)
    source = source_of(predictions, actuals, sample_weight)
    points = one_group(count_points(source, notion=notion, r=r), "a curve")
    if bandwidth is None:
        s = float(kernels.smooth_error(points.score, points.excess, points.total))
    else:
        s = _check.number(bandwidth, "bandwidth", 0)
    x = places_of(points.score)
    weight = weight_near(points, x)
    points = _merged(points, s)
    smoother = partial(kernels.reflected_gaussian, points.score, points.w, x, s)
    y = np.clip(kernels.smoothed(smoother(), points.rate, len(x)), 0, 1)
    low, high = interval(y, kernels.smoothed_variance(smoother(), noise_of_rates(points, x, y), len(x)), level)
    settings = {"bandwidth": s, "notion": notion_of(source, notion), "level": level}
    return Curve(x, y, weight, low, high, "kernel", settings)


def _merged(points: Points, s: float) -> Points:
    if len(points.score) <= MANY or s < 1e-6:
        return points
    cell = np.floor(points.score * (PER_BANDWIDTH / s))
    return points.gathered(np.flatnonzero(np.concatenate([[True], np.diff(cell) != 0])))
