"""Columns of segments: which values a column has, and to which of a few levels each value belongs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from believable._arrays import as_numpy
from believable._check import is_missing
from believable._types import Array, Float64s, Ints
from believable.errors import InputError

MISSING = "missing"
OTHERS = "other values"
MAX_LEVELS = 200  # of a column of segments; of more texts, those with the most rows are kept
MAX_NUMBERS_AS_LEVELS = 12  # the number of months; a column with more distinct numbers is a quantity
N_RANGES = 4
FEWEST_ROWS_OF_A_LEAK = 4  # per level, below which outcomes that agree within every level may do so by chance

THINGS_OF_CLUSTERS = (
    *("query", "patient", "subject", "person", "user", "customer", "client", "account", "household", "session"),
    *("visit", "question", "document", "image", "group", "cluster"),
)
CLUSTER_NAMES = (*THINGS_OF_CLUSTERS, *(f"{thing}_id" for thing in THINGS_OF_CLUSTERS), "qid", "uid", "pid")


# --- one column -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Levels:
    """A column of segments: its levels, and the rule by which a value belongs to one of them.

    Attributes
    ----------
    column : str
        The name of the column.
    names : tuple of str
        The levels; "missing" is one of them where values are missing.
    cuts : tuple of float, or None
        Where a quantity is cut into ranges, each including its upper end; None for a column whose values are levels.
    combines : bool
        Whether values other than `names` belong to the level "other values".
    """

    column: str
    names: tuple[str, ...]
    cuts: tuple[float, ...] | None = None
    combines: bool = False

    def codes(self, values: Any) -> Ints:
        """Return the number of each value's level in `names`; -1 for a level that is not among them."""
        column = _Column.of(values, self.column)
        number_of = {name: i for i, name in enumerate(self.names)}
        return np.array([number_of.get(name, -1) for name in self._of(column)], np.int64)[column.codes]

    def extended(self, values: Any) -> LevelColumn:
        """Return the levels of this rule with those of more values, and the number of each value's level."""
        column = _Column.of(values, self.column)
        levels = replace(self, names=tuple(dict.fromkeys((*self.names, *self._of(column)))))
        return LevelColumn(levels, levels.codes(values))

    def _of(self, column: _Column) -> list[str]:
        """Return the level of each distinct value."""
        if self.cuts is None:
            known = {*self.names, MISSING}
            return [text if text in known or not self.combines else OTHERS for text in column.texts]
        if column.numbers is None and set(column.texts) != {MISSING}:
            raise InputError(
                "column {column!r} was cut into ranges of numbers, but now holds {got!r}",
                column=self.column,
                got=next(text for text in column.texts if text != MISSING),
            )
        numbers = np.full(len(column.texts), np.nan) if column.numbers is None else column.numbers
        words = [*ranges(np.array(self.cuts)), MISSING]
        place = np.searchsorted(np.array(self.cuts), numbers)
        place[np.isnan(numbers)] = len(self.cuts) + 1
        return [words[i] for i in place.tolist()]

    def same_rule(self, other: Levels) -> bool:
        """Return whether both assign every value to a level of the same name."""
        mine, others = (
            (one.column, one.cuts, set(one.names) - {MISSING} if one.combines else None) for one in (self, other)
        )
        return mine == others


class LevelColumn(NamedTuple):
    """A column of segments: its levels, and the number of the level in each row."""

    levels: Levels
    codes: Ints


class _Column(NamedTuple):
    """A column as it was given: its distinct values as text and, if they are numbers, as such; and that of each row."""

    texts: list[str]
    numbers: Float64s | None
    codes: Ints

    @classmethod
    def of(cls, values: Any, name: str) -> _Column:
        array = values if type(values) is np.ndarray else as_numpy(values, f"by {name!r}")
        if array.ndim != 1:
            raise InputError(
                "{argument} must be 1-D, one entry per row, got shape {got}", argument=f"by {name!r}", got=array.shape
            )
        if array.dtype == "datetime64[ns]":  # `tolist` would return numbers instead of dates
            array = array.astype("datetime64[us]")
        if array.dtype.kind in "biuf":
            distinct, codes = np.unique(array, return_inverse=True)
            found = distinct.tolist()
        else:
            place: dict[Any, int] = {}
            codes = np.fromiter((place.setdefault(value, len(place)) for value in array.tolist()), np.int64, len(array))
            found = list(place)
        first: dict[str, int] = {}  # as text, some values are the same: missing ones of several kinds, 1 and 1.0
        kept: list[Any] = []
        same = np.empty(len(found), np.int64)
        for i, value in enumerate(found):
            same[i] = first.setdefault(text_of(value), len(first))
            if same[i] == len(kept):
                kept.append(value)
        return cls(list(first), _numbers(kept), same[codes])


