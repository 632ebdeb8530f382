"""The pass itself: batches counted by several threads, added in their order, with the state kept now and then."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice

from believable import kernels
from believable.readers._count_batch import Asked, Counted, Seen, count_batch
from believable.readers.batches import ROWS, Batch, batches_of, spread_over
from believable.readers.checkpoint import Checkpoint, State
from believable.readers.columns import Columns
from believable.readers.level_rules import LevelRule
from believable.readers.parts import Parts
from believable.readers.progress import counting

SECONDS = 10.0  # between checkpoints, where nothing else is asked


def run(
    parts: Parts,
    asked: Asked,
    rules: Mapping[str, LevelRule],
    state: State,
    kept: Checkpoint | None,
    every: int | None,
    progress: bool | None,
    threads: int,
    say: Callable[[str], None],
) -> State:
    """The state after the last row."""
    size = _batch_rows(parts, asked.columns, every if kept is not None else None)
    batches = batches_of(parts, size, state.rows)
    saved, saved_at = state.rows, time.monotonic()
    with counting(parts.rows, state.rows, progress) as advance, ThreadPoolExecutor(threads) as workers:
        try:
            for counted in _in_order(batches, asked, rules, state.seen, workers, threads):
                state = _after(state, counted)
                advance(counted.rows)
                if kept is not None and state.rows < parts.rows:
                    due = state.rows - saved >= every if every is not None else time.monotonic() - saved_at >= SECONDS
                    if due:
                        kept.save(state)
                        saved, saved_at = state.rows, time.monotonic()
        except BaseException as error:
            workers.shutdown(wait=True, cancel_futures=True)
            if kept is not None and state.rows and isinstance(error, KeyboardInterrupt):
                kept.save(state)
                say(f"{kept.path} holds {state.rows:,} of {parts.rows:,} rows: run the same again to go on")
            raise
    if kept is not None and state.rows > saved:
        kept.save(state)
    return state


def _in_order(
    batches: Iterator[Batch],
    asked: Asked,
    rules: Mapping[str, LevelRule],
    seen: Seen | None,
    workers: ThreadPoolExecutor,
    threads: int,
) -> Iterator[Counted]:
    """Batches counted by several threads, handed on in their order; the first rows say what the others must be."""
    while seen is None and (batch := next(batches, None)) is not None:
        counted = count_batch(batch, asked, rules, None)
        seen = counted.seen
        yield counted

    def start(batch: Batch) -> Future[Counted]:
        return workers.submit(_one_of_several if threads > 1 else count_batch, batch, asked, rules, seen)

    waiting = deque(map(start, islice(batches, threads + 1)))
    while waiting:
        counted = waiting.popleft().result()
        waiting.extend(map(start, islice(batches, 1)))
        yield counted


def _one_of_several(batch: Batch, asked: Asked, rules: Mapping[str, LevelRule], seen: Seen | None) -> Counted:
    """A batch, while others are counted too: its kernels need no threads of their own."""
    with kernels.alone():
        return count_batch(batch, asked, rules, seen)


def _after(state: State, counted: Counted) -> State:
    dropped = dict(state.dropped)
    for why, n in counted.dropped.items():
        dropped[why] = dropped.get(why, 0) + n
    summary = counted.summary if state.summary is None else state.summary
    if state.summary is not None and counted.summary is not None:
        summary = state.summary + counted.summary
    return State(state.rows + counted.rows, summary, dropped, state.seen or counted.seen)


def _batch_rows(parts: Parts, columns: Columns, every: int | None) -> int:
    """As many rows as have about so many scores; no more than lie between two checkpoints."""
    width = len(columns.prob)
    if width == 1 and (kind := parts.schema[columns.prob[0]]).is_nested():
        frame = spread_over(parts, columns.prob, 1, 1)
        lengths = frame[columns.prob[0]].drop_nulls()
        width = max(2, len(lengths[0]) if len(lengths) else 2) if kind.is_nested() else 1
    rows = max(1, min(ROWS, max(parts.rows * width // 8, ROWS // 4)) // width)
    return rows if every is None else min(rows, every)
