"""From what a function was handed to the points it reads: one way to gather, for all that needs no bins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from believable import kernels
from believable._types import Array, Notion
from believable.counting import Source, cells_in, not_empty, same_question
from believable.errors import UndefinedError
from believable.predictions import Predictions
from believable.stats import BinStats, CellStats, Summary
from believable.stats.coarse import warn_of_wide_cells
from believable.stats.joined import joined
from believable.stats.points import Points as Points
from believable.stats.points import PointStats as PointStats
from believable.views import View


def count_points(
    source: Source, *, notion: Notion | None = None, r: int | None = None, logits: bool = False
) -> list[Points]:
    """The points of every group that has any: one for notions that keep nothing apart.

    From a `Summary` they are those of both grids, each where its cells are narrower. What looks at `logits` gets a
    warning where uniform cells are too wide for that.
    """
    if isinstance(source, PointStats):
        return list(source.groups)
    if isinstance(source, BinStats):
        raise UndefinedError("this is read from CellStats or predictions, not from BinStats")
    if isinstance(source, Summary):
        return _of_summary(source, notion, r, logits)
    if isinstance(source, CellStats):
        same_question(source.view, notion, r)
        not_empty(source)
        if logits:
            warn_of_wide_cells(source)
        return [_of_cells(source.only_group(g)) for g in range(source.view.n_groups) if np.any(source.group == g)]
    view = source.view(notion, r=r)
    key = ("points", view)
    if key not in source._counted:
        made = _of_predictions(source, view)
        if source.borrowed:
            return made
        source._counted[key] = made
    points: list[Points] = source._counted[key]
    return points


def one_group(points: Sequence[Points], what: str) -> Points:
    """The points, where there is one group; otherwise an error that says what to do."""
    if len(points) > 1:
        raise UndefinedError(
            f"{what} is about one group of scores, these are {len(points)}: pass one class's column, or a notion with "
            "one group (confidence, rth, within_top_r)"
        )
    return points[0]


def mean_over_groups(values: Sequence[Any], points: Sequence[Points]) -> Any:
    """The mean of one value per group, by weight: classes weigh the same, predicted labels by how often they are."""
    weight = [group.total for group in points]
    mean = sum(w * value for w, value in zip(weight, values, strict=True)) / sum(weight)
    return as_number(mean if len(points) > 1 else values[0])


def as_number(value: Array | float) -> Any:
    """A float; an array of them where the statistic held replicates."""
    return float(value) if np.ndim(value) == 0 else np.asarray(value)


def _of_summary(summary: Summary, notion: Notion | None, r: int | None, logits: bool) -> list[Points]:
    uniform, logit = cells_in(summary, notion, r), cells_in(summary, notion, r, spacing="logit")
    if uniform.grid.spacing == logit.grid.spacing:  # one grid was counted
        return count_points(uniform, logits=logits)
    groups = np.unique(uniform.group).tolist()
    return [joined(uniform.only_group(g), logit.only_group(g)) for g in groups]


def _of_cells(cells: CellStats) -> Points:
    return Points(cells.conf, cells.n, cells.w, cells.wy, cells.w2, cells.w2y)


def _of_predictions(source: Predictions, view: View) -> list[Points]:
    if view.notion == "classwise" and source.scores.ndim == 2:
        columns = source.columns(view)
        return [Points(*kernels.by_score(pairs.score, pairs.outcome, pairs.weight)) for pairs in columns]
    score, outcome, weight, group = source.all_pairs(view)
    if group is None:
        return [Points(*kernels.by_score(score, outcome, weight))]
    found = []
    for g in range(view.n_groups):
        here = np.flatnonzero(group == g)
        if len(here):
            found.append(
                Points(*kernels.by_score(score[here], outcome[here], None if weight is None else weight[here]))
            )
    return found
