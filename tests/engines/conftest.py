"""One fixture, every engine: a function that makes its frame of an arrow table."""

from __future__ import annotations

import os
import sys
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from tests.needs import need

# Threads that compute parts at the same time share one list of warning filters, and now and then lose a warning.
os.environ.setdefault("DASK_SCHEDULER", "synchronous")


def _polars(table):
    import polars

    return polars.from_arrow(table)


def _polars_lazy(table):
    return _polars(table).lazy()


def _pandas(table):
    frame = table.to_pandas()
    frame.index = np.arange(len(frame))[::-1] // 2  # neither in order nor distinct
    return frame


def _pyarrow(table):
    return table


@cache
def _connection():
    """A connection that stays open: before duckdb 1.5, a relation does not keep its own."""
    return need("duckdb").connect()


def _duckdb(table):
    return need("duckdb").from_arrow(table, connection=_connection())


def _ibis(table):
    return need("ibis").memtable(table)


def _dask(table, cuts):
    need("dask")
    import dask
    import dask.dataframe

    frame = _pandas(table)
    ends = [0, *(int(cut * len(frame)) for cut in cuts), len(frame)]
    parts = [frame.iloc[a:b] for a, b in pairwise(ends)]
    delayed = [dask.delayed(part) for part in parts]
    with dask.config.set({"dataframe.convert-string": False}):  # else dask makes text of lists and decimals
        return dask.dataframe.from_delayed(delayed, meta=frame.iloc[:0], verify_meta=False)


def _dask_whole(table):
    return _dask(table, [])


def _dask_parts(table):
    return _dask(table, [0.2, 0.2, 0.7])  # the second is empty


ENGINES = {
    "polars": _polars,
    "polars-lazy": _polars_lazy,
    "pandas": _pandas,
    "pyarrow": _pyarrow,
    "duckdb": _duckdb,
    "ibis": _ibis,
    "dask": _dask_whole,
    "dask-parts": _dask_parts,
}


@pytest.fixture(scope="session")
def spark():
    """One session for all: starting it takes longer than any of its queries."""
    need("spark")
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the workers' Python

    options = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # small queries: compile quickly, not well
        "spark.log.level": "ERROR",
    }
    session = SparkSession.builder.master("local[2]").config(map=options).getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session", params=[*ENGINES, "spark"])
def frame_of(request):
    """A function from an arrow table to the frame of an engine."""
    if request.param != "spark":
        return ENGINES[request.param]
    session = request.getfixturevalue("spark")

    def _spark(table):
        frame = session.createDataFrame(table)
        return frame.repartition(3).union(frame.limit(0))

    return _spark
