"""Segments found by themselves: in which part of the rows does calibration differ from that elsewhere?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from statistics import NormalDist
from textwrap import wrap
from typing import Any, Literal

import numpy as np

from believable import _check
from believable.errors import Hint, InputError, UndefinedError
from believable.inference.clusters import cluster_of_rows, rows_that_count
from believable.inference.segment_clusters import allowing_for_clusters
from believable.inference.segment_model import Estimate, Strata, gap_of, slope_of
from believable.inference.segment_rows import check_min_rows, in_words
from believable.inference.segment_search import MOST_FOUND, Entries, Found, search, strata_of
from believable.inference.subgroups import with_columns
from believable.predictions import as_predictions
from believable.stats import SegmentStats, Summary
from believable.stats.levels import MAX_LEVELS, N_RANGES, named_columns
from believable.stats.readable import refuse_extras
from believable.stats.segments import MOST_LEVELS

Direction = Literal["under-predicted", "over-predicted", "over-confident", "under-confident"]
DIRECTIONS_IN_WORDS: dict[Direction, str] = {
    "under-predicted": "scores are too low, compared with other rows",
    "over-predicted": "scores are too high, compared with other rows",
    "over-confident": "scores are too extreme: the rate rises less with the score than in other rows (slope below 1)",
    "under-confident": "scores are not extreme enough: the rate rises more with the score than in other rows (slope "
    "above 1)",
}

DEEPEST = 3
FEWEST_ROWS = 30
ONE_IN = 1000  # by default, a segment has at least this part of the rows
WIDEST_NAME = 44  # of a line of a segment's name, in the printed table
ONE_TABLE = (
    "only single columns were searched, because the summary counted each by itself: segments of different columns may "
    "be the same rows"
)


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment whose calibration differs from that of the other rows.

    Attributes
    ----------
    where : dict of str to str
        The level of each column that its rows share.
    n : int
        Number of rows.
    mean_score, rate : float
        Average prediction and observed rate.
    expected : float
        The rate of rows with the same scores outside the segment.
    gap : float
        rate - expected: positive where the segment's scores are too low.
    low, high : float
        Interval of the gap, wide enough for having been chosen among all segments that were searched.
    p_value, adjusted : float
        Probability of such a difference by chance, before and after correction for the number of segments searched.
    slope, slope_low, slope_high : float or None
        How fast the logit of the rate rises with that of other rows, and its interval: 1 for a segment that differs in
        level only, less if its scores are too extreme; None if its rows do not tell: scores that hardly vary, or events
        only, or none.
    direction : {"under-predicted", "over-predicted", "over-confident", "under-confident"}
        How its scores are wrong if those of the other rows are right: too low, too high, too extreme or not extreme
        enough.
    """

    where: dict[str, str]
    n: int
    mean_score: float
    rate: float
    expected: float
    gap: float
    low: float
    high: float
    slope: float | None
    slope_low: float | None
    slope_high: float | None
    p_value: float
    adjusted: float
    direction: Direction

    @property
    def name(self) -> str:
        """The segment in words, such as "site = north and age = up to 30"."""
        return in_words(self.where)


