"""The one-liner: scores and outcomes in, a map out, with what it is worth."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from believable._types import Float64s
from believable.errors import LimitWarning, SmallSampleWarning
from believable.inference.interval import Interval
from believable.predictions import Predictions
from believable.recalibrate._base import Recalibrator
from believable.recalibrate._crossfit import Problem
from believable.recalibrate._scored import METRICS, Gain, Judge, Score
from believable.recalibrate._scores import Input
from believable.recalibrate.identity import Identity
from believable.recalibrate.select import BASELINES, NOTHING, Selection, as_method, select

WORDS = {"log_loss": "log loss", "brier": "Brier score", "ece": "ECE", "smece": "smECE"}


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
    """

    before: Mapping[str, Interval]
    after: Mapping[str, Interval]
    gains: Mapping[str, Gain]
    predictions_before: Predictions
    predictions_after: Predictions

    def __str__(self) -> str:
        level = 100 * self.gains["log_loss"].level
        lines = [f"{'':12} {'before':>8} {'after':>8}   gain, with its {level:.4g} % interval"]
        for name in METRICS:
            before, after = self.before[name].value, self.after[name].value
            lines.append(f"{WORDS[name]:12} {before:8.4f} {after:8.4f}   {self.gains[name]}")
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
        Its name, or "nothing".
    improvement : Improvement
        Measured by cross-fitting.
    selection : Selection or None
        The leaderboard, with method="auto".
    """

    recalibrator: Recalibrator
    method: str
    improvement: Improvement
    selection: Selection | None

    def transform(self, predictions: Any) -> Float64s:
        """New scores mapped to probabilities, in their shape."""
        return self.recalibrator.transform(predictions)

    def predict_proba(self, predictions: Any) -> Float64s:
        """New scores mapped to probabilities, one column per class."""
        return self.recalibrator.predict_proba(predictions)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The map as JSON, for `believable.load_recalibrator` or another language."""
        return self.recalibrator.to_json(path)

    def __str__(self) -> str:
        if self.selection is not None:
            return f"{self.selection}\n\n{self.improvement}" if self.method not in BASELINES else str(self.selection)
        return f"{self.recalibrator}\n{self.improvement}"

    __repr__ = __str__


def calibrate(
    predictions: Any,
    actuals: Any = None,
    method: str | Recalibrator = "auto",
    *,
    candidates: Any = None,
    cv: int = 5,
    groups: Any = None,
    score: Score = "log_loss",
    input: Input = "probabilities",
    level: float = 0.95,
    n_resamples: int = 1000,
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
    cv : int
        Folds. What is reported is about rows that the map has not seen; the map itself is fitted on all rows.
    groups : array-like of shape (n,), optional
        Clusters that stay in one fold.
    score : {"log_loss", "brier"}
    input : {"probabilities", "logits", "scores"}
        What the predictions are. New scores must be the same.
    level : float
    n_resamples : int
    progress : bool, optional
        Show a bar; None: on a terminal.
    random_state : None, int or numpy Generator
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
    choices: dict[str, Any] = {"input": input, "cv": cv, "groups": groups, "random_state": random_state}
    choices["sample_weight"] = sample_weight
    if isinstance(method, str) and method == "auto":
        rest = {"candidates": candidates, "score": score, "level": level, "n_resamples": n_resamples}
        found = select(predictions, actuals, progress=progress, **choices, **rest)
        before = next(each for each in found.candidates if each.name in BASELINES)
        after = found[found.chosen]
        improvement = Improvement(
            before.scored.values, after.scored.values, after.scored.gains, before.predictions, after.predictions
        )
        return Calibration(found.recalibrator, found.chosen, improvement, found)
    chosen = as_method(method)
    problem = Problem.of(predictions, actuals, **choices)
    recalibrator = problem.fit(chosen)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)  # in a fold; the fit on all rows has said its own
        warnings.simplefilter("ignore", SmallSampleWarning)
        mapped = problem.cross_fitted(chosen)
    judge = Judge(problem, level, n_resamples, random_state)
    scored = judge.score(mapped)
    improvement = Improvement(judge.baseline().values, scored.values, scored.gains, problem.baseline, mapped)
    name = NOTHING if isinstance(chosen, Identity) else chosen.facts.alias
    return Calibration(recalibrator, name, improvement, None)
