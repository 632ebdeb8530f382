"""Calibration by subgroup: for whom are the scores miscalibrated?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from believable import _check, _kernels
from believable._arrays import as_levels
from believable._check import generator, renamed
from believable._types import Array, Ints
from believable.errors import Hint, InputError, UndefinedError
from believable.inference.clusters import cluster_of_rows, rows_that_count
from believable.inference.interval import Interval, as_error, interval
from believable.inference.noise import chance_of_clusters
from believable.inference.noise_floor import POINTS_OF_FLOOR, noise_floor
from believable.inference.question import Question, ask
from believable.predictions import Predictions, as_predictions
from believable.stats import Summary
from believable.stats.source import count_sums, refuse_extras

POWER_TO_DETECT = 0.8
MAX_DRAWS_PER_SUBGROUP = 50_000
NOTE_OF_ONE_CLUSTER = "all rows belong to one cluster, and are treated as independent"


@dataclass(frozen=True, slots=True)
class Subgroup:
    """One subgroup of rows.

    Attributes
    ----------
    column, name : str
        The column, and its value in this subgroup.
    n : int
        Number of rows.
    mean_score, rate : float
        Average prediction and observed rate; those of the predicted class, for a matrix.
    value, low, high, estimate : float or None
        The metric, its interval, and the estimate of the true value; None if the metric is undefined in this subgroup.
    floor : float or None
        Noise floor: the mean value under perfect calibration.
    p_value, adjusted : float or None
        Probability of a value as bad under perfect calibration, before and after correction for the number of
        subgroups.
    flagged : bool
        Whether the adjusted p-value is at most the false discovery rate.
    detectable : float or None
        The smallest true error, with equal gaps towards one half, that a subgroup of this size would reveal with
        80 % power (unadjusted, at 5 %); None if no error would.
    note : str
        Why a number is missing, or what it assumes.
    """

    column: str
    name: str
    n: int
    mean_score: float
    rate: float
    value: float | None
    low: float | None
    high: float | None
    estimate: float | None
    floor: float | None
    p_value: float | None
    adjusted: float | None
    flagged: bool
    detectable: float | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Subgroups(Sequence[Subgroup]):
    """All subgroups, column by column, largest first.

    Attributes
    ----------
    groups : tuple of Subgroup
        The subgroups.
    metric : str
        Name of the metric.
    level, rate : float
        Confidence level of the intervals, and false discovery rate of the flags.
    overall : Interval
        The metric of all rows.
    """

    groups: tuple[Subgroup, ...]
    metric: str
    level: float
    rate: float
    overall: Interval

    def __getitem__(self, i: Any) -> Any:
        return self.groups[i]

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[Subgroup]:
        return iter(self.groups)

    @property
    def flagged(self) -> tuple[Subgroup, ...]:
        """Subgroups whose value is worse than sampling noise explains."""
        return tuple(group for group in self.groups if group.flagged)

    @property
    def worst(self) -> Subgroup | None:
        """Subgroup whose interval has the highest lower end: the one with the strongest evidence of a large value."""
        known = [group for group in self.groups if group.low is not None and group.estimate is not None]
        return max(known, key=lambda group: (group.low, group.estimate), default=None)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return columns by name, for a data frame."""
        rows = [asdict(group) for group in self.groups]
        return {name: [row[name] for row in rows] for name in (rows[0] if rows else {})}

    def to_frame(self, backend: Literal["polars", "pandas", "pyarrow"] = "polars") -> Any:
        """Return the subgroups as a data frame."""
        from believable.curves.binned import as_frame

        return as_frame(self.to_dict(), backend)

    def __str__(self) -> str:
        width = max([len(f"{group.column} = {group.name}") for group in self.groups] + [8])
        lines = [
            f"{self.metric}, {100 * self.level:.4g} % intervals; * worse than sampling noise explains "
            f"(false discovery rate {self.rate:g})",
            f"{'':<{width}} {'rows':>9} {'predicted':>9} {'observed':>8} {'value':>8}  {'interval':<18} "
            f"{'noise floor':>11} {'detectable':>10}",
        ]
        for group in self.groups:
            line = (
                f"{f'{group.column} = {group.name}':<{width}} {group.n:>9,} {group.mean_score:>9.4f} {group.rate:>8.4f}"
            )
            if group.value is None:
                lines.append(f"{line} {group.note}")
                continue
            ends = f"{group.low:.4f} … {group.high:.4f}" if group.low is not None else ""
            rest = [
                f"{x:>{w}.4f}" if x is not None else " " * w for x, w in ((group.floor, 11), (group.detectable, 10))
            ]
            lines.append(f"{line} {group.value:>8.4f}  {ends:<18} {' '.join(rest)}{' *' if group.flagged else ''}")
        return "\n".join(lines)

    __repr__ = __str__


