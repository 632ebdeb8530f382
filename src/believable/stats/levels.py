"""Columns of segments: which values a column has, and to which of a few levels each value belongs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from believable._types import Array, Float64s, Ints
from believable.errors import InputError
from believable.stats.values import (
    MISSING,
    OTHER_LENGTH,
    ROWS_AT_ONCE,
    WITHOUT_WEIGHT,
    Column,
    Values,
    finite_numbers,
)

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

    def codes(self, values: Any) -> Array:
        """Return the number of each value's level in `names`; -1 for a level that is not among them."""
        return self._numbered(*self._of_rows(values))

    def extended(self, values: Any) -> LevelColumn:
        """Return the levels of this rule with those of more values, and the number of each value's level."""
        found, codes = self._of_rows(values)
        levels = replace(self, names=tuple(dict.fromkeys((*self.names, *found))))
        return LevelColumn(levels, levels._numbered(found, codes))

    def _numbered(self, found: list[str], codes: Array) -> Array:
        number_of = {name: i for i, name in enumerate(self.names)}
        return np.array([number_of.get(name, -1) for name in found], _code_type(len(self.names)))[codes]

    def _of_rows(self, values: Any) -> tuple[list[str], Array]:
        """Return names of levels, and the place of each row's level among them."""
        numbers = None if self.cuts is None else finite_numbers(values, self.column)
        if self.cuts is None or numbers is None:
            column = Column.of(values, self.column)
            return self.names_of(column.values), column.codes
        cuts = np.array(self.cuts)
        words, codes = ranges(cuts), _placed(numbers, cuts)
        return [*words, *([MISSING] if (codes == len(words)).any() else [])], codes

    def names_of(self, values: Values) -> list[str]:
        """Return the level of each distinct value."""
        if self.cuts is None:
            known = {*self.names, MISSING}
            return [text if text in known or not self.combines else OTHERS for text in values.texts]
        if values.numbers is None and set(values.texts) != {MISSING}:
            raise InputError(
                "column {column!r} was cut into ranges of numbers, but now holds {got!r}",
                column=self.column,
                got=next(text for text in values.texts if text != MISSING),
            )
        numbers = np.full(len(values.texts), np.nan) if values.numbers is None else values.numbers
        words = [*ranges(np.array(self.cuts)), MISSING]
        return [words[i] for i in _placed(numbers, np.array(self.cuts)).tolist()]

    def same_rule(self, other: Levels) -> bool:
        """Return whether both assign every value to a level of the same name."""
        mine, others = (
            (one.column, one.cuts, set(one.names) - {MISSING} if one.combines else None) for one in (self, other)
        )
        return mine == others


class LevelColumn(NamedTuple):
    """A column of segments: its levels, the number of the level in each row, and how many values are levels of it."""

    levels: Levels
    codes: Array
    n_values: int = 0


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
    numbers = None if is_identifier(name) else finite_numbers(values, name)
    if numbers is not None and _has_more_than(max_numbers, numbers):
        there = numbers[~np.isnan(numbers)]
        rule = in_ranges(name, _cuts(there, None, n_ranges, interpolated), len(there) < len(numbers))
        return LevelColumn(rule, _placed(numbers, np.array(rule.cuts)), len(there))
    column = Column.of(values, name)
    rows = np.bincount(column.codes, minlength=len(column.values.texts))
    rule = chosen(
        name,
        column.values,
        rows,
        max_levels=max_levels,
        n_ranges=n_ranges,
        max_numbers=max_numbers,
        interpolated=interpolated,
    )
    return LevelColumn(rule, rule._numbered(rule.names_of(column.values), column.codes), len(column.values.texts))


