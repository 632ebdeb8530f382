"""Calibration errors that are known only as functions: whether a function is one, and how its test is simulated.

A statistic cannot be resampled in place of the rows, so the function is called on simulated rows.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from believable._types import Float64s, Int64s, Ints
from believable.inference.bootstrap import defined, one_value
from believable.inference.cells import Cells
from believable.inference.inversion import Tails, shapes_of_gaps
from believable.inference.null import LabelDraws
from believable.inference.question import Question
from believable.metrics import METRICS
from believable.predictions import Predictions
from believable.stats.source import PointStats, count_points, one_stratum

DRAWS_OF_NATURE = 60  # calibrated data sets by which a function is recognised
TIMES_REPEATED = 8  # with an eighth as many rows, an error is nearly three times as large by chance
GROWTH_OF_ERRORS = 1.5  # functions that grow less by that are not calibration errors
DRIFT_OF_ERRORS = 0.2  # functions that change more when all rows are repeated depend on the number of rows itself
SHARE_LEFT = 0.25  # of an error's mean size for calibrated scores, that may be left without noise
TIMES_ENLARGED = 8  # rows are repeated this often to compute the error of given rates, which labels approximate
SHAPES_FOR_POWER = 30  # shapes by which the growth of a function with the gaps is measured
AN_ERROR_OF_POINTS = "kolmogorov_smirnov_calibration_error"  # a function has its facts, except for those replaced
POINTS_OF_FUNCTION = 2000  # more distinct scores are merged
SHARE_OF_DRAWS = 0.25  # a function is called for each draw and each candidate, so that fewer draws have to do


def is_error_of_rows(question: Question, rng: np.random.Generator) -> bool:
    """Return whether rows are needed for a calibration error: by the table of metrics, or as the function behaves.

    A function is computed for labels drawn from the scores, for these rows twice over, and for an eighth of them, each
    repeated eight times with its label. A calibration error is never negative, stays the same when all rows are
    repeated, and grows as the noise does. A Brier score or an AUC stays the same on average, a signed error has both
    signs, and a chi-squared statistic doubles with the rows. For one event it must also nearly vanish if every range of
    scores has as many events as the scores say.
    """
    rows, row = question.rows, question.row
    if rows is None:
        return False
    if row is not None:
        return row.in_halves is not None and not row.is_halved(question.options)
    draws, values = LabelDraws(rows, rng), []
    for _ in range(DRAWS_OF_NATURE):
        drawn = rows.relabelled(draws.draw())
        few = rng.permutation(len(rows))[: math.ceil(len(rows) / TIMES_REPEATED)]
        repeated = drawn.take(np.resize(few, len(rows)))
        twice = drawn.take(np.resize(np.arange(len(rows)), 2 * len(rows)))
        values.append([_value_or_nan(question, one) for one in (drawn, repeated, twice)])
    found = np.array(values)
    found = found[np.isfinite(found).all(axis=1)]
    if len(found) < DRAWS_OF_NATURE / 2 or found.min() < 0:
        return False
    before, after, doubled = found.mean(axis=0)
    if after <= GROWTH_OF_ERRORS * before or abs(doubled - before) > DRIFT_OF_ERRORS * before:
        return False
    if rows.kind != "binary" or rows.weights is not None:
        return True
    points = one_stratum(count_points(rows), "a function")
    return bool(_value_at(question, points.score, points.n, points.n * points.score) < SHARE_LEFT * before)


def _value_or_nan(question: Question, source: Any) -> float:
    """Return the function of simulated rows; NaN if it fails, as a foreign function may where one class is absent."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return question.value(source)
    except Exception:  # anything may be raised there, and the data themselves will raise it again
        return math.nan


def can_simulate(question: Question, cluster: Ints | None) -> bool:
    """Return whether rows can be simulated at other rates: independent rows of one event, without weights."""
    rows = question.rows
    assert rows is not None
    plain = rows.kind == "binary" and rows.weights is None and cluster is None
    return plain and bool(np.isin(rows.labels, (0, 1)).all())  # soft labels lie between


def as_error_of_points(question: Question) -> Question:
    """Return the same error as a metric with two halves: points are counted, and turned into rows for each call."""

    def counts(source: Any) -> PointStats:
        return count_points(source)

    def says(stats: PointStats) -> Float64s:
        points = one_stratum(stats, "a function")
        stacked = points.wy.reshape(-1, len(points.score))
        values = [_value_at(question, points.score, points.n, events * (points.n / points.w)) for events in stacked]
        return np.asarray(values).reshape(points.wy.shape[:-1])

    row = replace(
        METRICS[AN_ERROR_OF_POINTS],
        name=getattr(question.function, "__name__", "metric"),
        alias="",
        function=question.function,
        counts=counts,
        says=says,
        high=math.inf if question.row is None else question.row.high,
        kinds=("binary",),
    )
    return Question(question.function, row, {}, question.source)


def tails_of_function(error: Question, n_draws: int, rng: np.random.Generator) -> Tails:
    """Return the test of candidates for the true error: outcomes are drawn at their rates, scores stay."""
    assert error.row is not None
    cells = error.cells(POINTS_OF_FUNCTION)
    assert cells is not None

    def drawn(rate: Float64s | None, again: np.random.Generator) -> tuple[Float64s, None]:
        chance = np.broadcast_to(cells.conf if rate is None else rate, (n_draws, len(cells)))
        if cells.n.max() == 1:
            events = (again.random(chance.shape) < chance).astype(np.float64)
        else:
            events = again.binomial(cells.n, np.clip(chance, 0, 1)).astype(np.float64)
        return cells.w / cells.n * events, None

    rate = (cells.wy + cells.conf + 0.25) / (cells.w + 1.5)
    variance = np.maximum(np.maximum(cells.variance(rate), cells.variance(cells.conf)), 1e-6) / cells.size
    power = _power(error, cells, variance, rng)
    return Tails(replace(error, row=replace(error.row, power=power)), cells, variance, drawn, n_draws, rng)


def _value_at(question: Question, score: Float64s, n: Int64s, events: Float64s) -> float:
    """Return the function of rows with these scores, of which so many have the event.

    Numbers of events that are not whole belong to rates: all rows are repeated, and labels are given to neighbouring
    scores in turn, so that the number of events in any range of scores is right to less than one.
    """
    if not np.array_equal(events, np.rint(events)):
        n, events = n * TIMES_ENLARGED, events * TIMES_ENLARGED
    whole = np.diff(np.floor(np.cumsum(events) + 0.5 + 1e-9), prepend=0.0)
    whole = np.clip(whole, 0, n).astype(np.int64)
    times = n.astype(np.intp)
    scores = np.repeat(score, times)
    labels = np.zeros(len(scores), np.int64)
    within = np.arange(len(scores)) - np.repeat(np.cumsum(times, dtype=np.intp) - times, times)
    labels[within < np.repeat(whole, times)] = 1
    return one_value(question, Predictions(scores, labels))


def _power(error: Question, cells: Cells, variance: Float64s, rng: np.random.Generator) -> float:
    """Return the degree to which the function grows with the gaps, rounded to a half."""
    shapes = np.clip(cells.conf + shapes_of_gaps(cells, variance, SHAPES_FOR_POWER, rng), 0, 1) - cells.conf
    whole, half = (
        error.replicates(cells.with_outcomes(cells.w * (cells.conf + times * shapes))) for times in (1.0, 0.5)
    )
    known = (whole > 0) & (half > 0)
    if not known.any():
        return 1.0
    return float(np.clip(np.rint(2 * np.log2(np.median(defined(whole[known] / half[known])))) / 2, 0.5, 4))
