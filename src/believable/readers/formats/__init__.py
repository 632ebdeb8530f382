"""From a file of any known format to its table."""

from __future__ import annotations

import os

from believable.errors import InputError, MissingDependencyError
from believable.readers.formats.delimited import DelimitedTable
from believable.readers.formats.jsonl import JsonlTable
from believable.readers.formats.npz import NpzTable
from believable.readers.formats.parquet import ParquetTable
from believable.readers.formats.source import MAGIC, Format, Source, source_of
from believable.readers.formats.table import Table


def open_table(path: str | os.PathLike[str] | Source, format: Format | None = None) -> Table:
    """The table in a file ("-": standard input); its columns are known, their contents not read yet."""
    try:
        import polars  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError("reading files needs polars: pip install polars") from error
    source = path if isinstance(path, Source) else source_of(path, format)
    head = source.head()
    if not head.strip():
        raise InputError(f"{source.name} is empty")
    if source.kind == "parquet":
        return ParquetTable(source)
    if source.kind == "npz":
        return NpzTable(source)
    for magic, kind in MAGIC.items():
        if head.startswith(magic):
            what = {"parquet": "a Parquet file", "npz": "a zip archive (npz or xlsx)"}[kind]
            raise InputError(
                "{file} is {what}, not {kind}: say what it is with {format}",
                file=source.name,
                what=what,
                kind=source.kind,
            )
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{source.name} is UTF-16 text: save it as UTF-8")
    if b"\0" in head:
        raise InputError(f"{source.name} is not a text file, so not {source.kind}")
    return JsonlTable(source) if source.kind == "jsonl" else DelimitedTable(source)
