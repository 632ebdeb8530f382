"""Formats whose rows are text: a row that gets more cells keeps its original text.

A batch of rows is a few long lists instead of an object per row, because millions of small objects are slow to create
and to collect.
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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, final

import numpy as np

from believable._types import Array
from believable.errors import Hint, InputError, Row, Sentence
from believable.readers.cells import LIKE_THOUSANDS, NULLS
from believable.readers.formats.addition import Addition, Contents, Opened, Place, Plan, Progress, Target
from believable.readers.formats.base import BOM, HEAD_BYTES, Format

BYTE_ORDER_MARK = "\ufeff"
BATCH_CHARACTERS = 1 << 25  # limits a batch of long rows
LINES_BETWEEN_REPORTS = 20_000  # how often progress is reported
LONGEST_CELL = 1 << 26  # limits the damage of a quotation mark that is never closed
MISSING_CELLS = frozenset(NULLS)
THOUSANDS_CELL = re.compile(LIKE_THOUSANDS)
NUMBER_CELL = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|[-+]?inf(inity)?", re.ASCII | re.IGNORECASE)


class TextFormat(Format):
    """A format of UTF-8 text, one row after the other.

    A derived class says how rows are read, and how a row with more cells is written (`rows`). Batches, numbers, line
    numbers in errors, compression and progress are common to all.
    """

    @final
    def refuse(self, name: str, head: bytes) -> None:
        if head.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise InputError(f"{name} is UTF-16 text: save it as UTF-8")
        if b"\0" in head:
            raise InputError(f"{name} is not a text file, so it cannot be {self.name}")
        self._refuse_text(name, head.removeprefix(BOM).lstrip())

    def _refuse_text(self, name: str, text: bytes) -> None:
        """Raise if the beginning of the text shows that it is not in this format."""

    @abstractmethod
    def rows(self, source: str, lines: Iterator[str], target: Format) -> TextRows:
        """Return the rows of a file named `source`, to be written in the format `target`."""

    @final
    def add_columns(self, addition: Addition, opened: Opened, target: Target) -> int:
        with _text(opened.stream) as text, _text_writer(target) as write, _long_cells():
            lines = _counted(text, opened.size, addition.progress)
            return _write_wider(addition, self.rows(addition.source, lines, target.format), write)


def first_line(head: bytes) -> bytes:
    """Return the first line that is not blank, without a byte order mark."""
    return head[:HEAD_BYTES].removeprefix(BOM).lstrip().partition(b"\n")[0]


# --- rows -------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class TextBatch:
    """Consecutive rows of a text file.

    Attributes
    ----------
    columns : list of list
        The cells of the columns to read: text, or numbers from JSON.
    texts : list of str
        The full text of each row, with its line end.
    lines : list of int
        The line that each row begins on, counted from 1.
    blank : dict of int to str
        Blank lines, which are copied, by the row that follows them.
    clash : set of int
        Rows that already have a column that is to be added.
    characters : int
        The total length of `texts`.
    """

    columns: list[list[Any]]
    texts: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    blank: dict[int, str] = field(default_factory=dict)
    clash: set[int] = field(default_factory=set)
    characters: int = 0

    def add(self, text: str, line: int) -> None:
        """Add a row."""
        self.texts.append(text)
        self.lines.append(line)
        self.characters += len(text)

    def add_blank(self, text: str) -> None:
        """Add a blank line before the next row."""
        place = len(self.texts)
        self.blank[place] = self.blank.get(place, "") + text

    def is_full(self, batch_rows: int) -> bool:
        """Return whether the next row belongs in a new batch."""
        return len(self.texts) >= batch_rows or self.characters >= BATCH_CHARACTERS


class TextRows(ABC):
    """The rows of a text file, in order; they can be read once.

    Attributes
    ----------
    source : str
        The name of the file in messages.
    names : list of str
        The columns.
    later_names : list of str
        Further columns, whose cells are missing in the first row.
    decimal_comma : bool
        Whether numbers may have a decimal comma.
    """

    source: str
    names: list[str]
    later_names: Sequence[str] = ()
    decimal_comma: bool = False

    @abstractmethod
    def batches(self, plan: Plan, batch_rows: int) -> Iterator[TextBatch]:
        """Yield all rows in batches, with the cells of the columns to read: `take`, `quantities` and `names`."""

    @abstractmethod
    def names_in(self, column: str, cells: Sequence[Any]) -> list[Any]:
        """Return the cells of a column of segments as names, None for a missing one; raise if one cannot be a name."""

    @abstractmethod
    def extended_header(self, make: Sequence[str]) -> str:
        """Return the header with the new columns; existing ones keep their position."""

    @abstractmethod
    def extended(self, text: str, make: Sequence[str], values: Sequence[str], clash: bool) -> str:
        """Return the text of a row with the values of the new columns: numbers as text, or empty."""


# --- from lines to wider lines ----------------------------------------------------------------------------------------


@contextmanager
def _text(stream: io.BufferedReader) -> Iterator[io.TextIOWrapper]:
    """Open a stream as text that keeps its line ends, and bytes that are not UTF-8."""
    text = io.TextIOWrapper(stream, "utf-8", errors="surrogateescape", newline="")
    try:
        yield text
    finally:
        text.detach()  # otherwise it would close the stream, which belongs to the caller


def _counted(lines: Iterable[str], size: int, progress: Progress | None) -> Iterator[str]:
    """Yield the lines, and report to `progress` roughly how much of the file was read."""
    done = 0
    for number, line in enumerate(lines, start=1):
        done += len(line)
        if progress is not None and number % LINES_BETWEEN_REPORTS == 0:
            progress(min(done, size), size)
        yield line


@contextmanager
def _text_writer(target: Target) -> Iterator[Callable[[str], Any]]:
    """Yield a function that writes text; bytes that were not UTF-8 when read are written unchanged."""
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
    """Allow long cells in CSV files; the limit is global to the process, so it is restored."""
    before = csv.field_size_limit(LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _write_wider(addition: Addition, rows: TextRows, write: Callable[[str], Any]) -> int:
    """Write all rows with their new columns, and return the number of rows."""
    if not rows.names:  # a JSON lines file without any object
        return 0
    plan = addition.plan(Contents(rows.names, later=rows.later_names))
    scores = _NumberReader(addition, plan, rows.decimal_comma)
    quantities = _NumberReader(addition, replace(plan, percent=None), rows.decimal_comma)
    n_rows, header = 0, rows.extended_header(plan.make)
    for batch in rows.batches(plan, addition.batch_rows):
        text = "".join(_wider_rows(addition, rows, plan, batch, n_rows, (scores, quantities)))
        write(header + text)  # only now, so that an error in the first batch leaves a pipe empty
        n_rows, header = n_rows + len(batch.texts), ""
    scores.refuse_unclear_commas()
    quantities.refuse_unclear_commas()
    return n_rows


def _wider_rows(
    addition: Addition,
    rows: TextRows,
    plan: Plan,
    batch: TextBatch,
    first: int,
    readers: tuple[_NumberReader, _NumberReader],
) -> Iterator[str]:
    """Yield the rows of a batch with their new columns, as text; `first` is the number of the first row."""
    if batch.clash and not addition.overwrite:
        raise addition.clash(plan.make[0], f" at line {batch.lines[min(batch.clash)]}")

    def place(row: int) -> Row:
        return Row(first + row, batch.lines[row])

    of_scores, of_quantities = readers
    columns = iter(batch.columns)
    numbers = np.empty((len(batch.texts), len(plan.take)))
    for k, name in enumerate(plan.take):
        numbers[:, k] = of_scores.read(name, next(columns), place)
    segments: dict[str, Array] = {}
    for name in plan.quantities:
        segments[name] = np.array(of_quantities.read(name, next(columns), place), np.float64)
    for name in plan.names:
        segments[name] = np.empty(len(batch.texts), object)
        with addition.locating(place):
            segments[name][:] = rows.names_in(name, next(columns))
    made = addition.made(numbers, plan, place, segments)
    cells = [["" if value != value else repr(value) for value in column.tolist()] for column in made.T]
    for row, (text, *values) in enumerate(zip(batch.texts, *cells, strict=True)):
        if row in batch.blank:
            yield batch.blank[row]
        yield rows.extended(text, plan.make, values, row in batch.clash)
    yield batch.blank.get(len(batch.texts), "")


# --- cells as numbers -------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _NumberReader:
    """Reads cells as numbers, and remembers how the numbers read so far are written.

    The comma in 1,234 may separate thousands or decimals, unless another cell such as 0,5 decides. A column with
    percent signs in some cells only, or with both commas and points, is an error, as it is when a recalibrator is
    fitted.
    """

    addition: Addition
    plan: Plan
    decimal_comma: bool
    commas_are_decimal: bool = False
    unclear: str = ""
    seen: dict[tuple[str, str], str] = field(default_factory=dict)  # by column and mark: the first cell that has it

    def read(self, name: str, cells: list[Any], place: Place) -> list[float]:
        """Return cells as floats, NaN for empty ones; raise at the first that is not a number."""
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
        """Raise, at the end of the file, if it is still unclear whether a comma separates thousands or decimals."""
        if self.unclear and not self.commas_are_decimal:
            raise self.addition.error(
                f"{self.unclear} may separate thousands or decimals, and no other cell makes it clear: write decimals "
                "with a point"
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
        """Raise if numbers of a column are written in two ways; `plain` cells have no percent sign and no comma."""
        pairs = [("no percent sign", "%")] if self.plan.percent is False else []
        pairs += [(".", ",")] if self.decimal_comma else []
        for mark in (mark for pair in pairs for mark in (pair[:1] if plain else pair)):
            if (name, mark) not in self.seen:
                row = next((row for row, cell in enumerate(cells) if _has(cell, mark)), None)
                if row is not None:
                    self.seen[name, mark] = f"{cells[row]!r} at {place(row)}"
        for one, other in pairs:
            if (name, one) in self.seen and (name, other) in self.seen:
                said = "numbers in column {column!r} must be written the same way, got {got} but {other}{without}"
                raise self.addition.error(
                    Sentence(
                        said,
                        column=name,
                        got=self.seen[name, other],
                        other=self.seen[name, one],
                        without=", without a percent sign" if other == "%" else "",
                        hint=Hint.READ_AS_PERCENTAGES if other == "%" else "write decimals with a point",
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
    """Return whether a cell is a number only for Python, such as 1_000."""
    return isinstance(cell, str) and "_" in cell


def _number(cell: Any, decimal_comma: bool, percent: bool | None) -> float | None:
    """Return a cell as a number: NaN if it is empty, None if it is something else."""
    if isinstance(cell, str):
        cell = cell.strip()
        if cell in MISSING_CELLS:
            return float("nan")
        if percent is not None and cell.endswith("%"):
            percent, cell = True, cell.removesuffix("%").rstrip()
        cell = cell.replace(",", ".") if decimal_comma else cell
        if not NUMBER_CELL.fullmatch(cell):
            return None
    elif abs(cell) > sys.float_info.max:  # an integer that is too large for a float
        return float("inf")
    return float(cell) / 100 if percent else float(cell)
