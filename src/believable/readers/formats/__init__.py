"""The file formats, and how the format of a file is found.

A format is a class that recognises, reads and writes files; to add one, write its module and add it to `FORMATS`.
"""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from pathlib import Path
from typing import NoReturn

from believable import _check, _optional
from believable.errors import InputError
from believable.readers.formats.base import GZIP, STDIN, Format, Source, Table, called
from believable.readers.formats.delimited import CSV, TSV
from believable.readers.formats.jsonl import JSONL
from believable.readers.formats.npz import NPZ
from believable.readers.formats.parquet import PARQUET
from believable.stats.saved import FILE_MAGIC as STATISTIC

# In the order of the documentation. The format of a pipe is the last one that recognises its first bytes, else csv.
FORMATS: tuple[Format, ...] = (
    CSV,
    TSV,
    PARQUET,
    JSONL,
    NPZ,
)
FORMAT_NAMES = tuple(one.name for one in FORMATS)
SPREADSHEETS = (".xlsx", ".xls", ".ods")


def format_called(name: str) -> Format:
    """Return the format of this name; the error lists all of them."""
    _check.choice(name, FORMAT_NAMES, "format")
    return next(one for one in FORMATS if one.name == name)


def format_by_ending(path: str | os.PathLike[str]) -> Format | None:
    """Return the format that belongs to the ending of a file name (.gz may follow); None if there is none.

    Examples
    --------
    >>> format_by_ending("scores.NDJSON.gz").name, format_by_ending("scores.xlsx")
    ('jsonl', None)
    """
    name = os.fspath(path).lower().removesuffix(".gz")
    return next((one for one in FORMATS if name.endswith(one.endings)), None)


def format_by_magic(head: bytes) -> Format | None:
    """Return the format whose files all begin with these bytes; None for text."""
    return next((one for one in FORMATS if one.magic and head.startswith(one.magic)), None)


def sniffed(head: bytes) -> Format:
    """Return the last format that recognises the first bytes, or csv if none does.

    Examples
    --------
    >>> [sniffed(head).name for head in (b'{"p": 0.5, "y": 1}', b"y\\tp", b"y,p")]
    ['jsonl', 'tsv', 'csv']
    """
    return next((one for one in reversed(FORMATS) if one.sniff(head)), CSV)


def source_of(path: str | os.PathLike[str], format: str | None = None) -> Source:
    """Return the file at a path, or standard input for "-".

    Its format is `format`, else that of its ending (.gz may follow). Standard input and pipes have no ending, so their
    first bytes decide; see `sniffed`.
    """
    said = None if format is None else format_called(format)
    name, file = called(path), Path(path)
    try:
        if name == STDIN:
            return _read_already(name, sys.stdin.buffer.read(), said)
        if not file.exists() and not file.is_symlink():
            raise InputError(f"there is no file {name}")
        if file.is_dir():
            raise InputError(f"{name} is a folder, not a file")
        if any("\ud800" <= letter <= "\udfff" for letter in name):  # bytes that Python could not decode
            raise InputError(f"the name of the file {name!r} is not UTF-8: rename it")
        if not file.is_file():  # a pipe, such as a shell's <(...)
            return _read_already(name, file.read_bytes(), said)
        found = said or format_by_ending(file) or _refuse_ending(file)
        with file.open("rb") as stream:
            compressed = stream.read(2) == GZIP
        return Source(name, found, _decompressed(name, file.read_bytes()) if compressed else file)
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or error}") from error


def open_table(path: str | os.PathLike[str] | Source, format: str | None = None) -> Table:
    """Open the table in a file ("-": standard input), whose columns are read later."""
    _optional.load("polars", "reading files needs")
    source = path if isinstance(path, Source) else source_of(path, format)
    head = source.head()
    if not head.strip():
        raise InputError(f"{source.name} is empty")
    other = format_by_magic(head)
    if source.format.is_text and other is not None:
        raise InputError(
            "{file} is {what}, not {kind}: name its format with {format}",
            file=source.name,
            what=other.description,
            kind=source.format.name,
        )
    source.format.refuse(source.name, head)
    return source.format.open(source)


def _refuse_ending(file: Path) -> NoReturn:
    with file.open("rb") as stream:
        if stream.read(len(STATISTIC)) == STATISTIC:
            raise InputError(
                f"{file} is a saved summary, which has no rows: `believable audit` reads it, and in Python a "
                "recalibrator is fitted with fit_from_cells(Summary.load(...))"
            )
    if file.suffix.lower() in SPREADSHEETS:
        raise InputError(f"{file} is a spreadsheet, which cannot be read: save it as csv")
    *most, last = (ending for one in FORMATS for ending in one.endings)
    raise InputError(
        "{file}: the file must end in {most} or {last}; otherwise name its format with {format}",
        file=file,
        most=most,
        last=last,
    )


def _read_already(name: str, data: bytes, said: Format | None) -> Source:
    data = _decompressed(name, data) if data.startswith(GZIP) else data
    return Source(name, said or sniffed(data), data)


def _decompressed(name: str, data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name} is compressed and damaged: {error}") from error
