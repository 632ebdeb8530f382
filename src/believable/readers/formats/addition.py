"""Columns that are added to a file: which are read, which are made of them, and where to write, whatever the format."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

import numpy as np

from believable import _check
from believable._types import Float64s, Floats
from believable.errors import Hint, InputError, Row, Sentence
from believable.readers import cells
from believable.readers.formats.base import Format

if TYPE_CHECKING:
    import polars

Missing = Literal["error", "keep"]
Place = Callable[[int], Row]  # from a row of a batch to that of the file
Progress = Callable[[int, int], None]
ROWS_PER_BATCH = 50_000


@dataclass(frozen=True, slots=True)
class Contents:
    """What a file has to choose from.

    Attributes
    ----------
    names : sequence of str
        Its columns.
    arrays : dict of str to tuple of str
        The columns of each array, in a file that holds arrays; else empty.
    """

    names: Sequence[str]
    arrays: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """Which columns are read, and which are made of them.

    Attributes
    ----------
    take, make : tuple of str
        In a file that holds arrays, one array is made, of as many columns as are taken.
    percent : bool or None
        All numbers are percentages; only those with a percent sign; None: none, and a sign is an error.
    """

    take: tuple[str, ...]
    make: tuple[str, ...]
    percent: bool | None = False


@dataclass(frozen=True, slots=True)
class Opened:
    """The bytes of the file that gets more columns, decompressed; they are read once.

    Attributes
    ----------
    stream : BufferedReader
    path : Path or None
        The file, where it is one and not a pipe.
    """

    stream: io.BufferedReader
    path: Path | None

    @property
    def size(self) -> int:
        """The size of the file in bytes; 0 where it is not known."""
        return 0 if self.path is None else self.path.stat().st_size

    def content(self) -> Path | bytes:
        """Return the file itself if it is not compressed, else all of its bytes."""
        plain = self.path is not None and isinstance(self.stream.raw, io.FileIO)
        return self.path if plain and self.path is not None else self.stream.read()


@dataclass(frozen=True, slots=True)
class Target:
    """Where the wider file is written, as what, and whether it is compressed with gzip."""

    where: Path | IO[bytes]
    format: Format
    compressed: bool


@dataclass(frozen=True, slots=True)
class Addition:
    """Columns of one file made of others.

    Attributes
    ----------
    source : str
        What to call the file.
    choose : callable
        From the `Contents` of the file to the `Plan`.
    compute : callable
        From numbers, of shape (n,) or (n, k), to those that are made.
    overwrite : bool
        Columns that are there already may be replaced.
    missing : {"error", "keep"}
        What a number that is not there makes: an error, or nothing.
    batch_rows : int
        Rows of a batch of text; what is written does not depend on it.
    progress : callable or None
        Told now and then how much is done, and of how much (0: not known).
    """

    source: str
    choose: Callable[[Contents], Plan]
    compute: Callable[[Floats], Float64s]
    overwrite: bool = False
    missing: Missing = "error"
    batch_rows: int = ROWS_PER_BATCH
    progress: Progress | None = None

    def plan(self, contents: Contents) -> Plan:
        """Choose from what the file holds, and refuse names that are there already or twice."""
        try:
            plan = self.choose(contents)
        except InputError as error:
            raise self.error(error.sentence) from error
        names = list(contents.arrays) or list(contents.names)
        for name in plan.take:
            if names.count(name) > 1:
                raise self.error(f"there are several columns called {name!r}: rename them")
        for name in plan.make:
            if name in names and not self.overwrite:
                raise self.clash(name)
            if names.count(name) > 1:
                raise self.error(f"there are several columns called {name!r}: choose another name")
            if name in plan.take:
                raise self.error(f"the column {name!r} is read, so it cannot be written too: choose another name")
        return plan

    def error(self, sentence: str) -> InputError:
        """Return an error with a sentence about this file."""
        return InputError("{file}: {sentence}", file=self.source, sentence=sentence)

    def clash(self, name: str, where: str = "") -> InputError:
        """Return the error about a column that is there already."""
        there = "there is a column {name!r} already{where}"
        return self.error(Sentence(there, name=name, where=where, hint=Hint.RENAME_OR_OVERWRITE))

    def numbers(self, frame: polars.DataFrame, plan: Plan, first: int = 0) -> Floats:
        """Read the columns to take as a matrix; an error names the row, where `first` is the number of the first."""
        try:
            read = cells.numbers if plan.percent is None else partial(cells.scores, percent=plan.percent)
            columns = [read(frame[name]) for name in plan.take]
            return _check.numeric(np.column_stack([cells.array(column) for column in columns]), "scores")
        except InputError as error:
            raise self.error(_located(error.sentence, lambda row: row_from(first, row))) from error

    def made(self, numbers: Floats, plan: Plan, place: Place) -> Float64s:
        """Compute what is made of a batch of shape (n, k): (n, m), NaN in rows whose numbers are missing."""
        absent = np.isnan(numbers)
        rows = np.flatnonzero(~absent.any(axis=1))
        if len(rows) < len(numbers) and self.missing == "error":
            row, column = np.argwhere(absent)[0].tolist()
            raise self.error(
                Sentence(
                    "column {column!r} holds no number at {row}",
                    column=plan.take[column],
                    row=place(row),
                    hint=Hint.LEAVE_EMPTY,
                )
            )
        out = np.full((len(numbers), len(plan.make)), np.nan)
        if not len(rows):
            return out
        present = numbers if len(rows) == len(numbers) else numbers[rows]
        try:
            for column, name in enumerate(plan.take):
                _check.finite(present[:, column], f"column {name!r}", None)
            computed = self.compute(present[:, 0] if len(plan.take) == 1 else present)
        except InputError as error:
            raise self.error(_located(error.sentence, lambda row: place(int(rows[row])))) from error
        out[rows] = computed.reshape(len(rows), len(plan.make))
        return out


def row_from(first: int, row: int) -> Row:
    """Return a row of a batch by its number in the file, where `first` is that of the batch's first."""
    return Row(first + row)


def _located(sentence: Sentence, place: Place) -> Sentence:
    """A sentence about a row of a batch, told of the file."""
    return sentence.with_parts(lambda part: place(part.number) if isinstance(part, Row) else part)
