"""Rows drawn from the cells of a summary, where a method can be judged by rows alone."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from believable._check import generator
from believable._types import Float64s, Int64s, Ints
from believable.auditing.source import Source
from believable.errors import BelievableError, InputError, LimitWarning, SmallSampleWarning
from believable.predictions import Predictions
from believable.recalibrate.base import BinaryRecalibrator, Recalibrator
from believable.recalibrate.crossfit import SCORE_WORDS, Judge, Problem
from believable.recalibrate.facts import as_method
from believable.recalibrate.refinement import refinement
from believable.recalibrate.select import NO_RECALIBRATION, Candidate, Selection, select
from believable.report.parts import Change, Fix, Tried
from believable.stats import CellStats, Summary

MAX_DRAWN_ROWS = 1_000_000
FEWEST = 20_000  # of the rarer outcome, or all there are
MOST_COUNTED = 10**9 - 1  # beyond, drawing without replacement is not offered, and makes no difference


def drawn_rows(summary: Summary, random_state: Any) -> Predictions:
    """At most a million rows of one event, as if drawn from those that were counted, without replacement.

    Rows stand at the mean scores of their cells (logit-spaced ones, where they were counted). Of an event so rare that
    fewer than 20,000 would be drawn, so many are, or all there are, and weigh less. Rows of unequal weight that share
    a cell and an outcome come as (sum w)^2 / sum w^2 rows of equal weight, rounded, so that both sums are kept.
    """
    if summary.kind != "binary":
        raise InputError(
            "a summary does not hold the rows of a matrix, only its classes one by one: run `believable fit` on a "
            "sample of rows, or audit(rows)"
        )
    cells = summary.cells_of("binary", spacing="logit")
    if not np.array_equal(cells.ny, np.rint(cells.ny)):
        raise InputError("recalibration needs one label per row, not soft labels")
    rng = generator(random_state)
    counts = [_as_rows(*of_outcome) for of_outcome in _by_outcome(cells)]
    total = sum(int(n.sum()) for n, _ in counts)
    scores, labels, weights = [], [], []
    for outcome, (n, weight) in enumerate(counts):
        counted = int(n.sum())
        wanted = min(counted, max(counted * MAX_DRAWN_ROWS // total, FEWEST)) if total > MAX_DRAWN_ROWS else counted
        taken = n if wanted == counted else _spread_counts(n, wanted, rng)
        at = np.repeat(np.arange(len(n)), taken)
        scores.append(np.clip(cells.conf, 0, 1)[at])
        labels.append(np.full(len(at), outcome))
        weights.append(weight[at] * (counted / max(wanted, 1)) * (min(MAX_DRAWN_ROWS, total) / total))
    order = rng.permutation(sum(map(len, scores)))
    p, y, w = (np.concatenate(parts)[order] for parts in (scores, labels, weights))
    alike = bool(np.all(np.abs(w / w[0] - 1) < 1e-5)) if len(w) else True  # but for counts that were rounded down
    return Predictions(p, y, sample_weight=None if alike else w)


def _by_outcome(cells: CellStats) -> list[tuple[Float64s, Float64s, Float64s]]:
    """Counts, weights and their squares, of what did not happen and of what did."""
    no = (cells.n - cells.ny, np.maximum(cells.w - cells.wy, 0), np.maximum(cells.w2 - cells.w2y, 0))
    return [no, (cells.ny, cells.wy, cells.w2y)]


def _as_rows(n: Float64s, w: Float64s, w2: Float64s) -> tuple[Int64s, Float64s]:
    """How many rows of equal weight each cell holds, and that weight."""
    some = n > 0
    size = np.divide(w**2, w2, out=np.zeros(len(n)), where=some & (w2 > 0))
    size = np.where(some, np.clip(np.rint(size), 1, n), 0)
    return size.astype(np.int64), np.divide(w, size, out=np.zeros(len(n)), where=some)


def _spread_counts(n: Int64s, wanted: int, rng: np.random.Generator) -> Int64s:
    if int(n.sum()) <= MOST_COUNTED:
        return rng.multivariate_hypergeometric(n, wanted)
    return rng.multinomial(wanted, n / n.sum())


# --- what was tried out of fold to mend the scores, and what it is worth. scikit-learn comes with it ------------------


MAX_ROWS_TO_COMPARE_ON = 20_000  # that methods are compared on; the chosen one is then judged on all
FEWEST_ROWS, FEWEST_CLUSTERS = 100, 20  # of a rare class
DRAWS = 200


def best_of_tried(
    predictions: Predictions, cluster: Ints | None, level: float, random_state: Any, progress: bool | None
) -> Remedy:
    """The simplest recalibrator that helps beyond chance, compared on at most 20,000 rows and judged on all."""
    rows = _rows_to_compare_on(predictions, cluster, random_state)
    few = predictions if rows is None else _stand_in(predictions, rows) if cluster is None else predictions.take(rows)
    few_clusters = cluster if rows is None or cluster is None else cluster[rows]
    chosen: dict[str, Any] = {"errors": ("ece",), "level": level, "n_resamples": DRAWS, "random_state": random_state}
    selection = select(few, groups=few_clusters, progress=progress, **chosen)
    if selection.chosen == NO_RECALIBRATION:
        return Remedy(_fix(selection, (), None, ""), "", None, selection.caveats)
    candidate = selection[selection.chosen]
    split = refinement(few, method=candidate.method, groups=few_clusters, level=level, random_state=random_state)
    if rows is None:
        changes = _changes(candidate.scored, selection[NO_RECALIBRATION].scored)
        after, learnt = candidate.predictions, selection.recalibrator
    else:
        problem = Problem.of(
            predictions,
            None,
            input="probabilities",
            classes=None,
            cv=5,
            groups=cluster,
            sample_weight=None,
            random_state=random_state,
        )
        mapped = problem.cross_fitted(candidate.method)
        judge = Judge(problem, level, DRAWS, random_state, ("ece",))
        changes = _changes(judge.score(mapped), judge.baseline())
        after, learnt = mapped.predictions, problem.fit(candidate.method)
    return Remedy(_fix(selection, changes, learnt.to_json(), str(split)), "", after, selection.caveats)


def best_of_drawn(summary: Summary, level: float, random_state: Any, progress: bool | None) -> Remedy:
    """The same for rows drawn from the cells of a summary; the map is then learnt from all cells."""
    rows = drawn_rows(summary, random_state)
    found = best_of_tried(rows, None, level, random_state, progress)
    fix = found.fix
    if fix is None:
        return found
    which = "All" if len(rows) == summary.n else f"{len(rows):,} {'for' if summary.weighted else 'of'}"
    weighted = " of unequal weight" if summary.weighted else ""
    words = f"{which} {summary.n:,} rows{weighted} were drawn from the cells of a summary, at their mean scores"
    if fix.map is None:
        return replace(found, fix=replace(fix, rows=f"{fix.rows} {words}."))
    words += ", to judge the chosen map on; it was fitted on all cells."
    return replace(found, fix=replace(fix, map=_fitted(fix.chosen, summary).to_json(), rows=f"{fix.rows} {words}"))


def _fitted(name: str, summary: Summary) -> Recalibrator:
    """A map of all rows, which stand at the mean scores of their cells."""
    cells, names = summary.cells_of("binary", spacing="logit"), summary.classes
    method: Recalibrator = as_method(name).set_params(classes=None if names is None else list(names))
    if isinstance(method, BinaryRecalibrator):
        return method.fit_from_cells(cells)
    labels = np.repeat([0, 1], len(cells.n)) if names is None else np.repeat(names, len(cells.n))
    return method.fit(np.tile(cells.conf, 2), labels, np.concatenate([np.maximum(cells.w - cells.wy, 0), cells.wy]))


def _rows_to_compare_on(predictions: Predictions, cluster: Ints | None, random_state: Any) -> Ints | None:
    """Rows drawn at random, whole clusters of them, where there are more than methods are compared on.

    Of a class so rare that few would be drawn, 100 rows (or 20 clusters) are taken, or all there are.
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
        wanted = np.minimum(counts, np.maximum(counts * MAX_ROWS_TO_COMPARE_ON // len(labels), FEWEST_ROWS))
        order = rng.permutation(len(labels))
        order = order[np.argsort(labels[order], kind="stable")]
        place = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)  # within the class
        return np.sort(order[place < np.repeat(wanted, counts)])
    order = rng.permutation(int(cluster.max()) + 1)
    n_kept = max(int(np.searchsorted(np.cumsum(np.bincount(cluster)[order]), MAX_ROWS_TO_COMPARE_ON)), 10)
    turn = np.argsort(order)[cluster]  # of each row's cluster
    for k in np.unique(labels):
        turns = np.unique(turn[labels == k])
        n_kept = max(n_kept, int(turns[:FEWEST_CLUSTERS][-1]) + 1)
    return np.flatnonzero(turn < n_kept)


def _has_rare(labels: Ints) -> bool:
    """Whether fewer than 100 rows of some class would be drawn."""
    counts = np.bincount(labels)
    return bool(np.any((counts > 0) & (counts * MAX_ROWS_TO_COMPARE_ON < FEWEST_ROWS * len(labels))))


def _stand_in(predictions: Predictions, rows: Ints) -> Predictions:
    """Some of the rows, weighted where a rare class was drawn more often than the others."""
    few = predictions.take(rows)
    if not _has_rare(predictions.labels):
        return few
    drawn, counts = np.bincount(few.labels), np.bincount(predictions.labels)
    times = counts[few.labels] / drawn[few.labels]
    return few._with(weights=times if few.weights is None else times * few.weights, borrowed=False)


def _fix(selection: Selection, changes: tuple[Change, ...], learnt: str | None, split: str) -> Fix:
    return Fix(
        chosen=selection.chosen,
        advice=selection.advice,
        rows=selection.rows,
        bins="10 uniform bins",
        tried=tuple(_tried(each, each.name == selection.chosen) for each in selection.candidates),
        changes=changes,
        map=learnt,
        refinement=split,
    )


def _tried(candidate: Candidate, chosen: bool) -> Tried:
    values, gain = candidate.scored.values, candidate.scored.gains["log_loss"]
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


def _changes(after: Any, before: Any) -> tuple[Change, ...]:
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


# --- the recommended fix of an audit, or why there is none ------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Remedy:
    """A fix, with the predictions it leads to.

    Attributes
    ----------
    fix : Fix or None
    why_none : str
    after : Predictions or None
        Recalibrated out of fold; None where nothing is recommended. Of a summary, rows that were drawn from it.
    caveats : tuple of str
    """

    fix: Fix | None
    why_none: str
    after: Predictions | None
    caveats: tuple[str, ...]


def remedy(source: Source, cluster: Ints | None, level: float, random_state: Any, progress: bool | None) -> Remedy:
    """The simplest recalibrator that helps beyond chance, and how much; "nothing" where none does."""
    try:
        with warnings.catch_warnings():  # what they say is said by the caveats
            warnings.simplefilter("ignore", LimitWarning)
            warnings.simplefilter("ignore", SmallSampleWarning)

            if isinstance(source, Summary):
                return best_of_drawn(source, level, random_state, progress)
            return best_of_tried(source, cluster, level, random_state, progress)
    except BelievableError as reason:
        return Remedy(None, str(reason), None, ())
