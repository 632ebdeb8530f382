"""A data frame and its engine: run queries on the rows, and collect only their sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from numbers import Number
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from believable import _optional
from believable._check import is_missing
from believable._types import Array
from believable.engines.columns import CAST, HALF
from believable.errors import InputError, MissingDependencyError

Step = Callable[[Any], Any]
GROUP_KEYS = ("level", "key")
ROWS_COUNTED_AT_ONCE = 1_000_000
NUMBER_TYPES = (Number, np.bool_)
SEQUENCE_TYPES = (list, tuple, np.ndarray)
KNOWN_ENGINES = "polars, pandas, pyarrow, duckdb, ibis, dask and pyspark"
SPARK_METHOD_LIMIT = "spark.sql.codegen.hugeMethodLimit"
LONGEST_COMPILED_METHOD = "8000"  # in bytes; Java interprets longer methods


@dataclass(frozen=True, slots=True)
class Frame:
    """A narwhals frame, the name of its engine, and whether the engine's Python workers count partitions."""

    rows: Any
    engine: str
    in_python: bool

    @classmethod
    def of(cls, native: Any, python_workers: bool = False) -> Frame:
        """Return any frame that narwhals supports as a `Frame`; otherwise raise an error that lists them."""
        try:
            frame = nw.from_native(native)
        except DuplicateError as error:
            raise InputError(f"columns of a frame must have different names: {' '.join(str(error).split())}") from None
        except TypeError:
            what = type(native).__name__
            advice = {
                "DuckDBPyConnection": "for a connection, pass connection.table(name) or connection.sql(query)",
                "str": "for files, use believable.readers.summarize_files; for a table of duckdb, pass "
                "connection.table(name)",
            }.get(what, "for arrays, use Summary.of(Predictions(predictions, actuals))")
            raise InputError(
                "{argument} must be a data frame of {known}, got a {got}; {advice}",
                argument="frame",
                known=KNOWN_ENGINES,
                got=what,
                advice=advice,
            ) from None
        engine = frame.implementation.value
        if engine in ("duckdb", "ibis", "pyspark", "pyspark_connect") and find_spec("pyarrow") is None:
            raise _optional.missing(f"a summary of a {engine} frame needs", "pyarrow")
        if python_workers and find_spec("pandas") is None:  # Spark requires it, although it is not used here
            raise MissingDependencyError('python_workers=True needs pandas: pip install "believable[spark]"')
        if engine == "pyspark":
            frame = nw.from_native(without_vectors(nw.to_native(frame)))
        elif python_workers:
            raise InputError(
                "{python_workers=True} is for frames of pyspark, but this frame is of {engine}",
                argument="python_workers",
                engine=engine,
            )
        return cls(frame.lazy() if engine == "polars" else frame, engine, python_workers or engine == "dask")

    def schema(self) -> dict[str, Any]:
        """Return the types of the columns, by name."""
        return dict(self.rows.collect_schema())

    def can_ask_for(self, schema: Mapping[str, Any], names: Sequence[str]) -> None:
        """Raise if the engine would misread a column name, or cannot read the type of a column."""
        for name in names:
            # Of a table in memory, which ibis gives to duckdb. (An older narwhals does not tell halves apart.)
            if self.engine == "ibis" and schema[name] == HALF != nw.Float32:
                raise InputError(
                    f"column {name!r} is of type Float16, which ibis cannot read: cast it to float32 first"
                )
            if self.engine.startswith("pyspark") and ("." in name or "`" in name):
                raise InputError(
                    f"Spark would misread the column name {name!r}: rename the column, without dots and backticks"
                )

    @property
    def cast_advice(self) -> str:
        """What to do about text where numbers are needed; dask may have made it from numbers."""
        if self.engine != "dask":
            return CAST
        return (
            f"{CAST}; if dask made this text from Python objects (Decimal, None, lists), make the frame under "
            "dask.config.set({'dataframe.convert-string': False})"
        )

    def only(self, names: Sequence[str], by: Sequence[str] = ()) -> Frame:
        """Return the frame with these columns only, so that no others are moved, and with their exact numbers.

        Decimals that arrow holds become float64 through their digits, because arrow rounds twice: 0.70 would be above
        0.7. (Those of the columns `by`, which are read as text, stay as they are.) And duckdb 2.0 finds no NaN in
        Parquet files whose statistics leave NaN out, as they should, unless the values come out of a CASE:
        https://github.com/duckdb/duckdb/issues/25521.
        """
        rows = self.rows.select(*dict.fromkeys((*names, *by)))
        schema, made = rows.collect_schema(), []
        if self.engine in ("pyarrow", "pandas", "dask"):  # where other decimals are objects
            decimals = [name for name in dict.fromkeys(names) if schema[name] == nw.Decimal]
            made = [nw.col(name).cast(nw.String).cast(nw.Float64) for name in decimals]
        elif self.engine in ("duckdb", "ibis"):
            floats = [nw.col(name) for name, dtype in schema.items() if dtype.is_float()]
            made = [nw.when(~value.is_null()).then(value) for value in floats]
        return replace(self, rows=rows.with_columns(*made) if made else rows)

    def settled(self, name: str, dtype: Any, kinds: tuple[type, ...] = NUMBER_TYPES) -> Any:
        """Return the type of a column; for objects, which may be anything, that of one entry.

        Categories of numbers are those numbers.
        """
        if dtype == nw.Categorical and self.engine in ("pandas", "dask", "pyarrow"):  # elsewhere, categories are text
            return _of_categories(self._sample(), name, dtype)
        if self.engine in ("pandas", "dask") and self._sample()[name].dtype == object:
            dtype = nw.Object()  # narwhals calls objects text if all are missing, or if dask holds them
        if dtype != nw.Object:
            return dtype
        one = self.first(name)
        if one is None:
            return nw.Unknown()
        if isinstance(one, kinds):
            return dtype
        if isinstance(one, str):
            return nw.String()
        raise InputError(f"column {name!r} holds {type(one).__name__} objects, which are neither numbers nor text")

    def _sample(self) -> Any:
        """Return a native frame in memory with the same types; of dask, one without rows."""
        native = nw.to_native(self.rows)
        return native._meta if self.engine == "dask" else native

    def tally(self, step: Step) -> dict[str, Array]:
        """Return the result of `step` on the frame: few rows of sums, as arrays by name.

        `step` takes a narwhals frame and groups it by `key` and perhaps `level`; the other columns are sums.
        """
        if self.in_python:
            return (of_dask if self.engine == "dask" else of_spark)(nw.to_native(self.rows), step)
        found = _collected(step(self.rows), self.engine)
        columns = {name: found.get_column(name).to_numpy() for name in found.columns if name != "level"}
        if "n" in columns:
            columns["n"] = columns["n"].astype(np.int64)  # polars counts in 32 bits
        if "level" in found.columns:
            columns["level"] = np.array([word(value) for value in found.get_column("level").to_list()], object)
        return columns

    def first(self, name: str) -> Any:
        """Return the first entry of a column that is not missing, or None."""
        found = self.values(name, 1, distinct=False)
        return found[0] if found else None

    def values(self, name: str, most: int, *, distinct: bool = True) -> list[Any]:
        """Return at most so many (distinct) entries of a column, without missing ones."""
        rows = self.rows.select(nw.col(name).alias("value")).filter(~nw.col("value").is_null())
        if self.engine == "dask":
            native = nw.to_native(rows)["value"]
            return list((native.drop_duplicates() if distinct else native).head(most, npartitions=-1).tolist())
        rows = (rows.unique() if distinct else rows).head(most)
        return list(_collected(rows, self.engine).get_column("value").to_list())


