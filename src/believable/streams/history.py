"""Calibration over time: one row per window."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Literal

import numpy as np

from believable._arrays import as_numpy
from believable._types import Int64s
from believable.errors import InputError, SchemaError
from believable.stats.saved import field_of


@dataclass(frozen=True, slots=True)
class Window:
    """Calibration in one window of the stream.

    Attributes
    ----------
    start, end : int, float or datetime
        From start (inclusive) to end (exclusive): rows, numbers or times (UTC).
    n : int
        The number of rows.
    mean_score, rate : float
        The average prediction and the observed rate (for a matrix, confidence and accuracy).
    value, low, high : float
        The expected calibration error, and its interval.
    floor : float
        The noise floor: the average error that a perfectly calibrated model would show.
    p_value : float
        The probability that a perfectly calibrated model shows as large an error, in this window alone.
    flagged : bool
        Whether the p-value is below 1 - level. At a level of 0.95, one window in twenty of a perfectly calibrated model
        is flagged; only the alarm accounts for many windows.
    capital : float
        The betting capital of the drift alarm at the end of the window.
    alarm : bool
        Whether the alarm has been raised by then.
    """

    start: Any
    end: Any
    n: int
    mean_score: float
    rate: float
    value: float
    low: float
    high: float
    floor: float
    p_value: float
    flagged: bool
    capital: float
    alarm: bool


@dataclass(frozen=True, slots=True)
class History(Sequence[Window]):
    """The windows of a stream, in order of time.

    Attributes
    ----------
    windows : tuple of Window
    n_bins : int
        The number of uniform bins of the expected calibration error.
    notion : str
        The notion of calibration.
    level : float
        Confidence level of the intervals.
    alpha : float
        The lifetime rate of false alarms.
    """

    windows: tuple[Window, ...]
    n_bins: int
    notion: str
    level: float
    alpha: float

    def __getitem__(self, i: Any) -> Any:
        return self.windows[i]

    def __len__(self) -> int:
        return len(self.windows)

    def __iter__(self) -> Iterator[Window]:
        return iter(self.windows)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns by name, for a data frame."""
        return {name: [row[name] for row in map(asdict, self.windows)] for name in Window.__slots__}

    def to_frame(self, backend: Literal["polars", "pandas", "pyarrow"] = "polars") -> Any:
        """Return the windows as a data frame."""
        from believable.curves.binned import as_frame

        return as_frame(self.to_dict(), backend)

    def _ends(self, name: str) -> list[str]:
        """Return the ends as text; days without the hour if all are at midnight."""
        ends = [getattr(one, name) for one in self.windows]
        if all(isinstance(one, datetime) and one.time() == time.min for one in ends):
            return [str(one.date()) for one in ends]
        return [f"{one:,}" if isinstance(one, int) else str(one) for one in ends]

    def __str__(self) -> str:
        if not self.windows:
            return "no window is complete yet"
        odds = 1 / (1 - self.level)
        lines = [
            f"expected calibration error ({self.notion}, {self.n_bins} bins), {100 * self.level:.4g} % intervals; * "
            f"more than noise (a calibrated model gets this mark in one of {odds:.3g} windows); ! drift alarm "
            f"(lifetime false-alarm rate {self.alpha:g})"
        ]
        spans = [f"{a} … {b}" for a, b in zip(*(self._ends(name) for name in ("start", "end")), strict=True)]
        width = max(map(len, spans), default=0)
        names = f"{'rows':>9} {'predicted':>9} {'observed':>8} {'error':>7}  {'interval':<15} {'noise floor':>11}"
        lines.append(f"{'':<{width}} {names}")
        for span, one in zip(spans, self.windows, strict=True):
            marks = f" {'*' if one.flagged else ''}{'!' if one.alarm else ''}".rstrip()
            lines.append(
                f"{span:<{width}} {one.n:>9,} {one.mean_score:>9.4f} {one.rate:>8.4f} {one.value:>7.4f}  "
                f"{one.low:.4f} … {one.high:.4f} {one.floor:>11.4f}{marks}"
            )
        return "\n".join(lines)

    __repr__ = __str__


# --- the saved form of windows: plain values, with times as ISO strings -----------------------------------------------


INTEGER_FIELDS, BOOLEAN_FIELDS = ("n",), ("flagged", "alarm")


def window_out(window: Window) -> dict[str, Any]:
    """Return a window as a dictionary for JSON; an infinite capital is a word."""
    saved = {item.name: getattr(window, item.name) for item in fields(Window)}
    for end in ("start", "end"):
        saved[end] = saved[end].isoformat() if isinstance(saved[end], datetime) else saved[end]
    return {name: "Infinity" if value == math.inf else value for name, value in saved.items()}


