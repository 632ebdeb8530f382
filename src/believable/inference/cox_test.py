"""Cox's likelihood-ratio test of calibration: intercept 0 and slope 1 together."""

from __future__ import annotations

from typing import Any

import numpy as np

from believable import _kernels
from believable._types import Float64s, Notion
from believable.curves.curve import TOO_FLAT, by_logit
from believable.curves.logistic import Line
from believable.errors import UndefinedError
from believable.inference.null import TestResult, refuse_weights
from believable.stats.source import Points, count_points, one_stratum, source_of

COX_TEST = "Cox's test"


def cox_test(
    predictions: Any,
    actuals: Any = None,
    *,
    notion: Notion | None = None,
    r: int | None = None,
    sample_weight: Any = None,
) -> TestResult:
    r"""Test whether the calibration intercept is 0 and the slope is 1, by the likelihood ratio.

    .. math:: 2 \left[ \max_{a, b} \ell(a, b) - \ell(0, 1) \right]

    with l(a, b) the log-likelihood of logit E y = a + b logit p. If the scores are calibrated, the limit is chi-squared
    with two degrees of freedom. This applies to predictions made without seeing these outcomes.

    It looks for scores that are too high or too low overall, too extreme or not extreme enough, and may miss errors of
    another shape. The statistic equals n U + 2, with the unreliability index U of R's `rms::val.prob`.

    Scores are clipped to [1e-12, 1 - 1e-12]; one warning says how many were clipped. If a threshold on the scores
    separates the outcomes, or if all outcomes are the same, the largest likelihood is its limit for ever steeper lines.
    From `CellStats`, all rows of a cell count at the cell's mean score.

    Parameters
    ----------
    notion, r
        For a matrix: which pairs of score and outcome to use, "confidence" by default. Notions that keep classes or
        ranks apart are refused.
    sample_weight
        The test counts rows, so weights other than 1 raise an error.

    References
    ----------
    Cox (1958), Biometrika; Miller, Hui, Tierney (1991), Statistics in Medicine.

    Examples
    --------
    >>> result = cox_test([0.1, 0.2, 0.3, 0.4, 0.7, 0.9], [0, 1, 1, 1, 0, 1])
    >>> round(result.statistic, 4), result.df, round(result.p_value, 4)
    (2.8596, 2, 0.2394)
    """
    from scipy.special import chdtrc

    source = source_of(predictions, actuals, sample_weight)
    points = one_stratum(count_points(source, notion=notion, r=r, logits=True), COX_TEST)
    refuse_weights(points, COX_TEST)
    logits, points, _ = by_logit(points)
    as_they_are, _, _ = _kernels.likelihood(
        np.stack([np.ones_like(logits), logits]), np.array([0.0, 1.0]), points.w, points.wy
    )
    statistic = max(2 * (_highest(logits, points) - as_they_are), 0.0)
    return TestResult(statistic, float(chdtrc(2, statistic)), 2, int(points.n.sum()), "chi-squared")


def _highest(logits: Float64s, points: Points) -> float:
    """Return the largest log-likelihood of any line, or its limit for ever steeper ones."""
    if logits[0] == logits[-1]:
        raise UndefinedError(f"{COX_TEST} needs scores that are not all equal")
    separated = float(_kernels.separation(logits, points.w, points.wy))
    if separated == 0:
        line = Line.of(logits, points.w, points.wy)
        if not line.sound:
            raise UndefinedError(f"{COX_TEST} cannot be computed: {TOO_FLAT}")
        return float(line.fit.log_likelihood)
    both = (points.wy > 0) & (points.wy < points.w)  # at most one point, at the threshold; all others are certain
    w, rate = points.w[both], points.wy[both] / points.w[both]
    return float(np.sum(w * (rate * np.log(rate) + (1 - rate) * np.log1p(-rate))))
