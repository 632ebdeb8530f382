"""The distinct values of a column, and which of them each row has."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from believable._arrays import EXACT, as_values
from believable._check import is_missing
from believable._types import Array, Float64s
from believable.errors import InputError

MISSING = "missing"
OTHER_LENGTH = "{argument} has {got} entries, but the predictions have {needed} rows"
WITHOUT_WEIGHT = " (rows of weight 0 do not count)"
ROWS_AT_ONCE = 1 << 20
ODD = np.uint64(0x9E3779B97F4A7C15)  # spreads neighbouring texts over all 64-bit numbers


class Values(NamedTuple):
    """Distinct values as text and, if they are numbers, as such: NaN where one is missing."""

    texts: list[str]
    numbers: Float64s | None

    @classmethod
    def of(cls, found: Sequence[Any]) -> tuple[Values, Array]:
        """Return distinct values, and the place of each one among them.

        As text, some values are the same: missing ones of several kinds, 1 and 1.0.
        """
        first: dict[str, int] = {}
        kept: list[Any] = []
        same = np.empty(len(found), np.int32)
        for i, value in enumerate(map(plain, found)):
            same[i] = first.setdefault(text_of(value), len(first))
            if same[i] == len(kept):
                kept.append(value)
        return cls(list(first), _numbers(kept)), same

    @property
    def there(self) -> Array:
        """Whether each value is something other than a missing one."""
        return np.array([text != MISSING for text in self.texts], bool)

    @property
    def in_order(self) -> list[int]:
        """The places of the values in order, of size or of the alphabet, missing ones last."""
        size: list[Any] = self.texts
        if self.numbers is not None:  # of which large ones are rounded
            pairs = zip(self.texts, self.numbers.tolist(), strict=True)
            size = [int(text) if abs(number) >= EXACT else number for text, number in pairs]
        return sorted(range(len(self.texts)), key=lambda i: (self.texts[i] == MISSING, size[i]))


class Column(NamedTuple):
    """A column as it was given: its distinct values, and the place of each row's value among them."""

    values: Values
    codes: Array

    @classmethod
    def of(cls, given: Any, name: str) -> Column:
        """Return the values of anything that holds one value per row."""
        try:
            found, codes = _encoded(given) if _is_encoded(given) else _distinct(array_of(given, name))
        except TypeError as error:
            raise InputError(
                "{argument} must hold one number, text or date per row ({why})", argument=f"by {name!r}", why=error
            ) from error
        values, same = Values.of(found)
        return cls(values, codes if len(values.texts) == len(found) else same[codes])


def array_of(given: Any, name: str) -> Array:
    """Return a column as a one-dimensional array."""
    array = as_values(given, f"by {name!r}")
    if array.ndim != 1:
        raise InputError(
            "{argument} must be 1-D, one entry per row, got shape {got}", argument=f"by {name!r}", got=array.shape
        )
    return array


def finite_numbers(given: Any, name: str) -> Array | None:
    """Return a column as an array of finite numbers and NaN; None if it is anything else."""
    if _is_encoded(given):
        return None
    array = array_of(given, name)
    if array.dtype.kind not in "iuf" or (array.dtype.kind == "f" and np.isinf(array).any()):
        return None
    return array.astype(np.float64) if array.dtype.kind in "iu" and array.dtype.itemsize == 8 else array


def plain(value: Any) -> Any:
    """Return a value as one of Python's own types, whatever container it comes from; None if it is missing.

    Decimals are float64, and times are in UTC, without their zone.
    """
    if is_missing(value):
        return None
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, np.generic) and not isinstance(value, (str, float)):
        return as_values(np.array([value]), "values").tolist()[0]
    if hasattr(value, "to_pytimedelta"):  # of pandas, like the next
        return value.to_pytimedelta()
    if hasattr(value, "to_pydatetime"):
        value = value.to_pydatetime(warn=False)
    return value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) and value.tzinfo else value


def text_of(value: Any) -> str:
    """Return the name of a level; whole numbers are written alike, whether they are stored as 1 or as 1.0."""
    value = plain(value)
    if value is None:
        return MISSING
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _numbers(values: list[Any]) -> Float64s | None:
    """Return the values as numbers, NaN where one is missing; None if any is something else."""
    there = [value for value in values if not is_missing(value)]
    if not there or not all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in there):
        return None
    try:
        numbers = np.array([np.nan if is_missing(value) else float(value) for value in values])
    except OverflowError:  # an integer with hundreds of digits is an identifier
        return None
    return None if np.isinf(numbers).any() else numbers


