"""The recommended recalibration: what was tried out of fold and how much it helps, or why nothing was tried."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from believable._check import generator
from believable._types import Ints
from believable.auditing.settings import AuditSettings
from believable.auditing.source import AuditSource, SummarySource
from believable.errors import BelievableError, LimitWarning, SmallSampleWarning
from believable.predictions import Predictions
from believable.recalibrate.base import BinaryRecalibrator, Recalibrator
from believable.recalibrate.crossfit import SCORE_WORDS, FoldSettings, Judge, RowsInFolds, Scored
from believable.recalibrate.facts import as_method
from believable.recalibrate.refinement import refinement
from believable.recalibrate.select import NO_RECALIBRATION, Candidate, Selection, select
from believable.report.parts import Change, Fix, Tried
from believable.stats import Summary

MAX_ROWS_TO_COMPARE_ON = 20_000  # the method chosen on these is then judged on all rows
FEWEST_ROWS_OF_RARE_CLASS, FEWEST_CLUSTERS_OF_RARE_CLASS = 100, 20
GAIN_DRAWS = 200


@dataclass(frozen=True, slots=True, eq=False)
class Remedy:
    """A recommended recalibration, with the recalibrated predictions.

    Attributes
    ----------
    fix : Fix or None
        The recommendation; None if nothing was tried.
    why_none : str
        Why nothing was tried; "" otherwise.
    after : Predictions or None
        The predictions, recalibrated out of fold; None if nothing is recommended. For a summary, rows drawn from it.
    caveats : tuple of str
        What to keep in mind about the comparison of methods.
    """

    fix: Fix | None
    why_none: str
    after: Predictions | None
    caveats: tuple[str, ...]


def remedy(source: AuditSource, settings: AuditSettings, progress: bool | None) -> Remedy:
    """Find the simplest recalibrator that helps significantly, and how much it helps; "nothing" if none does."""
    try:
        with warnings.catch_warnings():  # because the caveats say the same
            warnings.simplefilter("ignore", LimitWarning)
            warnings.simplefilter("ignore", SmallSampleWarning)
            rows = source.rows_to_recalibrate(settings.random_state)
            found = best_of_tried(rows, source.cluster, settings, progress)
            return _fitted_on_all_cells(found, len(rows), source.data) if isinstance(source, SummarySource) else found
    except BelievableError as reason:
        return Remedy(None, str(reason), None, ())


def best_of_tried(
    predictions: Predictions, cluster: Ints | None, settings: AuditSettings, progress: bool | None
) -> Remedy:
    """Find the simplest recalibrator that helps significantly: compare on up to 20,000 rows, judge on all."""
    level, random_state = settings.level, settings.random_state
    rows = rows_to_compare_on(predictions, cluster, random_state)
    few = predictions if rows is None else _stand_in(predictions, rows) if cluster is None else predictions.take(rows)
    few_clusters = cluster if rows is None or cluster is None else cluster[rows]
    selection = select(
        few,
        rule="proven",
        clusters=few_clusters,
        errors=("ece",),
        level=level,
        n_resamples=GAIN_DRAWS,
        progress=progress,
        random_state=random_state,
    )
    if selection.chosen == NO_RECALIBRATION:
        return Remedy(_fix(selection, (), None, ""), "", None, selection.caveats)
    candidate = selection[selection.chosen]
    split = refinement(few, method=candidate.method, clusters=few_clusters, level=level, random_state=random_state)
    if rows is None:
        changes = _changes(candidate.scored, selection[NO_RECALIBRATION].scored)
        after, fitted = candidate.predictions, selection.recalibrator
    else:
        problem = RowsInFolds.of(predictions, None, FoldSettings(clusters=cluster, random_state=random_state))
        mapped = problem.cross_fitted(candidate.method)
        judge = Judge(problem, level, GAIN_DRAWS, random_state, ("ece",))
        changes = _changes(judge.score(mapped), judge.baseline())
        after, fitted = mapped.predictions, problem.fit(candidate.method)
    return Remedy(_fix(selection, changes, fitted.to_json(), str(split)), "", after, selection.caveats)


def _fix(selection: Selection, changes: tuple[Change, ...], fitted: str | None, split: str) -> Fix:
    return Fix(
        chosen=selection.chosen,
        advice=selection.advice,
        rows=selection.rows,
        bins="10 uniform bins",
        score=SCORE_WORDS[selection.score],
        tried=tuple(_tried(each, each.name == selection.chosen, selection.score) for each in selection.candidates),
        changes=changes,
        map=fitted,
        refinement=split,
    )


def _tried(candidate: Candidate, chosen: bool, score: str) -> Tried:
    values, gain = candidate.scored.values, candidate.scored.gains[score]
    return Tried(
        name=candidate.name,
        log_loss=values["log_loss"].value,
        brier=values["brier"].value,
        ece=values["ece"].value,
        gain=gain.value,
        gain_low=gain.low,
        gain_high=gain.high,
        chosen=chosen,
    )


def _changes(after: Scored, before: Scored) -> tuple[Change, ...]:
    return tuple(
        Change(
            name=SCORE_WORDS[name],
            before=before.values[name].value,
            after=value.value,
            gain=after.gains[name].value,
            gain_low=after.gains[name].low,
            gain_high=after.gains[name].high,
        )
        for name, value in after.values.items()
    )


# --- rows that methods are compared on --------------------------------------------------------------------------------


def rows_to_compare_on(predictions: Predictions, cluster: Ints | None, random_state: Any) -> Ints | None:
    """Draw the rows to compare methods on, in whole clusters; None for all rows, if they are few enough.

    If a class is so rare that few of its rows would be drawn, 100 rows (or 20 clusters) are, or all there are.
    """
    if (
        len(predictions) <= MAX_ROWS_TO_COMPARE_ON
        or predictions.kind == "multilabel"
        or predictions.labels.dtype.kind == "f"
    ):
        return None
    rng, labels = generator(random_state), predictions.labels
    if cluster is None:
        if not _has_rare(labels):
            return np.sort(rng.choice(len(labels), MAX_ROWS_TO_COMPARE_ON, replace=False))
        counts = np.bincount(labels)
        share = counts.astype(np.int64) * MAX_ROWS_TO_COMPARE_ON // len(labels)
        wanted = np.minimum(counts, np.maximum(share, FEWEST_ROWS_OF_RARE_CLASS)).astype(np.intp)
        order = rng.permutation(len(labels))
        order = order[np.argsort(labels[order], kind="stable")]
        rank = np.arange(len(labels)) - np.repeat(np.cumsum(counts, dtype=np.intp) - counts, counts)  # within the class
        return np.sort(order[rank < np.repeat(wanted, counts)])
    order = rng.permutation(int(cluster.max()) + 1)
    n_kept = max(
        int(np.searchsorted(np.cumsum(np.bincount(cluster)[order], dtype=np.int64), MAX_ROWS_TO_COMPARE_ON)), 10
    )
    turn = np.argsort(order)[cluster]  # the position of each row's cluster in the random order
    for k in np.unique(labels):
        turns = np.unique(turn[labels == k])
        n_kept = max(n_kept, int(turns[:FEWEST_CLUSTERS_OF_RARE_CLASS][-1]) + 1)
    return np.flatnonzero(turn < n_kept)


def _has_rare(labels: Ints) -> bool:
    """Return whether fewer than 100 rows of some class would be drawn."""
    counts = np.bincount(labels).astype(np.int64)
    return bool(np.any((counts > 0) & (counts * MAX_ROWS_TO_COMPARE_ON < FEWEST_ROWS_OF_RARE_CLASS * len(labels))))


def _stand_in(predictions: Predictions, rows: Ints) -> Predictions:
    """Return some of the rows, with weights that undo the larger share of a rare class."""
    few = predictions.take(rows)
    if not _has_rare(predictions.labels):
        return few
    drawn, counts = np.bincount(few.labels), np.bincount(predictions.labels)
    times = counts[few.labels] / drawn[few.labels]
    return few.trusting(weights=times if few.weights is None else times * few.weights, borrowed=False)


# --- a summary: judged on rows drawn from its cells, fitted on all cells ----------------------------------------------


def _fitted_on_all_cells(found: Remedy, n_drawn: int, summary: Summary) -> Remedy:
    """Take what was found on rows drawn from a summary, and fit the chosen recalibrator on all of its cells."""
    fix = found.fix
    if fix is None:
        return found
    which = "All" if n_drawn == summary.n else f"{n_drawn:,} {'for' if summary.weighted else 'of'}"
    weighted = " of unequal weight" if summary.weighted else ""
    words = f"{which} {summary.n:,} rows{weighted} were drawn from the cells of a summary, at their mean scores"
    if fix.map is None:
        return replace(found, fix=replace(fix, rows=f"{fix.rows} {words}."))
    words += ", to judge the chosen recalibrator; it was fitted on all cells."
    return replace(found, fix=replace(fix, map=_fitted(fix.chosen, summary).to_json(), rows=f"{fix.rows} {words}"))


def _fitted(name: str, summary: Summary) -> Recalibrator:
    """Fit a recalibrator on all rows, each at the mean score of its cell."""
    cells, names = summary.cells_of("binary", spacing="logit"), summary.classes
    method: Recalibrator = as_method(name).set_params(classes=None if names is None else list(names))
    if isinstance(method, BinaryRecalibrator):
        return method.fit_from_cells(cells)
    labels = np.repeat([0, 1], len(cells.n)) if names is None else np.repeat(names, len(cells.n))
    return method.fit(np.tile(cells.conf, 2), labels, np.concatenate([np.maximum(cells.w - cells.wy, 0), cells.wy]))
