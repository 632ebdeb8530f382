"""`segment_stats`: count a data frame on its own engine by combination of levels, and by cell of the score."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache, reduce
from math import isinf
from operator import add
from typing import Any, Literal, NamedTuple

import narwhals as nw
import numpy as np

from believable import _check
from believable._arrays import as_values
from believable._types import Array, Float64s, Int64s, Ints
from believable.binning import Edges, Grid
from believable.engines.cells import either, exactly, flag, number, stages
from believable.engines.columns import HALF, FrameColumns
from believable.engines.frames import Frame, _collected, _of_pandas
from believable.engines.rows import COUNTABLE, checked, reasons_in_words, rows_in_words
from believable.engines.summarize import _advice, _Asked, _columns, _dropped
from believable.engines.sums import Tallied, reasons_of
from believable.engines.tally import GroupBy
from believable.errors import InputError, UndefinedError
from believable.predictions.view import PAIRS_ARE_1D, View
from believable.stats.levels import (
    MAX_LEVELS,
    MAX_NUMBERS_AS_LEVELS,
    N_RANGES,
    OTHERS,
    Levels,
    changes,
    chosen,
    in_ranges,
    is_identifier,
    why_it_leaks,
    why_no_segments,
)
from believable.stats.segments import MOST_LEVELS, SEGMENT_CELLS, SegmentStats
from believable.stats.values import MISSING, Values

MOST_VALUES = 100_000  # of a column; of more, those with the most rows are collected
MOST_ENTRIES = 10_000_000  # of the statistic, which is then about a gigabyte
ROWS_LOOKED_AT = 10_000  # at the beginning, to recognise a quantity before its values are counted
BUCKETS = 1 << 14
LARGEST_KEY = 1 << 53  # up to here, every integer is a float64
LARGEST_INT64 = (1 << 63) - 1
SMALLEST_SPAN = 2.0**-500  # of numbers that are counted in parts as they are: its inverse must be finite


def segment_stats(
    frame: Any,
    prob: str | Sequence[str] = "p",
    label: str = "y",
    *,
    by: str | Sequence[str] | None = None,
    weight: str | None = None,
    like: SegmentStats | None = None,
    cells: int = SEGMENT_CELLS,
    max_levels: int = MAX_LEVELS,
    n_ranges: int = N_RANGES,
    from_logits: bool = False,
    pos_label: Any = None,
    neg_label: Any = None,
    classes: Sequence[Any] | None = None,
    on_invalid: Literal["error", "drop"] = "error",
    pairs: bool = False,
    python_workers: bool = False,
) -> SegmentStats:
    """Count the rows of a data frame on its own engine, by combination of levels and cell of the score.

    The result is the `SegmentStats` of the rows: search it with `find_segments`, or fit a `GroupedRecalibrator` to it
    with `fit_from_statistics`. Invalid rows are counted first, then the values of each column, which decide on its
    levels; the sums are one group-by. Only these counts and sums are collected, never rows.

    Levels, counts and notes are those of `SegmentStats.of`, sums agree to about 1e-12. Cells use the engine's own
    logarithm: a score within rounding of an edge may fall into the neighbouring cell.

    Parameters
    ----------
    frame : data frame
        Of polars (eager or lazy), pandas, pyarrow, duckdb, ibis, dask or pyspark.
    prob, label, weight, from_logits, pos_label, neg_label, classes, pairs, python_workers
        As in `summarize`. Of several columns or lists of scores, the largest score counts, and whether its class
        occurred.
    by : str or sequence of str
        Columns of segments; by default, those of `like`. Numbers with more than 12 distinct values are cut into ranges
        of equally many rows, at exact quantiles, for which the engine counts finer and finer ranges; decimals are
        numbers. Null and NaN are the level "missing". Columns without segments are left out, and `notes` says why.
    like : SegmentStats, optional
        Use its columns, levels and cells, so that the two can be added.
    cells : int
        Number of logit-spaced cells.
    max_levels, n_ranges : int
        The most levels of a column (those with the fewest rows are combined), and the number of ranges of a quantity.
    on_invalid : {"error", "drop"}
        What to do with invalid rows, as in `summarize`; "drop" leaves them out, and `notes` says how many and why.

    Returns
    -------
    SegmentStats

    Examples
    --------
    >>> import polars as pl
    >>> sites = ["a", "b", "b", None, "a", None]
    >>> frame = pl.DataFrame({"p": [0.1, 0.8, 0.7, 0.2, 0.5, 0.4], "y": [0, 1, 0, 1, 1, 0], "site": sites})
    >>> stats = segment_stats(frame.lazy(), by="site")
    >>> stats
    SegmentStats(n=6, by site, 6 entries)
    >>> stats.levels_of("site")
    ('a', 'b', 'missing')
    """
    _check.choice(on_invalid, ("error", "drop"), "on_invalid")
    for flag_, name in ((from_logits, "from_logits"), (pairs, "pairs"), (python_workers, "python_workers")):
        _check.flag(flag_, name)
    choices = {
        "max_levels": _check.positive_integer(max_levels, "max_levels", 2, MOST_LEVELS),
        "n_ranges": _check.positive_integer(n_ranges, "n_ranges", 2, MOST_LEVELS),
    }
    opened = Frame.of(frame, python_workers)
    asked = _Asked(prob, label, weight, _names(by, like), from_logits, pos_label, neg_label, classes)
    columns, _ = _columns(opened, asked)
    if pairs and columns.kind != "binary":
        raise InputError(PAIRS_ARE_1D, argument="pairs")
    opened = opened.only([*columns.scores, label, *asked.weights, *columns.by])
    grid = Grid(cells, "logit", columns.dtype) if like is None else replace(like.grid, dtype=columns.dtype)
    pairing: Literal["binary", "confidence"] = "binary" if columns.kind == "binary" else "confidence"
    view = View(pairing, columns.n_classes, are_pairs=bool(pairs))

    one_bin = (Edges.uniform(1, columns.dtype),)
    tallied = opened.tally(GroupBy(columns=columns, pairing=pairing, sorts=one_bin, scores=False))
    said = []
    if dropped := reasons_in_words(reasons_of(tallied), columns.from_logits):
        sentence = rows_in_words(dropped, int(tallied["n"].sum()))
        if on_invalid == "error":
            advice = _advice(opened, columns, dropped)
            raise InputError(f"{sentence}{advice}; repair them, or pass on_invalid='drop' to leave them out")
        said = [f"{sentence} and were left out"]
    _dropped(opened, columns, tallied, "drop")  # which raises if no row is left
    n, every = int(tallied["n"][tallied["key"] >= 0].sum()), bool((tallied["key"] >= 0).all())

    schema = opened.schema()
    read = [_Column.of(opened, columns, j, schema[name], every) for j, name in enumerate(columns.by)]
    if like is not None:
        extended = tuple(_like(column, levels) for column, levels in zip(read, like.columns, strict=True))
        whole = _counted(opened, _SegmentSums(columns, pairing, extended, grid), view)
        return replace(whole, notes=(*said, *like.notes))
    learned = {column.name: _learned(column, n, **choices) for column in read}
    why_left_out = {name: why for name, (_, why) in learned.items()}
    said_of: dict[str, list[str]] = {}
    counted: SegmentStats | None = None
    if rules := [rule for rule, why in learned.values() if not why]:
        counted = _counted(opened, _SegmentSums(columns, pairing, tuple(rules), grid), view)
        for levels, codes in zip(counted.columns, counted.codes, strict=True):
            n_of, events = (np.bincount(codes, one, len(levels.names)) for one in (counted.n, counted.ny))
            why_left_out[levels.column] = why_it_leaks(n_of, events)
            said_of[levels.column] = changes(levels, n_of)
    for name, why in why_left_out.items():
        said += [f"column {name} {why}"] if why else said_of[name]
    kept = [name for name, why in why_left_out.items() if not why]
    if counted is None or not kept:
        raise UndefinedError(f"there are no segments: {'; '.join(said)}")
    return replace(counted.only(kept) if len(kept) < len(rules) else counted, notes=tuple(said))


def _names(by: str | Sequence[str] | None, like: SegmentStats | None) -> tuple[str, ...]:
    found = [] if by is None else list(by) if isinstance(by, Iterable) and not isinstance(by, str) else [by]
    wrong = [name for name in found if not isinstance(name, str)]
    if wrong:
        raise InputError("{argument} must be the name of a column, got {got!r}", argument="by", got=wrong[0])
    names = tuple(dict.fromkeys(found))
    if like is not None and not isinstance(like, SegmentStats):
        raise InputError("{argument} must be a SegmentStats, got {got}", argument="like", got=type(like).__name__)
    if like is None:
        if not names:
            raise InputError("{argument} is missing: name the columns of segments", argument="by")
        return names
    missing = [name for name in like.names if by is not None and name not in names]
    if missing:
        raise InputError("{argument} lacks column {got!r}", argument="by", got=missing[0])
    return like.names


# --- the values of a column, and its levels ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of segments in its frame.

    Attributes
    ----------
    frame : Frame
    columns : FrameColumns
    place : int
        The number of the column.
    dtype : narwhals type
        The type of its values.
    as_float : bool
        Whether these are read as float64: decimals, and float16, which not every engine can look up.
    every : bool
        Whether every row counts.
    """

    frame: Frame
    columns: FrameColumns
    place: int
    dtype: Any
    as_float: bool
    every: bool

    @classmethod
    def of(cls, frame: Frame, columns: FrameColumns, place: int, dtype: Any, every: bool) -> _Column:
        """Return a column; of objects, the first one decides on the type."""
        name = columns.by[place]
        dtype = frame.settled(name, dtype, (object,))
        unknown = dtype == nw.Unknown and frame.first(name) is not None  # such as a UUID, or a period of pandas
        in_sql, in_arrow = (frame.engine in engines for engines in (("duckdb", "ibis"), ("polars", "pyarrow")))
        if (unknown and (in_sql or in_arrow)) or (dtype == nw.Duration and in_sql):
            raise InputError(
                f"{frame.engine} cannot look up values of the type of by column {name!r}: cast it to text or a number"
            )
        decimal = dtype == nw.Decimal or (dtype == nw.Object and isinstance(frame.first(name), Decimal))
        as_float = decimal or dtype == HALF
        return cls(frame, columns, place, nw.Float64() if as_float else dtype, as_float, every)

    @property
    def name(self) -> str:
        return self.columns.by[self.place]

    @property
    def reader(self) -> _Reader:
        """What reads the values of the rows that count."""
        return _Reader(self.columns, self.place, self.every, self.as_float, self.may_be_nan)

    @property
    def may_be_nan(self) -> bool:
        """Whether NaN may be among the values."""
        return bool(self.dtype.is_float())


