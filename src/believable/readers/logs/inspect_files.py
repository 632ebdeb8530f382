"""The samples of an evaluation log of Inspect AI, one at a time, without Inspect.

A log NAME.eval is a ZIP archive: `header.json`, `samples/ID_epoch_N.json` and summaries, compressed with Deflate, or
with Zstandard by newer versions. `header.json` is missing while the evaluation runs. A log NAME.json is a single object
with the same header and all samples in the array "samples".
"""

from __future__ import annotations

import copy
import io
import json
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from believable.errors import BelievableError, InputError, MissingDependencyError

ENDING = ".eval"
SAMPLES = re.compile(r"samples/.+\.json", re.DOTALL)  # an id may contain anything
HEADER = "header.json"
UNFINISHED = {"status": "started"}
ZSTANDARD = 93  # the number of this compression in ZIP archives
PYTHON_WITH_ZSTANDARD = (3, 14)
LARGEST_MEMBER = 2 << 30
BYTES_LOOKED_AT = 4096
CHARACTERS_AT_A_TIME = 1 << 20
FIELDS_OF_JSON_LOGS = ('"version"', '"eval"')

Sample = dict[str, Any]


def is_eval_log(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is an evaluation log of Inspect AI, by its ending (.eval) or, for .json, its first fields.

    False for a file that cannot be read, so that its reader raises the error.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.json"
    >>> _ = path.write_text('{"version": 2, "status": "success", "eval": {"task": "arc"}, "samples": []}')
    >>> is_eval_log(path), is_eval_log("2026-11-19_arc.eval"), is_eval_log("scores.csv")
    (True, True, False)
    """
    name = Path(path).name.lower()
    if not name.endswith(".json"):
        return name.endswith(ENDING)
    try:
        with Path(path).open("rb") as file:
            first = file.read(BYTES_LOOKED_AT).decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    except OSError:
        return False
    return first.startswith("{") and all(field in first for field in FIELDS_OF_JSON_LOGS)


def samples(path: str | os.PathLike[str], header: dict[str, Any] | None = None) -> Iterator[Sample]:
    """Yield the samples of a log in the order of the file; only one is in memory at a time.

    `header` receives the other fields of the log, such as its status, before the last sample has been passed. A log
    without a header has the status "started", because Inspect writes it last.
    """
    path = _file(path)
    header = {} if header is None else header
    if path.name.lower().endswith(".json"):
        yield from _samples_of_json(path, header)
        return
    with _archive(path) as archive:
        members = dict(archive.NameToInfo)  # of several members with the same name, the last counts, as for Inspect
        header |= _object(path, HEADER, _content(path, archive, members[HEADER])) if HEADER in members else UNFINISHED
        for name, member in members.items():
            if SAMPLES.fullmatch(name):
                yield _object(path, name, _content(path, archive, member))


def _file(path: str | os.PathLike[str]) -> Path:
    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no file {path}" if not path.exists() else f"{path} is a folder, not a file")
    return path


# --- .eval: a ZIP archive ---------------------------------------------------------------------------------------------


def _archive(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise InputError(
            f"{path} is not a complete .eval log of Inspect, which is a ZIP archive: {error}. If it was copied while "
            "the evaluation ran, copy it again"
        ) from error


def _content(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    if member.file_size > LARGEST_MEMBER:
        raise InputError(
            f"{path}: {member.filename!r} has {member.file_size / (1 << 30):.1f} GiB, more than is read "
            f"({LARGEST_MEMBER >> 30} GiB)"
        )
    try:
        if member.compress_type == ZSTANDARD:
            return _unpacked(path, archive, member)
        with archive.open(member) as stream:
            return stream.read()
    except (BelievableError, MemoryError):
        raise
    except Exception as error:  # each decompressor has errors of its own
        raise InputError(f"{path}: {member.filename!r} is damaged or encrypted: {error}") from error


def _unpacked(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Return a member that is compressed with Zstandard.

    `zipfile` reads it from Python 3.14 on, but only the first of the frames in which Inspect writes large members.
    """
    as_stored = copy.copy(member)
    as_stored.compress_type = zipfile.ZIP_STORED
    as_stored.file_size = member.compress_size
    del as_stored.CRC  # that of the uncompressed bytes, which is checked here
    with archive.open(as_stored) as packed, _decompressed(path, packed) as stream:
        content: bytes = stream.read(member.file_size + 1)
    if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
        raise zipfile.BadZipFile("its content is not what the archive says")
    return content


def _decompressed(path: Path, packed: IO[bytes]) -> Any:
    """Return a stream of what Zstandard compressed, by the first package that is there."""
    if sys.version_info >= PYTHON_WITH_ZSTANDARD:
        return import_module("compression.zstd").ZstdFile(packed)
    try:
        import zstandard
    except ImportError:
        pass
    else:
        return io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True))
    try:
        import pyarrow
    except ImportError:
        raise MissingDependencyError(
            f"{path} is compressed with Zstandard, which Python reads from version 3.14 on; for older versions: "
            "pip install zstandard"
        ) from None
    return pyarrow.CompressedInputStream(pyarrow.PythonFile(packed, mode="r"), "zstd")


