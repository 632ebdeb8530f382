"""Turn a reranker's scores into probabilities of relevance, with maps fitted on other queries."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from believable._types import Array, Float64s, Ints
from believable.errors import InputError, Sentence
from believable.predictions import Predictions
from believable.recalibrate.average import AveragedCalibration
from believable.recalibrate.base import Recalibrator
from believable.recalibrate.crossfit import FoldSettings, RowsInFolds
from believable.recalibrate.facts import as_method
from believable.recalibrate.inputs import Input
from believable.recalibrate.select import check_method, select

GRADE_NAMES = ("not relevant", "relevant", "highly relevant")  # of the grades 0, 1 and 2, if there are no others
FEWEST_GRADES, MAX_GRADES = 3, 10
MAX_FOLDS = 5
FEW_QUERIES = 20  # with fewer, a note warns that they say little about a new query
WHY_GRADES_ARE_MAPPED = "One score per document is not a probability for each grade"
WHY_RAW_SCORES_ARE_MAPPED = "Raw scores are not probabilities"


@dataclass(frozen=True, slots=True, eq=False)
class RankedScores:
    """The scores of documents, and the query that each belongs to.

    Attributes
    ----------
    scores : ndarray
        The scores of all documents.
    queries : ndarray of object
        The query of each document.
    input : {"probabilities", "logits", "scores"}
        The scale of the scores.
    """

    scores: Float64s
    queries: Array
    input: Input = "scores"

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return len(set(self.queries.tolist()))

    @property
    def folds(self) -> int:
        """The number of folds that the queries are split into."""
        return min(MAX_FOLDS, self.n_queries)


def map_to_relevance(
    ranked: RankedScores, relevant: Array, method: str | Recalibrator = "platt", random_state: Any = 0
) -> tuple[Predictions, tuple[str, ...], str]:
    """Turn each score into a probability of relevance, with a calibration map fitted on other queries.

    Parameters
    ----------
    ranked : RankedScores
        The scores, with their queries.
    relevant : ndarray of bool
        Whether each document is relevant.
    method : str or Recalibrator
        The recalibrator; "auto" averages several, as `select` does.
    random_state : None, int or numpy Generator
        Random seed for the folds.

    Returns
    -------
    Predictions
    tuple of str
        Notes: the calibration map, the rows it was fitted on, and its warnings.
    str
        The alias of the recalibrator, "average" for several, or "base rate" where none helps.
    """
    if isinstance(method, str) and method == "auto":
        _refuse_one_query(ranked)
        found = select(
            ranked.scores,
            relevant,
            input=ranked.input,
            clusters=ranked.queries,
            cv=ranked.folds,
            progress=False,
            random_state=random_state,
        )
        chosen = found[found.chosen].predictions
        note = _note(ranked, WHY_RAW_SCORES_ARE_MAPPED, [("", _map_in_words(found.recalibrator))])
        return chosen, (note, found.advice, *found.caveats), found.chosen
    p, name, warned = _cross_fitted(ranked, relevant, method, random_state)
    notes = (_note(ranked, WHY_RAW_SCORES_ARE_MAPPED, [("", name)]), *warned)
    return Predictions(p, relevant), notes, as_method(method).facts.alias


def map_to_grades(
    ranked: RankedScores, grades: Ints, method: str | Recalibrator = "platt", random_state: Any = 0
) -> tuple[Predictions, tuple[str, ...], str]:
    """Turn each score into probabilities of grades, from those of reaching each grade that occurs.

    Each grade is a class. If there are more than ten, the highest are one class. Parameters and result are those of
    `map_to_relevance`, with whole numbers of 0 and above in place of `relevant`.
    """
    if isinstance(method, str) and method == "auto":
        raise InputError(
            Sentence("{method='auto'} is for one event: name a method for graded relevance, such as 'platt'")
        )
    levels, names = _levels(grades)
    reached, maps, warned = [np.ones(len(grades))], [], []
    notes = []
    for k in range(1, len(levels)):
        p, name, said = _cross_fitted(ranked, grades >= levels[k], method, random_state)
        maps.append((f"grade {levels[k]} or above: ", name))
        warned += said
        crossing = int(np.count_nonzero(p > reached[-1]))
        if crossing:
            notes.append(
                f"For {crossing:,} documents the probability of grade {levels[k]} or above exceeded that of grade "
                f"{levels[k - 1]} or above and was lowered to it, so their probability of {names[k - 1]!r} is 0."
            )
        reached.append(np.minimum(reached[-1], p))
    matrix = -np.diff(np.column_stack([*reached, np.zeros(len(grades))]), axis=1)
    notes = [_note(ranked, WHY_GRADES_ARE_MAPPED, maps), *dict.fromkeys(warned), *notes]
    labels = np.asarray(names)[np.searchsorted(levels, grades, side="right") - 1]
    return Predictions(matrix, labels, classes=list(names)), tuple(notes), as_method(method).facts.alias


def _levels(grades: Ints) -> tuple[list[int], tuple[str, ...]]:
    """Return the lowest grade of each class, and the names of the classes."""
    levels = np.unique(grades).tolist()
    if len(levels) < FEWEST_GRADES:
        found = " and ".join(map(str, levels))
        raise InputError(
            "graded relevance needs at least three grades, got {found}: leave out {graded=True}", found=found
        )
    if levels == [0, 1, 2]:
        return levels, GRADE_NAMES
    names = tuple(f"grade {level}" for level in levels[:MAX_GRADES])
    if len(levels) > MAX_GRADES:
        names = (*names[:-1], f"{names[-1]} or above")
    return levels[:MAX_GRADES], names


def _cross_fitted(
    ranked: RankedScores, occurred: Array, method: str | Recalibrator, random_state: Any
) -> tuple[Float64s, str, list[str]]:
    """Return cross-fitted probabilities, the map fitted on all queries in words, and its warnings."""
    _refuse_one_query(ranked)
    chosen = as_method(method)
    check_method(chosen, ranked.input)
    problem = RowsInFolds.of(
        ranked.scores,
        occurred,
        FoldSettings(ranked.input, cv=ranked.folds, clusters=ranked.queries, random_state=random_state),
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        whole = problem.fit(chosen)
    said = [f"While fitting the calibration map: {warning.message}." for warning in caught]
    p = np.asarray(problem.cross_fitted(chosen).predictions.scores, np.float64)
    return p, _map_in_words(whole), list(dict.fromkeys(said))


def _refuse_one_query(ranked: RankedScores) -> None:
    if ranked.n_queries < 2:
        raise InputError(
            "a calibration map is fitted on some queries and judged on others, so it needs at least two judged queries"
        )


def _map_in_words(model: Recalibrator) -> str:
    """Return the method in words, with the numbers of its map where they are few."""
    if isinstance(model, AveragedCalibration):
        return f"an average of calibration maps, {model.in_words()}"
    fields = model.maps_[0] or {}
    numbers = ", ".join(f"{name} {value:.4g}" for name, value in fields.items() if isinstance(value, float))
    return f"{type(model).__name__}{f' ({numbers})' if numbers and len(fields) <= 4 else ''}"


def _note(ranked: RankedScores, why: str, maps: Sequence[tuple[str, str]]) -> str:
    named = "; ".join(f"{of}{name}" for of, name in maps)
    fitted = "a calibration map was" if len(maps) == 1 else "calibration maps were"
    few = " So few queries say little about a new one." if ranked.n_queries < FEW_QUERIES else ""
    return (
        f"{why}, so {fitted} fitted first, and this audit is of the recalibrated scores. Fitted on all "
        f"{len(ranked.scores):,} documents of {ranked.n_queries:,} queries: {named}. For the audit, each query was "
        f"recalibrated by a fit to the queries of the other {ranked.folds - 1} of {ranked.folds} folds. Such scores "
        "are right on average by construction; the shape of the map, and how it works for other queries and "
        f"judgements, can still be wrong.{few}"
    )
