"""Exceptions and warnings, and the messages they carry.

Every exception of this package is a `BelievableError`. Its message is a `Sentence`: a template, and the arguments, rows
and hints that it mentions as values. `str(error)` uses the names of Python arguments; the command line fills in the
names of options instead (`believable.cli._wording`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from numbers import Integral
from typing import Any, NamedTuple

__all__ = [
    "BelievableError",
    "ClippedWarning",
    "CoarseCellsWarning",
    "InputError",
    "LimitWarning",
    "MergeError",
    "MissingDependencyError",
    "SchemaError",
    "SmallSampleWarning",
    "UndefinedError",
]


# --- rows, choices and hints that messages mention --------------------------------------------------------------------


class Row(NamedTuple):
    """A row of the input, counted from 0; `line` and `file` say where it is in a file.

    >>> print(Row(17), Row(17, line=19), sep=", ")
    row 17, row 17 (line 19)
    """

    number: int
    line: int | None = None
    file: str = ""

    def __str__(self) -> str:
        line = "" if self.line is None else f" (line {self.line})"
        return f"row {self.number}{line}{f' of {self.file}' if self.file else ''}"


class Limit(NamedTuple):
    """A limit on a metric; as text, the keyword argument of `believable.testing.assert_calibrated`.

    Attributes
    ----------
    metric : str
        The alias of the metric.
    end : {"low", "high", "value", ""}
        What is compared with the limit: an end of the interval, the value, or the worse end ("").
    limit : float
    above : bool
        Whether numbers above the limit are too many, or those below it too few.

    >>> print(Limit("ece", "value", 0.1, True))
    ece_value=0.1
    """

    metric: str
    end: str
    limit: float
    above: bool

    def __str__(self) -> str:
        return f"{self.metric}{'_' if self.end else ''}{self.end}={self.limit:.15g}"


class OneOf(tuple[Any, ...]):
    """The values that an argument accepts.

    >>> OneOf(["logits", "scores"])
    'logits' or 'scores'
    """

    def __repr__(self) -> str:
        return " or ".join(map(repr, self))


LOOK_LIKE_LOGITS = "these look like logits"
LOOK_LIKE_PERCENTAGES = "these look like percentages"
LOOK_LIKE_CLASSES = "these look like predicted classes, not probabilities"
FROM_LOGITS = "pass {Predictions}(..., from_logits=True)"


class Hint(Enum):
    """What to do about an error, for users of the Python functions; templates like those of a `Sentence`.

    Users of files and of the command line need other advice, so some hints have other texts there.
    """

    # scores
    LOGITS = f"{LOOK_LIKE_LOGITS}: {FROM_LOGITS}"
    LOGITS_IN_FILE = f"{LOOK_LIKE_LOGITS}: {FROM_LOGITS}, or {{percent=True}} for percentages"
    LOGITS_IN_FRAME = f"{LOOK_LIKE_LOGITS}: pass from_logits=True"
    LOGITS_TO_CALIBRATE = f"{LOOK_LIKE_LOGITS}: pass input='logits', or input='scores' for other numbers"
    LOGITS_TO_FIT = f"{LOOK_LIKE_LOGITS}: create the recalibrator with input='logits'"
    LOGITS_TO_APPLY = f"{LOOK_LIKE_LOGITS}, but the calibration map takes probabilities"
    LOGITS_TO_DECIDE = f"{LOOK_LIKE_LOGITS}: take the sigmoid or softmax first"
    PERCENTAGES = f"{LOOK_LIKE_PERCENTAGES}: divide by 100"
    PERCENTAGES_IN_FILE = f"{LOOK_LIKE_PERCENTAGES}: pass {{percent=True}}; for logits, {FROM_LOGITS}"
    READ_AS_PERCENTAGES = "if all of them are percentages, use {percent=True}"
    PREDICTED_CLASSES = "pass predict_proba(X)[:, 1] in place of predict(X)"
    PREDICTED_CLASSES_OF_ROWS = "pass predict_proba(X) in place of predict(X)"
    ROUNDING = "if this is a rounding error, clip them to [0, 1] first"
    SWAPPED = "the arguments look swapped: the order is (predictions, actuals), scores first"
    INDEPENDENT_COLUMNS = "pass {Predictions}(..., multilabel=True) if the columns are independent"
    ONE_COLUMN_PER_CLASS = "pass one column per class"
    TWO_COLUMNS = "for max(p, 1 - p) pass the two columns numpy.column_stack([1 - p, p])"
    # labels
    NAME_THE_POSITIVE = "pass {Predictions}(..., pos_label=...) with the label that counts as 1"
    SHARES_OF_ANNOTATORS = "pass {Predictions}(..., soft_labels=True) if they are shares of annotators"
    NAME_THE_CLASSES = "pass {Predictions}(..., classes=[...]) with the labels in the order of the columns"
    CLASSES_OF_COLUMNS = "pass classes=[...] in the order of the columns"
    CLASSES_OF_TEXT = "name them, in order, with {classes}"
    NAME_THE_NEGATIVE = (
        "name the one that counts as 0 with {neg_label} and drop the rows of the others, or pass actuals == pos_label "
        "if all others count as 0"
    )
    NAME_THE_NEGATIVE_IN_FILE = (
        "name the one that counts as 0 with {neg_label} and drop the rows of the others, or write labels as 0 and 1 if "
        "all others count as 0"
    )
    NO_POSITIVES = "name one of these, or, if there are truly no positives, pass {actuals} as 0 and 1"
    # rows
    DROP_OR_REPAIR = "drop or repair such rows first"
    DROP_OR_IGNORE = "drop such rows, or pass {Predictions}(..., ignore_label=float('nan')) to drop and count them"
    ALIGN_OR_FORGET_INDEX = (
        "bring the rows into the same order with .loc[...], or, if they already are, pass .reset_index(drop=True) or "
        ".to_numpy()"
    )
    REPAIR_OR_LEAVE_OUT = "fill in the value, or leave such rows out with {drop_missing=True}"
    # columns and files
    COUNT_BY = "count again with by="
    CHOOSE_CONFIDENCE = "confidence="
    CHOOSE_CORRECT = "correct="
    RENAME_OR_OVERWRITE = "choose another name, or pass overwrite=True"
    LEAVE_EMPTY = "fill it in, drop the row, or pass missing='keep' to leave the result empty as well"
    LOGITS_OR_RAW = (
        "pass scores='logits' if they are log-odds; for any other scores, pass scores='raw', which fits a calibration "
        "map first"
    )

    def __str__(self) -> str:
        return told(self.value, {}, PYTHON)


# --- sentences --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wording:
    """Names of arguments and texts of hints for messages; by default those of the Python functions.

    Attributes
    ----------
    arguments : mapping of str to str
        Names of arguments that differ from their Python names.
    hints : mapping of Hint to str
        Templates that replace those of hints.
    """

    arguments: Mapping[str, str] = field(default_factory=dict)
    hints: Mapping[Hint, str] = field(default_factory=dict)

    def argument(self, name: str) -> str:
        """Return the name of an argument."""
        return self.arguments.get(name, name)

    def setting(self, name: str, value: Any) -> str:
        """Return an argument with its value, as the user would write it."""
        return f"{self.argument(name)}={value!r}"

    def hint(self, hint: Hint) -> str:
        """Return the text of a hint."""
        return told(self.hints.get(hint, hint.value), {}, self)

    def limit(self, limit: Limit) -> str:
        """Return a limit on a metric, as the user would write it."""
        return str(limit)


PYTHON = Wording()
REFERENCE = re.compile(r"\{(\w+)(?:=([^{}]*))?(!r)?(?::([^{}]*))?\}")


class Sentence(str):
    """A message that keeps the arguments, rows and hints it mentions as values.

    In the template, `{name}` stands for the part of that name, or else for the argument of that name; `{name=}` for the
    argument with the part as its value, and `{name=True}` for the argument with the value given. `!r` and a format may
    follow, as in an f-string; a list is joined with commas. The part `argument` is the name of an argument, `row` is a
    `Row` or its number, and a `hint` is appended if the template has no place for it.

    Examples
    --------
    >>> said = Sentence("{argument} must be below 1, got {got:.1f} at {row}", argument="prob", got=3.2, row=17)
    >>> said
    'prob must be below 1, got 3.2 at row 17'
    >>> said.told(Wording({"prob": "--prob"}))
    '--prob must be below 1, got 3.2 at row 17'
    """

    template: str
    parts: Mapping[str, Any]

    def __new__(cls, template: str, /, **parts: Any) -> Sentence:
        parts = {name: _part(name, value) for name, value in parts.items()}
        made = super().__new__(cls, told(template, parts, PYTHON))
        made.template, made.parts = template, parts
        return made

    def told(self, wording: Wording) -> str:
        """Return the message in another wording."""
        return told(self.template, self.parts, wording)

    def with_parts(self, change: Callable[[Any], Any]) -> Sentence:
        """Return the message with each row and hint replaced by `change` of it, including those of inner messages."""
        parts = dict(self.parts)
        for name, value in parts.items():
            if isinstance(value, Sentence):
                parts[name] = value.with_parts(change)
            elif isinstance(value, (Row, Hint)):
                parts[name] = change(value)
        return Sentence(self.template, **parts)

    def part(self, name: str) -> Any:
        """Return the part of this name, from the message or an inner message; None if there is none."""
        if name in self.parts:
            return self.parts[name]
        inner = (value.part(name) for value in self.parts.values() if isinstance(value, Sentence))
        return next((found for found in inner if found is not None), None)

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (self.template, {name: _portable(self, name) for name in self.parts})


def told(template: str, parts: Mapping[str, Any], wording: Wording) -> str:
    """Fill in a template: see `Sentence`."""

    def word(found: re.Match[str]) -> str:
        name, setting, as_repr, form = found.groups()
        if setting is not None:
            return wording.setting(name, ast.literal_eval(setting) if setting else parts[name])
        if name not in parts:
            return wording.argument(name)
        value = parts[name]
        if name == "argument":
            return wording.argument(value)
        return repr(value) if as_repr else format(value, form) if form else _in_words(value, wording)

    if parts.get("hint") is not None and "{hint}" not in template:
        template += "; {hint}"
    return REFERENCE.sub(word, template)


def _in_words(value: Any, wording: Wording) -> str:
    if isinstance(value, Hint):
        return wording.hint(value)
    if isinstance(value, Limit):
        return wording.limit(value)
    if isinstance(value, Sentence):
        return value.told(wording)
    return ", ".join(_in_words(one, wording) for one in value) if isinstance(value, list) else str(value)


def _part(name: str, value: Any) -> Any:
    if isinstance(value, BelievableError):
        return value.sentence
    return Row(int(value)) if name == "row" and isinstance(value, Integral) else value


def _remade(template: str, parts: dict[str, Any]) -> Sentence:
    return Sentence(template, **parts)


class _Shown(str):
    """The text of a value that could not be sent to another process."""

    def __repr__(self) -> str:
        return str(self)

    def __format__(self, form: str) -> str:
        return str(self)


def _portable(sentence: Sentence, name: str) -> Any:
    """Return a part that any process can unpickle: for values that are not plain, the text that the message shows."""
    value = sentence.parts[name]
    if value is None or type(value) in (str, int, float, bool, Row, Limit, Hint, Sentence, _Shown):
        return value
    shown = [found[0] for found in REFERENCE.finditer(sentence.template) if found[1] == name]
    return _Shown(told(shown[0].replace("=", "!r"), {name: value}, PYTHON) if shown else str(value))


# --- errors -----------------------------------------------------------------------------------------------------------


class BelievableError(Exception):
    """Base class of all errors that this package raises on purpose.

    A text without parts is the message itself. With parts, it is the template of a `Sentence`; a template without parts
    that refers to arguments has to be made a `Sentence` first.

    Examples
    --------
    >>> error = InputError("{argument} must be a number, got {got!r} at {row}", argument="power", got="a", row=3)
    >>> str(error), error.argument, error.got, error.row
    ("power must be a number, got 'a' at row 3", 'power', 'a', 3)
    """

    def __init__(self, sentence: str = "", /, **parts: Any) -> None:
        super().__init__(Sentence(sentence, **parts) if parts else sentence)

    @property
    def sentence(self) -> Sentence:
        """The message as a `Sentence`."""
        said = self.args[0] if self.args else ""
        return said if isinstance(said, Sentence) else Sentence("{text}", text=str(said))

    @property
    def argument(self) -> str | None:
        """Name of the invalid argument, if there is one."""
        return self.sentence.part("argument")  # type: ignore[no-any-return]

    @property
    def got(self) -> Any:
        """The invalid value, if it is known."""
        return self.sentence.part("got")

    @property
    def row(self) -> int | None:
        """Number of the row, from 0, if there is one."""
        found = self.sentence.part("row")
        return found.number if isinstance(found, Row) else None

    @property
    def line(self) -> int | None:
        """Number of the line in the file, from 1, if it is known."""
        found = self.sentence.part("row")
        return found.line if isinstance(found, Row) else self.sentence.part("line")

    @property
    def hint(self) -> str | None:
        """Advice on what to do, if there is any."""
        found = self.sentence.part("hint")
        return None if found is None else str(found)


class InputError(BelievableError, ValueError):
    """The input is invalid; the message says what is wrong, where, and what to do."""


class UndefinedError(BelievableError, ValueError):
    """The input is valid, but the result is undefined for it, like the AUC if only one class occurs."""


class MergeError(BelievableError, ValueError):
    """Two statistics count different things and cannot be added."""


class SchemaError(BelievableError, ValueError):
    """A saved object is damaged, of another kind, or from a newer version."""


class MissingDependencyError(BelievableError, ImportError):
    """An optional package is missing; the message says which one and how to install it."""


class ClippedWarning(UserWarning):
    """Scores of 0 or 1, or nearly, were clipped, because their logits are infinite."""


class SmallSampleWarning(UserWarning):
    """There are too few rows for the method to work reliably."""


class LimitWarning(UserWarning):
    """The data do not determine the calibration map (separated classes, for example); a documented limit is used."""


class CoarseCellsWarning(UserWarning):
    """Scores that this metric must tell apart share a cell; count on the logit-spaced grid as well."""
