"""Parquet files with more columns, by polars, which reads and writes them in pieces and keeps their types."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

import numpy as np

from believable import _check
from believable._types import Floats
from believable.errors import InputError
from believable.readers import cells
from believable.readers._making import Making, Plan, located
from believable.readers.delimited import NULLS

if TYPE_CHECKING:
    import polars

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
        raise making.error(located(str(error), partial(_row, first))) from error


def _look_again(making: Making, frame: polars.LazyFrame, plan: Plan, n_rows: int) -> None:
    """Raise at the first row that is wrong."""
    for first in range(0, n_rows, LOOK_AGAIN):
        part = frame.select(plan.take).slice(first, LOOK_AGAIN).collect()
        making.made(numbers_of(making, part, plan, first), plan, partial(_row, first))


def _row(first: int, row: int) -> str:
    return f"row {first + row}"
