"""Which recalibration is best for these scores, and is any better than none?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from believable import _kernels
from believable._check import renamed
from believable._progress import tracked
from believable.errors import InputError, Sentence
from believable.predictions import Predictions
from believable.recalibrate.base import Recalibrator
from believable.recalibrate.crossfit import (
    ERRORS,
    SCORE_WORDS,
    FoldSettings,
    Judge,
    Mapped,
    RowsInFolds,
    Score,
    Scored,
    check_errors,
    check_score,
    loss_gain,
)
from believable.recalibrate.facts import as_method
from believable.recalibrate.histogram import HistogramBinning
from believable.recalibrate.identity import Identity
from believable.recalibrate.inputs import Input
from believable.recalibrate.prior_shift import PriorShift

NO_RECALIBRATION, BASE_RATE = "nothing", "base rate"
BASELINES = (NO_RECALIBRATION, BASE_RATE)
FOR_ONE_EVENT = ("temperature", "platt", "beta", "spline", "venn_abers", "isotonic")
FOR_CLASSES = ("temperature", "ensemble_temperature", "structured", "vector", "isotonic")
FOR_MANY_CLASSES = ("temperature", "ensemble_temperature")  # beyond 50 the others have thousands of parameters
MAX_CLASSES_FOR_MATRIX_MAPS = 50
FOR_SCORES = ("platt", "venn_abers", "isotonic")
ALIKE_SCORES = 1e-4  # of the best score: a difference that nobody would pay for
FEW_EVENTS = 20  # rows (or clusters) of the rarest class, below which little can be told


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
    is_as_good : bool
        It is behind by no more than one standard error, or than a ten-thousandth of the best score.
    """

    name: str
    method: Recalibrator
    scored: Scored
    predictions: Predictions
    behind: float
    standard_error: float
    is_as_good: bool


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
        The chosen method, fitted on all rows; `Identity` for "nothing", a single bin for "base rate".
    caveats : tuple of str
        What else there is to say: few events, scores that point the other way.
    rows : str
        How many rows (and clusters), in how many folds.
    """

    candidates: tuple[Candidate, ...]
    chosen: str
    advice: str
    score: Score
    recalibrator: Recalibrator
    caveats: tuple[str, ...]
    rows: str

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
            for name in candidate.scored.values:
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

    def lines(self) -> list[str]:
        """The leaderboard as text, line by line; the advice is a `Sentence`, which the command line has words for."""
        headings = [SCORE_WORDS[name].removesuffix(" score") for name in self.candidates[0].scored.values]
        lines = [f"  {'':20}" + "".join(f" {name:>8}" for name in headings) + f"   gain in {SCORE_WORDS[self.score]}"]
        for candidate in self.candidates:
            values, gain = candidate.scored.values, candidate.scored.gains[self.score]
            star = ">" if candidate.name == self.chosen else " "
            line = f"{star} {candidate.name:20}" + "".join(f" {value.value:8.4f}" for value in values.values())
            lines.append(line + ("" if candidate.name in BASELINES else f"   {gain}"))
        return [*lines, self.rows, self.advice, *self.caveats]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__


@renamed(groups="clusters")
def select(
    predictions: Any,
    actuals: Any = None,
    *,
    candidates: Sequence[Any] | Mapping[str, Recalibrator] | None = None,
    classes: Sequence[Any] | None = None,
    cv: int = 5,
    clusters: Any = None,
    score: Score = "log_loss",
    errors: Sequence[str] = tuple(ERRORS),
    input: Input = "probabilities",
    level: float = 0.95,
    n_resamples: int = 300,
    progress: bool | None = None,
    random_state: Any = 0,
    sample_weight: Any = None,
) -> Selection:
    """Compare recalibrators by cross-fitting, with doing nothing among them.

    Every candidate is fitted on all folds but one and maps that one; what is scored has never been seen by the map that
    made it. Candidates are ranked by a proper score, and the simplest is chosen of those within one standard error of
    the best (of the difference to it, row by row, or cluster by cluster; a ten-thousandth of the score counts as
    nothing). It must also beat doing nothing beyond chance: the interval of its gain lies above 0. Otherwise the advice
    is to leave the scores alone.

    Parameters
    ----------
    predictions, actuals
        Arrays, or a `Predictions` (one label per row).
    candidates : sequence or dict, optional
        Names ("temperature", "platt", "beta", …), recalibrators, or recalibrators by name. None: a set that suits the
        number of classes.
    classes : sequence, optional
        The labels in the order of the columns, where they are not 0..K-1; for one event the event comes last.
    cv : int
        Folds; the rows of each class are dealt out evenly.
    clusters : array-like of shape (n,), optional
        Clusters that stay in one fold, and count as one in every interval.
    score : {"log_loss", "brier"}
        What they are ranked by.
    errors : sequence of {"ece", "smece"}
        The calibration errors shown beside it. The intervals of smECE take most of the time.
    input : {"probabilities", "logits", "scores"}
        What the predictions are. Scores that are no probabilities are compared with the share of each class.
    level : float
        Of the intervals.
    n_resamples : int
        For the intervals of the errors; at least 100.
    progress : bool, optional
        Show a bar; None: on a terminal.
    random_state : None, int or numpy Generator
        Deals the folds, and draws for the intervals of ECE and smECE; an integer gives the same answer every time.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    Selection

    Notes
    -----
    Log loss is infinite for a candidate that gave 0 to something that happened, as isotonic regression may; it is last
    then. So is one that gave 0 to something that the scores hold for possible, even if it did not happen here: the next
    rows may be others. Scores that separate the classes invite that. (0 is less than 1e-15, and less than the fifth
    power of what the scores gave: temperatures down to 1/5 are not meant.)

    The gain of the winner is somewhat flattered by having been chosen, as the best of several; and maps learnt from all
    rows but one fold are somewhat worse than the final one. In simulations with 300 rows the intervals of gains covered
    82 to 97 % of the time instead of 95 %, and where they missed they promised too little.

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
    score, errors = check_score(score), check_errors(errors)
    methods = None if candidates is None else _methods(candidates, input)
    problem = RowsInFolds.of(
        predictions, actuals, FoldSettings(input, classes, cv, clusters, sample_weight, random_state)
    )
    judge = Judge(problem, level, n_resamples, random_state, errors)
    return choose(judge, methods, score, progress)


