"""Metrics of the smoothed curve: the calibration indices (ICI, E50, E90, Emax, ECI) and the local score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from believable._kernels import running_sum
from believable._types import Float64s, Notion
from believable.curves.curve import places_of, weight_near
from believable.curves.smoothed import Degree, Smoother
from believable.metrics.table import metric
from believable.stats.source import Points, PointStats, count_points, mean_over_strata, source_of


def over_replicates(value: Callable[[Points], Any], points: Points) -> Any:
    """Compute a value of points, one replicate at a time if their weights differ, because the smoother then does."""
    if points.w.ndim == 1:
        return value(points)
    shape = np.broadcast_shapes(points.w.shape, points.wy.shape)
    rows = [np.broadcast_to(part, shape).reshape(-1, shape[-1]) for part in (points.n, points.w, points.wy)]
    squares = [np.broadcast_to(part, shape).reshape(-1, shape[-1]) for part in (points.w2, points.w2y)]
    found = []
    for sums in zip(*rows, *squares, strict=True):
        kept = sums[1] > 0
        found.append(value(Points(points.score[kept], *(part[kept] for part in sums))))
    return np.reshape(found, shape[:-1])


# --- integrated calibration index (ICI): the mean distance of the smoothed curve from the diagonal --------------------


def _mean_distance(
    points: PointStats,
    *,
    span: float = 0.75,
    bandwidth: float | None = None,
    degree: Degree = 2,
    neighbours: int | None = None,
) -> float:
    smoother = Smoother.of(span, bandwidth, degree, neighbours)
    values = [over_replicates(partial(_index, smoother), stratum) for stratum in points]
    value: float = mean_over_strata(values, points)
    return value


@metric(
    alias="ici",
    counts=count_points,
    says=_mean_distance,
    needs="cells",
    of="confidence",
    power=1,
    reference="Austin and Steyerberg 2019",
    elsewhere={
        "calzone": (
            "`lowess_regression_analysis`: local lines instead of parabolas, the nearest half of the rows, and a "
            "curve that may leave [0, 1]; where it does not, the same as here with `degree=1` and equal spans"
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
    neighbours: int | None = None,
    notion: Notion | None = None,
    r: int | None = None,
    sample_weight: Any = None,
) -> float:
    """Mean absolute distance between the smoothed calibration curve and the diagonal, over the scores.

    `sum_i w_i |g(p_i) - p_i| / W`, with g the curve of `smoothed_calibration_curve`, with local parabolas as in R's
    loess. In [0, 1], 0 is best. `calibration_index` also gives the median, the 90 % quantile and the maximum.

    g is fitted at every score if there are at most 2,000 distinct scores. Otherwise it is fitted at 1,000 of them, half
    equally spaced and half of equal weight, and interpolated linearly, which changes the index by about 1e-6.

    If the notion keeps classes or ranks apart, the result is their weighted mean. From `CellStats`, all rows of a cell
    count at the cell's mean score.

    Parameters
    ----------
    predictions : array-like of shape (n,) or (n, K), Predictions or CellStats
        Scores of one event, or one column of probabilities per class, or cells of them.
    actuals : array-like of shape (n,)
        Outcomes or class numbers.
    span, bandwidth, degree, neighbours
        Settings of the smoother, as in `smoothed_calibration_curve`.
    notion, r : optional
        As in `expected_calibration_error`.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    References
    ----------
    Austin, Steyerberg (2019), Statistics in Medicine.

    Examples
    --------
    >>> round(integrated_calibration_index([0.1, 0.2, 0.4, 0.5, 0.7, 0.9], [0, 0, 1, 0, 1, 1]), 4)
    0.1605
    """
    smoother = Smoother.of(span, bandwidth, degree, neighbours)  # checks the arguments before anything is counted
    points = smoother.check_weights(count_points(source_of(predictions, actuals, sample_weight), notion=notion, r=r))
    return _mean_distance(points, **asdict(smoother))


def _index(smoother: Smoother, points: Points) -> Any:
    return np.abs(smoother.rates_at_scores(points) - points.score) @ points.w / points.total


# --- calibration indices of the smoothed curve: ICI, E50, E90, Emax, ECI ----------------------------------------------


@dataclass(frozen=True, slots=True)
class CalibrationIndex:
    """Distances between the smoothed curve g and the diagonal, over the scores.

    Attributes
    ----------
    ici : float
        Mean of `|g(p) - p|`.
    e50, e90, emax : float
        Median, 90 % quantile and maximum of `|g(p) - p|`.
    eci : float
        100 times the mean of (g(p) - p)^2.
    settings : dict
        The smoother's span, bandwidth, degree and neighbours.
    """

    ici: float
    e50: float
    e90: float
    emax: float
    eci: float
    settings: dict[str, Any]

    def __float__(self) -> float:
        return self.ici


def calibration_index(
    predictions: Any,
    actuals: Any = None,
    *,
    span: float = 0.75,
    bandwidth: float | None = None,
    degree: Degree = 2,
    neighbours: int | None = None,
    notion: Notion | None = None,
    r: int | None = None,
    sample_weight: Any = None,
) -> CalibrationIndex:
    """Mean, median, 90 % quantile, maximum and mean square of the distance between smoothed curve and diagonal.

    All are taken over the rows' distances `|g(p_i) - p_i|`: ICI is the mean, E50 and E90 are the smallest values at
    which the cumulative weight reaches 50 % and 90 % (minus 1e-9), Emax is the maximum, and ECI is 100 times the mean
    square. The curve g and the parameters are those of `integrated_calibration_index`. If the notion keeps classes or
    ranks apart, the results are weighted means over them.

    References
    ----------
    Austin, Steyerberg (2019), Statistics in Medicine; Van Hoorde, Van Huffel, Timmerman, Bourne, Van Calster (2015),
    Journal of Biomedical Informatics, for the ECI.

    Examples
    --------
    >>> found = calibration_index([0.1, 0.2, 0.4, 0.5, 0.7, 0.9], [0, 0, 1, 0, 1, 1])
    >>> round(found.ici, 4), round(found.e50, 4), round(found.emax, 4), found.settings["degree"]
    (0.1605, 0.1, 0.6, 2)
    """
    smoother = Smoother.of(span, bandwidth, degree, neighbours)
    points = smoother.check_weights(count_points(source_of(predictions, actuals, sample_weight), notion=notion, r=r))
    each = [_indices(smoother, stratum) for stratum in points]
    ici, e50, e90, emax, eci = (mean_over_strata(values, points) for values in zip(*each, strict=True))
    return CalibrationIndex(ici, e50, e90, emax, eci, asdict(smoother))


def _indices(smoother: Smoother, points: Points) -> tuple[float, ...]:
    distance = np.abs(smoother.rates_at_scores(points) - points.score)
    w, total = points.w, points.total
    e50, e90 = _quantiles(distance, w, (0.5, 0.9))
    return distance @ w / total, e50, e90, distance.max(), 100 * (distance**2 @ w) / total


def _quantiles(values: Float64s, w: Float64s, shares: tuple[float, ...]) -> Float64s:
    """Return the smallest values at which the cumulative weight reaches the shares, minus 1e-9."""
    order = np.argsort(values, kind="stable")
    reached = running_sum(w[order])
    return np.asarray(values[order][np.searchsorted(reached, (np.array(shares) - 1e-9) * reached[-1])])


# --- local calibration score (LCS): the squared distance of the smoothed curve from the diagonal ----------------------


def _mean_square(
    points: PointStats,
    *,
    span: float = 0.75,
    bandwidth: float | None = None,
    degree: Degree = 2,
    neighbours: int | None = None,
) -> float:
    smoother = Smoother.of(span, bandwidth, degree, neighbours)
    values = [over_replicates(partial(_score, smoother), stratum) for stratum in points]
    value: float = mean_over_strata(values, points)
    return value


@metric(
    alias="lcs",
    counts=count_points,
    says=_mean_square,
    needs="cells",
    of="confidence",
    power=2,
    reference="Fernandes Machado et al. 2024",
)
def local_calibration_score(
    predictions: Any,
    actuals: Any = None,
    *,
    span: float = 0.75,
    bandwidth: float | None = None,
    degree: Degree = 2,
    neighbours: int | None = None,
    notion: Notion | None = None,
    r: int | None = None,
    sample_weight: Any = None,
) -> float:
    """Mean squared distance between the smoothed calibration curve and the diagonal.

    sum_i v_i (g(l_i) - l_i)^2 over the 101 positions l_i of `smoothed_calibration_curve`, with g the curve and v_i the
    share of the weight whose scores are nearest to l_i (ties go to the lower position). In [0, 1], 0 is best.

    The defaults are those of the curve and of `integrated_calibration_index`, so that a plot, its ICI and its LCS
    belong together. The authors fit means of the nearest 15 % of rows, without a kernel; the nearest setting here is
    `span=0.15, degree=0`.

    If the notion keeps classes or ranks apart, the result is their weighted mean. From `CellStats`, all rows of a cell
    count at the cell's mean score.

    Parameters
    ----------
    predictions : array-like of shape (n,) or (n, K), Predictions or CellStats
        Scores of one event, or one column of probabilities per class, or cells of them.
    actuals : array-like of shape (n,)
        Outcomes or class numbers.
    span, bandwidth, degree, neighbours
        Settings of the smoother, as in `smoothed_calibration_curve`.
    notion, r : optional
        As in `expected_calibration_error`.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    References
    ----------
    Fernandes Machado, Charpentier, Flachaire, Gallic, Hu (2024), arXiv:2402.07790.

    Examples
    --------
    >>> round(local_calibration_score([0.1, 0.2, 0.4, 0.5, 0.7, 0.9], [0, 0, 1, 0, 1, 1]), 4)
    0.0666
    """
    smoother = Smoother.of(span, bandwidth, degree, neighbours)  # checks the arguments before anything is counted
    points = smoother.check_weights(count_points(source_of(predictions, actuals, sample_weight), notion=notion, r=r))
    return _mean_square(points, **asdict(smoother))


def _score(smoother: Smoother, points: Points) -> Any:
    x = places_of(points.score)
    return (smoother.rates(points, x) - x) ** 2 @ weight_near(points, x) / points.total
