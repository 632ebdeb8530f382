"""Best of several repeats, taken in turns, so that a busy moment of the machine hits every candidate."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol

REPEATS = 6
SHORTEST = 0.005  # seconds: quicker calls are looped until a sample lasts this long
ENOUGH = 0.9  # seconds: a candidate that has used so many is not run again


class Sampler(Protocol):
    """A candidate with a clock of its own: it runs in another process, or only a part of it is timed."""

    def sample(self, loops: int) -> tuple[float, Any]:
        """Seconds per call, and what the last call returned."""


Candidate = Callable[[], Any] | Sampler


@dataclass(slots=True)
class Timed:
    """What one candidate took: the best seconds per call, the number of samples, and its last result or its failure."""

    seconds: float = float("inf")
    samples: int = 0
    result: Any = None
    failure: str | None = None


def in_turns(
    candidates: Sequence[Candidate], repeats: int = REPEATS, enough: float = ENOUGH, cold: bool = False
) -> list[Timed]:
    """Time the candidates one after the other, `repeats` times round.

    Every candidate is called once beforehand, untimed, to load what it loads lazily; a slow one keeps that call as its
    only sample, unless all are `cold`, as at the smallest size. All candidates have the same number of samples, but for
    slow ones, which have fewer.
    """
    timed = [Timed() for _ in candidates]
    loops, spent = [1] * len(candidates), [0.0] * len(candidates)
    for turn in range(repeats + 1):
        for i, (candidate, row) in enumerate(zip(candidates, timed, strict=True)):
            if row.failure or spent[i] > enough:
                continue
            row.result = None  # freed before the clock starts
            start = perf_counter()
            try:
                seconds, row.result = sample(candidate, loops[i])
            except Exception as error:  # a peer that refuses the input is a row of the table, not the end of the run
                row.failure = f"{type(error).__name__}: {error}".splitlines()[0]
                continue
            wall = perf_counter() - start  # a clock of its own may hardly move while time goes by
            spent[i] += wall
            if turn == 0:
                loops[i] = max(1, round(min(SHORTEST, enough / 10) / max(wall, 1e-7)))
                if cold:
                    spent[i] = 0.0
                if spent[i] <= enough and repeats > 0:
                    continue
            row.samples += 1
            row.seconds = min(row.seconds, seconds)
    return timed


def sample(candidate: Candidate, loops: int) -> tuple[float, Any]:
    """Seconds per call, and what the last call returned."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not callable(candidate):
            return candidate.sample(loops)
        start = perf_counter()
        for _ in range(loops):
            result = candidate()
        return (perf_counter() - start) / loops, result
