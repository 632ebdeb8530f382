"""Columns of lists, one list of scores for each row, as one column for each class."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from believable.engines.columns import LISTED, Columns


def scored(frame: Any, columns: Columns, *beside: nw.Expr) -> Any:
    """The scores as columns p0 to pK-1 of type float64, beside expressions of the frame's own columns.

    Everything is named anew in one go, so that no column of the frame can be taken for one made here. A list of another
    length gives missing scores.
    """
    names, width = columns.names, columns.width
    if width is None:
        scores = [nw.col(old).cast(nw.Float64).alias(new) for old, new in zip(columns.scores, names, strict=True)]
        return frame.select(*scores, *beside)
    frame, listed = frame.select(nw.col(columns.scores[0]).alias("scores"), *beside), nw.col("scores")
    if nw.get_native_namespace(frame).__name__.partition(".")[0] in ("pandas", "pyarrow"):
        return _by_hand(frame, columns)
    dtype = frame.collect_schema()["scores"]
    if dtype == nw.Array:
        frame = frame.with_columns(listed.cast(nw.List(dtype.inner)))
    frame = frame.with_columns(nw.when(listed.list.len() == width).then(listed).alias("scores"))
    return frame.with_columns(*(listed.list.get(k).cast(nw.Float64).alias(new) for k, new in enumerate(names)))


def _by_hand(frame: Any, columns: Columns) -> Any:
    """pandas holds lists as objects, and pyarrow has no element that may be absent: make the matrix here."""
    rows = frame.get_column("scores").to_list()
    matrix = np.full((len(rows), columns.width or 0), np.nan, columns.dtype)
    for i, row in enumerate(rows):
        if row is not None and np.ndim(row) == 1 and len(row) == columns.width:
            matrix[i] = [np.nan if one is None else one for one in row]
    backend = nw.get_native_namespace(frame)
    matrix = matrix.astype(np.float64)
    made = [
        nw.new_series(new, np.ascontiguousarray(matrix[:, k]), backend=backend) for k, new in enumerate(columns.names)
    ]
    if backend.__name__ == "pandas":  # a new column would be aligned with the frame's index
        index = nw.to_native(frame).index
        made = [nw.from_native(nw.to_native(one).set_axis(index), series_only=True) for one in made]
    return frame.with_columns(*made)


def unpivoted(frame: Any, on: list[str], kept: list[str]) -> Any:
    """One row for each of some columns, its name in `group` and its value in `p`, beside the columns kept."""
    if nw.get_native_namespace(frame).__name__ != "duckdb":
        return frame.unpivot(on=on, index=kept, variable_name="group", value_name="p")
    # Asked of the relation itself: narwhals asks the default connection, which does not know others' tables, and a
    # query needs a name for the rows, which may be that of somebody's table.
    groups, values = (", ".join(quote + name + quote for name in on) for quote in ("'", '"'))
    beside = ", ".join(f'"{name}"' for name in kept)
    return nw.from_native(
        nw.to_native(frame).project(f'{beside}, unnest([{groups}]) as "group", unnest([{values}]) as "p"')
    )


def width_of(frame: Any, name: str, first: Any) -> int:
    """How many scores a list has: what the type says, else the first row that has one."""
    dtype = frame.collect_schema()[name]
    if dtype == nw.Array:
        return int(dtype.shape[0])
    return 0 if first is None else len(first)


def is_listed(dtype: Any, first: Any) -> bool:
    """Whether a column holds lists: by its type, or by its first entry where the type does not say."""
    return isinstance(dtype, LISTED) or (dtype == nw.Object and isinstance(first, (list, tuple, np.ndarray)))
