"""Text files with a separator between cells (CSV, TSV), including the variants that spreadsheets write."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast, final

from believable.errors import InputError
from believable.readers.cells import LIKE_THOUSANDS, NULLS
from believable.readers.formats.addition import Plan
from believable.readers.formats.base import BOM, Format, FrameSink, Source, Table, polars_before
from believable.readers.formats.text import BYTE_ORDER_MARK, TextBatch, TextFormat, TextRows, first_line

if TYPE_CHECKING:
    import polars

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
ROWS_FOR_SCHEMA = 10_000  # rows from which the type of a column is guessed at first
TAIL_BYTES = 1 << 16  # blank lines at the end are looked for here
END_IN_QUOTATION = "end of data"  # what the csv module says
LEADING_ZERO = r"^[-+]?0\d"
PLAIN_NUMBER = r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$"
NO_FRACTION = r"\.0+$"  # 1.0 is 1
THOUSANDS_BY_POINTS = r"^[-+]?[1-9]\d{0,2}\.\d{3}$"
MORE_DIGITS_THAN_64_BITS = r"^[+-]?\d{19,}$"
DECIMAL_COMMA = r"^(\s*[-+]?\d*),(\d+(?:[eE][-+]?\d+)?\s*%?\s*)$"


@final
@dataclass(frozen=True, slots=True)
class Delimited(TextFormat, FrameSink):
    """Lines of cells with a separator between them, below a header; such formats convert to each other."""

    name: str
    separator: str
    endings: tuple[str, ...]
    description: str

    def sniff(self, head: bytes) -> bool:
        return self.separator.encode() in first_line(head)

    def open(self, source: Source) -> Table:
        return DelimitedTable(source, self.separator)

    def becomes(self, other: Format) -> bool:
        return isinstance(other, Delimited)

    def rows(self, source: str, lines: Iterator[str], target: Format) -> TextRows:
        to = target.separator if isinstance(target, Delimited) and target is not self else None
        return DelimitedRows(source, lines, self.separator, to=to)

    def sink(self, frame: polars.LazyFrame, where: Path | IO[bytes], *, compressed: bool) -> None:
        if compressed and polars_before(1, 40):
            with cast("IO[bytes]", gzip.open(where, "wb")) as stream:
                frame.collect().write_csv(stream, separator=self.separator)
        elif compressed:
            frame.sink_csv(where, separator=self.separator, compression="gzip")
        elif polars_before(1, 30) and not (isinstance(where, Path) and self.separator == ","):
            # Which sinks to paths alone, and writes commas into the header of any file.
            frame.collect().write_csv(where, separator=self.separator)
        else:
            frame.sink_csv(where, separator=self.separator)


CSV = Delimited("csv", ",", (".csv",), "a file with commas between cells")
TSV = Delimited("tsv", "\t", (".tsv",), "a file with tabs between cells")


# --- reading ----------------------------------------------------------------------------------------------------------


@final
class DelimitedTable(Table):
    """A text file with a header and one row per line.

    Columns are separated by the format's own separator. If the header does not contain it, a semicolon, tab, bar or
    comma in the header is used. Unless the separator is a comma, numbers may have decimal commas. Excel's first line
    "sep=;" is understood. Spaces around names, columns without a name and blank lines at the end are ignored.
    """

    def __init__(self, source: Source, own: str) -> None:
        self.source = source
        text = source.head().decode("utf-8", errors="replace")
        if "\r" in text and "\n" not in text:
            raise InputError(
                f"{source.name} has lines that end in a carriage return only: save it with Unix line endings"
            )
        lines = text.splitlines(keepends=True)
        while lines and not lines[0].strip("\r\n"):
            lines.pop(0)
        first = lines[0].strip().strip('"').lower() if lines else ""
        self._skipped = int(len(first) == 5 and first.startswith("sep=") and first[4] in SEPARATORS)
        own = first[4] if self._skipped else own
        self._separator, fields = _split(lines[self._skipped :], own)
        if self._separator != own:
            self.notes = (f"the columns are separated by {SEPARATORS[self._separator]}",)
        self._width = len(fields)
        self._places: dict[str, int] = {}
        for place, name in enumerate(map(str.strip, fields)):
            if name in self._places:
                raise InputError(f"{source.name} has several columns called {name!r}: rename them")
            if name:
                self._places[name] = place
        self.names = tuple(self._places)

    def _read(self, names: Sequence[str]) -> polars.DataFrame:
        import polars

        try:
            try:
                frame = self._parsed(names, infer_schema_length=ROWS_FOR_SCHEMA)
            except polars.exceptions.ComputeError:  # a later row does not have the guessed type
                frame = self._parsed_whole(names)
        except (polars.exceptions.PolarsError, OSError) as error:
            raise InputError(f"{self.source.name} {self._what_is_wrong(error)}") from error
        if polars_before(2, 1) and (where := self._quotation_left_open()):
            raise InputError(f"{self.source.name} has a quotation mark {where} that is never closed")
        if self._separator == ",":
            return frame
        pointed = _with_points(frame)
        if not pointed.equals(frame):
            self._refuse_points_between_thousands(frame)
        return pointed

    def _refuse_points_between_thousands(self, frame: polars.DataFrame) -> None:
        """Raise if a number like 1.234 may be more than a thousand, because other columns have decimal commas."""
        floats = [column.name for column in frame.iter_columns() if column.dtype.is_float()]
        for column in self._parsed(floats, infer_schema=False).iter_columns() if floats else ():
            text = column.str.strip_chars()
            with_point = text.filter(text.str.contains(".", literal=True))
            if len(with_point) and with_point.str.contains(THOUSANDS_BY_POINTS).all():
                raise InputError(
                    f"{self.source.name} has decimal commas, and {with_point[0]!r} in column {column.name!r}: write "
                    "thousands without a point"
                )

    def _parsed_whole(self, names: Sequence[str]) -> polars.DataFrame:
        """Return the columns, with the types of all of their rows."""
        import polars

        try:
            return self._parsed(names, infer_schema_length=None)
        except polars.exceptions.ComputeError:
            if not polars_before(1, 44):
                raise
        # Digits beyond 64 bits, as of hashes, which an older Polars takes for integers and cannot read.
        frame = self._parsed(names, infer_schema=False)
        return frame.with_columns(_numbers(column) for column in frame.iter_columns())

    def _parsed(self, names: Sequence[str], **options: Any) -> polars.DataFrame:
        """Return the columns, without the blank lines at the end."""
        import polars

        # Polars counts the fields of a row up to the last column that is read. Without that of the header, a row with
        # a field too many, such as 0,1,1,x, would be read as score 0 and label 1.
        places = sorted({*(self._places[name] for name in names), self._width - 1})
        frame = polars.read_csv(
            self.source.given(),
            separator=self._separator,
            null_values=list(NULLS),
            columns=places,
            skip_rows=self._skipped,
            glob=False,
            **options,
        )
        frame = frame.select(
            frame[:, places.index(self._places[name])].alias(name)
            for name in sorted(names, key=self._places.__getitem__)
        )
        return frame.head(frame.height - self._blank_at_the_end())

    def _as_written(self, frame: polars.DataFrame, naming: Sequence[str]) -> polars.DataFrame:
        """Return the frame with text in place of numbers if 007 and 7, or 1.10 and 1.1, are different names.

        Otherwise, numbers with spaces around them, or with decimal commas, are numbers.
        """
        import polars

        numbers = [name for name in naming if frame[name].dtype.is_numeric()]
        for column in self._parsed(numbers, infer_schema=False).iter_columns() if numbers else ():
            text = column.str.strip_chars()
            if _are_different_names(text, frame[column.name]):
                frame = frame.with_columns(text)
        for name in naming:
            if frame[name].dtype == polars.String and name not in numbers:
                text = frame[name].str.strip_chars().replace("", None)
                found = _numbers(text) if text.drop_nulls().str.contains(PLAIN_NUMBER).all() else text
                if found.dtype.is_numeric() and not _are_different_names(text, found):
                    frame = frame.with_columns(found)
        return frame

    def _blank_at_the_end(self) -> int:
        """Return the number of blank lines at the end, which polars reads as rows without values."""
        with self.source.open() as stream:
            stream.seek(max(0, self.source.size - TAIL_BYTES))
            tail = stream.read()
        after = tail[len(tail.rstrip(b" \r\n")) :].split(b"\n")[1:]
        return len(after) - (1 if after and not after[-1] else 0)

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the line that each row begins on, and its fields; the first row is the header."""
        with self.source.open() as stream:
            text = io.TextIOWrapper(stream, "utf-8-sig", errors="replace", newline="")
            reader = csv.reader(text, delimiter=self._separator, strict=True)
            begins, started = 1, False
            for number, record in enumerate(reader):
                started = started or (bool(record) and number >= self._skipped)
                if started:
                    yield begins, record
                begins = reader.line_num + 1

    def line(self, row: int) -> int | None:
        """Find the line by reading the file again: quoted cells may span several lines."""
        try:
            return next((begins for i, (begins, _) in enumerate(self._records(), start=-1) if i == row), None)
        except csv.Error:
            return None

    def _quotation_left_open(self) -> str:
        """Return where a quotation mark is never closed, or ""; an older Polars reads all after it as one cell."""
        with self.source.open() as stream:
            marks = sum(piece.count(b'"') for piece in iter(partial(stream.read, 1 << 20), b""))
        begins = 0
        if marks % 2:
            try:
                for begins, _ in self._records():  # noqa: B007
                    pass
            except csv.Error as found:
                return _after(begins) if END_IN_QUOTATION in str(found) else ""
        return ""

    def _what_is_wrong(self, error: Exception) -> str:
        with self.source.open() as stream:
            for number, line in enumerate(stream, start=1):
                try:
                    line.removeprefix(BOM).decode()
                except UnicodeDecodeError:
                    return f"is not UTF-8 text at line {number}: save it as UTF-8"
        begins = 0
        try:
            for begins, record in self._records():
                if len(record) > self._width:
                    return f"has {len(record)} fields at line {begins}, but {self._width} in its header"
        except csv.Error as found:
            where = _after(begins)
            if END_IN_QUOTATION in str(found):
                return f"has a quotation mark {where} that is never closed"
            return f"cannot be read {where}: {found}"
        return f"cannot be read as {self.source.format.name}: {str(error).splitlines()[0]}"