def text_of(value: Any) -> str:
    """Return the name of a level; whole numbers are written alike, whether they are stored as 1 or as 1.0."""
    if is_missing(value):
        return MISSING
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _numbers(values: list[Any]) -> Float64s | None:
    """Return the values as numbers, NaN where one is missing; None if any is something else."""
    there = [value for value in values if not is_missing(value)]
    if not there or not all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in there):
        return None
    numbers = np.array([np.nan if is_missing(value) else float(value) for value in values])
    return None if np.isinf(numbers).any() else numbers


def learned(
    name: str,
    values: Any,
    *,
    max_levels: int = MAX_LEVELS,
    n_ranges: int = N_RANGES,
    max_numbers: int = MAX_NUMBERS_AS_LEVELS,
    interpolated: bool = False,
) -> LevelColumn:
    """Return the levels of a column, chosen from its values.

    Numbers with more than `max_numbers` distinct values are cut into `n_ranges` ranges of equally many rows, as far as
    ties allow, unless the name of the column is that of an identifier. Of more than `max_levels` values, those with the
    most rows are levels, and the others together are one. With `interpolated`, cuts are quantiles between values.
    """
    column = _Column.of(values, name)
    counts = np.bincount(column.codes, minlength=len(column.texts))
    there = np.array([text != MISSING for text in column.texts], bool)
    if column.numbers is not None and there.sum() > max_numbers and not is_identifier(name):
        cuts = _cuts(column.numbers[there], counts[there], n_ranges, interpolated)
        rule = Levels(name, (*ranges(cuts), *([] if there.all() else [MISSING])), tuple(cuts.tolist()))
    elif int(there.sum()) > max_levels:
        most = sorted(np.flatnonzero(there).tolist(), key=lambda i: (-counts[i], column.texts[i]))[: max_levels - 1]
        kept = {*most, *np.flatnonzero(~there).tolist()}
        rule = Levels(name, (*(column.texts[i] for i in _in_order(column) if i in kept), OTHERS), combines=True)
    else:
        rule = Levels(name, tuple(column.texts[i] for i in _in_order(column)))
    number_of = {level: i for i, level in enumerate(rule.names)}
    return LevelColumn(rule, np.array([number_of[level] for level in rule._of(column)], np.int64)[column.codes])


def _in_order(column: _Column) -> list[int]:
    """Return the distinct values in order, of size or of the alphabet, missing ones last."""
    size = column.texts if column.numbers is None else column.numbers.tolist()
    return sorted(range(len(column.texts)), key=lambda i: (column.texts[i] == MISSING, size[i]))


def _cuts(numbers: Float64s, rows: Ints, n_ranges: int, interpolated: bool) -> Float64s:
    if not interpolated:
        return quarters(numbers, rows, n_ranges)
    order = np.argsort(numbers)
    edges = np.unique(np.quantile(np.repeat(numbers[order], rows[order]), np.linspace(0, 1, n_ranges + 1)))
    return edges[1:-1] if len(edges) > 2 else numbers.min(keepdims=True)


# --- columns that have no segments ------------------------------------------------------------------------------------


class Columns(NamedTuple):
    """The columns that have segments, and a sentence about each column that was changed or left out."""

    kept: tuple[LevelColumn, ...]
    notes: tuple[str, ...]


def level_columns(by: Any, n: int, outcomes: Array | None = None, **choices: Any) -> Columns:
    """Return the levels of all columns; those without segments are left out, with a sentence that says why.

    `by` is a data frame, a mapping of names to columns, or one column; the others are choices of `learned`.
    """
    kept: list[LevelColumn] = []
    notes: list[str] = []
    for name, values in named_columns(by).items():
        one = learned(name, values, **choices)
        check_length(one.codes, name, n)
        why = _why_no_segments(name, values, one, outcomes)
        if why:
            notes.append(f"column {name} {why}")
            continue
        kept.append(one)
        if one.levels.cuts is not None:
            notes.append(f"column {name} was cut into ranges at {', '.join(written(np.array(one.levels.cuts)))}")
        elif one.levels.combines:
            others = int((one.codes == len(one.levels.names) - 1).sum())
            notes.append(
                f"column {name} has many values: the {len(one.levels.names) - 1} with the most rows are kept, and the "
                f"others ({others:,} rows) are combined"
            )
    return Columns(tuple(kept), tuple(notes))


