"""What a file format is: a `Format` recognises the bytes of a `Source`, and opens them as a `Table`.

To add one, derive from `Format` (or `TextFormat` in `text.py`, for a format whose rows are text) and enter it into
`FORMATS` in `__init__.py`: reading, standard input, `--format` and `believable apply` know it from there.
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
HEAD_BYTES = 1 << 20  # in which a header ends
BOM = b"\xef\xbb\xbf"
GZIP = b"\x1f\x8b"


def called(path: str | os.PathLike[str]) -> str:
    """What to call a path in a sentence."""
    return STDIN if os.fspath(path) == PIPE else os.fspath(path)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a table comes from.

    Attributes
    ----------
    name : str
        What to call it in a sentence: the path, or "standard input".
    format : Format
    content : Path or bytes
        A file, or what was read already: standard input, a pipe, a file that was compressed.
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
        """Return the first bytes, without the mark that some editors put before UTF-8."""
        with self.open() as stream:
            return stream.read(HEAD_BYTES).removeprefix(BOM)

    def given(self) -> Path | BinaryIO:
        """Return what a file engine takes; a path lets it map the file into memory."""
        return self.content if isinstance(self.content, Path) else io.BytesIO(self.content)


class Format(ABC):
    """A file format: how to recognise it, read it, and write a file of it again with more columns.

    Attributes
    ----------
    name : str
        What `format` and `--format` call it.
    endings : tuple of str
        How the names of its files end, the usual ending first.
    description : str
        What such a file is, in a sentence: "a Parquet file".
    magic : bytes
        The bytes that every such file begins with; none for text.
    compression : str
        Why ".gz" does not follow the ending of a file that is written, as a clause; empty where it may.
    """

    name: str
    endings: tuple[str, ...]
    description: str
    magic: bytes = b""
    compression: str = ""

    def sniff(self, head: bytes) -> bool:
        """Tell whether the first bytes, of a pipe that has no ending, are those of this format."""
        return bool(self.magic) and head.startswith(self.magic)

    def refuse(self, name: str, head: bytes) -> None:
        """Raise where a file that is said to be of this format cannot be, by its first bytes."""
        return

    @abstractmethod
    def open(self, source: Source) -> Table:
        """Open the table in a file; its columns are known then, their contents not read yet."""

    # --- writing ---

    @abstractmethod
    def add_columns(self, addition: Addition, opened: Opened, target: Target) -> int:
        """Write a file of this format again with columns that are computed from its own; return the number of rows."""

    def becomes(self, other: Format) -> bool:
        """Tell whether a file of this format can be written as one of the other, without a guess."""
        return other is self

    def piped(self) -> Format:
        """Return the format in which a file of this format is written to the standard output."""
        return self

    @property
    def is_text(self) -> bool:
        """Whether it can be read on a terminal."""
        return not self.magic


class FrameSink(ABC):
    """A format that polars can write a lazy frame as, piece by piece; Parquet files can become such."""

    @abstractmethod
    def sink(self, frame: polars.LazyFrame, where: Path | IO[bytes], *, compressed: bool) -> None:
        """Write the frame, compressed with gzip if asked for."""


class Table(ABC):
    """A table in a file.

    Attributes
    ----------
    source : Source
    names : tuple of str
        Its columns.
    arrays : dict of str to tuple of int
        The shapes of arrays by name, in files that hold arrays: one of shape (n, K) makes K columns. Else empty.
    notes : tuple of str
        What a reader of the report should know about how it was read.
    """

    source: Source
    names: tuple[str, ...]
    arrays: Mapping[str, tuple[int, ...]] = {}
    notes: tuple[str, ...] = ()

    @final
    def read(self, names: Sequence[str] | None = None, *, naming: Sequence[str] = ()) -> polars.DataFrame:
        """Read these columns (None: all of them), every row; in those `naming`, what is written differently differs."""
        frame = self._read(self.names if names is None else list(dict.fromkeys(names)))
        frame = self._as_written(frame, list(dict.fromkeys(naming)))
        if frame.height == 0:
            raise InputError(f"{self.source.name} has a header and no rows")
        return frame

    def columns_of(self, array: str) -> tuple[str, ...]:
        """Return the names of the columns that an array makes."""
        width = width_of(self.arrays[array])
        return (array,) if width == 1 else tuple(f"{array}_{k}" for k in range(width))

    def line(self, row: int) -> int | None:
        """Return the line, as an editor counts, that a row begins on; None where there are no lines."""
        return None

    def _as_written(self, frame: polars.DataFrame, naming: Sequence[str]) -> polars.DataFrame:
        """Names that were taken for numbers as they are in the file, where that is not the same."""
        return frame

    @abstractmethod
    def _read(self, names: Sequence[str]) -> polars.DataFrame: ...


def width_of(shape: tuple[int, ...]) -> int:
    """Return how many columns an array of this shape makes."""
    return shape[1] if len(shape) == 2 else 1
