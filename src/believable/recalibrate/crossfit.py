"""Cross-fitting: recalibrate every row with a map fitted on other rows, and measure what that gains."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from believable import _check, _kernels
from believable._check import generator
from believable._types import Array, Float64s, Floats, Ints
from believable.errors import Hint, InputError, LimitWarning, SmallSampleWarning
from believable.inference.clusters import cluster_of_rows, rows_that_count
from believable.inference.compare import ErrorContest, MeasuredModel, mean_of_rows
from believable.inference.interval import Interval
from believable.predictions import Predictions
from believable.recalibrate._estimators import clone
from believable.recalibrate.base import Recalibrator, normalised
from believable.recalibrate.inputs import INPUTS, Input, Scores
from believable.recalibrate.linear import label_log_probability
from believable.stats import CellStats
from believable.stats.levels import named_columns
from believable.stats.sums import log_loss_terms

MAX_DRAWS_OF_FOLDS = 20
SLIGHT_SKEWNESS, MOST_SKEWNESS = 1e-6, 0.35
ROUNDING_OF_ROW_SUMS = 1e-6  # a row whose sum differs from 1 by less is taken to sum to 1


@dataclass(frozen=True, slots=True, eq=False)
class Mapped:
    """Recalibrated predictions, with the log loss of each row, computed before probabilities are rounded.

    `share_fitted` is the share that was fitted: 1 for a map, 0 for the scores as they are, between for an average.
    """

    predictions: Predictions
    log_loss: Float64s
    share_fitted: float = 1.0


class FoldSettings(NamedTuple):
    """The scale of the scores and how rows are assigned to folds; see `select`."""

    input: Input = "probabilities"
    classes: Sequence[Any] | None = None
    cv: int = 5
    clusters: Any = None
    sample_weight: Any = None
    random_state: Any = 0
    by: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class RowsInFolds:
    """The rows to recalibrate, checked, each with its fold.

    Attributes
    ----------
    scores : ndarray
        A copy of the scores, in the form that recalibrators take.
    input : {"probabilities", "logits", "scores"}
        The scale of the scores.
    baseline : Mapped
        The predictions without recalibration; for scores that are not probabilities, the share of each class.
    cluster : ndarray or None
        The cluster of each row.
    fold : ndarray
        The fold of each row, from 0.
    columns : dict of str to ndarray
        The columns of segments.
    """

    scores: Floats
    input: Input
    baseline: Mapped
    cluster: Ints | None
    fold: Ints
    columns: Mapping[str, Array] = field(default_factory=dict)

    @classmethod
    def of(
        cls, predictions: Any, actuals: Any, settings: FoldSettings, *, predicted_classes: bool = False
    ) -> RowsInFolds:
        """Check the data and settings once, and assign rows to folds.

        `predicted_classes` allows probabilities that are all 0 or 1, as those of a fully grown tree are.
        """
        input, classes, cv, clusters, sample_weight, random_state, by = settings
        _check.choice(input, INPUTS, "input")
        n_folds = _check.positive_integer(cv, "cv", 2)
        if isinstance(predictions, CellStats):
            raise InputError(
                "cells cannot be split into folds, so methods cannot be compared on them: choose a recalibrator, and "
                "fit it with fit_from_cells"
            )
        given = isinstance(predictions, Predictions)
        source = predictions if given else _checked(predictions, actuals, sample_weight, input, classes)
        _refuse(source, given, actuals, input)
        if input == "probabilities" and not predicted_classes:
            _check.refuse_predicted_classes(source.scores)
        values = source.scores if input == "probabilities" else _rows_that_count(predictions, sample_weight)
        counts = np.bincount(source.labels)
        if np.count_nonzero(counts > 1) < 2:
            raise InputError("recalibration needs two classes with at least two rows each, to split into folds")
        if input == "scores" and values.ndim == 2:
            _need_two_rows_each(source)
        cluster = cluster_of_rows(clusters, predictions, source, sample_weight)
        columns = _columns(by, predictions, source, sample_weight)
        fold = folds(source.labels, cluster, n_folds, generator(random_state), every_class=input == "scores")
        return cls(values, input, _baseline(source, values, input), cluster, fold, columns)

    @property
    def labels(self) -> Ints:
        """The label of each row, as a column number."""
        return self.baseline.predictions.labels

    @property
    def weights(self) -> Float64s | None:
        """The weight of each row, or None."""
        return self.baseline.predictions.weights

    def fit(self, method: Recalibrator, rows: Array | slice = slice(None)) -> Recalibrator:
        """Return a clone of a method, set to the scale and classes of these scores, fitted on some of the rows."""
        names = self.baseline.predictions.classes
        if names is not None and len({isinstance(name, str) for name in names}) > 1:
            names = None  # NumPy would turn a mix of numbers and text into text, so use column numbers instead
        model: Recalibrator = clone(method).set_params(input=input_of(method, self.input))
        if names is not None:
            model.set_params(classes=list(names))
        labels = self.labels[rows]
        weights = None if self.weights is None else self.weights[rows]
        cluster = None if self.cluster is None else np.unique(self.cluster[rows], return_inverse=True)[1]
        named = labels if names is None else np.asarray(names)[labels]
        if model.reads_columns:
            return model.fit(self.scores[rows], named, weights, by=self.by(rows), clusters=cluster)  # type: ignore[call-arg]
        return model._fit_to_model(self.scores[rows], named, weights, cluster)

    def by(self, rows: Array | slice) -> dict[str, Array]:
        """Return the columns of segments of some of the rows."""
        if not self.columns:
            raise InputError("{argument} is missing: the method needs the columns of segments", argument="by")
        return {name: values[rows] for name, values in self.columns.items()}

    def cross_fitted(self, method: Recalibrator) -> Mapped:
        """Recalibrate every row with a map fitted on the other folds, which do not contain its cluster either."""
        out, loss = np.empty(self.scores.shape), np.empty(len(self.scores))
        with quietly():  # warnings are about one fold; a fit on all rows warns by itself
            for k in range(int(self.fold.max()) + 1):
                rows = np.flatnonzero(self.fold == k)
                by = {"by": self.by(rows)} if method.reads_columns else {}
                p = self.fit(method, self.fold != k).predict_proba(self.scores[rows], **by)
                out[rows] = p if out.ndim == 2 else p[:, 1]
                with np.errstate(divide="ignore"):
                    loss[rows] = -np.log(p[np.arange(len(rows)), self.labels[rows]])
        out.flags.writeable = False
        changes = method._facts().simplicity > 0  # only the identity is 0
        return Mapped(self.baseline.predictions.trusting(scores=out, borrowed=False), loss, float(changes))


@contextmanager
def quietly() -> Iterator[None]:
    """Silence the advice of recalibrators about few rows and limits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        warnings.simplefilter("ignore", SmallSampleWarning)
        yield