@dataclass(frozen=True, slots=True)
class Segments(Sequence[Segment]):
    """The segments that were found, surest first.

    Attributes
    ----------
    segments : tuple of Segment
        The segments.
    columns : tuple of str
        The columns that were searched.
    searched : int
        How many segments were tested.
    n : int
        Number of rows.
    min_rows : int
        The fewest rows of a segment that was tested.
    level, rate : float
        Confidence level of the intervals, and false discovery rate.
    notes : tuple of str
        A sentence about each column that was cut into ranges, combined or left out.
    """

    segments: tuple[Segment, ...]
    columns: tuple[str, ...]
    searched: int
    n: int
    min_rows: int
    level: float
    rate: float
    notes: tuple[str, ...] = ()

    def __getitem__(self, i: Any) -> Any:
        return self.segments[i]

    def __len__(self) -> int:
        return len(self.segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self.segments)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return columns by name, for a data frame."""
        names = [one.name for one in fields(Segment) if one.name != "where"]
        columns = {name: [getattr(one, name) for one in self.segments] for name in names}
        return {"segment": [one.name for one in self.segments], **columns}

    def to_frame(self, backend: Literal["polars", "pandas", "pyarrow"] = "polars") -> Any:
        """Return the segments as a data frame."""
        from believable.curves.binned import as_frame

        return as_frame(self.to_dict(), backend)

    def __str__(self) -> str:
        rows = f"at least {self.min_rows:,} {'row' if self.min_rows == 1 else 'rows'}"
        of = f"of {self.searched:,} {'segment' if self.searched == 1 else 'segments'}"
        by = f"by {', '.join(self.columns)}"
        if not self.searched:
            lines = [f"No segment was tested {by}: none has {rows}, and as many outside it"]
        elif not self.segments:
            lines = [f"No segment clearly differs from the other rows: none {of} {by} ({rows})"]
        else:
            chance = f"false discovery rate {self.rate:g}, {100 * self.level:.4g} % intervals"
            several = "clearly differs" if len(self) == 1 else "clearly differ"
            lines = [f"{len(self):,} {of} {several} from the other rows, {by} ({rows}; {chance})", *_table(self)]
        return "\n".join(map(_printable, [*lines, *self.notes]))

    __repr__ = __str__


def _table(found: Segments) -> list[str]:
    """Return the lines of a table of segments, and what its words mean."""
    names = [_lines_of(one) for one in found.segments]
    width = max(len(line) for lines in names for line in lines)
    head = f"{'rows':>9} {'predicted':>9} {'observed':>8} {'elsewhere':>9} {'gap':>8}  {'interval':<18}"
    lines = [f"{'':<{width}} {head} {'slope':>6} {'adjusted p':>10}"]
    for one, (first, *others) in zip(found.segments, names, strict=True):
        numbers = f"{one.n:>9,} {one.mean_score:>9.4f} {one.rate:>8.4f} {one.expected:>9.4f} {one.gap:>+8.4f}"
        slope = "" if one.slope is None else f"{one.slope:.2f}"
        ends = f"{one.low:+.4f} … {one.high:+.4f}"
        lines.append(f"{first:<{width}} {numbers}  {ends:<18} {slope:>6} {one.adjusted:>10.2g}  {one.direction}")
        lines += others
    present = {one.direction for one in found.segments}
    lines.append("gap: observed rate minus that of other rows with the same scores (elsewhere)")
    return lines + [f"{way}: {words}" for way, words in DIRECTIONS_IN_WORDS.items() if way in present]


def _lines_of(one: Segment) -> list[str]:
    """Return the name in one line or, if it is long, in lines each of which tells of one column."""
    name = " ".join(one.name.split())
    if len(name) <= WIDEST_NAME:
        return [name]
    *parts, last = (f"{column} = {level}" for column, level in one.where.items())
    parts = [*(f"{part} and" for part in parts), last]
    return [line for part in parts for line in wrap(part, WIDEST_NAME, break_on_hyphens=False)]


def _printable(line: str) -> str:
    """Return a line without characters that move a terminal's cursor or change its colours."""
    return "".join(letter if letter.isprintable() else "�" for letter in line)