def _of_categories(native: Any, name: str, dtype: Any) -> Any:
    """Return the type of the categories of a column if they are numbers, else its own type."""
    column = native[name]
    if hasattr(column, "combine_chunks"):  # pyarrow
        values = column.slice(0, 0).cast(column.type.value_type)
    elif hasattr(column.dtype, "pyarrow_dtype"):
        values = column.iloc[:0].astype(type(column.dtype)(column.dtype.pyarrow_dtype.value_type))
    else:
        values = column.dtype.categories.to_series()
    found = nw.from_native(values, series_only=True).dtype
    if found == nw.Boolean:  # which engines cast to numbers in one step only
        return nw.UInt8()
    return found if found.is_numeric() else dtype


def _collected(rows: Any, engine: str) -> Any:
    if isinstance(rows, nw.DataFrame):
        return rows
    if engine == "pyspark":
        with compiled(nw.to_native(rows)):
            return rows.collect("pyarrow")
    if engine == "polars":
        return rows.collect(**_in_pieces())
    return rows.collect("pyarrow")


def _in_pieces() -> dict[str, str]:
    """Return what makes Polars collect piece by piece; before 1.25, it holds all rows at once."""
    import polars

    is_old = tuple(map(int, polars.__version__.split(".")[:2])) < (1, 25)
    return {} if is_old else {"engine": "streaming"}


def word(value: Any) -> str:
    """Return the name of a subgroup."""
    if is_missing(value):
        return "missing"
    return str(value + 0 if isinstance(value, float) else value)  # so that -0.0 and 0.0 are one subgroup


# --- partitions counted in Python, with sums added by the engine: dask, and the workers of Spark ----------------------
# Nothing depends on the order or the index of partitions.


def of_dask(frame: Any, step: Step) -> dict[str, Array]:
    """Count each partition as a pandas frame; dask adds their sums, a few at a time."""
    meta = _of_pandas(frame._meta, step)
    keys = [name for name in GROUP_KEYS if name in meta.columns]
    parts = frame.map_partitions(_of_partition, step, meta=meta, enforce_metadata=False)
    sums = parts.groupby(keys).sum().compute().reset_index()
    return {name: sums[name].to_numpy() for name in sums.columns}


def _of_partition(part: Any, step: Step) -> Any:
    """Count a million rows at a time, because intermediate columns take twenty times the memory of the scores."""
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
    """Count each partition in a Python worker, as arrow batches, with polars; Spark adds their sums."""
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
    """Counts the batches of a partition, a million rows at a time; it is pickled and sent to the workers."""

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
    """Merge small batches until they have a million rows."""
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


# --- for Spark only: vectors as arrays, and queries that Java compiles ------------------------------------------------


def without_vectors(native: Any) -> Any:
    """Return columns of Spark ML vectors as columns of arrays."""
    names = [field.name for field in native.schema.fields if type(field.dataType).__name__ == "VectorUDT"]
    if not names:
        return native
    from pyspark.ml.functions import vector_to_array

    return native.withColumns({name: vector_to_array(native[name]) for name in names})


@contextmanager
def compiled(native: Any) -> Iterator[None]:
    """During one query, limit the methods that Spark generates to a size that Java compiles.

    Spark generates one long method for a whole stage, and Java interprets methods of more than 8,000 bytes, which is
    several times slower. Beyond this limit Spark generates short ones instead.
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
