"""The two ends of a stream: what is read, what is written, and what kinds they are."""

from __future__ import annotations

import errno
import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast, get_args

from believable import _check
from believable._write import write_beside
from believable.errors import InputError
from believable.readers.source import BOM, ENDINGS, GZIP, MAGIC, Format, called, sniffed

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
            raise InputError(f"{name} is {found[0]}, not {kind}: say what it is with format")
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
