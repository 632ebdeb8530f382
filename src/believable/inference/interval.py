"""Confidence intervals for any metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from believable import _check
from believable._check import generator, renamed
from believable._types import Ints
from believable.curves.binned import as_html
from believable.errors import InputError
from believable.inference import bootstrap
from believable.inference.clusters import cluster_of_rows, has_several_pairs_per_row
from believable.inference.inversion import Inverted, Tails, invert
from believable.inference.noise import bins_of_units, noise_of_pairs, noise_of_points
from believable.inference.question import Question, ask
from believable.inference.sums import statistic_interval
from believable.metrics import METRICS

Method = Literal["auto", "inversion", "percentile", "bca"]
METHODS = ("auto", "inversion", "percentile", "bca")
WIDENED_BY_TIED_CLASSES = 2**0.5  # classes of one row exclude each other, which at most doubles an error's variance
POINTS_OF_TEST, MAX_POINTS_OF_TEST = 200, 1000  # that stand for the scores while a test is inverted


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval for the value of a metric in the population.

    Attributes
    ----------
    low, high : float
    level : float
    value : float
        The metric of the data. By chance it is too large for errors near 0, so it may lie above `high`.
    estimate : float
        What the value says about the population: for errors, the one at which the observed value is the median of what
        would be seen; otherwise the value itself.
    method : str
        How the interval was made.
    note : str
        What there is to say about it, if anything.
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
    """Confidence interval for the value that a metric has in the population the data come from.

    The plain value of a calibration error is too large near 0, and percentiles of its bootstrap almost never cover the
    truth there. So errors get their interval by inverting a test: the interval holds the true errors that would show
    a value like the observed one. The test simulates data whose true gaps have a given size, and shapes drawn from
    what the observed gaps allow (smooth along the scores, rough, or sparse). The kernel errors are means over pairs of
    rows and have their own variance. Other metrics are bootstrapped.

    Parameters
    ----------
    metric : str or callable
        A name or alias from the table of metrics, or a function of (predictions, actuals) that returns a number.
    predictions, actuals
        Arrays, a `Predictions`, or a statistic the metric can be read from.
    options : dict, optional
        Choices of the metric, such as `{"n_bins": 15}`.
    level : float
    clusters : array-like of shape (n,), optional
        Clusters of rows that belong together (patients, queries): they are resampled as a whole.
    method : {"auto", "inversion", "percentile", "bca"}
        "auto" inverts a test for errors and bootstraps the rest. The percentile bootstrap of an error is there for
        comparison; near perfect calibration it does not cover.
    n_resamples : int
        At least so many; more are drawn where the level asks for it.
    random_state : None, int or numpy Generator
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    Interval

    Notes
    -----
    For errors the lower end is 0 when perfect calibration is not rejected, and the interval is about the error in the
    same bins: bins hide what averages out within them. The lower end of the largest gap (`maximum_calibration_error`)
    comes from the bins' own exact bounds, with their number allowed for; its upper end leans on what the other bins
    show, and is too low where one bin alone is off. From a statistic, and for notions with one pair per row, no row is
    touched, so n does not matter; `debiased_calibration_error` gets the interval of the root mean square error it
    estimates. A statistic does not know which classes belong to one row. That they exclude each other at most doubles
    the variance of an error, so its intervals for several classes are that much wider than for independent ones; those
    of the AUC are as wide as if classes went up and down together; the columns of multilabel predictions are taken as
    independent. Metrics of sums have intervals from a `Summary`: those of 1-D scores, and accuracy and confidence of a
    matrix, by drawing counts of (cell, outcome), the rest from second moments of rows.

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
    n_resamples = max(_check.positive_integer(n_resamples, "n_resamples", 100), int(10 / (1 - level)))
    rng = generator(random_state)
    question = ask(metric, predictions, actuals, sample_weight, options)
    cluster = None
    if question.rows is not None:
        cluster = cluster_of_rows(clusters, predictions, question.rows, sample_weight)
    elif clusters is not None:
        raise InputError(
            "{argument} says which rows belong together; a statistic does not know its rows", argument="clusters"
        )
    value = question.value()
    error = as_error(question)
    if method == "inversion" or (method == "auto" and error is not None):
        if error is None:
            raise InputError(
                "{method='inversion'} is for calibration errors, which are 0 at best; use 'percentile'",
                argument="method",
            )
        found = inverted(error, cluster, level, n_resamples, rng)
        note = found.note or _note(question)
        return Interval(found.low, found.high, level, value, found.estimate, "inversion", note)
    own_interval = None if question.row is None else question.row.interval
    if own_interval is not None and method == "auto":
        if cluster is not None:
            raise InputError(
                "the kernel errors compare rows with each other and know no clusters: leave {argument} out",
                argument="clusters",
            )
        low, high, estimate = own_interval(question.source, level, question.options)
        return Interval(low, high, level, value, estimate, "pairs")
    low, high, how = _bootstrapped(question, cluster, level, method, n_resamples, rng)
    return Interval(low, high, level, value, value, how, _note(question))


