"""Archives of NumPy arrays (npz): arrays of one length are columns, a matrix is one column per class."""

from __future__ import annotations

import shutil
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, final

import numpy as np
from numpy.lib import format as npy

from believable._types import Array, Float64s
from believable.errors import InputError
from believable.readers.formats.addition import Addition, Contents, Opened, Target, row_from
from believable.readers.formats.base import Format, Source, Table, width_of

if TYPE_CHECKING:
    import polars

DAMAGE_ERRORS = (OSError, ValueError, EOFError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error)
MEMBER_ENDING = ".npy"
ZIP64_BYTES = zipfile.ZIP64_LIMIT // 2  # larger members need the zip64 format


@final
class Npz(Format):
    """Arrays by name in a zip archive; one array is added, and the others are copied byte by byte."""

    name = "npz"
    endings = (".npz",)
    description = "a zip archive (npz or xlsx)"
    magic = b"PK\x03\x04"
    compression = "an npz archive can be compressed"

    def open(self, source: Source) -> Table:
        return NpzTable(source)

    def add_columns(self, addition: Addition, opened: Opened, target: Target) -> int:
        """Add the array that the plan names, of shape (n,) or (n, K); other arrays may have other lengths."""
        table = NpzTable(Source(addition.source, self, opened.content()))
        plan = addition.plan(Contents(table.names, {name: table.columns_of(name) for name in table.arrays}))
        frame = table.read(plan.read)
        numbers, segments = addition.numbers(frame, plan), addition.segments(frame, plan)
        several = len(plan.take) > 1  # then as many columns are added as are read
        wide = replace(plan, make=plan.take) if several else plan
        made = addition.made(numbers, wide, partial(row_from, 0), segments)
        try:
            _copied(table.source, target.where, plan.make[0], made if several else made[:, 0])
        except BrokenPipeError:
            raise
        except DAMAGE_ERRORS as error:
            raise addition.error(f"it cannot be copied: {error}") from error
        return len(made)


NPZ = Npz()


@final
class NpzTable(Table):
    """The arrays of an archive.

    An array of shape (n,) or (n, 1) called NAME is the column NAME; one of shape (n, K) is the columns NAME_0 …
    NAME_{K-1}, which may also be selected together as NAME. Other shapes are ignored. Only the selected arrays must
    have the same length. Nothing is unpickled.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        shapes: dict[str, tuple[int, ...]] = {}
        try:
            with source.open() as stream, zipfile.ZipFile(stream) as archive:
                for entry in archive.namelist():
                    if entry.endswith(MEMBER_ENDING):
                        with archive.open(entry) as member:
                            shapes[entry.removesuffix(MEMBER_ENDING)] = _shape(member)
        except DAMAGE_ERRORS as error:
            raise InputError(f"{source.name} cannot be read as npz: {error}") from error
        usable = {name: shape for name, shape in shapes.items() if len(shape) in (1, 2) and shape[-1] > 0}
        if not usable:
            raise InputError(f"{source.name} has no array of one or two dimensions that is not empty")
        self._places: dict[str, tuple[str, int]] = {}  # the array of a column, and its position there
        for name, shape in usable.items():
            for k in range(width_of(shape)):
                column = name if width_of(shape) == 1 else f"{name}_{k}"
                if width_of(shape) == 1 or width_of(usable.get(column, (0, 2))) > 1:  # an array's own name comes first
                    self._places[column] = (name, k)
        self.arrays = usable
        self.names = tuple(self._places)

    def _read(self, names: Sequence[str]) -> polars.DataFrame:
        import polars

        wanted = list(dict.fromkeys(self._places[name][0] for name in names))
        if len({self.arrays[name][0] for name in wanted}) > 1:
            words = ", ".join(f"{name} {self.arrays[name]}" for name in wanted)
            raise InputError(
                "{file} holds arrays of different lengths ({words}): choose with {prob} and {label}",
                file=self.source.name,
                words=words,
            )
        try:
            with self.source.open() as stream, np.load(stream, allow_pickle=False) as archive:
                arrays = {name: _plain_numbers(archive[name]) for name in wanted}
        except DAMAGE_ERRORS as error:
            if "allow_pickle" in str(error):
                raise InputError(
                    f"{self.source.name}: an array holds Python objects, which are not read; save numbers or text"
                ) from error
            raise InputError(f"{self.source.name} cannot be read as npz: {error}") from error
        places = {name: self._places[name] for name in names}
        return polars.DataFrame({name: arrays[array][:, k] for name, (array, k) in places.items()})


def _shape(member: Any) -> tuple[int, ...]:
    """Return the shape in the header of an array, without reading its numbers."""
    header = npy.read_array_header_1_0 if npy.read_magic(member) == (1, 0) else npy.read_array_header_2_0
    return tuple(header(member)[0])


def _plain_numbers(array: Array) -> Array:
    """Return an array as a matrix of a type that polars supports: native byte order, no half precision."""
    array = array.reshape(len(array), -1)
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        array = array.astype(np.float32 if array.dtype.itemsize == 2 else np.float64)
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


# --- writing ----------------------------------------------------------------------------------------------------------


def _copied(source: Source, target: Path | IO[bytes], name: str, array: Float64s) -> None:
    """Copy every member unchanged, then add the new one, which is compressed if the others are."""
    with source.open() as stream, zipfile.ZipFile(stream) as old, zipfile.ZipFile(target, "w") as new:
        kinds = []
        for member in old.infolist():
            if member.filename == name + MEMBER_ENDING:
                continue
            kinds.append(member.compress_type)
            with old.open(member) as this, _opened(new, member.filename, member.compress_type, member.file_size) as to:
                shutil.copyfileobj(this, to)
        with _opened(new, name + MEMBER_ENDING, max(kinds, default=zipfile.ZIP_STORED), array.nbytes) as to:
            npy.write_array(to, np.ascontiguousarray(array), allow_pickle=False)


def _opened(archive: zipfile.ZipFile, name: str, compression: int, size: int) -> IO[bytes]:
    member = zipfile.ZipInfo(name)
    member.compress_type = compression
    return archive.open(member, "w", force_zip64=size > ZIP64_BYTES)
