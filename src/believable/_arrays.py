"""Convert anything that holds numbers to a NumPy array, without importing the package it came from.

The module of the type identifies the container. Nulls become NaN (or None in an array of objects), and the checks of
arguments then raise an error that names the row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from believable._types import Array
from believable.errors import InputError, Row

EXACT = 1 << 53  # below it, every integer is a float64 of its own


def as_numpy(values: Any, name: str) -> Array:
    """Return the values as a NumPy array: a view if possible, and without changing the caller's data."""
    convert = _CONVERTERS.get(type(values).__module__.partition(".")[0])
    try:
        if type(values) is np.ndarray:
            array = values
        elif convert is None and hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
            array = np.from_dlpack(values)
        else:
            array = np.asarray(values if convert is None else convert(values))
    except (AttributeError, BufferError, OverflowError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(
            "{argument} cannot be read as an array of numbers ({got}: {why})",
            argument=name,
            got=type(values).__name__,
            why=error,
            hint="rows may have different lengths",
        ) from error
    if array.ndim == 1 and array.dtype == object and len(array) and _is_row(array[0]):
        array = _stack(array, name)
    return array


def as_levels(values: Any, name: str) -> Array:
    """Return a column of subgroups as text; missing values become the subgroup "missing"."""
    array = as_numpy(values, name)
    if array.dtype.kind == "U" or array.ndim != 1:
        return array
    if array.dtype == "datetime64[ns]":  # `tolist` would return numbers instead of dates
        array = array.astype("datetime64[us]")
    return np.array(["missing" if value is None or value != value else str(value) for value in array.tolist()], str)


def _is_row(value: object) -> bool:
    return isinstance(value, (list, tuple, np.ndarray))


def _stack(rows: Array, name: str) -> Array:
    """Return a column of lists (one row of probabilities each) as a matrix."""
    for i, row in enumerate(rows):
        if not _is_row(row) or len(row) != len(rows[0]):
            found = len(row) if _is_row(row) else row
            raise InputError(
                "rows of {argument} must have the same length, got {first} at {first_row} and {got} at {row}",
                argument=name,
                first=len(rows[0]),
                first_row=Row(0),
                got=found,
                row=i,
            )
    return np.array([np.asarray(row) for row in rows])


def _from_numpy(values: Any) -> Any:
    """Convert subclasses of arrays: a masked entry becomes a missing value, a matrix an array."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        return np.where(np.ma.getmaskarray(values), np.nan, np.ma.getdata(values))
    return np.asarray(values)


def _from_pandas(values: Any) -> Any:
    array = np.asarray(values)
    if array.dtype == object and array.ndim == 2:  # as pandas makes of several nullable or Arrow-backed columns
        columns = [_from_pandas(column) for _, column in values.items()]
        if all(column.dtype.kind in "biuf" for column in columns):
            return np.column_stack(columns)
    missing = np.asarray(values.isna()) if array.dtype == object else None
    if missing is None or not missing.any():
        return array
    array = array.copy()
    array[missing] = None
    return array


def _from_polars(values: Any) -> Any:
    return (
        values.to_numpy() if hasattr(values, "to_numpy") else values.collect().to_numpy()
    )  # lazy frames have only `collect`


def _from_pyarrow(values: Any) -> Any:
    if hasattr(values, "to_batches") and hasattr(values, "columns"):  # a table
        return np.column_stack([_from_pyarrow(column) for column in values.columns])
    values = _one_chunk(values)
    list_size = getattr(getattr(values, "type", None), "list_size", None)
    if list_size is not None and not values.null_count:
        return values.flatten().to_numpy(zero_copy_only=False).reshape(-1, list_size)
    return values.to_numpy(zero_copy_only=False) if hasattr(values, "to_numpy") else values


def _one_chunk(values: Any) -> Any:
    if hasattr(values, "combine_chunks"):
        values = values.combine_chunks()
    if hasattr(values, "chunks"):  # an empty chunked array stays chunked
        values = values.chunk(0) if values.num_chunks else []
    return values


def _from_torch(values: Any) -> Any:
    values = values.detach().cpu()
    if str(values.dtype) == "torch.bfloat16":  # NumPy does not support it
        values = values.float()
    return values.numpy()


def _from_cupy(values: Any) -> Any:
    return values.get()


_CONVERTERS = {
    "numpy": _from_numpy,
    "pandas": _from_pandas,
    "polars": _from_polars,
    "pyarrow": _from_pyarrow,
    "torch": _from_torch,
    "cupy": _from_cupy,
}


# --- columns of segments and clusters ---------------------------------------------------------------------------------


def as_values(values: Any, name: str) -> Array:
    """Return a column of segments or clusters as an array of exactly these values, whatever the other rows hold.

    `as_numpy` is made for numbers: it turns values of several types into text, and rounds large integers beside missing
    ones. Here, those are an array of objects. Times are in UTC, with microseconds, which Python's own types have.
    """
    read = _READERS.get(type(values).__module__.partition(".")[0])
    if isinstance(values, Sequence) and not isinstance(values, (str, bytes)):
        array = as_numpy(_of_sequence(values), name)
    elif read is not None and getattr(values, "ndim", 1) == 1 and (hasattr(values, "dtype") or hasattr(values, "type")):
        array = as_numpy(read(values, name), name)
    else:
        array = as_numpy(values, name)
    # Of nanoseconds, `tolist` would return numbers instead of dates and durations.
    return array.astype(f"{array.dtype.kind}8[us]") if array.dtype.str.endswith("[ns]") else array


def _of_sequence(values: Sequence[Any]) -> Any:
    """Return a list of values of one type, or of numbers that are exact as float64, as NumPy does; else objects."""
    kinds = set(map(type, values))
    if kinds <= {bool} or any(issubclass(kind, (list, tuple, np.ndarray)) for kind in kinds):
        return values
    if kinds <= {int, float}:
        try:
            array = np.asarray(values, np.int64 if kinds == {int} else np.float64)
        except OverflowError:  # an integer of more than 64 bits
            array = None
        if array is not None and (int not in kinds or array.dtype.kind == "i" or _is_exact(array)):
            return array
    if len(kinds) == 1 and issubclass(kinds.pop(), (np.number, np.bool_)):
        return np.asarray(values)
    return np.fromiter(values, object, len(values))


def _is_exact(numbers: Array) -> bool:
    """Return whether integers that are now float64 are so small that none was rounded."""
    return not (np.abs(numbers) >= EXACT).any()


def _with_gaps(values: Array, missing: Array) -> Array:
    """Return values of which some are missing: integers as float64 if they are exact, objects and None otherwise."""
    if not missing.any():
        return values
    kind = values.dtype.kind
    if kind == "f" or (kind in "iu" and _is_exact(values[~missing].astype(np.float64))):
        return np.where(missing, np.nan, values)
    if kind in "mM":
        return np.where(missing, values.dtype.type("NaT"), values)
    found = values.astype(object)
    found[missing] = None
    return found


def _values_of_numpy(values: Any, name: str) -> Any:
    if not isinstance(values, np.ma.MaskedArray):
        return values
    return _with_gaps(as_values(np.ma.getdata(values), name), np.ma.getmaskarray(values))


def _values_of_pandas(values: Any, name: str) -> Any:
    categories = getattr(getattr(values, "array", values), "categories", None)
    if categories is not None:  # which NumPy makes numbers if a value is missing, and intervals those of floats
        codes, found = np.asarray(getattr(values, "array", values).codes), as_values(categories, name)
        return _with_gaps(found[codes], codes < 0) if len(found) else np.full(len(codes), None)
    if getattr(values.dtype, "tz", None) is not None:
        return np.asarray(values, "datetime64[us]")
    if values.dtype.kind in "iu" and not isinstance(values.dtype, np.dtype):
        missing = np.asarray(values.isna())
        return _with_gaps(values.to_numpy(values.dtype.numpy_dtype, na_value=0), missing)
    return values


def _only_of_pandas(kind: object, name: str) -> InputError:
    """Return the error for a type of pandas elsewhere, such as periods, which are then numbers."""
    return InputError(
        "{argument} holds values of type {got}, which only pandas can read: cast it to text first",
        argument=name,
        got=kind,
    )


def _values_of_polars(values: Any, name: str) -> Any:
    if str(values.dtype).startswith("Extension('pandas"):
        raise _only_of_pandas(values.dtype, name)
    if not values.dtype.is_integer():
        return values
    if "128" in str(values.dtype):  # NumPy has no such type
        return np.fromiter(values.to_list(), object, len(values))
    return _with_gaps(values.fill_null(0).to_numpy(), values.is_null().to_numpy())


def _values_of_pyarrow(values: Any, name: str) -> Any:
    kind = values.type
    if str(kind).startswith("dictionary"):
        return _values_of_pyarrow(values.cast(kind.value_type), name)
    if str(kind).startswith("extension<pandas"):
        raise _only_of_pandas(kind, name)
    values = _one_chunk(values)
    if not str(kind).startswith(("int", "uint")) or not len(values):
        return values
    return _with_gaps(values.fill_null(0).to_numpy(), values.is_null().to_numpy(zero_copy_only=False))


_READERS = {
    "numpy": _values_of_numpy,
    "pandas": _values_of_pandas,
    "polars": _values_of_polars,
    "pyarrow": _values_of_pyarrow,
}
