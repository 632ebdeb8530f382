"""The Kolmogorov–Smirnov and Kuiper tests: how far cumulative gaps go, and how far chance takes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import Any, Literal, get_args

import numpy as np

from believable import _check, _kernels
from believable._check import generator
from believable._types import Array, Float64s, Ints, Notion
from believable.errors import UndefinedError
from believable.inference.null import TestResult, batches, drawn_at_scores, resampling_p_value
from believable.metrics.cumulative import gap_range, largest_gap
from believable.stats.source import Points, Source, count_points, one_stratum, rows_in, source_of

Method = Literal["auto", "asymptotic", "resampling"]
MIN_SCORES_FOR_LIMIT = 200  # fewer distinct scores are too coarse for the limit


@dataclass(frozen=True, slots=True)
class CumulativeTest:
    """A test by how far the cumulative gap gets, beside its standard deviation at the end.

    Attributes
    ----------
    what : str
        What to call it.
    extreme : callable
        How far the gap of `Points` gets.
    tail : callable
        The probability that Brownian motion on [0, 1] gets further.
    """

    what: str
    extreme: Callable[[Points], Any]
    tail: Callable[[float], float]

    def __call__(
        self,
        source: tuple[Any, Any, Any],
        notion: Notion | None,
        r: int | None,
        method: Method,
        n_resamples: int,
        random_state: Any,
    ) -> TestResult:
        _check.choice(method, get_args(Method), "method")
        n_resamples = _check.positive_integer(n_resamples, "n_resamples")
        rng = generator(random_state)
        given = source_of(*source)
        points = one_stratum(count_points(given, notion=notion, r=r), self.what)
        rows = _rows(given, points, notion, r)
        if method == "auto":
            coarse = len(points.score) < MIN_SCORES_FOR_LIMIT and rows is not None
            method = "resampling" if coarse else "asymptotic"
        n, found = int(points.n.sum()), float(self.extreme(points))
        deviation = sqrt(max(float(points.variance.sum()), 0.0)) / float(points.total)
        if deviation == 0:  # scores of 0 and 1 are certain: right, or refuted
            return TestResult(inf if found else 0.0, 0.0 if found else 1.0, None, n, method)
        if method == "asymptotic":
            return TestResult(found / deviation, self.tail(found / deviation), None, n, method)
        if rows is None:
            raise UndefinedError(
                f"{self.what} cannot draw labels for cells whose rows have different weights: pass the predictions, or "
                "method='asymptotic'"
            )
        drawn = [
            np.atleast_1d(self.extreme(replace(points, wy=rows.draw(size, rng))))
            for size in batches(n_resamples, len(rows.score))
        ]
        return TestResult(found / deviation, resampling_p_value(found, np.concatenate(drawn)), None, n, method)


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Rows of equal score and weight, which labels are drawn for at once, and where each distinct score starts."""

    score: Float64s
    n: Array
    weight: Float64s
    starts: Ints | None

    def draw(self, size: int, rng: np.random.Generator) -> Float64s:
        """Sums of w y at each distinct score for drawn labels, `size` times over."""
        drawn = drawn_at_scores(self.score, self.n, size, rng)
        drawn *= self.weight
        return drawn if self.starts is None else np.add.reduceat(drawn, self.starts, axis=1)


def _rows(source: Source, points: Points, notion: Notion | None, r: int | None) -> _Rows | None:
    """Rows to draw labels for: one for each distinct score where its weights are equal, else the rows themselves."""
    score = np.clip(points.score, 0, 1)  # the mean score of a cell may round beyond
    if np.allclose(points.w2 * points.n, points.w**2, rtol=1e-9, atol=0):
        return _Rows(score, points.n, points.w / points.n, None)
    rows = rows_in(source)
    if rows is None:
        return None
    pairs = rows.all_pairs(rows.view(notion, r=r))
    order = _kernels.ascending(pairs.score)
    weight = np.asarray(pairs.weight, np.float64)[order]
    starts = np.append(0, np.cumsum(points.n)[:-1])
    return _Rows(pairs.score[order].astype(np.float64), np.ones(len(order), np.int64), weight, starts)


# --- Kolmogorov–Smirnov test of calibration ---------------------------------------------------------------------------


_KOLMOGOROV_SMIRNOV = CumulativeTest("the Kolmogorov–Smirnov test", largest_gap, _kernels.sup_tail)


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

    For one set of scores: "binary", "confidence", "rth" or "within_top_r"; others are an error. From `CellStats` each
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
    return _KOLMOGOROV_SMIRNOV((predictions, actuals, sample_weight), notion, r, method, n_resamples, random_state)


# --- Kuiper test of calibration ---------------------------------------------------------------------------------------


_KUIPER = CumulativeTest("the Kuiper test", gap_range, _kernels.range_tail)


def kuiper_test(
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
    """Test whether outcomes happen at the rates of the scores, by the range of the cumulative gap.

    The statistic is (max C - min C) W / sqrt(sum w^2 p (1 - p)), C(s) = sum over p_i <= s of w_i (y_i - p_i) / W: the
    Kuiper calibration error beside the standard deviation that C has at its end. It sees gaps in any interval of
    scores, where the Kolmogorov–Smirnov test looks from the lowest score up.

    - "asymptotic": the p-value is the tail of the range of Brownian motion on [0, 1] (Feller 1951), which C
      becomes as n grows. With few distinct scores C has few chances to be large, and the test rejects too rarely.
    - "resampling": labels are drawn from the scores themselves, and the p-value is (1 + how many of them have a
      statistic as large) / (1 + n_resamples); right for any scores, and never below 1 / (1 + n_resamples).
    - "auto": resampling where there are fewer than 200 distinct scores, the limit otherwise. (The limit, too, for
      `CellStats` whose cells hold rows of different weights, which labels cannot be drawn for.)

    Scores of 0 and 1 leave nothing to chance. Where there are no others, the statistic is 0 and the p-value 1 if they
    were right, and infinite and 0 if not. With soft labels, which vary less than drawn ones, the test is conservative.

    For one set of scores: "binary", "confidence", "rth" or "within_top_r"; others are an error. From `CellStats` each
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
    Feller (1951), Annals of Mathematical Statistics.

    Examples
    --------
    >>> result = kuiper_test([0.1, 0.3, 0.6, 0.8], [0, 1, 1, 0], method="asymptotic")
    >>> round(result.statistic, 4), round(result.p_value, 4)
    (1.3148, 0.6869)
    """
    return _KUIPER((predictions, actuals, sample_weight), notion, r, method, n_resamples, random_state)
