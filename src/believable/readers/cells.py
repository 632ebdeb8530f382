"""Interpret the cells of a column as numbers, scores, labels or names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from believable._types import Array
from believable.errors import Hint, InputError, Row
from believable.stats.values import text_of

if TYPE_CHECKING:
    import polars

NULLS = ("", "NA", "N/A", "n/a", "NaN", "nan", "null")  # how a missing value is written
LIKE_THOUSANDS = r"^\s*[-+]?[1-9]\d{0,2},\d{3}\s*$"  # 1,234: the comma may separate thousands


def scores(column: polars.Series, percent: bool = False) -> polars.Series:
    """Return a column of scores: numbers, text that spells them, percentages, or lists with one entry per class."""
    import polars

    if isinstance(column.dtype, (polars.List, polars.Array)):
        return _lists(column, percent)
    signed = with_percent_sign(column, percent)
    column = numbers(column.str.strip_chars().str.strip_suffix("%") if signed else column)
    return _hundredths(column) if percent or signed else column


def numbers(column: polars.Series) -> polars.Series:
    """Return a column as numbers; raise at the first cell of text that is not a number."""
    import polars

    if column.dtype.is_decimal():
        return column.cast(polars.Float64)
    if column.dtype.is_numeric() or column.dtype in (polars.Boolean, polars.Null):
        return column
    if isinstance(column.dtype, (polars.Categorical, polars.Enum)):
        column = column.cast(polars.String)
    if column.dtype != polars.String:
        what = "nested values" if column.dtype.is_nested() else f"values of type {column.dtype}"
        row = _first(column.is_not_null())
        raise InputError(
            "column {column!r} must hold numbers, got {got} at {row}", column=column.name, got=what, row=row
        )
    text = column.str.strip_chars()
    found = text.cast(polars.Float64, strict=False)
    bad = text.is_not_null() & found.is_null() & ~text.is_in(list(NULLS))
    if bad.any():
        row = _first(bad)
        raise InputError(
            "column {column!r} must hold numbers, got the text {got!r} at {row}",
            column=column.name,
            got=column[row],
            row=row,
            hint="write decimals with a point and thousands without a comma" if "," in text[row] else None,
        )
    return found


def labels(column: polars.Series, *, by_name: bool = False) -> polars.Series:
    """Return a column of labels; if every cell spells a number, they are numbers, unless classes have names."""
    import polars

    if isinstance(column.dtype, (polars.Categorical, polars.Enum)):
        column = column.cast(polars.String)
    if column.dtype.is_nested():
        raise InputError(
            "column {column!r} must hold one label per row, got {got} at {row}",
            column=column.name,
            got="nested values",
            row=0,
        )
    if column.dtype != polars.String:
        return column
    text = column.str.strip_chars().replace("", None)
    if by_name:
        return text
    found = text.cast(polars.Float64, strict=False)
    if text.null_count() == len(text) or (found.is_null() & text.is_not_null()).any():
        return text
    whole = found.cast(polars.Int64, strict=False)
    return whole if (whole.cast(polars.Float64) == found).fill_null(found.is_null() | found.is_nan()).all() else found


def names(column: polars.Series) -> polars.Series:
    """Return a column of names, such as clusters or subgroups: numbers, booleans or text."""
    import polars

    if column.dtype.is_nested():
        raise InputError(
            "column {column!r} must hold one value per row, got {got} at {row}",
            column=column.name,
            got="nested values",
            row=0,
        )
    if column.dtype == polars.String:
        return column.str.strip_chars().replace("", None)
    if column.dtype.is_float():
        column = column.fill_nan(None)
    if column.dtype in (polars.Duration, polars.Time):  # which polars writes in other ways than Python
        distinct = column.drop_nulls().unique()
        words = [text_of(value) for value in distinct.to_list()]
        return column.replace_strict(distinct, words, default=None, return_dtype=polars.String)
    if isinstance(column.dtype, polars.Datetime):  # as Python writes it
        if column.dtype.time_zone is not None:
            column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        text = column.dt.cast_time_unit("us").cast(polars.String)
        return text.str.replace(".000000", "", literal=True)
    wide = "128" in str(column.dtype)  # NumPy has no such type
    if (column.dtype.is_numeric() and not wide) or column.dtype == polars.Boolean:
        return column
    try:
        return column.cast(polars.String)
    except polars.exceptions.PolarsError as error:
        raise InputError(
            f"column {column.name!r} holds values of type {column.dtype}, which cannot be names of clusters or "
            "subgroups"
        ) from error


def refuse_rounded(column: polars.Series) -> None:
    """Raise if clusters are floating-point numbers so large that two may have been rounded to one."""
    import polars

    if not column.dtype.is_float():
        return
    rounded = (column.abs() >= (2**24 if column.dtype == polars.Float32 else 2**53)).fill_null(False)
    if rounded.any():
        row = _first(rounded)
        raise InputError(
            "column {column!r} holds clusters as floating-point numbers that have lost digits, got {got:.17g} at {row}",
            column=column.name,
            got=column[row],
            row=row,
            hint="write such names as text or whole numbers",
        )


def array_of_names(column: polars.Series) -> Array:
    """Return names as a NumPy array; if one is missing, of Python's values, so that 1 does not turn into 1.0."""
    if not column.null_count():
        return array(column)
    values = np.empty(len(column), object)
    values[:] = column.to_list()
    return values


