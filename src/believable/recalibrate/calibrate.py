"""The one-liner: scores and outcomes in, a map out, with what it is worth."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from believable._check import renamed
from believable._types import Float64s
from believable.errors import InputError
from believable.inference.interval import Interval
from believable.predictions import Predictions
from believable.recalibrate.base import Recalibrator
from believable.recalibrate.crossfit import (
    METRICS,
    SCORE_WORDS,
    FoldSettings,
    Gain,
    Judge,
    RowsInFolds,
    Score,
    check_score,
)
from believable.recalibrate.facts import as_method
from believable.recalibrate.identity import Identity
from believable.recalibrate.inputs import Input
from believable.recalibrate.select import (
    BASE_RATE,
    BASELINES,
    NO_RECALIBRATION,
    Selection,
    caveats,
    check_method,
    select,
)


@dataclass(frozen=True, slots=True, eq=False)
class Improvement:
    """What recalibration changes for rows that the map has not seen.

    Attributes
    ----------
    before, after : dict
        An `Interval` for each of "log_loss", "brier", "ece" and "smece".
    gains : dict
        A `Gain` for each of them, before less after.
    predictions_before, predictions_after : Predictions
        The scores as they were, and cross-fitted; `plot_improvement` draws them.
    compared_with : {"nothing", "base rate"}
        What "before" is: the scores as they are, or for scores that are no probabilities the share of each class.
    score : {"log_loss", "brier"}
        What it is judged by.
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
        """What to call it."""
        return "before" if self.compared_with == NO_RECALIBRATION else self.compared_with

    def __str__(self) -> str:
        level = 100 * self.gains["log_loss"].level
        lines = [f"{'':12} {self.name_before:>9} {'after':>8}   gain, with its {level:.4g} % interval"]
        lines += [
            f"{SCORE_WORDS[name]:12} {self.before[name].value:9.4f} {self.after[name].value:8.4f}   {self.gains[name]}"
            for name in METRICS
        ]
        return "\n".join(lines)

    __repr__ = __str__


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """A recalibrator that was chosen and fitted, with what it is worth.

    Attributes
    ----------
    recalibrator : Recalibrator
        Fitted on all rows. `Identity` where the scores are best left alone.
    method : str
        Its name; "nothing", or "base rate" for scores that are no probabilities, where no method helps.
    improvement : Improvement
        Measured by cross-fitting.
    selection : Selection or None
        The leaderboard, with method="auto".
    caveats : tuple of str
        What else there is to say.
    """

    recalibrator: Recalibrator
    method: str
    improvement: Improvement
    selection: Selection | None
    caveats: tuple[str, ...]

    def transform(self, predictions: Any) -> Float64s:
        """New scores mapped to probabilities, in their shape."""
        return self.recalibrator.transform(predictions)

    def predict_proba(self, predictions: Any) -> Float64s:
        """New scores mapped to probabilities, one column per class."""
        return self.recalibrator.predict_proba(predictions)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The map as JSON, for `believable.load_recalibrator` or another language."""
        return self.recalibrator.to_json(path)

    def lines(self) -> list[str]:
        """What is printed, part by part; see `Selection.lines`."""
        if self.selection is None:
            return [_in_words(self.recalibrator), str(self.improvement), _worth(self.improvement), *self.caveats]
        if self.method in BASELINES:
            return self.selection.lines()
        return [*self.selection.lines(), "", _in_words(self.recalibrator), str(self.improvement)]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__


def _in_words(recalibrator: Recalibrator) -> str:
    """The recalibrator, and its map where that is a few numbers."""
    learnt = recalibrator.maps_[0] if len(recalibrator.maps_) == 1 else None
    if not learnt or not all(isinstance(value, float) for value in learnt.values()):
        return str(recalibrator)
    return f"{recalibrator}: " + ", ".join(f"{name} {value:.4g}" for name, value in learnt.items())


def _worth(improvement: Improvement) -> str:
    """Whether a method that was asked for helps."""
    gain, word = improvement.gains[improvement.score], SCORE_WORDS[improvement.score]
    if gain.is_sure and math.isfinite(improvement.after[improvement.score].value):
        return f"It lowers the {word} beyond chance."
    if gain.value > 0:
        return f"It lowers the {word} by no more than chance explains: leave the scores alone, or collect more rows."
    return f"It does not lower the {word}: leave the scores alone, or try another method."


@renamed(groups="clusters")
def calibrate(
    predictions: Any,
    actuals: Any = None,
    method: str | Recalibrator = "auto",
    *,
    candidates: Any = None,
    classes: Sequence[Any] | None = None,
    cv: int = 5,
    clusters: Any = None,
    score: Score = "log_loss",
    input: Input = "probabilities",
    level: float = 0.95,
    n_resamples: int = 300,
    progress: bool | None = None,
    random_state: Any = 0,
    sample_weight: Any = None,
) -> Calibration:
    """Learn a map from scores to probabilities that can be believed, and say what it is worth.

    Use rows that the model was not trained on: scores of training rows are too good, and so would be the map.

    Parameters
    ----------
    predictions, actuals
        Arrays, or a `Predictions` (one label per row).
    method : str or Recalibrator
        "auto" compares several by cross-fitting and takes the simplest that is as good as the best, or none (see
        `select`); or a name ("temperature", "platt", "isotonic", …); or a recalibrator.
    candidates : optional
        For "auto"; see `select`.
    classes : sequence, optional
        The labels in the order of the columns, where they are not 0..K-1; for one event the event comes last.
    cv : int
        Folds. What is reported is about rows that the map has not seen; the map itself is fitted on all rows.
    clusters : array-like of shape (n,), optional
        Clusters that stay in one fold.
    score : {"log_loss", "brier"}
        What methods are ranked and judged by.
    input : {"probabilities", "logits", "scores"}
        What the predictions are. New scores must be the same.
    level : float
        Of the intervals.
    n_resamples : int
        For the intervals of ECE and smECE, which take most of the time; at least 100.
    progress : bool, optional
        Show a bar; None: on a terminal.
    random_state : None, int or numpy Generator
        Deals the folds, and draws for the intervals of ECE and smECE; an integer gives the same answer every time.
    sample_weight : array-like of shape (n,), optional

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
    settings = FoldSettings(input, classes, cv, clusters, sample_weight, random_state)
    compared_with = BASE_RATE if input == "scores" else NO_RECALIBRATION
    if isinstance(method, str) and method == "auto":
        found = select(
            predictions,
            actuals,
            candidates=candidates,
            score=score,
            level=level,
            n_resamples=n_resamples,
            progress=progress,
            **settings._asdict(),
        )
        first, last = found[compared_with], found[found.chosen]
        improvement = Improvement(
            first.scored.values,
            last.scored.values,
            last.scored.gains,
            first.predictions,
            last.predictions,
            compared_with,
            score,
        )
        return Calibration(found.recalibrator, found.chosen, improvement, found, found.caveats)
    if candidates is not None:
        raise InputError(
            "{argument} are for {method='auto'}: leave them out, or leave the method", argument="candidates"
        )
    chosen = as_method(method)
    check_method(chosen, input)
    problem = RowsInFolds.of(predictions, actuals, settings)
    recalibrator = problem.fit(chosen)
    mapped = problem.cross_fitted(chosen)
    judge = Judge(problem, level, n_resamples, random_state)
    scored = judge.score(mapped)
    before = problem.baseline.predictions
    improvement = Improvement(
        judge.baseline().values, scored.values, scored.gains, before, mapped.predictions, compared_with, score
    )
    name = NO_RECALIBRATION if isinstance(chosen, Identity) else chosen.facts.alias
    return Calibration(recalibrator, name, improvement, None, caveats(problem))
