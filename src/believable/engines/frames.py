"""A data frame and the engine behind it: how its rows are asked, and how little comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from numbers import Number
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from believable._check import is_missing
from believable._types import Array
from believable.errors import InputError, MissingDependencyError

Step = Callable[[Any], Any]
GROUP_KEYS = ("level", "key")
ROWS_COUNTED_AT_ONCE = 1_000_000
NUMBER_TYPES = (Number, np.bool_)
SEQUENCE_TYPES = (list, tuple, np.ndarray)
KNOWN_ENGINES = "polars, pandas, pyarrow, duckdb, ibis, dask and pyspark"
SPARK_METHOD_LIMIT = "spark.sql.codegen.hugeMethodLimit"
LONGEST_COMPILED_METHOD = "8000"  # bytes; Java interprets longer ones


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of narwhals, the name of its engine, and whether partitions are counted by the engine's Python."""

    rows: Any
    engine: str
    in_python: bool

    @classmethod
    def of(cls, native: Any, python_workers: bool = False) -> Frame:
        """Any frame that narwhals knows; an error that lists them for anything else."""
        try:
            frame = nw.from_native(native)
        except DuplicateError as error:
            raise InputError(f"columns of a frame must have different names: {' '.join(str(error).split())}") from None
        except TypeError:
            what = type(native).__name__
            advice = {
                "DuckDBPyConnection": "of a connection, pass connection.table(name) or connection.sql(query)",
                "str": "files go to believable.readers.summarize_files, a table of duckdb is connection.table(name)",
            }.get(what, "arrays go to Summary.of(Predictions(predictions, actuals))")
            raise InputError(
                "{argument} must be a data frame of {known}, got a {got}; {advice}",
                argument="frame",
                known=KNOWN_ENGINES,
                got=what,
                advice=advice,
            ) from None
        engine = frame.implementation.value
        if engine in ("duckdb", "ibis", "pyspark", "pyspark_connect") and find_spec("pyarrow") is None:
            raise MissingDependencyError(f"a summary of a {engine} frame needs pyarrow: pip install pyarrow")
        if python_workers and find_spec("pandas") is None:  # which Spark asks for, though nothing is made of it
            raise MissingDependencyError("python_workers=True needs pandas: pip install 'believable[spark]'")
        if engine == "pyspark":
            frame = nw.from_native(without_vectors(nw.to_native(frame)))
        elif python_workers:
            raise InputError(
                "{python_workers=True} is for frames of pyspark, this one is of {engine}",
                argument="python_workers",
                engine=engine,
            )
        return cls(frame.lazy() if engine == "polars" else frame, engine, python_workers or engine == "dask")

    def schema(self) -> dict[str, Any]:
        """Return the types of the columns, by name."""
        return dict(self.rows.collect_schema())

    def can_ask_for(self, names: Sequence[str]) -> None:
        """Raise where the engine would read a name of a column as something else."""
        for name in names:
            if self.engine.startswith("pyspark") and ("." in name or "`" in name):
                raise InputError(f"Spark would not take {name!r} for one column: rename it, without dots and backticks")

    def only(self, names: Sequence[str]) -> Frame:
        """The same with these columns alone, so that no others are moved."""
        return replace(self, rows=self.rows.select(*dict.fromkeys(names)))

    def settled(self, name: str, dtype: Any, kinds: tuple[type, ...] = NUMBER_TYPES) -> Any:
        """The type of a column; objects may be anything, and dask has not looked at them yet, so look at one."""
        if self.engine == "dask" and nw.to_native(self.rows)._meta[name].dtype == object:
            dtype = nw.Object()
        if dtype != nw.Object:
            return dtype
        one = self.first(name)
        if one is None or isinstance(one, kinds):
            return dtype
        if isinstance(one, str):
            return nw.String()
        raise InputError(f"column {name!r} holds {type(one).__name__} objects, which are neither numbers nor text")

    def tally(self, step: Step) -> dict[str, Array]:
        """What `step` makes of the frame: few rows of sums, as arrays by name.

        `step` takes a frame of narwhals and groups it by `key` and perhaps `level`; the rest are sums.
        """
        if self.in_python:
            return (of_dask if self.engine == "dask" else of_spark)(nw.to_native(self.rows), step)
        found = _collected(step(self.rows), self.engine)
        columns = {name: found.get_column(name).to_numpy() for name in found.columns if name != "level"}
        if "level" in found.columns:
            columns["level"] = np.array([word(value) for value in found.get_column("level").to_list()], object)
        return columns

    def first(self, name: str) -> Any:
        """The first entry of a column that is not missing; None where there is none."""
        found = self.values(name, 1, distinct=False)
        return found[0] if found else None

    def values(self, name: str, most: int, *, distinct: bool = True) -> list[Any]:
        """At most so many (distinct) entries of a column, missing ones left out."""
        rows = self.rows.select(nw.col(name).alias("value")).filter(~nw.col("value").is_null())
        if self.engine == "dask":
            native = nw.to_native(rows)["value"]
            return list((native.drop_duplicates() if distinct else native).head(most, npartitions=-1))
        rows = (rows.unique() if distinct else rows).head(most)
        return list(_collected(rows, self.engine).get_column("value").to_list())


