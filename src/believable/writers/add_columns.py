"""Add columns to a file, in batches of rows; other cells and the order of rows stay as they are."""

from __future__ import annotations

import errno
import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from believable import _check
from believable._write import write_beside
from believable.errors import InputError
from believable.readers.formats import FORMATS, format_by_ending, format_by_magic, format_called, sniffed
from believable.readers.formats.addition import Addition, Opened, Target
from believable.readers.formats.base import GZIP, PIPE, Format, called


def add_columns(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    addition: Addition,
    *,
    format: str | None = None,
) -> int:
    """Copy a file and add columns that are computed from its own.

    Rows are read in batches, so memory does not grow with the file. A row of CSV, TSV or JSON lines keeps its exact
    text and gets the new cells at the end, with numbers written so that they read back as the same float. Parquet keeps
    its types, and npz its arrays. The target is created only when it is complete.

    Parameters
    ----------
    source, target : path, or "-"
        The endings decide the format, as in `read_predictions`; text formats may have .gz in addition. The target has
        the format of the source, except that csv may become tsv and vice versa, and Parquet any format but npz. "-" is
        the standard input or output: the first bytes decide the format of the input, and the output has the same, or
        csv for Parquet.
    addition : Addition
        Which columns to read and to add, and how. An `InputError` of its `compute` that names a row of the batch is
        raised again with the row and the line of the file. Where `overwrite` replaces a column, rows of text are
        rewritten: cells keep their text, but not their quotation marks.
    format : str, optional
        The format of the source, whatever its ending.

    Returns
    -------
    int
        The number of rows.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from believable.readers.formats.addition import Plan
    >>> with TemporaryDirectory() as folder:
    ...     old, new = Path(folder) / "old.csv", Path(folder) / "new.csv"
    ...     _ = old.write_text('id,p\\n007,0.25\\n"a, b",1\\n')
    ...     halves = Addition("old.csv", lambda contents: Plan(("p",), ("half",)), lambda p: p / 2)
    ...     n_rows = add_columns(old, new, halves)
    ...     print(new.read_text())
    id,p,half
    007,0.25,0.125
    "a, b",1,0.5
    """
    _check.choice(addition.missing, ("error", "keep"), "missing")
    _check.positive_integer(addition.batch_rows, "batch_rows")
    with _opened(source) as opened:
        read = _format_read(source, format, opened)
        written = _format_written(source, read, target)
        compressed = os.fspath(target).lower().endswith(".gz")
        with _written_to(target) as where:
            return read.add_columns(addition, opened, Target(where, written, compressed))


# --- source and target, and their formats -----------------------------------------------------------------------------


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[Opened]:
    """Open a file, a pipe or the standard input as bytes, decompressed if necessary."""
    name, file = called(path), Path(path)
    try:
        if os.fspath(path) == PIPE:
            yield Opened(_plain(_peekable(sys.stdin.buffer)), None)
            return
        if not file.exists():
            raise InputError(f"there is no file {name}")
        if file.is_dir():
            raise InputError(f"{name} is a folder, not a file: name its files one at a time")
        with file.open("rb") as stream:
            yield Opened(_plain(stream), file if file.is_file() else None)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:  # this is noticed only while reading
        raise InputError(f"{name} is compressed and damaged: {error}") from error


def _peekable(stream: Any) -> io.BufferedReader:
    return stream if hasattr(stream, "peek") else io.BufferedReader(stream)


def _plain(stream: io.BufferedReader) -> io.BufferedReader:
    if stream.peek(2)[:2] != GZIP:
        return stream
    return io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(fileobj=stream)))


def _format_read(path: str | os.PathLike[str], format: str | None, opened: Opened) -> Format:
    """Return the format of the source: as given, by the ending, or for pipes by the first bytes."""
    head, name = opened.stream.peek(), called(path)
    said = None if format is None else format_called(format)
    read = said or (sniffed(head) if opened.path is None else _by_ending(path))
    other = format_by_magic(head)
    if read.is_text and other is not None:
        raise InputError(
            "{file} is {what}, not {kind}: name its format with {format}", file=name, what=other.name, kind=read.name
        )
    read.refuse(name, head)
    return read


def _by_ending(path: str | os.PathLike[str]) -> Format:
    found = format_by_ending(path)
    if found is not None:
        return found
    text_first = sorted(FORMATS, key=lambda one: not one.is_text)
    *most, last = (ending for one in text_first for ending in one.endings)
    raise InputError(f"{os.fspath(path)}: the file must end in {', '.join(most)} or {last}")


def _format_written(source: str | os.PathLike[str], read: Format, target: str | os.PathLike[str]) -> Format:
    """Return the format of the target: by the ending, if the source can be written in it."""
    if os.fspath(target) == PIPE:
        piped = read.piped()
        if not piped.is_text and sys.stdout.isatty():
            raise InputError(
                f"{called(source)} is {read.name}, and that is nothing to read on a terminal: name a file to write"
            )
        return piped
    if Path(target).is_dir():
        raise InputError(f"{os.fspath(target)} is a folder, not a file")
    if Path(target).exists() and not Path(target).is_file():
        return read  # pipes have no ending
    written = _by_ending(target)
    if written.compression and os.fspath(target).lower().endswith(".gz"):
        raise InputError(f"{os.fspath(target)}: {written.compression} by itself, so let it end in {written.endings[0]}")
    if not read.becomes(written):
        raise InputError(
            f"{called(source)} is {read.name} and {os.fspath(target)} would be {written.name}: columns are added, and "
            f"the rest stays as it is, so let it end in {read.endings[0]}"
        )
    return written


@contextmanager
def _written_to(target: str | os.PathLike[str]) -> Iterator[Path | IO[bytes]]:
    """Write beside the target, which is replaced at the end, or to the standard output."""
    if os.fspath(target) == PIPE:
        try:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        except OSError as error:
            if "roken pipe" in str(error):  # polars reports it in words, without the error number
                raise BrokenPipeError(errno.EPIPE, "Broken pipe") from error
            raise
        return
    with write_beside(target) as path:
        yield path