def chosen(
    name: str,
    values: Values,
    rows: Ints,
    *,
    max_levels: int = MAX_LEVELS,
    n_ranges: int = N_RANGES,
    max_numbers: int = MAX_NUMBERS_AS_LEVELS,
    interpolated: bool = False,
) -> Levels:
    """Return the rule for a column, chosen from its distinct values and the number of rows of each; see `learned`."""
    there, texts = values.there, values.texts
    numbers = None if values.numbers is None or is_identifier(name) else values.numbers[there]
    if numbers is not None and len(np.unique(numbers)) > max_numbers:
        cuts = _cuts(numbers, rows[there], n_ranges, interpolated)
        return in_ranges(name, cuts, not there.all())
    if int(there.sum()) <= max_levels:
        return Levels(name, tuple(texts[i] for i in values.in_order))
    single = [i for i in np.flatnonzero(there).tolist() if texts[i] != OTHERS]
    most = sorted(single, key=lambda i: (-rows[i], texts[i]))[: max_levels - 1]
    kept = {*most, *np.flatnonzero(~there).tolist()}
    return Levels(name, (*(texts[i] for i in values.in_order if i in kept), OTHERS), combines=True)


def in_ranges(name: str, cuts: Float64s, missing: bool) -> Levels:
    """Return the rule that cuts a quantity into ranges."""
    return Levels(name, (*ranges(cuts), *([MISSING] if missing else [])), tuple(cuts.tolist()))


def _has_more_than(most: int, numbers: Array) -> bool:
    """Return whether there are more distinct numbers; a look at the first ones is often enough."""
    first = numbers[: 100 * most]
    return any(np.unique(some[~np.isnan(some)]).size > most for some in (first, numbers))


def _placed(numbers: Array, cuts: Float64s) -> Array:
    """Return the number of each one's range; those that are missing come after the last."""
    place = np.empty(len(numbers), np.int16)
    for start in range(0, len(numbers), ROWS_AT_ONCE):
        some = numbers[start : start + ROWS_AT_ONCE]
        place[start : start + ROWS_AT_ONCE] = np.where(np.isnan(some), len(cuts) + 1, np.searchsorted(cuts, some))
    return place


def _code_type(n_levels: int) -> Any:
    return np.int16 if n_levels <= np.iinfo(np.int16).max else np.int32


def _cuts(numbers: Float64s, rows: Ints | None, n_ranges: int, interpolated: bool) -> Float64s:
    if not interpolated:
        return quarters(numbers, rows, n_ranges)
    each = numbers if rows is None else np.repeat(numbers, rows)
    edges = np.unique(np.quantile(each, np.linspace(0, 1, n_ranges + 1)))
    return edges[1:-1] if len(edges) > 2 else numbers.min(keepdims=True).astype(np.float64)


# --- columns that have no segments ------------------------------------------------------------------------------------


class Columns(NamedTuple):
    """The columns that have segments, and a sentence about each column that was changed or left out."""

    kept: tuple[LevelColumn, ...]
    notes: tuple[str, ...]


def level_columns(by: Any, n: int, outcomes: Array | None = None, *, weighted: bool = False, **choices: Any) -> Columns:
    """Return the levels of all columns; those without segments are left out, with a sentence that says why.

    `by` is a data frame, a mapping of names to columns, or one column; with `weighted`, rows of weight 0 may have been
    left out. The others are choices of `learned`.
    """
    kept: list[LevelColumn] = []
    notes: list[str] = []
    for name, values in named_columns(by).items():
        one = learned(name, values, **choices)
        check_length(one.codes, name, n, weighted)
        rows = np.bincount(one.codes, minlength=len(one.levels.names))
        events = None if outcomes is None else np.bincount(one.codes, outcomes, len(rows))
        why = why_no_segments(one.levels, rows, one.n_values) or why_it_leaks(rows, events)
        if not why:
            kept.append(one)
        notes += [f"column {name} {why}"] if why else changes(one.levels, rows)
    return Columns(tuple(kept), tuple(notes))


def changes(levels: Levels, rows: Ints) -> list[str]:
    """Return a sentence about a column that was cut or combined; `rows` is the number of rows of each level."""
    if levels.cuts is not None:
        return [f"column {levels.column} was cut into ranges at {', '.join(written(np.array(levels.cuts)))}"]
    if levels.combines:
        kept, others = len(set(levels.names) - {OTHERS, MISSING}), int(rows[levels.names.index(OTHERS)])
        return [
            f"column {levels.column} has many values: the {kept} with the most rows are kept, and the others "
            f"({others:,} rows) are combined"
        ]
    return []