@dataclass(frozen=True, slots=True)
class _Reader:
    """Called with a frame, it returns the values of a column in the rows that count, as the column `value`.

    NaN becomes null, because pandas cannot group by a column of arrow's that has both.
    """

    columns: FrameColumns
    place: int
    every: bool
    as_float: bool
    may_be_nan: bool

    def __call__(self, frame: Any) -> Any:
        if self.every:  # no other column needs to be read
            rows, name = frame, self.columns.by[self.place]
        else:
            rows, name = checked(frame, self.columns).filter(_countable()), f"by{self.place}"
        value = _as_read(nw.col(name), self.as_float)
        value = nw.when(~value.is_nan()).then(value) if self.may_be_nan else value
        return rows.select(value.alias("value"))


def _as_read(value: nw.Expr, as_float: bool) -> nw.Expr:
    return value.cast(nw.Float64) if as_float else value


def _castable(rows: Any, name: str) -> Any:
    """Return rows whose integers can be cast to float64: arrow refuses those beyond 2^53, unless they are text."""
    if not isinstance(rows, nw.DataFrame) or rows.schema[name] not in (nw.Int64, nw.UInt64):
        return rows
    column = rows.get_column(name)
    ends = [end for end in (column.min(), column.max()) if not _check.is_missing(end)]
    far = any(abs(end) > LARGEST_KEY for end in ends)
    return rows.with_columns(nw.col(name).cast(nw.String)) if far else rows


