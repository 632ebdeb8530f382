"""The numbers that make up a map: their names, shapes and ranges, declared by each recalibrator.

A map is a dictionary of plain numbers, words and arrays, and all that applying it needs. So it can be written down,
read back with every field checked, and applied in another language.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from believable._types import Float64s
from believable.errors import SchemaError

Map = dict[str, Any]
MOST_NUMBERS = 100_000_000  # numbers in one array of a saved map


class Field(ABC):
    """One entry of a map."""

    @abstractmethod
    def read(self, value: Any, name: str) -> Any:
        """The value behind its JSON form, or a SchemaError."""


@final
@dataclass(frozen=True, slots=True)
class Number(Field):
    """A finite number in [low, high]."""

    low: float = -np.inf
    high: float = np.inf

    def read(self, value: Any, name: str) -> float:
        return float(_in_range(_floats(value, name, 0), self.low, self.high, name))


@final
@dataclass(frozen=True, slots=True)
class Vector(Field):
    """Finite numbers in [low, high]; `order` 1: they do not decrease, 2: they increase."""

    low: float = -np.inf
    high: float = np.inf
    order: int = 0
    fewest: int = 1

    def read(self, value: Any, name: str) -> Float64s:
        array = _in_range(_floats(value, name, 1), self.low, self.high, name)
        if len(array) < self.fewest:
            raise SchemaError(f"the saved {name} must hold at least {self.fewest} numbers, got {len(array)}")
        steps = np.diff(array)
        if (self.order == 1 and (steps < 0).any()) or (self.order == 2 and (steps <= 0).any()):
            raise SchemaError(f"the saved {name} must be in ascending order")
        return array


@final
@dataclass(frozen=True, slots=True)
class Matrix(Field):
    """Rows of finite numbers, all of one length."""

    low: float = -np.inf
    high: float = np.inf

    def read(self, value: Any, name: str) -> Float64s:
        return _in_range(_floats(value, name, 2), self.low, self.high, name)


@final
@dataclass(frozen=True, slots=True)
class Word(Field):
    """One of a few words."""

    options: tuple[str, ...]

    def read(self, value: Any, name: str) -> str:
        if not isinstance(value, str) or value not in self.options:
            raise SchemaError(f"the saved {name} must be one of {', '.join(self.options)}, got {value!r}")
        return value


def _floats(value: Any, name: str, depth: int) -> Float64s:
    """Nested lists of numbers, exactly so deep, as an array."""
    flat = [value]
    for _ in range(depth):
        if not all(isinstance(entry, list) for entry in flat) or sum(map(len, flat)) > MOST_NUMBERS:
            raise SchemaError(f"the saved {name} must be lists of numbers, {depth} deep")
        if len({len(entry) for entry in flat}) > 1:
            raise SchemaError(f"rows of the saved {name} must have one length")
        flat = [inner for entry in flat for inner in entry]
    if not all(isinstance(entry, (int, float)) and not isinstance(entry, bool) for entry in flat):
        raise SchemaError(f"the saved {name} must hold numbers")
    try:
        array = np.array(value, np.float64)
    except (OverflowError, ValueError) as error:
        raise SchemaError(f"the saved {name} has numbers that are too large") from error
    if array.ndim != depth or not np.isfinite(array).all():
        raise SchemaError(f"the saved {name} must hold finite numbers")
    return array


def _in_range(array: Float64s, low: float, high: float, name: str) -> Float64s:
    if array.size and not (array.min() >= low and array.max() <= high):
        raise SchemaError(f"the saved {name} must lie from {low:g} to {high:g}")
    return array


def written(value: Any) -> Any:
    """A field as JSON holds it."""
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
