"""What every command shares: errors as sentences, names of files, the console, plain text."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from believable.errors import BelievableError

if TYPE_CHECKING:
    from rich.console import Console

PIPE = Path("-")  # standard input, or output
GATE_FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130  # as shells have it: 128, and 2 for the signal


def sentences(command: Callable[..., None]) -> Callable[..., None]:
    """Say what went wrong in a sentence, without a traceback, and exit with 2; with 130 after Ctrl-C."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except BrokenPipeError:  # whoever read the output has seen enough; click ends quietly
            raise
        except (BelievableError, OSError) as error:
            click.echo(f"Error: {in_options(str(error))}", err=True)
            raise SystemExit(BAD_INPUT) from None
        except KeyboardInterrupt:
            click.echo("Interrupted: nothing was left half-written.", err=True)
            raise SystemExit(INTERRUPTED) from None

    return run


# What the library says of its arguments, in the words of the command line.
_OPTIONS = (
    ("pass Predictions(..., from_logits=True)", "use --logits"),
    (
        "the arguments look swapped: the order is (predictions, actuals), scores first",
        "scores and labels look swapped: --prob names the scores, --label the outcomes",
    ),
    ("pass Predictions(..., pos_label=...)", "name the positive one with --pos-label"),
    ("say which is positive with pos_label", "say which is positive with --pos-label"),
    ("with prob and label", "with --prob and --label"),
    ("with prob or prob_prefix", "with --prob or --prob-prefix"),
    ("(prob) or the prefix of several (prob_prefix)", "(--prob) or the prefix of several (--prob-prefix)"),
    (" with label", " with --label"),
    ("take them with prob_prefix='p_calibrated_'", "take them with --prob-prefix p_calibrated_"),
    ("take it with prob='p_calibrated'", "take it with --prob p_calibrated"),
    (" with prob_prefix", " with --prob-prefix"),
    (" with prob", " with --prob"),
    ("pos_label=", "--pos-label "),
    ("pass Predictions(", "from Python, pass Predictions("),
    ("these look like percentages: divide by 100", "these look like percentages: use --percent"),
    ("percent=True", "--percent"),
    ("drop_missing=True", "--drop-missing"),
    (" with format", " with --format"),
    ("pass input='logits', or input='scores' for other numbers", "use --logits, or --scores raw for other numbers"),
    ("score='brier'", "--score brier"),
    ("takes input=", "takes "),
    ("groups names", "--group names"),
    ("count again with by=", "count again with --by"),
    ("of groups", "of --group"),
    ("cv=", "--folds "),
    ("pass missing='keep' to have", "use --missing keep to have"),
    ("choose another name, or pass overwrite=True", "choose another name with --to, or use --overwrite"),
)


# The same where a value follows.
_OPTIONS_WITH_VALUES = (
    (r"pass scores='(\w+)'", r"use --scores \1"),
    (r"\b(group|scores|normalise|filter)='([^']*)'", r"--\1 \2"),
    (r"\bmethod='([^']*)'", r"--map \1"),
    (r"\bgraded=True", "--graded"),
    (r"\brel=(-?\d+)", r"--rel \1"),
    (r"with confidence=", "with --prob"),
    (r"with correct=", "with --label"),
    (r"^(group|percent|normalise|filter)\b(?= (?:is|and) )", r"--\1"),
    (r"^correct\b(?= is )", "--label"),
    (r"^by(?= names )", "--by"),
    (r"normalise and filter are", "normalise and --filter are"),
    (r"\bactuals (must|have|are|differ|\(they hold|as 0 and 1)", r"labels \1"),
)


def in_options(sentence: str) -> str:
    """A sentence of the library in the words of the command line."""
    for argument, option in _OPTIONS:
        sentence = sentence.replace(argument, option)
    for pattern, option in _OPTIONS_WITH_VALUES:
        sentence = re.sub(pattern, option, sentence)
    return sentence


def called(file: Path) -> str:
    """What to call a file in a sentence."""
    return "standard input" if file == PIPE else str(file)


def new_console(*, stderr: bool = False) -> Console:
    from rich.console import Console

    return Console(stderr=stderr)


def say(console: Console, text: str) -> None:
    """Plain text: names are not markup, and a terminal wraps lines by itself."""
    console.print(text, highlight=False, markup=False, soft_wrap=True)


# --- warnings of the library, as sentences on the error stream --------------------------------------------------------


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
