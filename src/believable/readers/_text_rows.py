"""Rows of text files, each with the very text it was written as, so that a file can be given more columns and nothing
else of it changes.

`CsvRows` and `JsonRows` have the same four methods; `stream.py` drives them.
"""

from __future__ import annotations

import csv
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple, final

from believable.errors import InputError
from believable.readers.delimited import SEPARATORS
from believable.readers.delimited import _split as split_header

BYTE_ORDER_MARK = "\ufeff"
BLANK = " \t\r\n" + BYTE_ORDER_MARK


class Row(NamedTuple):
    """One row.

    `line` is where it begins, from 1; `text` all of it, with the end of the line; `cells` are the ones asked for (text,
    or a number from JSON), None for an empty line, which is kept as it is; `clash` says that a column that is to be
    made is there already.
    """

    line: int
    text: str
    cells: list[Any] | None
    clash: bool


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
    def rows(self, take: Sequence[str], make: Sequence[str]) -> Iterator[Row]:
        """Every row, with the cells of the columns to take."""

    @abstractmethod
    def extended_header(self, make: Sequence[str]) -> str:
        """The header with more columns; those that are there already keep their place."""

    @abstractmethod
    def extended(self, row: Row, make: Sequence[str], values: Sequence[str]) -> str:
        """The text of a row with the values of these columns, which are numbers as text, or empty."""


@final
class CsvRows(TextRows):
    """Cells between separators, quoted where they hold one, a quote or the end of a line; as `DelimitedTable` reads.

    Where columns are added at the end, a row keeps its text to the byte. Where a column is replaced, or the separator
    changes (`to`), cells keep their text and are quoted where needed.
    """

    def __init__(self, source: str, lines: Iterator[str], separator: str, *, to: str | None = None) -> None:
        self.source = source
        before, first = _first_line(lines)
        declared = first.strip().strip('"').lower()
        if len(declared) == 5 and declared.startswith("sep=") and declared[4] in SEPARATORS:
            before, first, separator = [*before, first], next(lines, ""), declared[4]
        self._separator = split_header([first], separator)[0]
        self.decimal_comma = self._separator != ","
        self._to = self._separator if to is None else to
        self._kept: list[str] = []
        self._reader = csv.reader(self._keeping(chain([first], lines)), delimiter=self._separator, strict=True)
        self._skipped = sum(line != BYTE_ORDER_MARK for line in before)
        self.names = [name.strip() for name in self._next(self._skipped + 1) or []]
        self._before = "".join(before) if to is None else ""
        self._header = self._text()
        self._line = self._skipped + self._reader.line_num + 1
        if not self._header:
            raise InputError(f"{source} is empty")

    def _keeping(self, lines: Iterator[str]) -> Iterator[str]:
        """The lines for the parser, which are kept until it has made a row of them."""
        for line in lines:
            self._kept.append(line)
            yield line

    def _next(self, line: int) -> list[str] | None:
        """The cells of the row that begins here; None after the last."""
        try:
            return next(self._reader, None)
        except csv.Error as error:
            if "end of data" in str(error) or "limit" in str(error):
                raise InputError(
                    f"{self.source} has a quotation mark in the row at line {line} that is never closed"
                ) from error
            raise InputError(f"{self.source} cannot be read at line {line}: {error}") from error

    def _text(self) -> str:
        text = self._kept[0] if len(self._kept) == 1 else "".join(self._kept)
        self._kept.clear()
        return text

    def rows(self, take: Sequence[str], make: Sequence[str]) -> Iterator[Row]:
        places, width = [self.names.index(name) for name in take], len(self.names)
        clash = any(name in self.names for name in make)
        while (cells := self._next(self._line)) is not None:
            text, line = self._text(), self._line
            self._line = self._skipped + self._reader.line_num + 1
            if len(cells) == width:
                yield Row(line, text, [cells[k] for k in places], clash)
            elif not cells:
                yield Row(line, text, None if width > 1 else [""], clash)
            else:
                raise InputError(f"{self.source} has {_fields(len(cells))} at line {line}, but {width} in its header")

    def extended_header(self, make: Sequence[str]) -> str:
        clash = any(name in self.names for name in make)
        names = make if clash else [_quoted(name, self._to) for name in make]
        return self._before + self.extended(Row(1, self._header, None, clash), make, names)

    def extended(self, row: Row, make: Sequence[str], values: Sequence[str]) -> str:
        body = row.text.rstrip("\r\n")
        end = row.text[len(body) :]
        if self._to == self._separator and not row.clash:
            return self._to.join((body, *values)) + end
        cells = next(csv.reader(io.StringIO(row.text, newline=""), delimiter=self._separator, strict=True))
        for name, value in zip(make, values, strict=True):
            if name in self.names:
                cells[self.names.index(name)] = value
            else:
                cells.append(value)
        return self._to.join(_quoted(cell, self._to) for cell in cells) + end