def _countable() -> nw.Expr:
    return nw.col("reason") == nw.lit(COUNTABLE, dtype=nw.Int64)


@dataclass(frozen=True, slots=True)
class _Rule:
    """The levels of a column, and what its values are called by the engine.

    Attributes
    ----------
    place : int
        The number of the column.
    levels : Levels
        The levels. Those after the first `known` are left out again if no row has them.
    values : tuple of tuple
        The values that belong to each level; none for ranges, for "missing", and for "other values".
    as_float, may_be_nan : bool
        Whether the values are read as float64, and whether NaN may be among them.
    """

    place: int
    levels: Levels
    known: int
    values: tuple[tuple[Any, ...], ...]
    as_float: bool
    may_be_nan: bool

    @classmethod
    def of(cls, column: _Column, levels: Levels, found: Sequence[Any] = ()) -> _Rule:
        """Return the rule for these levels, some of whose values were found."""
        others = [OTHERS] if levels.combines else []
        names = tuple(dict.fromkeys((*levels.names, *others, MISSING)))
        values: dict[str, list[Any]] = {name: [] for name in names}
        for value, name in zip(found, _names_of(levels, found), strict=True):
            if name in values and not (name == OTHERS and levels.combines) and not _check.is_missing(value):
                values[name].append(value)
        listed = tuple(tuple(values[name]) for name in names)
        levels, known = replace(levels, names=names), len(levels.names)
        return cls(column.place, levels, known, listed, column.as_float, column.may_be_nan)

    def digit(self) -> nw.Expr:
        """Return the number of each row's level, counted from 1; 0 for a value that is not listed."""
        value = _as_read(nw.col(f"by{self.place}"), self.as_float)
        missing = number(self.levels.names.index(MISSING) + 1)
        if self.levels.cuts is not None:
            x = value.cast(nw.Float64)
            above = (flag(x > _exact(cut)) for cut in self.levels.cuts)
            return either(x.is_null() | x.is_nan(), missing, reduce(add, above, number(1)))
        # One look for each binary digit of the number, because a chain of comparisons is as long as there are levels.
        listed = [(i, one) for i, values in enumerate(self.values, 1) for one in values]
        if any(isinstance(one, int) and one > LARGEST_INT64 for _, one in listed):  # which some engines cannot look up
            value, listed = value.cast(nw.String), [(i, str(one)) for i, one in listed]
        bits = (
            either(value.is_in(ones), number(1 << bit), number(0))
            for bit in range(len(self.values).bit_length())
            if (ones := [one for i, one in listed if i >> bit & 1])
        )
        unknown = value.is_null() | value.is_nan() if self.may_be_nan else value.is_null()
        return either(unknown, missing, reduce(add, bits, number(0)))

    def occurring(self, digit: Ints) -> tuple[Levels, Ints]:
        """Return the levels, without those that were neither known before nor occur, and the code for each digit."""
        names, occurs = self.levels.names, np.bincount(digit, minlength=len(self.levels.names) + 1) > 0
        if self.levels.combines:
            occurs[names.index(OTHERS) + 1] |= occurs[0]
        elif occurs[0]:
            raise InputError(
                f"this engine cannot find the values of column {self.levels.column!r} again: cast it to text first"
            )
        kept = occurs[1:] | (np.arange(len(names)) < self.known)
        code_of = np.concatenate([[0], np.cumsum(kept, dtype=np.int64) - 1])
        if self.levels.combines:
            code_of[0] = code_of[names.index(OTHERS) + 1]
        return replace(self.levels, names=tuple(name for name, keep in zip(names, kept, strict=True) if keep)), code_of