def _after(line: int) -> str:
    return f"after line {line}" if line else "at line 1"


def _split(lines: list[str], own: str) -> tuple[str, list[str]]:
    """Return the separator, `own` or another that the header contains, and the names in the header."""
    fields = []
    for separator in (own, *(other for other in SEPARATORS if other != own)):
        fields = next(csv.reader(lines, delimiter=separator), [])
        if len(fields) > 1:
            return separator, fields
    return own, next(csv.reader(lines, delimiter=own), [])


def _are_different_names(text: polars.Series, numbers: polars.Series) -> bool:
    """Return whether cells that are the same number are different names, or have zeros before them."""
    same = text.str.replace(NO_FRACTION, "").n_unique() == numbers.n_unique()
    return not same or bool(text.str.contains(LEADING_ZERO).any())


def _numbers(column: polars.Series) -> polars.Series:
    """Return a column of text as truth values, integers or floats if all of it spells such, otherwise as it is."""
    import polars

    known = column.drop_nulls()
    if known.is_in(["true", "false"]).all():
        return column == "true"
    if known.str.contains(MORE_DIGITS_THAN_64_BITS).any():
        return column
    for dtype in (polars.Int64, polars.Float64):
        numbers = column.cast(dtype, strict=False)
        if numbers.null_count() == column.null_count():
            return numbers
    return column