def check_length(column: Array, name: str, n: int, weighted: bool) -> None:
    """Raise unless a column has one entry for each row."""
    if len(column) != n:
        raise InputError(
            OTHER_LENGTH + (WITHOUT_WEIGHT if weighted else ""),
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
    if not hasattr(by, "columns") and not isinstance(by, Mapping):
        _refuse_no_column(by)
        return {str(getattr(by, "name", None) or "group"): by}
    # The columns of an arrow table are not names.
    names = list(by) if isinstance(by, Mapping) else list(getattr(by, "column_names", by.columns))
    texts = [str(name) for name in names]
    if len(set(texts)) < len(texts):
        twice = next(text for text in texts if texts.count(text) > 1)
        raise InputError("{argument} has two columns named {got!r}: rename one of them", argument="by", got=twice)
    return {text: by[name] for text, name in zip(texts, names, strict=True)}


def _refuse_no_column(by: Any) -> None:
    """Raise unless this may be one column of segments."""
    if isinstance(by, (str, bytes)):
        raise InputError(
            "{argument} is the text {got!r}: pass the column itself, such as frame[{got!r}]", argument="by", got=by
        )
    shape = getattr(by, "shape", None)
    if shape is None and isinstance(by, Sequence) and len(by) and not isinstance(by[0], str) and np.ndim(by[0]):
        shape = (len(by), *np.shape(by[0]))
    if (len(shape) != 1) if shape is not None else not hasattr(by, "__len__"):
        raise InputError(
            "{argument} must be a data frame, a mapping of names to columns, or one column, got {got}",
            argument="by",
            got=type(by).__name__ if shape is None else f"a {type(by).__name__} of shape {tuple(shape)}",
        )


def why_no_segments(levels: Levels, rows: Ints, n_values: int) -> str:
    """Return why a column has no segments, from the rows of each level and the number of distinct values; or ""."""
    n, names = int(rows.sum(dtype=np.int64)), levels.names
    if set(names) <= {MISSING}:
        return "is missing in every row: it has no segments, and was left out"
    if levels.cuts is None and (rows == n).any():
        return f"is {names[int(rows.argmax())]!r} in every row: it has no segments, and was left out"
    if levels.cuts is None and 2 * n_values > n:
        return f"has {n_values:,} values in {n:,} rows: it identifies rows, so it was left out"
    return ""


def why_it_leaks(rows: Ints, events: Array | None) -> str:
    """Return a clause if the outcome is the same in all rows of every level, though not in all rows; else ""."""
    if events is None:
        return ""
    n, pure = int(rows.sum(dtype=np.int64)), (events == 0) | (events == rows)
    if not pure.all() or not 0 < events.sum() < n or n < FEWEST_ROWS_OF_A_LEAK * len(rows):
        return ""
    return (
        "tells the outcome: every level has only events or only non-events. It was left out; a column that is known "
        "only after the outcome makes no segment"
    )


# --- ranges of numbers ------------------------------------------------------------------------------------------------


def quarters(numbers: Float64s, rows: Ints | None = None, n_ranges: int = N_RANGES) -> Float64s:
    """Return where to cut numbers into ranges with equally many rows, four by default; fewer if there are many ties.

    `rows` is the number of rows of each number; one by default.
    """
    if rows is None:
        last = -(-np.arange(1, n_ranges, dtype=np.int64) * len(numbers) // n_ranges) - 1
        cuts = np.unique(np.partition(numbers, last)[last])
    else:
        order = np.argsort(numbers, kind="stable")
        below = np.cumsum(rows[order], dtype=np.int64)
        wanted = np.arange(1, n_ranges, dtype=np.int64) * below[-1]
        cuts = np.unique(numbers[order[np.searchsorted(below * n_ranges, wanted)]])
    most = numbers.max()
    cuts = cuts[cuts < most]
    if not len(cuts):  # most rows have the largest number
        cuts = numbers[numbers < most].max(keepdims=True)
    return np.asarray(cuts, np.float64) + 0.0  # so that zero has no sign


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
