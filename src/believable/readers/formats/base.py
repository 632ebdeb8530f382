"""Base classes of file formats: a `Format` recognises the bytes of a `Source`, and opens them as a `Table`.

To add one, derive from `Format` (or `TextFormat` in `text.py`, for a format whose rows are text) and add it to
`FORMATS` in `__init__.py`. Reading, standard input, `--format` and `believable apply` then support it.
"""

from __future__ import annotations

import io
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, final

from believable.errors import InputError

if TYPE_CHECKING:
    import polars

    from believable.readers.formats.addition import Addition, Opened, Target

STDIN = "standard input"
PIPE = "-"
HEAD_BYTES = 1 << 20  # enough for any header
BOM = b"\xef\xbb\xbf"
GZIP = b"\x1f\x8b"


def called(path: str | os.PathLike[str]) -> str:
    """Return the name of a path in messages."""
    return STDIN if os.fspath(path) == PIPE else os.fspath(path)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a table comes from.

    Attributes
    ----------
    name : str
        Its name in messages: the path, or "standard input".
    format : Format
    content : Path or bytes
        The path of a file, or bytes that were read already: of standard input, a pipe or a compressed file.
    """

    name: str
    format: Format
    content: Path | bytes

    @property
    def size(self) -> int:
        """The number of bytes."""
        return len(self.content) if isinstance(self.content, bytes) else self.content.stat().st_size

    def open(self) -> BinaryIO:
        """Open the bytes at the beginning."""
        return io.BytesIO(self.content) if isinstance(self.content, bytes) else self.content.open("rb")

    def head(self) -> bytes:
        """Return the first bytes, without a byte order mark."""
        with self.open() as stream:
            return stream.read(HEAD_BYTES).removeprefix(BOM)

    def given(self) -> Path | BinaryIO:
        """Return what polars reads: a path, which it can map into memory, or a stream.

        Before 2.1 it reads no chosen columns of a path with wildcards in it.
        """
        if isinstance(self.content, bytes):
            return io.BytesIO(self.content)
        if WILDCARDS.intersection(str(self.content)) and polars_before(2, 1):
            return io.BytesIO(self.content.read_bytes())
        return self.content


WILDCARDS = frozenset("*?[")


def polars_before(*version: int) -> bool:
    """Return whether this is an older Polars, some of whose bugs and gaps have to be bypassed."""
    import polars

    return tuple(map(int, polars.__version__.split(".")[:2])) < version


class Format(ABC):
    """A file format: how to recognise it, read it, and write a file of it again with more columns.

    Attributes
    ----------
    name : str
        Its name for `format` and `--format`.
    endings : tuple of str
        The endings of its file names, the usual one first.
    description : str
        Such a file in messages, such as "a Parquet file".
    magic : bytes
        The bytes that every such file begins with; none for text.
    compression : str
        A clause that says why such a file is not compressed with gzip; empty if it can be.
    """

    name: str
    endings: tuple[str, ...]
    description: str
    magic: bytes = b""
    compression: str = ""

    def sniff(self, head: bytes) -> bool:
        """Return whether the first bytes of a pipe, which has no ending, look like this format."""
        return bool(self.magic) and head.startswith(self.magic)

    def refuse(self, name: str, head: bytes) -> None:
        """Raise if the first bytes show that a file is not in this format."""
        return

    @abstractmethod
    def open(self, source: Source) -> Table:
        """Open the table in a file, whose columns are read later."""

    # --- writing ---

    @abstractmethod
    def add_columns(self, addition: Addition, opened: Opened, target: Target) -> int:
        """Write a file with additional columns, computed from its own, and return the number of rows."""

    def becomes(self, other: Format) -> bool:
        """Return whether a file of this format can be converted to the other without guessing."""
        return other is self

    def piped(self) -> Format:
        """Return the format that is used if the result goes to standard output."""
        return self

    @property
    def is_text(self) -> bool:
        """Whether files of this format are text."""
        return not self.magic


class FrameSink(ABC):
    """A format in which polars writes a lazy frame piece by piece; Parquet files can be converted to it."""

    @abstractmethod
    def sink(self, frame: polars.LazyFrame, where: Path | IO[bytes], *, compressed: bool) -> None:
        """Write the frame, compressed with gzip if asked for."""


class Table(ABC):
    """A table in a file.

    Attributes
    ----------
    source : Source
    names : tuple of str
        The names of its columns.
    arrays : dict of str to tuple of int
        The shapes of arrays by name, in a file of arrays: one of shape (n, K) has K columns. Otherwise empty.
    notes : tuple of str
        Notes for the report on how it was read.
    """

    source: Source
    names: tuple[str, ...]
    arrays: Mapping[str, tuple[int, ...]] = {}
    notes: tuple[str, ...] = ()

    @final
    def read(self, names: Sequence[str] | None = None, *, naming: Sequence[str] = ()) -> polars.DataFrame:
        """Read these columns (None: all of them); in columns `naming` clusters or subgroups, 1 and 01 are different."""
        frame = self._read(self.names if names is None else list(dict.fromkeys(names)))
        frame = self._as_written(frame, list(dict.fromkeys(naming)))
        if frame.height == 0:
            raise InputError(f"{self.source.name} has a header but no rows")
        return frame

    def columns_of(self, array: str) -> tuple[str, ...]:
        """Return the names of the columns of an array."""
        width = width_of(self.arrays[array])
        return (array,) if width == 1 else tuple(f"{array}_{k}" for k in range(width))

    def line(self, row: int) -> int | None:
        """Return the line that a row begins on, counted from 1; None if the format has no lines."""
        return None

    def _as_written(self, frame: polars.DataFrame, naming: Sequence[str]) -> polars.DataFrame:
        """Return the frame with names that look like numbers as the text of the file, if that differs."""
        return frame

    @abstractmethod
    def _read(self, names: Sequence[str]) -> polars.DataFrame: ...


def width_of(shape: tuple[int, ...]) -> int:
    """Return the number of columns of an array of this shape."""
    return shape[1] if len(shape) == 2 else 1
