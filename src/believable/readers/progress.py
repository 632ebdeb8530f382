"""A sign of life while a large file is read, on terminals only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from believable.readers.source import Source

LARGE = 50_000_000  # bytes; smaller files are read in a moment


@contextmanager
def reading(source: Source, shown: bool | None = None) -> Iterator[None]:
    """Show that a file is being read; None does so where it is large and the error stream is a terminal."""
    if not (source.size >= LARGE and sys.stderr.isatty() if shown is None else shown):
        yield
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    what = f"Reading {escape(Path(source.name).name)} ({source.size / 1e6:,.0f} MB)"
    console = Console(stderr=True, force_terminal=shown)
    with Progress(
        TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=console, transient=True
    ) as bar:
        bar.add_task(what, total=None)
        yield
