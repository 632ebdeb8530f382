"""Recalibrate in one call: fit a calibration map on scores and outcomes, and measure what it gains."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from believable import _check
from believable._check import renamed
from believable._types import Float64s
from believable.errors import InputError, Sentence
from believable.inference.interval import Interval
from believable.predictions import Predictions
from believable.recalibrate.average import AveragedCalibration
from believable.recalibrate.base import Recalibrator
from believable.recalibrate.crossfit import (
    METRICS,
    SCORE_WORDS,
    FoldSettings,
    Gain,
    Judge,
    Mapped,
    RowsInFolds,
    Score,
    check_score,
    score_to_compare_by,
)
from believable.recalibrate.facts import as_method
from believable.recalibrate.grouped import GroupedRecalibrator
from believable.recalibrate.identity import Identity
from believable.recalibrate.inputs import INPUTS, Input
from believable.recalibrate.select import (
    AVERAGE,
    BASE_RATE,
    BASELINES,
    NO_RECALIBRATION,
    RULES,
    Rule,
    Selection,
    caveats,
    check_method,
    choose,
    methods_by_name,
)
from believable.stats import CellStats, SegmentStats, Summary

ROUNDING = 1e-12  # a smaller gain is none
MOST_SEGMENTS = 12  # are printed


@dataclass(frozen=True, slots=True, eq=False)
class Improvement:
    """The effect of recalibration on rows that the calibration map was not fitted on.

    Attributes
    ----------
    before, after : dict
        An `Interval` for each of "log_loss", "brier", "ece" and "smece". Those of ECE and smECE take most of the time,
        and are computed when they are first read or printed.
    gains : dict
        A `Gain` for each of them: before minus after.
    predictions_before, predictions_after : Predictions
        The scores as they were, and the cross-fitted probabilities; `plot_improvement` draws both.
    compared_with : {"nothing", "base rate"}
        What "before" means: the scores as they are or, for scores that are not probabilities, the share of each class.
    score : {"log_loss", "brier"}
        The score that the effect is judged by; "brier" where the log loss is infinite before.
    """

    before: Mapping[str, Interval]
    after: Mapping[str, Interval]
    gains: Mapping[str, Gain]
    predictions_before: Predictions
    predictions_after: Predictions
    compared_with: str = NO_RECALIBRATION
    score: Score = "log_loss"

    @property
    def name_before(self) -> str:
        """The heading of the values before recalibration."""
        return "before" if self.compared_with == NO_RECALIBRATION else self.compared_with

    def __str__(self) -> str:
        level = 100 * self.gains["log_loss"].level
        lines = [f"{'':12} {self.name_before:>9} {'after':>8}   gain ({level:.4g} % interval)"]
        lines += [
            f"{SCORE_WORDS[name]:12} {self.before[name].value:9.4f} {self.after[name].value:8.4f}   {self.gains[name]}"
            for name in METRICS
        ]
        return "\n".join(lines)

    __repr__ = __str__


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """A fitted recalibrator, with the improvement to expect from it.

    Attributes
    ----------
    recalibrator : Recalibrator
        The recalibrator, fitted on all rows; `Identity` where the scores are best left alone.
    method : str
        Its name; "average" for an average of several. Where no method helps: "nothing", or "base rate" for scores that
        are not probabilities.
    improvement : Improvement
        The effect on rows it was not fitted on, measured by cross-fitting.
    selection : Selection or None
        The comparison of methods, with method="auto".
    caveats : tuple of str
        What to keep in mind about these rows.
    """

    recalibrator: Recalibrator
    method: str
    improvement: Improvement
    selection: Selection | None
    caveats: tuple[str, ...]

    def transform(self, predictions: Any, *, by: Any = None) -> Float64s:
        """Recalibrate new scores: probabilities in the shape of the input; `by` has their columns of segments."""
        return self.recalibrator.transform(predictions, **self._columns(by))

    def predict_proba(self, predictions: Any, *, by: Any = None) -> Float64s:
        """Recalibrate new scores: probabilities with one column per class; `by` has their columns of segments."""
        return self.recalibrator.predict_proba(predictions, **self._columns(by))

    def _columns(self, by: Any) -> dict[str, Any]:
        return {"by": by} if self.recalibrator.reads_columns else {}

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the calibration map as JSON, for `believable.load_recalibrator` or another language."""
        return self.recalibrator.to_json(path)

    def lines(self) -> list[str]:
        """Return what is printed, part by part; see `Selection.lines`."""
        if self.selection is None:
            return [_in_words(self.recalibrator), _worth(self.improvement), str(self.improvement), *self.caveats]
        if self.method in BASELINES:
            return self.selection.lines()
        words = [] if self.method == AVERAGE else [_in_words(self.recalibrator)]  # the advice says it already
        return [*self.selection.lines(), "", *words, str(self.improvement)]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__