def _columns(by: Any, predictions: Any, source: Predictions, sample_weight: Any) -> dict[str, Array]:
    """Return the columns of segments by name, without rows of weight 0."""
    return {
        name: rows_that_count(values, f"by {name!r}", predictions, source, sample_weight)
        for name, values in ({} if by is None else named_columns(by)).items()
    }


def input_of(method: Recalibrator, input: Input) -> Input:
    """Return the scale that a method takes scores for: raw scores may be tried as logits."""
    return "logits" if (input, method.input) == ("scores", "logits") else input


def folds(
    labels: Ints, cluster: Ints | None, n_folds: int, rng: np.random.Generator, every_class: bool = False
) -> Ints:
    """Return the fold of each row: random, with equal numbers of rows, or of clusters, which are kept together.

    Rows are not stratified by class. If every fold had the base rate of the others, a map would predict the rate of the
    rows left out better than that of new rows, and its gain would be overstated by about one parameter's worth. Only
    where chance keeps leaving a single class to fit on, or with `every_class` not all of them, are classes dealt out
    evenly.
    """
    unit = np.arange(len(labels)) if cluster is None else cluster
    n_units = int(unit.max()) + 1
    if cluster is not None and n_units < n_folds:
        raise InputError(
            "{argument} has {got} clusters, too few for {cv=} folds", argument="clusters", got=n_units, cv=n_folds
        )
    of_unit = np.empty(n_units, np.intp)
    for _ in range(MAX_DRAWS_OF_FOLDS):
        of_unit[rng.permutation(n_units)] = np.arange(n_units) % n_folds
        if _leaves_classes(labels, of_unit[unit], n_folds, every_class):
            return of_unit[unit]
    return _even_folds(labels, n_folds, rng) if cluster is None else _even_folds_of(cluster, labels, n_folds, rng)


