"""Progress of what takes longer than a moment, on the error stream where that is a terminal: steps, files, rows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def tracked(steps: Sequence[T], what: str, shown: bool | None) -> Iterator[T]:
    """Yield the steps one by one behind a bar; None shows it where the error stream is a terminal."""
    if not (sys.stderr.isatty() if shown is None else shown):
        yield from steps
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(steps, what, total=len(steps), console=Console(stderr=True, force_terminal=shown), transient=True)


# --- large files: that one is being read, and how many of its rows are counted ----------------------------------------


SHOWN_FROM_BYTES = 50_000_000  # smaller files are read in a moment
SHOWN_FROM_ROWS = 10_000_000  # fewer are counted in a moment


@contextmanager
def reading(name: str, size: int, shown: bool | None = None) -> Iterator[None]:
    """Show that a file is being read; None does so where it is large and the error stream is a terminal."""
    if not (size >= SHOWN_FROM_BYTES and sys.stderr.isatty() if shown is None else shown):
        yield
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    what = f"Reading {escape(Path(name).name)} ({size / 1e6:,.0f} MB)"
    console = Console(stderr=True, force_terminal=shown)
    with Progress(
        TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=console, transient=True
    ) as bar:
        bar.add_task(what, total=None)
        yield


@contextmanager
def counting(rows: int, done: int, shown: bool | None = None) -> Iterator[Callable[[int], None]]:
    """A bar of rows, with their rate and the time left; what is yielded is told how many more are done.

    None shows it where there are many rows and the error stream is a terminal.
    """
    if not (rows >= SHOWN_FROM_ROWS and sys.stderr.isatty() if shown is None else shown):
        yield lambda more: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rows(ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            rate = "" if speed is None else f", {speed / 1e6:.1f} million/s"
            return Text(f"{task.completed / 1e6:,.0f} of {rows / 1e6:,.0f} million rows{rate}", no_wrap=True)

    console = Console(stderr=True, force_terminal=shown)
    columns = (TextColumn("Counting"), BarColumn(18), Rows(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=rows, completed=done)
        yield lambda more: bar.advance(task, more)
