"""Confidence intervals for any metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from believable import _check
from believable._check import generator, renamed
from believable._kernels import expanded_level
from believable._types import Ints
from believable.curves.binned import as_html
from believable.errors import InputError
from believable.inference import bootstrap
from believable.inference.cells import Cells
from believable.inference.clusters import cluster_of_rows, has_several_pairs_per_row
from believable.inference.functions import (
    SHARE_OF_DRAWS,
    as_error_of_points,
    can_simulate,
    is_error_of_rows,
    tails_of_function,
)
from believable.inference.inversion import Inverted, Tails, invert
from believable.inference.noise import bins_of_units, noise_of_pairs, noise_of_points, with_soft_labels
from believable.inference.question import Question, ask
from believable.inference.sums import statistic_interval
from believable.metrics import METRICS

Method = Literal["auto", "inversion", "percentile", "bca"]
METHODS = ("auto", "inversion", "percentile", "bca")
WIDENED_BY_TIED_CLASSES = 2**0.5  # classes of one row exclude each other, which at most doubles an error's variance
MAX_DRAWS_FOR_LEVEL = 100_000  # a high level needs more draws, but gets no more than this
# With many cells, draws cost more and each tells more, so there are fewer, but not fewer than this share.
NUMBERS_PER_CANDIDATE, LEAST_SHARE_OF_DRAWS = 300_000, 0.4
ROWS_OF_SPARSE_BIN = 3
NOTE_OF_SPARSE_BINS = "half of the bins hold three rows or fewer: the interval relies on what classes have in common"
MIN_CLUSTERS = 6  # fewer hardly show how much clusters differ, and a note says so
NOISE_RAISES_IT = (
    "do not trust this interval near perfect calibration: noise alone raises the error, so its bootstrap lies too high"
)
NOISE_MOVES_IT = "do not trust this interval: resampling alone moves the value, so the function is biased by noise"
MOST_REPLICATES = 0.9  # where more lie on one side of the value, resampling is said to move it
POINTS_OF_TEST, MAX_POINTS_OF_TEST = 200, 1000  # scores are merged into about this many points while a test is inverted


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval for the value of a metric in the population.

    Attributes
    ----------
    low, high : float
        Ends of the interval.
    level : float
        Confidence level.
    value : float
        The metric of the data. Sampling noise inflates errors near 0, so the value may lie above `high`.
    estimate : float
        Estimate of the population value. For calibration errors, the true error for which the observed value would be
        the median; otherwise the value itself.
    method : str
        How the interval was computed.
    note : str
        A remark about the interval; mostly empty.
    """

    low: float
    high: float
    level: float
    value: float
    estimate: float
    method: str
    note: str = ""

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"{self.value:.4f}, {100 * self.level:.4g} % interval {self.low:.4f} … {self.high:.4f}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        row = [f"{self.value:.4f}", f"{self.low:.4f} to {self.high:.4f}", f"{self.estimate:.4f}", self.method]
        header = ["value", f"{100 * self.level:.4g} % interval", "estimate", "method"]
        return as_html(header, [row], after=[self.note] if self.note else [])


