"""The quick ways behind `Summary.of` against the plain ones."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from believable import CellStats, Layout, Predictions, ScoreSums, Summary, _kernels
from believable.binning import LOGIT_REACH, Grid
from believable.stats import counts
from believable.stats.counts import SUMS, count, gather
from believable.stats.sums import _of_block

RNG = np.random.default_rng(17)
N = 60_000  # two blocks of sums, and more than a quarter of the codes


def awkward_scores(edges):
    """Every edge, its neighbours, 0, 1, the smallest numbers, the largest below 1, and scores from centre to tails."""
    dtype, limits = edges.dtype.type, np.finfo(edges.dtype)
    near_one = 1 - np.arange(70_000).astype(dtype) * limits.epsneg
    tails = 1 / (1 + np.exp(-RNG.normal(0, 15, 20_000)))
    few = [0, 1, limits.smallest_subnormal, limits.tiny]
    scores = [edges, np.nextafter(edges, dtype(0)), np.nextafter(edges, dtype(1)), near_one, tails, few]
    return np.concatenate(
        [part.astype(dtype) if isinstance(part, np.ndarray) else part for part in scores], dtype=dtype
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_cells", [2, 7, 840, 50_400])
def test_logit_cells_are_those_of_a_search(n_cells, dtype):
    """Cells from logits are the cells of a binary search among the edges, for every awkward score."""
    edges = Grid(n_cells, "logit", dtype).inner_edges()
    scores = awkward_scores(edges)
    found = _kernels.logit_index(scores, edges, _kernels.near_one(edges), LOGIT_REACH)
    assert np.array_equal(found, np.searchsorted(edges[1:-1], scores, side="left"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("spacing", ["uniform", "logit"])
@pytest.mark.parametrize("n_cells", [2, 7, 840, 50_400])
def test_cells_are_counted_bounds(n_cells, spacing, dtype):
    """A score's cell is the number of lower bounds below it, whether it is assigned alone or among others."""
    grid = Grid(n_cells, spacing, dtype)
    scores = awkward_scores(grid.inner_edges())
    expected = np.searchsorted(grid.lower_bounds(), scores, side="left")
    assert np.array_equal(grid.assign(scores), expected)
    assert np.array_equal(grid.assign(scores[-40:]), expected[-40:])


def plain_sums(data):
    """The sums of rows by their terms, block by block."""
    width = 1 if data.kind == "binary" else data.n_classes
    parts = [_of_block(data, rows) for rows in _kernels.row_blocks(len(data), width)]
    return sum(parts[1:], start=parts[0])


def same_sums(a, b):
    """Equal in every field, to rounding; of a signed sum, to the rounding of its terms."""
    for item in fields(ScoreSums):
        mine, others = getattr(a, item.name), getattr(b, item.name)
        if isinstance(mine, str):
            assert mine == others
        else:
            scale = a.w * 1e-14 if item.name in ("spread", "deviation", "by_chance") else 0
            assert np.allclose(mine, others, rtol=1e-12, atol=scale), item.name
            assert np.shape(mine) == np.shape(others), item.name


def same_counts(cells, expected):
    """The same keys and counts, sums to rounding."""
    for name in ("key", "n", "ny"):
        assert np.array_equal(getattr(cells, name), expected[name]), name
    for name in SUMS:
        assert np.allclose(getattr(cells, name), expected[name], rtol=1e-12, atol=0), name


def plain_counts(data, view, grid):
    return count(data, view, len(grid), lambda scores, groups: grid.assign(scores))


P = RNG.beta(0.4, 0.6, N)
P[RNG.random(N) < 0.02] = 0
P[RNG.random(N) < 0.02] = 1
Y = (RNG.random(N) < P).astype(np.int8)
BINARY = {
    "float32": lambda: Predictions(P.astype(np.float32), Y),
    "float64": lambda: Predictions(P, Y.astype(int)),
    "booleans": lambda: Predictions(P, Y != 0),
    "certain and wrong": lambda: Predictions(P, 1 - Y),
    "zero and one alone": lambda: Predictions((P > 0.5).astype(float), Y),
    "heaps": lambda: Predictions(np.round(P, 2), Y),
    "one score": lambda: Predictions(np.full(N, 0.3), Y),
    "few rows": lambda: Predictions(P[:1000], Y[:1000]),
    "one row": lambda: Predictions(P[:1], Y[:1]),
}