def _names_of(levels: Levels, found: Sequence[Any]) -> list[str]:
    """Return the level of each value."""
    if not found:
        return []
    values, same = Values.of(found)
    names = levels.names_of(values)
    return [names[i] for i in same.tolist()]


def _learned(column: _Column, n: int, max_levels: int, n_ranges: int) -> tuple[_Rule, str]:
    """Return the levels of a column, and why it has no segments, or ""; see `stats.levels.learned`."""
    quantity = column.dtype.is_numeric() and not is_identifier(column.name)
    counted = None
    if not (quantity and _many_numbers_first(column)):
        counted = _value_counts(column)
        quantity = quantity or (not is_identifier(column.name) and counted.values[0].numbers is not None)
    if quantity and (counted is None or counted.truncated):
        cuts, there = _quantiles(column, n_ranges)
        if cuts is not None:
            return _Rule.of(column, in_ranges(column.name, cuts, there < n)), ""
    counted = _value_counts(column) if counted is None else counted
    values, same = counted.values
    # If some numbers are infinite, none is part of a range; and beyond 2^53, integers may all be the same float64.
    if (
        values.numbers is not None
        and quantity
        and (counted.truncated or len(np.unique(values.numbers[values.there])) < 2)
    ):
        values = values._replace(numbers=None)
    rows = np.bincount(same, counted.rows, len(values.texts)).astype(np.int64)
    levels = chosen(column.name, values, rows, max_levels=max_levels, n_ranges=n_ranges)
    rule = _Rule.of(column, levels, () if levels.cuts is not None else counted.found)
    places = [levels.names.index(name) for name in levels.names_of(values)]
    rows = np.bincount(places, rows, len(levels.names)).astype(np.int64)
    if levels.combines:
        rows[levels.names.index(OTHERS)] += n - rows.sum()
    n_values = counted.distinct if counted.truncated else len(values.texts)
    return rule, why_no_segments(levels, rows, n_values)


