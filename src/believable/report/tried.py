"""What was tried out of fold to mend the scores, and what it is worth. scikit-learn comes with it."""

from __future__ import annotations

from typing import Any

import numpy as np

from believable._random import generator
from believable._types import Ints
from believable.predictions import Predictions
from believable.recalibrate._crossfit import Problem
from believable.recalibrate._scored import WORDS, Judge
from believable.recalibrate.refinement import refinement
from believable.recalibrate.select import NOTHING, Candidate, Selection, select
from believable.report.parts import Change, Fix, Tried
from believable.report.remedy import Remedy

MOST_ROWS = 20_000  # that methods are compared on; the chosen one is then judged on all
DRAWS = 200


def best_of_tried(
    predictions: Predictions, cluster: Ints | None, level: float, random_state: Any, progress: bool | None
) -> Remedy:
    """The simplest recalibrator that helps beyond chance, compared on at most 20,000 rows and judged on all."""
    rows = _some(predictions, cluster, random_state)
    few = predictions if rows is None else predictions.take(rows)
    few_clusters = cluster if rows is None or cluster is None else cluster[rows]
    chosen: dict[str, Any] = {"errors": ("ece",), "level": level, "n_resamples": DRAWS, "random_state": random_state}
    selection = select(few, groups=few_clusters, progress=progress, **chosen)
    split = refinement(few, groups=few_clusters, level=level, random_state=random_state)
    if selection.chosen == NOTHING:
        fix = _fix(selection, (), None, str(split))
        return Remedy(fix, "", None, selection.caveats)
    candidate = selection[selection.chosen]
    if rows is None:
        changes = _changes(candidate.scored, selection[NOTHING].scored)
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


def _some(predictions: Predictions, cluster: Ints | None, random_state: Any) -> Ints | None:
    """Rows drawn at random, whole clusters of them, where there are more than methods are compared on."""
    if len(predictions) <= MOST_ROWS:
        return None
    rng = generator(random_state)
    if cluster is None:
        return np.sort(rng.choice(len(predictions), MOST_ROWS, replace=False))
    order = rng.permutation(int(cluster.max()) + 1)
    sizes = np.bincount(cluster)[order]
    kept = order[: max(int(np.searchsorted(np.cumsum(sizes), MOST_ROWS)), 10)]
    return np.flatnonzero(np.isin(cluster, kept))


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
            name=WORDS[name],
            before=before.values[name].value,
            after=value.value,
            gain=after.gains[name].value,
            gain_low=after.gains[name].low,
            gain_high=after.gains[name].high,
        )
        for name, value in after.values.items()
    )
