"""What is made of some columns of a file, batch by batch, with errors that name the place."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

import numpy as np
from numpy.lib import format as npy

from believable import _check
from believable._types import Float64s, Floats
from believable.errors import Hint, InputError, Row, Sentence
from believable.readers import cells
from believable.readers.formats.delimited import NULLS
from believable.readers.formats.npz import DAMAGED, NpzTable
from believable.readers.formats.source import Source

if TYPE_CHECKING:
    import polars

Missing = Literal["error", "keep"]
Place = Callable[[int], Row]  # from a row of a batch to that of the file


@dataclass(frozen=True, slots=True)
class Plan:
    """Which columns are read, and which are made of them.

    Attributes
    ----------
    take, make : tuple of str
    percent : bool or None
        All numbers are percentages; only those with a percent sign; None: none, and a sign is an error.
    """

    take: tuple[str, ...]
    make: tuple[str, ...]
    percent: bool | None = False


@dataclass(frozen=True, slots=True)
class Making:
    """Columns of one file made of others.

    Attributes
    ----------
    source : str
        What to call the file.
    choose : callable
        From the names of its columns to the `Plan`.
    compute : callable
        From numbers, of shape (n,) or (n, k), to those that are made.
    overwrite : bool
        Columns that are there already may be replaced.
    missing : {"error", "keep"}
        What a number that is not there makes: an error, or nothing.
    """

    source: str
    choose: Callable[[Sequence[str]], Plan]
    compute: Callable[[Floats], Float64s]
    overwrite: bool
    missing: Missing

    def plan(self, names: Sequence[str], choose: Callable[[Sequence[str]], Plan] | None = None) -> Plan:
        """The plan for a file with these columns; `choose` in place of its own, where they are arrays."""
        try:
            plan = (choose or self.choose)(names)
        except InputError as error:
            raise self.error(error.sentence) from error
        for name in plan.take:
            if names.count(name) > 1:
                raise self.error(f"there are several columns called {name!r}: rename them")
        for name in plan.make:
            if name in names and not self.overwrite:
                raise self.clash(name)
            if names.count(name) > 1:
                raise self.error(f"there are several columns called {name!r}: choose another name")
            if name in plan.take:
                raise self.error(f"the column {name!r} is read, so it cannot be written too: choose another name")
        return plan

    def error(self, sentence: str) -> InputError:
        """A sentence about this file."""
        return InputError("{file}: {sentence}", file=self.source, sentence=sentence)

    def clash(self, name: str, where: str = "") -> InputError:
        """A column that is there already."""
        there = "there is a column {name!r} already{where}"
        return self.error(Sentence(there, name=name, where=where, hint=Hint.RENAME_OR_OVERWRITE))

    def made(self, numbers: Floats, plan: Plan, place: Place) -> Float64s:
        """What is made of a batch of shape (n, k): (n, m), NaN in rows whose numbers are missing."""
        absent = np.isnan(numbers)
        rows = np.flatnonzero(~absent.any(axis=1))
        if len(rows) < len(numbers) and self.missing == "error":
            row, column = np.argwhere(absent)[0].tolist()
            raise self.error(
                Sentence(
                    "column {column!r} holds no number at {row}",
                    column=plan.take[column],
                    row=place(row),
                    hint=Hint.LEAVE_EMPTY,
                )
            )
        out = np.full((len(numbers), len(plan.make)), np.nan)
        if not len(rows):
            return out
        present = numbers if len(rows) == len(numbers) else numbers[rows]
        try:
            for column, name in enumerate(plan.take):
                _check.finite(present[:, column], f"column {name!r}", None)
            computed = self.compute(present[:, 0] if len(plan.take) == 1 else present)
        except InputError as error:
            raise self.error(located(error.sentence, lambda row: place(int(rows[row])))) from error
        out[rows] = computed.reshape(len(rows), len(plan.make))
        return out


def located(sentence: Sentence, place: Place) -> Sentence:
    """A sentence about a row of a batch, told of the file."""
    return sentence.with_parts(lambda part: place(part.number) if isinstance(part, Row) else part)


# --- parquet files with more columns, by polars, which reads and writes them in pieces and keeps their types ----------


LOOK_AGAIN = 200_000  # rows at a time, to find the first that is wrong


def wider_parquet(
    making: Making,
    source: Path | IO[bytes],
    target: Path | IO[bytes],
    kind: str,
    compressed: bool,
    progress: Callable[[int, int], None] | None,
) -> int:
    """Write a Parquet file again, as Parquet, CSV, TSV or JSON lines (compressed, if so); the number of rows.

    Polars calls back for each piece, from several threads and in any order. So where a piece is refused the file is
    looked through once more, in order, for the row that is named.
    """
    import polars

    try:
        frame = polars.scan_parquet(source, glob=False)
        schema = frame.collect_schema()
        names = schema.names()
        n_rows = int(frame.select(polars.len()).collect().item())
    except (polars.exceptions.PolarsError, OSError) as error:
        raise making.error(f"it cannot be read as parquet: {str(error).splitlines()[0]}") from error
    plan = making.plan(names)
    _refuse_lists(making, schema, plan)
    _refuse_some_signs(making, frame.select(name for name in plan.take if schema[name] == polars.String), plan)
    done, refused = [], []
    gzipped: Literal["gzip", "uncompressed"] = "gzip" if compressed else "uncompressed"

    def piece(column: polars.Series) -> polars.Series:
        try:
            made = making.made(numbers_of(making, column.struct.unnest(), plan), plan, partial(_row, 0))
        except InputError as error:
            refused.append(error)
            raise
        done.append(len(column))
        if progress is not None:
            progress(sum(done), n_rows)
        columns = {name: polars.Series(made[:, k], nan_to_null=True) for k, name in enumerate(plan.make)}
        return polars.DataFrame(columns).to_struct("made")

    # A struct holds all that is made, so that it is made once.
    inner = polars.Struct(dict.fromkeys(plan.make, polars.Float64))
    made = polars.struct(plan.take).map_batches(piece, return_dtype=inner, is_elementwise=True)
    held = _unused([*names, *plan.make])
    wider = frame.with_columns(made.alias(held))
    wider = wider.with_columns(polars.col(held).struct.field(name) for name in plan.make).drop(held)
    try:
        if kind == "parquet":
            wider.sink_parquet(target)
        elif kind == "jsonl":
            wider.sink_ndjson(target, compression=gzipped)
        else:
            wider.sink_csv(target, separator="\t" if kind == "tsv" else ",", compression=gzipped)
    except (polars.exceptions.PolarsError, InputError) as error:
        if refused:
            _look_again(making, frame, plan, n_rows)
            raise refused[0] from None
        raise making.error(f"it cannot be written as {kind}: {str(error).splitlines()[0]}") from error
    return n_rows


def _refuse_lists(making: Making, schema: polars.Schema, plan: Plan) -> None:
    """Lists are several numbers to a row."""
    for name in plan.take:
        if schema[name].is_nested():
            raise making.error(f"column {name!r} must hold one number per row, got values of type {schema[name]}")


def _refuse_some_signs(making: Making, text: polars.LazyFrame, plan: Plan) -> None:
    """Percent signs in some rows of a column and not in others: told of the whole file, not piece by piece."""
    import polars

    if plan.percent is not False:
        return
    for name in text.collect_schema().names():
        cell = polars.col(name).str.strip_chars()
        signed = cell.str.ends_with("%")
        bare = ~signed & ~cell.is_in(list(NULLS))
        if all(text.select(signed.any().alias("signed"), bare.any().alias("bare")).collect().row(0)):
            numbers_of(making, text.select(name).collect(), Plan((name,), ()))


def _unused(names: list[str]) -> str:
    held = "made"
    while held in names:
        held += "_"
    return held


def numbers_of(making: Making, frame: polars.DataFrame, plan: Plan, first: int = 0) -> Floats:
    """The columns to take as a matrix; an error names the row, where `first` is the number of the first."""
    try:
        read = cells.numbers if plan.percent is None else partial(cells.scores, percent=plan.percent)
        columns = [read(frame[name]) for name in plan.take]
        return _check.numeric(np.column_stack([cells.array(column) for column in columns]), "scores")
    except InputError as error:
        raise making.error(located(error.sentence, partial(_row, first))) from error


def _look_again(making: Making, frame: polars.LazyFrame, plan: Plan, n_rows: int) -> None:
    """Raise at the first row that is wrong."""
    for first in range(0, n_rows, LOOK_AGAIN):
        part = frame.select(plan.take).slice(first, LOOK_AGAIN).collect()
        making.made(numbers_of(making, part, plan, first), plan, partial(_row, first))


def _row(first: int, row: int) -> Row:
    return Row(first + row)


# ----------------------------------------------------------------------------------------------------------------------
# an npz archive with one more array: the members that are there are copied to the byte, so nothing is unpickled


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
    made = making.made(numbers, replace(plan, make=plan.take) if several else plan, Row)
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
