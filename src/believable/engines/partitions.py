"""Partitions counted one by one in Python, and their sums added by the engine: dask, and the workers of Spark.

Nothing is compared across partitions, whose order and index may be anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from believable._check import _is_missing
from believable._types import Array

Step = Callable[[Any], Any]
KEYS = ("level", "key")
ROWS = 1_000_000  # counted at once


def word(value: Any) -> str:
    """What a subgroup is called."""
    if _is_missing(value):
        return "missing"
    return str(value + 0 if isinstance(value, float) else value)  # -0.0 is 0.0


def of_dask(frame: Any, step: Step) -> dict[str, Array]:
    """Each partition is a frame of pandas; dask adds their sums, a few at a time."""
    meta = _of_pandas(frame._meta, step)
    keys = [name for name in KEYS if name in meta.columns]
    parts = frame.map_partitions(_of_partition, step, meta=meta, enforce_metadata=False)
    sums = parts.groupby(keys).sum().compute().reset_index()
    return {name: sums[name].to_numpy() for name in sums.columns}


def _of_partition(part: Any, step: Step) -> Any:
    """A million rows at a time: the columns that sums are made of take twenty times the memory of the scores."""
    sums = [_of_pandas(part.iloc[start : start + ROWS], step) for start in range(0, max(len(part), 1), ROWS)]
    if len(sums) == 1:
        return sums[0]
    rows = nw.concat([nw.from_native(one, eager_only=True) for one in sums])
    keys = [name for name in KEYS if name in rows.columns]
    added = [nw.col(name).sum() for name in rows.columns if name not in keys]
    return rows.group_by(*keys).agg(*added).select(*rows.columns).to_native()


def _of_pandas(part: Any, step: Step) -> Any:
    sums = step(nw.from_native(part.reset_index(drop=True), eager_only=True)).to_native().reset_index(drop=True)
    for name in sums.columns:
        if name == "level":
            sums[name] = [word(value) for value in sums[name].tolist()]
            sums[name] = sums[name].astype("object")
        else:
            sums[name] = sums[name].astype("int64" if name in ("key", "n") else "float64")
    return sums


def of_spark(frame: Any, step: Step) -> dict[str, Array]:
    """Each partition comes to a worker's Python as batches of arrow, counted there by polars; Spark adds their sums."""
    import polars

    names = _of_polars(polars.from_arrow(frame.limit(0).toArrow()), step).columns
    types = {"level": "string", "key": "bigint", "n": "bigint"}
    schema = ", ".join(f"`{name}` {types.get(name, 'double')}" for name in names)
    keys = [name for name in KEYS if name in names]
    added = [name for name in names if name not in keys]
    sums = frame.mapInArrow(_Worker(step), schema).groupBy(*keys).sum(*added).toDF(*keys, *added).toArrow()
    return {name: sums.column(name).to_numpy() for name in sums.column_names}


@dataclass(frozen=True, slots=True)
class _Worker:
    """Counts the batches of a partition, a million rows at a time, and adds up; it travels to the workers."""

    step: Step

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import polars

        total = None
        for rows in _gathered(batches):
            sums = _of_polars(polars.from_arrow(rows), self.step)
            if total is not None:
                keys = [name for name in KEYS if name in sums.columns]
                sums = polars.concat([total, sums]).group_by(keys).agg(polars.all().sum()).select(sums.columns)
            total = sums
        if total is not None:
            yield from total.to_arrow().to_batches()


def _gathered(batches: Iterator[Any]) -> Iterator[list[Any]]:
    """Small batches together, so many that they have a million rows."""
    waiting: list[Any] = []
    n = 0
    for batch in batches:
        waiting.append(batch)
        n += batch.num_rows
        if n >= ROWS:
            yield waiting
            waiting, n = [], 0
    if waiting:
        yield waiting


def _of_polars(part: Any, step: Step) -> Any:
    import polars

    sums = step(nw.from_native(part, eager_only=True)).to_native()
    types: dict[Any, Any] = {"key": polars.Int64, "n": polars.Int64}
    made = [
        polars.Series("level", [word(value) for value in sums["level"].to_list()], polars.String)
        if name == "level"
        else sums[name].cast(types.get(name, polars.Float64))
        for name in sums.columns
    ]
    return polars.DataFrame(made)
