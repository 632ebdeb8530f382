"""How much of the machine other processes used meanwhile.

Taking turns is fair to single-threaded calls only. Where another process holds a core, a call that runs on all cores
waits for its slowest thread at every step, and can look ten times slower than it is: such tables need another run.
"""

from __future__ import annotations

import os
from pathlib import Path
from time import perf_counter

NOTICED = 0.05
SHORTEST = 0.5  # seconds: the clocks of the system tick too rarely to tell less


class Others:
    """Reads the clocks when made; `share` is the part of all cores that others have used since (None: cannot tell).

    `children` are processes of ours that still run.
    """

    def __init__(self, *children: int) -> None:
        self._children = children
        self._wall, self._ours, self._all = perf_counter(), _our_seconds(children), _busy_seconds()

    @property
    def share(self) -> float | None:
        now = _busy_seconds()
        wall = perf_counter() - self._wall
        if now is None or self._all is None or wall < SHORTEST:
            return None
        available = wall * (os.cpu_count() or 1)
        return max(0.0, (now - self._all) - (_our_seconds(self._children) - self._ours)) / available

    def notes(self) -> list[str]:
        """A warning where others were noticed."""
        share = self.share
        if share is None or share < NOTICED:
            return []
        return [f"BUSY: other processes used {share:.0%} of the cores; multi-threaded rows suffer most, run this again"]


def _our_seconds(children: tuple[int, ...]) -> float:
    """Core-seconds of this process, of those it has waited for, and of children that still run."""
    spent = os.times()
    total = spent.user + spent.system + spent.children_user + spent.children_system
    for child in children:
        try:
            after_name = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(map(int, after_name[11:13])) / os.sysconf("SC_CLK_TCK")
    return total


def _busy_seconds() -> float | None:
    """Core-seconds of work since the machine started: user, nice and system."""
    try:
        first = Path("/proc/stat").read_text().split("\n", 1)[0]
    except OSError:
        return None
    return sum(map(int, first.split()[1:4])) / os.sysconf("SC_CLK_TCK")
