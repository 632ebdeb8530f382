"""Parquet files with more columns, by polars, which reads and writes them in pieces and keeps their types."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from believable import _check
from believable._types import Floats
from believable.errors import InputError
from believable.readers import cells
from believable.readers._making import Making, Plan, located

if TYPE_CHECKING:
    import polars

LOOK_AGAIN = 200_000  # rows at a time, to find the first that is wrong


def wider_parquet(
    making: Making,
    source: Path | IO[bytes],
    target: Path | IO[bytes],
    kind: str,
    progress: Callable[[int, int], None] | None,
) -> int:
    """Write a Parquet file again, as Parquet, CSV, TSV or JSON lines; the number of rows.

    Polars calls back for each piece, from several threads and in any order. So where a piece is refused the file is
    looked through once more, in order, for the row that is named.
    """
    import polars

    try:
        frame = polars.scan_parquet(source, glob=False)
        names = frame.collect_schema().names()
        n_rows = int(frame.select(polars.len()).collect().item())
    except (polars.exceptions.PolarsError, OSError) as error:
        raise making.error(f"it cannot be read as parquet: {str(error).splitlines()[0]}") from error
    plan = making.plan(names)
    done, refused = [], []

    def piece(column: polars.Series) -> polars.Series:
        try:
            made = making.made(_numbers(making, column.struct.unnest(), plan), plan, partial(_row, 0))
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
    held = _unused(names)
    wider = frame.with_columns(made.alias(held))
    wider = wider.with_columns(polars.col(held).struct.field(name) for name in plan.make).drop(held)
    try:
        if kind == "parquet":
            wider.sink_parquet(target)
        elif kind == "jsonl":
            wider.sink_ndjson(target)
        else:
            wider.sink_csv(target, separator="\t" if kind == "tsv" else ",")
    except (polars.exceptions.PolarsError, InputError) as error:
        if refused:
            _look_again(making, frame, plan, n_rows)
            raise refused[0] from None
        raise making.error(f"it cannot be written as {kind}: {str(error).splitlines()[0]}") from error
    return n_rows


def _unused(names: list[str]) -> str:
    held = "made"
    while held in names:
        held += "_"
    return held


def _numbers(making: Making, frame: polars.DataFrame, plan: Plan, first: int = 0) -> Floats:
    try:
        columns = [cells.scores(frame[name], plan.percent) for name in plan.take]
        return _check.numeric(np.column_stack([cells.array(column) for column in columns]), "scores")
    except InputError as error:
        raise making.error(located(str(error), partial(_row, first))) from error


def _look_again(making: Making, frame: polars.LazyFrame, plan: Plan, n_rows: int) -> None:
    """Raise at the first row that is wrong."""
    for first in range(0, n_rows, LOOK_AGAIN):
        part = frame.select(plan.take).slice(first, LOOK_AGAIN).collect()
        making.made(_numbers(making, part, plan, first), plan, partial(_row, first))


def _row(first: int, row: int) -> str:
    return f"row {first + row}"
