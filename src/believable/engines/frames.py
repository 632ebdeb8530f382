"""A data frame and the engine behind it: how its rows are asked, and how little comes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from numbers import Number
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from believable._types import Array
from believable.engines.partitions import Step, of_dask, of_spark, word
from believable.engines.spark import compiled, without_vectors
from believable.errors import InputError, MissingDependencyError

NUMBERS = (Number, np.bool_)
SEQUENCES = (list, tuple, np.ndarray)
TAKEN = "polars, pandas, pyarrow, duckdb, ibis, dask and pyspark"


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
            raise InputError(f"frame must be a data frame of {TAKEN}, got a {what}; {advice}") from None
        engine = frame.implementation.value
        if engine in ("duckdb", "ibis", "pyspark", "pyspark_connect") and find_spec("pyarrow") is None:
            raise MissingDependencyError(f"a summary of a {engine} frame needs pyarrow: pip install pyarrow")
        if python_workers and find_spec("pandas") is None:  # which Spark asks for, though nothing is made of it
            raise MissingDependencyError("python_workers=True needs pandas: pip install 'believable[spark]'")
        if engine == "pyspark":
            frame = nw.from_native(without_vectors(nw.to_native(frame)))
        elif python_workers:
            raise InputError(f"python_workers=True is for frames of pyspark, this one is of {engine}")
        return cls(frame.lazy() if engine == "polars" else frame, engine, python_workers or engine == "dask")

    def schema(self) -> dict[str, Any]:
        """Types of the columns, by name."""
        return dict(self.rows.collect_schema())

    def can_ask_for(self, names: Sequence[str]) -> None:
        """Raise where the engine would read a name of a column as something else."""
        for name in names:
            if self.engine.startswith("pyspark") and ("." in name or "`" in name):
                raise InputError(f"Spark would not take {name!r} for one column: rename it, without dots and backticks")

    def only(self, names: Sequence[str]) -> Frame:
        """The same with these columns alone, so that no others are moved."""
        return replace(self, rows=self.rows.select(*dict.fromkeys(names)))

    def settled(self, name: str, dtype: Any, kinds: tuple[type, ...] = NUMBERS) -> Any:
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