def _like(column: _Column, levels: Levels) -> _Rule:
    """Return the rule of another statistic, with further levels for values that it did not see."""
    if levels.cuts is not None:
        if not column.dtype.is_numeric():
            levels.names_of(_value_counts(column).values[0])  # which raises, unless these are numbers
        return _Rule.of(column, levels)
    counted = _value_counts(column)
    found = counted.found
    if counted.truncated and levels.combines:  # a level may have too few rows here to be among the values found
        there = [one for one in found if not _check.is_missing(one)]
        if all(isinstance(one, str) for one in there):
            found = list(levels.names)
        elif all(isinstance(one, int) for one in there):
            found = [int(name) for name in levels.names if name.removeprefix("-").isdecimal()]
        else:
            raise InputError(
                f"column {column.name!r} has {counted.distinct:,} values of type {column.dtype}: cast it to text first"
            )
    names = tuple(dict.fromkeys((*levels.names, *_names_of(levels, found))))
    if len(names) > MOST_LEVELS or (counted.truncated and not levels.combines):
        raise UndefinedError(
            f"column {column.name} has {max(len(names), counted.distinct):,} levels: segments need at most "
            f"{MOST_LEVELS:,}"
        )
    return replace(_Rule.of(column, replace(levels, names=names), found), known=len(levels.names))


class _ValueCounts(NamedTuple):
    """Values of a column, the rows of each, and the number of distinct values, of which only some may be here."""

    found: list[Any]
    rows: Int64s
    distinct: int

    @classmethod
    def of(cls, found: list[Any], rows: Int64s, distinct: int) -> _ValueCounts:
        """Return the values in order: neighbouring integers beyond 2^53 cannot be put in order as float64."""
        missing = [_check.is_missing(value) for value in found]
        there = [value for value, gone in zip(found, missing, strict=True) if not gone]
        of_numbers = all(isinstance(value, (int, float)) for value in there)
        order = sorted(
            range(len(found)),
            key=lambda i: (missing[i], 0 if missing[i] else found[i] if of_numbers else str(found[i])),
        )
        return cls([found[i] for i in order], rows[order], distinct)

    @property
    def truncated(self) -> bool:
        return self.distinct > len(self.found)

    @property
    def values(self) -> tuple[Values, Array]:
        """The values as text and as numbers, and the place of each one found among them."""
        return Values.of(self.found)


def _value_counts(column: _Column) -> _ValueCounts:
    """Return the distinct values of a column, or of very many the missing and the most frequent, and their rows."""
    reader, engine = column.reader, column.frame.engine
    if engine == "dask":
        return _value_counts_of_dask(nw.to_native(column.frame.rows), reader)
    counts = _by_value(reader(column.frame.rows))
    found = _collected(counts.head(MOST_VALUES + 1), engine)
    distinct = len(found)
    if distinct > MOST_VALUES:
        distinct = int(_collected(counts.select(nw.len().alias("n")), engine).get_column("n").to_list()[0])
        value = nw.col("value")
        counts = counts.with_columns(flag(~value.is_null()).alias("there"), value.cast(nw.String).alias("word"))
        counts = counts.sort("there", "n", "word", descending=[False, True, False])
        found = _collected(counts.head(MOST_VALUES), engine)
    return _ValueCounts.of(_listed(found.get_column("value")), _integers(found.get_column("n")), distinct)


