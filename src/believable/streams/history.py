"""Calibration over time: one row for each window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, time
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Window:
    """Calibration in a stretch of the stream.

    Attributes
    ----------
    start, end : int, float or datetime
        From (and with) start to (and without) end: rows, numbers or times (UTC).
    n : int
        Rows.
    mean_score, rate : float
        What was predicted and what happened, on average (of the predicted class, for a matrix).
    value, low, high : float
        The expected calibration error, and its interval.
    floor : float
        What perfect calibration would show on average.
    p_value : float
        Chance that perfect calibration shows as much, in this window alone.
    flagged : bool
        Whether that is below 1 - level. One window in twenty is flagged by chance at a level of 0.95: the alarm is
        what allows for many looks.
    capital : float
        Of the drift alarm at the end of the window.
    alarm : bool
        Whether the alarm has rung by then.
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
    """Windows in order of time.

    Attributes
    ----------
    windows : tuple of Window
    n_bins : int
        Uniform bins of the expected calibration error.
    notion : str
        Of the scores.
    level : float
        Of the intervals.
    alpha : float
        The rate of false alarms.
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
        """Columns by name, for a data frame."""
        return {name: [row[name] for row in map(asdict, self.windows)] for name in Window.__slots__}

    def to_frame(self, backend: Literal["polars", "pandas", "pyarrow"] = "polars") -> Any:
        """The windows as a data frame."""
        from believable.curves.binned import as_frame

        return as_frame(self.to_dict(), backend)

    def _ends(self, name: str) -> list[str]:
        """Days without the hour, where all begin at midnight."""
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
            f"more than chance shows in 1 of {odds:.3g} windows; ! the drift alarm has rung (rate {self.alpha:g})"
        ]
        spans = [f"{a} … {b}" for a, b in zip(*(self._ends(name) for name in ("start", "end")), strict=True)]
        width = max(map(len, spans), default=0)
        names = f"{'rows':>9} {'predicted':>9} {'happened':>8} {'error':>7}  {'interval':<15} {'by chance':>9}"
        lines.append(f"{'':<{width}} {names}")
        for span, one in zip(spans, self.windows, strict=True):
            marks = f" {'*' if one.flagged else ''}{'!' if one.alarm else ''}".rstrip()
            lines.append(
                f"{span:<{width}} {one.n:>9,} {one.mean_score:>9.4f} {one.rate:>8.4f} {one.value:>7.4f}  "
                f"{one.low:.4f} … {one.high:.4f} {one.floor:>9.4f}{marks}"
            )
        return "\n".join(lines)

    __repr__ = __str__
