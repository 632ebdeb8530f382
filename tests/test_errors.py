"""Errors are values: they know the argument, what came in its place, the row or line, and what to do."""

from __future__ import annotations

import copy
import pickle
import re
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import believable
from believable import Predictions, errors
from believable.errors import BelievableError, Hint, InputError, OneOf, Row, Sentence, Wording
from believable.readers import read_predictions

SOURCE = Path(believable.__file__).parent


def refused(call, *arguments, **named):
    """The error that a call ends with."""
    with pytest.raises(InputError) as caught:
        call(*arguments, **named)
    return caught.value


def test_an_error_knows_what_it_is_about():
    """Argument, value, row and hint are there besides the sentence."""
    error = refused(Predictions, [0.2, 3.2], [0, 1])
    assert (error.argument, error.got, error.row, error.line) == ("predictions", 3.2, 1, None)
    assert error.hint == "these look like logits: pass Predictions(..., from_logits=True)"
    assert str(error) == f"predictions must lie in [0, 1], got 3.2 at row 1; {error.hint}"


def test_an_error_about_a_file_knows_the_line(tmp_path):
    """Rows count from 0 after the header, lines from 1; the hint is one for files."""
    path = tmp_path / "p.csv"
    path.write_text("p,y\n0.5,1\n3.2,0\n")
    error = refused(read_predictions, path)
    assert (error.argument, error.got, error.row, error.line) == ("predictions", 3.2, 1, 3)
    assert "at row 1 (line 3); these look like logits: " in str(error)
    assert error.hint.endswith(", or percent=True for percentages")


def test_a_plain_sentence_is_what_is_said():
    """Braces in it are no places to fill."""
    error = InputError("got {'a': 1} and {argument}")
    assert str(error) == "got {'a': 1} and {argument}"
    assert (error.argument, error.got, error.row, error.line, error.hint) == (None,) * 5
    assert str(error.sentence) == str(error)
    assert str(InputError()) == ""


def test_an_error_within_another_stays_a_value():
    """What says which file it is about keeps all that is known."""
    inner = InputError("{argument} is odd at {row}", argument="p", row=np.int64(4), hint=Hint.ROUNDING)
    outer = InputError("{file}: {error}", file="a.csv", error=inner)
    assert str(outer) == f"a.csv: {inner}"
    assert (outer.argument, outer.row, outer.hint) == ("p", 4, str(Hint.ROUNDING))


TEMPLATES = {
    "an argument": (Sentence("choose with {prob}"), "choose with prob", "choose with --prob"),
    "its value": (Sentence("not {notion=}", notion="binary"), "not notion='binary'", "not notion='binary'"),
    "a value that stands there": (Sentence("use {rel=2}"), "use rel=2", "use rel=2"),
    "a format": (Sentence("{n:,} rows", n=1234), "1,234 rows", "1,234 rows"),
    "quotation marks": (Sentence("got {got!r}", got="a"), "got 'a'", "got 'a'"),
    "a list": (Sentence("{found}", found=["a", Sentence("{prob}")]), "a, prob", "a, --prob"),
    "one of several": (Sentence("{prob=}", prob=OneOf("ab")), "prob='a' or 'b'", "--prob='a' or 'b'"),
    "a hint in its place": (Sentence("{hint}!", hint=Hint.ROUNDING), f"{Hint.ROUNDING}!", "clip!"),
    "a hint at the end": (Sentence("no", hint=Hint.ROUNDING), f"no; {Hint.ROUNDING}", "no; clip"),
    "no hint": (Sentence("no", hint=None), "no", "no"),
    "two rows": (Sentence("{row}, {other}", row=1, other=Row(2, 4)), "row 1, row 2 (line 4)", "row 1, row 2 (line 4)"),
    "a row of a file": (Sentence("at {row}", row=Row(1, file="b")), "at row 1 of b", "at row 1 of b"),
}


@pytest.mark.parametrize(("sentence", "python", "other"), TEMPLATES.values(), ids=TEMPLATES)
def test_templates(sentence, python, other):
    """A sentence is its text in Python, and is told in other words on request."""
    assert sentence == python
    assert sentence.told(Wording({"prob": "--prob"}, {Hint.ROUNDING: "clip"})) == other


def test_rows_and_hints_are_replaced_wherever_they_stand():
    """In sentences within a sentence too."""
    inner = Sentence("at {row}", row=3, hint=Hint.LOGITS)
    found = Sentence("{file}: {inner}", file="a", inner=inner).with_parts(
        lambda part: Row(part.number + 1) if isinstance(part, Row) else Hint.ROUNDING
    )
    assert found == f"a: at row 4; {Hint.ROUNDING}"


ERRORS = {
    "plain": InputError("a {b}"),
    "parts": InputError("{argument}, got {got!r} at {row}", argument="p", got="x", row=Row(1, 2), hint=Hint.LOGITS),
    "what cannot be pickled": InputError("{norm=} and {got!r} and {n:.2f}", norm=lambda: 1, got={1: print}, n=np.float64(2)),
    "within another": InputError("{file}: {error}", file="a", error=InputError("{argument} is odd", argument="p")),
    "of an import": errors.MissingDependencyError("{name} is needed", name="torch"),
}  # fmt: skip


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
def test_errors_are_copied_and_pickled(error):
    """Twice, as an error goes to another process and comes back."""
    for other in (
        copy.copy(error),
        copy.deepcopy(error),
        pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(error)))),
    ):
        assert type(other) is type(error)
        assert str(other) == str(error)
        assert (other.argument, other.row, other.line, other.hint) == (
            *(error.argument, error.row, error.line, error.hint),
        )


def _fail(rows):
    raise InputError("{argument} is odd at {row}", argument="p", row=rows, hint=Hint.ROUNDING)


def test_errors_travel_between_processes():
    """An error that a worker raised is the same value here."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        error = refused(pool.submit(_fail, 7).result)
    assert (str(error), error.argument, error.row) == (f"p is odd at row 7; {Hint.ROUNDING}", "p", 7)


def test_every_error_takes_parts():
    """All of them are made alike."""
    for kind in BelievableError.__subclasses__():
        assert str(kind("{argument} is odd", argument="p")) == "p is odd"
        assert kind("{argument} is odd", argument="p").argument == "p"


def test_what_looks_like_logits_is_said_once():
    """One sentence has one place in the source."""
    found = [path.name for path in SOURCE.rglob("*.py") for _ in re.findall("look like logits", path.read_text())]
    assert found == ["errors.py"]