@final
class JsonRows(TextRows):
    """One JSON object to a line. The columns are the keys of the first; a row that lacks one has an empty cell."""

    def __init__(self, source: str, lines: Iterator[str]) -> None:
        self.source = source
        self._lines = enumerate(lines, 1)
        self._waiting: list[tuple[int, str, dict[str, Any] | None]] = []
        self.names = []
        for line, text in self._lines:
            parsed = self._object(text, line) if text.strip(BLANK) else None
            self._waiting.append((line, text, parsed))
            if parsed is not None:
                self.names = list(parsed)
                break

    def rows(self, take: Sequence[str], make: Sequence[str]) -> Iterator[Row]:
        for line, text, parsed in self._parsed():
            if parsed is None:
                yield Row(line, text, None, False)
            else:
                clash = any(name in parsed for name in make)
                yield Row(line, text, [_cell(parsed.get(name)) for name in take], clash)

    def _parsed(self) -> Iterator[tuple[int, str, dict[str, Any] | None]]:
        yield from self._waiting
        self._waiting = []
        for line, text in self._lines:
            yield line, text, self._object(text, line) if text.strip(BLANK) else None

    def extended_header(self, make: Sequence[str]) -> str:
        return ""

    def extended(self, row: Row, make: Sequence[str], values: Sequence[str]) -> str:
        body = row.text.rstrip()
        end = row.text[len(body) :]
        if row.clash:
            others = {name: value for name, value in self._object(body, row.line).items() if name not in make}
            body = json.dumps(others, ensure_ascii=False)
        added = ", ".join(
            f"{json.dumps(n, ensure_ascii=False)}: {v or 'null'}" for n, v in zip(make, values, strict=True)
        )
        opened = body[:-1].rstrip()
        return f"{opened}{'' if opened.endswith('{') else ', '}{added}}}{end}"

    def _object(self, text: str, line: int) -> dict[str, Any]:
        text = text.strip().removeprefix(BYTE_ORDER_MARK)
        try:
            parsed = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{self.source}, line {line}: this is not JSON ({error})") from error
        if not isinstance(parsed, dict):
            raise InputError(f"{self.source}, line {line}: one JSON object per line is needed, got {text[:40]}")
        return parsed


def _first_line(lines: Iterator[str]) -> tuple[list[str], str]:
    """The empty lines (and the mark of UTF-8) at the beginning, and the first line that is not empty."""
    before: list[str] = []
    for number, line in enumerate(lines):
        if number == 0 and line.startswith(BYTE_ORDER_MARK):
            before, line = [BYTE_ORDER_MARK], line[1:]
        if line.strip("\r\n"):
            return before, line
        before.append(line)
    return before, ""


def _fields(n: int) -> str:
    return "1 field" if n == 1 else f"{n} fields"


def _quoted(cell: str, separator: str) -> str:
    if any(mark in cell for mark in (separator, '"', "\n", "\r")):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def _cell(value: Any) -> Any:
    """A number or a text as it is, an empty cell for null; what is neither as its JSON, which is no number."""
    if value is None:
        return ""
    return value if isinstance(value, (int, float, str)) and not isinstance(value, bool) else json.dumps(value)