def array(column: polars.Series) -> Array:
    """Return a column as a NumPy array; lists of one length become the rows of a matrix."""
    import polars

    try:
        if isinstance(column.dtype, polars.Array):
            matrix = np.full((len(column), column.dtype.size), np.nan)
            there = column.is_not_null().to_numpy()
            matrix[there] = column.drop_nulls().to_numpy()
            return matrix
        return column.to_numpy()
    except (polars.exceptions.PolarsError, OverflowError) as error:
        raise InputError(f"column {column.name!r} of type {column.dtype} cannot be read: {error}") from error


def missing(column: polars.Series) -> Array:
    """Return where a value is missing: null or NaN."""
    import polars

    gone = column.is_null()
    if column.dtype.is_float():
        gone |= column.is_nan().fill_null(True)
    if isinstance(column.dtype, polars.Array):
        gone |= polars.Series(np.isnan(array(column)).any(axis=1))
    return gone.to_numpy()


def with_percent_sign(column: polars.Series, percent: bool) -> bool:
    """Return whether text has percent signs; raise if only some of it does."""
    import polars

    if column.dtype != polars.String:
        return False
    text = column.str.strip_chars()
    signed = text.str.ends_with("%")
    there = text.is_not_null() & ~text.is_in(list(NULLS))
    if percent or not signed.any() or not (there & ~signed).any():
        return bool(signed.any())
    row, other = _first(signed), _first(there & ~signed)
    raise InputError(
        "column {column!r} must hold numbers, got the text {got!r} at {row} but {other!r}, without a percent sign, at "
        "{other_row}",
        column=column.name,
        got=column[row],
        row=row,
        other=column[other],
        other_row=Row(other),
        hint=Hint.READ_AS_PERCENTAGES,
    )


def _hundredths(column: polars.Series) -> polars.Series:
    import polars

    column = column if column.dtype.is_float() else column.cast(polars.Float64)
    outside = ((column < 0) | (column > 100)).fill_null(False)
    outside &= column.is_not_nan().fill_null(False)
    if outside.any():
        row = _first(outside)
        raise InputError(
            "percentages in column {column!r} must lie in [0, 100], got {got:g} at {row}",
            column=column.name,
            got=column[row],
            row=row,
        )
    # Polars multiplies by 0.01, which makes 70 % a little more than 0.7, and so puts it into the next bin.
    return polars.Series(column.name, column.to_numpy() / 100)


def _lists(column: polars.Series, percent: bool) -> polars.Series:
    """Return a column of lists, which must have the same length, as a column of arrays."""
    import polars

    column = column.cast(polars.List(column.dtype.inner)) if isinstance(column.dtype, polars.Array) else column
    if column.null_count() == len(column):
        return column
    lengths = column.list.len()
    first = _first(column.is_not_null())
    width = lengths[first] or 0
    other = (lengths != width).fill_null(False)
    if other.any():
        row = _first(other)
        raise InputError(
            "lists in column {column!r} must have the same length, got {width} at {first} and {got} at {row}",
            column=column.name,
            width=width,
            first=Row(first),
            got=lengths[row],
            row=row,
        )
    if width < 2:
        raise InputError(
            "lists in column {column!r} must have one entry per class, got {got} at {row}",
            column=column.name,
            got=width,
            row=first,
        )
    inner = column.dtype.inner  # type: ignore[attr-defined]
    if not inner.is_numeric():
        raise InputError(
            "lists in column {column!r} must hold numbers, got values of type {got} at {row}",
            column=column.name,
            got=inner,
            row=first,
        )
    column = column.cast(polars.Array(polars.Float64, width))
    if not percent:
        return column
    matrix = array(column)
    outside = (matrix < 0) | (matrix > 100)
    if outside.any():
        row, k = (int(place[0]) for place in np.nonzero(outside))
        raise InputError(
            "percentages in column {column!r} must lie in [0, 100], got {got:g} at {row}",
            column=column.name,
            got=matrix[row, k],
            row=row,
        )
    return polars.Series(column.name, matrix / 100)


def _first(where: polars.Series) -> int:
    return int(where.arg_max() or 0)
