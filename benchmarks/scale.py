"""The same numbers from a Parquet file, by every engine: `python -m benchmarks.scale [--rows 1e6 1e7] [--only NAME]`

Every cell of the table is a process of its own: it reads the file, makes the statistic, and says how long that took,
the most memory it held (of the Java machine too, for Spark) and the answer. Starting up is not timed: each has done the
same on a thousand rows before. `polars` and `duckdb` alone are the engines' own group-by of 50,400 cells with six sums,
written for this file and checking nothing: what a hand-written query would cost.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.memory import MB, peak, start_peak
from benchmarks.table import Table

SIZES = ("1e6", "1e7", "1e8")
ROW_GROUP = 1_000_000
CELLS = 50_400
OURS = "believable, batches of the file"
TOO_LARGE = {"pandas": 30_000_000, "pyarrow": 30_000_000}  # rows: held in memory whole, with every product of columns


def write_file(path: Path, n: int) -> None:
    """Over-confident scores in float32 and labels in int8, one million rows to a row group."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    schema = pa.schema([("p", pa.float32()), ("y", pa.int8())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, n, ROW_GROUP):
            p = rng.beta(1, 3, min(ROW_GROUP, n - start)).astype(np.float32)
            y = (rng.random(len(p)) < p / (p + 1.2 * (1 - p))).astype(np.int8)
            writer.write_table(pa.table({"p": p, "y": y}, schema=schema), row_group_size=ROW_GROUP)


# --- candidates: from a path to (rows, ECE) ---------------------------------------------------------------------------

Answer = tuple[int, float]


def ours(path: str) -> Answer:
    """Batches straight into the kernels: uniform and logit-spaced cells, and the sums of every score."""
    from believable.readers import summarize_files

    return _answer(summarize_files(path, progress=False))


def polars_alone(path: str) -> Answer:
    """A hand-written query."""
    import polars as pl

    p, y = pl.col("p").cast(pl.Float64), pl.col("y").cast(pl.Float64)
    frame = (
        pl.scan_parquet(path)
        .group_by((p * CELLS).ceil().cast(pl.Int32).alias("cell"))
        .agg(
            pl.len().alias("n"),
            y.sum().alias("ny"),
            p.sum().alias("wp"),
            (p * p).sum().alias("wpp"),
            (p * y).sum().alias("wpy"),
        )
        .collect(engine="streaming")
    )
    return _ece(*(frame[name].to_numpy() for name in ("cell", "n", "ny", "wp")))


def duckdb_alone(path: str) -> Answer:
    """A hand-written query."""
    import duckdb

    made = duckdb.sql(
        f"""select cast(ceil(cast(p as double) * {CELLS}) as integer) as cell, count(*) as n, sum(y) as ny,
        sum(cast(p as double)) as wp, sum(cast(p as double) * p) as wpp, sum(cast(p as double) * y) as wpy
        from '{path}' group by cell"""
    ).fetchnumpy()
    return _ece(*(np.asarray(made[name], np.float64) for name in ("cell", "n", "ny", "wp")))


def _ece(cell: Any, n: Any, ny: Any, wp: Any) -> Answer:
    index = np.maximum(np.ceil(np.asarray(cell) * 10 / CELLS).astype(int) - 1, 0)
    total = [np.bincount(index, values, 10) for values in (n, ny, wp)]
    return int(total[0].sum()), float(np.abs(total[1] - total[2]).sum() / total[0].sum())


def _by_engine(frame: Any, **options: Any) -> Answer:
    from believable.engines import summarize

    return _answer(summarize(frame, prob="p", label="y", **options))


def _answer(summary: Any) -> Answer:
    from believable import expected_calibration_error

    return summary.n, expected_calibration_error(summary.cells_of())


def by_polars(path: str) -> Answer:
    """Lazy polars."""
    import polars as pl

    return _by_engine(pl.scan_parquet(path))


def by_duckdb(path: str) -> Answer:
    """A duckdb relation."""
    import duckdb

    return _by_engine(duckdb.read_parquet(path))


def by_ibis(path: str) -> Answer:
    """An ibis table on duckdb."""
    import ibis

    return _by_engine(ibis.duckdb.connect().read_parquet(path))


def by_pandas(path: str) -> Answer:
    """A pandas frame in memory."""
    import pandas as pd

    return _by_engine(pd.read_parquet(path))


def by_pyarrow(path: str) -> Answer:
    """A pyarrow table in memory."""
    import pyarrow.parquet as pq

    return _by_engine(pq.read_table(path))


