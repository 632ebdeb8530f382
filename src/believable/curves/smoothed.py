"""Smoothed calibration curves: local polynomial regression, and kernel-weighted means."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from believable import _check, _kernels
from believable._types import Float64s, Notion
from believable.curves.curve import Curve, interval, noise_of_rates, notion_of, places_of, weight_near
from believable.errors import InputError
from believable.stats.source import Points, PointStats, count_points, one_stratum, source_of

Degree: TypeAlias = Literal[0, 1, 2]

MAX_SMOOTHED_CELLS = 20_000
CELLS_IN_A_WINDOW = 4_000
MAX_SCORES_SMOOTHED_EXACTLY = 2_000  # with more distinct scores, the curve is interpolated between knots
KNOTS_IN_A_WINDOW = 750


@dataclass(frozen=True, slots=True)
class Smoother:
    """The checked settings of a local polynomial regression.

    Attributes
    ----------
    span : float
        Share of the weight in each window.
    bandwidth : float or None
        Half-width of the windows, instead of the span.
    degree : int
        Degree of the polynomial.
    neighbours : int or None
        Number of rows in each window, instead of the span.
    """

    span: float
    bandwidth: float | None
    degree: int
    neighbours: int | None = None

    @classmethod
    def of(cls, span: Any, bandwidth: Any, degree: Any, neighbours: Any = None) -> Smoother:
        """Check the arguments of a function and return the settings."""
        _check.choice(degree, (0, 1, 2), "degree")
        span = _check.number(span, "span", 0, 1)
        bandwidth = None if bandwidth is None else _check.number(bandwidth, "bandwidth", 0)
        neighbours = None if neighbours is None else _check.positive_integer(neighbours, "neighbours")
        if bandwidth is not None and neighbours is not None:
            raise InputError("{argument} and bandwidth both set the windows: pass one of them", argument="neighbours")
        return cls(span, bandwidth, degree, neighbours)

    def check_weights(self, points: PointStats) -> PointStats:
        """Return the points; raise if rows have weights, so that a number of rows is no share of the weight."""
        if self.neighbours is not None and any(not np.array_equal(one.w, one.n) for one in points):
            raise InputError("{argument} counts rows, but these have weights: use span", argument="neighbours")
        return points

    def rates(self, points: Points, at: Float64s) -> Float64s:
        """Return the event rate at ascending positions, within [0, 1]; along the last axis, if wy has several."""
        points = self.merged(points)
        return np.clip(_kernels.smoothed(self.blocks(points, at), points.rate, len(at)), 0, 1)

    def rates_at_scores(self, points: Points) -> Float64s:
        """Return the event rate at the scores themselves, interpolated between knots."""
        score, knots = points.score, self.knots(points)
        rates = self.rates(points, knots)
        if len(knots) == len(score):
            return rates
        left = np.searchsorted(knots, score, side="right").clip(1, len(knots) - 1) - 1
        share = (score - knots[left]) / (knots[left + 1] - knots[left])
        return np.asarray(rates[..., left] * (1 - share) + rates[..., left + 1] * share)

    def knots(self, points: Points) -> Float64s:
        """Return the knots for linear interpolation: all scores if there are at most 2,000, otherwise 750 per window.

        Half of the latter are equally spaced, and half are of equal weight.
        """
        score, n_knots = points.score, int(KNOTS_IN_A_WINDOW / self._share(points))
        if len(score) <= max(MAX_SCORES_SMOOTHED_EXACTLY, n_knots):
            return score
        knots = score[_kernels.cell_starts(score, points.w, n_knots)]
        return np.append(knots, score[-1]) if knots[-1] < score[-1] else knots

    def blocks(self, points: Points, at: Float64s) -> Any:
        """Return the smoother as a linear operator on rates."""
        return _kernels.local_polynomial(
            points.score, points.w, at, span=self._span(points), bandwidth=self.bandwidth, degree=self.degree
        )

    def _span(self, points: Points) -> float:
        return self.span if self.neighbours is None else min(1.0, self.neighbours / float(points.total))

    def merged(self, points: Points) -> Points:
        """Merge neighbouring scores into cells if there are many more scores than a window needs."""
        most = int(min(MAX_SMOOTHED_CELLS, CELLS_IN_A_WINDOW / self._share(points)))
        if len(points.score) <= most:
            return points
        return points.gathered(_kernels.cell_starts(points.score, points.w, most))

    def _share(self, points: Points) -> float:
        """Return roughly the share of the scores in a window; at least a thousandth."""
        reach = points.score[-1] - points.score[0]
        if self.bandwidth is None:
            share = self._span(points)
        else:
            share = 1.0 if 2 * self.bandwidth >= reach else float(2 * self.bandwidth / reach)
        return max(share, 1e-3)


def smoothed_calibration_curve(
    predictions: Any,
    actuals: Any = None,
    *,
    span: float = 0.75,
    bandwidth: float | None = None,
    degree: Degree = 2,
    neighbours: int | None = None,
    notion: Notion | None = None,
    r: int | None = None,
    level: float = 0.95,
    sample_weight: Any = None,
) -> Curve:
    """Estimate the event rate by local polynomial regression (loess) of the outcomes on the scores.

    At each of 101 positions x from the smallest score to the largest (one, if they coincide), a polynomial is fitted by
    least squares with weights `w_i (1 - |u_i|^3)^3`, `u_i = (p_i - x) / h`. Its value at x, clipped to [0, 1], is the
    curve. h is the distance to the last of the nearest neighbours that together hold `span` of the weight (minus
    1e-9), to the nearest row number `neighbours`, or `bandwidth`. Degree and span are by default those of R's loess,
    which Austin and Steyerberg use, as in `integrated_calibration_index` and `local_calibration_score`.

    Neighbours at the distance h, to one part in a million, have no weight. If none is left (h = 0, an empty window of
    fixed bandwidth, or all neighbours at the same distance), the rate is that of the nearest scores. If the scores in
    the window do not determine a slope or a curvature, because they are too few or within 1e-4 h of each other, the
    degree is lowered.

    If a window holds more than about 4,000 distinct scores (and always above 20,000), neighbours are merged into cells
    at their mean score, half of them of equal width and half of equal weight. This changes the curve by about a
    hundredth of its standard error (two hundredths for degree 0).

    Parameters
    ----------
    predictions : array-like of shape (n,) or (n, K), Predictions or CellStats
        Scores of one event, or one column of probabilities per class, or cells of them.
    actuals : array-like of shape (n,)
        Outcomes or class numbers.
    span : float
        Share of the weight in each window, from 0 to 1.
    bandwidth : float, optional
        Half-width of the windows, instead of `span`.
    degree : {0, 1, 2}
        Local mean, line or parabola.
    neighbours : int, optional
        Number of nearest rows in each window (all, if there are fewer), instead of `span`; for rows without weights.
    notion, r : optional
        As in `expected_calibration_error`. Notions that keep classes or ranks apart are refused.
    level : float
        Confidence level of the interval.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    Returns
    -------
    Curve
        `low` and `high` are -+ z standard errors, within [0, 1], pointwise. The estimate is linear in the outcomes,
        sum l_i y_i, so its variance is sum l_i^2 g(1 - g) with g the curve at the scores. The interval ignores the bias
        of smoothing, and has no width where the curve is 0 or 1. `weight` is the weight of the scores nearest to each
        position.

    References
    ----------
    Cleveland (1979), Journal of the American Statistical Association; Austin, Steyerberg (2014), Statistics in
    Medicine.

    Examples
    --------
    >>> curve = smoothed_calibration_curve([0.1, 0.2, 0.4, 0.5, 0.7, 0.9], [0, 0, 1, 0, 1, 1])
    >>> curve.x[[0, 50, 100]].round(2), curve.y[[0, 50, 100]].round(2)
    (array([0.1, 0.5, 0.9]), array([0.  , 0.52, 1.  ]))
    """
    smoother, level = Smoother.of(span, bandwidth, degree, neighbours), _check.level(level)
    source = source_of(predictions, actuals, sample_weight)
    points = one_stratum(smoother.check_weights(count_points(source, notion=notion, r=r)), "a curve")
    x = places_of(points.score)
    weight = weight_near(points, x)
    points = smoother.merged(points)
    y = smoother.rates(points, x)
    variance = _kernels.smoothed_variance(smoother.blocks(points, x), noise_of_rates(points, x, y), len(x))
    low, high = interval(y, variance, level)
    settings = asdict(smoother) | {"notion": notion_of(source, notion), "level": level}
    return Curve(x, y, weight, low, high, "local polynomial", settings)


# --- the kernel calibration curve, with the bandwidth of the smooth calibration error ---------------------------------


MAX_SCORES_UNMERGED = 20_000  # more distinct scores are merged
CELLS_PER_BANDWIDTH = 200  # cells this fine hardly move the curve


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
    r"""Estimate the event rate at each score as a Gaussian-weighted mean of the outcomes around it.

    .. math:: g(t) = \frac{\sum_i w_i K_s(t, p_i) y_i}{\sum_i w_i K_s(t, p_i)}

    (Nadaraya and Watson) with the Gaussian of `smooth_calibration_error`, reflected at 0 and 1, at 101 positions from
    the smallest score to the largest. Where no score is near, and everywhere for a bandwidth below 1e-6, it is the rate
    of the nearest score. More than 20,000 distinct scores are merged into cells of width s/200 at their mean score,
    which changes the curve by less than a hundredth of its standard error.

    Parameters
    ----------
    predictions : array-like of shape (n,) or (n, K), Predictions or CellStats
        Scores of one event, or one column of probabilities per class, or cells of them.
    actuals : array-like of shape (n,)
        Outcomes or class numbers.
    bandwidth : float, optional
        The standard deviation s; by default the smooth calibration error itself, as in relplot's diagrams.
    notion, r : optional
        As in `expected_calibration_error`. Notions that keep classes or ranks apart are refused.
    level : float
        Confidence level of the interval.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    Returns
    -------
    Curve
        `low` and `high` are g(t) -+ z times its standard error, within [0, 1], pointwise. The variance is that of this
        weighted mean, sum K^2 w^2 g (1 - g) / (sum K w)^2, with g at the scores. The interval ignores the bias of
        smoothing, and has no width where the curve is 0 or 1. `weight` is the weight of the scores nearest to each
        position.

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
    points = one_stratum(count_points(source, notion=notion, r=r), "a curve")
    if bandwidth is None:
        s = float(_kernels.smooth_error(points.score, points.excess, points.total))
    else:
        s = _check.number(bandwidth, "bandwidth", 0)
    x = places_of(points.score)
    weight = weight_near(points, x)
    points = _merged(points, s)
    smoother = partial(_kernels.reflected_gaussian, points.score, points.w, x, s)
    y = np.clip(_kernels.smoothed(smoother(), points.rate, len(x)), 0, 1)
    low, high = interval(y, _kernels.smoothed_variance(smoother(), noise_of_rates(points, x, y), len(x)), level)
    settings = {"bandwidth": s, "notion": notion_of(source, notion), "level": level}
    return Curve(x, y, weight, low, high, "kernel", settings)


def _merged(points: Points, s: float) -> Points:
    if len(points.score) <= MAX_SCORES_UNMERGED or s < 1e-6:
        return points
    cell = np.floor(points.score * (CELLS_PER_BANDWIDTH / s))
    return points.gathered(np.flatnonzero(np.concatenate([[True], np.diff(cell) != 0])))