@pytest.mark.parametrize("name", BINARY)
def test_one_pass_is_what_each_statistic_counts(name):
    """The sums and the cells of both grids, from one pass, are those counted one by one."""
    data = BINARY[name]()
    summary = Summary.of(data)
    same_sums(summary.sums, plain_sums(data))
    same_sums(ScoreSums.of(data), summary.sums)
    for cells in summary.cells:
        same_counts(cells, plain_counts(data, cells.view, cells.grid))


def test_one_pass_counts_any_grids():
    """One grid alone, or three of different lengths."""
    data = BINARY["float64"]()
    for cells, spacing in ((101, ("uniform",)), (25_200, ("logit", "uniform", "logit"))):
        layout = Layout.of(cells=cells, spacing=spacing)
        for one, (view, grid) in zip(Summary.of(data, layout).cells, layout.views, strict=True):
            same_counts(one, plain_counts(data, view, grid))


def matrix_data(n, n_classes, dtype, weighted):
    matrix = RNG.dirichlet(np.full(n_classes, 0.3), n).astype(dtype)
    matrix[:5] = np.eye(n_classes)[:5] if n_classes > 4 else 1 / n_classes
    matrix /= matrix.sum(axis=1, keepdims=True)
    labels = RNG.integers(0, n_classes, n).astype(np.int8 if n_classes < 100 else np.int64)
    return Predictions(matrix, labels, sample_weight=RNG.random(n) if weighted else None)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "n_classes"), [(1, 2), (300, 2), (30_000, 10), (300, 33), (9_000, 40)])
def test_sums_of_a_matrix(n, n_classes, dtype, weighted):
    """Sums without a matrix of labels, on turned blocks or not, are those of the plain terms."""
    data = matrix_data(n, n_classes, dtype, weighted)
    same_sums(ScoreSums.of(data), plain_sums(data))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [3, 33, 150])
def test_cells_of_every_class(n_classes, dtype):
    """Column by column, or with the first cell summed apart, every entry is counted where it belongs."""
    data = matrix_data(4000, n_classes, dtype, weighted=False)
    for spacing in ("uniform", "logit"):
        cells = CellStats.of(data, data.view("classwise"), cells=50, spacing=spacing)
        same_counts(cells, plain_counts(data, cells.view, cells.grid))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("notion", ["confidence", "classwise", "top_label"])
def test_few_pairs_are_counted_without_a_table(monkeypatch, notion, weighted):
    """By sorting, where pairs are few, or by a table of all codes: the same counts."""
    data = matrix_data(500, 6, np.float64, weighted)
    view, grid = data.view(notion), Grid()
    assert counts.better_sparse(data, view, len(grid))
    sparse = CellStats.of(data, view)
    monkeypatch.setattr(counts, "FEWER_PAIRS", 0)
    same_counts(sparse, plain_counts(data, view, grid))


def test_keys_of_two_statistics_are_let_into_each_other():
    """Merging by lookup is sorting all entries together: overlapping, disjoint, nested, equal or no keys."""
    whole = BINARY["heaps"]()
    ranges = [slice(0, 50), slice(30, 90), slice(60, 99), slice(10, 20), slice(0, 0), slice(0, 1)]
    order = np.argsort(whole.scores, kind="stable")
    parts = [CellStats.of(whole.take(order[r.start * 600 : r.stop * 600])) for r in ranges if r.stop]
    parts.append(CellStats.of(whole, whole.view(threshold=1.0)))  # nothing is above 1
    for a in parts:
        for b in parts:
            columns = {name: np.concatenate([getattr(a, name), getattr(b, name)]) for name in ("n", *SUMS)}
            if a.view == b.view:
                same_counts(a + b, gather(np.concatenate([a.key, b.key]), columns))
