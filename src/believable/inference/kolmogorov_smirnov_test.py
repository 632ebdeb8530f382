"""Kolmogorov–Smirnov test of calibration."""

from __future__ import annotations

from typing import Any

from believable import kernels
from believable._types import Notion
from believable.inference._cumulative import CumulativeTest, Method
from believable.inference._result import TestResult
from believable.metrics._cumulative import largest_gap

_TEST = CumulativeTest("the Kolmogorov–Smirnov test", largest_gap, kernels.sup_tail)


def kolmogorov_smirnov_test(
    predictions: Any,
    actuals: Any = None,
    *,
    notion: Notion | None = None,
    r: int | None = None,
    method: Method = "auto",
    n_resamples: int = 999,
    random_state: Any = None,
    sample_weight: Any = None,
) -> TestResult:
    """Test whether outcomes happen at the rates of the scores, by the largest cumulative gap.

    The statistic is `max |C| W / sqrt(sum w^2 p (1 - p))`, C(s) = sum over p_i <= s of w_i (y_i - p_i) / W: the
    Kolmogorov–Smirnov calibration error beside the standard deviation that C has at its end.

    - "asymptotic": the p-value is the tail of the largest distance of Brownian motion on [0, 1] from its start, which C
      becomes as n grows. With few distinct scores C has few chances to be large, and the test rejects too rarely.
    - "resampling": labels are drawn from the scores themselves, and the p-value is (1 + how many of them have a
      statistic as large) / (1 + n_resamples); right for any scores, and never below 1 / (1 + n_resamples).
    - "auto": resampling where there are fewer than 200 distinct scores, the limit otherwise. (The limit, too, for
      `CellStats` whose cells hold rows of different weights, which labels cannot be drawn for.)

    Scores of 0 and 1 leave nothing to chance. Where there are no others, the statistic is 0 and the p-value 1 if they
    were right, and infinite and 0 if not. With soft labels, which vary less than drawn ones, the test is conservative.

    For one group of scores: "binary", "confidence", "rth" or "within_top_r"; others are an error. From `CellStats` each
    cell counts as one score, its mean.

    Parameters
    ----------
    predictions : array-like of shape (n,) or (n, K), Predictions, or CellStats
    actuals : array-like of shape (n,)
    notion : str, optional
        Which pairs are looked at; "binary" for 1-D scores and "confidence" for a matrix if left out.
    r : int, optional
        The rank, for the ranked notions.
    method : {"auto", "asymptotic", "resampling"}
    n_resamples : int
    random_state : None, int or numpy Generator
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    TestResult
        statistic, p_value, df (None), n and method ("asymptotic" or "resampling").

    References
    ----------
    Arrieta-Ibarra, Gujral, Tannen, Tygert, Xu (2022), Journal of Machine Learning Research.
    Gupta, Rahimi, Ajanthan, Mensink, Sminchisescu, Hartley (2021), ICLR.

    Examples
    --------
    >>> result = kolmogorov_smirnov_test([0.1, 0.3, 0.6, 0.8], [0, 1, 1, 0], method="asymptotic")
    >>> round(result.statistic, 4), round(result.p_value, 4)
    (1.1952, 0.4633)
    """
    return _TEST((predictions, actuals, sample_weight), notion, r, method, n_resamples, random_state)