def choose(
    judge: Judge,
    methods: Mapping[str, Recalibrator] | None = None,
    score: Score = "log_loss",
    progress: bool | None = False,
) -> Selection:
    """Compare recalibrators on rows that are in folds already; see `select`."""
    problem = judge.problem
    methods = methods or _methods(_suitable(problem), problem.input)
    nothing: tuple[str, Recalibrator] = (NO_RECALIBRATION, Identity())
    if problem.input == "scores":
        nothing = (BASE_RATE, HistogramBinning(n_bins=1))
    made = [Scoring(nothing[0], nothing[1], judge.baseline(), problem.baseline)]
    for name, method in tracked(list(methods.items()), "recalibrating", progress):
        after = problem.cross_fitted(method)
        made.append(Scoring(name, method, judge.score(after), after))
    ranked = _ranked(made, judge, score)
    chosen = _simplest(ranked, score)
    return Selection(
        candidates=ranked,
        chosen=nothing[0] if chosen is None else chosen.name,
        advice=_advice(ranked, chosen, score),
        score=score,
        recalibrator=problem.fit(nothing[1] if chosen is None else chosen.method),
        caveats=caveats(problem) + _passed_over(made, score),
        rows=rows_in_words(problem),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Scoring:
    """A candidate before it is ranked."""

    name: str
    method: Recalibrator
    scored: Scored
    mapped: Mapped


def _methods(candidates: Any, input: Input) -> dict[str, Recalibrator]:
    if isinstance(candidates, Mapping):
        methods = {name: as_method(method) for name, method in candidates.items()}
    elif isinstance(candidates, (str, Recalibrator)):
        raise InputError(
            "{argument} must be a list of names or recalibrators, or a dict of them by name", argument="candidates"
        )
    else:
        methods = {}
        for each in candidates:
            method = as_method(each)
            name = each if isinstance(each, str) else method.facts.alias
            while name in methods:
                name += "'"
            methods[name] = method
    for name, method in methods.items():
        check_method(method, input)
        if name in BASELINES:
            raise InputError(f"{name!r} is among the candidates by itself: call yours something else")
    if not methods:
        raise InputError("{argument} is empty: there is nothing to compare", argument="candidates")
    return methods


def check_method(method: Recalibrator, input: Input) -> None:
    """Raise where a recalibrator cannot be judged by cross-fitted losses of these scores."""
    if method.input not in ("probabilities", input):
        raise InputError(
            "the recalibrator was made for {input=}: pass {input=} here too", argument="input", input=method.input
        )
    if isinstance(method, PriorShift):
        raise InputError("PriorShift is for rows of another population: it cannot be judged by these; fit it by itself")
    if method.multilabel:
        raise InputError("this compares maps for one label per row: make the method with multilabel=False")
    if not method.normalise:
        raise InputError("rows that do not sum to one cannot be judged by a proper score: leave normalise=True")


def _suitable(problem: RowsInFolds) -> tuple[str, ...]:
    if problem.input == "scores":
        return FOR_SCORES
    if problem.baseline.predictions.n_classes == 2:
        return FOR_ONE_EVENT
    return FOR_CLASSES if problem.baseline.predictions.n_classes <= MAX_CLASSES_FOR_MATRIX_MAPS else FOR_MANY_CLASSES


def _ranked(made: list[Scoring], judge: Judge, score: Score) -> tuple[Candidate, ...]:
    """Best first; ties to the simpler. By log loss, those that rule something out come last: see `select`."""

    def place(one: Scoring) -> tuple[bool, float, int]:
        return _is_rash(one, score), one.scored.values[score].value, one.method._facts().simplicity

    made = sorted(made, key=place)
    best, alike = made[0].mapped, ALIKE_SCORES * made[0].scored.values[score].value
    ranked = []
    for one in made:
        behind = loss_gain(one.mapped, best, score, judge.problem, judge.level)
        finite = math.isfinite(behind.value)
        gap, error = (behind.value, behind.standard_error) if finite else (math.inf, 0.0)
        good = finite and gap <= max(error, alike) and not _is_rash(one, score)
        ranked.append(Candidate(one.name, one.method, one.scored, one.mapped.predictions, gap, error, good))
    return tuple(ranked)


def _is_rash(one: Scoring, score: Score) -> bool:
    """Whether its log loss is finite by luck alone."""
    return score == "log_loss" and one.mapped.rules_out


def _passed_over(made: list[Scoring], score: Score) -> tuple[str, ...]:
    rash = [one.name for one in made if _is_rash(one, score) and math.isfinite(one.scored.values[score].value)]
    if not rash:
        return ()
    them = "It gives" if len(rash) == 1 else "They give"
    why = (
        f"{them} 0 to something that the scores hold for possible; if that happens next time, the log loss is infinite."
    )
    return (f"Ranked last: {', '.join(rash)}. {why}",)


def _simplest(ranked: tuple[Candidate, ...], score: Score) -> Candidate | None:
    """The simplest within one standard error of the best that helps beyond chance; None if none does."""
    good = [each for each in ranked if each.is_as_good and each.scored.gains[score].is_sure]
    return min(good, key=lambda each: (each.method._facts().simplicity, each.behind), default=None)


def _advice(ranked: tuple[Candidate, ...], chosen: Candidate | None, score: Score) -> str:
    word, best = SCORE_WORDS[score], ranked[0]
    tried = [each for each in ranked if each.name not in BASELINES]
    shown = tried[0] if chosen is None else chosen
    gain, value = shown.scored.gains[score], shown.scored.values[score].value
    if chosen is None:
        alone = "Leave the scores alone"
        if any(each.name == BASE_RATE for each in ranked):
            alone = "Give everyone the base rate"  # scores that are no probabilities cannot be left as they are
        if math.isinf(value) and math.isinf(best.scored.values[score].value):
            return Sentence(
                "{alone}: with all that was tried the {word} is infinite; rank by {score='brier'}.",
                alone=alone,
                word=word,
            )
        if not gain.value > 0:
            return f"{alone}: nothing that was tried lowers the {word}."
        return (
            f"{alone}: the best of what was tried, {shown.name}, lowers the {word} by {gain.value:.4f}, which chance "
            f"explains ({gain.low:+.4f} … {gain.high:+.4f})."
        )
    if math.isinf(gain.value):  # the scores said 0 of something that happened
        text = f"Use {chosen.name}: the {word} is infinite as it is, and {value:.4f} with it"
    else:
        text = f"Use {chosen.name}: it lowers the {word} by {gain.value:.4f} ({gain.low:.4f} … {gain.high:.4f})"
    if chosen is not best:
        text += ", and" if math.isfinite(gain.value) else "; it"
        text += f" is the simplest within one standard error of the best, {best.name}"
    return text + "."


def rows_in_words(problem: RowsInFolds) -> str:
    """How many rows (and clusters), in how many folds, and what the errors are of."""
    n, n_folds = len(problem.fold), int(problem.fold.max()) + 1
    clusters = "" if problem.cluster is None else f" in {int(problem.cluster.max()) + 1:,} clusters"
    of = "" if problem.scores.ndim == 1 else " of the confidence"
    whole = f"{n:,} rows{clusters}, {n_folds} folds, every row mapped by a map that has not seen it."
    return f"{whole} ECE{of} in 10 bins."


def caveats(problem: RowsInFolds) -> tuple[str, ...]:
    """What a careful reader would ask."""
    found = []
    labels, cluster = problem.labels, problem.cluster
    classes = np.unique(labels)
    rarest = min(
        len(np.unique(cluster[labels == k])) if cluster is not None else int((labels == k).sum()) for k in classes
    )
    if rarest < FEW_EVENTS:
        what = "rows" if cluster is None else "clusters"
        found.append(f"The rarest class is in {rarest} {what} only: little can be told, and the intervals are rough.")
    predictions = problem.baseline.predictions
    if problem.scores.ndim == 1 and problem.input != "scores" and _points_the_other_way(predictions):
        found.append("Higher scores go with fewer events: are these the probabilities of the other class?")
    if predictions.kind == "binary" and problem.input != "scores":
        p, y = predictions.scores, predictions.labels
        if p[y == 1].min() > p[y == 0].max():
            found.append("A threshold separates the classes without a mistake: were these rows used for training?")
    return tuple(found)


def _points_the_other_way(predictions: Predictions) -> bool:
    """Whether the AUC is below 1/2 by three standard errors of what chance does."""
    y = predictions.labels == 1
    w = np.ones(len(y)) if predictions.weights is None else predictions.weights
    auc = _kernels.auc(predictions.scores, w * y, w * ~y)
    n1, n0 = int(y.sum()), int((~y).sum())
    return auc < 0.5 - 3 * math.sqrt((n1 + n0 + 1) / (12 * n1 * n0))
