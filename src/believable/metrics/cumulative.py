"""The Kolmogorov–Smirnov and Kuiper errors: the largest cumulative gap between outcomes and scores, and its range."""

from __future__ import annotations

from typing import Any

import numpy as np

from believable._types import Notion
from believable.metrics.table import metric
from believable.stats.source import Points, PointStats, count_points, mean_over_strata, source_of


def gap_extremes(points: Points) -> tuple[Any, Any]:
    """Return the lowest and highest value of C(s) = sum over p_i <= s of w_i (y_i - p_i) / W, which starts from 0."""
    gap = np.cumsum(points.excess, axis=-1)
    return np.minimum(gap.min(axis=-1), 0) / points.total, np.maximum(gap.max(axis=-1), 0) / points.total


def largest_gap(points: Points) -> Any:
    """Return the largest absolute value of C."""
    low, high = gap_extremes(points)
    return np.maximum(-low, high)


def gap_range(points: Points) -> Any:
    """Return the range of C, max C - min C."""
    low, high = gap_extremes(points)
    return high - low


# --- largest cumulative gap between outcomes and scores ---------------------------------------------------------------


def _mean_largest_gap(points: PointStats) -> float:
    value: float = mean_over_strata([largest_gap(stratum) for stratum in points], points)
    return value


@metric(
    alias="ks",
    counts=count_points,
    says=_mean_largest_gap,
    needs="cells",
    of="confidence",
    power=1,
    reference="Gupta et al. 2021",
    elsewhere={
        "probmetrics": (
            "`KolmogorovSmirnovCalibrationMetric`: the same in float32 if no scores are equal; the maximum is taken "
            "after every row, not after every distinct score"
        ),
        "MAPIE": (
            "`kolmogorov_smirnov_statistic`: divided by √(Σ p (1 − p)) / n, as in `kolmogorov_smirnov_test`; "
            "equal scores are moved apart at random"
        ),
    },
)
def kolmogorov_smirnov_calibration_error(
    predictions: Any,
    actuals: Any = None,
    *,
    notion: Notion | None = None,
    r: int | None = None,
    sample_weight: Any = None,
) -> float:
    """Largest gap between cumulative outcomes and cumulative scores, summed from the lowest score up.

    max over s of `|C(s)|`, C(s) = sum over p_i <= s of w_i (y_i - p_i) / W. There are no bins: C is evaluated after
    each distinct score, and is 0 before the first. In [0, 1], 0 is best; also called the maximum absolute deviation of
    the empirical cumulative calibration error, ECCE-MAD. A perfectly calibrated model would show about
    1.25 sqrt(mean p (1 - p) / n).

    If the notion keeps classes or ranks apart (classwise, top_label, top_r), the result is their weighted mean. From
    `CellStats`, all rows of a cell count at the cell's mean score.

    Parameters
    ----------
    predictions : array-like of shape (n,) or (n, K), Predictions, or CellStats
        Scores of one event, or one column of probabilities per class, or cells of them.
    actuals : array-like of shape (n,)
        Outcomes or class numbers.
    notion : str, optional
        Which pairs of score and outcome to use. By default "binary" for 1-D scores, "confidence" for a matrix,
        "classwise" for independent columns.
    r : int, optional
        The rank, for the ranked notions.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    References
    ----------
    Gupta, Rahimi, Ajanthan, Mensink, Sminchisescu, Hartley (2021), ICLR.
    Arrieta-Ibarra, Gujral, Tannen, Tygert, Xu (2022), Journal of Machine Learning Research.

    Examples
    --------
    >>> round(kolmogorov_smirnov_calibration_error([0.1, 0.3, 0.6, 0.8], [0, 1, 1, 0]), 12)
    0.25
    """
    return _mean_largest_gap(count_points(source_of(predictions, actuals, sample_weight), notion=notion, r=r))


# --- range of the cumulative gap between outcomes and scores ----------------------------------------------------------


def _mean_gap_range(points: PointStats) -> float:
    value: float = mean_over_strata([gap_range(stratum) for stratum in points], points)
    return value


@metric(
    alias="kuiper",
    counts=count_points,
    says=_mean_gap_range,
    needs="cells",
    of="confidence",
    power=1,
    reference="Arrieta-Ibarra et al. 2022",
    elsewhere={
        "probmetrics": (
            "`kuiper`: the same in float32 if no scores are equal; the range is taken after every row, not after "
            "every distinct score"
        ),
        "MAPIE": (
            "`kuiper_statistic`: divided by √(Σ p (1 − p)) / n, as in `kuiper_test`; the initial 0 of the sum "
            "is left out; equal scores are moved apart at random"
        ),
    },
)
def kuiper_calibration_error(
    predictions: Any,
    actuals: Any = None,
    *,
    notion: Notion | None = None,
    r: int | None = None,
    sample_weight: Any = None,
) -> float:
    """Range of the gap between cumulative outcomes and cumulative scores, summed from the lowest score up.

    max C - min C, C(s) = sum over p_i <= s of w_i (y_i - p_i) / W. There are no bins: C is evaluated after each
    distinct score, and is 0 before the first. The value is the largest `|sum of w (y - p)| / W` over any interval of
    scores. The Kolmogorov–Smirnov error considers only intervals that start at the lowest score, so it is never larger.
    In [0, 1], 0 is best; also called the range of the empirical cumulative calibration error, ECCE-R. A perfectly
    calibrated model would show about 1.60 sqrt(mean p (1 - p) / n).

    As a measure for decisions it is called the cutoff calibration error, and `cutoff_calibration_error` is another name
    of this function. Suppose that acting on a row gains y - t, so that acting is worth it above a probability of t.
    Acting on all rows with a score of at least t then gains at most this error less per row than acting above any other
    cutoff: whoever trusts the scores loses no more than this by not moving the cutoff.

    If the notion keeps classes or ranks apart (classwise, top_label, top_r), the result is their weighted mean. From
    `CellStats`, all rows of a cell count at the cell's mean score.

    Parameters
    ----------
    predictions : array-like of shape (n,) or (n, K), Predictions, or CellStats
        Scores of one event, or one column of probabilities per class, or cells of them.
    actuals : array-like of shape (n,)
        Outcomes or class numbers.
    notion : str, optional
        Which pairs of score and outcome to use. By default "binary" for 1-D scores, "confidence" for a matrix,
        "classwise" for independent columns.
    r : int, optional
        The rank, for the ranked notions.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    References
    ----------
    Arrieta-Ibarra, Gujral, Tannen, Tygert, Xu (2022), Journal of Machine Learning Research.
    Rossellini, Soloff, Barber, Ren, Willett (2025), arXiv:2502.19851, for the cutoff calibration error.

    Examples
    --------
    >>> round(kuiper_calibration_error([0.1, 0.3, 0.6, 0.8], [0, 1, 1, 0]), 12)
    0.275
    """
    return _mean_gap_range(count_points(source_of(predictions, actuals, sample_weight), notion=notion, r=r))


cutoff_calibration_error = kuiper_calibration_error
