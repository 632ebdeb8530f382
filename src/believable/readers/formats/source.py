"""`Source`: the bytes of a table, wherever they are, and what kind of file they make."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, get_args

from believable import _check
from believable.errors import InputError
from believable.stats.saved import MAGIC as STATISTIC

Format = Literal["csv", "tsv", "parquet", "jsonl", "npz"]

ENDINGS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".npz": "npz",
}
STDIN = "standard input"
HEAD = 1 << 20  # bytes in which a header ends
BOM = b"\xef\xbb\xbf"
GZIP = b"\x1f\x8b"
MAGIC: dict[bytes, Format] = {b"PAR1": "parquet", b"PK\x03\x04": "npz"}


@dataclass(frozen=True, slots=True)
class Source:
    """Where a table comes from.

    Attributes
    ----------
    name : str
        What to call it in a sentence: the path, or "standard input".
    kind : {"csv", "tsv", "parquet", "jsonl", "npz"}
    content : Path or bytes
        A file, or what was read already: standard input, a pipe, a file that was compressed.
    """

    name: str
    kind: Format
    content: Path | bytes

    @property
    def size(self) -> int:
        """In bytes."""
        return len(self.content) if isinstance(self.content, bytes) else self.content.stat().st_size

    def open(self) -> BinaryIO:
        """The bytes from the beginning."""
        return io.BytesIO(self.content) if isinstance(self.content, bytes) else self.content.open("rb")

    def head(self) -> bytes:
        """The first bytes, without the mark that some editors put before UTF-8."""
        with self.open() as stream:
            return stream.read(HEAD).removeprefix(BOM)

    def given(self) -> Path | BinaryIO:
        """What a file engine takes; a path lets it map the file into memory."""
        return self.content if isinstance(self.content, Path) else io.BytesIO(self.content)


def called(path: str | os.PathLike[str]) -> str:
    """What to call a path in a sentence."""
    return STDIN if os.fspath(path) == "-" else os.fspath(path)


def source_of(path: str | os.PathLike[str], format: Format | None = None) -> Source:
    """The file at a path, or standard input for "-".

    What it is, is said by `format`, else by the ending of its name (.gz may follow). Standard input and pipes have no
    ending, so their first bytes decide: those of Parquet or a zip archive (npz), a brace (jsonl), else a tab in the
    first line (tsv) or none (csv).
    """
    if format is not None:
        _check.choice(format, get_args(Format), "format")
    name, file = called(path), Path(path)
    try:
        if name == STDIN:
            return _read_already(name, sys.stdin.buffer.read(), format)
        if not file.exists() and not file.is_symlink():
            raise InputError(f"there is no file {name}")
        if file.is_dir():
            raise InputError(f"{name} is a folder, not a file")
        if not file.is_file():  # a pipe, such as a shell's <(...)
            return _read_already(name, file.read_bytes(), format)
        kind = format or _by_ending(file)
        with file.open("rb") as stream:
            compressed = stream.read(2) == GZIP
        return Source(name, kind, _decompressed(name, file.read_bytes()) if compressed else file)
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or error}") from error


def _by_ending(file: Path) -> Format:
    name = file.name.lower().removesuffix(".gz")
    for ending, kind in ENDINGS.items():
        if name.endswith(ending):
            return kind
    with file.open("rb") as stream:
        if stream.read(len(STATISTIC)) == STATISTIC:
            raise InputError(
                f"{file} holds a saved summary, not rows: `believable audit` reads it, and in Python a recalibrator's "
                "fit_from_cells(Summary.load(...)) learns a map from it"
            )
    *most, last = ENDINGS
    raise InputError(
        "{file}: the file must end in {most} or {last}, or say what it is with {format}",
        file=file,
        most=most,
        last=last,
    )


def _read_already(name: str, data: bytes, format: Format | None) -> Source:
    data = _decompressed(name, data) if data.startswith(GZIP) else data
    return Source(name, format or sniffed(data), data)


def _decompressed(name: str, data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name} is compressed and damaged: {error}") from error


def sniffed(data: bytes) -> Format:
    """What the first bytes say.

    >>> sniffed(b'{"p": 0.5, "y": 1}'), sniffed(b"y\\tp"), sniffed(b"y,p")
    ('jsonl', 'tsv', 'csv')
    """
    for magic, kind in MAGIC.items():
        if data.startswith(magic):
            return kind
    text = data[:HEAD].removeprefix(BOM).lstrip()
    if text.startswith(b"{"):
        return "jsonl"
    return "tsv" if b"\t" in text.partition(b"\n")[0] else "csv"
