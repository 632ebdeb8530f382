"""Read the records of a JSON lines file one at a time, with their line numbers."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from believable.errors import InputError
from believable.readers.formats.base import GZIP


class Record(NamedTuple):
    """An object in a file, and its place: "line 3", or "entry 3" of an array."""

    where: str
    values: dict[str, Any]


def records(path: str | os.PathLike[str]) -> Iterator[Record]:
    """Yield the objects of a file, in order.

    There is one per line, or a single array of them, which some programs write into files called .jsonl. Blank lines
    are skipped, and the file may be compressed with gzip. Anything that is not an object raises an `InputError` with
    the file and the line.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no file {path}" if not path.exists() else f"{path} is a folder, not a file")
    with path.open("rb") as file:
        is_gzip = file.read(2) == GZIP
    some = False
    try:
        with gzip.open(path, "rt", encoding="utf-8-sig") if is_gzip else path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                text = line.strip()
                if not text:
                    continue
                if not some and text.startswith("["):
                    yield from _array(path, text + "\n" + lines.read())
                    return
                some = True
                yield Record(f"line {number}", _object(path, number, text))
    except (UnicodeDecodeError, EOFError, gzip.BadGzipFile) as error:
        raise InputError(f"{path} is not a UTF-8 text file, nor a complete gzip file of one: {error}") from error
    if not some:
        raise InputError(f"{path} is empty")


def _object(path: Path, number: int, text: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(
            "{file}, line {line}: not JSON ({why})",
            file=path,
            line=number,
            why=error,
            hint="expected one object per line",
        ) from error
    if not isinstance(values, dict):
        raise InputError(
            "{file}, line {line}: expected an object with named fields, got {got}",
            file=path,
            line=number,
            got=text[:60],
        )
    return values


def _array(path: Path, text: str) -> Iterator[Record]:
    try:
        values = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"{path} begins with [ but is not a JSON array: {error}") from error
    if not values:
        raise InputError(f"{path} is empty")
    for number, entry in enumerate(values, 1):
        if not isinstance(entry, dict):
            raise InputError(f"{path}, entry {number}: expected an object with named fields, got {str(entry)[:60]}")
        yield Record(f"entry {number}", entry)
