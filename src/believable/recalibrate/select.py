"""Which recalibration is best for these scores, and is any better than none?"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from believable.errors import InputError, LimitWarning, SmallSampleWarning
from believable.predictions import Predictions
from believable.recalibrate._base import Recalibrator
from believable.recalibrate._crossfit import Problem
from believable.recalibrate._facts import find_recalibrator
from believable.recalibrate._progress import tracked
from believable.recalibrate._scored import METRICS, Judge, Score, Scored, check_score, loss_gain, row_losses
from believable.recalibrate._scores import Input
from believable.recalibrate.identity import Identity

NOTHING = "nothing"
FOR_ONE_EVENT = ("temperature", "platt", "beta", "spline", "venn_abers", "isotonic")
FOR_CLASSES = ("temperature", "ensemble_temperature", "structured", "vector", "isotonic")
FOR_MANY_CLASSES = ("temperature", "ensemble_temperature")  # beyond 50 the others have thousands of parameters
MANY = 50
FOR_SCORES = ("platt", "venn_abers", "isotonic")


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """One line of the leaderboard.

    Attributes
    ----------
    name : str
    method : Recalibrator
        As it was given, not fitted.
    scored : Scored
        `values` and `gains` of its cross-fitted predictions, by "log_loss", "brier", "ece" and "smece".
    predictions : Predictions
        The cross-fitted predictions: each row mapped by a map that has not seen it.
    behind : float
        How much higher its score is than the best one's.
    standard_error : float
        Of that difference.
    """

    name: str
    method: Recalibrator
    scored: Scored
    predictions: Predictions
    behind: float
    standard_error: float

    @property
    def is_as_good(self) -> bool:
        """Within one standard error of the best."""
        return self.behind <= self.standard_error


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """A leaderboard of recalibrators.

    Attributes
    ----------
    candidates : tuple of Candidate
        Best score first; one of them is "nothing", the scores as they are ("base rate" for scores that are no
        probabilities).
    chosen : str
        The name of the simplest candidate within one standard error of the best, of those whose gain over nothing is
        beyond chance; "nothing" if there are none.
    advice : str
        The same in words.
    score : str
        What they were ranked by.
    recalibrator : Recalibrator
        The chosen method, fitted on all rows.
    n, n_folds : int
    """

    candidates: tuple[Candidate, ...]
    chosen: str
    advice: str
    score: Score
    recalibrator: Recalibrator
    n: int
    n_folds: int

    def __getitem__(self, name: str) -> Candidate:
        for candidate in self.candidates:
            if candidate.name == name:
                return candidate
        raise KeyError(f"no candidate {name!r}; there are {[candidate.name for candidate in self.candidates]}")

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns by name: value, ends of its interval, gain and ends of its interval, for each metric."""
        columns: dict[str, list[Any]] = {"method": [], "chosen": []}
        for candidate in self.candidates:
            line: dict[str, Any] = {"method": candidate.name, "chosen": candidate.name == self.chosen}
            for name in METRICS:
                value, gain = candidate.scored.values[name], candidate.scored.gains[name]
                line |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
                line |= {f"{name}_gain": gain.value, f"{name}_gain_low": gain.low, f"{name}_gain_high": gain.high}
            for column, entry in line.items():
                columns.setdefault(column, []).append(entry)
        return columns

    def to_frame(self, backend: Literal["polars", "pandas", "pyarrow"] = "polars") -> Any:
        """The leaderboard as a data frame."""
        from believable.curves.binned import as_frame

        return as_frame(self.to_dict(), backend)

    def __str__(self) -> str:
        head = f"  {'':20} {'log loss':>8} {'Brier':>8} {'ECE':>8} {'smECE':>8}   {'gain in ' + WORDS[self.score]}"
        lines = [head]
        for candidate in self.candidates:
            values = candidate.scored.values
            star = ">" if candidate.name == self.chosen else " "
            line = f"{star} {candidate.name:20}" + "".join(f" {values[name].value:8.4f}" for name in METRICS)
            gain = candidate.scored.gains[self.score]
            lines.append(line + ("" if candidate.name in BASELINES else f"   {gain}"))
        return "\n".join(
            [
                *lines,
                f"{self.n:,} rows, {self.n_folds} folds, every row mapped by a map that has not seen it.",
                self.advice,
            ]
        )

    __repr__ = __str__


