"""Reading saved statistics: every field is checked, nothing is executed."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from believable._types import Float64s, Int64s
from believable.errors import SchemaError


def open_saved(saved: Any, schema: str, version: int) -> None:
    """Raise unless this is a dictionary of that schema, written by this version or an older one."""
    if not isinstance(saved, dict) or saved.get("schema") != schema:
        found = saved.get("schema") if isinstance(saved, dict) else type(saved).__name__
        raise SchemaError(f"this is not a saved {schema}: found {found!r}")
    if not isinstance(saved.get("version"), int) or not 1 <= saved["version"] <= version:
        raise SchemaError(
            f"{schema} version {saved.get('version')!r} cannot be read by this package, which knows up to {version}"
        )


def field_of(saved: dict[str, Any], name: str, kind: type) -> Any:
    """A field of a given type."""
    if not isinstance(saved.get(name), kind) or isinstance(saved.get(name), bool):
        raise SchemaError(f"the saved {name} must be a {kind.__name__}, got {saved.get(name)!r}")
    return saved[name]


def float_list(saved: dict[str, Any], name: str) -> Float64s:
    """A list of finite numbers, or the array that a file had in its place."""
    array: Float64s = _column(saved, name, np.float64, (int, float), "numbers")
    if not np.isfinite(array).all():
        raise SchemaError(f"the saved {name} must be finite")
    return array


def integer_list(saved: dict[str, Any], name: str) -> Int64s:
    """A list of integers, or the array that a file had in its place."""
    column: Int64s = _column(saved, name, np.int64, int, "integers")
    return column


def _column(saved: dict[str, Any], name: str, dtype: Any, kind: Any, words: str) -> Any:
    values = saved.get(name)
    if isinstance(values, np.ndarray):
        if values.dtype != dtype or values.ndim != 1:
            raise SchemaError(f"the saved {name} must be a column of {words}, got {values.dtype}")
        return values
    values = field_of(saved, name, list)
    if not all(isinstance(value, kind) and not isinstance(value, bool) for value in values):
        raise SchemaError(f"the saved {name} must be a list of {words}")
    try:
        return np.array(values, dtype)
    except OverflowError as error:
        raise SchemaError(f"the saved {name} has numbers that are too large") from error


def number_out(value: float) -> float | str:
    """JSON has no infinity: it is written as a word."""
    return "Infinity" if value == math.inf else value


def number_in(saved: dict[str, Any], name: str, infinite: bool = False) -> float:
    """A number written by `number_out`; infinite only where that can be."""
    value = saved.get(name)
    if value == "Infinity" and infinite:
        return math.inf
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not abs(value) <= sys.float_info.max:
        raise SchemaError(f"the saved {name} must be a number, got {value!r}")
    return float(value)
