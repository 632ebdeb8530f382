"""The logistic calibration curve: a straight line between the logits of scores and of event rates."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from believable import _check, kernels
from believable._types import Array, Float64s, Notion
from believable.counting import source_of
from believable.curves._logits import by_logit
from believable.curves.curve import Curve
from believable.errors import UndefinedError
from believable.points import Points, count_points, one_group

N_GRID = 101


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """logit E y = a + b x, fitted in x moved and stretched to [-1, 1], where rounding does least harm.

    Attributes
    ----------
    centre, scale : float
        z = (x - centre) / scale.
    fit : LogisticFit
        In 1 and z; of replicates, if the points held them.
    """

    centre: float
    scale: float
    fit: kernels.LogisticFit

    @classmethod
    def of(cls, x: Float64s, points: Points) -> Line:
        """The line through points at logits x, in order; it must exist."""
        centre, scale = float(x[0] + x[-1]) / 2, float(x[-1] - x[0]) / 2
        return cls(centre, scale, kernels.fit_logistic(_one_and_z(x, centre, scale), points.w, points.wy))

    def columns(self, x: Float64s) -> Float64s:
        """1 and z."""
        return _one_and_z(x, self.centre, self.scale)

    @property
    def slope(self) -> Array:
        """b."""
        return np.asarray(self.fit.coefficients[..., 1] / self.scale)

    @property
    def intercept(self) -> Array:
        """a."""
        return np.asarray(self.fit.coefficients[..., 0] - self.slope * self.centre)

    def variance(self, x: Float64s, points: Points, directions: Float64s) -> Float64s:
        """Variance of combinations of the two coefficients, one in each column of (2, m), by the sandwich."""
        middle = kernels.score_products(self.columns(x), self.fit.coefficients, points.w2, points.w2y)
        covariance = kernels.sandwich(self.fit.information, middle)
        return np.asarray(np.maximum(np.einsum("im,ij,jm->m", directions, covariance, directions), 0))


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
    r"""Event rate as a logistic function of the logit of the score.

    .. math:: E\,y = \frac{1}{1 + \exp(-a - b \operatorname{logit} p)}

    with a and b of maximum likelihood (Cox 1958), at 101 scores from the smallest to the largest. The interval is that
    of the linear predictor, by the delta method with the sandwich covariance, so it holds if the line is right; it
    stays in [0, 1]. `weight` is the weight of the rows nearest to each of the 101 scores. Scores are clipped to
    [1e-12, 1 - 1e-12], with one warning that counts them.

    Undefined where the line is: with one class only, with constant scores, and where a threshold separates the classes,
    so that the curve would be a step.

    Parameters
    ----------
    level : float
        Of the pointwise interval.
    notion, r
        For a matrix; of one group. "confidence" if left out.

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
    given = one_group(count_points(source, notion=notion, r=r), "the logistic calibration curve")
    x, points, n_moved = by_logit(given)
    separated = float(kernels.separation(x, points.w, points.wy))
    if separated != separated:
        raise UndefinedError("the logistic calibration curve needs both outcomes, and scores that are not all equal")
    if separated:
        raise UndefinedError(
            "a threshold separates the outcomes, so that the logistic calibration curve is a step: corp_curve shows it"
        )
    line = Line.of(x, points)
    grid = np.linspace(given.score[0], given.score[-1], N_GRID)
    at = line.columns(kernels.clipped_logit(grid))
    predictor = line.fit.coefficients @ at
    half = NormalDist().inv_cdf(0.5 + level / 2) * np.sqrt(line.variance(x, points, at))
    settings = {"intercept": float(line.intercept), "slope": float(line.slope), "level": level, "n_clipped": n_moved}
    return Curve(
        grid,
        kernels.sigmoid(predictor),
        _nearest(grid, given),
        kernels.sigmoid(predictor - half),
        kernels.sigmoid(predictor + half),
        "logistic",
        settings,
    )


def _nearest(grid: Float64s, points: Points) -> Float64s:
    """The weight nearest to each grid point; halfway goes to the lower."""
    index = np.searchsorted((grid[:-1] + grid[1:]) / 2, points.score, side="left")
    return np.bincount(index, points.w, len(grid)).astype(np.float64)
