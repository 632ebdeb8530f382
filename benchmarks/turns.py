"""Median times by the wall clock, taken in turns, with the device waited for before the clock stops."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import Any

LOOPED_FOR = 0.02  # seconds: a quick call that may be looped is, until a sample lasts this long
MOST_LOOPS = 50
FEWEST = 3  # samples of a side, unless they take too long together
LED_IN = 0.5  # seconds: a quicker call is made once before it is timed
TOO_LONG = 8.0  # seconds

Wait = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Side:
    """A call as it is typed, and what has to happen before each sample of it, untimed.

    A `looped` call is made many times in a row, and the sample is its mean.
    """

    run: Callable[[], Any]
    before: Callable[[], Any] | None = None
    looped: bool = False


@dataclass(slots=True)
class Timed:
    """What one side took: seconds of its samples, and its last result or its failure."""

    times: list[float] = field(default_factory=list)
    result: Any = None
    failure: str | None = None
    loops: int = 1

    @property
    def seconds(self) -> float | None:
        """The median; None without a sample."""
        return median(self.times) if self.times else None

    @property
    def spent(self) -> float:
        """The seconds of all samples together."""
        return sum(self.times) * self.loops


def in_turns(sides: Sequence[Side], wait: Wait, repeats: int = 7, enough: float = 1.0) -> list[Timed]:
    """Time the sides one after the other, `repeats` times round, after a round that compiles and loads.

    A quick call is timed right after another of its own, so that it does not find the caches that the other side has
    emptied. A side that has used `enough` seconds is run again only until it has a few samples.
    """
    timed = [Timed() for _ in sides]
    for turn in range(repeats + 1):
        for side, row in zip(sides, timed, strict=True):
            if row.failure is None and row.spent <= (enough if len(row.times) >= FEWEST else TOO_LONG):
                _add_sample(side, row, wait, warming_up=turn == 0)
    return timed


def _add_sample(side: Side, row: Timed, wait: Wait, warming_up: bool) -> None:
    row.result = None  # freed before the clock starts
    try:
        if row.times and row.times[-1] < LED_IN:
            sample(side, 1, wait)
        seconds, row.result = sample(side, row.loops, wait)
        if not warming_up:
            row.times.append(seconds)
        elif side.looped:  # judged by a call that no longer compiles anything
            seconds, _ = sample(side, 1, wait)
            row.loops = max(1, min(MOST_LOOPS, round(LOOPED_FOR / max(seconds, 1e-7))))
    except Exception as error:  # a call that fails, or needs too much memory, is a line of the table
        row.failure = f"{type(error).__name__}: {error}".splitlines()[0][:120]


def sample(side: Side, loops: int, wait: Wait) -> tuple[float, Any]:
    """Seconds per call, and what the last call returned."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if side.before is not None:
            side.before()
        wait()
        start = perf_counter()
        for _ in range(loops):
            result = side.run()
        wait()
        return (perf_counter() - start) / loops, result
