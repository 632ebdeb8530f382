"""Saved statistics: dictionaries with checks of every field, and their binary form; nothing is executed."""

from __future__ import annotations

import hashlib
import json
import math
import struct
import sys
import zlib
from typing import Any

import numpy as np

from believable._types import Array, Float64s, Int64s
from believable.errors import SchemaError


def open_saved(saved: Any, schema: str, version: int) -> None:
    """Raise an error unless this is a dictionary of that schema, in this version or an older one."""
    if not isinstance(saved, dict) or saved.get("schema") != schema:
        found = saved.get("schema") if isinstance(saved, dict) else type(saved).__name__
        raise SchemaError(f"this is not a saved {schema}: found {found!r}")
    if not isinstance(saved.get("version"), int) or not 1 <= saved["version"] <= version:
        raise SchemaError(
            f"{schema} version {saved.get('version')!r} cannot be read: this package supports versions up to {version}"
        )


def field_of(saved: dict[str, Any], name: str, kind: type) -> Any:
    """Return a field, checked to be of a given type."""
    if not isinstance(saved.get(name), kind) or isinstance(saved.get(name), bool):
        raise SchemaError(f"the saved {name} must be a {kind.__name__}, got {saved.get(name)!r}")
    return saved[name]


def float_list(saved: dict[str, Any], name: str) -> Float64s:
    """Return finite numbers, from a list or from the array in a file."""
    array: Float64s = _column(saved, name, np.float64, (int, float), "numbers")
    if not np.isfinite(array).all():
        raise SchemaError(f"the saved {name} must be finite")
    return array


def integer_list(saved: dict[str, Any], name: str) -> Int64s:
    """Return integers, from a list or from the array in a file."""
    column: Int64s = _column(saved, name, np.int64, int, "integers")
    return column


def _column(saved: dict[str, Any], name: str, dtype: Any, kind: Any, words: str) -> Any:
    values = saved.get(name)
    if isinstance(values, np.ndarray):
        if values.dtype != dtype or values.ndim != 1:
            raise SchemaError(f"the saved {name} must be a column of {words}, got {values.dtype}")
        return values
    values = field_of(saved, name, list)
    if not all(isinstance(value, kind) and not isinstance(value, bool) for value in values):
        raise SchemaError(f"the saved {name} must be a list of {words}")
    try:
        return np.array(values, dtype)
    except OverflowError as error:
        raise SchemaError(f"the saved {name} has numbers that are too large") from error


def number_out(value: float) -> float | str:
    """Return a number as JSON can hold it: infinity becomes a word."""
    return "Infinity" if value == math.inf else value


def number_in(saved: dict[str, Any], name: str, infinite: bool = False) -> float:
    """Return a number written by `number_out`; infinity is accepted only if `infinite`."""
    value = saved.get(name)
    if value == "Infinity" and infinite:
        return math.inf
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not abs(value) <= sys.float_info.max:
        raise SchemaError(f"the saved {name} must be a number, got {value!r}")
    return float(value)


# --- the checked binary form: a statistic's dictionary, with its columns as bytes -------------------------------------
#     8 bytes    magic number; no text file starts with it, and a copy in text mode damages it
#     4 + 4 + 8  version of the form, length of the header, length of the columns; little-endian, as everything here
#     header     JSON: {"form": the dictionary with null for each column, "columns": where each belongs, and its length}
#     columns    int64 or float64, one after the other; the first bytes of all entries, then the second bytes, and so
#                on, compressed by zlib if that helps (exponents and counts of neighbouring entries are similar)
#     32 bytes   SHA-256 of everything before
#
# The checksum protects against accidents. A CRC would find any single damaged place just as well; SHA-256 also finds
# combinations of them, and takes 2 ms for a large statistic. It is not a signature: a file can still be forged. So
# everything read passes the checks of `from_dict`, nothing is executed, and nothing may inflate to more than
# `MAX_INFLATION` times the size of the file: the writer keeps to that limit, and the reader enforces it.


FILE_MAGIC = b"\x89believ\n"
FILE_VERSION = 1
MAX_INFLATION = 64
_PRELUDE = struct.Struct("<8sIIQ")
_DIGEST = hashlib.sha256().digest_size
_TYPES = {"i8": np.dtype("<i8"), "f8": np.dtype("<f8")}
_FOREIGN = (
    (b"PK", "a zip or npz file"),
    (b"\x93NUMPY", "a NumPy file"),
    (b"PAR1", "a parquet file: count its rows with believable.readers.summarize_files"),
    (b"ARROW1", "an Arrow file"),
    (b"\x1f\x8b", "a gzip file: unpack it first"),
    (b"\x80", "a pickle"),
    (b"{", "JSON: load such a dictionary with from_dict"),
)


# --- writing ----------------------------------------------------------------------------------------------------------


