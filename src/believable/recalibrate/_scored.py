"""Log loss, Brier score, ECE and smECE of cross-fitted predictions, and what was gained over doing nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from believable import _check, kernels
from believable._random import generator
from believable._types import Float64s
from believable.errors import InputError
from believable.inference._versus import ErrorContest, Measured, mean_of_rows
from believable.inference.interval import Interval
from believable.recalibrate._crossfit import Mapped, Problem

Score = Literal["log_loss", "brier"]
SCORES: tuple[Score, ...] = get_args(Score)
ERRORS = {"ece": "expected_calibration_error", "smece": "smooth_calibration_error"}
METRICS = (*SCORES, *ERRORS)
WORDS = {"log_loss": "log loss", "brier": "Brier score", "ece": "ECE", "smece": "smECE"}


@dataclass(frozen=True, slots=True)
class Gain:
    """How much lower a score or error became.

    Attributes
    ----------
    value : float
        Before less after: positive is better.
    low, high, level : float
        Interval for it in the population. An error is too large by chance, before and after differently, so for errors
        the value may lie outside.
    standard_error : float
        Of `value`, for means over rows; NaN for errors.
    """

    value: float
    low: float
    high: float
    level: float
    standard_error: float = math.nan

    @property
    def is_sure(self) -> bool:
        """Whether the interval lies above 0."""
        return self.low > 0

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        if math.isfinite(self.value):
            return f"{self.value:+.4f} ({self.low:+.4f} … {self.high:+.4f})"
        return {math.inf: "infinite before", -math.inf: "infinite after"}.get(self.value, "–")


@dataclass(frozen=True, slots=True)
class Scored:
    """Some predictions in numbers.

    Attributes
    ----------
    values : dict
        An `Interval` for each of "log_loss", "brier", "ece" and "smece" (of the errors, those that were asked for).
    gains : dict
        A `Gain` over the baseline for each of them; NaN in errors over a baseline that has none.
    """

    values: Mapping[str, Interval]
    gains: Mapping[str, Gain]


class Judge:
    """Scores predictions for one problem; the baseline is scored once."""

    def __init__(
        self,
        problem: Problem,
        level: float,
        n_resamples: int,
        random_state: Any,
        errors: Sequence[str] = tuple(ERRORS),
    ) -> None:
        self.problem, self.level = problem, _check.level(level)
        n_draws = _check.positive_integer(n_resamples, "n_resamples", 100)
        seed = int(generator(random_state).integers(2**62))
        self.contests = {name: ErrorContest(ERRORS[name], problem.cluster, level, n_draws, seed) for name in errors}
        # The shares of the classes have no error in the rows they were counted in: nothing to compare with.
        compared = problem.input != "scores"
        before = problem.baseline.predictions
        self.measured = {name: contest.measure(before) for name, contest in self.contests.items() if compared}

    def baseline(self) -> Scored:
        """The predictions when nothing is done."""
        values: dict[str, Interval] = {score: self._mean(self.problem.baseline, score) for score in SCORES}
        none = Interval(0.0, 0.0, self.level, 0.0, 0.0, "none", "the shares of the classes in these rows have no error")
        values |= {name: self.measured[name].interval if self.measured else none for name in self.contests}
        return Scored(values, {name: Gain(0.0, 0.0, 0.0, self.level, 0.0) for name in values})

    def score(self, mapped: Mapped) -> Scored:
        """Other predictions for the same rows."""
        values: dict[str, Interval] = {}
        gains: dict[str, Gain] = {}
        for score in SCORES:
            values[score] = self._mean(mapped, score)
            gains[score] = loss_gain(self.problem.baseline, mapped, score, self.problem, self.level)
        for name, contest in self.contests.items():
            error = contest.measure(mapped.predictions)
            values[name], gains[name] = error.interval, self._gain_in_error(name, error)
        return Scored(values, gains)

    def _mean(self, mapped: Mapped, score: Score) -> Interval:
        return interval_of(row_losses(mapped, score), self.problem, self.level)

    def _gain_in_error(self, name: str, after: Measured) -> Gain:
        if not self.measured:
            return Gain(math.nan, math.nan, math.nan, self.level)
        before = self.measured[name]
        low, high = self.contests[name].difference(before, after)
        return Gain(before.interval.value - after.interval.value, low, high, self.level)


def loss_gain(first: Mapped, second: Mapped, score: Score, problem: Problem, level: float) -> Gain:
    """How much lower the mean loss became. Infinite losses are counted: fewer of them is a gain."""
    before, after = row_losses(first, score), row_losses(second, score)
    if not (np.isfinite(before).all() and np.isfinite(after).all()):
        fewer = int(np.isinf(before).sum()) - int(np.isinf(after).sum())
        value = math.copysign(math.inf, fewer) if fewer else math.nan
        return Gain(value, value, value, level, math.inf)
    value, error, df = mean_of_rows(before - after, problem.weights, problem.cluster)
    reach = _quantile(level, df) * error
    return Gain(value, value - reach, value + reach, level, error)


def interval_of(losses: Float64s, problem: Problem, level: float) -> Interval:
    """The mean of losses per row."""
    value, error, df = mean_of_rows(losses, problem.weights, problem.cluster)
    if not math.isfinite(value):
        rows = int(np.isinf(losses).sum())
        note = f"in {rows} rows something happened that had a probability of 0"
        return Interval(value, value, level, value, value, "mean", note)
    reach = _quantile(level, df) * error
    return Interval(max(value - reach, 0.0), value + reach, level, value, value, "mean")


def row_losses(mapped: Mapped, score: Score) -> Float64s:
    """The loss of each row."""
    if score == "log_loss":
        return mapped.log_loss
    p, labels = mapped.predictions.scores, mapped.predictions.labels
    if p.ndim == 1:
        return np.asarray((p.astype(np.float64) - labels) ** 2)
    happened = kernels.label_scores(p, labels).astype(np.float64)
    return np.asarray(np.einsum("ij,ij->i", p, p, dtype=np.float64) - 2 * happened + 1)


def check_errors(errors: Any) -> tuple[str, ...]:
    """Names of calibration errors, each once."""
    if isinstance(errors, str):
        raise InputError(f"errors must be a sequence such as ('ece',), got the text {errors!r}")
    for name in errors:
        _check.choice(name, tuple(ERRORS), "errors")
    return tuple(dict.fromkeys(errors))


def check_score(score: Any) -> Score:
    """A proper score by its name."""
    if score in ERRORS:
        raise InputError(
            f"score={score!r} is not a proper score: a constant can have no calibration error; choose 'log_loss' or "
            "'brier' (ECE and smECE are shown beside them)"
        )
    _check.choice(score, SCORES, "score")
    return score  # type: ignore[no-any-return]


def _quantile(level: float, df: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(df, (1 + level) / 2))
