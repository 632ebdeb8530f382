"""Formats whose rows are text: a row that gets more cells keeps the very text it was written as.

A batch of rows is a few long lists, not an object for each row: millions of small objects keep the garbage collector
busy.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, final

import numpy as np

from believable.errors import Hint, InputError, Row, Sentence
from believable.readers.cells import LIKE_THOUSANDS, NULLS
from believable.readers.formats.addition import Addition, Contents, Opened, Place, Plan, Progress, Target
from believable.readers.formats.base import BOM, HEAD_BYTES, Format

BYTE_ORDER_MARK = "\ufeff"
BATCH_CHARACTERS = 1 << 25  # a batch of long rows ends here
LINES_BETWEEN_REPORTS = 20_000  # from one sign of progress to the next
LONGEST_CELL = 1 << 26  # a quotation mark that is never closed would swallow the file
MISSING_CELLS = frozenset(NULLS)
THOUSANDS_CELL = re.compile(LIKE_THOUSANDS)
NUMBER_CELL = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|[-+]?inf(inity)?", re.ASCII | re.IGNORECASE)


class TextFormat(Format):
    """A format of UTF-8 text, one row after the other.

    A derived class says how its rows are read, and how one is written with more cells (`rows`); batches, numbers,
    line numbers in errors, compression and progress are the same for all.
    """

    @final
    def refuse(self, name: str, head: bytes) -> None:
        if head.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise InputError(f"{name} is UTF-16 text: save it as UTF-8")
        if b"\0" in head:
            raise InputError(f"{name} is not a text file, so not {self.name}")
        self._refuse_text(name, head.removeprefix(BOM).lstrip())

    def _refuse_text(self, name: str, text: bytes) -> None:
        """Raise where text that begins so cannot be of this format."""

    @abstractmethod
    def rows(self, source: str, lines: Iterator[str], target: Format) -> TextRows:
        """Return the rows of a file that is called `source`, to be written as `target`."""

    @final
    def add_columns(self, addition: Addition, opened: Opened, target: Target) -> int:
        with _text(opened.stream) as text, _text_writer(target) as write, _long_cells():
            lines = _counted(text, opened.size, addition.progress)
            return _write_wider(addition, self.rows(addition.source, lines, target.format), write)


def first_line(head: bytes) -> bytes:
    """Return the first line that is not blank, without the mark of UTF-8."""
    return head[:HEAD_BYTES].removeprefix(BOM).lstrip().partition(b"\n")[0]


# --- rows -------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class TextBatch:
    """Some rows, one after the other.

    Attributes
    ----------
    columns : list of list
        The cells that were asked for, column by column: text, or a number from JSON.
    texts : list of str
        All of each row, with the end of its line.
    lines : list of int
        Where each row begins, from 1.
    blank : dict of int to str
        Empty lines, which are kept as they are, by the row that they stand before.
    clash : set of int
        Rows in which a column that is to be made is there already.
    """

    columns: list[list[Any]]
    texts: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    blank: dict[int, str] = field(default_factory=dict)
    clash: set[int] = field(default_factory=set)
    characters: int = 0

    def add(self, text: str, line: int) -> None:
        """Add one more row."""
        self.texts.append(text)
        self.lines.append(line)
        self.characters += len(text)

    def add_blank(self, text: str) -> None:
        """Add an empty line before the next row."""
        place = len(self.texts)
        self.blank[place] = self.blank.get(place, "") + text

    def is_full(self, batch_rows: int) -> bool:
        """Tell whether it is time for another."""
        return len(self.texts) >= batch_rows or self.characters >= BATCH_CHARACTERS


class TextRows(ABC):
    """The rows of one text file, in order, read once.

    Attributes
    ----------
    source : str
        What to call the file.
    names : list of str
        The columns.
    decimal_comma : bool
        Numbers may have a comma where others have a point.
    """

    source: str
    names: list[str]
    decimal_comma: bool = False

    @abstractmethod
    def batches(self, take: Sequence[str], make: Sequence[str], batch_rows: int) -> Iterator[TextBatch]:
        """Yield every row, with the cells of the columns to take."""

    @abstractmethod
    def extended_header(self, make: Sequence[str]) -> str:
        """Return the header with more columns; those that are there already keep their place."""

    @abstractmethod
    def extended(self, text: str, make: Sequence[str], values: Sequence[str], clash: bool) -> str:
        """Return the text of a row with the values of these columns, which are numbers as text, or empty."""


# --- from lines to wider lines ----------------------------------------------------------------------------------------


@contextmanager
def _text(stream: io.BufferedReader) -> Iterator[io.TextIOWrapper]:
    """Lines with their ends as they are; bytes that are no UTF-8 are carried through."""
    text = io.TextIOWrapper(stream, "utf-8", errors="surrogateescape", newline="")
    try:
        yield text
    finally:
        text.detach()  # it would close what it does not own


def _counted(lines: Iterable[str], size: int, progress: Progress | None) -> Iterator[str]:
    """The same lines; `progress` hears how much of the file they are, nearly."""
    done = 0
    for number, line in enumerate(lines, start=1):
        done += len(line)
        if progress is not None and number % LINES_BETWEEN_REPORTS == 0:
            progress(min(done, size), size)
        yield line


@contextmanager
def _text_writer(target: Target) -> Iterator[Callable[[str], Any]]:
    """A function that writes text; bytes that were no UTF-8 when read are written as they were."""
    stream: IO[bytes] = target.where.open("wb") if isinstance(target.where, Path) else target.where
    plain = gzip.GzipFile(fileobj=stream, mode="wb", mtime=0) if target.compressed else stream
    try:
        yield lambda text: plain.write(text.encode("utf-8", "surrogateescape"))
    finally:
        if target.compressed:
            plain.close()
        if isinstance(target.where, Path):
            stream.close()


@contextmanager
def _long_cells() -> Iterator[None]:
    """Cells may be long texts; the limit belongs to the whole process, and is put back."""
    before = csv.field_size_limit(LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _write_wider(addition: Addition, rows: TextRows, write: Callable[[str], Any]) -> int:
    """Write all rows with what is made of them; how many they are."""
    if not rows.names:  # not a single object
        return 0
    plan = addition.plan(Contents(rows.names))
    reader = _NumberReader(addition, plan, rows.decimal_comma)
    n_rows, header = 0, rows.extended_header(plan.make)
    for batch in rows.batches(plan.take, plan.make, addition.batch_rows):
        text = "".join(_wider_rows(addition, rows, plan, batch, n_rows, reader))
        write(header + text)  # not before: bad input in the first batch leaves a pipe empty
        n_rows, header = n_rows + len(batch.texts), ""
    reader.refuse_unclear_commas()
    return n_rows


def _wider_rows(
    addition: Addition, rows: TextRows, plan: Plan, batch: TextBatch, first: int, reader: _NumberReader
) -> Iterator[str]:
    """The rows of a batch with what is made of them, as text; `first` is the number of the first."""
    if batch.clash and not addition.overwrite:
        raise addition.clash(plan.make[0], f" at line {batch.lines[min(batch.clash)]}")

    def place(row: int) -> Row:
        return Row(first + row, batch.lines[row])

    numbers = np.empty((len(batch.texts), len(plan.take)))
    for k, (name, cells) in enumerate(zip(plan.take, batch.columns, strict=True)):
        numbers[:, k] = reader.read(name, cells, place)
    made = addition.made(numbers, plan, place)
    columns = [["" if value != value else repr(value) for value in column.tolist()] for column in made.T]
    for row, (text, *values) in enumerate(zip(batch.texts, *columns, strict=True)):
        if row in batch.blank:
            yield batch.blank[row]
        yield rows.extended(text, plan.make, values, row in batch.clash)
    yield batch.blank.get(len(batch.texts), "")


# --- cells as numbers -------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _NumberReader:
    """Reads cells as numbers, and remembers how those of the file are written, as far as it was read.

    1,234 alone does not tell what its comma is, 0,5 beside it does. A column with percent signs in some cells only, or
    with commas and points, is refused, as where the map is fitted.
    """

    addition: Addition
    plan: Plan
    decimal_comma: bool
    commas_are_decimal: bool = False
    unclear: str = ""
    seen: dict[tuple[str, str], str] = field(default_factory=dict)  # the first cell of a column with each mark

    def read(self, name: str, cells: list[Any], place: Place) -> list[float]:
        """Return cells as floats, NaN where there is none; an error names the first that holds something else."""
        try:
            numbers = list(map(float, cells))
            plain = not self.plan.percent and not any(map(_is_odd, cells))
        except (ValueError, OverflowError):
            plain = False
        if not plain:
            numbers = self._one_by_one(name, cells, place)
        self._refuse_mixed(name, cells, place, plain=plain)
        return numbers

    def refuse_unclear_commas(self) -> None:
        """Raise, at the end of the file, where a comma may stand between thousands or before decimals."""
        if self.unclear and not self.commas_are_decimal:
            raise self.addition.error(
                f"{self.unclear} may be thousands or decimals, and no other cell tells: write points"
            )

    def _one_by_one(self, name: str, cells: list[Any], place: Place) -> list[float]:
        numbers = []
        for row, cell in enumerate(cells):
            number = _number(cell, self.decimal_comma, self.plan.percent)
            if number is None:
                said = "column {column!r} must hold numbers, got the text {got!r} at {row}"
                raise self.addition.error(Sentence(said, column=name, got=cell, row=place(row)))
            if isinstance(cell, str) and "," in cell:
                self._look_at_comma(cell.strip(), str(place(row)))
            numbers.append(number)
        return numbers

    def _look_at_comma(self, cell: str, where: str) -> None:
        if not THOUSANDS_CELL.fullmatch(cell):
            self.commas_are_decimal = True
        elif not self.unclear:
            self.unclear = f"the comma in {cell!r} at {where}"

    def _refuse_mixed(self, name: str, cells: list[Any], place: Place, *, plain: bool) -> None:
        """Raise where numbers of a column are written in two ways; plain ones have neither a sign nor a comma."""
        pairs = [("no percent sign", "%")] if self.plan.percent is False else []
        pairs += [(".", ",")] if self.decimal_comma else []
        for mark in (mark for pair in pairs for mark in (pair[:1] if plain else pair)):
            if (name, mark) not in self.seen:
                row = next((row for row, cell in enumerate(cells) if _has(cell, mark)), None)
                if row is not None:
                    self.seen[name, mark] = f"{cells[row]!r} at {place(row)}"
        for one, other in pairs:
            if (name, one) in self.seen and (name, other) in self.seen:
                said = "column {column!r} must hold numbers that are all written alike, got {got} but {other}{without}"
                raise self.addition.error(
                    Sentence(
                        said,
                        column=name,
                        got=self.seen[name, other],
                        other=self.seen[name, one],
                        without=", without a percent sign" if other == "%" else "",
                        hint=Hint.READ_AS_PERCENTAGES if other == "%" else "write points",
                    )
                )


def _has(cell: Any, mark: str) -> bool:
    if not isinstance(cell, str):
        return mark == "no percent sign" and cell == cell
    if mark == "no percent sign":
        text = cell.strip()
        return text not in MISSING_CELLS and not text.endswith("%")
    return mark in cell


def _is_odd(cell: Any) -> bool:
    """Text that Python takes for a number and others do not: 1_000."""
    return isinstance(cell, str) and "_" in cell


def _number(cell: Any, decimal_comma: bool, percent: bool | None) -> float | None:
    """A number; NaN where the cell is empty; None where it holds something else."""
    if isinstance(cell, str):
        cell = cell.strip()
        if cell in MISSING_CELLS:
            return float("nan")
        if percent is not None and cell.endswith("%"):
            percent, cell = True, cell.removesuffix("%").rstrip()
        cell = cell.replace(",", ".") if decimal_comma else cell
        if not NUMBER_CELL.fullmatch(cell):
            return None
    elif abs(cell) > sys.float_info.max:  # an integer that no float holds
        return float("inf")
    return float(cell) / 100 if percent else float(cell)
