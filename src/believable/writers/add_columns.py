"""A file with more columns: read in batches of rows, written with every other cell and the order as they are."""

from __future__ import annotations

import csv
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from believable import _check
from believable._types import Float64s, Floats
from believable.errors import Hint, Row, Sentence
from believable.readers.formats.delimited import NULLS
from believable.readers.formats.delimited import THOUSANDS as LIKE_THOUSANDS
from believable.readers.formats.npz import NpzTable
from believable.readers.formats.source import Format, called
from believable.writers.text_rows import (
    Batch,
    CsvRows,
    JsonRows,
    TextRows,
    kind_of,
    kind_written,
    opened,
    text_writer,
    written_to,
)
from believable.writers.wider import Making, Missing, Place, Plan, wider_npz, wider_parquet

SEPARATORS = {"csv": ",", "tsv": "\t"}
ABSENT = frozenset(NULLS)
THOUSANDS = re.compile(LIKE_THOUSANDS)
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|[-+]?inf(inity)?", re.ASCII | re.IGNORECASE)
BATCH_ROWS = 50_000
REPORTED = 20_000  # lines from one sign of progress to the next
LONGEST_CELL = 1 << 26  # a quotation mark that is never closed would swallow the file
Progress = Callable[[int, int], None]


def add_columns(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    choose: Callable[[Sequence[str]], Plan],
    compute: Callable[[Floats], Float64s],
    *,
    choose_arrays: Callable[[NpzTable], Plan] | None = None,
    overwrite: bool = False,
    missing: Missing = "error",
    format: Format | None = None,
    batch_rows: int = BATCH_ROWS,
    progress: Progress | None = None,
) -> int:
    """Write a file again with columns that are computed from some of its own.

    Rows are read in batches, so memory does not grow with the file. A row of CSV, TSV or JSON lines keeps its text to
    the byte and gets its new cells at the end, numbers written so that they read back as the same float. Parquet keeps
    its types, and npz its arrays. The target appears when it is complete, or not at all.

    Parameters
    ----------
    source, target : path, or "-"
        Their endings say what they are: .csv, .tsv, .jsonl (.ndjson), .parquet or .npz; .gz may follow those of text.
        The target is of the kind of the source, except that csv may become tsv and the other way round, and Parquet
        any of the others but npz. "-" is the standard input or output; its first bytes say what comes in, and what
        goes out is the same, csv for Parquet.
    choose : callable
        From the names of the columns to the `Plan`: which to take, which to make.
    compute : callable
        From the numbers of a batch, of shape (n,) for one column to take and (n, k) for more, to as many rows of those
        to make, each from its own row alone. An `InputError` that says "at row 3" is about the batch, and is told again
        with the row and the line of the file.
    choose_arrays : callable, optional
        The same for npz, from its table: which columns to take, and which one array to make of them. None: npz is
        refused.
    overwrite : bool
        Replace columns that are there already, which are an error otherwise. Rows are written anew then: cells keep
        their text, but not their quotation marks.
    missing : {"error", "keep"}
        A number that is not there is an error, or makes empty cells.
    format : {"csv", "tsv", "parquet", "jsonl", "npz"}, optional
        What the source is, whatever it is called.
    batch_rows : int
        Rows of a batch of text; what is written does not depend on it.
    progress : callable, optional
        Told now and then how much is done, and of how much (0: not known).

    Returns
    -------
    int
        The number of rows.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     old, new = Path(folder) / "old.csv", Path(folder) / "new.csv"
    ...     _ = old.write_text('id,p\\n007,0.25\\n"a, b",1\\n')
    ...     n_rows = add_columns(old, new, lambda names: Plan(("p",), ("half",)), lambda p: p / 2)
    ...     print(new.read_text())
    id,p,half
    007,0.25,0.125
    "a, b",1,0.5
    """
    _check.choice(missing, ("error", "keep"), "missing")
    _check.positive_integer(batch_rows, "batch_rows")
    making = Making(called(source), choose, compute, overwrite, missing)
    is_file = Path(source).is_file()
    with opened(source) as stream:
        kind = kind_of(source, format, stream)
        if kind == "npz" and choose_arrays is None:
            raise making.error("columns cannot be added to npz; write it as csv, tsv, jsonl or parquet first")
        written = kind_written(source, kind, target)
        compressed = os.fspath(target).lower().endswith(".gz")
        with written_to(target) as where:
            if kind == "parquet":
                table = Path(source) if is_file else io.BytesIO(stream.read())
                return wider_parquet(making, table, where, written, compressed, progress)
            if kind == "npz" and choose_arrays is not None:
                content = Path(source) if is_file and isinstance(stream.raw, io.FileIO) else stream.read()
                return wider_npz(making, content, where, choose_arrays)
            size = Path(source).stat().st_size if is_file else 0
            with _text(stream) as text, text_writer(where, compressed) as write, _long_cells():
                rows = _rows(making.source, _counted(text, size, progress), kind, written)
                return _wider_text(making, rows, write, batch_rows)