def _object(path: Path, name: str, content: bytes) -> Sample:
    try:
        values = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: {name!r} is not JSON ({error})") from error
    if not isinstance(values, dict):
        raise InputError(f"{path}: {name!r} must hold an object, got {str(values)[:60]!r}")
    return values


# --- .json: one object ------------------------------------------------------------------------------------------------


class _Text:
    """A JSON text, of which only the part that is being read is in memory."""

    def __init__(self, path: Path, stream: IO[str]) -> None:
        self.path, self.stream = path, stream
        self.text, self.place, self.ended = "", 0, False
        self.decoder = json.JSONDecoder()

    def _more(self) -> bool:
        """Read on, by as much again as is in memory; return whether there was anything."""
        self.text = self.text[self.place :]
        self.place = 0
        more = self.stream.read(max(CHARACTERS_AT_A_TIME, len(self.text)))
        self.text += more
        self.ended = not more
        return not self.ended

    def next(self) -> str:
        """Return the next character that is not white space, without passing it; "" at the end."""
        while True:
            while self.place < len(self.text) and self.text[self.place] in " \t\r\n":
                self.place += 1
            if self.place < len(self.text) or not self._more():
                return self.text[self.place : self.place + 1]

    def passed(self, expected: str) -> str:
        """Pass the next character, which must be one of these."""
        found = self.next()
        if not found or found not in expected:
            raise InputError(
                f"{self.path} is not a complete .json log of Inspect: expected {' or '.join(expected)}, got "
                f"{found!r}" + ("" if found else ", the end of the file")
            )
        self.place += 1
        return found

    def value(self) -> Any:
        """Return the next value and pass it."""
        self.next()
        while True:
            try:
                found, end = self.decoder.raw_decode(self.text, self.place)
                if end < len(self.text) or self.ended:  # a number may go on
                    self.place = end
                    return found
            except (ValueError, RecursionError) as error:
                if self.ended or isinstance(error, RecursionError):
                    raise InputError(f"{self.path} is not a complete .json log of Inspect: {error}") from error
            self._more()


def _samples_of_json(path: Path, header: dict[str, Any]) -> Iterator[Sample]:
    """Yield the samples of a .json log, and keep all other fields in `header`."""
    try:
        with path.open(encoding="utf-8-sig") as stream:
            text = _Text(path, stream)
            text.passed("{")
            while text.next() != "}":
                name = text.value()
                text.passed(":")
                if name == "samples" and text.next() == "[":
                    yield from _entries(text)
                else:
                    header[str(name)] = text.value()
                if text.next() != "}":
                    text.passed(",")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not a UTF-8 text file: {error}") from error


def _entries(text: _Text) -> Iterator[Sample]:
    text.passed("[")
    number = 0
    while text.next() != "]":
        number += 1
        entry = text.value()
        if not isinstance(entry, dict):
            raise InputError(f"{text.path}: sample {number} must be an object, got {str(entry)[:60]!r}")
        yield entry
        if text.next() != "]":
            text.passed(",")
    text.passed("]")
