"""Calibration indices of the smoothed curve: ICI, E50, E90, Emax, ECI."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from believable._types import Float64s, Notion
from believable.counting import source_of
from believable.curves.smoothed import Degree, Smoother
from believable.kernels import running_sum
from believable.points import Points, count_points, mean_over_groups


@dataclass(frozen=True, slots=True)
class CalibrationIndex:
    """How far the smoothed curve g is from the diagonal, over the scores.

    Attributes
    ----------
    ici : float
        Mean of `|g(p) - p|`.
    e50, e90, emax : float
        Its median, 90 % quantile and maximum.
    eci : float
        100 times the mean of (g(p) - p)^2.
    settings : dict
        The smoother's span, bandwidth and degree.
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
    notion: Notion | None = None,
    r: int | None = None,
    sample_weight: Any = None,
) -> CalibrationIndex:
    """Mean, median, 90 % quantile, maximum and mean square of the distance between scores and smoothed curve.

    Over the rows, of `|g(p_i) - p_i|`: ICI the mean, E50 and E90 the smallest values at which the cumulative weight
    reaches 50 % and 90 % (less 1e-9), Emax the largest; ECI = 100 times the mean of the squares. g is that of
    `integrated_calibration_index`, whose parameters these are. Means over the groups where the notion keeps groups
    apart.

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
    smoother = Smoother.of(span, bandwidth, degree)
    points = count_points(source_of(predictions, actuals, sample_weight), notion=notion, r=r)
    each = [_indices(smoother, group) for group in points]
    ici, e50, e90, emax, eci = (mean_over_groups(values, points) for values in zip(*each, strict=True))
    return CalibrationIndex(ici, e50, e90, emax, eci, asdict(smoother))


def _indices(smoother: Smoother, points: Points) -> tuple[float, ...]:
    distance = np.abs(smoother.rates_at_scores(points) - points.score)
    w, total = points.w, points.total
    e50, e90 = _quantiles(distance, w, (0.5, 0.9))
    return distance @ w / total, e50, e90, distance.max(), 100 * (distance**2 @ w) / total


def _quantiles(values: Float64s, w: Float64s, shares: tuple[float, ...]) -> Float64s:
    """The smallest values at which the cumulative weight reaches the shares, less 1e-9."""
    order = np.argsort(values, kind="stable")
    reached = running_sum(w[order])
    return np.asarray(values[order][np.searchsorted(reached, (np.array(shares) - 1e-9) * reached[-1])])
