"""Paired comparison of two models on the same rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from believable import _check, _kernels
from believable._check import generator, renamed
from believable._types import Float64s, Ints
from believable.curves.binned import as_html
from believable.errors import InputError
from believable.inference import bootstrap
from believable.inference.clusters import cluster_of_rows, drawn_counts, residuals_by_unit, unit_of_rows
from believable.inference.interval import Interval, as_error, tails_of
from believable.inference.inversion import NARROWEST_SHAPE_BANDWIDTH, Inverted, Tails, invert
from believable.inference.question import Question, ask
from believable.predictions import Predictions
from believable.predictions.view import MIXED_PAIRS

MAX_SQUARED = 1e100  # larger values are divided by the largest, so that sums of weighted squares stay finite


@dataclass(frozen=True, slots=True)
class Comparison:
    """A paired difference between two models, first minus second.

    Attributes
    ----------
    difference : float
        Difference of the two values. Sampling noise inflates calibration errors, and not both by the same amount, so
        for errors the difference may lie outside the interval.
    low, high, level : float
        Confidence interval for the difference in the population, and its level.
    p_value : float
        p-value of the hypothesis that there is no difference. For errors, it is below 1 - level exactly if 0 is outside
        the interval.
    value_a, value_b : float
        The metric of each model.
    metric : str
        Name of the metric.
    method : str
        How the interval was computed.
    """

    difference: float
    low: float
    high: float
    level: float
    p_value: float
    value_a: float
    value_b: float
    metric: str
    method: str

    def __float__(self) -> float:
        return self.difference

    def __str__(self) -> str:
        return (
            f"{self.metric}: {self.value_a:.4f} - {self.value_b:.4f} = {self.difference:+.4f}, "
            f"{100 * self.level:.4g} % interval {self.low:+.4f} … {self.high:+.4f}, p = {self.p_value:.3g}"
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        header = ["metric", "first", "second", "difference", f"{100 * self.level:.4g} % interval", "p"]
        values = [f"{self.value_a:.4f}", f"{self.value_b:.4f}", f"{self.difference:+.4f}"]
        row = [self.metric, *values, f"{self.low:+.4f} to {self.high:+.4f}", f"{self.p_value:.3g}"]
        return as_html(header, [row])


@renamed(groups="clusters")
def compare(
    predictions_a: Any,
    predictions_b: Any,
    actuals: Any = None,
    metric: str | Callable[..., Any] = "brier_score",
    *,
    options: Mapping[str, Any] | None = None,
    clusters: Any = None,
    level: float = 0.95,
    n_resamples: int = 1000,
    random_state: Any = None,
    sample_weight: Any = None,
) -> Comparison:
    """Compare two models on the same rows, with an interval and a p-value for the difference.

    The default metric, the Brier score, measures calibration and discrimination together; choose a calibration error
    ("ece", "smece") to compare calibration alone.

    Rows (with `clusters`, whole clusters) are resampled for both models together, so that what makes a row difficult
    for both cancels. With n clusters, quantiles and p-values are those of Student's t with n - 1 degrees of freedom.
    Calibration errors are inflated by sampling noise, by an amount that differs between models. Their
    intervals, from inverted tests, are therefore combined by the square-and-add rule of Zou and Donner, with a lower
    bound for the correlation of the two errors. Where one of them may be 0, the interval also contains the differences
    from 0 that the interval of the other allows, because an estimate that cannot be negative is too large there.

    Parameters
    ----------
    predictions_a, predictions_b : array-like or Predictions
        Two sets of predictions for the same rows.
    actuals : array-like of shape (n,)
        Outcomes or class numbers. Omit them if both are `Predictions`, which must hold the same labels and weights.
    metric : str or callable
        A name or alias from the table of metrics, or a function of (predictions, actuals) that returns a number.
    options : dict, optional
        Options of the metric, such as `{"n_bins": 15}`.
    clusters : array-like of shape (n,), optional
        The cluster of each row, if rows belong together (patients, queries).
    level : float
        Confidence level of the interval.
    n_resamples : int
        Number of resampled data sets.
    random_state : None, int or numpy Generator
        Random seed, for reproducible results.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    Returns
    -------
    Comparison
        The difference, its interval and its p-value.

    References
    ----------
    Zou, Donner (2008), Statistics in Medicine.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p
    >>> found = compare(p, np.clip(2 * p - 0.5, 0, 1), y, random_state=0)
    >>> found.high < 0, found.p_value < 0.01
    (True, True)
    """
    _check.level(level)
    n_resamples = _check.positive_integer(n_resamples, "n_resamples", 100)
    rng = generator(random_state)
    a, b = (_asked(metric, each, actuals, sample_weight, options) for each in (predictions_a, predictions_b))
    rows_a, rows_b = _same_rows(a, b)
    cluster = cluster_of_rows(clusters, predictions_a, rows_a, sample_weight)
    value_a, value_b = a.value(), b.value()
    name = a.row.name if a.row is not None else getattr(metric, "__name__", "metric")
    if np.array_equal(rows_a.scores, rows_b.scores):
        return Comparison(0.0, 0.0, 0.0, level, 1.0, value_a, value_b, name, "identical")
    error_a, error_b = as_error(a), as_error(b)
    if error_a is not None and error_b is not None:
        low, high, p_value = _of_errors(error_a, error_b, cluster, level, n_resamples, rng)
        method = "inversion"
    else:
        differences = _paired_differences(a, b, cluster, n_resamples, rng)
        wider, p_value, method = level, _two_sided(differences), "percentile"
        if cluster is not None:
            n = len(np.unique(cluster))
            wider, p_value = _kernels.expanded_level(level, n), _kernels.expanded_p_value(p_value, n)
        low, high = bootstrap.percentile_ends(differences, wider)
    difference = value_a - value_b if value_a != value_b else 0.0  # inf - inf would be NaN
    return Comparison(difference, low, high, level, p_value, value_a, value_b, name, method)


def _asked(metric: Any, predictions: Any, actuals: Any, sample_weight: Any, options: Any) -> Question:
    """Return the question for one model; a `Predictions` brings its own labels, whatever the other model is."""
    if isinstance(predictions, Predictions):
        return ask(metric, predictions, options=options)
    return ask(metric, predictions, actuals, sample_weight, options)


def _same_rows(a: Question, b: Question) -> tuple[Predictions, Predictions]:
    one, other = a.rows, b.rows
    if one is None or other is None:
        raise InputError("a paired comparison needs the rows of both models, not statistics of them")
    if one.are_pairs != other.are_pairs:
        raise InputError(MIXED_PAIRS)
    if len(one) != len(other) or not np.array_equal(one.targets, other.targets):
        raise InputError("the two sets of predictions are not for the same rows: their labels differ")
    weights = [np.ones(len(one)) if each.weights is None else each.weights for each in (one, other)]
    if not np.array_equal(weights[0], weights[1]):
        raise InputError("the two sets of predictions have different weights")
    return one, other


def _paired_differences(
    a: Question, b: Question, cluster: Ints | None, n_draws: int, rng: np.random.Generator
) -> Float64s:
    both = list(zip((a, b), _same_rows(a, b), strict=True))
    n = len(both[0][1])
    if a.is_of_sums:
        unit, n_units = unit_of_rows(cluster, n, rng)
        counts = drawn_counts(n_units, n_draws, rng)
        values = [bootstrap.units_of(each, unit, n_units).values(each, counts) for each, _ in both]
    else:
        drawn = (bootstrap.row_draws(n, cluster, rng) for _ in range(n_draws))
        pairs = [[bootstrap.one_value(each, rows.take(taken)) for each, rows in both] for taken in drawn]
        values = list(np.array(pairs).T)
    same = values[0] == values[1]  # inf - inf would be NaN
    with np.errstate(invalid="ignore"):
        return bootstrap.defined(np.where(same, 0.0, values[0] - values[1]))


def _two_sided(differences: Float64s) -> float:
    n = len(differences)
    below, above = np.count_nonzero(differences <= 0), np.count_nonzero(differences >= 0)
    return float(min(1.0, 2 * (1 + min(below, above)) / (1 + n)))


# --- errors -----------------------------------------------------------------------------------------------------------


def _of_errors(
    a: Question, b: Question, cluster: Ints | None, level: float, n_draws: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    seed = int(rng.integers(2**62))  # the same for both models, so that shared noise cancels
    tails = [tails_of(each, cluster, n_draws, np.random.default_rng(seed)) for each in (a, b)]
    together = correlation(tails, cluster, n_draws, rng)

    def ends(at_level: float, refine: bool) -> tuple[float, float]:
        return square_and_add(invert(tails[0], at_level, refine), invert(tails[1], at_level, refine), together)

    ends(level, True)  # tests more candidates
    low, high = ends(level, False)

    def excludes_none(p: float) -> bool:
        low, high = ends(1 - p, False)
        return low > 0 or high < 0

    small, large = 2 / (1 + n_draws), 1.0  # the draws cannot resolve smaller p-values
    limit = round(1 - level, 12)  # 1 - 0.95 is a little more than 0.05, which people compare p with
    if low > 0 or high < 0:
        large = math.nextafter(limit, 0)
    else:
        small = max(small, limit)
    if small < large and excludes_none(small):
        large = small
    while large / small > 1.02:
        middle = math.sqrt(small * large)
        small, large = (small, middle) if excludes_none(middle) else (middle, large)
    return low, high, large


def square_and_add(a: Inverted, b: Inverted, correlation: float) -> tuple[float, float]:
    """Return the interval for a difference of two errors from their own intervals (Zou and Donner 2008).

    The rule takes both estimates to be unbiased. Near 0 an estimate can only be too large, which moves the difference
    towards 0 if the other error is real. So where an error may be 0, the interval reaches at least to the difference
    between 0 and the far end of the other error, given that the first is all noise.
    """

    def reach(one: float, other: float) -> float:
        return math.sqrt(max(one**2 + other**2 - 2 * correlation * one * other, 0.0))

    def largest(other: Inverted, zero: Inverted) -> float:
        above = zero.high - zero.estimate
        noise = min(zero.estimate / above, 1.0) if above > 0 else 1.0  # of the estimate, if its error is 0
        rest = math.sqrt(max(1 - correlation**2, 0.0)) - correlation * noise
        return other.estimate + (other.high - other.estimate) * min(max(rest, 0.0), 1.0)

    difference = a.estimate - b.estimate
    low = difference - reach(a.estimate - a.low, b.high - b.estimate)
    high = difference + reach(a.high - a.estimate, b.estimate - b.low)
    if a.low == 0:
        low = min(low, -largest(b, a))
    if b.low == 0:
        high = max(high, largest(a, b))
    return low, high


def correlation(tails: list[Tails], cluster: Ints | None, n_draws: int, rng: np.random.Generator) -> float:
    """Return a lower bound for the correlation of the two errors, from units drawn for both.

    Noise turns some gaps around, so values resampled around the observed gaps are less correlated than those of new
    samples. A correlation near 0 may therefore be clearly negative; one near 1 may not.
    """
    rows_of = [rows for each in tails if (rows := each.question.rows) is not None]
    unit, n_units = unit_of_rows(cluster, len(rows_of[0]), rng)
    spare = drawn_counts(n_units, n_draws, rng) - 1
    shown = []
    for each, rows in zip(tails, rows_of, strict=True):
        drift = np.asarray(spare @ residuals_by_unit(rows, each.cells, unit, n_units))
        outcomes = each.cells.with_outcomes(each.cells.wy + drift)
        shown.append(each.question.replicates(outcomes, max(each.observed, NARROWEST_SHAPE_BANDWIDTH)))
    deviation = [float(np.std(one)) for one in shown]
    if min(deviation) == 0:
        return 0.0
    seen = float(np.mean((shown[0] - shown[0].mean()) * (shown[1] - shown[1].mean())) / math.prod(deviation))
    return max(seen - (1 - seen) ** 2 * (1 + seen) / 2, -1.0)


# --- many sets of predictions against one baseline on the same rows: what they share is computed once -----------------


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredModel:
    """A calibration error of one model, with the test that gave its interval."""

    interval: Interval
    inverted: Inverted
    tails: Tails


@dataclass(frozen=True, slots=True)
class ErrorContest:
    """Intervals of one calibration error, and of its differences, for models on the same rows.

    All models use the same random seed, so that shared noise cancels.
    """

    metric: str
    cluster: Ints | None
    level: float
    n_draws: int
    seed: int

    def measure(self, predictions: Predictions) -> MeasuredModel:
        """Return the error of one model with its interval."""
        question = ask(self.metric, predictions)
        tails = tails_of(question, self.cluster, self.n_draws, np.random.default_rng(self.seed))
        found = invert(tails, self.level)
        value = question.value()
        return MeasuredModel(
            Interval(found.low, found.high, self.level, value, found.estimate, "inversion", found.note), found, tails
        )

    def difference(self, first: MeasuredModel, second: MeasuredModel) -> tuple[float, float]:
        """Return the ends of the interval for the first error minus the second."""
        rng = np.random.default_rng(self.seed)
        together = correlation([first.tails, second.tails], self.cluster, self.n_draws, rng)
        return square_and_add(first.inverted, second.inverted, together)


def mean_of_rows(values: Float64s, weights: Float64s | None, cluster: Ints | None) -> tuple[float, float, int]:
    """Return a weighted mean over rows, its cluster-robust standard error, and the degrees of freedom.

    The standard error is the jackknife's, which a few heavy clusters do not make too small: a cluster's contribution to
    the mean is divided by the share of the weight without it. Mean and error are infinite if a value is.
    """
    w = np.ones(len(values)) if weights is None else weights
    largest = float(np.max(np.abs(values)))
    if MAX_SQUARED < largest < math.inf:  # such as the log loss of a logit of 1e300, whose square is infinite
        mean, error, df = mean_of_rows(values / largest, weights, cluster)
        return mean * largest, error * largest, df
    mean = float(np.average(values, weights=w))
    if not math.isfinite(mean):
        return mean, math.inf, 1
    share, off = w / w.sum(), w * (values - mean) / w.sum()
    if cluster is not None:
        share, off = (np.bincount(cluster, each).astype(np.float64) for each in (share, off))
    n = len(off)
    jackknife = off / np.maximum(1 - share, 1e-12)
    return mean, float(np.sqrt(np.sum(jackknife**2) * (n - 1) / n)), max(n - 1, 1)
