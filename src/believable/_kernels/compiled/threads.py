"""Division of work among threads, by ranges of rows.

Threads are started when they are first needed and wait for the next work, because starting one takes a twentieth of a
millisecond. A forked process does not inherit them, and starts its own. Work that already runs in one of several
threads is not divided again, so threads never wait for each other.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from queue import SimpleQueue
from threading import Lock, Thread, local
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
    unclaimed = deque(range(1, len(parts)))
    unfinished, guard, finished = len(parts), Lock(), Lock()
    finished.acquire()  # until whoever finishes the last part releases it

    def run(number: int) -> None:
        nonlocal unfinished
        try:
            with alone():
                results[number] = work(number, *parts[number])
        except BaseException as error:  # raised again in the waiting thread
            results[number] = error
        finally:
            with guard:
                unfinished -= 1
                last = unfinished == 0
            if last:
                finished.release()

    def run_unclaimed() -> bool:
        try:
            number = unclaimed.popleft()
        except IndexError:
            return False
        run(number)
        return True

    _workers.ask(run_unclaimed, len(parts) - 1)
    run(0)
    while run_unclaimed():  # what no thread has begun yet
        pass
    finished.acquire()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results  # type: ignore[return-value]


class Workers:
    """Threads that take work from a queue, as many as were ever asked for at once."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Callable[[], object]] = SimpleQueue()
        self._n = 0
        self._starting = Lock()

    def ask(self, work: Callable[[], object], times: int) -> None:
        """Have this called so many times by threads, as soon as they are free; by none where none can be started."""
        if self._n < times:
            with self._starting:
                try:
                    while self._n < times:
                        Thread(target=_work_off, args=(self._queue,), daemon=True, name="believable").start()
                        self._n += 1
                except RuntimeError:  # no more threads, for example at shutdown
                    pass
        for _ in range(times if self._n else 0):
            self._queue.put(work)


def _work_off(queue: SimpleQueue[Callable[[], object]]) -> None:
    while True:
        work = queue.get()
        work()
        del work  # which holds arrays


def _start_again() -> None:
    """Forget the threads of the process that this one was forked from."""
    global _workers
    _workers = Workers()


_workers = Workers()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_again)