WORDS = {"log_loss": "log loss", "brier": "Brier score"}
BASELINES = (NOTHING, "base rate")


def select(
    predictions: Any,
    actuals: Any = None,
    *,
    candidates: Sequence[Any] | Mapping[str, Recalibrator] | None = None,
    cv: int = 5,
    groups: Any = None,
    score: Score = "log_loss",
    input: Input = "probabilities",
    level: float = 0.95,
    n_resamples: int = 1000,
    progress: bool | None = None,
    random_state: Any = 0,
    sample_weight: Any = None,
) -> Selection:
    """Compare recalibrators by cross-fitting, with doing nothing among them.

    Every candidate is fitted on all folds but one and maps that one; what is scored has never been seen by the map that
    made it. Candidates are ranked by a proper score, and the simplest is chosen of those within one standard error of
    the best (of the difference to it, row by row, or cluster by cluster). It must also beat doing nothing beyond
    chance: the interval of its gain lies above 0. Otherwise the advice is to leave the scores alone.

    Parameters
    ----------
    predictions, actuals
        Arrays, or a `Predictions` (one label per row).
    candidates : sequence or dict, optional
        Names ("temperature", "platt", "beta", …), recalibrators, or recalibrators by name. None: a set that suits the
        number of classes.
    cv : int
        Folds; the rows of each class are dealt out evenly.
    groups : array-like of shape (n,), optional
        Clusters that stay in one fold, and count as one in every interval.
    score : {"log_loss", "brier"}
        What they are ranked by.
    input : {"probabilities", "logits", "scores"}
        What the predictions are. Scores that are no probabilities are compared with the share of each class.
    level : float
        Of the intervals.
    n_resamples : int
        For the intervals of errors.
    progress : bool, optional
        Show a bar; None: on a terminal.
    random_state : None, int or numpy Generator
        Deals the folds; 0 gives the same answer every time.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    Selection

    Notes
    -----
    Log loss is infinite for a candidate that gave 0 to something that happened, as isotonic regression may; it is last
    then. The gain of the winner is somewhat flattered by having been chosen: it is the best of several.

    References
    ----------
    Breiman, Friedman, Olshen, Stone (1984), Classification and Regression Trees, for the rule of one standard error.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=2000)
    >>> y = rng.random(2000) < 1 / (1 + np.exp(-z))
    >>> found = select(1 / (1 + np.exp(-3 * z)), y, candidates=["temperature", "platt"])
    >>> found.chosen, found["temperature"].scored.gains["log_loss"].is_sure
    ('temperature', True)
    """
    score = check_score(score)
    problem = Problem.of(
        predictions, actuals, input=input, cv=cv, groups=groups, sample_weight=sample_weight, random_state=random_state
    )
    methods = _methods(candidates, problem)
    judge = Judge(problem, level, n_resamples, random_state)
    made: list[tuple[str, Recalibrator, Scored, Predictions]] = []
    nothing = "base rate" if input == "scores" else NOTHING
    made.append((nothing, Identity(), judge.baseline(), problem.baseline))
    for name, method in tracked(list(methods.items()), "recalibrating", progress):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LimitWarning)  # in a fold; said again if the method is chosen
            warnings.simplefilter("ignore", SmallSampleWarning)
            after = problem.cross_fitted(method)
        made.append((name, method, judge.score(after), after))
    ranked = _ranked(made, judge, score)
    chosen = _simplest(ranked, score)
    recalibrator = problem.fit(Identity() if chosen is None else chosen.method)
    return Selection(
        candidates=ranked,
        chosen=nothing if chosen is None else chosen.name,
        advice=_advice(ranked, chosen, score),
        score=score,
        recalibrator=recalibrator,
        n=len(problem.baseline),
        n_folds=int(problem.fold.max()) + 1,
    )


