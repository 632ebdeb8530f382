"""Progress bars for slow operations (steps, files, rows), on the error stream if that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from believable import _check, _optional

T = TypeVar("T")


def _is_shown(asked: bool | None, worth_it: bool) -> bool:
    """Return whether to show a bar: as asked, or if it is worth it and the error stream is a terminal.

    Without rich, which draws it, there is none.
    """
    _check.flag(asked, "progress", or_none=True)
    return (worth_it and sys.stderr.isatty() if asked is None else asked) and _optional.is_installed("rich")


def tracked(steps: Sequence[T], what: str, shown: bool | None) -> Iterator[T]:
    """Yield the steps one by one, with a progress bar; by default it is shown if the error stream is a terminal."""
    if not _is_shown(shown, True):
        yield from steps
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(steps, what, total=len(steps), console=Console(stderr=True, force_terminal=shown), transient=True)


# --- large files: reading, and counting their rows --------------------------------------------------------------------


SHOWN_FROM_BYTES = 50_000_000  # smaller files are read too quickly to need a bar
SHOWN_FROM_ROWS = 10_000_000  # fewer rows are counted too quickly to need a bar


@contextmanager
def reading(name: str, size: int, shown: bool | None = None) -> Iterator[None]:
    """Show that a file is being read; by default if it is large and the error stream is a terminal."""
    if not _is_shown(shown, size >= SHOWN_FROM_BYTES):
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
    """Show a bar of rows, with their rate and the time left; yields a function to report how many more are done.

    By default it is shown if there are many rows and the error stream is a terminal.
    """
    if not _is_shown(shown, rows >= SHOWN_FROM_ROWS):
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
