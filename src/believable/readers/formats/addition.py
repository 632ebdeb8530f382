"""Columns that are added to a file, in any format: which are read, how the new ones are computed, where they go."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

import numpy as np

from believable import _check
from believable._types import Array, Float64s, Floats
from believable.errors import Hint, InputError, Row, Sentence
from believable.readers import cells
from believable.readers.formats.base import Format

if TYPE_CHECKING:
    import polars

Missing = Literal["error", "keep"]
Place = Callable[[int], Row]  # from the number of a row in a batch to the row in the file
Progress = Callable[[int, int], None]
ROWS_PER_BATCH = 50_000


@dataclass(frozen=True, slots=True)
class Contents:
    """The columns of a file.

    Attributes
    ----------
    names : sequence of str
        The names of the columns.
    arrays : dict of str to tuple of str
        The columns of each array, in a file of arrays; otherwise empty.
    later : sequence of str
        Further columns, whose cells are missing in the first row; segments may be among them.
    """

    names: Sequence[str]
    arrays: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    later: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """Which columns are read, and which are computed from them.

    Attributes
    ----------
    take : tuple of str
        Columns to read.
    make : tuple of str
        Columns to add. In a file of arrays, one array is added, with as many columns as are read.
    percent : bool or None
        True: all numbers are percentages. False: those with a percent sign are. None: percent signs are an error.
    names, quantities : tuple of str
        Columns of segments to read besides: those whose values are names, and those that hold numbers. A cell of them
        may be missing.
    """

    take: tuple[str, ...]
    make: tuple[str, ...]
    percent: bool | None = False
    names: tuple[str, ...] = ()
    quantities: tuple[str, ...] = ()

    @property
    def segments(self) -> tuple[str, ...]:
        """The columns of segments."""
        return (*self.quantities, *self.names)

    @property
    def read(self) -> tuple[str, ...]:
        """All columns that are read, without duplicates."""
        return tuple(dict.fromkeys((*self.take, *self.segments)))


Segments = Mapping[str, Array]  # columns by name: numbers, or names, which are text in a file without types


@dataclass(frozen=True, slots=True)
class Opened:
    """The file that gets more columns, opened; its bytes are read once.

    Attributes
    ----------
    stream : BufferedReader
        The bytes, decompressed.
    path : Path or None
        The path; None for a pipe.
    """

    stream: io.BufferedReader
    path: Path | None

    @property
    def size(self) -> int:
        """The size of the file in bytes; 0 if it is not known."""
        return 0 if self.path is None else self.path.stat().st_size

    def content(self) -> Path | bytes:
        """Return the file itself if it is not compressed, else all of its bytes."""
        plain = self.path is not None and isinstance(self.stream.raw, io.FileIO)
        return self.path if plain and self.path is not None else self.stream.read()


@dataclass(frozen=True, slots=True)
class Target:
    """Where the new file is written, in which format, and whether it is compressed with gzip."""

    where: Path | IO[bytes]
    format: Format
    compressed: bool


@dataclass(frozen=True, slots=True)
class Addition:
    """Columns of a file that are computed from others.

    Attributes
    ----------
    source : str
        The name of the file in messages.
    choose : callable
        Takes the `Contents` of the file and returns the `Plan`.
    compute : callable
        Takes numbers of shape (n,) or (n, k) and returns the new ones. If the plan names columns of segments, it takes
        them too, by name.
    overwrite : bool
        Whether existing columns may be replaced.
    missing : {"error", "keep"}
        Whether a missing number is an error, or leaves the result empty.
    batch_rows : int
        Rows per batch of text; the result does not depend on it.
    progress : callable or None
        Called now and then with how much is done and the total (0 if it is not known).
    """

    source: str
    choose: Callable[[Contents], Plan]
    compute: Callable[..., Float64s]
    overwrite: bool = False
    missing: Missing = "error"
    batch_rows: int = ROWS_PER_BATCH
    progress: Progress | None = None

    def plan(self, contents: Contents) -> Plan:
        """Choose columns of the file; raise if a new name exists already, or a name occurs twice."""
        try:
            plan = self.choose(contents)
        except InputError as error:
            raise self.error(error.sentence) from error
        names = list(contents.arrays) or list(contents.names)
        for name in plan.read:
            if names.count(name) > 1:
                raise self.error(f"there are several columns called {name!r}: rename them")
        for name in plan.make:
            if name in names and not self.overwrite:
                raise self.clash(name)
            if names.count(name) > 1:
                raise self.error(f"there are several columns called {name!r}: choose another name")
            if name in plan.read:
                what = "the scores" if name in plan.take else "segments"
                raise self.error(f"column {name!r} holds {what}, so it cannot be overwritten: choose another name")
        return plan

    def error(self, sentence: str) -> InputError:
        """Return an error whose message begins with the name of the file."""
        return InputError("{file}: {sentence}", file=self.source, sentence=sentence)

    @contextmanager
    def locating(self, place: Place) -> Iterator[None]:
        """Reword errors about a row of a batch: they name the file, and the row in it."""
        try:
            yield
        except InputError as error:
            raise self.error(_located(error.sentence, place)) from error

    def clash(self, name: str, where: str = "") -> InputError:
        """Return the error for a column that exists already."""
        there = "there is a column {name!r} already{where}"
        return self.error(Sentence(there, name=name, where=where, hint=Hint.RENAME_OR_OVERWRITE))

    def numbers(self, frame: polars.DataFrame, plan: Plan, first: int = 0) -> Floats:
        """Return the columns to read as a matrix; errors name the row, where `first` is the number of the first."""
        with self.locating(partial(row_from, first)):
            read = cells.numbers if plan.percent is None else partial(cells.scores, percent=plan.percent)
            columns = [read(frame[name]) for name in plan.take]
            return _check.numeric(np.column_stack([cells.array(column) for column in columns]), "scores")

    def segments(self, frame: polars.DataFrame, plan: Plan, first: int = 0) -> dict[str, Array]:
        """Return the columns of segments, in the form in which `load` returns them."""
        with self.locating(partial(row_from, first)):
            found = {name: cells.array(cells.numbers(frame[name])) for name in plan.quantities}
            return found | {name: cells.array_of_names(cells.names(frame[name])) for name in plan.names}

    def made(self, numbers: Floats, plan: Plan, place: Place, segments: Segments) -> Float64s:
        """Compute the new columns, of shape (n, m), for a batch of shape (n, k); NaN where a number is missing."""
        absent = np.isnan(numbers)
        rows = np.flatnonzero(~absent.any(axis=1))
        if len(rows) < len(numbers) and self.missing == "error":
            row, column = np.argwhere(absent)[0].tolist()
            raise self.error(
                Sentence(
                    "column {column!r} has no number at {row}",
                    column=plan.take[column],
                    row=place(row),
                    hint=Hint.LEAVE_EMPTY,
                )
            )
        out = np.full((len(numbers), len(plan.make)), np.nan)
        if not len(rows):
            return out
        present = numbers
        if len(rows) < len(numbers):
            present, segments = numbers[rows], {name: column[rows] for name, column in segments.items()}
        with self.locating(lambda row: place(int(rows[row]))):
            for column, name in enumerate(plan.take):
                _check.finite(present[:, column], f"column {name!r}", None)
            columns = (segments,) if plan.segments else ()
            computed = self.compute(present[:, 0] if len(plan.take) == 1 else present, *columns)
        out[rows] = computed.reshape(len(rows), len(plan.make))
        return out


def row_from(first: int, row: int) -> Row:
    """Return a row of a batch with its number in the file, where `first` is the number of the batch's first row."""
    return Row(first + row)


def _located(sentence: Sentence, place: Place) -> Sentence:
    """Reword a message about a row of a batch, with its row in the file."""
    return sentence.with_parts(lambda part: place(part.number) if isinstance(part, Row) else part)
