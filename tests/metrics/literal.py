"""The definitions as textbook loops, row by row, and the data they are compared on.

Nothing of the library is used here, not even its bins: sums are `math.fsum`, the walk of the quantile bins is in exact
fractions, and NumPy only holds the arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import fsum
from typing import Any, NamedTuple

import numpy as np
import pytest

Pair = tuple[float, float, float]  # score, outcome, weight


class Data(NamedTuple):
    """One problem; `kind` says which door it enters by: plain arrays, soft labels or independent columns."""

    scores: Any
    labels: Any
    weights: Any = None
    kind: str = "plain"


def close(value: Any) -> Any:
    """Equal to 1e-12, relative."""
    return pytest.approx(value, rel=1e-12, abs=1e-15, nan_ok=True)


# --- from rows to pairs -----------------------------------------------------------------------------------------------


def rows(data: Data) -> Iterator[tuple[Any, Any, float]]:
    """Score (or scores), label and weight of each row that has weight."""
    weights = np.ones(len(data.scores)) if data.weights is None else np.asarray(data.weights, np.float64)
    for p, y, w in zip(data.scores.tolist(), data.labels.tolist(), weights.tolist(), strict=True):
        if w > 0:
            yield p, y, w


def rounded(value: float, dtype: Any) -> float:
    """The value as a number of the scores' type."""
    return float(np.dtype(dtype).type(value))


def ranking(p: list[float]) -> list[int]:
    """Classes from the most probable down, ties to the lower class first."""
    return sorted(range(len(p)), key=lambda k: (-p[k], k))


def entries(p: Any, y: Any, notion: str, r: int, dtype: Any) -> Iterator[tuple[int, float, float]]:
    """(group, score, outcome) of one row under a notion."""
    if notion == "binary":
        yield 0, p[1] if isinstance(p, list) else p, y
        return
    order = ranking(p)
    if notion == "confidence":
        yield 0, p[order[0]], order[0] == y
    elif notion == "top_label":
        yield order[0], p[order[0]], order[0] == y
    elif notion == "classwise":
        for k in range(len(p)):
            yield k, p[k], y[k] if isinstance(y, list) else y == k
    elif notion == "top_r":
        for j in range(r):
            yield j, p[order[j]], order[j] == y
    elif notion == "classwise_top_r":
        for k in order[:r]:
            yield k, p[k], k == y
    elif notion == "rth":
        yield 0, p[order[r - 1]], order[r - 1] == y
    elif notion == "within_top_r":
        total = 0.0
        for j in range(r):
            total += p[order[j]]
        yield 0, rounded(min(total, 1.0), dtype), y in order[:r]


def pairs(
    data: Data, notion: str | None = None, r: int = 1, threshold: float | None = None, pooled: bool = False
) -> list[list[Pair]]:
    """The pairs of every group; a soft label is a row that happened and a row that did not."""
    n_classes = 1 if data.scores.ndim == 1 else data.scores.shape[1]
    if notion is None:
        notion = "binary" if n_classes == 1 else "classwise" if data.kind == "multilabel" else "confidence"
    apart = {"top_label": n_classes, "classwise": n_classes, "classwise_top_r": n_classes, "top_r": r}
    groups: list[list[Pair]] = [[] for _ in range(1 if pooled else apart.get(notion, 1))]
    for p, y, w in rows(data):
        for group, score, outcome in entries(p, y, notion, r, data.scores.dtype):
            if threshold is not None and not score > rounded(threshold, data.scores.dtype):
                continue
            into = groups[0 if pooled else group]
            if data.kind == "soft":
                into += [(score, value, weight) for value, weight in ((1, w * y), (0, w * (1 - y))) if weight > 0]
            else:
                into.append((score, float(outcome), w))
    return groups


# --- from pairs to bins -----------------------------------------------------------------------------------------------


class Cell(NamedTuple):
    """A bin of one group, and the pairs in it."""

    group: int
    low: float
    high: float
    pairs: list[Pair]

    @property
    def weight(self) -> float:
        return fsum(w for _, _, w in self.pairs)

    @property
    def conf(self) -> float:
        return fsum(w * p for p, _, w in self.pairs) / self.weight

    @property
    def acc(self) -> float:
        return fsum(w * y for _, y, w in self.pairs) / self.weight

    @property
    def gap(self) -> float:
        return fsum(w * (y - p) for p, y, w in self.pairs) / self.weight

    @property
    def effective_n(self) -> float:
        weights = [Fraction(w) for _, _, w in self.pairs]
        return float(sum(weights) ** 2 / sum(w * w for w in weights))


def quantile_ends(group: list[Pair], n_bins: int) -> list[float]:
    """0, the scores at which the cumulative weight first reaches j W/M - 1e-9 W, and 1."""
    total = sum(Fraction(w) for _, _, w in group)
    reached, boundaries = Fraction(0), []
    for score, _, w in sorted(group):
        reached += Fraction(w)
        while len(boundaries) < n_bins - 1 and reached >= (len(boundaries) + 1) * total / n_bins - total / 10**9:
            boundaries.append(score)
    return [0.0, *sorted({score for score in boundaries if score < 1}), 1.0]