def by_dask(path: str) -> Answer:
    """A dask frame, one partition per few row groups."""
    import dask.dataframe as dd

    return _by_engine(dd.read_parquet(path, split_row_groups="adaptive"))


def by_spark(path: str) -> Answer:
    """A query of Spark on the cores of this machine."""
    return _by_engine(_session().read.parquet(path))


def by_workers(path: str) -> Answer:
    """Spark hands its partitions to Python workers."""
    return _by_engine(_session().read.parquet(path), python_workers=True)


def _session() -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "4g").config("spark.sql.shuffle.partitions", "8")
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


CANDIDATES: dict[str, Callable[[str], Answer]] = {
    OURS: ours,
    "polars alone": polars_alone,
    "duckdb alone": duckdb_alone,
    "summarize on polars": by_polars,
    "summarize on duckdb": by_duckdb,
    "summarize on ibis": by_ibis,
    "summarize on pyarrow": by_pyarrow,
    "summarize on pandas": by_pandas,
    "summarize on dask": by_dask,
    "summarize on spark": by_spark,
    "summarize on spark, Python workers": by_workers,
}


# --- one process each -------------------------------------------------------------------------------------------------


def measure(name: str, path: str, small: str) -> dict[str, float]:
    """Seconds, bytes and the answer, in this process."""
    candidate = CANDIDATES[name]
    candidate(small)
    start_peak()
    start = perf_counter()
    n, ece = candidate(path)
    seconds = perf_counter() - start
    return {"seconds": seconds, "bytes": peak() + _java(), "n": n, "ece": ece}


def _java() -> int:
    """The most memory that a Java machine under this process has held; 0 without one."""
    most = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            facts = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        except OSError:
            continue
        if facts.get("Name", "").strip() == "java" and "VmHWM" in facts:
            most = max(most, int(facts["VmHWM"].split()[0]) * 1024)
    return most


def _row(name: str, path: Path, small: Path, times: int) -> tuple[list[str], float | None]:
    n = int(path.stem)
    if n > TOO_LARGE.get(name.rpartition(" ")[2], n):
        return [f"{n:,}", "", "", "", "holds all rows"], None
    found = []
    for _ in range(times):
        command = [sys.executable, "-m", "benchmarks.scale", "--measure", name, str(path), str(small)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["failed"])[-1][:60]
            return [f"{n:,}", "", "", "", reason], None
        found.append(json.loads(done.stdout.splitlines()[-1]))
    best = min(found, key=lambda one: one["seconds"])
    seconds, answer = best["seconds"], f"{best['ece']:.9f}" if best["n"] == n else f"{best['n']:,} rows"
    return [f"{n:,}", f"{seconds:.2f}", f"{1e9 * seconds / n:.1f}", f"{best['bytes'] / MB:,.0f}", answer], seconds


def main() -> None:
    """Make the files, run every candidate at every size, print."""
    parser = argparse.ArgumentParser("python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--rows", nargs="+", default=SIZES, help="sizes; 1e6 1e7 1e8 if left out")
    parser.add_argument("--only", action="append", choices=CANDIDATES, help="one candidate; may be repeated")
    parser.add_argument("--times", type=int, default=3, help="runs of each, of which the best is told")
    parser.add_argument("--folder", type=Path, help="where the files are made and kept; a passing one if left out")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        print(json.dumps(measure(*asked.measure)))
        return
    with tempfile.TemporaryDirectory() as passing:
        folder = asked.folder or Path(passing)
        paths = [folder / f"{int(float(rows))}.parquet" for rows in ("1e3", *asked.rows)]
        for path in paths:
            if not path.exists():
                write_file(path, int(path.stem))
        tables = [machine.table()] if asked.only is None else []
        for path in paths[1:]:
            rows, at_ours = [], None
            for name in asked.only or CANDIDATES:
                cells, seconds = _row(name, path, paths[0], asked.times)
                at_ours = seconds if name == OURS else at_ours
                ratio = f"{seconds / at_ours:.2f}" if seconds and at_ours else ""
                rows.append((name, *cells, ratio))
            head = ("", "rows", "seconds", "ns per row", "peak MB", "ECE (10 bins)", "ratio to ours")
            tables.append(Table(f"{int(path.stem):,} rows, float32 + int8, Parquet", head, rows))
        for table in tables:
            print(table.markdown() if asked.markdown else table.plain(), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
