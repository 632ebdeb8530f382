"""A metric applied to data: which metric, with which options, on what."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from believable import _check
from believable._types import Array, Float64s, Ints
from believable.errors import ClippedWarning, CoarseCellsWarning, InputError, UndefinedError
from believable.inference.cells import BinCells, Cells, PointCells
from believable.metrics import METRICS, Estimate, Metric, find_metric
from believable.predictions import Predictions, View, as_predictions
from believable.stats import BinStats, CellStats, ScoreSums, Summary
from believable.stats.points import PointStats
from believable.stats.readable import Readable
from believable.stats.source import not_empty, number_of_bins, rows_in

BIN_BY_FOLLOWS_ROWS = (
    "{argument} cannot be used here, because rows are drawn again and the column would no longer match them: use the "
    "default method, without clusters"
)
Source = Predictions | BinStats | CellStats | ScoreSums | Summary


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A metric with its options, and the data it is applied to.

    Attributes
    ----------
    function : callable
        The metric's function.
    row : Metric or None
        The metric's entry in the table, if it has one.
    options : dict
        Options of the metric.
    source : Predictions or a statistic
        The data.
    """

    function: Callable[..., Any]
    row: Metric | None
    options: dict[str, Any]
    source: Source
    _counted: list[Any] = field(default_factory=list, init=False, repr=False)

    @property
    def rows(self) -> Predictions | None:
        """The rows, or None for a statistic, which does not hold them."""
        return rows_in(self.source)

    def value(self, source: Any = None) -> float:
        """Return the metric of the source, or of another source in its place."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ClippedWarning)  # the plain call warns once; replicates would repeat it
            return float(self._answer(self.source if source is None else source))

    def own_interval(self, level: float, cluster: Ints | None) -> Estimate | None:
        """Return the interval that the metric has of its own, or None."""
        if self.row is None or self.row.interval is None:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ClippedWarning)
            return self.row.interval(self.source, level, self.options, cluster)

    def _answer(self, source: Any) -> Any:
        """Call the function: custom functions get plain arrays, metrics of the table the checked source."""
        if source is not self.source and self.options.get("bin_by") is not None:
            raise InputError(BIN_BY_FOLLOWS_ROWS, argument="bin_by")
        if self.row is not None:
            return self.function(source, **self.options)
        weighted = {} if source.weights is None else {"sample_weight": read_only(source.weights)}
        return self.function(read_only(source.scores), read_only(source.labels), **weighted, **self.options)

    def replicates(self, statistic: Any, at: float | None = None) -> Float64s:
        """Return one value for each replicate of a statistic; for fixed points, the norm at `at` if that is given."""
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
        """Degree to which the metric grows with the residuals; None unless it is an error with these options."""
        return None if self.row is None else self.row.growth(self.options)

    @property
    def is_fixed_point(self) -> bool:
        """Whether the metric is the fixed point of a norm, and no bandwidth was given."""
        return self.row is not None and bool(self.row.fixed_point) and self.options.get(self.row.fixed_point) is None

    @property
    def is_largest(self) -> bool:
        """Whether the metric is the largest gap of any bin."""
        return self.row is not None and (self.row.largest_gap or self.options.get("norm") == "max")

    @property
    def is_of_sums(self) -> bool:
        """Whether the metric with these options is computed from sums over rows."""
        return self.row is not None and self.row.needs in ("sums", "rows") and self.row.is_halved(self.options)

    def counted(self) -> BinStats | PointStats | None:
        """Return the statistic behind the metric if it can be resampled in place of rows; it is counted only once."""
        row = self.row
        if row is None or row.needs in ("sums", "rows", "pairs") or not row.is_halved(self.options):
            return None
        if not self._counted:
            rows = self.rows
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CoarseCellsWarning)  # the value itself warns
                source = self.source if rows is None else rows.remembering()
                self._counted.append(row.counts(source, **row.counting(self.options)))
        found: BinStats | PointStats = self._counted[0]
        return found

    def cells(self, finest: int) -> Cells | None:
        """Return the cells of the statistic, for resampling; None if only rows can be resampled.

        Neighbouring points are merged, so that a stratum has at most about `finest` of them.
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
        """View of the statistic behind the metric; None for rows, and for sums over rows."""
        counted = self.counted() if self.rows is None else None
        return None if counted is None else counted.view


def read_only(array: Array) -> Array:
    """Return a read-only view of an array."""
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
    """Check the arguments and return the question."""
    row, function = _found(metric)
    choices = dict(options or {})
    if row is not None:
        unknown = set(choices) - row.options
        if unknown:
            raise InputError(f"{row.name} has no option {sorted(unknown)[0]!r}; it has {sorted(row.options)}")
    if choices.get("reduction", "mean") != "mean":
        raise InputError("{argument} must be 'mean' here, because one number is needed", argument="reduction")
    source: Any
    if isinstance(predictions, Readable):
        if actuals is not None or sample_weight is not None:
            raise InputError(f"a {type(predictions).__name__} already contains outcomes and weights: pass it alone")
        if row is None:
            raise InputError("a custom metric function needs predictions, not a statistic")
        source = predictions
        if source.problem is not None and row.needs in ("rows", "pairs"):
            how = "reads whole rows" if row.needs == "rows" else "compares rows with each other"
            raise UndefinedError(f"{row.name} {how}: pass the predictions")
    else:
        source = as_predictions(predictions, actuals, sample_weight)
    if row is not None and "n_bins" in choices:  # replicates have the bins of all rows
        choices["n_bins"] = number_of_bins(source, choices["n_bins"])
    if row is None:
        weighted = () if source.weights is None else ("sample_weight",)
        _check.takes(function, "metric", "scores, labels", [*weighted, *choices])
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
