"""What a row of a table is; our own calls, the read that is the limit, and what one would write by hand in NumPy."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.data import Array, Data

Prepared = Callable[[], Any]
BINS = 10
DRAWS = 1000  # of a bootstrap
TEST_SCORES = np.linspace(0.003, 0.997, 20)  # where intervals of maps are looked at

PACKAGES = {
    "scikit-learn": "sklearn.calibration",
    "torchmetrics": "torchmetrics.functional.classification",
    "netcal": "netcal.metrics",
    "relplot": "relplot.metrics",
    "calibre": "calibre",
    "uncertainty-calibration": "calibration",
    "betacal": "betacal",
    "venn-abers": "venn_abers",
    "probmetrics": "probmetrics.metrics",
    "calzone-tool": "calzone",
    "mapie": "mapie.metrics.calibration",
}  # the name on PyPI, and the module that is timed on import


@dataclass(frozen=True, slots=True)
class Call:
    """A row of a table. `package` is None for plain NumPy; `value` reads the number off the result, untimed.

    `other` says why the number is another one by definition; then it is not compared. `most` is the largest n that the
    call is given, where it would need more memory than there is.
    """

    name: str
    package: str | None
    prepare: Callable[[Any, Any], Prepared]
    value: Callable[[Any, Data], Any] = lambda result, data: float(result)
    other: str = ""
    note: str = ""
    most: int | None = None

    @property
    def installed(self) -> bool:
        return self.package is None or installed(self.package) is not None


def installed(package: str) -> str | None:
    """The version of a package, or None."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def load(module: str) -> Any:
    """Import a module without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module(module)


@dataclass(frozen=True, slots=True)
class Operation:
    """A name for the command line, a title, sizes in rows, how to make them, the calls, ours first, and the answer.

    `reference` is what every value is compared with: further off than `right`, in units of the reference, is rough,
    and ten times that wrong.
    With `limit` our time is set beside a read of the same bytes, and `target` is the multiple of it we want at most.
    `tiny` rows are enough to see that everything runs. `short` is the title in pictures.
    With `peak` memory is measured too.
    """

    name: str
    title: str
    sizes: tuple[int, ...]
    make: Callable[[int], tuple[Any, Any]]
    calls: tuple[Call, ...]
    reference: Callable[[Any, Any], Any]
    right: float = 1e-4
    limit: bool = True
    target: float | None = None
    tiny: int = 400
    note: str = ""
    short: str = ""
    peak: bool = False


def ours(function: str, value: Callable[[Any, Data], Any] | None = None, **choices: Any) -> Call:
    """One of our metrics, arrays in, checks included."""

    def prepare(p: Any, y: Any) -> Prepared:
        metric = getattr(load("believable"), function)
        return lambda: metric(p, y, **choices)

    return Call(f"believable {function}", "believable", prepare, value or (lambda result, data: float(result)))


def our_cells(p: Array, y: Array) -> Prepared:
    believable = load("believable")
    return lambda: believable.CellStats.of(believable.Predictions(p, y))


def error_of_cells(cells: Any, data: Data) -> float:
    return float(load("believable").expected_calibration_error(cells.coarsen(BINS)))


def read(threads: int) -> Callable[[Array, Array], Prepared]:
    """One read of the same bytes: nothing that looks at every number is quicker on so many threads."""

    def prepare(p: Array, y: Array) -> Prepared:
        ends = [len(p) * part // threads for part in range(threads + 1)]
        parts = [(p[start:stop], y[start:stop]) for start, stop in pairwise(ends)]
        if threads == 1:
            return lambda: _look(parts[0])
        return lambda: list(_pool(threads).map(_look, parts))

    return prepare


def _look(part: Data) -> Any:
    return part[0].max(), part[1].max()


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Kept, so that starting threads is not timed."""
    return ThreadPoolExecutor(threads)


def numpy_class_loop(p: Array, y: Array) -> Prepared:
    """The textbook loop over classes, with two bincounts for each."""
    inner = np.linspace(0, 1, BINS + 1)[1:-1].astype(p.dtype)

    def loop() -> float:
        total = 0.0
        for k in range(p.shape[1]):
            index = np.digitize(p[:, k], inner, right=True)
            total += np.abs(np.bincount(index, p[:, k], BINS) - np.bincount(index, y == k, BINS)).sum()
        return total / p.size

    return loop


def numpy_cells(p: Array, y: Array) -> Prepared:
    """Multiply, truncate and three bincounts, unchecked, without care at the edges, all rows at once."""
    n_cells = load("believable.binning").N_CELLS

    def count() -> tuple[Array, Array, Array]:
        index = np.minimum((p * n_cells).astype(np.int64), n_cells - 1)
        return np.bincount(index, minlength=n_cells), np.bincount(index, p, n_cells), np.bincount(index, y, n_cells)

    return count


def error_of_sums(sums: Any, data: Data) -> float:
    gap = (sums[1] - sums[2]).reshape(BINS, -1).sum(axis=1)
    return float(np.abs(gap).sum() / sums[0].sum())


def numpy_skce(p: Array, y: Array) -> Prepared:
    """The formula as it stands, unchecked: whole n x n matrices of the kernel and of the products of residuals."""

    def matrices() -> float:
        points = p.astype(np.float64)
        residuals = np.eye(points.shape[1])[y] - points
        distance = sum(np.abs(column[:, None] - column) for column in points.T) / 2
        h = np.exp(-distance / 0.5) * (residuals @ residuals.T)
        return float((h.sum() - np.trace(h)) / (len(p) * (len(p) - 1)))

    return matrices
