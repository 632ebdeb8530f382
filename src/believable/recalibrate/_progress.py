"""A progress bar for what takes longer than a moment, on terminals only."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def tracked(steps: Sequence[T], what: str, shown: bool | None) -> Iterator[T]:
    """The steps one by one; None shows a bar where the error stream is a terminal."""
    if not (sys.stderr.isatty() if shown is None else shown):
        yield from steps
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(steps, what, total=len(steps), console=Console(stderr=True, force_terminal=shown), transient=True)
