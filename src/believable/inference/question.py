"""A metric asked of some data: which metric, with which choices, of what."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from believable._types import Array, Float64s
from believable.errors import ClippedWarning, CoarseCellsWarning, InputError, UndefinedError
from believable.inference.cells import BinCells, Cells, PointCells
from believable.metrics import METRICS, Metric, find_metric
from believable.predictions import Predictions, View, as_predictions
from believable.stats import BinStats, CellStats, ScoreSums, Summary
from believable.stats.points import PointStats
from believable.stats.readable import Readable
from believable.stats.source import not_empty, rows_in

Source = Predictions | BinStats | CellStats | ScoreSums | Summary


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
    _counted: list[Any] = field(default_factory=list, init=False, repr=False)

    @property
    def rows(self) -> Predictions | None:
        """The rows, where there are any: a statistic does not know them."""
        return rows_in(self.source)

    def value(self, source: Any = None) -> float:
        """The metric of the source, or of another one in its place."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ClippedWarning)  # said once by the plain call, not a thousand times here
            return float(self._answer(self.source if source is None else source))

    def _answer(self, source: Any) -> Any:
        """What the function returns. Functions of one's own get plain arrays, ours the checked value."""
        if self.row is not None:
            return self.function(source, **self.options)
        weighted = {} if source.weights is None else {"sample_weight": read_only(source.weights)}
        return self.function(read_only(source.scores), read_only(source.labels), **weighted, **self.options)

    def replicates(self, statistic: Any, at: float | None = None) -> Float64s:
        """One value for each replicate that a statistic holds; as a plain norm at `at`, for fixed points."""
        assert self.row is not None
        saying = self.row.saying(self.options)
        if at is not None and self.is_fixed_point:
            saying[self.row.fixed_point] = max(at, 1e-6)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ClippedWarning)
            found = self.row.says(statistic, **saying)
        return np.atleast_1d(np.asarray(getattr(found, "value", found), np.float64))

    @property
    def power(self) -> float | None:
        """The degree to which the metric grows with the residuals, if it is an error with these options."""
        return None if self.row is None else self.row.growth(self.options)

    @property
    def is_fixed_point(self) -> bool:
        """Whether the metric is the fixed point of a norm, and no bandwidth of one's own was asked for."""
        return self.row is not None and bool(self.row.fixed_point) and self.options.get(self.row.fixed_point) is None

    @property
    def is_largest(self) -> bool:
        """Whether the metric is the largest gap of any bin."""
        return self.row is not None and (self.row.largest_gap or self.options.get("norm") == "max")

    @property
    def is_of_sums(self) -> bool:
        """Whether the metric is read from sums of rows, with these options too."""
        return self.row is not None and self.row.needs == "sums" and self.row.is_halved(self.options)

    def counted(self) -> BinStats | PointStats | None:
        """What the metric reads, if it can be resampled in place of rows; it is counted once."""
        row = self.row
        if row is None or row.needs in ("sums", "pairs") or not row.is_halved(self.options):
            return None
        if not self._counted:
            rows = self.rows
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CoarseCellsWarning)  # said with the value
                source = self.source if rows is None else rows.remembering()
                self._counted.append(row.counts(source, **row.counting(self.options)))
        found: BinStats | PointStats = self._counted[0]
        return found

    def cells(self, finest: int) -> Cells | None:
        """What was counted, taken apart for resampling; None where only rows can be resampled.

        Points that lie close stand together, at most about `finest` of a stratum.
        """
        counted: Any = self.counted()
        if counted is None or self.row is None:
            return None
        if self.row.needs == "bins":
            return BinCells.of(not_empty(counted))
        most = finest if len(counted) == 1 else max(40, 4 * finest // len(counted))
        merged = [stratum.merged(most) for stratum in counted]
        stats = replace(counted, strata=tuple(stratum for stratum, _ in merged))
        return PointCells.of(stats, [last for _, last in merged])

    @property
    def counted_view(self) -> View | None:
        """Which pairs a statistic holds that the metric is read from; None for rows, and for sums of them."""
        counted = self.counted() if self.rows is None else None
        return None if counted is None else counted.view


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
    source: Any
    if isinstance(predictions, Readable):
        if actuals is not None or sample_weight is not None:
            raise InputError(f"a {type(predictions).__name__} already holds what it counted: leave the rest out")
        if row is None:
            raise InputError("a function of your own is computed from predictions, not from a statistic")
        source = predictions
        if source.problem is not None and row.needs == "pairs":
            raise UndefinedError(f"{row.name} compares rows with each other: pass the predictions")
    else:
        source = as_predictions(predictions, actuals, sample_weight)
    if row is not None and source.problem is not None and source.problem not in row.kinds:
        raise UndefinedError(
            f"{row.name} is defined for {' and '.join(row.kinds)} predictions, these are {source.problem}"
        )
    return Question(function, row, choices, source)


def _found(metric: Any) -> tuple[Metric | None, Callable[..., Any]]:
    if isinstance(metric, str):
        row = find_metric(metric)
        return row, row.function
    if not callable(metric):
        raise InputError(
            "{argument} must be a name from the table of metrics or a function, got {got!r}",
            argument="metric",
            got=metric,
        )
    for row in METRICS.values():
        if row.function is metric:
            return row, metric
    return None, metric
