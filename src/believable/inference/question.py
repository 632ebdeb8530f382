"""A metric asked of some data: which metric, with which choices, of what."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from believable import _kernels
from believable._types import Array, Float64s, Notion
from believable.errors import ClippedWarning, InputError, UndefinedError
from believable.metrics import METRICS, Metric, find_metric
from believable.predictions import Predictions, as_predictions
from believable.predictions.view import View
from believable.stats import BinStats, CellStats, ScoreSums, Summary
from believable.stats.points import PointStats
from believable.stats.source import TEN, UNIFORM, count_bins, count_points

COUNTING = frozenset({"n_bins", "strategy", "edges"})  # choices that a statistic does not take again
Source = Predictions | BinStats | CellStats | ScoreSums | Summary
Statistic = BinStats | PointStats


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What is asked.

    Attributes
    ----------
    function : callable
    row : Metric or None
        Its facts, if it is in the table.
    options : dict
    source : Predictions or a statistic
    """

    function: Callable[..., Any]
    row: Metric | None
    options: dict[str, Any]
    source: Source

    def value(self, source: Any = None) -> float:
        """The metric of the source, or of another one in its place."""
        return float(self.answer(self.source if source is None else source, self.options))

    def answer(self, source: Any, options: Mapping[str, Any]) -> Any:
        """What the function returns. Functions of one's own get plain arrays, ours the checked value."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ClippedWarning)  # said once by the plain call, not a thousand times here
            if self.row is not None or not isinstance(source, Predictions):
                return self.function(source, **options)
            weighted = {} if source.weights is None else {"sample_weight": read_only(source.weights)}
            return self.function(read_only(source.scores), read_only(source.labels), **weighted, **options)

    def replicates(self, statistic: Any, at: float | None = None) -> Float64s:
        """One value for each replicate that a statistic holds; as a plain norm at `at`, for fixed points."""
        assert self.row is not None
        options = {name: value for name, value in self.options.items() if name not in COUNTING}
        if at is not None and self.is_fixed_point:
            options[self.row.fixed_point] = max(at, 1e-6)
        found = self.answer(statistic, options)
        values = np.atleast_1d(np.asarray(getattr(found, "value", found), np.float64))
        outcomes = statistic.groups[0].wy if isinstance(statistic, PointStats) else statistic.wy
        assert len(values) == (len(outcomes) if outcomes.ndim > 1 else 1), "a metric has to work along the last axis"
        return values

    @property
    def is_fixed_point(self) -> bool:
        """Whether the metric is the fixed point of a norm, and no bandwidth of one's own was asked for."""
        return self.row is not None and bool(self.row.fixed_point) and self.options.get(self.row.fixed_point) is None

    @property
    def is_largest(self) -> bool:
        """Whether the metric is the largest gap of any bin."""
        return self.row is METRICS["maximum_calibration_error"] or self.options.get("norm") == "max"

    def statistic(self, finest: int) -> tuple[Statistic, list[Float64s]] | None:
        """What can be resampled in place of rows, and for points the last score of each; None if there is nothing.

        Points that lie close stand together, at most about `finest` of a group.
        """
        if self.row is None or self.row.needs in ("sums", "pairs") or "convention" in self.options:
            return None
        if self.row.needs == "bins":
            return self._bins(), []
        points = self._points()
        most = finest if len(points.groups) == 1 else max(40, 4 * finest // len(points.groups))
        merged = [group.merged(most) for group in points.groups]
        return replace(points, groups=tuple(group for group, _ in merged)), [last for _, last in merged]

    @property
    def notion(self) -> Notion | None:
        """The notion asked for, or the one that the metric has for such predictions; None for the default."""
        asked: Notion | None = self.options.get("notion")
        if asked is not None or self.row is None or not isinstance(self.source, (Predictions, Summary)):
            return asked
        kind, k = self.source.kind, self.source.n_classes
        if self.row is METRICS["auc"] and kind == "multiclass":  # it alone is about every class, whatever the notion
            return "binary" if k == 2 and isinstance(self.source, Predictions) else "classwise"
        return cast(Notion, self.row.of) if kind == "multiclass" and self.row.of else None

    def _of_one_of_two(self, points: PointStats) -> PointStats:
        """For the AUC of two classes the second alone: the first says the same, reversed."""
        view = points.view
        if self.row is not METRICS["auc"] or view.multilabel or len(points.groups) != 2 or view.n_classes != 2:
            return points
        return PointStats(replace(view, group=1), points.groups[1:], (0,))

    @property
    def counted_view(self) -> View | None:
        """Which pairs a statistic holds that the metric is read from; None for rows, and for sums of them."""
        if self.row is None or self.row.needs == "sums" or isinstance(self.source, (Predictions, ScoreSums)):
            return None
        if isinstance(self.source, Summary):
            return self.source.cells_in(self.notion, self.rank).view
        return self.source.view

    @property
    def rank(self) -> int | None:
        """r, no more than there are classes."""
        r, source = self._option("r"), self.source
        if r is None or isinstance(source, ScoreSums):
            return None
        k = source.n_classes if isinstance(source, (Predictions, Summary)) else source.view.n_classes
        return min(int(r), k)

    def _option(self, name: str) -> Any:
        """What was asked for, or what the metric takes if nothing was."""
        parameter = inspect.signature(self.function).parameters.get(name)
        default = None if parameter is None else parameter.default
        return self.options.get(name, default)

    def _bins(self) -> BinStats:
        assert self.row is not None
        if isinstance(self.source, (BinStats, CellStats, Summary)):
            asked: dict[str, Any] = {name: self._option(name) for name in ("edges", "pooled", "threshold")}
            asked = {name: value for name, value in asked.items() if value is not None}
            asked |= {"notion": self.notion, "r": self.rank}
            own = UNIFORM if isinstance(self.source, BinStats) else self.row.bins
            strategy: Any = self.options.get("strategy", own)
            return count_bins(self.source, self.options.get("n_bins", TEN), strategy, **asked)
        assert isinstance(self.source, Predictions)
        fresh = self.source._with(borrowed=False)  # remembers what the metric counts
        self.answer(fresh, self.options)
        return next(stats for stats in fresh._counted.values() if isinstance(stats, BinStats))

    def _points(self) -> PointStats:
        notion, r = self.notion, self.options.get("r")
        if isinstance(self.source, Summary):
            cells = self.source.cells_in(notion, r)
            return self._of_one_of_two(
                PointStats(cells.view, tuple(count_points(self.source, notion=notion, r=r)), present(cells))
            )
        if not isinstance(self.source, Predictions):
            assert isinstance(self.source, CellStats)
            return self._of_one_of_two(
                PointStats(self.source.view, tuple(count_points(self.source)), present(self.source))
            )
        view = self.source.view(notion, r=r)
        points = tuple(count_points(self.source, notion=notion, r=r))
        index = tuple(range(len(points)))
        if view.notion == "top_label":  # a class that is never predicted has no pairs
            index = tuple(np.unique(_kernels.top_one(self.source.scores)[1]).tolist())
        return PointStats(view, points, index)


def present(cells: CellStats) -> tuple[int, ...]:
    """The groups that have pairs."""
    return tuple(np.unique(cells.group).tolist())


def read_only(array: Array) -> Array:
    """A view that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def ask(
    metric: str | Callable[..., Any],
    predictions: Any,
    actuals: Any = None,
    sample_weight: Any = None,
    options: Mapping[str, Any] | None = None,
) -> Question:
    """The checked question."""
    row, function = _found(metric)
    choices = dict(options or {})
    if row is not None:
        unknown = set(choices) - row.options
        if unknown:
            raise InputError(f"{row.name} has no option {sorted(unknown)[0]!r}; it has {sorted(row.options)}")
    source: Source
    if isinstance(predictions, (BinStats, CellStats, ScoreSums, Summary)):
        if actuals is not None or sample_weight is not None:
            raise InputError(f"a {type(predictions).__name__} already holds what it counted: leave the rest out")
        if row is None:
            raise InputError("a function of your own is computed from predictions, not from a statistic")
        source = predictions
        if isinstance(source, Summary) and row.needs == "pairs":
            raise UndefinedError(f"{row.name} compares rows with each other: pass the predictions")
    else:
        source = as_predictions(predictions, actuals, sample_weight)
    if isinstance(source, (Predictions, Summary)) and row is not None and source.kind not in row.kinds:
        raise UndefinedError(
            f"{row.name} is defined for {' and '.join(row.kinds)} predictions, these are {source.kind}"
        )
    return Question(function, row, choices, source)


def _found(metric: Any) -> tuple[Metric | None, Callable[..., Any]]:
    if isinstance(metric, str):
        row = find_metric(metric)
        return row, row.function
    if not callable(metric):
        raise InputError(f"metric must be a name from the table of metrics or a function, got {metric!r}")
    for row in METRICS.values():
        if row.function is metric:
            return row, metric
    return None, metric
