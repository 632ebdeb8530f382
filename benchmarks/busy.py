"""How much of the machine other processes used meanwhile.

Taking turns is fair to single-threaded calls only. Where another process holds a core, a call that runs on all cores
waits for its slowest thread at every step, and can look ten times slower than it is: such tables need another run.
"""

from __future__ import annotations

import os
from pathlib import Path
from time import perf_counter

NOTICED = 0.05


class Others:
    """Reads the clocks when made; `share` is the part of all cores that others have used since (None: cannot tell)."""

    def __init__(self) -> None:
        self._wall, self._ours, self._all = perf_counter(), _our_seconds(), _busy_seconds()

    @property
    def share(self) -> float | None:
        now = _busy_seconds()
        if now is None or self._all is None:
            return None
        available = (perf_counter() - self._wall) * (os.cpu_count() or 1)
        return max(0.0, (now - self._all) - (_our_seconds() - self._ours)) / available

    def notes(self) -> list[str]:
        """A warning where others were noticed."""
        share = self.share
        if share is None or share < NOTICED:
            return []
        return [f"BUSY: other processes used {share:.0%} of the cores; multi-threaded rows suffer most, run this again"]


def _our_seconds() -> float:
    """Core-seconds of this process and of the processes it has waited for."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _busy_seconds() -> float | None:
    """Core-seconds of work since the machine started: user, nice and system."""
    try:
        first = Path("/proc/stat").read_text().split("\n", 1)[0]
    except OSError:
        return None
    return sum(map(int, first.split()[1:4])) / os.sysconf("SC_CLK_TCK")
