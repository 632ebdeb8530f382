"""The Kolmogorov–Smirnov and Kuiper tests of calibration, from cumulative gaps."""

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
MIN_SCORES_FOR_LIMIT = 200  # with fewer distinct scores, the limiting distribution is too rough


@dataclass(frozen=True, slots=True)
class CumulativeTest:
    """A test based on an extreme of the cumulative gap, divided by its standard deviation at the end.

    Attributes
    ----------
    what : str
        Name of the test, for error messages.
    extreme : callable
        Function that returns the extreme of the cumulative gap of `Points`.
    tail : callable
        Function that returns the probability of a larger extreme of Brownian motion on [0, 1].
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
        if deviation == 0:  # all scores are 0 or 1: certain, and right or wrong
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
    """Rows of equal score and weight, whose labels are drawn together, and where each distinct score starts."""

    score: Float64s
    n: Array
    weight: Float64s
    starts: Ints | None

    def draw(self, size: int, rng: np.random.Generator) -> Float64s:
        """Draw labels `size` times and return the sums of w y at each distinct score."""
        drawn = drawn_at_scores(self.score, self.n, size, rng)
        drawn *= self.weight
        return drawn if self.starts is None else np.add.reduceat(drawn, self.starts, axis=1)


def _rows(source: Source, points: Points, notion: Notion | None, r: int | None) -> _Rows | None:
    """Return rows to draw labels for: one per distinct score if its weights are equal, else the rows themselves."""
    score = np.clip(points.score, 0, 1)  # rounding may push the mean score of a cell outside
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
    """Test the scores for calibration by the largest cumulative gap between outcomes and scores.

    The statistic is `max |C| W / sqrt(sum w^2 p (1 - p))`, C(s) = sum over p_i <= s of w_i (y_i - p_i) / W: the
    Kolmogorov–Smirnov calibration error divided by the standard deviation of C at its end.

    - "asymptotic": C converges to Brownian motion on [0, 1] as n grows, and the p-value is the tail of the largest
      distance of that from its start. With few distinct scores, the test rejects too rarely.
    - "resampling": labels are drawn from the scores themselves, and the p-value is (1 + number of statistics as large)
      / (1 + n_resamples). It is valid for any scores, and never below 1 / (1 + n_resamples).
    - "auto": "resampling" if there are fewer than 200 distinct scores, otherwise "asymptotic"; also "asymptotic" for
      `CellStats` whose cells hold rows of different weights, because labels cannot be drawn for those.

    If all scores are 0 or 1, the statistic is 0 with p-value 1 if all of them were right, and infinite with p-value 0
    otherwise. With soft labels, which vary less than drawn labels, the test is conservative.

    The notion must be "binary", "confidence", "rth" or "within_top_r"; those that keep classes or ranks apart are
    refused. From `CellStats`, all rows of a cell count at the cell's mean score.

    Parameters
    ----------
    predictions : array-like of shape (n,) or (n, K), Predictions, or CellStats
        Scores of one event, or one column of probabilities per class, or cells of them.
    actuals : array-like of shape (n,)
        Outcomes or class numbers.
    notion : str, optional
        Which pairs of score and outcome to use. By default "binary" for 1-D scores, "confidence" for a matrix.
    r : int, optional
        The rank, for the ranked notions.
    method : {"auto", "asymptotic", "resampling"}
        Where the p-value comes from, as above.
    n_resamples : int
        Number of sets of labels drawn.
    random_state : None, int or numpy Generator
        Random seed, for reproducible results.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    Returns
    -------
    TestResult
        With `statistic`, `p_value`, `df` (None), `n` and `method` ("asymptotic" or "resampling").

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
    """Test the scores for calibration by the range of the cumulative gap between outcomes and scores.

    The statistic is (max C - min C) W / sqrt(sum w^2 p (1 - p)), C(s) = sum over p_i <= s of w_i (y_i - p_i) / W: the
    Kuiper calibration error divided by the standard deviation of C at its end. It detects gaps in any interval of
    scores; the Kolmogorov–Smirnov test considers only intervals that start at the lowest score.

    - "asymptotic": C converges to Brownian motion on [0, 1] as n grows, and the p-value is the tail of the range of
      that (Feller 1951). With few distinct scores, the test rejects too rarely.
    - "resampling": labels are drawn from the scores themselves, and the p-value is (1 + number of statistics as large)
      / (1 + n_resamples). It is valid for any scores, and never below 1 / (1 + n_resamples).
    - "auto": "resampling" if there are fewer than 200 distinct scores, otherwise "asymptotic"; also "asymptotic" for
      `CellStats` whose cells hold rows of different weights, because labels cannot be drawn for those.

    If all scores are 0 or 1, the statistic is 0 with p-value 1 if all of them were right, and infinite with p-value 0
    otherwise. With soft labels, which vary less than drawn labels, the test is conservative.

    The notion must be "binary", "confidence", "rth" or "within_top_r"; those that keep classes or ranks apart are
    refused. From `CellStats`, all rows of a cell count at the cell's mean score.

    Parameters
    ----------
    predictions : array-like of shape (n,) or (n, K), Predictions, or CellStats
        Scores of one event, or one column of probabilities per class, or cells of them.
    actuals : array-like of shape (n,)
        Outcomes or class numbers.
    notion : str, optional
        Which pairs of score and outcome to use. By default "binary" for 1-D scores, "confidence" for a matrix.
    r : int, optional
        The rank, for the ranked notions.
    method : {"auto", "asymptotic", "resampling"}
        Where the p-value comes from, as above.
    n_resamples : int
        Number of sets of labels drawn.
    random_state : None, int or numpy Generator
        Random seed, for reproducible results.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    Returns
    -------
    TestResult
        With `statistic`, `p_value`, `df` (None), `n` and `method` ("asymptotic" or "resampling").

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
