"""`Points`: pairs gathered at their distinct scores, which is all that metrics and curves without bins look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from believable import kernels
from believable._types import Array, Float64s, Int64s, Notion
from believable.counting import Source, not_empty, same_question
from believable.errors import UndefinedError
from believable.predictions import Predictions
from believable.stats import BinStats, CellStats
from believable.views import View


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """The pairs of one group (class, rank), by distinct score in ascending order.

    From predictions the scores are those of the data; from `CellStats` each cell stands at its mean score. Sums may
    have leading axes, one entry for each of many replicates; what reads them works along the last.

    Attributes
    ----------
    score : ndarray
    n : ndarray of int
        Pairs.
    w, wy : ndarray
        Sums of w and w y.
    w2, w2y : ndarray
        Sums of w^2 and w^2 y, for variances.
    """

    score: Float64s
    n: Int64s
    w: Float64s
    wy: Float64s
    w2: Float64s
    w2y: Float64s

    @property
    def total(self) -> Any:
        """W, the weight of all."""
        return self.w.sum(axis=-1)

    @property
    def rate(self) -> Float64s:
        """Mean outcome at each score."""
        return np.asarray(self.wy / self.w)

    @property
    def excess(self) -> Float64s:
        """Sum of w (y - p) at each score."""
        return np.asarray(self.wy - self.w * self.score)

    @property
    def variance(self) -> Float64s:
        """Variance of `excess` if outcomes happened at the rates of the scores: sum of w^2 p (1 - p)."""
        return np.asarray(self.w2 * self.score * (1 - self.score))


def count_points(source: Source, *, notion: Notion | None = None, r: int | None = None) -> list[Points]:
    """The points of every group that has any: one for notions that keep nothing apart."""
    if isinstance(source, BinStats):
        raise UndefinedError("this is read from CellStats or predictions, not from BinStats")
    if isinstance(source, CellStats):
        same_question(source.view, notion, r)
        not_empty(source)
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


def _of_cells(cells: CellStats) -> Points:
    return Points(cells.conf, cells.n, cells.w, cells.wy, cells.w2, cells.w2y)


def _of_predictions(source: Predictions, view: View) -> list[Points]:
    if view.notion == "classwise" and source.scores.ndim == 2:
        columns = (source.column(view, k) for k in range(view.n_classes))
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
