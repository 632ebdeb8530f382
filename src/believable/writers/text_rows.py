"""The two ends of a stream: what is read, what is written, and what kinds they are."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import json
import os
import sys
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any, cast, final, get_args

from believable import _check
from believable._write import write_beside
from believable.errors import InputError
from believable.readers.formats.delimited import SEPARATORS
from believable.readers.formats.delimited import _split as split_header
from believable.readers.formats.source import BOM, ENDINGS, GZIP, MAGIC, Format, called, sniffed

PIPE = "-"
TEXT: tuple[Format, ...] = ("csv", "tsv", "jsonl")


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[io.BufferedReader]:
    """The bytes of a file, a pipe or the standard input, decompressed if they are compressed."""
    name, file = called(path), Path(path)
    try:
        if os.fspath(path) == PIPE:
            yield _plain(_peekable(sys.stdin.buffer))
            return
        if not file.exists():
            raise InputError(f"there is no file {name}")
        if file.is_dir():
            raise InputError(f"{name} is a folder, not a file: name its files one at a time")
        with file.open("rb") as stream:
            yield _plain(stream)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:  # found while it is read
        raise InputError(f"{name} is compressed and damaged: {error}") from error


def _peekable(stream: Any) -> io.BufferedReader:
    return stream if hasattr(stream, "peek") else io.BufferedReader(stream)


def _plain(stream: io.BufferedReader) -> io.BufferedReader:
    if stream.peek(2)[:2] != GZIP:
        return stream
    return io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(fileobj=stream)))


def kind_of(path: str | os.PathLike[str], format: Format | None, stream: io.BufferedReader) -> Format:
    """What is read: as said, or by the ending, or (for pipes) by the first bytes."""
    head, name = stream.peek(), called(path)
    if format is not None:
        _check.choice(format, get_args(Format), "format")
    kind = format or (sniffed(head) if os.fspath(path) == PIPE or not Path(path).is_file() else by_ending(path))
    if kind in TEXT:
        found = [other for magic, other in MAGIC.items() if head.startswith(magic)]
        if found:
            raise InputError(
                "{file} is {what}, not {kind}: say what it is with {format}", file=name, what=found[0], kind=kind
            )
        if head.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise InputError(f"{name} is UTF-16 text: save it as UTF-8")
        if b"\0" in head:
            raise InputError(f"{name} is not a text file, so not {kind}")
    if kind == "jsonl" and head.removeprefix(BOM).lstrip().startswith(b"["):
        raise InputError(f"{name} holds a list: write one object per line, without brackets around them")
    return kind


def by_ending(path: str | os.PathLike[str]) -> Format:
    """What the name of a file says."""
    name = os.fspath(path).lower().removesuffix(".gz")
    for ending, kind in ENDINGS.items():
        if name.endswith(ending):
            return kind
    raise InputError(f"{os.fspath(path)}: the file must end in .csv, .tsv, .jsonl, .ndjson, .parquet or .npz")


def kind_written(source: str | os.PathLike[str], kind: Format, target: str | os.PathLike[str]) -> Format:
    """What is written: by the ending, where that is the kind of the source, or can be without a guess."""
    if os.fspath(target) == PIPE:
        if kind == "npz" and sys.stdout.isatty():
            raise InputError(
                f"{called(source)} is npz, and that is nothing to read on a terminal: name a file to write"
            )
        return "csv" if kind == "parquet" else kind
    if Path(target).is_dir():
        raise InputError(f"{os.fspath(target)} is a folder, not a file")
    if Path(target).exists() and not Path(target).is_file():
        return kind  # a pipe has no ending
    written = by_ending(target)
    if written in ("parquet", "npz") and os.fspath(target).lower().endswith(".gz"):
        what = "Parquet is compressed" if written == "parquet" else "an npz archive can be compressed"
        raise InputError(f"{os.fspath(target)}: {what} by itself, so let it end in .{written}")
    if written != kind and (kind != "parquet" or written == "npz") and {written, kind} != {"csv", "tsv"}:
        raise InputError(
            f"{called(source)} is {kind} and {os.fspath(target)} would be {written}: columns are added, and the rest "
            f"stays as it is, so let it end in .{kind}"
        )
    return written


@contextmanager
def written_to(target: str | os.PathLike[str]) -> Iterator[Path | IO[bytes]]:
    """Where to write: beside the target, which is replaced in the end, or to the standard output."""
    if os.fspath(target) == PIPE:
        try:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        except OSError as error:
            if "roken pipe" in str(error):  # polars has words for it, not the number
                raise BrokenPipeError(errno.EPIPE, "Broken pipe") from error
            raise
        return
    with write_beside(target) as path:
        yield path


@contextmanager
def text_writer(where: Path | IO[bytes], compressed: bool) -> Iterator[Callable[[str], Any]]:
    """A function that writes text; bytes that were no UTF-8 when read are written as they were."""
    stream = where.open("wb") if isinstance(where, Path) else where
    plain = gzip.GzipFile(fileobj=stream, mode="wb", mtime=0) if compressed else stream
    try:
        yield lambda text: plain.write(text.encode("utf-8", "surrogateescape"))
    finally:
        if compressed:
            plain.close()
        if isinstance(where, Path):
            stream.close()


# ----------------------------------------------------------------------------------------------------------------------
# rows of text files, each with the very text it was written as, so that a file can be given more columns and nothing
# else of it changes.
#
# A batch is a few long lists, not an object for each row: millions of small objects keep the garbage collector busy.


BYTE_ORDER_MARK = "\ufeff"
BLANK = " \t\r\n" + BYTE_ORDER_MARK
BATCH_CHARACTERS = 1 << 25  # a batch of long rows ends here


@dataclass(slots=True)
class Batch:
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
        """One more row, or empty line."""
        self.texts.append(text)
        self.lines.append(line)
        self.characters += len(text)

    def add_blank(self, text: str) -> None:
        """An empty line before the next row."""
        place = len(self.texts)
        self.blank[place] = self.blank.get(place, "") + text

    def is_full(self, batch_rows: int) -> bool:
        """Whether it is time for another."""
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
    def batches(self, take: Sequence[str], make: Sequence[str], batch_rows: int) -> Iterator[Batch]:
        """Every row, with the cells of the columns to take."""

    @abstractmethod
    def extended_header(self, make: Sequence[str]) -> str:
        """The header with more columns; those that are there already keep their place."""

    @abstractmethod
    def extended(self, text: str, make: Sequence[str], values: Sequence[str], clash: bool) -> str:
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
        if not first:
            raise InputError(f"{source} is empty")
        self._separator = split_header([first], separator)[0]
        self.decimal_comma = self._separator != ","
        self._to = self._separator if to is None else to
        self._before = "".join(before) if to is None else ""
        self._skipped = sum(line != BYTE_ORDER_MARK for line in before)
        self._kept: list[str] = []
        self._reader = csv.reader(self._keeping(chain([first], lines)), delimiter=self._separator, strict=True)
        self._line = self._skipped + 1
        self.names = [name.strip() for name in next(self._parsed())]
        self._header = self._text()

    def _keeping(self, lines: Iterator[str]) -> Iterator[str]:
        """The lines for the parser, which are kept until it has made a row of them."""
        for line in lines:
            self._kept.append(line)
            yield line

    def _parsed(self) -> Iterator[list[str]]:
        """The cells of each row; an error names the line that it begins on."""
        try:
            for cells in self._reader:
                yield cells
                self._line = self._skipped + self._reader.line_num + 1
        except csv.Error as error:
            if "end of data" in str(error) or "limit" in str(error):
                long = "a very long cell, or " if "limit" in str(error) else ""
                raise InputError(
                    "{file} has {long}a quotation mark that is never closed, at line {line} or after",
                    file=self.source,
                    long=long,
                    line=self._line,
                ) from error
            raise InputError(
                "{file} cannot be read at line {line}: {why}", file=self.source, line=self._line, why=error
            ) from error

    def _text(self) -> str:
        """What the parser has made a row of."""
        text = self._kept[0] if len(self._kept) == 1 else "".join(self._kept)
        self._kept.clear()
        return text

    def batches(self, take: Sequence[str], make: Sequence[str], batch_rows: int) -> Iterator[Batch]:
        places, width = [self.names.index(name) for name in take], len(self.names)
        self._line = self._skipped + self._reader.line_num + 1
        batch = Batch([[] for _ in take])
        waiting: list[tuple[str, int]] = []
        for cells in self._parsed():
            text = self._text()
            if not cells and width == 1:  # an empty cell, or the end of the file
                waiting.append((text, self._line))
            elif not cells:
                batch.add_blank(text)
            elif len(cells) != width:
                fields = "1 field" if len(cells) == 1 else f"{len(cells)} fields"
                raise InputError(
                    "{file} has {got} at line {line}, but {needed} in its header",
                    file=self.source,
                    got=fields,
                    line=self._line,
                    needed=width,
                )
            else:
                for empty, line in waiting:
                    for column in batch.columns:
                        column.append("")
                    batch.add(empty, line)
                waiting.clear()
                for column, k in zip(batch.columns, places, strict=True):
                    column.append(cells[k])
                batch.add(text, self._line)
                if batch.is_full(batch_rows):
                    yield batch
                    batch = Batch([[] for _ in take])
        for text, _ in waiting:
            batch.add_blank(text)
        yield batch

    def extended_header(self, make: Sequence[str]) -> str:
        names = make if self._is_rewritten(make) else [_quoted(name, self._to) for name in make]
        return self._before + self.extended(self._header, make, names, False)

    def _is_rewritten(self, make: Sequence[str]) -> bool:
        return self._to != self._separator or any(name in self.names for name in make)

    def extended(self, text: str, make: Sequence[str], values: Sequence[str], clash: bool) -> str:
        body = text.rstrip("\r\n")
        end = text[len(body) :]
        if not self._is_rewritten(make):
            return self._to.join((body, *values)) + end
        cells = next(csv.reader(io.StringIO(text, newline=""), delimiter=self._separator, strict=True), [])
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
        self._lines = enumerate(lines, start=1)
        self._waiting: list[tuple[int, str]] = []
        self.names = []
        for line, text in self._lines:
            self._waiting.append((line, text))
            if text.strip(BLANK):
                self.names = list(self._object(text, line))
                break

    def batches(self, take: Sequence[str], make: Sequence[str], batch_rows: int) -> Iterator[Batch]:
        batch = Batch([[] for _ in take])
        for line, text in chain(self._waiting, self._lines):
            if not text.strip(BLANK):
                batch.add_blank(text)
                continue
            parsed = self._object(text, line)
            for column, name in zip(batch.columns, take, strict=True):
                column.append(_cell(parsed.get(name)))
            if any(name in parsed for name in make):
                batch.clash.add(len(batch.texts))
            batch.add(text, line)
            if batch.is_full(batch_rows):
                yield batch
                batch = Batch([[] for _ in take])
        yield batch

    def extended_header(self, make: Sequence[str]) -> str:
        return ""

    def extended(self, text: str, make: Sequence[str], values: Sequence[str], clash: bool) -> str:
        body = text.rstrip()
        end = text[len(body) :]
        if clash:
            body = _without(body, make)
        pairs = zip(make, values, strict=True)
        added = ", ".join(f"{json.dumps(name, ensure_ascii=False)}: {value or 'null'}" for name, value in pairs)
        opened = body[:-1].rstrip()
        return f"{opened}{'' if opened.endswith('{') else ', '}{added}}}{end}"

    def _object(self, text: str, line: int) -> dict[str, Any]:
        text = text.strip().removeprefix(BYTE_ORDER_MARK)
        try:
            parsed = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(
                "{file}, line {line}: this is not JSON ({why})", file=self.source, line=line, why=error
            ) from error
        if not isinstance(parsed, dict):
            raise InputError(
                "{file}, line {line}: one JSON object per line is needed, got {got}",
                file=self.source,
                line=line,
                got=text[:40],
            )
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


def _without(text: str, names: Sequence[str]) -> str:
    """The text of a JSON object without some of its keys; the others keep theirs, which no float may hold."""
    decode, kept = json.JSONDecoder().raw_decode, []
    start = text.index("{")
    at = _past_blanks(text, start + 1)
    while text[at] != "}":
        name, colon = decode(text, at)
        _, end = decode(text, _past_blanks(text, _past_blanks(text, colon) + 1))
        if name not in names:
            kept.append(text[at:end])
        at = _past_blanks(text, end)
        at = _past_blanks(text, at + 1) if text[at] == "," else at
    return text[: start + 1] + ", ".join(kept) + "}"


def _past_blanks(text: str, at: int) -> int:
    while text[at] in " \t\r\n":
        at += 1
    return at


def _quoted(cell: str, separator: str) -> str:
    if any(mark in cell for mark in (separator, '"', "\n", "\r")):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def _cell(value: Any) -> Any:
    """A number or a text as it is, an empty cell for null; what is neither as its JSON, which is no number."""
    if value is None:
        return ""
    return value if isinstance(value, (int, float, str)) and not isinstance(value, bool) else json.dumps(value)