def _methods(candidates: Any, problem: Problem) -> dict[str, Recalibrator]:
    if candidates is None:
        candidates = _suitable(problem)
    if isinstance(candidates, Mapping):
        methods = dict(candidates)
    elif isinstance(candidates, (str, Recalibrator)):
        raise InputError("candidates must be a list of names or recalibrators, or a dict of them by name")
    else:
        methods = {}
        for each in candidates:
            method = as_method(each)
            name = each if isinstance(each, str) else method.facts.alias
            while name in methods:
                name += "'"
            methods[name] = method
    for name, method in methods.items():
        if not isinstance(method, Recalibrator):
            raise InputError(f"candidate {name!r} must be a recalibrator, got a {type(method).__name__}")
        if name in BASELINES:
            raise InputError(f"{name!r} is among the candidates by itself: call yours something else")
    if not methods:
        raise InputError("candidates is empty: there is nothing to compare")
    return methods


def as_method(method: Any) -> Recalibrator:
    """A recalibrator from its name, or as it is."""
    return method if isinstance(method, Recalibrator) else find_recalibrator(method)()


def _suitable(problem: Problem) -> tuple[str, ...]:
    if problem.input == "scores":
        return FOR_SCORES
    if problem.baseline.n_classes == 2:
        return FOR_ONE_EVENT
    return FOR_CLASSES if problem.baseline.n_classes <= MANY else FOR_MANY_CLASSES


def _ranked(
    made: list[tuple[str, Recalibrator, Scored, Predictions]], judge: Judge, score: Score
) -> tuple[Candidate, ...]:
    """Best first; ties to the simpler."""
    made = sorted(made, key=lambda line: (line[2].values[score].value, line[1].facts.simplicity))
    best = row_losses(made[0][3], score)
    ranked = []
    for name, method, scored, predictions in made:
        behind = loss_gain(row_losses(predictions, score), best, judge.problem, judge.level)
        gap, error = (math.inf, 0.0) if not math.isfinite(behind.value) else (behind.value, behind.standard_error)
        ranked.append(Candidate(name, method, scored, predictions, gap, error))
    return tuple(ranked)


def _simplest(ranked: tuple[Candidate, ...], score: Score) -> Candidate | None:
    """The simplest within one standard error of the best that helps beyond chance; None if none does."""
    good = [each for each in ranked if each.is_as_good and each.scored.gains[score].is_sure]
    return min(good, key=lambda each: (each.method.facts.simplicity, each.behind), default=None)


def _advice(ranked: tuple[Candidate, ...], chosen: Candidate | None, score: Score) -> str:
    word, best = WORDS[score], ranked[0]
    tried = [each for each in ranked if each.name not in BASELINES]
    shown = tried[0] if chosen is None else chosen
    gain = shown.scored.gains[score]
    if chosen is None:
        if not gain.value > 0:
            return f"Leave the scores alone: nothing that was tried lowers the {word}."
        return (
            f"Leave the scores alone: the best of what was tried, {shown.name}, lowers the {word} by {gain.value:.4f}, "
            f"which chance explains ({gain.low:+.4f} … {gain.high:+.4f})."
        )
    if math.isinf(gain.value):  # the scores said 0 of something that happened
        text = (
            f"Use {chosen.name}: the {word} is infinite as it is, and {chosen.scored.values[score].value:.4f} with it"
        )
    else:
        text = f"Use {chosen.name}: it lowers the {word} by {gain.value:.4f} ({gain.low:.4f} … {gain.high:.4f})"
    if chosen is not best:
        text += f", and is the simplest within one standard error of the best, {best.name}"
    return text + "."
