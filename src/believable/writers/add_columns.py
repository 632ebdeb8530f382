"""A file with more columns: read in batches of rows, written with every other cell and the order as they are."""

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
    """Write a file again with columns that are computed from some of its own.

    Rows are read in batches, so memory does not grow with the file. A row of CSV, TSV or JSON lines keeps its text to
    the byte and gets its new cells at the end, numbers written so that they read back as the same float. Parquet keeps
    its types, and npz its arrays. The target appears when it is complete, or not at all.

    Parameters
    ----------
    source, target : path, or "-"
        Their endings say what they are, as in `read_predictions`; .gz may follow those of text. The target is of the
        format of the source, except that csv may become tsv and the other way round, and Parquet any of the others but
        npz. "-" is the standard input or output; its first bytes say what comes in, and what goes out is the same, csv
        for Parquet.
    addition : Addition
        Which columns to take, which to make and how; see there. An `InputError` of its `compute` that says "at row 3"
        is about the batch, and is told again with the row and the line of the file. Where `overwrite` replaces a
        column, rows of text are written anew: cells keep their text, but not their quotation marks.
    format : str, optional
        What the source is, whatever it is called.

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


# --- the two ends: what is read, what is written, and of which formats they are ---------------------------------------


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[Opened]:
    """The bytes of a file, a pipe or the standard input, decompressed if they are compressed."""
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
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:  # found while it is read
        raise InputError(f"{name} is compressed and damaged: {error}") from error


def _peekable(stream: Any) -> io.BufferedReader:
    return stream if hasattr(stream, "peek") else io.BufferedReader(stream)


def _plain(stream: io.BufferedReader) -> io.BufferedReader:
    if stream.peek(2)[:2] != GZIP:
        return stream
    return io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(fileobj=stream)))


def _format_read(path: str | os.PathLike[str], format: str | None, opened: Opened) -> Format:
    """What is read: as said, or by the ending, or (for pipes) by the first bytes."""
    head, name = opened.stream.peek(), called(path)
    said = None if format is None else format_called(format)
    read = said or (sniffed(head) if opened.path is None else _by_ending(path))
    other = format_by_magic(head)
    if read.is_text and other is not None:
        raise InputError(
            "{file} is {what}, not {kind}: say what it is with {format}", file=name, what=other.name, kind=read.name
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
    """What is written: by the ending, where that is the format of the source, or can be without a guess."""
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
        return read  # a pipe has no ending
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