@renamed(groups="clusters")
def subgroups(
    predictions: Any,
    actuals: Any = None,
    by: Any = None,
    *,
    metric: str | Callable[..., Any] = "expected_calibration_error",
    options: Mapping[str, Any] | None = None,
    clusters: Any = None,
    level: float = 0.95,
    rate: float = 0.05,
    n_resamples: int = 500,
    random_state: Any = None,
    sample_weight: Any = None,
) -> Subgroups:
    """Compute a metric for each subgroup, with intervals, noise floors and flags corrected for multiple testing.

    Sampling noise makes errors large in small subgroups. A subgroup is flagged if a value as bad would be rare under
    perfect calibration, after the correction of Benjamini and Hochberg over all subgroups of all columns. `detectable`
    says how large a true error would have to be to show in a subgroup of this size.

    Parameters
    ----------
    predictions, actuals
        Arrays or a `Predictions`; or a `Summary` with the subgroups that it counted.
    by : array-like of shape (n,), or mapping of names to them, or data frame
        The subgroup of each row; several columns are analysed one after the other. For a `Summary`, the names of some
        of its columns; all of them by default.
    metric : str or callable
        A name or alias from the table of metrics, or a function of (predictions, actuals) that returns a number.
    options : dict, optional
        Options of the metric, such as `{"n_bins": 15}`.
    clusters : array-like of shape (n,), optional
        The cluster of each row, if rows belong together (patients, queries). Intervals, and p-values of calibration
        errors, allow for clusters; noise floors, and p-values of other metrics, treat rows as independent.
    level : float
        Confidence level of the intervals.
    rate : float
        False discovery rate of the flags.
    n_resamples : int
        Minimum number of resampled data sets.
    random_state : None, int or numpy Generator
        Random seed, for reproducible results.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    Returns
    -------
    Subgroups
        A sequence of `Subgroup` that prints as a table; see also `.flagged`, `.worst`, `.to_dict()`.

    References
    ----------
    Benjamini, Hochberg (1995), JRSS B.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p, site = rng.random(2000), np.repeat(["north", "south"], 1000)
    >>> y = rng.random(2000) < np.where(site == "south", 0.8 * p, p)
    >>> found = subgroups(p, y, site, random_state=0)
    >>> [group.name for group in found.flagged], found.worst.name
    (['south'], 'south')
    """
    _check.level(level)
    _check.number(rate, "rate", 0, 1)
    n_resamples = _check.positive_integer(n_resamples, "n_resamples", 100)
    rng = generator(random_state)
    source: Predictions | Summary
    cluster: Ints | None = None
    parts: list[SubgroupRows]
    if isinstance(predictions, Summary):
        refuse_extras("Summary", actuals=actuals, sample_weight=sample_weight)
        if clusters is not None:
            raise InputError(
                "{argument} needs the predictions: a statistic does not record which rows belong together",
                argument="clusters",
            )
        source = with_columns(predictions, by)
        parts = _levels(source)
    else:
        source = as_predictions(predictions, actuals, sample_weight)
        columns = columns_of(by, source, predictions, sample_weight)
        cluster = cluster_of_rows(clusters, predictions, source, sample_weight)
        parts = [
            SubgroupRows(column, str(name), partial(source.take, rows), rows)
            for column, names in columns.items()
            for name, rows in _by_size(names)
        ]
    if isinstance(options, Mapping) and options.get("bin_by") is not None:
        raise InputError(
            "{argument} has a number for every row, but each subgroup has only some of them: leave it out",
            argument="bin_by",
        )
    chosen: dict[str, Any] = {"options": options, "level": level, "n_resamples": n_resamples, "random_state": rng}
    overall = interval(metric, source, clusters=cluster, **chosen)
    # Enough draws for the smallest possible p-value, times the number of subgroups, to stay below the rate.
    n_draws = min(max(n_resamples, int(4 * len(parts) / max(rate, 1e-3))), MAX_DRAWS_PER_SUBGROUP)
    found = []
    for column, name, made, rows in parts:
        part = made()
        question, (n, mean_score, observed) = ask(metric, part, options=options), _means(part)
        try:
            within = None if cluster is None else _several(cluster[rows])
            ends = interval(metric, part, clusters=within, **chosen)
            floor = noise_floor(metric, part, options=options, n_resamples=n_draws, random_state=rng)
        except UndefinedError as reason:
            found.append(Subgroup(column, name, n, mean_score, observed, *(None,) * 7, False, None, str(reason)))
            continue
        p_value, error = floor.p_value, as_error(question)
        if within is not None and error is not None and p_value is not None:
            p_value = max(p_value, chance_of_clusters(error, within, n_draws, rng))
        numbers = (ends.value, ends.low, ends.high, ends.estimate, floor.mean, p_value, None)
        visible = detectable(question, n_resamples, rng)
        note = NOTE_OF_ONE_CLUSTER if cluster is not None and within is None else ends.note
        found.append(Subgroup(column, name, n, mean_score, observed, *numbers, False, visible, note))
    title = metric if isinstance(metric, str) else getattr(metric, "__name__", "metric")
    return Subgroups(tuple(_adjusted(found, rate)), title, level, rate, overall)