def table(
    data: Data, n_bins: int = 10, strategy: str = "uniform", *, edges: list[float] | None = None, **view: Any
) -> list[Cell]:
    """Every bin of every group, empty ones too."""
    cells = []
    for g, group in enumerate(pairs(data, **view)):
        if edges is not None:
            ends = [rounded(edge, data.scores.dtype) for edge in edges]
        elif strategy == "quantile":
            ends = quantile_ends(group, n_bins)
        else:
            ends = [rounded(m / n_bins, data.scores.dtype) for m in range(n_bins + 1)]
        for m in range(1, len(ends)):
            low, high = ends[m - 1], ends[m]
            inside = [pair for pair in group if low < pair[0] <= high or (m == 1 and pair[0] == 0)]
            cells.append(Cell(g, low, high, inside))
    return cells


def cells(data: Data, *bins: Any, **choices: Any) -> list[Cell]:
    """The bins that are not empty."""
    return [cell for cell in table(data, *bins, **choices) if cell.pairs]


def binned_error(found: list[Cell], norm: Any = 1) -> float:
    """( sum_c W_c/T gap_c^p )^(1/p), or the largest gap."""
    if norm == "max":
        return max(abs(cell.gap) for cell in found)
    total = fsum(cell.weight for cell in found)
    return fsum(cell.weight / total * abs(cell.gap) ** norm for cell in found) ** (1 / norm)


def mean(terms: list[tuple[float, float]]) -> float:
    """Weighted mean of (value, weight)."""
    return fsum(w * x for x, w in terms) / fsum(w for _, w in terms)


def single(data: Data) -> list[Pair]:
    """The pairs of 1-D scores, or all entries of independent columns."""
    return pairs(data, "binary")[0] if data.scores.ndim == 1 else pairs(data, "classwise", pooled=True)[0]


# --- data -------------------------------------------------------------------------------------------------------------


def _binary() -> dict[str, Data]:
    rng = np.random.default_rng(20240501)
    p = rng.random(200)
    y = (rng.random(200) < p**1.5).astype(np.int64)
    tied = np.round(p, 1)
    spread = 10 ** rng.uniform(-6, 6, 200)
    some = np.where(rng.random(200) < 0.3, 0.0, rng.random(200))
    ends = np.array([0, 0, 1, 1, 5e-324, 0.5, np.nextafter(1, 0), 0, 1, 1e-9, 0.25])
    return {
        "random": Data(p, y),
        "float32": Data(p.astype(np.float32), y.astype(bool)),
        "ties": Data(tied, y.astype(np.float64)),
        "ties float32": Data(tied.astype(np.float32), y.astype(np.uint8)),
        "constant": Data(np.full(40, 0.3), y[:40]),
        "constant float32": Data(np.full(40, 0.3, np.float32), y[:40]),
        "one row": Data(np.array([0.7]), np.array([1])),
        "fewer rows than bins": Data(p[:4], y[:4]),
        "one class": Data(p[:50], np.zeros(50, np.int64)),
        "0 and 1": Data(ends, np.array([0, 1, 1, 0, 0, 1, 1, 0, 1, 0, 0])),
        "only 0 and 1": Data(np.array([0.0, 1.0, 0.0, 1.0]), np.array([0, 1, 1, 1])),
        "in order": Data(np.sort(p[:40]), np.arange(40) >= 17),
        "weights with zeros": Data(p, y, some),
        "ties and weights": Data(tied, y, some),
        "unequal weights": Data(p, y, spread),
        "unequal weights float32": Data(p.astype(np.float32), y, spread.astype(np.float32)),
        "100 rows of weight 0.1": Data(np.arange(1, 101) / 101, y[:100], np.full(100, 0.1)),
        "100 tied rows of weight 0.1": Data(np.round(np.sort(p[:100]), 2), y[:100], np.full(100, 0.1)),
        "halves that meet but for rounding": Data(np.arange(1, 16) / 20, y[:15], np.tile([0.3, 0.1, 0.2], 5)),
        "whole weights": Data(p[:60], y[:60], rng.integers(0, 4, 60)),
    }


