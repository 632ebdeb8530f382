"""Local calibration score (LCS): the squared distance of the smoothed curve from the diagonal."""

from __future__ import annotations

from functools import partial
from typing import Any

from believable._types import Notion
from believable.counting import source_of
from believable.curves._places import places_of, weight_near
from believable.curves.smoothed import Degree, Smoother
from believable.metrics._local import over_replicates
from believable.metrics._table import metric
from believable.points import Points, count_points, mean_over_groups


@metric(alias="lcs", needs="cells", of="confidence", power=2, reference="Fernandes Machado et al. 2024")
def local_calibration_score(
    predictions: Any,
    actuals: Any = None,
    *,
    span: float = 0.75,
    bandwidth: float | None = None,
    degree: Degree = 1,
    notion: Notion | None = None,
    r: int | None = None,
    sample_weight: Any = None,
) -> float:
    """Mean squared distance between the smoothed calibration curve and the diagonal.

    sum_i v_i (g(l_i) - l_i)^2 over the 101 places l_i of `smoothed_calibration_curve`, g the curve and v_i the share of
    the weight whose scores are nearest to l_i (halves go to the lower). In [0, 1], 0 is best.

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
    Fernandes Machado, Charpentier, Flachaire, Gallic, Hu (2024), arXiv:2402.07790.

    Examples
    --------
    >>> round(local_calibration_score([0.1, 0.2, 0.4, 0.5, 0.7, 0.9], [0, 0, 1, 0, 1, 1]), 4)
    0.0067
    """
    smoother = Smoother.of(span, bandwidth, degree)
    points = count_points(source_of(predictions, actuals, sample_weight), notion=notion, r=r)
    values = [over_replicates(partial(_score, smoother), group) for group in points]
    value: float = mean_over_groups(values, points)
    return value


def _score(smoother: Smoother, points: Points) -> Any:
    x = places_of(points.score)
    return (smoother.rates(points, x) - x) ** 2 @ weight_near(points, x) / points.total
