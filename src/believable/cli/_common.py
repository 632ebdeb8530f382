"""What every command shares: errors as sentences, the console, plain text."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from believable.errors import BelievableError

if TYPE_CHECKING:
    from rich.console import Console

MOST_BINS = 1000
GATE_FAILED = 1
BAD_INPUT = 2


def sentences(command: Callable[..., None]) -> Callable[..., None]:
    """Say what went wrong in a sentence, without a traceback, and exit with 2."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except (BelievableError, OSError) as error:
            click.echo(f"Error: {_in_options(str(error))}", err=True)
            raise SystemExit(BAD_INPUT) from None

    return run


# What the library says of its arguments, in the words of the command line.
_OPTIONS = (
    ("pass Predictions(..., from_logits=True)", "use --logits"),
    ("pass Predictions(..., pos_label=...)", "name the positive one with --pos-label"),
    ("say which is positive with pos_label", "say which is positive with --pos-label"),
    ("with prob or prob_prefix", "with --prob or --prob-prefix"),
    ("(prob) or the prefix of several (prob_prefix)", "(--prob) or the prefix of several (--prob-prefix)"),
    (" with label", " with --label"),
    (" with prob", " with --prob"),
    ("pos_label=", "--pos-label "),
    ("pass Predictions(", "from Python, pass Predictions("),
)


def _in_options(sentence: str) -> str:
    for argument, option in _OPTIONS:
        sentence = sentence.replace(argument, option)
    return sentence


def new_console() -> Console:
    from rich.console import Console

    return Console()


def say(console: Console, text: str) -> None:
    """Plain text: names are not markup, and a terminal wraps lines by itself."""
    console.print(text, highlight=False, markup=False, soft_wrap=True)
