"""An npz archive with one more array: the members that are there are copied to the byte, so nothing is unpickled."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

from believable._types import Float64s
from believable.readers._making import Making, Plan
from believable.readers._wider_parquet import numbers_of
from believable.readers.npz import DAMAGED, NpzTable
from believable.readers.source import Source

ENDING = ".npy"
FAR = zipfile.ZIP64_LIMIT // 2  # members above need larger numbers in the archive


def wider_npz(
    making: Making, content: Path | bytes, target: Path | IO[bytes], choose: Callable[[NpzTable], Plan]
) -> int:
    """Write an archive again with an array more, of shape (n,) or (n, K); the number of rows.

    `choose` says which columns to take (array NAME of shape (n, K) has NAME_0 … NAME_{K-1}), and names the one array to
    make. Other arrays need not have as many rows.
    """
    table = NpzTable(Source(making.source, "npz", content))
    plan = making.plan(table.arrays, lambda names: choose(table))
    numbers = numbers_of(making, table.read(plan.take), plan)
    several = len(plan.take) > 1  # as many are made as are taken
    made = making.made(numbers, replace(plan, make=plan.take) if several else plan, lambda row: f"row {row}")
    try:
        _copied(table.source, target, plan.make[0], made if several else made[:, 0])
    except BrokenPipeError:
        raise
    except DAMAGED as error:
        raise making.error(f"it cannot be copied: {error}") from error
    return len(made)


def _copied(source: Source, target: Path | IO[bytes], name: str, array: Float64s) -> None:
    """Every member as it is, then the new one; it is compressed if they are."""
    with source.open() as stream, zipfile.ZipFile(stream) as old, zipfile.ZipFile(target, "w") as new:
        kinds = []
        for member in old.infolist():
            if member.filename == name + ENDING:
                continue
            kinds.append(member.compress_type)
            with old.open(member) as this, _opened(new, member.filename, member.compress_type, member.file_size) as to:
                shutil.copyfileobj(this, to)
        with _opened(new, name + ENDING, max(kinds, default=zipfile.ZIP_STORED), array.nbytes) as to:
            npy.write_array(to, np.ascontiguousarray(array), allow_pickle=False)


def _opened(archive: zipfile.ZipFile, name: str, compression: int, size: int) -> IO[bytes]:
    member = zipfile.ZipInfo(name)
    member.compress_type = compression
    return archive.open(member, "w", force_zip64=size > FAR)
