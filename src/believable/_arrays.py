"""Convert anything that holds numbers to a NumPy array, without importing the package it came from.

The module of the type identifies the container. Nulls become NaN (or None in an array of objects), and the checks of
arguments then raise an error that names the row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from believable._types import Array
from believable.errors import InputError, Row


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
    if hasattr(values, "combine_chunks"):
        values = values.combine_chunks()
    if hasattr(values, "chunks"):  # an empty chunked array stays chunked
        values = values.chunk(0) if values.num_chunks else []
    list_size = getattr(getattr(values, "type", None), "list_size", None)
    if list_size is not None and not values.null_count:
        return values.flatten().to_numpy(zero_copy_only=False).reshape(-1, list_size)
    return values.to_numpy(zero_copy_only=False) if hasattr(values, "to_numpy") else values


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
