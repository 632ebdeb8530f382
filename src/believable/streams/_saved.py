"""The saved form of windows: plain values, times as ISO words."""

from __future__ import annotations

import math
from dataclasses import fields
from datetime import datetime
from typing import Any

from believable.errors import SchemaError
from believable.stats._saved import field_of
from believable.streams.history import Window

_COUNTS, _FLAGS = ("n",), ("flagged", "alarm")


def window_out(window: Window) -> dict[str, Any]:
    """A window as a dictionary that JSON can hold; an infinite capital is a word."""
    saved = {item.name: getattr(window, item.name) for item in fields(Window)}
    for end in ("start", "end"):
        saved[end] = saved[end].isoformat() if isinstance(saved[end], datetime) else saved[end]
    return {name: "Infinity" if value == math.inf else value for name, value in saved.items()}


def window_in(saved: Any) -> Window:
    """The window behind `window_out`, checked."""
    names = {item.name for item in fields(Window)}
    if not isinstance(saved, dict) or set(saved) != names:
        raise SchemaError("a saved window is damaged: it must have the fields of a Window")
    values: dict[str, Any] = {}
    for name, value in saved.items():
        kind: Any = int if name in _COUNTS else bool if name in _FLAGS else (int, float)
        if name in ("start", "end") and isinstance(value, str):
            try:
                value = datetime.fromisoformat(value)
            except ValueError as error:
                raise SchemaError(f"a saved window is damaged: {error}") from error
            kind = datetime
        elif value == "Infinity":
            value = math.inf
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise SchemaError(f"a saved window is damaged: its {name} is {value!r}")
        values[name] = value
    return Window(**values)


def panes_in(saved: dict[str, Any], name: str) -> dict[int, Any]:
    """A dictionary by number of pane."""
    found = {}
    for key, value in field_of(saved, name, dict).items():
        if not isinstance(key, str) or not key.removeprefix("-").isdecimal():
            raise SchemaError(f"the saved {name} is damaged: {key!r} is not the number of a pane")
        found[int(key)] = value
    return found
