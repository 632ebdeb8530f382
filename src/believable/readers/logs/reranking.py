"""Read a reranker's scores and the judgements of its documents as predictions.

The scores of a reranker are probabilities, logits, or neither. The user says which; this is never guessed. Scores that
are neither become probabilities through a calibration map (`believable.recalibrate.reranking`), which the notes name.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from believable import _check
from believable.errors import Hint, InputError
from believable.predictions import Predictions
from believable.readers.load import Loaded
from believable.readers.logs.trec import Judged, Unjudged, judge, read_qrels, read_run

if TYPE_CHECKING:
    from believable.recalibrate.base import Recalibrator
    from believable.recalibrate.inputs import Input

ScoreKind = Literal["probabilities", "logits", "raw"]
METHODS_IN_WORDS = {
    "average": "averaged calibration",
    "platt": "Platt scaling",
    "isotonic": "isotonic regression",
    "venn_abers": "Venn–Abers calibration",
    "histogram": "histogram binning",
    "temperature": "temperature scaling",
    "beta": "beta calibration",
    "scaling_binning": "scaling-binning",
    "spline": "spline calibration",
    "logit_spline": "logit-spline calibration",
    "quadratic": "quadratic scaling",
    "base rate": "replacing every score by the base rate",
}
ONE_QUERY = "all documents belong to one query, and are treated as independent"
INPUTS_OF_MAPS: dict[ScoreKind, Input] = {"probabilities": "probabilities", "logits": "logits", "raw": "scores"}


def load_run(
    run: str | os.PathLike[str],
    qrels: str | os.PathLike[str],
    *,
    rel: int = 1,
    scores: ScoreKind = "probabilities",
    graded: bool = False,
    unjudged: Unjudged = "drop",
    method: str | Recalibrator = "platt",
    random_state: Any = 0,
) -> Loaded:
    """Read the judged documents of a TREC run as predictions of relevance, clustered by query.

    Each document is a row: its score, and whether its grade is at least `rel`. The predicted probability is

    - the score itself, if scores are "probabilities", which must lie in [0, 1];
    - sigmoid(score), if they are "logits", one per document;
    - m(score), if they are "raw", where m is a calibration map fitted to other queries: the queries are split into
      folds, and each fold is recalibrated by a map that was fitted to the others. An audit then judges the recalibrated
      scores.

    With `graded=True` each grade that occurs is a class: "not relevant", "relevant" and "highly relevant" for the
    grades 0, 1 and 2, otherwise "grade 0", "grade 1" and so on. Of more than ten grades, the highest are one class. One
    score is not a probability for each grade, so calibration maps are always fitted, as above: m_g for P(grade >= g),
    lowered where it exceeds that of the grade before. A grade gets its m_g minus that of the next.

    Parameters
    ----------
    run, qrels : path
        See `read_run` and `read_qrels`.
    rel : int
        The lowest grade that counts as relevant.
    scores : {"probabilities", "logits", "raw"}
        What the scores of the run are; never guessed.
    graded : bool
        Use the grades as classes instead of relevant or not.
    unjudged : {"drop", "not relevant"}
        Leave out documents without a grade, or count them as not relevant.
    method : str or Recalibrator
        The recalibrator, if a map is fitted: "platt" is sigmoid(a score + b); "isotonic", "venn_abers" and "histogram"
        are more flexible; "auto" averages several, as `select` does (not for graded relevance).
    random_state : None, int or numpy Generator
        Random seed for the folds.

    Returns
    -------
    Loaded
        `clusters` are the queries. `scaled` names the calibration map, if there is one. `notes` say which map was
        fitted to how many documents, the mean score by grade, and to which documents the results apply.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "run.trec").write_text("q1 Q0 a 1 0.9 x\\nq1 Q0 b 2 0.4 x\\nq2 Q0 a 1 0.7 x\\nq2 Q0 c 2 0.1 x\\n")
    >>> _ = (folder / "qrels.txt").write_text("q1 0 a 1\\nq1 0 b 0\\nq2 0 a 1\\n")
    >>> loaded = load_run(folder / "run.trec", folder / "qrels.txt")
    >>> loaded.predictions, loaded.clusters.tolist(), loaded.dropped
    (Predictions(n=3, kind='binary'), ['q1', 'q1', 'q2'], {'unjudged': 1})
    """
    _check.choice(scores, get_args(ScoreKind), "scores")
    if graded and rel != 1:
        raise InputError(
            "{graded=True} has its own classes, one for each grade: leave out {rel=}", argument="rel", rel=rel
        )
    judged = judge(read_run(run), read_qrels(qrels), rel=rel, unjudged=unjudged)
    where = Path(run).name
    if scores == "probabilities":
        _refuse_others(judged, where)
    try:
        predictions, fitted, method_taken = _predictions(judged, scores, graded, method, random_state)
    except InputError as error:
        raise InputError("{where}: {error}", where=where, error=error) from error
    alone = len(np.unique(judged.queries)) == 1  # clusters would have to differ from others
    relevance = "grades as classes" if graded else f"relevant from grade {rel}"
    return Loaded(
        predictions=predictions,
        title=where,
        taken=f"scores of {where} as {_kind_in_words(scores)}, {relevance} in {Path(qrels).name}"
        + ("" if alone else ", clusters by query"),
        clusters=None if alone else judged.queries,
        dropped=judged.dropped,
        notes=(*fitted, _means_by_grade(judged), *_coverage(judged), *([ONE_QUERY] if alone else [])),
        raw=judged.scores if scores == "logits" and not graded else None,
        scaled=f"after {_method_in_words(method_taken)}" if method_taken else "",
    )


def _kind_in_words(scores: ScoreKind) -> str:
    return {"probabilities": "probabilities", "logits": "logits (sigmoid)", "raw": "raw numbers"}[scores]


def _predictions(
    judged: Judged, scores: ScoreKind, graded: bool, method: str | Recalibrator, random_state: Any
) -> tuple[Predictions, tuple[str, ...], str]:
    """Return the predictions, notes on how they were recalibrated, and the alias of the recalibrator.

    Probabilities and logits of relevance are not recalibrated; then there are no notes and the alias is "".
    """
    if not graded and scores != "raw":
        return Predictions(judged.scores, judged.relevant, from_logits=scores == "logits"), (), ""
    from believable.recalibrate.reranking import RankedScores, map_to_grades, map_to_relevance

    ranked = RankedScores(judged.scores, judged.queries, INPUTS_OF_MAPS[scores])
    if graded:
        return map_to_grades(ranked, judged.grades, method, random_state)
    return map_to_relevance(ranked, judged.relevant, method, random_state)


def _method_in_words(alias: str) -> str:
    return METHODS_IN_WORDS.get(alias, f"{alias.replace('_', ' ')} recalibration")


def _refuse_others(judged: Judged, where: str) -> None:
    outside = np.flatnonzero((judged.scores < 0) | (judged.scores > 1))
    if len(outside):
        k = int(outside[0])
        raise InputError(
            "{where}: scores that are probabilities must lie in [0, 1], got {got:g} for document {document!r} of query "
            "{query!r}",
            where=where,
            got=judged.scores[k],
            document=judged.documents[k],
            query=judged.queries[k],
            hint=Hint.LOGITS_OR_RAW,
        )


# --- notes for search teams -------------------------------------------------------------------------------------------


def _means_by_grade(judged: Judged) -> str:
    parts = []
    for grade in np.unique(judged.grades):
        rows = judged.grades == grade
        n = np.count_nonzero(rows)
        parts.append(
            f"grade {grade}: {n:,} document{'' if n == 1 else 's'}, mean {float(judged.scores[rows].mean()):.4g}"
        )
    note = f"Mean score by grade, as in the run: {'; '.join(parts)}."
    relevant = judged.relevant
    if relevant.any() and not relevant.all() and judged.scores[relevant].mean() < judged.scores[~relevant].mean():
        note += " Relevant documents score lower on average than the others: are these distances?"
    return note


def _coverage(judged: Judged) -> list[str]:
    notes = []
    if judged.taken_as_not_relevant and judged.unjudged:
        share = 100 * judged.unjudged / len(judged)
        notes.append(
            f"{judged.unjudged:,} documents ({share:.3g} %) have no judgement and were counted as not relevant: if "
            "some are relevant, the scores look too high."
        )
    else:
        notes.append(
            "The results apply to judged documents. People usually judge only documents that some system ranked high, "
            "so others may be relevant less often than their scores say."
        )
    if judged.empty_queries or judged.unknown_queries:
        notes.append(
            f"Of the queries in the run, {judged.unknown_queries:,} have no judgements, and {judged.empty_queries:,} "
            "more have none of a retrieved document."
        )
    if judged.absent_queries or judged.not_retrieved:
        notes.append(
            f"Judged but not in the run: {judged.not_retrieved:,} documents of its queries, and "
            f"{judged.absent_queries:,} whole queries."
        )
    return notes
