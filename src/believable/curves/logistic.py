"""The logistic calibration curve: the logit of the event rate as a straight line in the logit of the score."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from believable import _check, _kernels
from believable._types import Array, Float64s, Notion
from believable.curves.curve import TOO_FLAT, Curve, by_logit
from believable.errors import UndefinedError
from believable.stats.source import Points, count_points, one_stratum, source_of

N_GRID = 101
MAX_MOVES_OF_CENTRE = 5
MIN_INDEPENDENCE = 1e-6  # smallest 1 - r^2 of the coefficients; rounding is magnified by at most its inverse


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """The line logit E y = a + b x, fitted with x centred and scaled, so that light rows are not lost to rounding.

    Attributes
    ----------
    centre, scale : float
        The fit uses z = (x - centre) / scale.
    fit : LogisticFit
        The fit in 1 and z; one for each replicate, if the points hold replicates.
    """

    centre: float
    scale: float
    fit: _kernels.LogisticFit

    @classmethod
    def of(cls, x: Float64s, w: Float64s, wy: Float64s) -> Line:
        """Fit the line to points at ascending logits x, where a maximum must exist; check `sound` afterwards."""
        centre, scale = _units(x, w if w.ndim == 1 else w.sum(axis=0))
        line = cls(centre, scale, _kernels.fit_logistic(_one_and_z(x, centre, scale), w, wy))
        for _ in range(MAX_MOVES_OF_CENTRE if wy.ndim == 1 else 0):
            if line.sound:
                break
            centre, scale = _units(x, w * line.spread(x))
            start = np.array([line.intercept + line.slope * centre, line.slope * scale])
            line = cls(centre, scale, _kernels.fit_logistic(_one_and_z(x, centre, scale), w, wy, start=start))
        return line

    @property
    def sound(self) -> Array:
        """Whether the maximum was found and the two coefficients can be distinguished."""
        information = self.fit.information
        first, both, second = information[..., 0, 0], information[..., 0, 1], information[..., 1, 1]
        largest = np.sqrt(1 - MIN_INDEPENDENCE) * np.sqrt(first) * np.sqrt(second)
        return np.asarray(self.fit.converged & (np.abs(both) < largest))

    def spread(self, x: Float64s) -> Float64s:
        """Return mu (1 - mu), the information of a row."""
        predictor = self.fit.coefficients @ self.columns(x)
        return _kernels.sigmoid(predictor) * _kernels.sigmoid(-predictor)

    def columns(self, x: Float64s) -> Float64s:
        """Return the columns 1 and z."""
        return _one_and_z(x, self.centre, self.scale)

    @property
    def slope(self) -> Array:
        """Slope b."""
        return np.asarray(self.fit.coefficients[..., 1] / self.scale)

    @property
    def intercept(self) -> Array:
        """Intercept a."""
        return np.asarray(self.fit.coefficients[..., 0] - self.slope * self.centre)

    def variance(self, x: Float64s, points: Points, directions: Float64s) -> Float64s:
        """Return the sandwich variance of combinations of the two coefficients, one per column of (2, m)."""
        middle = _kernels.score_products(self.columns(x), self.fit.coefficients, points.w2, points.w2y)
        covariance = _kernels.sandwich(self.fit.information, middle)
        return np.asarray(np.maximum(np.einsum("im,ij,jm->m", directions, covariance, directions), 0))


def _units(x: Float64s, weight: Float64s) -> tuple[float, float]:
    """Return the weighted mean of x, and the largest distance from it, each multiplied by the root of its weight."""
    heaviest = int(weight.argmax())
    share = weight / max(float(weight[heaviest]), np.finfo(float).tiny)
    # Deviations from the heaviest point stay exact even if it outweighs all others; sums of x would not.
    centre = float(x[heaviest] + np.sum(share * (x - x[heaviest])) / max(float(share.sum()), 1.0))
    scale = float(np.max(np.sqrt(share) * np.abs(x - centre)))
    return centre, scale if scale > 0 else float(x[-1] - x[0])


def _one_and_z(x: Float64s, centre: float, scale: float) -> Float64s:
    return np.stack([np.ones_like(x), (x - centre) / scale])


def logistic_calibration_curve(
    predictions: Any,
    actuals: Any = None,
    *,
    level: float = 0.95,
    notion: Notion | None = None,
    r: int | None = None,
    sample_weight: Any = None,
) -> Curve:
    r"""Fit the event rate as a logistic function of the logit of the score.

    .. math:: E\,y = \frac{1}{1 + \exp(-a - b \operatorname{logit} p)}

    with a and b fitted by maximum likelihood (Cox 1958), at 101 scores from the smallest to the largest. The interval
    is that of the linear predictor, by the delta method with the sandwich covariance. It stays in [0, 1], and is valid
    if the line is right. `weight` is the weight of the rows nearest to each of the 101 scores. Scores are clipped to
    [1e-12, 1 - 1e-12]; one warning says how many were clipped.

    Undefined if only one class occurs, if all scores are equal, and if a threshold separates the classes, so that the
    curve would be a step.

    Parameters
    ----------
    level : float
        Confidence level of the pointwise interval.
    notion, r
        For a matrix: which pairs of score and outcome to use, "confidence" by default. Notions that keep classes or
        ranks apart are refused.

    References
    ----------
    Cox (1958), Biometrika; Van Calster et al. (2016), Journal of Clinical Epidemiology.

    Examples
    --------
    >>> curve = logistic_calibration_curve([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    >>> len(curve.x), curve.y[[0, 50, 100]].round(4)
    (101, array([0.1099, 0.5   , 0.8901]))
    """
    _check.level(level)
    source = source_of(predictions, actuals, sample_weight)
    given = one_stratum(count_points(source, notion=notion, r=r, logits=True), "the logistic calibration curve")
    found = by_logit(given)
    x, points = found.x, found.points
    separated = float(_kernels.separation(x, points.w, points.wy))
    if separated != separated:
        raise UndefinedError("the logistic calibration curve needs both outcomes, and scores that are not all equal")
    if separated:
        raise UndefinedError(
            "a threshold separates the outcomes, so the logistic calibration curve is a step: use corp_curve to show it"
        )
    line = Line.of(x, points.w, points.wy)
    if not line.sound:
        raise UndefinedError(f"the logistic calibration curve cannot be fitted: {TOO_FLAT}")
    grid = np.linspace(given.score[0], given.score[-1], N_GRID)
    at = line.columns(found.at(grid))
    predictor = line.fit.coefficients @ at
    half = -NormalDist().inv_cdf((1 - level) / 2) * np.sqrt(line.variance(x, points, at))
    settings = {
        "intercept": float(line.intercept - line.slope * found.origin),
        "slope": float(line.slope),
        "level": level,
        "n_clipped": found.n_clipped,
    }
    return Curve(
        grid,
        _kernels.sigmoid(predictor),
        _nearest(grid, given),
        _kernels.sigmoid(predictor - half),
        _kernels.sigmoid(predictor + half),
        "logistic",
        settings,
    )


def _nearest(grid: Float64s, points: Points) -> Float64s:
    """Return the weight nearest to each grid point; ties go to the lower one."""
    index = np.searchsorted((grid[:-1] + grid[1:]) / 2, points.score, side="left")
    return np.bincount(index, points.w, len(grid)).astype(np.float64)