# --- distinct values, without looking at every row in Python ----------------------------------------------------------


def _distinct(array: Array) -> tuple[list[Any], Array]:
    """Return the distinct values of an array, and the place of each row's value."""
    if array.dtype.kind in "biufmM":
        distinct = np.unique(array)
        codes = np.empty(len(array), np.int32)
        for here in _blocks(len(array)):
            codes[here] = np.searchsorted(distinct, array[here])
        return distinct.tolist(), codes
    place: dict[Any, int] = {}
    codes = np.empty(len(array), np.int32)
    several = _has_several_types(array)
    for here in _blocks(len(array)):
        found, within = _of_text(array[here]) if array.dtype.kind in "US" else (array[here].tolist(), None)
        keys = list(zip(map(type, found), found, strict=True)) if several else found
        for key in keys:
            place.setdefault(key, len(place))
        new = np.fromiter(map(place.__getitem__, keys), np.int32, len(keys))
        codes[here] = new if within is None else new[within]
    return [value for _, value in place] if several else list(place), codes


def _has_several_types(array: Array) -> bool:
    """Return whether values of different names may be equal, such as 1 and True, because their types differ."""
    kinds = (
        set().union(*(map(type, array[here].tolist()) for here in _blocks(len(array)))) if array.dtype == object else ()
    )
    return len({*kinds} - {str, type(None)}) > 1


def _blocks(n: int) -> list[slice]:
    return [slice(start, min(start + ROWS_AT_ONCE, n)) for start in range(0, n, ROWS_AT_ONCE)]


def _of_text(array: Array) -> tuple[list[Any], Array | None]:
    """Return the distinct texts of an array of fixed width, and the place of each row's text; all rows if it fails.

    Rows are sorted by a number made of their characters, and compared with a row of the same number.
    """
    width = array.dtype.itemsize
    if not width or not len(array):
        return array.tolist(), None
    lanes = np.ascontiguousarray(array).view(f"u{8 if width % 8 == 0 else 4 if width % 4 == 0 else 1}")
    key = np.zeros(len(array), np.uint64)
    for lane in lanes.reshape(len(array), -1).T:
        key = (key ^ lane) * ODD
        key ^= key >> np.uint64(29)
    distinct = np.unique(key)
    within = np.searchsorted(distinct, key)
    example = np.empty(len(distinct), np.intp)
    example[within] = np.arange(len(array))
    texts = array[example]
    return (texts.tolist(), within) if (texts[within] == array).all() else (array.tolist(), None)


def _is_encoded(given: Any) -> bool:
    """Return whether a column holds text or categories of pandas, polars or pyarrow, which find the distinct values."""
    package = type(given).__module__.partition(".")[0]
    if package == "pandas":  # not objects, of which it takes 1 and True for the same
        kind = str(getattr(given, "dtype", ""))
        return kind == "str" or kind.startswith(("category", "string", "large_string"))
    if package == "polars":
        return str(getattr(given, "dtype", "")).startswith(("String", "Categorical", "Enum"))
    return package == "pyarrow" and str(getattr(given, "type", "")).startswith(("string", "large_string", "dictionary"))


def _encoded(given: Any) -> tuple[list[Any], Array]:
    """Return the distinct values of such a column, and the place of each row's value."""
    if hasattr(given, "factorize"):  # pandas
        codes, distinct = given.factorize()
        found = array_of(distinct, "").tolist()
    elif hasattr(given, "replace_strict"):  # polars
        distinct = given.unique()
        codes, found = given.replace_strict(distinct, list(range(len(distinct)))).to_numpy(), distinct.to_list()
    else:
        encoded = given.dictionary_encode()
        if hasattr(encoded, "combine_chunks"):
            encoded = encoded.unify_dictionaries().combine_chunks()
        codes, found = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), encoded.dictionary.to_pylist()
    codes = np.where(codes < 0, len(found), codes).astype(np.int32)
    used = np.flatnonzero(np.bincount(codes, minlength=len(found) + 1))  # not all categories need to occur
    place = np.zeros(len(found) + 1, np.int32)
    place[used] = np.arange(len(used))
    found.append(None)
    return [found[i] for i in used.tolist()], place[codes]
