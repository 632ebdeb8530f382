"""Maps of a reranker's scores to probabilities of relevance, each query mapped by what other queries say."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from believable._types import Array, Float64s, Ints
from believable.errors import InputError, Sentence
from believable.predictions import Predictions
from believable.recalibrate.base import Recalibrator
from believable.recalibrate.crossfit import FoldSettings, RowsInFolds
from believable.recalibrate.facts import as_method
from believable.recalibrate.inputs import Input
from believable.recalibrate.select import check_method, select

GRADE_NAMES = ("not relevant", "relevant", "highly relevant")
MAX_FOLDS = 5
FEW_QUERIES = 20  # below, the note says that they tell little about another
WHY_GRADES_ARE_MAPPED = "one score per document is no probability for each of three classes, so maps were learnt"
WHY_RAW_SCORES_ARE_MAPPED = "raw scores are no probabilities, so a map was learnt"


@dataclass(frozen=True, slots=True, eq=False)
class RankedScores:
    """The scores of documents, and the query that each belongs to.

    Attributes
    ----------
    scores : ndarray
    queries : ndarray of object
    input : {"probabilities", "logits", "scores"}
        What the scores are.
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
        """The number of folds that the queries are dealt into."""
        return min(MAX_FOLDS, self.n_queries)


def map_to_relevance(
    ranked: RankedScores, relevant: Array, method: str | Recalibrator = "platt", random_state: Any = 0
) -> tuple[Predictions, tuple[str, ...], str]:
    """Map each score to a probability of relevance, by a map that was learnt from the documents of other queries.

    Parameters
    ----------
    ranked : RankedScores
    relevant : ndarray of bool
    method : str or Recalibrator
        "auto" chooses with `select`.
    random_state : None, int or numpy Generator
        Deals the folds.

    Returns
    -------
    Predictions
    tuple of str
        Notes: which map it is, learnt from how much, and what it warned of.
    str
        The alias of the recalibrator, or "base rate" where `select` found that none helps.
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
    """Map each score to three classes, from the chance of grade 1 or above and that of grade 2 or above.

    Parameters and result are those of `map_to_relevance`, with whole numbers of 0 and above in place of `relevant`.
    """
    if isinstance(method, str) and method == "auto":
        raise InputError(
            Sentence("{method='auto'} chooses for one event: name a method for graded relevance, 'platt' say")
        )
    counts = np.bincount(np.minimum(grades, 2), minlength=3)
    for k in np.flatnonzero(counts == 0):
        what = ("grade 0", "grade 1", "grade 2 or above")[k]
        raise InputError("no judged document has {what}: leave out {graded=True}", what=what)
    first, name1, warned1 = _cross_fitted(ranked, grades >= 1, method, random_state)
    second, name2, warned2 = _cross_fitted(ranked, grades >= 2, method, random_state)
    crossing = int(np.count_nonzero(second > first))
    second = np.minimum(first, second)
    matrix = np.column_stack([1 - first, first - second, second])
    names = [("grade 1 or above: ", name1), ("grade 2 or above: ", name2)]
    notes = [_note(ranked, WHY_GRADES_ARE_MAPPED, names), *dict.fromkeys([*warned1, *warned2])]
    if crossing:
        notes.append(
            f"For {crossing:,} documents the second map was above the first and was lowered to it: they have no share "
            "for 'relevant'."
        )
    labels = np.asarray(GRADE_NAMES)[np.minimum(grades, 2)]
    return Predictions(matrix, labels, classes=list(GRADE_NAMES)), tuple(notes), as_method(method).facts.alias


def _cross_fitted(
    ranked: RankedScores, happened: Array, method: str | Recalibrator, random_state: Any
) -> tuple[Float64s, str, list[str]]:
    """Each document mapped by what other queries say; the map of all of them in words; what it warned of."""
    _refuse_one_query(ranked)
    chosen = as_method(method)
    check_method(chosen, ranked.input)
    problem = RowsInFolds.of(
        ranked.scores,
        happened,
        FoldSettings(ranked.input, cv=ranked.folds, clusters=ranked.queries, random_state=random_state),
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        whole = problem.fit(chosen)
    said = [f"Of the map: {warning.message}." for warning in caught]
    p = np.asarray(problem.cross_fitted(chosen).predictions.scores, np.float64)
    return p, _map_in_words(whole), list(dict.fromkeys(said))


def _refuse_one_query(ranked: RankedScores) -> None:
    if ranked.n_queries < 2:
        raise InputError("a map is learnt from some queries and judged on others: one judged query is too few")


def _map_in_words(model: Recalibrator) -> str:
    """The method, with its numbers where they are few."""
    learnt = model.maps_[0] or {}
    numbers = ", ".join(f"{name} {value:.4g}" for name, value in learnt.items() if isinstance(value, float))
    return f"{type(model).__name__}{f' ({numbers})' if numbers and len(learnt) <= 4 else ''}"


def _note(ranked: RankedScores, why: str, maps: Sequence[tuple[str, str]]) -> str:
    named = "; ".join(f"{of}{name}" for of, name in maps)
    few = " So few queries tell little about another." if ranked.n_queries < FEW_QUERIES else ""
    return (
        f"What is audited is the mapped score, not the score itself: {why}. Learnt from all {len(ranked.scores):,} "
        f"documents of {ranked.n_queries:,} queries it is: {named}. For the audit every query was mapped by what the "
        f"queries of the other {ranked.folds - 1} of {ranked.folds} folds say. Such scores are right on the whole by "
        "construction; what can be wrong is the shape of the map, and how it does for other queries and judgements."
        f"{few}"
    )
