"""How each library is called: what is converted beforehand, what is timed, and which number comes out.

Nothing is imported before it is asked for. The functions that prepare a call take the arrays, convert them to the type
the library wants, and return the call to be timed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from benchmarks.data import Array, Data

Prepared = Callable[[], Any]
BINS = 10

PACKAGES = {
    "scikit-learn": "sklearn.calibration",
    "torchmetrics": "torchmetrics.functional.classification",
    "netcal": "netcal.metrics",
    "relplot": "relplot.metrics",
    "calibre": "calibre",
    "uncertainty-calibration": "calibration",
    "betacal": "betacal",
    "venn-abers": "venn_abers",
}  # the name on PyPI, and the module that is timed on import


@dataclass(frozen=True, slots=True)
class Call:
    """A row of a table. `package` is None for plain NumPy; `value` reads the number off the result, untimed."""

    name: str
    package: str | None
    prepare: Callable[[Any, Any], Prepared]
    value: Callable[[Any, Data], float] = lambda result, data: float(result)
    note: str = ""

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


def ours(function: str, **choices: Any) -> Callable[[Any, Any], Prepared]:
    """One of our metrics, arrays in, checks included."""

    def prepare(p: Any, y: Any) -> Prepared:
        metric = getattr(load("believable"), function)
        return lambda: metric(p, y, **choices)

    return prepare


def numpy_read(p: Array, y: Array) -> Prepared:
    """One read of the same bytes: nothing that looks at every number is quicker on one thread."""
    return lambda: (p.max(), y.max())


def sklearn_curve(strategy: str) -> Callable[[Any, Any], Prepared]:
    def prepare(p: Any, y: Any) -> Prepared:
        curve = load("sklearn.calibration").calibration_curve
        return lambda: curve(y, p, n_bins=BINS, strategy=strategy)

    return prepare


def error_of_curve(strategy: str) -> Callable[[Any, Data], float]:
    """The ECE behind scikit-learn's curve, which does not return the counts: they are made again, in its bins."""

    def value(curve: Any, data: Data) -> float:
        p = np.asarray(data[0])
        edges = np.linspace(0, 1, BINS + 1)
        if strategy == "quantile":
            edges = np.percentile(p, edges * 100)
        counts = np.bincount(np.searchsorted(edges[1:-1], p), minlength=BINS)
        happened, predicted = curve
        return float(np.abs(happened - predicted) @ counts[counts > 0] / len(p))

    return value


def sklearn_auc(p: Array, y: Array) -> Prepared:
    score = load("sklearn.metrics").roc_auc_score
    return lambda: score(y, p)


def torchmetrics_binary(**choices: Any) -> Callable[[Array, Array], Prepared]:
    def prepare(p: Array, y: Array) -> Prepared:
        torch, tm = load("torch"), load("torchmetrics.functional.classification")
        scores, labels = torch.from_numpy(p), torch.from_numpy(y)
        return lambda: tm.binary_calibration_error(scores, labels, n_bins=BINS, **choices)

    return prepare


def torchmetrics_multiclass(**choices: Any) -> Callable[[Array, Array], Prepared]:
    def prepare(p: Array, y: Array) -> Prepared:
        torch, tm = load("torch"), load("torchmetrics.functional.classification")
        scores, labels = torch.from_numpy(p), torch.from_numpy(y)
        n_classes = p.shape[1]
        return lambda: tm.multiclass_calibration_error(scores, labels, n_classes, n_bins=BINS, **choices)

    return prepare


def on_one_thread(prepare: Callable[[Array, Array], Prepared]) -> Callable[[Array, Array], Prepared]:
    """The same torch call without its threads, which wait for each other when the machine is busy."""

    def prepare_alone(p: Array, y: Array) -> Prepared:
        torch, call = load("torch"), prepare(p, y)
        threads = torch.get_num_threads()

        def alone() -> Any:
            torch.set_num_threads(1)
            try:
                return call()
            finally:
                torch.set_num_threads(threads)

        return alone

    return prepare_alone


def netcal_ece(**choices: Any) -> Callable[[Array, Array], Prepared]:
    def prepare(p: Array, y: Array) -> Prepared:
        ece = load("netcal.metrics").ECE
        return lambda: ece(BINS, **choices).measure(p, y)

    return prepare


def relplot_binned(p: Array, y: Array) -> Prepared:
    metrics = load("relplot.metrics")
    return lambda: metrics.binnedECE(p, y, BINS)


def relplot_smooth(p: Array, y: Array) -> Prepared:
    relplot = load("relplot")
    return lambda: relplot.smECE(p, y)


def relplot_confidence(p: Array, y: Array) -> Prepared:
    metrics = load("relplot.metrics")
    return lambda: metrics.binnedECE(p.max(axis=1), p.argmax(axis=1) == y, BINS)


def calibre_metric(function: str, **choices: Any) -> Callable[[Any, Any], Prepared]:
    def prepare(p: Any, y: Any) -> Prepared:
        metric = getattr(load("calibre"), function)
        return lambda: metric(y, p, n_bins=BINS, **choices)

    return prepare


def calibre_matrix(function: str) -> Callable[[Array, Array], Prepared]:
    """Its check of row sums refuses float32 rows: they are normalised in float64, untimed."""

    def prepare(p: Array, y: Array) -> Prepared:
        rows = p.astype(np.float64)
        rows /= rows.sum(axis=1, keepdims=True)
        return calibre_metric(function)(rows, y)

    return prepare


def uncertainty_calibration(mode: str) -> Callable[[Array, Array], Prepared]:
    def prepare(p: Array, y: Array) -> Prepared:
        ece = load("calibration").get_ece
        return lambda: ece(p, y, num_bins=BINS, mode=mode)

    return prepare


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


def our_cells(p: Array, y: Array) -> Prepared:
    believable = load("believable")
    return lambda: believable.CellStats.of(believable.Predictions(p, y))


def error_of_cells(cells: Any, data: Data) -> float:
    return float(load("believable").expected_calibration_error(cells.coarsen(BINS)))


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