def _collected(rows: Any, engine: str) -> Any:
    if isinstance(rows, nw.DataFrame):
        return rows
    if engine == "pyspark":
        with compiled(nw.to_native(rows)):
            return rows.collect("pyarrow")
    return rows.collect(engine="streaming") if engine == "polars" else rows.collect("pyarrow")


def word(value: Any) -> str:
    """Return what a subgroup is called."""
    if is_missing(value):
        return "missing"
    return str(value + 0 if isinstance(value, float) else value)  # -0.0 is 0.0


# --- partitions counted one by one in Python, and their sums added by the engine: dask, and the workers of Spark ------
# Nothing is compared across partitions, whose order and index may be anything.


def of_dask(frame: Any, step: Step) -> dict[str, Array]:
    """Each partition is a frame of pandas; dask adds their sums, a few at a time."""
    meta = _of_pandas(frame._meta, step)
    keys = [name for name in GROUP_KEYS if name in meta.columns]
    parts = frame.map_partitions(_of_partition, step, meta=meta, enforce_metadata=False)
    sums = parts.groupby(keys).sum().compute().reset_index()
    return {name: sums[name].to_numpy() for name in sums.columns}


def _of_partition(part: Any, step: Step) -> Any:
    """A million rows at a time: the columns that sums are made of take twenty times the memory of the scores."""
    size = ROWS_COUNTED_AT_ONCE
    sums = [_of_pandas(part.iloc[start : start + size], step) for start in range(0, max(len(part), 1), size)]
    if len(sums) == 1:
        return sums[0]
    rows = nw.concat([nw.from_native(one, eager_only=True) for one in sums])
    keys = [name for name in GROUP_KEYS if name in rows.columns]
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
    keys = [name for name in GROUP_KEYS if name in names]
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
                keys = [name for name in GROUP_KEYS if name in sums.columns]
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
        if n >= ROWS_COUNTED_AT_ONCE:
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


# --- what Spark alone needs: vectors as arrays, and queries that Java compiles ----------------------------------------


def without_vectors(native: Any) -> Any:
    """Columns of vectors, as Spark's machine learning makes them, as columns of arrays."""
    names = [field.name for field in native.schema.fields if type(field.dataType).__name__ == "VectorUDT"]
    if not names:
        return native
    from pyspark.ml.functions import vector_to_array

    return native.withColumns({name: vector_to_array(native[name]) for name in names})


@contextmanager
def compiled(native: Any) -> Iterator[None]:
    """For the length of one query, Spark writes no method that Java would not compile.

    It makes one long method of a whole stage, and Java interprets methods of more than 8,000 bytes, several times as
    slowly. Beyond this limit Spark makes short ones instead.
    """
    conf = native.sparkSession.conf
    before = conf.get(SPARK_METHOD_LIMIT, None)
    conf.set(SPARK_METHOD_LIMIT, LONGEST_COMPILED_METHOD)
    try:
        yield
    finally:
        if before is None:
            conf.unset(SPARK_METHOD_LIMIT)
        else:
            conf.set(SPARK_METHOD_LIMIT, before)