def _even_folds(labels: Ints, n_folds: int, rng: np.random.Generator) -> Ints:
    """Deal out the rows of each class evenly."""
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    fold = np.empty(len(labels), np.intp)
    fold[order] = np.arange(len(labels)) % n_folds
    return fold


def _even_folds_of(cluster: Ints, labels: Ints, n_folds: int, rng: np.random.Generator) -> Ints:
    """Deal out clusters so that each class is spread over the folds, or raise if it is in too few of them."""
    if int(np.bincount(labels).max()) < n_folds:
        raise InputError("no class has as many rows as there are folds: use fewer than {cv=} folds", cv=n_folds)
    fold = _kernels.stratified_group_folds(labels, cluster, n_folds, int(rng.integers(2**31)))
    for k in range(n_folds):
        if len(np.unique(labels[fold != k])) < 2:
            raise InputError(
                "without the clusters of fold {fold}, only one class is left to fit on: the other class is in too few "
                "clusters of {argument}",
                argument="clusters",
                fold=k,
            )
    return fold


def _leaves_classes(labels: Ints, fold: Ints, n_folds: int, every_class: bool) -> bool:
    """Return whether, without any one fold, two classes (or all) have rows; true if labels do not tell classes."""
    if labels.min() == labels.max():
        return True
    n_classes = int(labels.max()) + 1
    counts = np.bincount(fold.astype(np.int64) * n_classes + labels, minlength=n_folds * n_classes).reshape(
        n_folds, n_classes
    )
    of_class = counts.sum(axis=0, dtype=np.int64)
    left = np.count_nonzero(of_class - counts, axis=1)
    return bool((left >= (np.count_nonzero(of_class) if every_class else 2)).all())


# --- The predictions without recalibration ----------------------------------------------------------------------------


def _checked(predictions: Any, actuals: Any, sample_weight: Any, input: Input, classes: Any) -> Predictions:
    """Return a checked copy of the predictions as probabilities; of raw scores, the share of each class."""
    _check.same_index(predictions=predictions, actuals=actuals, sample_weight=sample_weight)
    values = _check.numeric(predictions, "predictions")
    kind = getattr(_check.labels_as_array(actuals), "dtype", np.dtype(float)).kind
    if kind in "OSUT" and classes is None and any(isinstance(one, str) for one in np.asarray(actuals)[:1].tolist()):
        raise InputError(
            "{argument} are text: pass classes=[...], the labels in the order of the columns (for one event, the event "
            "last)",
            argument="actuals",
        )
    if input == "probabilities":
        _check.probabilities(values, "predictions", None, Hint.LOGITS_TO_CALIBRATE)
        return Predictions(predictions, actuals, sample_weight=sample_weight, classes=classes)
    Scores.of(values, input)
    if input == "logits":
        return Predictions(values, actuals, sample_weight=sample_weight, from_logits=True, classes=classes)
    n_classes = values.shape[1] if values.ndim == 2 else 2
    source = Predictions(np.full(values.shape, 1 / n_classes), actuals, sample_weight=sample_weight, classes=classes)
    share = np.bincount(source.labels, source.weights, n_classes)
    share = share / share.sum()
    return source.trusting(scores=np.full(source.scores.shape, share if values.ndim == 2 else share[1]))


def _need_two_rows_each(source: Predictions) -> None:
    """Raise if a class of raw scores has too few rows: without any, its scores cannot be turned into probabilities."""
    counts = np.bincount(source.labels, minlength=source.n_classes)
    if counts.min() < 2:
        k = int(counts.argmin())
        name = k if source.classes is None else source.classes[k]
        raise InputError(
            "{argument}: raw scores of several classes need at least two rows of each, and class {name!r} has {got}",
            argument="actuals",
            name=name,
            got=int(counts[k]),
        )


def _refuse(source: Predictions, given: bool, actuals: Any, input: Input) -> None:
    if given and actuals is not None:
        raise InputError("a Predictions already holds its actuals: leave {argument} out", argument="actuals")
    if given and input != "probabilities":
        raise InputError(
            "a Predictions holds probabilities: pass an array of {kind}, or {input='probabilities'}", kind=input
        )
    if source.kind == "multilabel":
        raise InputError(
            "this is for one label per row; for independent labels fit AveragedCalibration(multilabel=True)"
        )
    if source.labels.dtype.kind == "f":
        shares = np.flatnonzero((source.labels != 0) & (source.labels != 1))
        example = f" such as {source.labels[shares[0]]:.6g}" if len(shares) else ""
        raise InputError(
            f"recalibration needs one observed label per row, not soft labels{example}: leave rows with such labels out"
        )


