"""JSON lines: one object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, final

from believable.errors import InputError, Sentence
from believable.readers.formats.source import BOM, Source
from believable.readers.formats.table import Table

if TYPE_CHECKING:
    import polars


@final
class JsonlTable(Table):
    """A file of JSON objects; a key that a line lacks is missing there. Blank lines are skipped."""

    def __init__(self, source: Source) -> None:
        import polars

        self.source = source
        if source.head().lstrip().startswith(b"["):
            raise InputError(f"{source.name} holds a list: write one object per line, without brackets around them")
        try:
            with source.open() as stream:  # not the path, which would be read as a pattern
                self._frame = polars.read_ndjson(stream.read(), infer_schema_length=None)
        except (polars.exceptions.PolarsError, OSError):  # the engine does not say where, and knows no NaN
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
        """Blank lines are lines, but not rows."""
        return next((number for i, (number, _) in enumerate(self._lines()) if i == row), None)

    def _carefully(self) -> polars.DataFrame:
        """Line by line, so that an error says which."""
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
    """A column of one type; where the types are mixed, all of it as text."""
    import polars

    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float}:
        try:
            return polars.Series(name, values, polars.Int64 if kinds == {int} else polars.Float64)
        except (OverflowError, TypeError, polars.exceptions.PolarsError):
            if kinds == {int}:  # names, such as hashes, of more digits than a number holds
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