def _by_value(rows: Any) -> Any:
    return rows.group_by("value").agg(nw.len().alias("n"))


def _listed(column: Any) -> list[Any]:
    """Return values; categories of pandas as they are, which are other ones beside a missing value."""
    native = nw.to_native(column)
    return list(
        as_values(native, column.name).tolist() if str(getattr(native, "dtype", "")) == "category" else column.to_list()
    )


def _integers(column: Any) -> Int64s:
    return np.asarray(column.to_numpy()).astype(np.int64)


def _value_counts_of_dask(native: Any, reader: _Reader) -> _ValueCounts:
    """Count the values of each partition as a pandas frame; dask adds them."""
    meta = _values_of_partition(native._meta, reader)
    parts = native.map_partitions(_values_of_partition, reader, meta=meta, enforce_metadata=False)
    there = parts["value"].notnull()  # beside NaN, pandas makes integers and their intervals floats
    counts = parts[there].groupby("value", sort=False)[["n"]].sum().reset_index()
    absent = parts[~there]["n"].sum()
    found = counts.map_partitions(_most_frequent, absent, meta=meta, enforce_metadata=False).compute()
    distinct = len(found)
    if distinct == MOST_VALUES:  # there may be more
        distinct = int(counts.index.size.compute()) + _check.is_missing(found["value"].iloc[0])
    return _ValueCounts.of(found["value"].tolist(), found["n"].to_numpy().astype(np.int64), distinct)


def _values_of_partition(part: Any, reader: _Reader) -> Any:
    found = _by_value(reader(nw.from_native(part.reset_index(drop=True), eager_only=True)))
    counts, values = found.to_native(), _listed(found.get_column("value"))
    counts = counts.assign(value=type(counts["value"])(values, counts.index, "object"))
    return counts.astype({"n": "int64"})  # partitions may have other categories


def _most_frequent(counts: Any, absent: Any) -> Any:
    """Return the values with the most rows and, first, the number of rows without one."""
    order = counts.assign(word=counts["value"].map(str)).sort_values(["n", "word"], ascending=[False, True])
    gone = [None] if absent else []
    values = [*gone, *order["value"].tolist()][:MOST_VALUES]
    frame = type(counts)({"n": [*([absent] * len(gone)), *order["n"].tolist()][:MOST_VALUES]})
    return frame.assign(value=type(counts["value"])(values, dtype="object"))


# --- exact quantiles of a quantity ------------------------------------------------------------------------------------


def _many_numbers_first(column: _Column) -> bool:
    """Return whether the first rows alone have so many distinct numbers that they are a quantity."""
    if column.frame.engine == "dask":
        part = nw.to_native(column.frame.rows).head(ROWS_LOOKED_AT, npartitions=-1).reset_index(drop=True)
        rows = column.reader(nw.from_native(part, eager_only=True))
    else:
        rows = _collected(column.reader(column.frame.rows).head(ROWS_LOOKED_AT), column.frame.engine)
    values = np.asarray(rows.get_column("value").drop_nulls().to_numpy()).astype(np.float64)
    return len(np.unique(values[~np.isnan(values)])) > MAX_NUMBERS_AS_LEVELS