def _matrix() -> dict[str, Data]:
    rng = np.random.default_rng(20240502)
    n = 120
    p = rng.dirichlet(np.full(4, 0.6), n)
    y = np.array([rng.choice(4, p=row) if rng.random() < 0.7 else rng.integers(4) for row in p])
    eighths = np.array([[3, 3, 1, 1], [2, 2, 2, 2], [1, 3, 1, 3], [0, 4, 4, 0], [8, 0, 0, 0], [1, 1, 5, 1]]) / 8
    tied = eighths[rng.integers(6, size=n)]
    wide = rng.dirichlet(np.full(40, 0.1), 50)
    second = rng.random(n)
    two = np.column_stack([1 - second, second])
    some = np.where(rng.random(n) < 0.3, 0.0, rng.random(n))
    return {
        "random": Data(p, y),
        "float32": Data(p.astype(np.float32), y.astype(np.uint8)),
        "absent class": Data(p, np.minimum(y, 2).astype(np.float64)),
        "argmax ties": Data(tied, y),
        "argmax ties float32": Data(tied.astype(np.float32), y.astype(np.float32)),
        "two columns": Data(two, y < 2),
        "two columns float32": Data(two.astype(np.float32), (y < 2).astype(np.int8)),
        "two columns at 1/2": Data(np.full((6, 2), 0.5), np.array([0, 1, 0, 0, 1, 0])),
        "wide": Data(wide, rng.integers(40, size=50)),
        "sure": Data(np.eye(4)[y[::-1]], y),
        "one row": Data(p[:1], y[:1]),
        "fewer rows than bins": Data(p[:3], y[:3]),
        "weights with zeros": Data(p, y, some),
        "argmax ties and weights": Data(tied, y, some),
        "unequal weights": Data(p, y, 10 ** rng.uniform(-6, 6, n)),
        "100 rows of weight 0.1": Data(np.round(p[:100], 4), y[:100], np.full(100, 0.1)),
    }


def _others() -> tuple[dict[str, Data], dict[str, Data]]:
    rng = np.random.default_rng(20240503)
    p, share = rng.random(80), rng.integers(0, 6, 80) / 5
    columns = rng.random((60, 3))
    happened = (rng.random((60, 3)) < columns**2).astype(np.int64)
    weights = np.where(rng.random(80) < 0.2, 0.0, rng.random(80))
    soft = {
        "soft": Data(p, share, None, "soft"),
        "soft, ties, weights": Data(np.round(p, 1), share, weights, "soft"),
        "soft float32": Data(p.astype(np.float32), share.astype(np.float32), weights, "soft"),
    }
    multilabel = {
        "multilabel": Data(columns, happened, None, "multilabel"),
        "multilabel float32": Data(columns.astype(np.float32), happened.astype(bool), weights[:60], "multilabel"),
        "multilabel ties": Data(np.round(columns, 1), happened, weights[20:], "multilabel"),
    }
    return soft, multilabel


def on_edges(n_bins: int, dtype: str) -> Data:
    """1-D scores on every edge k/M, and one float below and above it."""
    edges = (np.arange(n_bins + 1) / n_bins).astype(dtype)
    scores = np.concatenate([edges, np.nextafter(edges, edges[:1]), np.nextafter(edges, edges[-1:])])
    return Data(scores, np.random.default_rng(n_bins).integers(0, 2, len(scores)))


def matrix_on_edges(n_bins: int, dtype: str) -> Data:
    """Rows of three probabilities, each of them on an edge k/M."""
    rng = np.random.default_rng(n_bins)
    cut = np.sort(rng.integers(0, n_bins + 1, (60, 2)), axis=1)
    whole = np.column_stack([cut[:, 0], cut[:, 1] - cut[:, 0], n_bins - cut[:, 1]])
    return Data((whole / n_bins).astype(dtype), rng.integers(0, 3, 60))


def long(n: int, n_classes: int = 1) -> Data:
    """More rows than a block of the library's kernels, half of them tied, weighted."""
    rng = np.random.default_rng(n)
    p = rng.random(n) if n_classes == 1 else rng.dirichlet(np.full(n_classes, 0.1), n)
    p[1::2] = p[: 2 * (n // 2) : 2]
    return Data(p, rng.integers(0, max(n_classes, 2), n), rng.integers(1, 4, n))


BINARY, MATRIX = _binary(), _matrix()
SOFT, MULTILABEL = _others()
N_BINS = (7, 10, 12, 15, 25, 30, 49, 50, 100)
NORMS = (1, 1.5, 2, "max")
BINS = ({"n_bins": 7}, {"n_bins": 10, "strategy": "quantile"}, {"edges": [0, 0.1, 0.3, 0.7, 1]})


def over(*tables: dict[str, Data]) -> pytest.MarkDecorator:
    """Run a test on every problem of the tables."""
    return pytest.mark.parametrize("data", [d for t in tables for d in t.values()], ids=[k for t in tables for k in t])


def choices(*options: dict[str, Any], name: str = "bins") -> pytest.MarkDecorator:
    """Run a test with every set of choices."""
    return pytest.mark.parametrize(name, options, ids=lambda option: " ".join(f"{k}={v}" for k, v in option.items()))


every_edge = pytest.mark.parametrize(
    ("n_bins", "dtype"), [(n_bins, dtype) for n_bins in N_BINS for dtype in ("float64", "float32")]
)
