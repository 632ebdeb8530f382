"""Frozen dataclasses as JSON and back: every field is checked by its type, nothing is executed."""

from __future__ import annotations

import math
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from believable.errors import SchemaError

NOT_FINITE = {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}  # JSON has no such numbers


def to_plain(value: Any) -> Any:
    """What JSON can hold: dictionaries, lists, numbers, text."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: to_plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, dict):
        return {name: to_plain(entry) for name, entry in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return value


def from_plain(kind: Any, plain: Any, where: str) -> Any:
    """The value of a type behind `to_plain`; a `SchemaError` names the place where it does not fit."""
    origin = get_origin(kind)
    if kind is Any:
        return plain
    if origin in (Union, UnionType):
        return _of_union(get_args(kind), plain, where)
    if origin is Literal:
        return _checked(plain, plain in get_args(kind), f"one of {get_args(kind)}", where)
    if origin is tuple:
        _checked(plain, isinstance(plain, list), "a list", where)
        (entry, *_) = get_args(kind)
        return tuple(from_plain(entry, one, f"{where}[{i}]") for i, one in enumerate(plain))
    if origin is dict:
        _checked(plain, isinstance(plain, dict), "an object", where)
        return {name: from_plain(get_args(kind)[1], one, f"{where}.{name}") for name, one in plain.items()}
    if is_dataclass(kind):
        return _of_dataclass(kind, plain, where)
    if kind is float:
        if isinstance(plain, str) and plain in NOT_FINITE:
            return NOT_FINITE[plain]
        number = isinstance(plain, (int, float)) and not isinstance(plain, bool)
        return float(_checked(plain, number, "a number", where))
    if kind is int:
        return _checked(plain, isinstance(plain, int) and not isinstance(plain, bool), "an integer", where)
    return _checked(plain, isinstance(plain, kind), f"a {kind.__name__}", where)


def _of_union(kinds: tuple[Any, ...], plain: Any, where: str) -> Any:
    if plain is None and NoneType in kinds:
        return None
    (kind,) = [one for one in kinds if one is not NoneType]
    return from_plain(kind, plain, where)


def _of_dataclass(kind: Any, plain: Any, where: str) -> Any:
    if hasattr(kind, "from_dict"):
        return kind.from_dict(plain)
    return kind(**dataclass_fields(kind, plain, where))


def dataclass_fields(kind: Any, plain: Any, where: str) -> dict[str, Any]:
    """The checked fields of a dataclass."""
    _checked(plain, isinstance(plain, dict), "an object", where)
    known = {item.name: item for item in fields(kind)}
    missing = [
        name
        for name, item in known.items()
        if name not in plain and item.default is MISSING and item.default_factory is MISSING
    ]
    unknown = sorted(set(plain) - set(known))
    if missing or unknown:
        raise SchemaError(f"the saved {where} lacks {missing} and has unknown fields {unknown}")
    hints = get_type_hints(kind)
    return {name: from_plain(hints[name], entry, f"{where}.{name}") for name, entry in plain.items()}


def _checked(plain: Any, fine: bool, wanted: str, where: str) -> Any:
    if not fine:
        raise SchemaError(f"the saved {where} must be {wanted}, got {str(plain)[:60]!r}")
    return plain
