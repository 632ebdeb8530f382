"""A data frame and the engine behind it: how its rows are asked, and how little comes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import narwhals as nw
import numpy as np

from believable._types import Array
from believable.engines.partitions import Step, of_dask, of_spark, word
from believable.engines.spark import compiled, without_vectors
from believable.errors import InputError, MissingDependencyError

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
        except TypeError:
            raise InputError(
                f"frame must be a data frame of {TAKEN}, got a {type(native).__name__}; arrays go to "
                "Summary.of(Predictions(predictions, actuals))"
            ) from None
        engine = frame.implementation.value
        if engine in ("duckdb", "ibis", "pyspark", "pyspark_connect") and find_spec("pyarrow") is None:
            raise MissingDependencyError(f"a summary of a {engine} frame needs pyarrow: pip install pyarrow")
        if engine == "pyspark":
            frame = nw.from_native(without_vectors(native))
        elif python_workers:
            raise InputError(f"python_workers=True is for frames of pyspark, this one is of {engine}")
        return cls(frame.lazy() if engine == "polars" else frame, engine, python_workers or engine == "dask")

    def schema(self) -> dict[str, Any]:
        """Types of the columns, by name."""
        return dict(self.rows.collect_schema())

    def only(self, names: Sequence[str]) -> Frame:
        """The same with these columns alone, so that no others are moved."""
        return replace(self, rows=self.rows.select(*dict.fromkeys(names)))

    def settled(self, name: str, dtype: Any) -> Any:
        """The type of a column; objects that dask has not looked at yet may be anything, so look at one."""
        if self.engine != "dask" or nw.to_native(self.rows)._meta[name].dtype != object:
            return dtype
        return nw.String() if isinstance(self.first(name), str) else nw.Object()

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
