"""Warnings of the library, as sentences on the error stream."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import click


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Collect warnings and say each of them once, without the line of code that it came from."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default", UserWarning)
        yield
    for text in dict.fromkeys(str(one.message) for one in caught):
        note(text)


def note(text: str) -> None:
    """One sentence that is no result."""
    click.echo(f"Note: {text}", err=True)
