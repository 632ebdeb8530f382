"""Columns of segments beside scores: told apart from the scores, and in the form in which a map saves their levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np

from believable import _check
from believable._arrays import as_numpy
from believable._types import Array, Ints
from believable.errors import InputError, SchemaError
from believable.recalibrate.facts import Field, Map, Vector
from believable.stats.levels import Levels, named_columns, ranges
from believable.stats.values import MISSING, array_of

RULE = {"column", "names", "cuts", "combines"}  # the fields of a saved column


class ScoresAndColumns(NamedTuple):
    """X without the columns of segments, those columns by name, and the names of those that were in X."""

    scores: Any
    columns: dict[str, Array]
    inside: tuple[str, ...]


def split_columns(
    X: Any, by: Any, names: Sequence[str] | None, also: Sequence[str] = (), y: Any = None
) -> ScoresAndColumns:
    """Return scores and columns of segments, which are in `by` or else, by their names, in the data frame X.

    Without names, they are all columns of `by`. Columns of X named in `also` are no scores either; `y` has the labels.
    """
    is_frame = hasattr(X, "columns") and not isinstance(X, Mapping)
    given: Mapping[str, Any]
    if by is not None:
        given = _named(by, names)
    elif is_frame and names is not None:
        given = {str(name): X[name] for name in X.columns if str(name) in names}
    elif names == ():  # no column has segments
        given = {}
    else:
        where = "" if names is None else f" ({', '.join(names)})"
        raise InputError(
            "{argument} is missing: pass the columns of segments{where}, as a data frame or a mapping of names; or "
            "name columns of the data frame X in the constructor",
            argument="by",
            where=where,
        )
    lacking = [name for name in names or () if name not in given]
    if lacking:
        raise InputError(
            "{argument} lacks column {got!r}, of which the segments are made",
            argument="by" if by is not None else "X",
            got=lacking[0],
        )
    for name in names or given:
        _refuse_other_rows(X, y, given[name], f"by {name!r}")
    columns = {name: array_of(given[name], name) for name in names or given}
    inside = tuple(str(name) for name in X.columns if str(name) in {*columns, *also}) if is_frame else ()
    scores = X[[name for name in X.columns if str(name) not in inside]] if inside else X
    if inside:
        if not len(scores.columns):
            raise InputError("{argument} has only columns of segments, and no scores", argument="X")
        _refuse_text(scores)
    return ScoresAndColumns(scores, columns, inside)


def _named(by: Any, names: Sequence[str] | None) -> dict[str, Any]:
    """Return columns by name; a column without a name is the one that is needed."""
    columns = named_columns(by)
    is_one = not hasattr(by, "columns") and not isinstance(by, Mapping)
    if is_one and getattr(by, "name", None) is None and names is not None and len(names) == 1:
        return {names[0]: by}
    return columns


def _refuse_other_rows(X: Any, y: Any, values: Any, name: str) -> None:
    """Raise if a column has another index than the scores or the labels."""
    index = _check.index_of(values)
    for other, of in ((X, "X"), (y, "y")):
        if index is not None and (theirs := _check.index_of(other)) is not None:
            _check.refuse_other_index(theirs, index, of, name)


def _refuse_text(scores: Any) -> None:
    """Raise at the first text among the columns of scores of a data frame, which may well be segments."""
    for name in scores.columns:
        array = as_numpy(scores[name], f"column {str(name)!r} of X")
        for row, value in enumerate(array.tolist() if array.dtype.kind in "OU" else ()):
            if isinstance(value, str):
                raise InputError(
                    "column {column!r} of {argument} must hold numbers, got the text {got!r} at {row}",
                    column=str(name),
                    argument="X",
                    got=value,
                    row=row,
                )


def check_rows(columns: Mapping[str, Array], n: int) -> None:
    """Raise unless every column has one entry for each row."""
    for name, values in columns.items():
        if len(values) != n:
            raise InputError(
                "{argument} has {got} entries, but X has {needed} rows",
                argument=f"by {name!r}",
                got=len(values),
                needed=n,
            )


# --- levels, learned and saved ----------------------------------------------------------------------------------------


def without_missing(levels: Levels) -> Levels:
    """Return a rule by which missing values have no level, and every range is one, even if no row was in it."""
    names = levels.names if levels.cuts is None else ranges(np.array(levels.cuts))
    return replace(levels, names=tuple(name for name in names if name != MISSING))


def recoded(codes: Ints, levels: Levels, kept: Levels) -> Ints:
    """Return numbers of levels in another rule for the same column, -1 for levels that it lacks."""
    place = {name: i for i, name in enumerate(kept.names)}
    return np.array([place.get(name, -1) for name in levels.names], np.int64)[codes]


def saved_rule(levels: Levels) -> Map:
    """Return the rule of a column in the form in which a map holds it."""
    cuts = None if levels.cuts is None else list(levels.cuts)
    return {"column": levels.column, "names": list(levels.names), "cuts": cuts, "combines": levels.combines}


def rule_of(saved: Map) -> Levels:
    """Return the rule of a column from `saved_rule`."""
    cuts = saved["cuts"]
    return Levels(saved["column"], tuple(saved["names"]), None if cuts is None else tuple(cuts), saved["combines"])


@final
@dataclass(frozen=True, slots=True)
class Rules(Field):
    """Columns of segments with their levels."""

    def read(self, value: Any, name: str) -> list[Map]:
        if not isinstance(value, list) or not all(isinstance(one, dict) and set(one) == RULE for one in value):
            raise SchemaError(f"the saved {name} must be a list of columns, each with the fields {sorted(RULE)}")
        rules = [_rule(one, name) for one in value]
        if len({rule["column"] for rule in rules}) < len(rules):
            raise SchemaError(f"a column occurs twice in the saved {name}")
        return rules


def _rule(saved: dict[str, Any], name: str) -> Map:
    column, names, cuts, combines = (saved[field] for field in ("column", "names", "cuts", "combines"))
    if not isinstance(column, str) or not isinstance(combines, bool):
        raise SchemaError(f"a column of the saved {name} needs a name, and combines true or false")
    texts = isinstance(names, list) and all(isinstance(one, str) for one in names)
    if not texts or len(set(names)) < len(names):
        raise SchemaError(f"the saved levels of {column!r} must be distinct names")
    if cuts is not None:
        cuts = Vector(order=2).read(cuts, f"cuts of {column!r}").tolist()
        if [name for name in names if name != MISSING] != ranges(np.array(cuts)):
            raise SchemaError(f"the saved levels of {column!r} must be the ranges between its cuts")
    return {"column": column, "names": names, "cuts": cuts, "combines": combines}


@final
@dataclass(frozen=True, slots=True)
class NumbersOfLevels(Field):
    """For each column, numbers of its levels, by the names of their fields."""

    numbers: tuple[tuple[str, Vector], ...]

    def read(self, value: Any, name: str) -> list[Map]:
        fields = dict(self.numbers)
        if not isinstance(value, list) or not all(isinstance(one, dict) and set(one) == set(fields) for one in value):
            raise SchemaError(f"the saved {name} must be a list of columns, each with the fields {sorted(fields)}")
        return [{each: field.read(one[each], each).tolist() for each, field in fields.items()} for one in value]