def pack(form: dict[str, Any]) -> bytes:
    """Return the bytes of a dictionary whose leaves may be 1-D arrays of int64 or float64."""
    found: list[tuple[list[str | int], Array]] = []
    plain = _without_columns(form, [], found)
    raw = [np.ascontiguousarray(column, _TYPES[_code(column)]).tobytes() for _, column in found]
    small = [zlib.compress(_by_place(column), 1) for column in raw]
    if sum(map(len, raw)) > MAX_INFLATION * sum(min(map(len, both)) for both in zip(raw, small, strict=True)):
        small = raw
    columns, body = [], []
    for (path, column), as_is, packed in zip(found, raw, small, strict=True):
        pays = len(packed) < len(as_is)
        body.append(packed if pays else as_is)
        columns.append({"at": path, "type": _code(column), "count": len(column), "bytes": len(body[-1]), "zlib": pays})
    header = json.dumps({"form": plain, "columns": columns}, allow_nan=False, separators=(",", ":")).encode()
    written = _PRELUDE.pack(FILE_MAGIC, FILE_VERSION, len(header), sum(map(len, body))) + header + b"".join(body)
    return written + hashlib.sha256(written).digest()


def _code(column: Array) -> str:
    return f"{column.dtype.kind}8"


def _without_columns(value: Any, path: list[str | int], found: list[tuple[list[str | int], Array]]) -> Any:
    if isinstance(value, np.ndarray):
        found.append((path, value))
        return None
    if isinstance(value, dict):
        return {name: _without_columns(one, [*path, name], found) for name, one in value.items()}
    if isinstance(value, list):
        return [_without_columns(one, [*path, i], found) for i, one in enumerate(value)]
    return value


def _by_place(raw: bytes) -> bytes:
    """Reorder bytes: the first bytes of all entries, then the second bytes, and so on."""
    return np.frombuffer(raw, np.uint8).reshape(-1, 8).T.tobytes()


def _by_entry(raw: bytes) -> bytes:
    return np.frombuffer(raw, np.uint8).reshape(8, -1).T.tobytes()


# --- reading ----------------------------------------------------------------------------------------------------------


def check_beginning(data: bytes, name: str) -> None:
    """Raise an error unless this starts like a file of this form, in a version that can be read."""
    if not data:
        raise SchemaError(f"{name} is empty: save the statistic again")
    if not data.startswith(FILE_MAGIC[: len(data)]):
        what = next((words for begins, words in _FOREIGN if data.startswith(begins)), "something else")
        raise SchemaError(f"{name} is not a saved statistic, but {what}")
    if len(data) < _PRELUDE.size:
        raise SchemaError(f"{name} is cut short, at {len(data)} bytes: save the statistic again, or take another copy")
    version = _PRELUDE.unpack(data[: _PRELUDE.size])[1]
    if not 1 <= version <= FILE_VERSION:
        raise SchemaError(
            f"{name} has version {version} of the file format, but this package supports versions up to "
            f"{FILE_VERSION}: install a newer believable to read it (or take another copy, if no newer one wrote it)"
        )


def unpack(data: bytes, name: str) -> dict[str, Any]:
    """Return the dictionary that `pack` wrote; raise an error if anything differs from what was written."""
    check_beginning(data, name)
    _, _, header_size, body_size = _PRELUDE.unpack(data[: _PRELUDE.size])
    size = _PRELUDE.size + header_size + body_size + _DIGEST
    if len(data) < size:
        raise SchemaError(
            f"{name} is cut short, at {len(data):,} of {size:,} bytes: save the statistic again, or take another copy"
        )
    if len(data) > size:
        raise SchemaError(f"{name} is damaged: it has {len(data) - size:,} bytes after its end; take another copy")
    if hashlib.sha256(data[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise SchemaError(
            f"{name} is damaged, its checksum does not match: save the statistic again, or take another copy"
        )
    begin = _PRELUDE.size + header_size
    try:
        header = json.loads(data[_PRELUDE.size : begin], parse_constant=_no_constant)
        form, columns = header["form"], header["columns"]
        if not isinstance(form, dict):
            raise TypeError("it holds no dictionary")
        _fill(form, columns, data[begin:-_DIGEST])
    except (ValueError, TypeError, KeyError, IndexError, RecursionError, zlib.error) as error:
        raise SchemaError(f"{name} was not written by this package: {error or type(error).__name__}") from error
    return form


def _fill(form: dict[str, Any], columns: list[dict[str, Any]], body: bytes) -> None:
    """Insert the columns into the dictionary."""
    lengths = [(_length(one["count"]), _length(one["bytes"])) for one in columns]
    if sum(stored for _, stored in lengths) != len(body):
        raise ValueError("its columns are not as long as its header says")
    if 8 * sum(count for count, _ in lengths) > MAX_INFLATION * len(body):
        raise ValueError(f"its columns would take more than {MAX_INFLATION} times its size")
    begin = 0
    for one, (count, stored) in zip(columns, lengths, strict=True):
        raw = body[begin : begin + stored]
        begin += stored
        if one["zlib"]:
            inflate = zlib.decompressobj()
            raw = inflate.decompress(raw, 8 * count + 1)
            if not inflate.eof or inflate.unused_data:
                raise ValueError("a column is not as long as its header says")
            raw = _by_entry(raw) if len(raw) == 8 * count else b""
        if len(raw) != 8 * count:
            raise ValueError("a column is not as long as its header says")
        kind = _TYPES[one["type"]]
        _put(form, one["at"], np.frombuffer(raw, kind).astype(kind.newbyteorder("="), copy=False))


def _put(form: Any, path: list[str | int], column: Array) -> None:
    for step in path[:-1]:
        form = form[step]
    if form[path[-1]] is not None:
        raise ValueError("two columns have the same place")
    form[path[-1]] = column


def _length(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"a length cannot be {value!r}")
    return value


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is not a JSON number")
