"""Choose a recalibrator for these scores by cross-fitting, or advise against recalibrating."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from believable import _check, _kernels
from believable._check import renamed
from believable._progress import tracked
from believable.curves.binned import as_frame, as_html
from believable.errors import InputError, Sentence
from believable.inference.compare import mean_of_rows
from believable.predictions import Predictions
from believable.recalibrate.average import (
    AveragedCalibration,
    averaged,
    blend_in_words,
    no_change,
    suitable_methods,
)
from believable.recalibrate.base import Recalibrator
from believable.recalibrate.crossfit import (
    ERRORS,
    SCORE_WORDS,
    FoldSettings,
    Gain,
    Judge,
    Mapped,
    RowsInFolds,
    Score,
    Scored,
    check_errors,
    check_score,
    in_rows,
    input_of,
    loss_gain,
    row_losses,
    score_to_compare_by,
)
from believable.recalibrate.facts import BY_SEGMENT, as_method
from believable.recalibrate.inputs import Input
from believable.recalibrate.prior_shift import PriorShift

NO_RECALIBRATION, BASE_RATE = "nothing", "base rate"
BASELINES = (NO_RECALIBRATION, BASE_RATE)
AVERAGE = "average"
RESERVED_NAMES = (*BASELINES, AVERAGE)
Rule = Literal["average", "proven"]
RULES: tuple[Rule, ...] = get_args(Rule)
NEARLY_UNCHANGED = 0.8  # an average that leaves this much unchanged, and gains nothing, is not worth using
ALIKE_SCORES = 1e-4  # a difference below this share of the best score is negligible
FEW_EVENTS = 20  # with fewer rows (or clusters) of the rarest class, the comparison is uncertain


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """One row of the comparison.

    Attributes
    ----------
    name : str
        The name of the method.
    method : Recalibrator
        The recalibrator as it was given, not fitted.
    scored : Scored
        `values` and `gains` of its cross-fitted predictions, by "log_loss", "brier", "ece" and "smece".
    mapped : Mapped
        The cross-fitted predictions, with the log loss of each row: each row is recalibrated by a calibration map
        fitted on the other folds.
    behind : float
        Its score minus the best score.
    standard_error : float
        Standard error of that difference.
    is_as_good : bool
        Whether `behind` is at most one standard error, or at most a ten-thousandth of the best score.
    """

    name: str
    method: Recalibrator
    scored: Scored
    mapped: Mapped
    behind: float
    standard_error: float
    is_as_good: bool

    @property
    def predictions(self) -> Predictions:
        """The cross-fitted predictions."""
        return self.mapped.predictions


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """A comparison of recalibrators, with the one to use.

    Attributes
    ----------
    candidates : tuple of Candidate
        All methods, best score first. One of them is "nothing", the scores as they are; for scores that are not
        probabilities, it is "base rate".
    chosen : str
        The name of the method to use: "average", or with rule="proven" the name of a single method; "nothing" (or "base
        rate") if none is worth using.
    mapped : Mapped
        The cross-fitted predictions of the choice: each fold is recalibrated by what the other folds choose, so that
        its gain is not overstated because it is the best of several.
    gain : Gain
        The gain to expect from the choice, by `score`.
    advice : str
        The choice in words, with the gain.
    score : {"log_loss", "brier"}
        The score that methods were ranked by. This is "brier" where the log loss was requested and is infinite for the
        scores as they are.
    recalibrator : Recalibrator
        The chosen method, fitted on all rows; `Identity` for "nothing", a single bin for "base rate".
    caveats : tuple of str
        What to keep in mind: the Brier score in place of an infinite log loss, few events, scores that rank the wrong
        way round.
    rows : str
        The number of rows, clusters and folds.
    """

    candidates: tuple[Candidate, ...]
    chosen: str
    mapped: Mapped
    gain: Gain
    advice: str
    score: Score
    recalibrator: Recalibrator
    caveats: tuple[str, ...]
    rows: str

    def __getitem__(self, name: str) -> Candidate:
        for candidate in self.candidates:
            if candidate.name == name:
                return candidate
        raise KeyError(f"no candidate {name!r}; choose from {[candidate.name for candidate in self.candidates]}")

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the table as columns by name: for each metric its value and gain, with the ends of their intervals."""
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
        """Return the table as a data frame."""
        return as_frame(self.to_dict(), backend)

    def lines(self) -> list[str]:
        """Return what is printed, line by line; advice may be a `Sentence`, which the command line rewords."""
        *headings, last = self._headings()
        lines = [f"  {'':20}" + "".join(f" {name:>8}" for name in headings) + f"   {last}"]
        for candidate in self.candidates:
            star = ">" if candidate.name == self.chosen else " "
            values = "".join(f" {value.value:8.4f}" for value in candidate.scored.values.values())
            lines.append(f"{star} {candidate.name:20}{values}   {self._gain_in_words(candidate)}".rstrip())
        return [self.advice, *lines, self.rows, *self.caveats]

    def _headings(self) -> list[str]:
        names = [SCORE_WORDS[name].removesuffix(" score") for name in self.candidates[0].scored.values]
        return [*names, f"gain in {SCORE_WORDS[self.score]}"]

    def _gain_in_words(self, candidate: Candidate) -> str:
        """Return the gain over the baseline; that in Brier score where the log loss is infinite."""
        gain = candidate.scored.gains[self.score]
        if candidate.name in BASELINES:
            return ""
        if math.isfinite(gain.value):
            return str(gain)
        return f"log loss infinite; Brier score {candidate.scored.gains['brier']}"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = [
            [each.name, *(f"{one.value:.4f}" for one in each.scored.values.values()), self._gain_in_words(each)]
            for each in self.candidates
        ]
        bold = [each.name == self.chosen for each in self.candidates]
        return as_html(["method", *self._headings()], rows, [self.advice], [self.rows, *self.caveats], bold)


@renamed(groups="clusters")
def select(
    predictions: Any,
    actuals: Any = None,
    *,
    candidates: Sequence[Any] | Mapping[str, Recalibrator] | None = None,
    rule: Rule = "average",
    classes: Sequence[Any] | None = None,
    cv: int = 5,
    clusters: Any = None,
    by: Any = None,
    score: Score = "log_loss",
    errors: Sequence[str] = tuple(ERRORS),
    input: Input = "probabilities",
    level: float = 0.95,
    n_resamples: int = 300,
    progress: bool | None = None,
    random_state: Any = 0,
    sample_weight: Any = None,
) -> Selection:
    """Compare recalibrators by cross-fitting, and average them, choose one, or advise against recalibrating.

    Each method is fitted on all folds but one and recalibrates the one left out, so no row is scored with a map that
    was fitted on it.

    By default the answer is an average of all of them and of the scores as they are, weighted by how well each predicts
    the rows left out; see `AveragedCalibration`. It is judged like the others: the weights for a fold are found on the
    other folds. Where it leaves at least 80 % unchanged and gains nothing, the advice is to leave the scores alone
    (unless some are exactly 0 or 1, which the average avoids).

    With rule="proven" the answer is a single method, and only if it certainly helps. Of those within one standard error
    of the best score, the simplest is chosen. (The standard error is that of the paired difference, by row or by
    cluster; a difference below a ten-thousandth of the score is ignored.) The interval of its gain must lie above 0.
    Otherwise the advice is to leave the scores alone.

    With `by`, the question is also whether segments need maps of their own. The candidates are the average, as the
    common map of all rows ("average"), and the same map corrected by segment, by partial pooling ("pooled") and by
    boosting ("boosted"); see `GroupedRecalibrator`. The simplest within one standard error of the best is chosen, as
    with rule="proven", but its gain need not be proven unless that rule is asked for.

    Parameters
    ----------
    predictions, actuals
        Arrays, or a `Predictions` (one label per row).
    candidates : sequence or dict, optional
        Names ("temperature", "platt", "beta", …), recalibrators, or a dict of recalibrators by name. By default, a set
        that suits the number of classes; see `AveragedCalibration`.
    rule : {"average", "proven"}
        How to choose.
    classes : sequence, optional
        The labels in the order of the columns, where they are not 0..K-1; for one event the event comes last.
    cv : int
        The number of folds. Rows are assigned to them at random, not by class; see `AveragedCalibration`.
    clusters : array-like of shape (n,), optional
        The cluster of each row. The rows of a cluster stay in one fold, and intervals count clusters, not rows.
    by : data frame, mapping of names to columns, or one column, optional
        Columns of segments.
    score : {"log_loss", "brier"}
        The score that methods are ranked by. Where the log loss of the scores as they are is infinite, because a
        probability of exactly 0 or 1 was wrong, the Brier score is used instead and a caveat says so.
    errors : sequence of {"ece", "smece"}
        The calibration errors to show beside the scores. The intervals of smECE take most of the time.
    input : {"probabilities", "logits", "scores"}
        The scale of the predictions. Scores that are not probabilities are compared with always predicting the share
        of each class.
    level : float
        Confidence level of the intervals.
    n_resamples : int
        Number of resamples for the intervals of the calibration errors; at least 100.
    progress : bool, optional
        Show a progress bar; by default only on a terminal.
    random_state : None, int or numpy Generator
        Random seed for the folds and the intervals of ECE and smECE. Pass an integer for reproducible results.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    Returns
    -------
    Selection

    Notes
    -----
    The log loss is infinite for a method that assigned probability 0 to an outcome that occurred, as isotonic
    regression may; it is then ranked last, and its gain in Brier score is shown. In an average, such a method does no
    harm.

    References
    ----------
    Breiman, Friedman, Olshen, Stone (1984), Classification and Regression Trees, for the rule of one standard error.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=2000)
    >>> y = rng.random(2000) < 1 / (1 + np.exp(-z))
    >>> found = select(1 / (1 + np.exp(-3 * z)), y, candidates=["temperature", "platt"], rule="proven")
    >>> found.chosen, found["temperature"].scored.gains["log_loss"].is_sure
    ('temperature', True)
    """
    score, errors = check_score(score), check_errors(errors)
    _check.choice(rule, RULES, "rule")
    methods = None if candidates is None else methods_by_name(candidates, input, averages=by is None)
    settings = FoldSettings(input, classes, cv, clusters, sample_weight, random_state, by)
    problem = RowsInFolds.of(predictions, actuals, settings)
    judge = Judge(problem, level, n_resamples, random_state, errors)
    return choose(judge, methods, score, rule, progress)


def choose(
    judge: Judge,
    methods: Mapping[str, Recalibrator] | None = None,
    score: Score = "log_loss",
    rule: Rule = "average",
    progress: bool | None = False,
    errors: bool = True,
) -> Selection:
    """Compare recalibrators on rows that are in folds already; see `select`.

    Without `errors`, calibration errors are not computed.
    """
    problem = judge.problem
    if problem.columns:
        methods = methods or {AVERAGE: AveragedCalibration(), **{one: as_method(one) for one in BY_SEGMENT}}
    methods = methods or suitable_methods(problem.baseline.predictions.n_classes, problem.input)
    averages = rule == "average" and not problem.columns
    name = BASE_RATE if problem.input == "scores" else NO_RECALIBRATION
    made = [Scoring(name, no_change(problem.input), judge.baseline(errors), problem.baseline)]
    for each, method in tracked(list(methods.items()), "recalibrating", progress):
        after = problem.cross_fitted(method)
        made.append(Scoring(each, method, judge.score(after, errors), after))
    score, why_not_log_loss = score_to_compare_by(problem, score)
    unchanged = 0.0
    if averages:
        found, after = averaged(problem, [one.mapped for one in made])
        unchanged, *weights = found.weights.tolist()
        method = AveragedCalibration(input=problem.input, methods=[*methods.values()], weights=weights)
        made.append(Scoring(AVERAGE, method, judge.score(after, errors), after))
    ranked = _ranked(made, judge, score)
    choice = made[-1].mapped
    if averages:
        chosen = None if _is_nil(made[-1], unchanged, problem, score) else next(c for c in ranked if c.name == AVERAGE)
    else:
        choice = _chosen_out_of_fold(made[1:], problem, score)
        chosen = _simplest(ranked, score, proven=rule == "proven")
    gain = loss_gain(problem.baseline, choice, score, problem, judge.level)
    if chosen is None or (rule == "proven" and not gain.is_sure) or not (averages or gain.value > 0):
        chosen, choice, gain = None, problem.baseline, Gain(0.0, 0.0, 0.0, judge.level, 0.0)
    return Selection(
        candidates=ranked,
        chosen=name if chosen is None else chosen.name,
        mapped=choice,
        gain=gain,
        advice=_advice(ranked, chosen, gain, score) + _advice_on_segments(ranked, chosen, judge, score),
        score=score,
        recalibrator=problem.fit(made[0].method if chosen is None else chosen.method),
        caveats=(
            *([why_not_log_loss] if why_not_log_loss else []),
            *caveats(problem),
            *(() if chosen is None else _certainties(chosen)),
        ),
        rows=rows_in_words(problem, tuple(judge.contests) if errors else ()),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Scoring:
    """A scored candidate before ranking."""

    name: str
    method: Recalibrator
    scored: Scored
    mapped: Mapped


def _is_nil(average: Scoring, unchanged: float, problem: RowsInFolds, score: Score) -> bool:
    """Return whether an average is not worth using: it changes little, and no gain is expected."""
    if unchanged < NEARLY_UNCHANGED or average.scored.gains[score].value > 0:
        return False
    p = problem.baseline.predictions.scores
    return problem.input == "scores" or bool(p.min() > 0 and p.max() < 1)


def methods_by_name(candidates: Any, input: Input, averages: bool = True) -> dict[str, Recalibrator]:
    """Return the candidates by name, checked; `averages` says whether they are averaged."""
    if isinstance(candidates, Mapping):
        methods = {name: as_method(method) for name, method in candidates.items()}
    elif isinstance(candidates, (str, Recalibrator)):
        raise InputError(
            "{argument} must be a list of names or recalibrators, or a dict of recalibrators by name",
            argument="candidates",
        )
    else:
        methods = {}
        for each in candidates:
            method = as_method(each)
            name = each if isinstance(each, str) else method._facts().alias
            while name in methods:
                name += "'"
            methods[name] = method
    for name, method in methods.items():
        check_method(method, input)
        if not averages and (name not in BASELINES):
            continue
        if isinstance(method, AveragedCalibration):
            raise InputError("candidates are averaged already: leave AveragedCalibration out of them")
        if method.reads_columns:
            raise InputError("{argument} is missing: {name!r} needs the columns of segments", argument="by", name=name)
        if name in RESERVED_NAMES:
            what = "the average of all candidates" if name == AVERAGE else "the baseline, which is always included"
            raise InputError(f"{name!r} is the name of {what}: call your candidate something else")
    if not methods:
        raise InputError("{argument} is empty: name at least one method to compare", argument="candidates")
    return methods


def check_method(method: Recalibrator, input: Input) -> None:
    """Raise where a recalibrator cannot be judged by the cross-fitted loss of these scores."""
    if method.input not in ("probabilities", input_of(method, input)):
        raise InputError(
            "the recalibrator was made for {input=}: pass {input=} here too", argument="input", input=method.input
        )
    if isinstance(method, PriorShift):
        raise InputError(
            "PriorShift adapts scores to another population, so these rows cannot judge it: fit it directly"
        )
    if method.multilabel:
        raise InputError("this is for one label per row: make the method with multilabel=False")
    if not method.normalise:
        raise InputError("a proper score needs rows that sum to one: make the method with normalise=True")


def _ranked(made: list[Scoring], judge: Judge, score: Score) -> tuple[Candidate, ...]:
    """Rank candidates, the best first and the simpler first in ties."""
    made = sorted(made, key=lambda one: (one.scored.values[score].value, one.method._facts().simplicity))
    best, alike = made[0].mapped, ALIKE_SCORES * made[0].scored.values[score].value
    ranked = []
    for one in made:
        behind = loss_gain(one.mapped, best, score, judge.problem, judge.level)
        finite = math.isfinite(behind.value)
        gap, error = (behind.value, behind.standard_error) if finite else (math.inf, 0.0)
        good = finite and gap <= max(error, alike)
        ranked.append(Candidate(one.name, one.method, one.scored, one.mapped, gap, error, good))
    return tuple(ranked)


def _simplest(ranked: tuple[Candidate, ...], score: Score, proven: bool = True) -> Candidate | None:
    """Return the simplest candidate within one standard error of the best with a (proven) gain above 0, or None."""
    good = [
        each
        for each in ranked
        if each.is_as_good and each.name not in BASELINES and (each.scored.gains[score].is_sure or not proven)
    ]
    return min(good, key=lambda each: (each.method._facts().simplicity, each.behind), default=None)


def _chosen_out_of_fold(made: list[Scoring], problem: RowsInFolds, score: Score) -> Mapped:
    """Return what the simplest method within one standard error of the best predicts, chosen anew without each fold."""
    losses = np.stack([row_losses(one.mapped, score) for one in made])
    simplicity = [one.method._facts().simplicity for one in made]
    out, log_loss = np.empty(problem.scores.shape), np.empty(len(problem.scores))
    for k in range(int(problem.fold.max()) + 1):
        held = problem.fold == k
        w = None if problem.weights is None else problem.weights[~held]
        cluster = None if problem.cluster is None else np.unique(problem.cluster[~held], return_inverse=True)[1]
        means = np.average(losses[:, ~held], axis=1, weights=w)
        best = int(np.argmin(means))
        near = [best]
        for m in np.flatnonzero(np.isfinite(means)).tolist():
            behind, error, _ = mean_of_rows(losses[m, ~held] - losses[best, ~held], w, cluster)
            near += [m] if behind <= max(error, ALIKE_SCORES * means[best]) else []
        mapped = made[min(near, key=lambda m: (simplicity[m], means[m]))].mapped
        out[held], log_loss[held] = mapped.predictions.scores[held], mapped.log_loss[held]
    out.flags.writeable = False
    return Mapped(problem.baseline.predictions.trusting(scores=out, borrowed=False), log_loss)


def _advice(ranked: tuple[Candidate, ...], chosen: Candidate | None, gain: Gain, score: Score) -> str:
    word, best = SCORE_WORDS[score], ranked[0]
    if chosen is None:
        return _advice_against(ranked, score)
    if chosen.name == AVERAGE and isinstance(chosen.method, AveragedCalibration) and chosen.method.weights is not None:
        return _advice_for_average(ranked, chosen, score)
    text = f"Use {_called(chosen)}. It lowers the {word} by {gain.value:.4f} ({_interval(gain)})."
    if chosen is not best:
        simpler = chosen.method._facts().simplicity < best.method._facts().simplicity
        text += f" It comes within one standard error of the best method tried, {_called(best)}"
        text += ", and is simpler." if simpler else "."
    return text


def _advice_on_segments(ranked: tuple[Candidate, ...], chosen: Candidate | None, judge: Judge, score: Score) -> str:
    """Return a sentence on what maps by segment gain beyond a common one; "" if there are none of them."""
    by_segment = [each for each in ranked if each.method.reads_columns]
    common = [each for each in ranked if not each.method.reads_columns and each.name not in BASELINES]
    if not by_segment or not common:
        return ""
    best = chosen if chosen in by_segment else by_segment[0]
    gain = loss_gain(common[0].mapped, best.mapped, score, judge.problem, judge.level)
    word, columns = SCORE_WORDS[score], ", ".join(judge.problem.columns)
    if chosen in by_segment:
        return f" Segments by {columns} account for {gain.value:.4f} of it ({_interval(gain)})."
    if not gain.value > 0:
        return f" Maps by segment ({columns}) do not lower the {word} further."
    return (
        f" Maps by segment ({columns}) would lower the {word} by {gain.value:.4f} ({_interval(gain)}): "
        "too little to be sure."
    )


def _advice_for_average(ranked: tuple[Candidate, ...], average: Candidate, score: Score) -> str:
    word, gain = SCORE_WORDS[score], average.scored.gains[score]
    text = f"Use an average of calibration maps: {_recipe(average)}."
    if not math.isfinite(gain.value):
        text += f" The {word} becomes finite."
    elif gain.is_sure:
        text += f" It lowers the {word} by {gain.value:.4f} ({_interval(gain)})."
    elif gain.value > 0:
        text += f" It lowers the {word} by {gain.value:.4f}, but the {_interval(gain)} includes 0."
    else:
        text += f" These rows show no gain ({_interval(gain)}), but it changes little."
    singles = [each for each in ranked if each.name not in RESERVED_NAMES]
    near = [each for each in singles if each.behind - singles[0].behind <= each.standard_error]
    simplest = min(near or singles[:1], key=lambda each: (each.method._facts().simplicity, each.behind))
    cost = simplest.scored.values[score].value - average.scored.values[score].value
    if math.isfinite(cost):
        price = f"a {word} {cost:.4f} higher" if cost > 0 else f"the same {word} or a lower one"
        text += f" The simplest single map that comes close, {_called(simplest)}, has {price}."
    return text


def _recipe(average: Candidate) -> str:
    """Return the weights of an average in words."""
    method = average.method
    assert isinstance(method, AveragedCalibration)
    assert method.methods is not None
    assert method.weights is not None
    weights = np.append(1 - sum(method.weights), method.weights)
    members = [no_change(method.input), *method.methods]
    return blend_in_words(members, weights)  # type: ignore[arg-type]


def _interval(gain: Gain) -> str:
    return f"{100 * gain.level:.4g} % interval {gain.low:.4f} to {gain.high:.4f}"


def _advice_against(ranked: tuple[Candidate, ...], score: Score) -> str:
    word = SCORE_WORDS[score]
    best = next(each for each in ranked if each.name not in RESERVED_NAMES)
    gain, name = best.scored.gains[score], _called(best)
    # Scores that are not probabilities cannot be left as they are.
    raw = any(each.name == BASE_RATE for each in ranked)
    alone = "Predict the base rate for every row" if raw else "Leave the scores alone"
    if gain.value == -math.inf:
        return Sentence(
            "{alone}. Every method tried assigned probability 0 to an outcome that occurred, so its log loss is "
            "infinite; to compare by the Brier score, use {score='brier'}.",
            alone=alone,
        )
    if not gain.value > 0:
        return f"{alone}: no method tried lowers the {word}."
    if gain.is_sure:  # but not when methods are chosen without the fold that judges them
        return (
            f"{alone}. The best method tried, {name}, lowers the {word} by {gain.value:.4f}, but the gain is not "
            "proven once the method is chosen anew without each fold."
        )
    return (
        f"{alone}. The best method tried, {name}, lowers the {word} by {gain.value:.4f} ({100 * gain.level:.4g} % "
        f"interval {gain.low:+.4f} to {gain.high:+.4f}), which may be noise."
    )


def _called(candidate: Candidate) -> str:
    """Return the name of a method in a sentence: that of the user, or else the class in words."""
    is_alias = candidate.name == candidate.method._facts().alias
    return candidate.method._in_words() if is_alias else candidate.name


def _certainties(chosen: Candidate) -> tuple[str, ...]:
    """Return a caveat if the chosen method predicts probabilities of exactly 0 or 1."""
    p = chosen.predictions.scores
    certain = (p == 0) | (p == 1) if p.ndim == 1 else (p == 0).any(axis=1)
    if not certain.any():
        return ()
    which = in_rows(int(certain.sum()))
    return (f"{chosen.name} predicts a probability of exactly 0 {which}: one mistake makes the log loss infinite.",)


def rows_in_words(problem: RowsInFolds, errors: Sequence[str]) -> str:
    """Return the number of rows, clusters and folds in words, and the bins of the ECE, if it is shown."""
    n, n_folds = len(problem.fold), int(problem.fold.max()) + 1
    clusters = "" if problem.cluster is None else f" in {int(problem.cluster.max()) + 1:,} clusters"
    of = "" if problem.scores.ndim == 1 else " of the confidence"
    whole = f"{n:,} rows{clusters} in {n_folds} folds; each row is recalibrated by a fit on the other folds."
    return f"{whole} ECE{of} with 10 bins." if "ece" in errors else whole


def caveats(problem: RowsInFolds) -> tuple[str, ...]:
    """Return what to keep in mind about these rows."""
    found = []
    labels, cluster = problem.labels, problem.cluster
    classes = np.unique(labels)
    rarest = min(
        len(np.unique(cluster[labels == k])) if cluster is not None else np.count_nonzero(labels == k) for k in classes
    )
    if rarest < FEW_EVENTS:
        what = "row" if cluster is None else "cluster"
        what += "" if rarest == 1 else "s"
        found.append(f"The rarest class is in only {rarest} {what}: the comparison is uncertain, the intervals rough.")
    predictions = problem.baseline.predictions
    if problem.scores.ndim == 1 and problem.input != "scores" and _points_the_other_way(predictions):
        found.append("Higher scores go with fewer events: are these the probabilities of the other class?")
    if predictions.kind == "binary" and problem.input != "scores":
        p, y = predictions.scores, predictions.labels
        if p[y == 1].min() > p[y == 0].max():
            found.append("A threshold separates the classes perfectly: were these rows used for training?")
    return tuple(found)


def _points_the_other_way(predictions: Predictions) -> bool:
    """Return whether the AUC is below 1/2 by more than three standard errors under no association."""
    y = predictions.labels == 1
    w = np.ones(len(y)) if predictions.weights is None else predictions.weights
    auc = _kernels.auc(predictions.scores, w * y, w * ~y)
    n1, n0 = np.count_nonzero(y), np.count_nonzero(~y)
    return auc < 0.5 - 3 * math.sqrt((n1 + n0 + 1) / (12 * n1 * n0))
