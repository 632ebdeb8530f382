"""Parquet files, which polars reads and writes piece by piece, keeping the types of columns."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, final

from believable.errors import InputError
from believable.readers.cells import NULLS
from believable.readers.formats.addition import Addition, Contents, Opened, Plan, Target, row_from
from believable.readers.formats.base import Format, FrameSink, Source, Table, polars_before
from believable.readers.formats.delimited import CSV

if TYPE_CHECKING:
    import polars

ROWS_LOOKED_THROUGH = 200_000  # rows per step of the search for the first invalid one


@final
class Parquet(Format, FrameSink):
    """Typed columns, compressed; a file can be converted to any format that polars can write."""

    name = "parquet"
    endings = (".parquet",)
    description = "a Parquet file"
    magic = b"PAR1"
    compression = "Parquet is compressed"

    def open(self, source: Source) -> Table:
        return ParquetTable(source)

    def becomes(self, other: Format) -> bool:
        return isinstance(other, FrameSink)

    def piped(self) -> Format:
        return CSV

    def sink(self, frame: polars.LazyFrame, where: Path | IO[bytes], *, compressed: bool) -> None:
        frame.sink_parquet(where)

    def add_columns(self, addition: Addition, opened: Opened, target: Target) -> int:
        """Add columns piece by piece.

        Polars processes the pieces in several threads and in any order. If one raises an error, the file is therefore
        searched again, in order, so that the error names the first invalid row.
        """
        import polars

        try:
            frame = _scanned(opened)
            schema = frame.collect_schema()
            names = schema.names()
            n_rows = int(frame.select(polars.len()).collect().item())
        except (polars.exceptions.PolarsError, OSError) as error:
            raise addition.error(f"it cannot be read as parquet: {str(error).splitlines()[0]}") from error
        plan = addition.plan(Contents(names))
        _refuse_lists(addition, schema, plan)
        _refuse_some_signs(addition, frame.select(name for name in plan.take if schema[name] == polars.String), plan)
        done, refused = [], []

        def piece(column: polars.Series) -> polars.Series:
            try:
                read = column.struct.unnest()
                numbers, segments = addition.numbers(read, plan), addition.segments(read, plan)
                made = addition.made(numbers, plan, partial(row_from, 0), segments)
            except InputError as error:
                refused.append(error)
                raise
            done.append(len(column))
            if addition.progress is not None:
                addition.progress(sum(done), n_rows)
            columns = {name: polars.Series(made[:, k], nan_to_null=True) for k, name in enumerate(plan.make)}
            return polars.DataFrame(columns).to_struct("made")

        # All new columns are one struct, so that they are computed only once.
        inner = polars.Struct(dict.fromkeys(plan.make, polars.Float64))
        made = polars.struct(plan.read).map_batches(piece, return_dtype=inner, is_elementwise=True)
        held = _unused([*names, *plan.make])
        wider = frame.with_columns(made.alias(held))
        wider = wider.with_columns(polars.col(held).struct.field(name) for name in plan.make).drop(held)
        assert isinstance(target.format, FrameSink)
        try:
            target.format.sink(wider, target.where, compressed=target.compressed)
        except (polars.exceptions.PolarsError, InputError) as error:
            if refused:
                _look_again(addition, frame, plan, n_rows)
                raise refused[0] from None
            raise addition.error(
                f"it cannot be written as {target.format.name}: {str(error).splitlines()[0]}"
            ) from error
        return n_rows


PARQUET = Parquet()


@final
class ParquetTable(Table):
    """A Parquet file; only the columns that are asked for are read."""

    def __init__(self, source: Source) -> None:
        import polars

        self.source = source
        try:
            self.names = tuple(polars.scan_parquet(source.given(), glob=False).collect_schema())
        except (polars.exceptions.PolarsError, OSError) as error:
            raise self._unreadable(error) from error

    def _read(self, names: Sequence[str]) -> polars.DataFrame:
        import polars

        try:
            return polars.read_parquet(self.source.given(), columns=list(names), glob=False)
        except (polars.exceptions.PolarsError, OSError) as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> InputError:
        return InputError(f"{self.source.name} cannot be read as parquet: {str(error).splitlines()[0]}")


def _refuse_lists(addition: Addition, schema: polars.Schema, plan: Plan) -> None:
    """Raise if a column has lists: several numbers per row."""
    for name in plan.read:
        if schema[name].is_nested():
            one = "value" if name in plan.names else "number"
            raise addition.error(f"column {name!r} must hold one {one} per row, got values of type {schema[name]}")


def _refuse_some_signs(addition: Addition, text: polars.LazyFrame, plan: Plan) -> None:
    """Raise if only some rows of a column have percent signs; a single piece would not show it."""
    import polars

    if plan.percent is not False:
        return
    for name in text.collect_schema().names():
        cell = polars.col(name).str.strip_chars()
        signed = cell.str.ends_with("%")
        bare = ~signed & ~cell.is_in(list(NULLS))
        if all(text.select(signed.any().alias("signed"), bare.any().alias("bare")).collect().row(0)):
            addition.numbers(text.select(name).collect(), Plan((name,), ()))


def _scanned(opened: Opened) -> polars.LazyFrame:
    import polars

    if opened.path:
        return polars.scan_parquet(opened.path, glob=False)
    held = io.BytesIO(opened.stream.read())
    return polars.read_parquet(held).lazy() if polars_before(1, 30) else polars.scan_parquet(held, glob=False)


def _unused(names: list[str]) -> str:
    held = "made"
    while held in names:
        held += "_"
    return held


def _look_again(addition: Addition, frame: polars.LazyFrame, plan: Plan, n_rows: int) -> None:
    """Raise the error of the first invalid row."""
    for first in range(0, n_rows, ROWS_LOOKED_THROUGH):
        part = frame.select(plan.read).slice(first, ROWS_LOOKED_THROUGH).collect()
        numbers, segments = addition.numbers(part, plan, first), addition.segments(part, plan, first)
        addition.made(numbers, plan, partial(row_from, first), segments)
