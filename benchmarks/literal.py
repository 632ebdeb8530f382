"""What the numbers are: each definition as it is written, in NumPy and float64, without believable and without haste.

Bins are right-closed, ten of them. The rows measured have hardly any score on an edge, so libraries that close bins on
the left agree with these values to many digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.stats import rankdata

from benchmarks import optima
from benchmarks.data import Array

BINS = 10
BLOCK = 1 << 20  # numbers looked at together
CELLS = 4000  # of the smooth error: moving rows to the middles of cells changes it in the sixth digit
DRAWS = 1000


def error(p: Array, y: Array) -> float:
    """Expected calibration error of one event."""
    inner = np.linspace(0, 1, BINS + 1)[1:-1].astype(np.asarray(p).dtype)
    return _error(np.asarray(p), np.asarray(y), inner)


def _error(p: Array, y: Array, inner: Array) -> float:
    gap = np.zeros(BINS)
    for rows in _blocks(len(p), 1):
        gap += np.bincount(np.digitize(p[rows], inner, right=True), y[rows] - p[rows].astype(np.float64), BINS)
    return float(np.abs(gap).sum() / len(p))


def top_label(p: Array, y: Array) -> float:
    """The same of the largest probability in a row, and whether its class happened."""
    return error(p.max(axis=1), p.argmax(axis=1) == y)


def class_wise(p: Array, y: Array) -> float:
    """The mean over classes of the error of each."""
    k = p.shape[1]
    inner = np.linspace(0, 1, BINS + 1)[1:-1].astype(p.dtype)
    gap = np.zeros(BINS * k)
    for rows in _blocks(len(p), k):
        excess = np.equal(y[rows, None], np.arange(k)) - p[rows].astype(np.float64)
        index = np.digitize(p[rows], inner, right=True) + BINS * np.arange(k)
        gap += np.bincount(index.ravel(), excess.ravel(), BINS * k)
    return float(np.abs(gap).sum() / p.size)


def equal_mass(p: Array, y: Array) -> float:
    """Edges are the scores at which j tenths of the rows are reached."""
    return _error(p, y, np.sort(p)[-(-len(p) * np.arange(1, BINS) // BINS) - 1])


def mmce(p: Array, y: Array) -> float:
    """Root of the mean over pairs of (y_i - p_i)(y_j - p_j) exp(-|p_i - p_j| / 0.4); of the top label for a matrix."""
    if p.ndim == 2:
        p, y = p.max(axis=1), p.argmax(axis=1) == y
    p = p.astype(np.float64)
    excess = y - p
    own, pairs = _sum_over_pairs(p, excess, 0.4)
    return float(np.sqrt(own + 2 * pairs) / len(p))


def skce(p: Array, y: Array) -> float:
    """Mean over pairs of different rows of exp(-TV / 0.5) <e_i - P_i, e_j - P_j>."""
    n = len(p)
    if p.ndim == 1:  # the vectors are (1 - p, p): TV is |p_i - p_j|, the product twice that of the second entries
        return float(4 * _sum_over_pairs(p, y - p, 0.5)[1] / (n * (n - 1)))
    points = p.astype(np.float64)
    excess = np.equal(y[:, None], np.arange(p.shape[1])) - points
    total = -float((excess**2).sum())
    for rows in _blocks(n, n):
        distance = np.zeros((rows.stop - rows.start, n))
        for column in points.T:
            distance += np.abs(column[rows, None] - column)
        total += float((np.exp(distance / -1.0) * (excess[rows] @ excess.T)).sum())
    return total / (n * (n - 1))


def _sum_over_pairs(p: Array, excess: Array, bandwidth: float) -> tuple[float, float]:
    """Squares of the excess, and its products over pairs i < j, faded; scores in [0, 1] keep exp(p / h) small."""
    order = np.argsort(p, kind="stable")
    p, excess = p[order].astype(np.longdouble), excess[order].astype(np.longdouble)
    left = np.cumsum(excess * np.exp(p / bandwidth))
    return float((excess**2).sum()), float((excess[1:] * np.exp(-p[1:] / bandwidth) * left[:-1]).sum())


def smooth(p: Array, y: Array) -> float:
    """Smooth calibration error: residuals under a reflected Gaussian whose width is the answer."""
    cell = np.minimum((p * CELLS).astype(np.intp), CELLS - 1)
    mass = np.bincount(cell, y - p, CELLS) / len(p)
    low, high = 0.0, 1.0
    for _ in range(30):
        width = (low + high) / 2
        left = np.abs(gaussian_filter1d(mass, width * CELLS, mode="reflect", truncate=7)).sum()
        low, high = (width, high) if left > width else (low, width)
    return (low + high) / 2


def auc(p: Array, y: Array) -> float:
    """The share of pairs of a row that happened and one that did not which are in order; ties count half."""
    happened = int(y.sum())
    ranks = float(rankdata(p)[y == 1].sum())
    return (ranks - happened * (happened + 1) / 2) / (happened * (len(y) - happened))


def corp(p: Array, y: Array) -> float:
    """Miscalibration: the Brier score less that of the isotonic fit."""
    return float(np.mean((p - y) ** 2) - np.mean((optima.isotonic(p, y) - y) ** 2))


def bootstrap(p: Array, y: Array) -> Array:
    """Ends of the 95 % percentile interval of the error, from rows drawn with replacement."""
    rng = np.random.default_rng(7)
    index, excess = np.digitize(p, np.linspace(0, 1, BINS + 1)[1:-1], right=True), y - p
    draws = np.empty(DRAWS)
    for i in range(DRAWS):
        rows = rng.integers(len(p), size=len(p))
        draws[i] = np.abs(np.bincount(index[rows], excess[rows], BINS)).sum() / len(p)
    return np.percentile(draws, [2.5, 97.5])


def off(found: Array | float, truth: Array | float) -> float:
    """The largest difference, in units of the largest true value; infinite where a number is missing."""
    found, truth = np.asarray(found, np.float64), np.asarray(truth, np.float64)
    if found.shape != truth.shape or not np.isfinite(found).all():
        return float("inf")
    return float(np.abs(found - truth).max() / max(float(np.abs(truth).max()), 1e-300))


def _blocks(n: int, width: int) -> Iterator[slice]:
    step = max(1, BLOCK // width)
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


Reference = Callable[[Array, Array], Array | float]
