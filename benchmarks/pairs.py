"""Timed jobs of errors that are sums over all pairs of rows: the MMCE and the kernel calibration error."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks import data, peers
from benchmarks.data import Array
from benchmarks.jobs import Job
from benchmarks.peers import Call, Prepared, load

MMCE = "maximum_mean_calibration_error"
SKCE = "squared_kernel_calibration_error"
OUR_MMCE = Call(f"believable {MMCE}", "believable", peers.ours(MMCE))


def netcal_mmce(p: Array, y: Array) -> Prepared:
    mmce = load("netcal.metrics").MMCE
    return lambda: mmce().measure(p, y)


def numpy_skce(p: Array, y: Array) -> Prepared:
    """The formula as it stands, unchecked: whole n x n matrices of the kernel and of the products of residuals."""

    def matrices() -> float:
        points = p.astype(np.float64)
        residuals = np.eye(points.shape[1])[y] - points
        distance = sum(np.abs(column[:, None] - column) for column in points.T) / 2
        h = np.exp(-distance / 0.5) * (residuals @ residuals.T)
        return float((h.sum() - np.trace(h)) / (len(p) * (len(p) - 1)))

    return matrices


def jobs(shrink: int) -> Iterator[Job]:
    """All jobs, with `shrink` times fewer rows."""
    n = 10**4 // shrink
    peer = Call("netcal MMCE", "netcal", netcal_mmce, note="netcal looks at all n^2 pairs, and checks nothing")
    yield Job("mmce", f"MMCE, {n:,} x 10, float32", partial(data.multiclass, n, 10), (OUR_MMCE, peer))
    large = 10**6 // shrink
    sorting = Call("NumPy argsort of the scores", None, lambda p, y: lambda: np.argsort(p), lambda *_: float("nan"))
    yield Job("mmce", f"MMCE, n={large:,}, float64 + int64", partial(data.binary, large), (OUR_MMCE, sorting))

    ours = Call(f"believable {SKCE}", "believable", peers.ours(SKCE, bandwidth=0.5))
    gaussian = Call("believable, Gaussian kernel", "believable", peers.ours(SKCE, kernel="gaussian", bandwidth=0.5))
    by_hand = Call(
        "NumPy, n x n matrices", None, numpy_skce, note="NumPy's matrices take 8 n^2 bytes each, three at once"
    )
    calls = (ours, by_hand, gaussian)
    yield Job("skce", f"SKCE, {n:,} x 10, float32", partial(data.multiclass, n, 10), calls)
    yield Job("skce", f"SKCE, {n // 5:,} x 1000, float32", partial(data.multiclass, n // 5, 1000), (ours, gaussian))
    yield Job("skce", f"SKCE, n={large:,}, float64 + int64, 1-D", partial(data.binary, large), (ours,))