def columns_of(by: Any, source: Predictions, predictions: Any, sample_weight: Any) -> dict[str, Array]:
    """Return the subgroup of each row of positive weight, by column, as text."""
    if by is None:
        raise InputError(
            "{argument} is missing: pass the subgroup of each row, or several columns as a mapping", argument="by"
        )
    if hasattr(by, "columns") and not isinstance(by, Mapping):
        by = {str(name): by[name] for name in by.columns}
    given = by if isinstance(by, Mapping) else {getattr(by, "name", None) or "group": by}
    columns = {}
    for name, values in given.items():
        array = rows_that_count(values, f"by {name!r}", predictions, source, sample_weight)
        columns[str(name)] = as_levels(array, f"by {name!r}")
    return columns


def with_columns(summary: Summary, by: Any) -> Summary:
    """Return a summary with some of its subgroup columns, by name; None keeps all of them."""
    if by is None:
        return summary
    if not isinstance(by, Iterable):
        raise InputError(
            "{argument} must be names of columns that the summary counted, got {got!r}", argument="by", got=by
        )
    names = [by] if isinstance(by, str) else [str(name) for name in by]
    unknown = [name for name in names if name not in summary.by]
    if unknown:
        counted = f"subgroups by {', '.join(summary.by)}" if summary.by else "no subgroups"
        raise InputError(
            "{argument} names {got!r}, but the summary counted {counted}: {hint}",
            argument="by",
            got=unknown[0],
            counted=counted,
            hint=Hint.COUNT_BY,
        )
    return replace(summary, by={name: summary.by[name] for name in names})


class SubgroupRows(NamedTuple):
    """A subgroup: its column and name, a function that returns its data, and its rows if they are known."""

    column: str
    name: str
    make: Callable[[], Predictions | Summary]
    rows: Ints


def _by_size(names: Array) -> Iterator[tuple[str, Ints]]:
    """Yield each distinct name with its rows, largest subgroup first."""
    distinct, code = np.unique(names, return_inverse=True)
    for g in np.argsort(-np.bincount(code), kind="stable"):
        yield distinct[g], np.flatnonzero(code == g)


def _levels(summary: Summary) -> list[SubgroupRows]:
    """Return the subgroups of each column, largest first; a summary does not record their rows."""
    if not summary.by:
        raise InputError("the summary counted no subgroups: {hint}", argument="by", hint=Hint.COUNT_BY)
    return [
        SubgroupRows(column, name, partial(summary.by[column].__getitem__, name), np.empty(0, np.intp))
        for column, levels in summary.by.items()
        for name in sorted(levels, key=lambda name: (-levels[name].n, name))
    ]


def _means(part: Predictions | Summary) -> tuple[int, float, float]:
    """Return the number of rows, average prediction and observed rate; of the predicted class, for a matrix."""
    sums = count_sums(part)
    if part.kind == "binary":
        return sums.n_rows, float(sums.wp[0] / sums.w), float(sums.wy[0] / sums.w)
    return sums.n_rows, sums.confidence / sums.w, sums.correct / sums.w


def _several(cluster: Ints) -> Ints | None:
    """Return the clusters of a subgroup; None if it is a single cluster, which shows no variation."""
    return cluster if (cluster != cluster[0]).any() else None


def _adjusted(groups: list[Subgroup], rate: float) -> Iterator[Subgroup]:
    """Yield the subgroups with p-values adjusted over all of them."""
    known = [group.p_value for group in groups if group.p_value is not None]
    adjusted = iter(_kernels.false_discovery(known))
    for group in groups:
        if group.p_value is None:
            yield group
            continue
        p = float(next(adjusted))
        yield replace(group, adjusted=p, flagged=p <= rate)


def detectable(question: Question, n_draws: int, rng: np.random.Generator) -> float | None:
    """Return the error, with equal gaps towards one half, that exceeds the floor's 95th percentile with 80 % power."""
    error = as_error(question)
    if error is None:
        return None
    cells = error.cells(POINTS_OF_FLOOR)
    assert cells is not None
    threshold = float(np.quantile(error.replicates(cells.with_outcomes(cells.draw(cells.conf, rng, n_draws))), 0.95))
    shape = np.where(cells.conf < 0.5, 1.0, -1.0)
    low, high = 0.0, 1.0
    for _ in range(12):
        gap = (low + high) / 2
        rate = np.clip(cells.conf + gap * shape, 0, 1)
        shown = error.replicates(cells.with_outcomes(cells.draw(rate, rng, n_draws)))
        low, high = (gap, high) if np.mean(shown > threshold) < POWER_TO_DETECT else (low, gap)
    if high == 1:
        return None  # even the largest possible gaps would not be detected
    rate = np.clip(cells.conf + high * shape, 0, 1)
    return float(error.replicates(cells.with_outcomes(cells.w * rate))[0])
