"""CSV and TSV files, and what spreadsheets make of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, final

from believable.errors import InputError
from believable.readers.formats.source import BOM, Source
from believable.readers.formats.table import Table

if TYPE_CHECKING:
    import polars

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
NULLS = ("", "NA", "N/A", "n/a", "NaN", "nan", "null")
SCHEMA_ROWS = 10_000  # rows a column's type is first guessed from
TAIL = 1 << 16  # bytes in which to look for blank lines at the end
LEADING_ZERO = r"^[-+]?0\d"
NO_FRACTION = r"\.0+$"  # 1.0 is 1
THOUSANDS = r"^\s*[-+]?[1-9]\d{0,2},\d{3}\s*$"
THOUSANDS_BY_POINTS = r"^[-+]?[1-9]\d{0,2}\.\d{3}$"
DECIMAL_COMMA = r"^(\s*[-+]?\d*),(\d+\s*%?\s*)$"


@final
class DelimitedTable(Table):
    """A text file with a header and one row per line.

    Commas separate the columns of csv, tabs those of tsv. Where the header has none, a semicolon, tab, bar or comma
    that it does have is taken, and numbers may then have decimal commas. Excel's first line "sep=;" is understood.
    Spaces around names are left out, and so are columns without a name and blank lines at the end.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        text = source.head().decode("utf-8", errors="replace")
        if "\r" in text and "\n" not in text:
            raise InputError(
                f"{source.name} has lines that end in a carriage return alone: save it with Unix line ends"
            )
        lines = text.splitlines(keepends=True)
        while lines and not lines[0].strip("\r\n"):
            lines.pop(0)
        first = lines[0].strip().strip('"').lower() if lines else ""
        self._skipped = int(len(first) == 5 and first.startswith("sep=") and first[4] in SEPARATORS)
        own = first[4] if self._skipped else {"csv": ",", "tsv": "\t"}[source.kind]
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
                frame = self._parsed(names, infer_schema_length=SCHEMA_ROWS)
            except polars.exceptions.ComputeError:  # a later row does not fit the guess
                frame = self._parsed(names, infer_schema_length=None)
        except (polars.exceptions.PolarsError, OSError) as error:
            raise InputError(f"{self.source.name} {self._what_is_wrong(error)}") from error
        if self._separator == ",":
            return frame
        pointed = _with_points(frame)
        if not pointed.equals(frame):
            self._refuse_points_between_thousands(frame)
        return pointed

    def _refuse_points_between_thousands(self, frame: polars.DataFrame) -> None:
        """Where other columns have decimal commas, 1.234 may well be more than a thousand."""
        floats = [column.name for column in frame.iter_columns() if column.dtype.is_float()]
        for column in self._parsed(floats, infer_schema=False).iter_columns() if floats else ():
            text = column.str.strip_chars()
            with_point = text.filter(text.str.contains(".", literal=True))
            if with_point.str.contains(THOUSANDS_BY_POINTS).all():
                raise InputError(
                    f"{self.source.name} has decimal commas, and {with_point[0]!r} in column {column.name!r}: write "
                    "thousands without a point"
                )

    def _parsed(self, names: Sequence[str], **options: Any) -> polars.DataFrame:
        """The columns, without the blank lines at the end."""
        import polars

        # The engine counts the fields of a row up to the last column it is asked for: 0,1,1,x has one too many, and
        # would pass for the score 0 and the label 1.
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
        """Text in place of numbers where 007 and 7, or 1.10 and 1.1, would be one, or digits would be lost."""
        numbers = [name for name in naming if frame[name].dtype.is_numeric()]
        for column in self._parsed(numbers, infer_schema=False).iter_columns() if numbers else ():
            text = column.str.strip_chars()
            if (
                text.str.contains(LEADING_ZERO).any()
                or text.str.replace(NO_FRACTION, "").n_unique() != frame[column.name].n_unique()
            ):
                frame = frame.with_columns(text)
        return frame

    def _blank_at_the_end(self) -> int:
        """Blank lines at the end, which the engine takes for rows without values."""
        with self.source.open() as stream:
            stream.seek(max(0, self.source.size - TAIL))
            tail = stream.read()
        after = tail[len(tail.rstrip(b" \r\n")) :].split(b"\n")[1:]
        return len(after) - (1 if after and not after[-1] else 0)

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """The line each row begins on, and its fields; the header is the first."""
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
        """Found by reading the file again: rows in quotation marks may be several lines long."""
        try:
            return next((begins for i, (begins, _) in enumerate(self._records(), start=-1) if i == row), None)
        except csv.Error:
            return None

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
            where = f"after line {begins}" if begins else "at line 1"
            if "end of data" in str(found):
                return f"has a quotation mark {where} that is never closed"
            return f"cannot be read {where}: {found}"
        return f"cannot be read as {self.source.kind}: {str(error).splitlines()[0]}"


def _split(lines: list[str], own: str) -> tuple[str, list[str]]:
    """The separator and the names of the header: its own separator, or another that it holds."""
    fields = []
    for separator in (own, *(other for other in SEPARATORS if other != own)):
        fields = next(csv.reader(lines, delimiter=separator), [])
        if len(fields) > 1:
            return separator, fields
    return own, next(csv.reader(lines, delimiter=own), [])


def _with_points(frame: polars.DataFrame) -> polars.DataFrame:
    """Numbers with decimal commas, in text columns without any point, with points instead.

    Where every comma could stand between thousands (1,234 next to 987), they are left, and no number.
    """
    import polars

    for column in frame.iter_columns():
        if column.dtype != polars.String or column.str.contains(".", literal=True).any():
            continue
        with_comma = column.filter(column.str.contains(",", literal=True))
        if not with_comma.str.contains(THOUSANDS).all():
            frame = frame.with_columns(column.str.replace(DECIMAL_COMMA, "${1}.${2}"))
    return frame