def _rows_that_count(predictions: Any, sample_weight: Any) -> Floats:
    values = _check.numeric(predictions, "predictions")
    values = values.copy() if sample_weight is None else values[np.asarray(sample_weight) > 0]
    values.flags.writeable = False
    return values


def _baseline(source: Predictions, values: Floats, input: Input) -> Mapped:
    if source.scores.ndim == 2:
        low, high = _kernels.row_sum_extrema(source.scores)
        # Recalibrators divide by the sum, which alone would count as a gain.
        if max(1 - low, high - 1) > ROUNDING_OF_ROW_SUMS:
            source = source.trusting(scores=normalised(source.scores.astype(np.float64)))
    if input != "logits":
        return Mapped(source, log_loss_terms(source.scores, source.labels, source.kind), 0.0)
    z = Scores(values, "logits")
    if values.ndim == 1:
        z = Scores(np.where(source.labels == 1, z.raw(), -z.raw()), "logits")
        return Mapped(source, -z.logs()[1], 0.0)
    return Mapped(source, -label_log_probability(values, source.labels), 0.0)


# --- Scores of cross-fitted predictions, and the gain over no recalibration -------------------------------------------


Score = Literal["log_loss", "brier"]
SCORES: tuple[Score, ...] = get_args(Score)
ERRORS = {"ece": "expected_calibration_error", "smece": "smooth_calibration_error"}
METRICS = (*SCORES, *ERRORS)
SCORE_WORDS = {"log_loss": "log loss", "brier": "Brier score", "ece": "ECE", "smece": "smECE"}


# The standard deviation, in units of the summed score, of what a map gains by being fitted on all rows: chosen so that
# intervals hold in `python -m benchmarks.promises`.
FITTED_ON_ALL: dict[Score, float] = {"log_loss": 6.0, "brier": 3.0}