def _improvement(judge: Judge, mapped: Mapped, compared_with: str, score: Score) -> Improvement:
    before, after = judge.on_demand(judge.problem.baseline), judge.on_demand(mapped)
    first = judge.problem.baseline.predictions
    return Improvement(before.values, after.values, after.gains, first, mapped.predictions, compared_with, score)


def _in_words(recalibrator: Recalibrator) -> str:
    """Return the recalibrator in words, with the numbers of its map where they are few."""
    if isinstance(recalibrator, AveragedCalibration):
        return f"Average: {recalibrator.in_words()}"
    if isinstance(recalibrator, GroupedRecalibrator):
        common = f"Common map: {_in_words(recalibrator.common_)}." if len(recalibrator.maps_) == 1 else ""
        added = f"Correction by segment, added to the log-odds ({recalibrator.symbol_in_words}), largest first:"
        return "\n".join([common, added, *(f"  {line}" for line in recalibrator.lines(MOST_SEGMENTS))])
    fitted = recalibrator.maps_[0] if len(recalibrator.maps_) == 1 else None
    if not fitted or not all(isinstance(value, float) for value in fitted.values()):
        return str(recalibrator)
    return f"{recalibrator}: " + ", ".join(f"{name} {value:.4g}" for name, value in fitted.items())


def _worth(improvement: Improvement) -> str:
    """Return a sentence that says whether the requested method helps."""
    gain, word = improvement.gains[improvement.score], SCORE_WORDS[improvement.score]
    if gain.is_sure:
        return f"It lowers the {word}: the {100 * gain.level:.4g} % interval of the gain lies above 0."
    if gain.value > ROUNDING:
        return (
            f"It lowers the {word}, but this may be noise: the {100 * gain.level:.4g} % interval of the gain includes "
            "0. Leave the scores alone, or collect more rows."
        )
    if gain.value == -math.inf:
        return Sentence(
            "It assigned probability 0 to an outcome that occurred, so its log loss is infinite: leave the scores "
            "alone, or judge it by the Brier score with {score='brier'}."
        )
    return f"It does not lower the {word}: leave the scores alone, or try another method."