def check_length(column: Array, name: str, n: int) -> None:
    """Raise unless a column has one entry for each row."""
    if len(column) != n:
        raise InputError(
            "{argument} has {got} entries, but the predictions have {needed} rows (rows of weight 0 do not count)",
            argument=f"by {name!r}",
            got=len(column),
            needed=n,
        )


def named_columns(by: Any) -> dict[str, Any]:
    """Return the columns by name, from a data frame, a mapping, or one column."""
    if by is None:
        raise InputError(
            "{argument} is missing: pass the columns of segments, as a data frame or a mapping of names", argument="by"
        )
    if hasattr(by, "columns") and not isinstance(by, Mapping):
        return {str(name): by[name] for name in by.columns}
    if isinstance(by, Mapping):
        return {str(name): values for name, values in by.items()}
    return {str(getattr(by, "name", None) or "group"): by}


def _why_no_segments(name: str, values: Any, one: LevelColumn, outcomes: Array | None) -> str:
    n, names = len(one.codes), one.levels.names
    if set(names) <= {MISSING}:
        return "is missing in every row: it has no segments, and was left out"
    if one.levels.cuts is None and (np.bincount(one.codes, minlength=len(names)) == n).any():
        return f"is {names[int(one.codes[0])]!r} in every row: it has no segments, and was left out"
    if one.levels.cuts is None:
        distinct = len(names) if not one.levels.combines else len(_Column.of(values, name).texts)
        if 2 * distinct > n:
            return f"has {distinct:,} values in {n:,} rows: it identifies rows, so it was left out"
    if outcomes is not None and _tells_the_outcome(one, outcomes):
        return (
            "tells the outcome: every level has only events or only non-events. It was left out; a column that is "
            "known only after the outcome makes no segment"
        )
    return ""


def _tells_the_outcome(one: LevelColumn, outcomes: Array) -> bool:
    """Return whether the outcome is the same in all rows of every level, though not in all rows."""
    rows = np.bincount(one.codes)
    events = np.bincount(one.codes, outcomes)
    pure = (events == 0) | (events == rows)
    return bool(pure.all() and 0 < events.sum() < rows.sum() and len(outcomes) >= FEWEST_ROWS_OF_A_LEAK * len(rows))


# --- ranges of numbers ------------------------------------------------------------------------------------------------


def quarters(numbers: Float64s, rows: Ints | None = None, n_ranges: int = N_RANGES) -> Float64s:
    """Return where to cut numbers into ranges with equally many rows, four by default; fewer if there are many ties.

    `rows` is the number of rows of each number; one by default.
    """
    order = np.argsort(numbers, kind="stable")
    ones = np.ones(len(numbers), np.int64)
    below = np.cumsum(ones if rows is None else rows[order], dtype=np.int64)
    wanted = np.arange(1, n_ranges, dtype=np.int64) * below[-1]
    cuts = np.unique(numbers[order[np.searchsorted(below * n_ranges, wanted)]])
    most = numbers.max()
    cuts = cuts[cuts < most]
    if not len(cuts):  # most rows have the largest number
        cuts = numbers[numbers < most].max(keepdims=True)
    return np.asarray(cuts)


def ranges(cuts: Float64s) -> list[str]:
    """Return the names of the ranges."""
    words = written(cuts)
    return [f"up to {words[0]}", *map(" to ".join, pairwise(words)), f"above {words[-1]}"]


def written(cuts: Float64s) -> list[str]:
    """Return whole numbers in full, others with as few digits as distinguish them, but at least four."""
    if (cuts == np.round(cuts)).all():
        return [f"{cut:.0f}" for cut in cuts.tolist()]
    words: list[str] = []
    for digits in (4, 8, 17):
        words = [f"{cut:.{digits}g}" for cut in cuts.tolist()]
        if len(set(words)) == len(words):
            break
    return words


# --- names of columns -------------------------------------------------------------------------------------------------


def plain_name(name: str) -> str:
    """Return a name as it is compared: in lower case, with underscores for spaces and hyphens."""
    return re.sub(r"[ -]", "_", name.strip().lower())


def is_identifier(name: str) -> bool:
    """Return whether numbers in a column of this name are identifiers, such as those of patients, not a quantity."""
    plain = plain_name(name)
    return plain in ("id", *CLUSTER_NAMES) or plain.endswith("_id")