def as_error(question: Question) -> Question | None:
    """The question whose test can be inverted: the same, or the error it estimates; None for other metrics."""
    row = question.row
    if row is None or not row.is_halved(question.options):
        return None
    if row.target:
        target = METRICS[row.target]
        defaults = {} if "strategy" in question.options or not row.bins else {"strategy": row.bins}
        kept = {name: value for name, value in question.options.items() if name in target.options}
        return replace(question, row=target, function=target.function, options=defaults | kept)
    return None if question.power is None else question


def inverted(
    question: Question, cluster: Ints | None, level: float, n_draws: int, rng: np.random.Generator
) -> Inverted:
    """The interval of an error, by inverting its test.

    The test looks at points put together, whose error differs a little from that of all: with a billion rows by more
    than the interval is wide. So the ends are moved by that difference.
    """
    tails = tails_of(question, cluster, n_draws, rng)
    found = invert(tails, level)
    if tails.cells.are_bins or tails.observed < tails.plain or question.row is None:
        return found
    moved = question.value() - tails.plain
    low, high, estimate = (
        end if end == 0 else min(max(end + moved, 0.0), question.row.high)
        for end in (found.low, found.high, found.estimate)
    )
    return replace(found, low=min(low, question.value()), high=high, estimate=estimate)  # chance only adds to errors


def tails_of(question: Question, cluster: Ints | None, n_draws: int, rng: np.random.Generator) -> Tails:
    """The test of any candidate for the true error."""
    cells, widened, rows = question.cells(_n_points(question)), 1.0, question.rows
    assert cells is not None
    if rows is not None and cluster is None and not has_several_pairs_per_row(cells.statistic.view):
        rows = None  # each is one pair, independent of the others
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
    """Whether a statistic counted several pairs of each row apart, and no longer knows which belong together."""
    view = question.counted_view
    return view is not None and has_several_pairs_per_row(view)


def _note(question: Question) -> str:
    if not hangs_together(question):
        return ""
    if question.row is not None and question.row.needs == "cells" and question.row.power is None:
        return "as wide as if the classes of a row went up and down together: a statistic does not say how much they do"
    view = question.counted_view
    if view is not None and view.multilabel:
        return "the labels of a row are taken as independent: a statistic does not say which belong together"
    return "as wide as the classes of one row can make it: a statistic does not say which belong together"


def _n_points(question: Question) -> int:
    """How many points: enough to tell a bandwidth, where the error is one."""
    if not question.is_fixed_point:
        return POINTS_OF_TEST
    return int(np.clip(4 / max(question.value(), 1e-9), POINTS_OF_TEST, MAX_POINTS_OF_TEST))


def _bootstrapped(
    question: Question, cluster: Ints | None, level: float, method: str, n_draws: int, rng: np.random.Generator
) -> tuple[float, float, str]:
    if question.is_of_sums:
        if question.rows is None:
            return statistic_interval(question, level, method, n_draws, rng)
        accelerated = method in ("auto", "bca")
        how = "bca" if accelerated else "percentile"
        return *bootstrap.sums_interval(question, cluster, level, n_draws, accelerated, rng), how
    if method == "bca":
        raise InputError(
            "{method='bca'} is for metrics of sums (Brier score, accuracy, …); use 'percentile'", argument="method"
        )
    replicates = None if cluster is not None else bootstrap.statistic_replicates(question, n_draws, rng)
    if replicates is None:
        replicates = bootstrap.row_replicates(question, cluster, n_draws, rng)
    return *bootstrap.percentile_ends(replicates, level), "percentile"