def _with_points(frame: polars.DataFrame) -> polars.DataFrame:
    """Return the frame with points for decimal commas, in text columns without any point.

    Columns in which every comma may separate thousands (1,234 next to 987) stay text, which is no number.
    """
    import polars

    for column in frame.iter_columns():
        if column.dtype != polars.String or column.str.contains(".", literal=True).any():
            continue
        with_comma = column.filter(column.str.contains(",", literal=True))
        if not with_comma.str.contains(LIKE_THOUSANDS).all():
            frame = frame.with_columns(column.str.replace(DECIMAL_COMMA, "${1}.${2}"))
    return frame


# --- writing ----------------------------------------------------------------------------------------------------------


@final
class DelimitedRows(TextRows):
    """Rows of cells between separators, like those that `DelimitedTable` reads.

    If columns are added at the end, the text of a row is kept byte by byte. If a column is replaced, or the separator
    changes (`to`), cells keep their text and are quoted if they contain a separator, a quotation mark or a line end.
    """

    def __init__(self, source: str, lines: Iterator[str], separator: str, *, to: str | None = None) -> None:
        self.source = source
        before, first = _up_to_header(lines)
        declared = first.strip().strip('"').lower()
        if len(declared) == 5 and declared.startswith("sep=") and declared[4] in SEPARATORS:
            before, first, separator = [*before, first], next(lines, ""), declared[4]
        if not first:
            raise InputError(f"{source} is empty")
        self._separator = _split([first], separator)[0]
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
        """Yield lines to the parser, and keep them until it has returned the row."""
        for line in lines:
            self._kept.append(line)
            yield line

    def _parsed(self) -> Iterator[list[str]]:
        """Yield the cells of each row; errors name the line that it begins on."""
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
        """Return the text of the row that the parser has just returned."""
        text = self._kept[0] if len(self._kept) == 1 else "".join(self._kept)
        self._kept.clear()
        return text

    def batches(self, plan: Plan, batch_rows: int) -> Iterator[TextBatch]:
        read = (*plan.take, *plan.segments)
        places, width = [self.names.index(name) for name in read], len(self.names)
        self._line = self._skipped + self._reader.line_num + 1
        batch = TextBatch([[] for _ in read])
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
                    batch = TextBatch([[] for _ in read])
        for text, _ in waiting:
            batch.add_blank(text)
        yield batch

    def names_in(self, column: str, cells: Sequence[Any]) -> list[Any]:
        return [None if cell in NULLS else cell.strip() or None for cell in cells]

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


def _up_to_header(lines: Iterator[str]) -> tuple[list[str], str]:
    """Return the byte order mark and the empty lines at the beginning, and the first line that is not empty."""
    before: list[str] = []
    for number, line in enumerate(lines):
        if number == 0 and line.startswith(BYTE_ORDER_MARK):
            before, line = [BYTE_ORDER_MARK], line[1:]
        if line.strip("\r\n"):
            return before, line
        before.append(line)
    return before, ""


def _quoted(cell: str, separator: str) -> str:
    if any(mark in cell for mark in (separator, '"', "\n", "\r")):
        return '"' + cell.replace('"', '""') + '"'
    return cell
