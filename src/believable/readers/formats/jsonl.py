"""JSON lines: one object per line."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast, final

from believable.errors import InputError, Sentence
from believable.readers.formats.addition import Plan
from believable.readers.formats.base import BOM, Format, FrameSink, Source, Table, polars_before
from believable.readers.formats.text import BYTE_ORDER_MARK, TextBatch, TextFormat, TextRows, first_line

if TYPE_CHECKING:
    import polars

LINES_FOR_NAMES = 1000  # where keys are looked for that the first object does not have
BLANK_CHARACTERS = " \t\r\n" + BYTE_ORDER_MARK


@final
class JsonLines(TextFormat, FrameSink):
    """One JSON object per line; its keys are the columns."""

    name = "jsonl"
    endings = (".jsonl", ".ndjson")
    description = "a file of JSON objects"

    def sniff(self, head: bytes) -> bool:
        return first_line(head).startswith(b"{")

    def _refuse_text(self, name: str, text: bytes) -> None:
        if text.startswith(b"["):
            raise InputError(f"{name} contains a JSON array: write one object per line, without brackets around them")

    def open(self, source: Source) -> Table:
        return JsonLinesTable(source)

    def rows(self, source: str, lines: Iterator[str], target: Format) -> TextRows:
        return JsonLinesRows(source, lines)

    def sink(self, frame: polars.LazyFrame, where: Path | IO[bytes], *, compressed: bool) -> None:
        if compressed and polars_before(1, 40):
            with cast("IO[bytes]", gzip.open(where, "wb")) as stream:
                frame.collect().write_ndjson(stream)
        elif compressed:
            frame.sink_ndjson(where, compression="gzip")
        elif polars_before(1, 30) and not isinstance(where, Path):
            frame.collect().write_ndjson(where)
        else:
            frame.sink_ndjson(where)


JSONL = JsonLines()


# --- reading ----------------------------------------------------------------------------------------------------------


@final
class JsonLinesTable(Table):
    """A file of JSON objects. A key that an object lacks is a missing value; blank lines are skipped."""

    def __init__(self, source: Source) -> None:
        import polars

        self.source = source
        try:
            if polars_before(1, 36):  # which skips lines that are no objects, and may read a late fraction as 0
                raise polars.exceptions.ComputeError
            with source.open() as stream:  # polars would interpret a path as a pattern
                self._frame = polars.read_ndjson(stream.read(), infer_schema_length=None)
        except (polars.exceptions.PolarsError, OSError):  # polars does not name the line, and does not accept NaN
            self._frame = self._carefully()
        self.names = tuple(self._frame.columns)
        if not self.names:
            raise InputError(f"{source.name} holds objects without any keys")

    def _read(self, names: Sequence[str]) -> polars.DataFrame:
        return self._frame.select(names)

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        with self.source.open() as stream:
            for number, line in enumerate(stream, start=1):
                line = line.removeprefix(BOM) if number == 1 else line
                if line.strip():
                    yield number, line

    def line(self, row: int) -> int | None:
        """Return the line of a row; blank lines count as lines, but not as rows."""
        return next((number for i, (number, _) in enumerate(self._lines()) if i == row), None)

    def _carefully(self) -> polars.DataFrame:
        """Parse the file line by line, so that an error names the line."""
        import polars

        columns: dict[str, list[Any]] = {}
        height = 0
        for number, line in self._lines():
            for key, value in _object(
                Sentence("{file}, line {line}", file=self.source.name, line=number), line
            ).items():
                column = columns.setdefault(key, [])
                column += [None] * (height - len(column))
                column.append(value)
            height += 1
        return polars.DataFrame(
            [_series(name, values + [None] * (height - len(values))) for name, values in columns.items()]
        )


def _object(where: str, line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line.strip())
    except UnicodeDecodeError as error:
        raise InputError("{where}: this is not UTF-8 text; save it as UTF-8", where=where) from error
    except RecursionError as error:
        raise InputError("{where}: this is nested too deeply", where=where) from error
    except json.JSONDecodeError as error:
        raise InputError(
            "{where}, character {column}: this is not JSON ({why})", where=where, column=error.pos + 1, why=error.msg
        ) from error
    if not isinstance(value, dict):
        raise InputError(
            "{where}: one JSON object per line is needed, got {got}", where=where, got=line.decode().strip()[:40]
        )
    return value


def _series(name: str, values: list[Any]) -> polars.Series:
    """Return a column of one type; if the types are mixed, all of it is text."""
    import polars

    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float}:
        try:
            return polars.Series(name, values, polars.Int64 if kinds == {int} else polars.Float64)
        except (OverflowError, TypeError, polars.exceptions.PolarsError):
            if kinds == {int}:  # names, such as hashes, with more digits than an integer type has
                return polars.Series(name, [None if value is None else str(value) for value in values], polars.String)
            return polars.Series(name, [None if value is None else float(value) for value in values], polars.Float64)
    if kinds in ({bool}, {str}):
        return polars.Series(name, values, polars.Boolean if kinds == {bool} else polars.String)
    if kinds == {list} and all(type(x) in (int, float) for value in values if value is not None for x in value):
        return polars.Series(
            name, [None if v is None else [float(x) for x in v] for v in values], polars.List(polars.Float64)
        )
    text = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    return polars.Series(name, text, polars.String)


# --- writing ----------------------------------------------------------------------------------------------------------


@final
class JsonLinesRows(TextRows):
    """One JSON object per line. The columns are the keys of the first; an object without a key has an empty cell."""

    def __init__(self, source: str, lines: Iterator[str]) -> None:
        self.source = source
        self._lines = enumerate(lines, start=1)
        self._waiting: list[tuple[int, str]] = []
        self.names = []
        later: dict[str, None] = {}
        for line, text in self._lines:
            self._waiting.append((line, text))
            if text.strip(BLANK_CHARACTERS):
                found = list(self._object(text, line))
                self.names = self.names or found
                later |= dict.fromkeys(found)
            if self.names and len(self._waiting) >= LINES_FOR_NAMES:
                break
        self.later_names = [name for name in later if name not in self.names]

    def batches(self, plan: Plan, batch_rows: int) -> Iterator[TextBatch]:
        numbers = (*plan.take, *plan.quantities)
        batch = TextBatch([[] for _ in (*numbers, *plan.names)])
        for line, text in chain(self._waiting, self._lines):
            if not text.strip(BLANK_CHARACTERS):
                batch.add_blank(text)
                continue
            parsed = self._object(text, line)
            for column, name in zip(batch.columns, numbers, strict=False):
                column.append(_cell(parsed.get(name)))
            for column, name in zip(batch.columns[len(numbers) :], plan.names, strict=True):
                column.append(parsed.get(name))
            if any(name in parsed for name in plan.make):
                batch.clash.add(len(batch.texts))
            batch.add(text, line)
            if batch.is_full(batch_rows):
                yield batch
                batch = TextBatch([[] for _ in batch.columns])
        yield batch

    def names_in(self, column: str, cells: Sequence[Any]) -> list[Any]:
        for row, value in enumerate(cells):
            if isinstance(value, (list, dict)):
                raise InputError(
                    "column {column!r} must hold one value per row, got nested values at {row}", column=column, row=row
                )
        return [(value.strip() or None) if isinstance(value, str) else value for value in cells]

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


def _without(text: str, names: Sequence[str]) -> str:
    """Return a JSON object without some keys; other values keep their text, because floats could lose digits."""
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


def _cell(value: Any) -> Any:
    """Return a number or text as it is, "" for null, and anything else as JSON text, which is not a number."""
    if value is None:
        return ""
    return value if isinstance(value, (int, float, str)) and not isinstance(value, bool) else json.dumps(value)