def _rows(source: str, lines: Iterator[str], kind: Format, written: Format) -> TextRows:
    if kind == "jsonl":
        return JsonRows(source, lines)
    return CsvRows(source, lines, SEPARATORS[kind], to=None if written == kind else SEPARATORS[written])


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
        if progress is not None and number % REPORTED == 0:
            progress(min(done, size), size)
        yield line


@contextmanager
def _long_cells() -> Iterator[None]:
    """Cells may be long texts; the limit belongs to the whole process, and is put back."""
    before = csv.field_size_limit(LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _wider_text(making: Making, rows: TextRows, write: Callable[[str], Any], batch_rows: int) -> int:
    """Write all rows with what is made of them; how many they are."""
    if not rows.names:  # not a single object
        return 0
    plan = making.plan(rows.names)
    n_rows, header, spelling = 0, rows.extended_header(plan.make), _Spelling(rows.decimal_comma, plan.percent)
    for batch in rows.batches(plan.take, plan.make, batch_rows):
        text = "".join(_wider_rows(making, rows, plan, batch, n_rows, spelling))
        write(header + text)  # not before: bad input in the first batch leaves a pipe empty
        n_rows, header = n_rows + len(batch.texts), ""
    if spelling.unclear and not spelling.commas_are_decimal:
        raise making.error(f"{spelling.unclear} may be thousands or decimals, and no other cell tells: write points")
    return n_rows


@dataclass(slots=True)
class _Spelling:
    """How the numbers of a file are written, as far as it was read.

    1,234 alone does not tell what its comma is, 0,5 beside it does. A column with percent signs in some cells only, or
    with commas and points, is refused, as where the map is fitted.
    """

    decimal_comma: bool
    percent: bool | None
    commas_are_decimal: bool = False
    unclear: str = ""
    seen: dict[tuple[str, str], str] = field(default_factory=dict)  # the first cell of a column with each mark

    def look_at_comma(self, cell: str, where: str) -> None:
        """One more number with a comma."""
        if not THOUSANDS.fullmatch(cell):
            self.commas_are_decimal = True
        elif not self.unclear:
            self.unclear = f"the comma in {cell!r} at {where}"

    def look(self, name: str, cells: list[Any], place: Place, *, plain: bool) -> str:
        """Some numbers of a column, plain ones if none has a sign or comma; what is wrong with them, or nothing."""
        pairs = [("no percent sign", "%")] if self.percent is False else []
        pairs += [(".", ",")] if self.decimal_comma else []
        for mark in (mark for pair in pairs for mark in (pair[:1] if plain else pair)):
            if (name, mark) not in self.seen:
                row = next((row for row, cell in enumerate(cells) if _has(cell, mark)), None)
                if row is not None:
                    self.seen[name, mark] = f"{cells[row]!r} at {place(row)}"
        for one, other in pairs:
            if (name, one) in self.seen and (name, other) in self.seen:
                return Sentence(
                    "column {column!r} must hold numbers that are all written alike, got {got} but {other}{without}",
                    column=name,
                    got=self.seen[name, other],
                    other=self.seen[name, one],
                    without=", without a percent sign" if other == "%" else "",
                    hint=Hint.READ_AS_PERCENTAGES if other == "%" else "write points",
                )
        return ""


def _has(cell: Any, mark: str) -> bool:
    if not isinstance(cell, str):
        return mark == "no percent sign" and cell == cell
    if mark == "no percent sign":
        text = cell.strip()
        return text not in ABSENT and not text.endswith("%")
    return mark in cell


def _wider_rows(
    making: Making, rows: TextRows, plan: Plan, batch: Batch, first: int, spelling: _Spelling
) -> Iterator[str]:
    """The rows of a batch with what is made of them, as text; `first` is the number of the first."""
    if batch.clash and not making.overwrite:
        raise making.clash(plan.make[0], f" at line {batch.lines[min(batch.clash)]}")

    def place(row: int) -> Row:
        return Row(first + row, batch.lines[row])

    numbers = np.empty((len(batch.texts), len(plan.take)))
    for k, (name, cells) in enumerate(zip(plan.take, batch.columns, strict=True)):
        numbers[:, k] = _numbers(cells, name, rows, plan, making, place, spelling)
    made = making.made(numbers, plan, place)
    columns = [["" if value != value else repr(value) for value in column.tolist()] for column in made.T]
    for row, (text, *values) in enumerate(zip(batch.texts, *columns, strict=True)):
        if row in batch.blank:
            yield batch.blank[row]
        yield rows.extended(text, plan.make, values, row in batch.clash)
    yield batch.blank.get(len(batch.texts), "")


def _numbers(
    cells: list[Any],
    name: str,
    rows: TextRows,
    plan: Plan,
    making: Making,
    place: Place,
    spelling: _Spelling,
) -> list[float]:
    """Cells as floats, NaN where there is none; an error names the first that holds something else."""
    try:
        numbers = list(map(float, cells))
        plain = not plan.percent and not any(map(_is_odd, cells))
    except (ValueError, OverflowError):
        plain = False
    if not plain:
        numbers = _numbers_one_by_one(cells, name, rows, plan, making, place, spelling)
    wrong = spelling.look(name, cells, place, plain=plain)
    if wrong:
        raise making.error(wrong)
    return numbers


def _numbers_one_by_one(
    cells: list[Any],
    name: str,
    rows: TextRows,
    plan: Plan,
    making: Making,
    place: Place,
    spelling: _Spelling,
) -> list[float]:
    numbers = []
    for row, cell in enumerate(cells):
        number = _number(cell, rows.decimal_comma, plan.percent)
        if number is None:
            said = "column {column!r} must hold numbers, got the text {got!r} at {row}"
            raise making.error(Sentence(said, column=name, got=cell, row=place(row)))
        if isinstance(cell, str) and "," in cell:
            spelling.look_at_comma(cell.strip(), str(place(row)))
        numbers.append(number)
    return numbers


def _is_odd(cell: Any) -> bool:
    """Text that Python takes for a number and others do not: 1_000."""
    return isinstance(cell, str) and "_" in cell


def _number(cell: Any, decimal_comma: bool, percent: bool | None) -> float | None:
    """A number; NaN where the cell is empty; None where it holds something else."""
    if isinstance(cell, str):
        cell = cell.strip()
        if cell in ABSENT:
            return float("nan")
        if percent is not None and cell.endswith("%"):
            percent, cell = True, cell.removesuffix("%").rstrip()
        cell = cell.replace(",", ".") if decimal_comma else cell
        if not NUMBER.fullmatch(cell):
            return None
    elif abs(cell) > sys.float_info.max:  # an integer that no float holds
        return float("inf")
    return float(cell) / 100 if percent else float(cell)