@renamed(groups="clusters")
def calibrate(
    predictions: Any,
    actuals: Any = None,
    method: str | Recalibrator = "auto",
    *,
    candidates: Any = None,
    rule: Rule = "average",
    classes: Sequence[Any] | None = None,
    cv: int = 5,
    clusters: Any = None,
    by: Any = None,
    score: Score = "log_loss",
    input: Input = "probabilities",
    level: float = 0.95,
    n_resamples: int = 300,
    progress: bool | None = None,
    random_state: Any = 0,
    sample_weight: Any = None,
) -> Calibration:
    """Fit a calibration map, which turns scores into calibrated probabilities, and report the improvement.

    Use rows that the model was not trained on: on training rows its scores look better than they are, and a map fitted
    on them would be wrong for new rows.

    Parameters
    ----------
    predictions, actuals
        Arrays, or a `Predictions` (one label per row).
    method : str or Recalibrator
        "auto" compares several methods by cross-fitting and averages them, with the weights that predict best (see
        `select` and `AveragedCalibration`). Otherwise a name ("temperature", "platt", "isotonic", …) or a recalibrator.
        With `by`, "auto" compares that average with maps by segment, "pooled" and "boosted", which are names, too.
    candidates : optional
        The methods that "auto" averages or chooses from; see `select`.
    rule : {"average", "proven"}
        What "auto" returns: an average, which changes less the fewer rows there are, or the simplest single method
        whose gain is proven, its interval above 0. Either may leave the scores as they are.
    classes : sequence, optional
        The labels in the order of the columns, where they are not 0..K-1; for one event the event comes last.
    cv : int
        The number of folds. The improvement is measured on rows left out of the fit; the map that is returned is
        fitted on all rows.
    clusters : array-like of shape (n,), optional
        The cluster of each row. The rows of a cluster stay in one fold, and intervals count clusters, not rows.
    by : data frame, mapping of names to columns, or one column, optional
        Columns of segments that may need maps of their own; see `GroupedRecalibrator`. Pass those of new rows to
        `transform`.
    score : {"log_loss", "brier"}
        The score that methods are ranked and judged by. Where the log loss of the scores as they are is infinite,
        because a probability of exactly 0 or 1 was wrong, the Brier score is used instead and a caveat says so.
    input : {"probabilities", "logits", "scores"}
        The scale of the predictions. New scores must be on the same scale.
    level : float
        Confidence level of the intervals.
    n_resamples : int
        Number of resamples for the intervals of ECE and smECE, which take most of the time; at least 100.
    progress : bool, optional
        Show a progress bar; by default only on a terminal.
    random_state : None, int or numpy Generator
        Random seed for the folds and the intervals of ECE and smECE. Pass an integer for reproducible results.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    Returns
    -------
    Calibration

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=2000)
    >>> y = rng.random(2000) < 1 / (1 + np.exp(-z))
    >>> result = calibrate(1 / (1 + np.exp(-3 * z)), y, method="temperature")
    >>> round(result.recalibrator.temperature_, 1)
    3.0
    >>> result.improvement.gains["ece"].is_sure
    True
    """
    score = check_score(score)
    _check.choice(rule, RULES, "rule")
    if isinstance(predictions, (CellStats, SegmentStats, Summary)):
        by_segment = isinstance(predictions, SegmentStats)
        raise InputError(
            "{argument} must be rows, got a {got}, which {fit} reads",
            argument="predictions",
            got=type(predictions).__name__,
            fit="GroupedRecalibrator().fit_from_statistics" if by_segment else "fit_from_cells of a recalibrator",
        )
    settings = FoldSettings(input, classes, cv, clusters, sample_weight, random_state, by)
    _check.choice(input, INPUTS, "input")
    compared_with = BASE_RATE if input == "scores" else NO_RECALIBRATION
    if isinstance(method, str) and method == "auto":
        methods = None if candidates is None else methods_by_name(candidates, input, averages=by is None)
        problem = RowsInFolds.of(predictions, actuals, settings)
        judge = Judge(problem, level, n_resamples, random_state)
        found = choose(judge, methods, score, rule, progress, errors=False)
        improvement = _improvement(judge, found.mapped, compared_with, found.score)
        return Calibration(found.recalibrator, found.chosen, improvement, found, found.caveats)
    if candidates is not None:
        raise InputError(
            "{argument} are for {method='auto'}: leave out either the candidates or the method", argument="candidates"
        )
    if rule != "average":
        raise InputError("{argument} is for {method='auto'}: leave out either the rule or the method", argument="rule")
    chosen = as_method(method)
    check_method(chosen, input)
    if by is not None and not chosen.reads_columns:
        raise InputError(
            "{argument} is not read by {method}, which has one map for all rows: use "
            "GroupedRecalibrator(base={method}), or method='auto', 'pooled' or 'boosted'",
            argument="by",
            method=repr(method) if isinstance(method, str) else chosen,
        )
    problem = RowsInFolds.of(predictions, actuals, settings)
    recalibrator = problem.fit(chosen)
    mapped = problem.cross_fitted(chosen)
    judge = Judge(problem, level, n_resamples, random_state)
    score, why_not_log_loss = score_to_compare_by(problem, score)
    improvement = _improvement(judge, mapped, compared_with, score)
    name = NO_RECALIBRATION if isinstance(chosen, Identity) else chosen._facts().alias
    said = (*([why_not_log_loss] if why_not_log_loss else []), *caveats(problem))
    return Calibration(recalibrator, name, improvement, None, said)
