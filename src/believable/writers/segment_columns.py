"""The columns of segments that a calibration map needs: found in a file, and compared with the levels of the map."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from believable._check import is_missing
from believable._types import Array
from believable.errors import InputError, Sentence
from believable.readers.columns import as_spelt, listed
from believable.readers.formats.addition import Contents, Plan, Segments
from believable.readers.formats.delimited import DECIMAL_COMMA, LEADING_ZERO, PLAIN_NUMBER
from believable.recalibrate import Recalibrator
from believable.recalibrate.segment_columns import rule_of
from believable.stats.levels import OTHERS, Levels
from believable.stats.values import MISSING, text_of

MOST_CELLS_KEPT = 100_000  # whose levels are remembered
FLOATS_ARE_EXACT = 2**53  # whole numbers below it


@dataclass(frozen=True, slots=True)
class Uncorrected:
    """Rows of a batch in which a column corrects nothing, because its value is missing or was not seen in the fit."""

    column: str
    missing: int
    unseen: int
    example: str


@dataclass(frozen=True, slots=True)
class SegmentColumns:
    """The columns of segments that a calibration map needs, with the rule of each.

    Attributes
    ----------
    rules : tuple of Levels
        The levels of each column; none for a map of the scores alone.
    uncorrected : list of Uncorrected
        What was found so far.
    """

    rules: tuple[Levels, ...]
    uncorrected: list[Uncorrected] = field(default_factory=list)
    _level_of: dict[str, Callable[[Any], str | None]] = field(default_factory=dict)

    @classmethod
    def of(cls, recalibrator: Recalibrator) -> SegmentColumns:
        """Return the columns that a fitted recalibrator needs besides the scores."""
        if not recalibrator.reads_columns:
            return cls(())
        of_an_event = next(one["by"] for one in recalibrator.maps_ if one is not None)  # all events have the same
        rules = tuple(map(rule_of, of_an_event))
        return cls(rules, _level_of={rule.column: level_of(rule) for rule in rules})

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(rule.column for rule in self.rules)

    def found_among(self, names: Sequence[str]) -> dict[str, str]:
        """Return the name in the file of each column; raise if one is not there."""
        there = {name.strip() for name in names}
        lacking = [column for column in self.columns if column.strip() not in there]
        if not lacking:
            return {column: as_spelt(column, names) for column in self.columns}
        if len(lacking) == 1:
            try:
                as_spelt(lacking[0], names)
            except InputError as error:
                why = error.sentence
        else:
            why = Sentence(f"there are no columns {', '.join(map(repr, lacking))}; there are {listed(names)}")
        raise InputError("the calibration map corrects segments by {by}, but {why}", by=in_words(self.columns), why=why)

    def added_to(self, plan: Plan, found: Mapping[str, str]) -> Plan:
        """Return a plan that also reads these columns."""
        cut, named = (
            tuple(found[rule.column] for rule in self.rules if (rule.cuts is not None) is quantity)
            for quantity in (True, False)
        )
        return replace(plan, quantities=cut, names=named)

    def values(self, given: Segments, found: Mapping[str, str]) -> dict[str, Array]:
        """Return the columns as the map takes them: numbers to be cut into ranges, or names of levels."""
        return {rule.column: self._of(rule, given[found[rule.column]]) for rule in self.rules}

    def _of(self, rule: Levels, given: Array) -> Array:
        if rule.cuts is not None:
            self._remember(rule, int(np.count_nonzero(np.isnan(given))) if given.dtype.kind == "f" else 0, [])
            return given
        names = list(map(self._level_of[rule.column], given.tolist()))
        known = {*rule.names, None}
        self._remember(rule, names.count(None), [] if rule.combines else [one for one in names if one not in known])
        values = np.empty(len(names), object)
        values[:] = names
        return values

    def _remember(self, rule: Levels, missing: int, unseen: Sequence[str | None]) -> None:
        missing = 0 if MISSING in rule.names else missing
        if missing or unseen:
            self.uncorrected.append(Uncorrected(rule.column, missing, len(unseen), min(map(str, unseen), default="")))

    def notes(self) -> list[str]:
        """Return a sentence about each column in which rows have no value, or one that the map was not fitted to."""
        notes = []
        for column in self.columns:
            found = [one for one in self.uncorrected if one.column == column]
            n_unseen, n_missing = sum(one.unseen for one in found), sum(one.missing for one in found)
            if n_unseen:
                example = min(one.example for one in found if one.unseen)
                have, such = ("row has a value", "") if n_unseen == 1 else ("rows have values", "such as ")
                notes.append(
                    f"{n_unseen:,} {have} of {column} that the calibration map was not fitted to, {such}{example!r}: "
                    f"{'it gets' if n_unseen == 1 else 'they get'} no correction by {column}."
                )
            if n_missing:
                have, they = ("row has", "it gets") if n_missing == 1 else ("rows have", "they get")
                notes.append(f"{n_missing:,} {have} no value of {column}: {they} no correction by {column}.")
        return notes


def level_of(rule: Levels) -> Callable[[Any], str | None]:
    """Return a function that finds the level of a cell; None if it is missing, and its own text if it has no level.

    A file of text has no types, and every format spells numbers and truth values in its own way. A cell therefore has
    the level of the same text or, if all levels are numbers or truth values, the one of the same value. Numbers with
    zeros before them are text.

    >>> find = level_of(Levels("dose", ("0.5", "1")))
    >>> find("0,50"), find(1.0), find("1.0"), find("01"), find(None)
    ('0.5', '1', '1', '01', None)
    >>> level_of(Levels("version", ("1", "1.10", "beta")))("1.1")
    '1.1'
    """
    known = set(rule.names)
    single = known - {MISSING, OTHERS}
    by_value = {_value(name): name for name in single}
    if None in by_value or len(by_value) < len(single):  # names of text, or of numbers as text: 1.10 next to 1.1
        by_value = {}

    @lru_cache(MOST_CELLS_KEPT, typed=True)  # so that 1 and True are different
    def found(cell: Any) -> str | None:
        if is_missing(cell):
            return None
        text = text_of(cell)
        pointed = re.sub(DECIMAL_COMMA, r"\1.\2", text)
        spellings = [text, pointed]
        if isinstance(cell, (bool, int, float)):  # which is text where other cells of its column are text
            spellings.append(json.dumps(cell))
        return next((one for one in spellings if one in known), None) or by_value.get(_value(pointed), text)

    return found


def _value(text: str) -> float | str | None:
    """Return the number that a text spells, or "true" or "false"; None for any other text."""
    if re.search(PLAIN_NUMBER, text) and not re.search(LEADING_ZERO, text):
        return number if abs(number := float(text)) < FLOATS_ARE_EXACT else text
    return text.lower() if text.lower() in ("true", "false") else None


def columns_besides(contents: Contents, found: Mapping[str, str]) -> Contents:
    """Return the contents of a file without the columns of segments, which are not scores."""
    gone = set(found.values())
    arrays = {name: columns for name, columns in contents.arrays.items() if not gone.intersection(columns)}
    return Contents([name for name in contents.names if name not in gone], arrays)


def in_words(names: Sequence[str]) -> str:
    """Return names in a sentence.

    >>> in_words(["site"]), in_words(["site", "sex", "age"])
    ('site', 'site, sex and age')
    """
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
