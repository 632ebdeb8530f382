"""Helpers that all commands share: error messages, names of files, the console, notes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from believable.cli._wording import in_options
from believable.errors import BelievableError

if TYPE_CHECKING:
    from rich.console import Console

STANDARD_STREAM = Path("-")  # standard input, or output
GATE_FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130  # the convention of shells: 128 plus the number of the signal


def sentences(command: Callable[..., None]) -> Callable[..., None]:
    """Print errors as one sentence, without a traceback, and exit with 2; after Ctrl-C, exit with 130."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except BrokenPipeError:  # the reader of the output has stopped, as head does; click ends quietly
            raise
        except (BelievableError, OSError) as error:
            click.echo(f"Error: {said(error)}", err=True)
            raise SystemExit(BAD_INPUT) from None
        except KeyboardInterrupt:
            click.echo("Interrupted: nothing was left half-written.", err=True)
            raise SystemExit(INTERRUPTED) from None

    return run


def said(error: Exception) -> str:
    """Return the message of an error, in the words of the command line."""
    return in_options(error.sentence) if isinstance(error, BelievableError) else str(error)


def called(file: Path) -> str:
    """Return the name of a file in messages."""
    return "standard input" if file == STANDARD_STREAM else str(file)


def new_console(*, stderr: bool = False) -> Console:
    from rich.console import Console

    return Console(stderr=stderr)


def say(console: Console, text: str) -> None:
    """Print plain text: names are not interpreted as markup, and the terminal wraps the lines."""
    console.print(text, highlight=False, markup=False, soft_wrap=True)


# --- warnings of the library, as notes on the error stream ------------------------------------------------------------


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print each warning once, as a note, without the line of code that raised it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default", UserWarning)
        yield
    for text in dict.fromkeys(str(one.message) for one in caught):
        note(text)


def note(text: str) -> None:
    """Print a note on the error stream."""
    click.echo(f"Note: {text}", err=True)