@dataclass(frozen=True, slots=True)
class Gain:
    """The reduction of a score or calibration error.

    Attributes
    ----------
    value : float
        Before minus after: positive is better.
    low, high, level : float
        Confidence interval for the reduction in the population. Sampling noise inflates a calibration error, by
        different amounts before and after, so for errors `value` may lie outside the interval.
    standard_error : float
        Standard error of `value`, for means over rows; NaN for errors.
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
    """The scores and calibration errors of some predictions, and their gain over no recalibration.

    Attributes
    ----------
    values : dict
        An `Interval` for each of "log_loss" and "brier", and for "ece" and "smece" where these were requested.
    gains : dict
        A `Gain` over the baseline for each of them; NaN for errors where the baseline is the share of each class, which
        has no error.
    """

    values: Mapping[str, Interval]
    gains: Mapping[str, Gain]


class Judge:
    """Score predictions for the same rows; the baseline is scored once."""

    def __init__(
        self,
        problem: RowsInFolds,
        level: float,
        n_resamples: int,
        random_state: Any,
        errors: Sequence[str] = tuple(ERRORS),
    ) -> None:
        self.problem, self.level = problem, _check.level(level)
        n_draws = _check.positive_integer(n_resamples, "n_resamples", 100)
        seed = int(generator(random_state).integers(2**62))
        self.contests = {name: ErrorContest(ERRORS[name], problem.cluster, level, n_draws, seed) for name in errors}

    @cached_property
    def measured(self) -> dict[str, MeasuredModel]:
        """The calibration errors of the baseline; none if it is the share of each class, which has no error here."""
        if self.problem.input == "scores":
            return {}
        before = self.problem.baseline.predictions
        return {name: contest.measure(before) for name, contest in self.contests.items()}

    def baseline(self, errors: bool = True) -> Scored:
        """Score the predictions without recalibration; `errors` adds the calibration errors."""
        values: dict[str, Interval] = {score: self._mean(self.problem.baseline, score) for score in SCORES}
        none = Interval(
            0.0, 0.0, self.level, 0.0, 0.0, "none", "the class shares have no calibration error in these rows"
        )
        if errors:
            values |= {name: self.measured[name].interval if self.measured else none for name in self.contests}
        return Scored(values, {name: Gain(0.0, 0.0, 0.0, self.level, 0.0) for name in values})

    def score(self, mapped: Mapped, errors: bool = True) -> Scored:
        """Score recalibrated predictions for the same rows; `errors` adds the calibration errors, which take longer."""
        values: dict[str, Interval] = {}
        gains: dict[str, Gain] = {}
        for score in SCORES:
            values[score] = self._mean(mapped, score)
            gains[score] = loss_gain(self.problem.baseline, mapped, score, self.problem, self.level)
        for name, contest in self.contests.items() if errors else ():
            error = contest.measure(mapped.predictions)
            values[name], gains[name] = error.interval, self._gain_in_error(name, error)
        return Scored(values, gains)

    def on_demand(self, mapped: Mapped) -> Scored:
        """Score recalibrated predictions, but their calibration errors only when these are read."""
        now, later = self.score(mapped, errors=False), ErrorsLater(self, mapped)
        return Scored(
            OnDemand(now.values, later, "values", tuple(self.contests)),
            OnDemand(now.gains, later, "gains", tuple(self.contests)),
        )

    def _mean(self, mapped: Mapped, score: Score) -> Interval:
        return interval_of(row_losses(mapped, score), self.problem, self.level)

    def _gain_in_error(self, name: str, after: MeasuredModel) -> Gain:
        if not self.measured:
            return Gain(math.nan, math.nan, math.nan, self.level)
        before = self.measured[name]
        low, high = self.contests[name].difference(before, after)
        return Gain(before.interval.value - after.interval.value, low, high, self.level)


@dataclass(eq=False)
class ErrorsLater:
    """The scores of some predictions, computed once, when they are first read."""

    judge: Judge
    mapped: Mapped

    @cached_property
    def scored(self) -> Scored:
        if self.mapped is self.judge.problem.baseline:
            return self.judge.baseline()
        return self.judge.score(self.mapped)


@dataclass(frozen=True, eq=False)
class OnDemand(Mapping[str, Any]):
    """A dictionary of which some entries are computed when they are first read."""

    ready: Mapping[str, Any]
    later: ErrorsLater
    part: Literal["values", "gains"]
    names_later: tuple[str, ...]

    def __getitem__(self, name: str) -> Any:
        return self.ready[name] if name not in self.names_later else getattr(self.later.scored, self.part)[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*self.ready, *self.names_later))

    def __len__(self) -> int:
        return len(self.ready) + len(self.names_later)

    def __repr__(self) -> str:
        return repr(dict(self))


def loss_gain(first: Mapped, second: Mapped, score: Score, problem: RowsInFolds, level: float) -> Gain:
    """Return the reduction in mean loss. Where losses are infinite, fewer infinite ones are an infinite gain.

    The interval is for what maps fitted on all rows gain on new rows. `FITTED_ON_ALL` widens its upper end, because
    they gain more than cross-fitted maps do, and more so where chance made these look useless. Of rows in clusters, as
    many count as independent rows would know the gain as well. In simulations of ten populations with 300 to 5,000 rows
    (`python -m benchmarks.promises`), 95 % intervals of the gain of an average contain the true gain in 91 to 99 % of
    the samples, 96.5 % on average.
    """
    before, after = row_losses(first, score), row_losses(second, score)
    if not (np.isfinite(before).all() and np.isfinite(after).all()):
        fewer = np.count_nonzero(np.isinf(before)) - np.count_nonzero(np.isinf(after))
        value = math.copysign(math.inf, fewer) if fewer else math.nan
        return Gain(value, value, value, level, math.inf)
    differences = before - after
    value, error, df = mean_of_rows(differences, problem.weights, problem.cluster)
    t = _kernels.t_quantile(level, df)
    low, high = skewed_interval(t, _skewness_of_mean(differences, value, problem))
    rows = _independent_rows(differences, error, problem)
    more = t * FITTED_ON_ALL[score] * second.share_fitted / rows
    return Gain(value, value + low * error, value + math.hypot(high * error, more), level, error)


def _independent_rows(values: Float64s, error: float, problem: RowsInFolds) -> float:
    """Return how many independent rows would know a mean with this standard error: fewer than all, with clusters."""
    if problem.cluster is None:
        return len(values)
    alone = mean_of_rows(values, problem.weights, None)[1]
    return len(values) / max((error / alone) ** 2, 1.0) if alone > 0 else len(values)


def _skewness_of_mean(values: Float64s, mean: float, problem: RowsInFolds) -> float:
    """Return the skewness of the sampling distribution of a weighted mean over rows or clusters."""
    w = np.ones(len(values)) if problem.weights is None else problem.weights
    off = w * (values - mean) / w.sum()
    if problem.cluster is not None:
        off = np.bincount(problem.cluster, off)
    off = off / (np.max(np.abs(off)) or 1.0)  # which changes nothing, but cubes of huge losses overflow
    spread = float(off @ off)
    return float(np.sum(off**3) / spread**1.5) if spread > 0 else 0.0


def skewed_interval(t: float, skewness: float) -> tuple[float, float]:
    """Return the ends of a confidence interval of a mean, in standard errors from it (Hall 1992).

    The gain of a map is often due to few rows that it saves from a large loss. An interval that is symmetric then ends
    too low. Hall's cubic transformation of the t statistic removes the skewness; inverted, it gives the ends. Without
    skewness they are -t and t. The skewness is limited to 0.35, beyond which the inverse is too steep to be useful.

    References
    ----------
    Hall (1992), On the removal of skewness by transformation, JRSS B 54.
    """
    most = min(MOST_SKEWNESS, MOST_SKEWNESS * 2 / t)
    skewness = float(np.clip(skewness, -most, most))
    if abs(skewness) < SLIGHT_SKEWNESS:
        return -t, t
    ends = 3 / skewness * (np.cbrt(1 + skewness * (np.array([t, -t]) - skewness / 6)) - 1)
    return min(float(-ends[0]), 0.0), max(float(-ends[1]), 0.0)


def in_rows(n: int) -> str:
    """Return "in 1 row", "in 2 rows" and so on."""
    return f"in {n:,} row{'' if n == 1 else 's'}"


def score_to_compare_by(problem: RowsInFolds, score: Score) -> tuple[Score, str]:
    """Return the score to compare methods by, and a sentence where it is not the one requested, else "".

    Where the scores as they are have an infinite log loss, every method with a finite one has an infinite gain, and the
    others have none. The Brier score always ranks them.
    """
    n_infinite = int(np.count_nonzero(np.isinf(problem.baseline.log_loss)))
    if score != "log_loss" or n_infinite == 0:
        return score, ""
    return "brier", (
        f"The log loss of the scores as they are is infinite ({in_rows(n_infinite)} the observed outcome had predicted "
        "probability 0), so the Brier score is used instead."
    )


def interval_of(losses: Float64s, problem: RowsInFolds, level: float) -> Interval:
    """Return the mean loss with its confidence interval."""
    value, error, df = mean_of_rows(losses, problem.weights, problem.cluster)
    if not math.isfinite(value):
        rows = int(np.count_nonzero(np.isinf(losses)))
        note = f"{in_rows(rows)} the observed outcome had predicted probability 0"
        return Interval(value, value, level, value, value, "mean", note)
    reach = _kernels.t_quantile(level, df) * error
    return Interval(max(value - reach, 0.0), value + reach, level, value, value, "mean")


def row_losses(mapped: Mapped, score: Score) -> Float64s:
    """Return the loss of each row."""
    if score == "log_loss":
        return mapped.log_loss
    p, labels = mapped.predictions.scores, mapped.predictions.labels
    if p.ndim == 1:
        return np.asarray((p.astype(np.float64) - labels) ** 2)
    observed = _kernels.label_scores(p, labels).astype(np.float64)
    return np.asarray(np.einsum("ij,ij->i", p, p, dtype=np.float64) - 2 * observed + 1)


def check_errors(errors: Any) -> tuple[str, ...]:
    """Return the names of calibration errors, without duplicates."""
    if isinstance(errors, str):
        raise InputError(
            "{argument} must be a sequence such as ('ece',), got the text {errors!r}", argument="errors", errors=errors
        )
    for name in errors:
        _check.choice(name, tuple(ERRORS), "errors")
    return tuple(dict.fromkeys(errors))


def check_score(score: Any) -> Score:
    """Return the name of a proper score, or raise."""
    if isinstance(score, str) and score in ERRORS:
        raise InputError(
            "{score=} is not a proper score: always predicting the base rate makes it 0; choose 'log_loss' or "
            "'brier' (ECE and smECE are shown beside them)",
            score=score,
            argument="score",
        )
    _check.choice(score, SCORES, "score")
    return score  # type: ignore[no-any-return]