@renamed(groups="clusters")
def interval(
    metric: str | Callable[..., Any],
    predictions: Any,
    actuals: Any = None,
    *,
    options: Mapping[str, Any] | None = None,
    level: float = 0.95,
    clusters: Any = None,
    method: Method = "auto",
    n_resamples: int = 1000,
    random_state: Any = None,
    sample_weight: Any = None,
) -> Interval:
    """Compute a confidence interval for the population value of a metric.

    The plug-in value of a calibration error is biased upwards near 0, and its percentile bootstrap almost never covers
    the true value there. Intervals of calibration errors therefore come from inverting a test: they contain the true
    errors for which a value like the observed one is plausible. The test simulates data whose true gaps have a given
    size, with shapes drawn from what the observed gaps allow (smooth along the scores, rough,
    sparse, or in one place). Classes may share a shape.

    Metrics of sums (Brier score, log loss, O:E) are bootstrapped, with bias-corrected and accelerated quantiles that
    are expanded by Student's t. Where a bootstrap covers too rarely, another method is used: "wilson" for accuracy,
    "delong" for the AUC, "profile" for slope and calibration-in-the-large, and "jackknife" for the Brier skill score
    (see their docstrings), and for metrics of sums with fewer than 40 clusters: the value plus and minus t standard
    errors, with Satterthwaite's degrees of freedom. The kernel errors are means over pairs of rows and use the variance
    of such means ("pairs"). Other metrics, and functions of your own, get percentiles of resampled rows.

    A function of your own is called on simulated rows to find out whether it is a calibration error: never negative,
    nearly 0 for calibrated outcomes without noise, larger with more noise, and the same when all rows are repeated. If
    so, its test is inverted, with labels drawn for the given scores; this takes several thousand calls, and needs 1-D
    scores, labels 0 and 1, and independent rows without weights. Otherwise it is bootstrapped. `note` says if noise
    moves it, so that the interval is not to be trusted.

    Parameters
    ----------
    metric : str or callable
        A name or alias from the table of metrics, or a function of (predictions, actuals) that returns a number.
    predictions, actuals
        Arrays, a `Predictions`, or a statistic that holds what the metric needs.
    options : dict, optional
        Options of the metric, such as `{"n_bins": 15}`.
    level : float
        Confidence level.
    clusters : array-like of shape (n,), optional
        The cluster of each row, if rows belong together (patients, queries): clusters are resampled, or left out, as a
        whole. With fewer than six, the interval is rough, and its note says so.
    method : {"auto", "inversion", "percentile", "bca"}
        "auto" chooses as described above; the others force a method. The percentile bootstrap of a calibration error is
        offered for comparison; near perfect calibration it does not cover the true value.
    n_resamples : int
        Number of resampled data sets; more are drawn if the level requires it, and down to 40 % of them if there are
        several hundred bins. For each candidate for the true value of a function, a quarter of them.
    random_state : None, int or numpy Generator
        Random seed, for reproducible results.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    Returns
    -------
    Interval
        The interval, with the value and the estimate.

    Notes
    -----
    For calibration errors, the lower end is 0 if perfect calibration is not rejected. The interval covers the error in
    the same bins, which hide what averages out within them; for another library's `convention`, in the bins that it
    makes of these scores. The sweep error chooses its bins anew in each simulated data set.
    `debiased_calibration_error` has the interval of the root mean square error that it estimates.

    For the largest gap (`maximum_calibration_error`), the lower end comes from exact bounds of the single bins,
    corrected for their number. The upper end borrows strength from the other bins, and is too low if only one bin is
    miscalibrated.

    Soft labels vary less than labels of 0 and 1, so their intervals are narrower. A statistic does not record how much
    less: its soft labels count as one label each.

    With many classes, most bins hold a few rows, and noise makes up most of the value. The interval is valid but wide,
    and a note says so if half of the bins hold three rows or fewer.

    From a statistic, and for notions with one pair per row, the cost does not depend on the number of rows. A statistic
    does not record which classes belong to one row. Because classes exclude each other, the variance of an error may
    double at most, and its intervals for several classes are widened accordingly. Those of the AUC assume that classes
    are perfectly correlated; those of multilabel predictions that columns are independent.

    Metrics of sums have intervals from a `Summary`: for 1-D scores, and for accuracy and confidence of a matrix, by
    resampling counts of (cell, outcome); for the others from second moments of rows.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> found = interval("ece", p, rng.random(1000) < p, random_state=0)
    >>> found.low, found.high < 0.06
    (0.0, True)
    """
    _check.choice(method, METHODS, "method")
    _check.level(level)
    least = min(int(10 / (1 - level)), MAX_DRAWS_FOR_LEVEL)
    n_resamples = max(_check.positive_integer(n_resamples, "n_resamples", 100), least)
    rng = generator(random_state)
    question = ask(metric, predictions, actuals, sample_weight, options)
    cluster = None
    if question.rows is not None:
        cluster = cluster_of_rows(clusters, predictions, question.rows, sample_weight)
    elif clusters is not None:
        raise InputError(
            "{argument} needs the predictions: a statistic does not record which rows belong together",
            argument="clusters",
        )
    value = question.value()
    error = as_error(question)
    if error is not None and method in ("auto", "inversion"):
        found = inverted(error, cluster, level, n_resamples, rng)
        note = found.note or _note(question) or _note_on_clusters(cluster)
        return Interval(found.low, found.high, level, value, found.estimate, "inversion", note)
    note = _note(question) or _note_on_clusters(cluster)
    if method == "auto" and (estimate := question.own_interval(level, cluster)) is not None:
        return Interval(estimate.low, estimate.high, level, value, estimate.value, estimate.method, note)
    is_noisy = method in ("auto", "inversion") and is_error_of_rows(question, rng)
    if is_noisy and can_simulate(question, cluster):
        draws = max(int(n_resamples * SHARE_OF_DRAWS), least)
        found = invert(tails_of_function(as_error_of_points(question), draws, rng), level)
        return Interval(found.low, found.high, level, value, found.estimate, "inversion", found.note)
    if method == "inversion":
        supports = "calibration errors only"
        if is_noisy:
            supports = "this error for 1-D scores with labels 0 and 1 only, without clusters and weights"
        raise InputError("{method='inversion'} supports {what}; use 'percentile'", argument="method", what=supports)
    low, high, how, moved = _bootstrapped(question, cluster, level, method, n_resamples, rng)
    return Interval(low, high, level, value, value, how, NOISE_RAISES_IT if is_noisy else moved or note)


def as_error(question: Question) -> Question | None:
    """Return the question whose test can be inverted: the same, or the error it estimates; None for other metrics."""
    row = question.row
    if row is not None and not row.is_halved(question.options) and row.in_halves is not None:
        options = row.in_halves(question.source, question.options)
        question = question if options is None else replace(question, options=options)
    if row is None or not row.is_halved(question.options):
        return None
    if row.target:
        target = METRICS[row.target]
        options = row.defaults | question.options
        kept = {name: value for name, value in options.items() if name in target.options}
        return replace(question, row=target, function=target.function, options=kept)
    return None if question.power is None else question


