"""Ways to sum ten bins of ten million rows: what the decision for C was made on.

`python -m benchmarks.choices [--rows N]` times each in turns, beside a read of the same bytes by two threads, and
prints what it costs to import. Whatever is not installed is left out.
"""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.table import Table
from benchmarks.timing import in_turns

BINS = 10
Sums = Callable[[], Any]


def compiled(p: Any, y: Any) -> Sums:
    """Ours in C, on as many threads as there are."""
    return _ours(p, y, 1)


def in_numpy(p: Any, y: Any) -> Sums:
    """Ours in NumPy."""
    return _ours(p, y, 0)


def _ours(p: Any, y: Any, which: int) -> Sums:
    from believable._kernels.twins import TWINS, backend
    from believable.binning import Edges

    if which and backend == "numpy":
        raise ImportError("the compiled kernels are not in use")
    kernel, partition = TWINS["bin_moments"][which], Edges.uniform(BINS).partition(p.dtype)
    return lambda: kernel(p, y, None, partition, False)


def numba(p: Any, y: Any) -> Sums:
    """A loop, compiled when it is first called, on one thread."""
    jit = import_module("numba").njit

    @jit
    def loop(p: Any, y: Any) -> Any:
        sums = np.zeros((BINS, 2, 2))
        for i in range(len(p)):
            k = min(max(int(np.ceil(p[i] * BINS)) - 1, 0), BINS - 1)
            sums[k, y[i], 0] += 1
            sums[k, y[i], 1] += p[i]
        return sums

    loop(p[:10], y[:10])
    return lambda: loop(p, y)


def boost_histogram(p: Any, y: Any) -> Sums:
    """Two histograms, of rows and of their scores, on two threads."""
    bh = import_module("boost_histogram")
    axes, storage = (bh.axis.Regular(BINS, 0, 1), bh.axis.Integer(0, 2)), bh.storage.Double()

    def fill() -> Any:
        counts, sums = bh.Histogram(*axes, storage=storage), bh.Histogram(*axes, storage=storage)
        return counts.fill(p, y, threads=2), sums.fill(p, y, weight=p, threads=2)

    return fill


def polars(p: Any, y: Any) -> Sums:
    """A lazy group-by, on all threads."""
    pl = import_module("polars")
    bin_of = ((pl.col("p") * BINS).ceil() - 1).clip(0, BINS - 1).cast(pl.Int8)
    query = pl.LazyFrame({"p": p, "y": y}).group_by(bin_of.alias("bin"), "y").agg(pl.len(), pl.col("p").sum())
    return lambda: query.collect()


def duckdb(p: Any, y: Any) -> Sums:
    """A query over the arrays where they are, on all threads."""
    connection = import_module("duckdb").connect()
    connection.register("rows", {"p": p, "y": y})
    bin_of = f"least(greatest(ceil(p * {BINS}) - 1, 0), {BINS - 1})::int"
    query = f"select {bin_of} k, y, count(*), sum(p) from rows group by k, y"
    return lambda: connection.execute(query).fetchall()


def torch(p: Any, y: Any) -> Sums:
    """Codes and two bincounts, on all threads."""
    t = import_module("torch")
    scores, labels = t.from_numpy(p), t.from_numpy(y)

    def count() -> Any:
        code = 2 * ((scores * BINS).ceil() - 1).clamp_(0, BINS - 1).long() + labels
        return t.bincount(code), t.bincount(code, scores)

    return count


WAYS = (compiled, in_numpy, numba, boost_histogram, polars, duckdb, torch)
MODULES = {compiled: "believable._kernels.compiled._c", in_numpy: "numpy"}  # what each adds to import


def main() -> None:
    """Time every way that can be imported, and print a table."""
    parser = ArgumentParser("python -m benchmarks.choices", description=__doc__)
    parser.add_argument("--rows", type=int, default=10**7)
    p, y = data.binary(parser.parse_args().rows)
    ready, rows = [], []
    for way in WAYS:
        try:
            ready.append((way, way(p, y)))
        except ImportError:
            rows.append((way.__name__, "not installed", "", ""))
    limit, *timed = in_turns([_read(p, y), *(call for _, call in ready)])
    for (way, _), one in zip(ready, timed, strict=True):
        shown = one.failure or f"{one.seconds * 1e3:,.1f}"
        times = "" if one.failure else f"{one.seconds / limit.seconds:.1f}"
        rows.append((way.__name__, shown, times, f"{_import(MODULES.get(way, way.__name__)):.0f}"))
    head = ("", "ms", "x limit", "import ms, after NumPy")
    notes = [f"the limit, one read of the same bytes by two threads, is {limit.seconds * 1e3:.1f} ms"]
    print(Table(f"Ten bins of {len(p):,} rows, float64 + int64", head, rows, notes).plain())


def _read(p: Any, y: Any) -> Sums:
    from believable._kernels.compiled.threads import in_parts, ranges

    return lambda: in_parts(lambda part, start, stop: (p[start:stop].max(), y[start:stop].max()), ranges(len(p), 1))


def _import(module: str) -> float:
    before = "numpy, believable._kernels" if module.startswith("believable") else "numpy"
    code = f"import {before}, time; t = time.perf_counter(); import {module}; print(1e3 * (time.perf_counter() - t))"
    command, fresh = [sys.executable, "-c", code], os.environ | {"BELIEVABLE_KERNELS": "numpy"}
    done = (subprocess.run(command, env=fresh, capture_output=True, text=True, check=True) for _ in range(3))
    return min(float(one.stdout) for one in done)


if __name__ == "__main__":
    main()