def window_in(saved: Any) -> Window:
    """Return the window saved by `window_out`, checked."""
    names = {item.name for item in fields(Window)}
    if not isinstance(saved, dict) or set(saved) != names:
        raise SchemaError("a saved window is damaged: it must have the fields of a Window")
    values: dict[str, Any] = {}
    for name, value in saved.items():
        kind: Any = int if name in INTEGER_FIELDS else bool if name in BOOLEAN_FIELDS else (int, float)
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
    """Return a dictionary by number of pane, checked."""
    found = {}
    for key, value in field_of(saved, name, dict).items():
        if not isinstance(key, str) or not key.removeprefix("-").isdecimal():
            raise SchemaError(f"the saved {name} is damaged: {key!r} is not the number of a pane")
        found[int(key)] = value
    return found


# --- the pane of a row: by its number in the stream, its time, or a growing number ------------------------------------


MICROSECOND = timedelta(microseconds=1)
START_OF_1970 = datetime(1970, 1, 1)
MAX_PANE_NUMBER = 2.0**53  # beyond this, neighbouring integers are equal as floats


@dataclass(frozen=True, slots=True)
class Clock:
    """Panes of equal length: [k every, (k + 1) every), counted from 0 or from the beginning of 1970 (UTC)."""

    every: int | float | timedelta

    def __post_init__(self) -> None:
        given: Any = self.every
        if isinstance(given, np.timedelta64) and not np.isnat(given):
            if np.datetime_data(given)[0] in ("Y", "M"):
                raise InputError(
                    "{argument} must be a fixed length of time, not months or years, got {got!r}",
                    argument="every",
                    got=given,
                )
            object.__setattr__(self, "every", given.astype("timedelta64[us]").item())
        if isinstance(self.every, timedelta):
            if self.every < MICROSECOND:
                raise InputError(
                    "{argument} must be a positive length of time, at least a microsecond, got {got!r}",
                    argument="every",
                    got=given,
                )
            return
        if isinstance(given, (np.integer, np.floating)):
            object.__setattr__(self, "every", given.item())
        if not isinstance(self.every, (int, float)) or isinstance(given, bool) or not 0 < self.every < math.inf:
            raise InputError(
                "{argument} must be a number above 0 or a timedelta, got {got!r}", argument="every", got=given
            )

    def panes(self, at: Any, n: int) -> Int64s:
        """Return the pane of each of n rows, given one time for all or one per row."""
        values = self._numbers(at)
        if values.shape not in ((), (n,)):
            raise InputError(
                "{argument} must be one time, or one for each of {n} rows, got shape {got}",
                argument="at",
                n=n,
                got=values.shape,
            )
        if isinstance(self.every, timedelta):
            panes = values // (self.every // MICROSECOND)
        else:
            # Integers stay integers: nanoseconds since 1970 exceed the precision of floats.
            whole = values.dtype.kind == "i" and isinstance(self.every, int) and self.every < 2**63
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                places = values // self.every if whole else values / self.every
            if not ((places > -MAX_PANE_NUMBER) & (places < MAX_PANE_NUMBER)).all():
                raise InputError(
                    "{argument} must be finite numbers, and not so large that neighbouring panes become equal",
                    argument="at",
                )
            panes = np.floor(places).astype(np.int64)
        return np.broadcast_to(panes, (n,))

    def _numbers(self, at: Any) -> Any:
        """Return times as integer microseconds since 1970, or numbers as they are."""
        if isinstance(at, (date, datetime)):
            at = _utc(at)
        values = np.asarray(at) if isinstance(at, datetime) else as_numpy(at, "at")
        if values.dtype == object and all(isinstance(one, (date, datetime)) for one in values.ravel()):
            values = np.array([_utc(one) for one in values.ravel()], "datetime64[us]").reshape(values.shape)
        if isinstance(self.every, timedelta):
            if values.dtype.kind != "M":
                raise InputError(
                    "{argument} is a length of time, so at must be times, got values of type {got}",
                    argument="every",
                    got=values.dtype,
                )
            if np.isnat(values).any():
                raise InputError("{argument} has a missing time", argument="at")
            return values.astype("datetime64[us]").astype(np.int64)
        if values.dtype.kind not in "iuf":
            raise InputError(
                "{argument} is a number, so at must be numbers, got values of type {got}; for times pass "
                "every=datetime.timedelta(...)",
                argument="every",
                got=values.dtype,
            )
        return values.astype(np.int64 if values.dtype.kind == "i" else np.float64)

    def start(self, pane: int) -> Any:
        """Return the start of a pane: a number, or a time (UTC)."""
        if isinstance(self.every, timedelta):
            return START_OF_1970 + pane * self.every
        start = pane * self.every
        return round(start) if math.isclose(start, round(start), rel_tol=1e-15) else float(start)


def _utc(moment: date) -> datetime:
    """Return a time in UTC; one without a zone is taken as UTC, and a date as its midnight."""
    if moment != moment:  # pandas' NaT is a datetime too
        raise InputError("{argument} has a missing time", argument="at")
    if not isinstance(moment, datetime):
        return datetime(moment.year, moment.month, moment.day)
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo is not None else moment