def inverted(
    question: Question, cluster: Ints | None, level: float, n_draws: int, rng: np.random.Generator
) -> Inverted:
    """Return the interval of an error, by inverting its test.

    The test uses merged points, whose error differs a little from that of all points; with a billion rows, by more than
    the interval is wide. The ends are therefore moved by that difference.
    """
    tails = tails_of(question, cluster, n_draws, rng)
    found = invert(tails, level)
    if not found.note and _are_sparse(tails.cells):
        found = replace(found, note=NOTE_OF_SPARSE_BINS)
    if tails.cells.are_bins or tails.observed < tails.plain or question.row is None:
        return found
    moved = question.value() - tails.plain
    low, high, estimate = (
        end if end == 0 else min(max(end + moved, 0.0), question.row.high)
        for end in (found.low, found.high, found.estimate)
    )
    return replace(found, low=min(low, question.value()), high=high, estimate=estimate)  # noise only adds to errors


def _are_sparse(cells: Cells) -> bool:
    """Return whether most bins of several classes or ranks hold so few rows that each says hardly anything."""
    several = cells.stratum[0] != cells.stratum[-1]
    return cells.are_bins and several and float(np.median(cells.n)) <= ROWS_OF_SPARSE_BIN


def tails_of(question: Question, cluster: Ints | None, n_draws: int, rng: np.random.Generator) -> Tails:
    """Return the test of candidates for the true error."""
    cells, widened, rows = question.cells(_n_points(question)), 1.0, question.rows
    assert cells is not None
    if rows is not None:
        cells = with_soft_labels(rows, cells)
    n_draws = max(math.ceil(LEAST_SHARE_OF_DRAWS * n_draws), min(n_draws, NUMBERS_PER_CANDIDATE // len(cells)))
    if rows is not None and cluster is None and not has_several_pairs_per_row(cells.statistic.view):
        rows = None  # each row is one pair, independent of the others, so cells suffice
    if rows is not None and cells.are_bins:
        cells, widened = bins_of_units(question, rows, cells, cluster, n_draws, rng)
    if hangs_together(question) and not cells.statistic.view.multilabel:
        widened = WIDENED_BY_TIED_CLASSES
    if rows is not None and not cells.are_bins:
        variance, noise = noise_of_points(rows, cells, cluster, n_draws, rng)
    else:
        variance, noise = noise_of_pairs(cells, n_draws, rng)
    return Tails(question, cells, variance, noise, n_draws, rng, widened)


def hangs_together(question: Question) -> bool:
    """Return whether a statistic counted several pairs per row, and so does not record which belong together."""
    view = question.counted_view
    return view is not None and has_several_pairs_per_row(view)


def _note(question: Question) -> str:
    if not hangs_together(question):
        return ""
    if question.row is not None and question.row.needs == "cells" and question.row.power is None:
        return "assumes that classes are perfectly correlated: a statistic does not record which belong to one row"
    view = question.counted_view
    if view is not None and view.multilabel:
        return "assumes that labels are independent: a statistic does not record which belong to one row"
    return "conservative: a statistic does not record which classes belong to one row"


def _note_on_clusters(cluster: Ints | None) -> str:
    n = MIN_CLUSTERS if cluster is None else len(np.unique(cluster))
    return "" if n >= MIN_CLUSTERS else f"rough: {n} clusters hardly show how much clusters differ"


def _n_points(question: Question) -> int:
    """Return the number of points: enough to resolve the bandwidth, if the error is one."""
    if not question.is_fixed_point:
        return POINTS_OF_TEST
    return int(np.clip(4 / max(question.value(), 1e-9), POINTS_OF_TEST, MAX_POINTS_OF_TEST))


def _bootstrapped(
    question: Question, cluster: Ints | None, level: float, method: str, n_draws: int, rng: np.random.Generator
) -> tuple[float, float, str, str]:
    """Return the ends, how they were computed, and a note."""
    if question.is_of_sums:
        if question.rows is None:
            return *statistic_interval(question, level, method, n_draws, rng), ""
        return *bootstrap.sums_interval(question, cluster, level, method, n_draws, rng), ""
    if method == "bca":
        raise InputError(
            "{method='bca'} supports metrics of sums only (Brier score, accuracy, …); use 'percentile'",
            argument="method",
        )
    replicates = None if cluster is not None else bootstrap.statistic_replicates(question, n_draws, rng)
    if replicates is None:
        replicates = bootstrap.row_replicates(question, cluster, n_draws, rng)
    value = question.value()
    sides = np.mean(replicates > value), np.mean(replicates < value)
    note = NOISE_MOVES_IT if question.row is None and max(sides) > MOST_REPLICATES else ""
    wider = level if cluster is None else expanded_level(level, len(np.unique(cluster)))
    return *bootstrap.percentile_ends(replicates, wider), "percentile", note