def _quantiles(column: _Column, n_ranges: int) -> tuple[Float64s | None, int]:
    """Return where `stats.levels.quarters` cuts a quantity, and the numbers that it has.

    The first is None if a number is infinite.

    The engine counts the numbers in equal parts of a range, with the smallest and largest number of each part. The part
    that holds a quantile is the next range, until it holds a single number.
    """

    @cache
    def parts_of(low: float, high: float) -> _Parts:
        return _Parts.of(column, _Buckets(column.reader, low, high))

    whole = _Parts.of(column, _Buckets(column.reader))
    if not len(whole.n) or isinf(whole.low[0]) or isinf(whole.high[0]):
        return None, 0
    n, least, most = int(whole.n[0]), float(whole.low[0]), float(whole.high[0])

    def at_rank(rank: int) -> float:
        low, high, below = least, most, 0
        while low < high:
            parts = parts_of(low, high)
            reached = below + np.cumsum(parts.n)
            here = int(np.searchsorted(reached, rank))
            below = int(reached[here] - parts.n[here])
            low, high = float(parts.low[here]), float(parts.high[here])
        return low

    found = {at_rank(-(-i * n // n_ranges)) for i in range(1, n_ranges)} - {most}
    if not found:  # most rows have the largest number
        found = {float(_Parts.of(column, _Buckets(column.reader, below=most)).high[0])}
    return np.array(sorted(found)) + 0.0, n  # so that zero has no sign


@dataclass(frozen=True, slots=True)
class _Buckets:
    """Counts numbers in equal parts of the range from `low` to `high`, or together, with the ends of each part."""

    reader: _Reader
    low: float | None = None
    high: float | None = None
    below: float | None = None

    def __call__(self, frame: Any) -> Any:
        x = nw.col("x")
        rows = _castable(self.reader(frame), "value")
        rows = rows.select(nw.col("value").cast(nw.Float64).alias("x")).filter(~x.is_null())
        rows = rows if self.below is None else rows.filter(x < _exact(self.below))
        key = flag(x.is_null())  # 0 in every row
        if self.low is not None and self.high is not None:
            rows = rows.filter((x >= _exact(self.low)) & (x <= _exact(self.high)))
            span = self.high - self.low
            times = 0.5 if isinf(span) else 1 / SMALLEST_SPAN if span < SMALLEST_SPAN else 1.0  # an exact factor
            low, width = self.low * times, self.high * times - self.low * times
            # No division: polars rounds it differently for a single row, and equal numbers belong to the same part.
            key = ((x * number(times) - number(low)) * number(BUCKETS / width)).floor()
        rows = rows.select(key.cast(nw.Int64).alias("key"), x.alias("low"), x.alias("high"))
        return rows.group_by("key").agg(nw.len().alias("n"), nw.col("low").min(), nw.col("high").max())


class _Parts(NamedTuple):
    """Parts of a range in order, without empty ones: number of rows, smallest and largest number."""

    n: Int64s
    low: Float64s
    high: Float64s

    @classmethod
    def of(cls, column: _Column, buckets: _Buckets) -> _Parts:
        frame = column.frame
        if frame.engine == "dask":
            native = nw.to_native(frame.rows)
            meta = _of_pandas(native._meta, buckets)
            parts = native.map_partitions(_of_pandas, buckets, meta=meta, enforce_metadata=False)
            found = parts.groupby("key").agg({"n": "sum", "low": "min", "high": "max"}).compute().reset_index()
            arrays = {name: found[name].to_numpy() for name in found.columns}
        else:
            rows = _collected(buckets(frame.rows), frame.engine)
            arrays = {name: rows.get_column(name).to_numpy() for name in rows.columns}
        order = np.argsort(arrays["key"])
        return cls(*(arrays[name][order] for name in cls._fields))


def _exact(value: float) -> nw.Expr:
    """Return an exact constant; `exactly` has integers up to 2^63 only."""
    times = 0
    while abs(value) >= LARGEST_KEY:
        value, times = value / (1 << 52), times + 1
    return reduce(lambda made, _: made * number(1 << 52), range(times), exactly(value))


# --- one group-by -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _SegmentSums:
    """Sums of the rows that count by combination of levels and cell; called with a frame, it returns the sums.

    The column `key` is the cell and the levels of as many columns as fit into one number; `level` has those of the
    other columns as text, if there are any.
    """

    columns: FrameColumns
    pairing: Literal["binary", "confidence"]
    rules: tuple[_Rule, ...]
    grid: Grid

    def __call__(self, frame: Any) -> Any:
        rows = checked(frame, self.columns).filter(_countable())
        rows = GroupBy(columns=self.columns, pairing=self.pairing, sorts=(), scores=False)._pairs(rows)
        for rule in self.rules:
            rows = rows if rule.levels.cuts is None else _castable(rows, f"by{rule.place}")
        # The cell before the levels: above the joins that look up levels, duckdb merges its stages into one expression.
        for stage in stages("place", nw.col("p"), self.grid):
            rows = rows.with_columns(**stage)
        rows = rows.with_columns(*(rule.digit().alias(f"digit{i}") for i, rule in enumerate(self.rules)))
        first, *others = self.numbers()
        keys = [self._number(first, nw.col("place")).alias("key")]
        if others:
            words = [self._number(one, number(0)).cast(nw.String) for one in others]
            keys.append(nw.concat_str(*words, separator=" ").alias("level"))
        p, y, w = nw.col("p"), nw.col("y"), nw.col("w")
        made = {"ny": y, "wp": p} if self.columns.weight is None else {"ny": y, "w": w, "wp": w * p, "wy": w * y}
        made |= {} if self.columns.weight is None else {"w2": w * w}
        rows = rows.select(*keys, *(sum_of.alias(name) for name, sum_of in made.items()))
        names = ["key", *(["level"] if others else [])]
        sums = rows.group_by(*names).agg(nw.len().alias("n"), *(nw.col(name).sum() for name in made))
        return sums.head(MOST_ENTRIES + 1)

    def numbers(self) -> list[list[int]]:
        """Return the columns that go into each number: with the cell into the first one, without it into others."""
        made: list[list[int]] = [[]]
        span = len(self.grid)
        for i in range(len(self.rules)):
            if span * self.radix(i) > LARGEST_KEY:
                made.append([])
                span = 1
            made[-1].append(i)
            span *= self.radix(i)
        return made

    def radix(self, column: int) -> int:
        """Return one more than the number of levels."""
        return len(self.rules[column].levels.names) + 1

    def _number(self, columns: Iterable[int], place: nw.Expr) -> nw.Expr:
        for i in columns:
            place = place * number(self.radix(i)) + nw.col(f"digit{i}")
        return place.cast(nw.Int64)

    def digits(self, tallied: Tallied) -> tuple[list[Array], Array]:
        """Return the number of each entry's level, by column, counted from 1, and its cell."""
        first, *others = self.numbers()
        found: list[Array] = [np.empty(0)] * len(self.rules)
        rest = self._divided(first, tallied["key"], found)
        if others:
            words = np.array([word.split(" ") for word in tallied["level"].tolist()], np.int64)
            for columns, key in zip(others, words.reshape(-1, len(others)).T, strict=True):
                self._divided(columns, key, found)
        return found, rest

    def _divided(self, columns: Sequence[int], key: Array, found: list[Array]) -> Array:
        for i in reversed(columns):
            key, found[i] = np.divmod(key, self.radix(i))
        return key


def _counted(frame: Frame, sums: _SegmentSums, view: View) -> SegmentStats:
    """Return the statistic."""
    most = max(sums.rules, key=lambda rule: len(rule.levels.names))
    tallied = frame.tally(sums)
    n = tallied["n"].astype(np.int64)
    if len(n) > MOST_ENTRIES:
        raise UndefinedError(
            f"the columns have more than {MOST_ENTRIES:,} combinations of levels and cells of the score: name fewer "
            f"columns, or combine levels, of which {most.levels.column} has {len(most.levels.names):,}, with "
            "max_levels="
        )
    digits, cell = sums.digits(tallied)
    codes = np.empty((len(digits), len(n)), np.int16)
    columns = []
    for i, (rule, digit) in enumerate(zip(sums.rules, digits, strict=True)):
        levels, code_of = rule.occurring(digit)
        columns.append(levels)
        codes[i] = code_of[digit]
    made: dict[str, Array] = {"codes": codes, "cell": cell, "n": n, "ny": tallied["ny"], "wp": tallied["wp"]}
    if sums.columns.weight is None:
        w = n.astype(np.float64)
        made |= {"w": w, "wy": made["ny"], "w2": w}
    else:
        made |= {name: tallied[name] for name in ("w", "wy", "w2")}
    return SegmentStats.from_columns(columns, view, sums.grid, made)
