"""Division of work among threads, by ranges of rows.

Threads are started for one call and joined before it returns: starting one takes a twentieth of a millisecond, and
there is no pool that a forked process would inherit without its threads. Work that already runs in one of several
threads is not divided again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from threading import Thread, local
from typing import TypeVar

Result = TypeVar("Result")

MOST_THREADS = 16  # memory bandwidth is the limit long before that

_here = local()


@contextmanager
def alone() -> Iterator[None]:
    """Keep the work inside this context on one thread, because the caller already runs several."""
    before = getattr(_here, "alone", False)
    _here.alone = True
    try:
        yield
    finally:
        _here.alone = before


def n_threads() -> int:
    """Return BELIEVABLE_THREADS, else OMP_NUM_THREADS (which pools of processes set), else the available cores.

    Inside `alone`, it is 1.
    """
    if getattr(_here, "alone", False):
        return 1
    for name in ("BELIEVABLE_THREADS", "OMP_NUM_THREADS"):
        wanted = os.environ.get(name, "")
        if wanted.isdecimal() and int(wanted) > 0:
            return min(int(wanted), MOST_THREADS)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_THREADS)


def ranges(n: int, at_least: int, most: int | None = None) -> list[tuple[int, int]]:
    """Return a range of rows for each of at most `most` threads, none shorter than `at_least` if there are several."""
    if n < 2 * at_least:
        return [(0, n)]
    parts = min(n_threads(), n // at_least, most or MOST_THREADS)
    ends = [n * part // parts for part in range(parts + 1)]
    return list(pairwise(ends))


def in_parts(work: Callable[[int, int, int], Result], parts: list[tuple[int, int]]) -> list[Result]:
    """Call work(number, start, stop) for every range in parallel, the first in this thread; return results in order."""
    if len(parts) == 1:
        return [work(0, *parts[0])]
    results: list[Result | BaseException | None] = [None] * len(parts)

    def run(number: int) -> None:
        try:
            with alone():
                results[number] = work(number, *parts[number])
        except BaseException as error:  # raised again in the waiting thread
            results[number] = error

    threads = [Thread(target=run, args=(number,), daemon=True) for number in range(1, len(parts))]
    started = []
    try:
        for thread in threads:
            thread.start()
            started.append(thread)
    except RuntimeError:  # no more threads, for example at shutdown: do the rest here
        pass
    for number in (0, *range(1 + len(started), len(parts))):
        run(number)
    for thread in started:
        thread.join()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results  # type: ignore[return-value]