def find_segments(
    predictions: Any,
    actuals: Any = None,
    by: Any = None,
    *,
    depth: int = DEEPEST,
    min_rows: int | None = None,
    rate: float = 0.05,
    level: float = 0.95,
    max_levels: int = MAX_LEVELS,
    n_ranges: int = N_RANGES,
    sample_weight: Any = None,
    clusters: Any = None,
) -> Segments:
    """Search for segments whose calibration differs surely from that of the other rows.

    Every level of every column is a segment, and so is every combination of levels of two and three columns. A segment
    is found if its observed rate, or how that rises with the score, differs from that of other rows with the same
    scores, by more than chance explains after correction for everything that was searched. A miscalibration that all
    rows share makes no segment. A segment that differs only because it overlaps another, is part of it, or contains it,
    is not found beside it.

    Parameters
    ----------
    predictions, actuals
        Arrays or a `Predictions`; or a `SegmentStats`; or a `Summary` with subgroups, of which single columns are
        searched. Of a matrix, the probability of the predicted class counts.
    by : data frame, mapping of names to columns, or one column
        The columns to search. Numbers with more than 12 distinct values are cut into ranges of equally many rows, and
        missing values are a level. A column without segments is left out, with a sentence in `notes`. For a statistic,
        the names of some of its columns; all of them by default.
    depth : {1, 2, 3}
        The most columns that a segment combines.
    min_rows : int, optional
        The fewest rows of a segment; by default 30, or a thousandth of all rows if that is more.
    rate : float
        False discovery rate: the expected share of segments that do not differ, among those found.
    level : float
        Confidence level of the intervals.
    max_levels, n_ranges : int
        The most levels of a column (the rarest are combined), and the number of ranges of a quantity.
    sample_weight : array-like of shape (n,), optional
        Importance weights.
    clusters : array-like of shape (n,), optional
        The cluster of each row, if rows belong together (patients, queries). Rows of a cluster then count as fewer, by
        as much as their errors go together.

    Returns
    -------
    Segments
        A sequence of `Segment` that prints as a table; see also `.to_frame()` and `plot_segments`.

    Notes
    -----
    The model of calibration is a rate for each of up to 24 ranges of scores, so it may have any shape, with one slope
    within all ranges; it is fitted again without the segments that were found. A segment has two score tests given this
    model: one of an intercept (the observed rate is higher or lower than elsewhere) and one of a slope (it rises faster
    or more slowly with the score). Their tails are those of a sum of binomial numbers, so that few events are no
    problem; twice the smaller p-value of both is that of the segment. The surest segment enters the model, all others
    are tested again given it, and so on, as long as p m / k is at most `rate`, with m the number of segments searched
    and k that of those accepted.

    Without `clusters`, rows are taken to be independent: with repeated rows of the same patients or queries, too many
    segments are found. With them, the correlation of the errors of two rows of a cluster is estimated from all rows,
    and variances are those of segments that keep clusters whole; for segments that divide clusters, that is cautious.

    Intervals invert these tests; that of the gap also has what is uncertain about the rate elsewhere whatever the
    intercept, which matters where nearly all rows of a segment, or hardly any, have events. They have level
    1 - (1 - level) k / m, so that the expected share of intervals that miss is as low among the segments found as for a
    single segment chosen in advance (Benjamini and Yekutieli 2005).

    References
    ----------
    Benjamini, Hochberg (1995), JRSS B, and Benjamini, Yekutieli (2005), JASA, for rates and intervals. Mantel, Haenszel
    (1959), JNCI, for the test of a difference within ranges of scores.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p, site, age = rng.random(20_000), rng.choice(["north", "south"], 20_000), rng.integers(20, 80, 20_000)
    >>> y = rng.random(20_000) < np.where((site == "south") & (age <= 35), 0.8 * p, p)
    >>> found = find_segments(p, y, {"site": site, "age": age})
    >>> [(one.name, one.direction) for one in found]
    [('site = south and age = up to 34', 'over-predicted')]
    """
    depth = _check.positive_integer(depth, "depth", 1, DEEPEST)
    rate, level = _check.level(rate, "rate"), _check.level(level)
    choices = {
        "max_levels": _check.positive_integer(max_levels, "max_levels", 2, MOST_LEVELS),
        "n_ranges": _check.positive_integer(n_ranges, "n_ranges", 2, MOST_LEVELS),
    }
    tables = segment_tables(predictions, actuals, by, sample_weight, clusters, **choices)
    rows = max(one.rows for one in tables)
    min_rows = max(FEWEST_ROWS, rows // ONE_IN) if min_rows is None else check_min_rows(min_rows, rows)
    entries = [Entries(one, depth, min_rows) for one in tables]
    searched = sum(len(one) for one in entries)
    found = search(entries, rate)
    notes = [note for one in tables for note in one.notes]
    if len(tables) > 1:
        notes.append(ONE_TABLE)
    if len(found) == MOST_FOUND:
        notes.append(f"the search stops at {MOST_FOUND} segments: there may be more")
    names = tuple(name for one in tables for name in one.names)
    tail = (1 - level) / 2 * len(found) / max(searched, 1)
    strata = strata_of(found)
    made = tuple(_described(one, strata[id(one.model)], tail) for one in found)
    return Segments(made, names, searched, rows, min_rows, level, rate, tuple(notes))


def segment_tables(
    predictions: Any, actuals: Any, by: Any, sample_weight: Any, clusters: Any = None, **choices: Any
) -> list[SegmentStats]:
    """Return the statistics to search: one of all columns together or, from a summary, one of each column."""
    if isinstance(predictions, SegmentStats):
        refuse_extras("SegmentStats", actuals=actuals, sample_weight=sample_weight)
        _refuse_clusters(clusters)
        return [predictions if by is None else predictions.only(by)]
    if isinstance(predictions, Summary):
        refuse_extras("Summary", actuals=actuals, sample_weight=sample_weight)
        _refuse_clusters(clusters)
        summary = with_columns(predictions, by)
        if not summary.by:
            raise UndefinedError("the summary counted no subgroups to search: {hint}", hint=Hint.COUNT_BY)
        return [SegmentStats.of_summary(summary, column) for column in summary.by]
    source = as_predictions(predictions, actuals, sample_weight)
    columns = {
        name: rows_that_count(values, f"by {name!r}", predictions, source, sample_weight)
        for name, values in named_columns(by).items()
    }
    counted = SegmentStats.of(source, columns, **choices)
    cluster = cluster_of_rows(clusters, predictions, source, sample_weight)
    return [counted if cluster is None else allowing_for_clusters(counted, source, columns, cluster)]


def _refuse_clusters(clusters: Any) -> None:
    if clusters is not None:
        raise InputError(
            "{argument} says which rows belong together, but a statistic has no rows: pass the rows",
            argument="clusters",
        )


def _described(found: Found, strata: Strata, tail: float) -> Segment:
    """Return a found segment with its rates, and with intervals that leave out a tail on either side."""
    table, inside, place = found.model.entries, found.accepted.members, found.place
    w, wp, wy = (float(values[inside].sum()) for values in (table.w, table.wp, table.wy))
    beyond = -NormalDist().inv_cdf(tail)
    gap = gap_of(strata, place, beyond)
    slope = slope_of(strata, place, beyond)
    return Segment(
        where={
            table.stats.columns[column].column: table.stats.columns[column].names[number]
            for column, number in table.levels[found.accepted.candidate]
        },
        n=int(table.n[inside].sum()),
        mean_score=wp / w,
        rate=wy / w,
        expected=wy / w - gap.value,
        gap=gap.value,
        low=gap.low,
        high=gap.high,
        slope=None if slope is None else slope.value,
        slope_low=None if slope is None else slope.low,
        slope_high=None if slope is None else slope.high,
        p_value=float(np.exp(found.evidence.log_p)),
        adjusted=found.adjusted,
        direction=_direction(found, gap.value, slope),
    )


def _direction(found: Found, gap: float, slope: Estimate | None) -> Direction:
    if found.evidence.by_slope and slope is not None:
        return "over-confident" if slope.value < 1 else "under-confident"
    return "under-predicted" if gap > 0 else "over-predicted"
