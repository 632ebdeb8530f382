"""The passes behind `Summary`, in NumPy and compiled, against loops that say what is summed."""

from __future__ import annotations

from math import fsum, inf, log, log1p

import numpy as np
import pytest

from believable import CellStats, Layout, Predictions, Summary, _kernels
from believable._kernels.twins import TWINS, backend, c
from believable.binning import LOGIT_REACH, Grid
from believable.stats.counts import count
from believable.stats.one_pass import pass_grids

BOTH = pytest.mark.parametrize("which", ["numpy", "compiled"])
SIGNED = {"spread", "deviation", "by_chance"}  # sums of terms that cancel: right to the rounding of those


def kernel(name, which):
    """The kernel of that name, by either twin."""
    if which == "compiled" and backend == "numpy":
        pytest.skip("the compiled kernels were not built")
    return TWINS[name][which == "compiled"]


def binary_rows(n, dtype="float64", soft=False, weighted=False, seed=3):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.4, 0.6, n).astype(dtype)
    few = [0, 1, 0.5, 0.25, np.finfo(dtype).smallest_subnormal, np.finfo(dtype).tiny, 1 - np.finfo(dtype).epsneg]
    p[: len(few)] = few[:n]
    y = (rng.random(n) < p).astype(np.int64)
    shares = np.where((p > 0) & (p < 1), rng.integers(0, 5, n) / 4, p)
    weights = rng.choice([1e-3, 1.0, 2.5, 1e4], n) if weighted else None
    return p, shares.astype(dtype) if soft else y, weights


def plain_sums(p, y, w):
    """Row by row; sums without rounding of their own."""
    p, y = np.asarray(p, np.float64).tolist(), np.asarray(y, np.float64).tolist()
    w = [1.0] * len(p) if w is None else w.tolist()

    def times_log(a, b):
        return 0.0 if a == 0 else a * log(b) if b > 0 else -inf

    def times_log_rest(a, b):
        return 0.0 if a == 0 else a * log1p(-b) if b < 1 else -inf

    rows = list(zip(p, y, w, strict=True))
    mean = fsum(w * p for p, _, w in rows) / fsum(w)
    squared = [y * (1 - p) ** 2 + (1 - y) * p**2 for p, y, _ in rows]
    cost = [-(times_log(y, p) + times_log_rest(1 - y, p)) for p, y, _ in rows]
    return {
        "n": len(p),
        "w": fsum(w),
        "w2": fsum(w * w for w in w),
        "wp": fsum(w * p for p, _, w in rows),
        "wy": fsum(w * y for _, y, w in rows),
        "brier": fsum(w * s for (_, _, w), s in zip(rows, squared, strict=True)),
        "nll": fsum(w * s for (_, _, w), s in zip(rows, cost, strict=True)) if inf not in cost else inf,
        "correct": fsum(w * (y if p > 0.5 else 1 - y) for p, y, w in rows),
        "confidence": fsum(w * max(p, 1 - p) for p, _, w in rows),
        "entropy": fsum(-w * (times_log(p, p) + times_log_rest(1 - p, p)) for p, _, w in rows),
        "spread": fsum(w * (y - p) * (1 - 2 * p) for p, y, w in rows),
        "spread_variance": fsum(w * w * (1 - 2 * p) ** 2 * p * (1 - p) for p, _, w in rows),
        "w2_squared": fsum(w * w * s for (_, _, w), s in zip(rows, squared, strict=True)),
        "deviation": fsum(w * (p - mean) ** 2 for p, _, w in rows),
    }


def plain_cells(p, y, w, grid):
    """The moments of every cell, row by row, where cells are counted bounds."""
    cell = np.searchsorted(grid.lower_bounds(), p, side="left")
    keys = np.unique(cell)
    p, y = p.astype(np.float64), y.astype(np.float64)
    terms = [1 + 0 * p, p, p * p]
    if w is not None:
        terms = [1 + 0 * p, w, w * p, w * w, w * w * p, w * p * p, w * w * p * p]
    total = np.array([[fsum(term[cell == k]) for k in keys] for term in terms])
    return keys, total, np.array([[fsum((term * y)[cell == k]) for k in keys] for term in terms])


def same(found, expected, w=1.0):
    """Equal to 1e-12, of signed sums to the rounding of their terms; counts bit for bit."""
    assert set(found) == set(expected)
    for name, value in expected.items():
        exact = {"rtol": 0} if name == "n" else {"rtol": 1e-12, "atol": 1e-15 * w if name in SIGNED else 0}
        np.testing.assert_allclose(found[name], value, err_msg=name, **{"atol": 0} | exact)


def same_cells(found, expected):
    np.testing.assert_array_equal(found[0], expected[0])
    assert found[0].dtype == np.int64
    for mine, theirs in zip(found[1:], expected[1:], strict=True):
        np.testing.assert_array_equal(mine[0], theirs[0])
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-300)  # denormals round in absolute terms


@BOTH
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 7, 9, 600])
def test_a_pass_sums_what_a_loop_sums(which, n, dtype, soft, weighted):
    """Sums of proper scores and moments of cells are those of the rows, one by one."""
    p, y, w = binary_rows(n, dtype, soft, weighted)
    grids = (Grid(40, "uniform", dtype), Grid(7, "logit", dtype))
    sums, cells, _ = kernel("binary_pass", which)(p, y, w, pass_grids(grids))
    same(sums, plain_sums(p, y, w), w=sums["w"])
    assert isinstance(sums["n"], int)
    for one, grid in zip(cells, grids, strict=True):
        same_cells(one, plain_cells(p, y, w, grid))
    alone = kernel("binary_cells", which)(p, y, w, pass_grids(grids[1:])).cells
    same_cells(alone[0], cells[1])
    same(kernel("binary_pass", which)(p, y, w)[0], sums, w=sums["w"])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_twins_count_many_rows_alike(monkeypatch, dtype, soft, weighted):
    """Cells of both twins have the same rows, by tables or by sorting, for any number of threads; sums agree."""
    p, y, w = binary_rows(300_000, dtype, soft, weighted)
    p[50:20_000] = 0.3  # so many of one code that its slot is emptied
    grids = pass_grids((Grid(50_400, "uniform", dtype), Grid(50_400, "logit", dtype)))
    reference = kernel("binary_pass", "numpy")(p, y, w, grids)
    results = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("BELIEVABLE_THREADS", threads)
        sums, cells, _ = kernel("binary_pass", "compiled")(p, y, w, grids)
        same(sums, reference[0], w=sums["w"])
        for one, other in zip(cells, reference[1], strict=True):
            same_cells(one, other)
        results.append(sums)
    assert results[0] == results[1] == results[2]  # to the last bit
    few = [kernel("binary_pass", which)(p[:40_000], y[:40_000], None, grids) for which in ("compiled", "numpy")]
    for one, other in zip(few[0][1], few[1][1], strict=True):
        same_cells(one, other)


@BOTH
@pytest.mark.parametrize("label", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"])
def test_labels_of_any_type_are_the_same_labels(which, label):
    """Labels count as numbers, read-only or one of every two, and stay what they were."""
    p, y, w = binary_rows(500, weighted=True)
    grids = pass_grids((Grid(30, "logit"),))
    expected = kernel("binary_pass", which)(p, y, w, grids)
    wide_p, wide_y, wide_w = (np.repeat(x, 2) for x in (p, y.astype(label), w))
    for array in (wide_p, wide_y, wide_w):
        array.flags.writeable = False
    sums, (cells,), _ = kernel("binary_pass", which)(wide_p[::2], wide_y[::2], wide_w[::2], grids)
    assert sums == expected[0]
    same_cells(cells, expected[1][0])
    assert np.array_equal(wide_p[::2], p)


@BOTH
def test_impossible_events_cost_infinitely_much(which):
    """An event of probability 0, or a share of one, makes the log loss infinite and nothing else."""
    of = kernel("binary_pass", which)
    for p, y in (([0.0, 0.4], [1, 0]), ([1.0, 0.4], [0, 0]), ([0.0, 0.4], [0.25, 0.5]), ([1.0, 0.4], [0.5, 0.5])):
        p, y = np.array(p), np.array(y)
        same(of(p, y, None)[0], plain_sums(p, y, None))
        assert of(p, y, None)[0]["nll"] == inf
    assert of(np.array([0.0, 1.0, -0.0]), np.array([0, 1, 0]), None)[0]["nll"] == 0


@BOTH
@pytest.mark.parametrize("n", [9, 60_000])
def test_rows_that_are_none_are_noticed(which, n):
    """A score outside of [0, 1] or another label than 0 and 1 anywhere makes the pass invalid."""
    grids = pass_grids((Grid(50, "uniform"), Grid(50, "logit")))
    for at in (0, n - 1):
        for score, label in ((-5e-324, 0), (1 + 1e-15, 1), (np.nan, 0), (np.inf, 0), (0.5, 2), (0.5, -1), (0.5, 2**62)):
            p, y = np.full(n, 0.25), np.zeros(n, np.int64)
            p[at], y[at] = score, label
            assert not kernel("binary_pass", which)(p, y, None, grids).valid
            assert not kernel("binary_cells", which)(p, y, None, grids).valid


@BOTH
def test_deviations_do_not_cancel(which):
    """Scores that differ in the tenth digit have deviations that are right to six."""
    p = 0.7 + 1e-10 * np.random.default_rng(0).random(200_000)
    found = kernel("binary_pass", which)(p, (p > 0.7).astype(int), None)[0]["deviation"]
    assert found == pytest.approx(float(np.sum((p - p.mean()) ** 2)), rel=1e-6)


@BOTH
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_cells", [2, 840, 50_400])
def test_logit_cells_are_those_of_a_search(which, n_cells, dtype):
    """Every edge, its neighbours and the scores next to 0 and 1 are in the cells that a search finds."""
    grid = Grid(n_cells, "logit", dtype)
    edges, kind = grid.inner_edges(), np.dtype(dtype).type
    near_one = 1 - np.arange(70_000).astype(dtype) * np.finfo(dtype).epsneg
    few = np.array([0, 1, np.finfo(dtype).smallest_subnormal, np.finfo(dtype).tiny], dtype)
    p = np.concatenate([edges, np.nextafter(edges, kind(0)), np.nextafter(edges, kind(1)), near_one, few])
    found = kernel("logit_index", which)(p, edges, _kernels.near_one(edges), LOGIT_REACH)
    np.testing.assert_array_equal(found, np.searchsorted(edges[1:-1], p, side="left"))
    assert found.dtype == np.intp
    both = (grid, Grid(n_cells, "uniform", dtype))
    found = kernel("binary_cells", which)(p, p > 0.5, None, pass_grids(both))
    for one, own in zip(found.cells, both, strict=True):
        keys, n = np.unique(np.searchsorted(own.lower_bounds(), p, side="left"), return_counts=True)
        assert np.array_equal(one[0], keys)
        assert np.array_equal(one[1][0], n)


def test_statistics_of_weights_and_shares_are_those_of_each_grid():
    """A summary of weighted rows or shares is what its cells count one by one."""
    p, y, w = binary_rows(3000, soft=True, weighted=True)
    for given in ({}, {"sample_weight": w}):
        data = Predictions(p, y, soft_labels=True, **given)
        for cells in Summary.of(data, Layout.of(cells=900)).cells:
            for found in (cells, CellStats.of(data, cells=900, spacing=cells.grid.spacing)):
                expected = count(data, cells.view, len(cells.grid), lambda s, g, grid=cells.grid: grid.assign(s))
                for name in expected:
                    np.testing.assert_allclose(getattr(found, name), expected[name], rtol=1e-12, atol=0)


# --- a matrix ---------------------------------------------------------------------------------------------------------


def matrix_of(n, n_classes, dtype, seed=5):
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.full(n_classes, 0.3), n).astype(dtype)
    first = np.arange(n_classes) == 0
    matrix[: n // 3] = np.round(matrix[: n // 3], 1) + first / 10  # ties, and zeros
    matrix[-1] = first
    matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix.astype(dtype), np.where(rng.random(n) < 0.3, matrix.argmax(axis=1), rng.integers(0, n_classes, n))


def plain_matrix_sums(matrix, labels, w):
    """Row by row, class by class."""
    n, n_classes = matrix.shape
    rows, w = matrix.astype(np.float64).tolist(), [1.0] * n if w is None else w.tolist()
    sums = {name: [] for name in ("brier", "nll", "correct", "confidence", "entropy", "spread", "spread_variance")}
    chance = []
    for row, label in zip(rows, labels.tolist(), strict=True):
        logs = [log(p) if p > 0 else 0.0 for p in row]
        squares = fsum(p * p for p in row)
        sums["brier"].append(fsum((p - (k == label)) ** 2 for k, p in enumerate(row)))
        sums["nll"].append(-log(row[label]) if row[label] > 0 else inf)
        sums["correct"].append(float(row.index(max(row)) == label))
        sums["confidence"].append(max(row))
        sums["entropy"].append(-fsum(p * one for p, one in zip(row, logs, strict=True)))
        sums["spread"].append(fsum(((k == label) - p) * (1 - 2 * p) for k, p in enumerate(row)))
        sums["spread_variance"].append(fsum(p * (1 - p) * (1 - 2 * p) ** 2 for p in row))
        by_log = fsum(p * one * one for p, one in zip(row, logs, strict=True)) - sums["entropy"][-1] ** 2
        chance.append((max(4 * (fsum(p**3 for p in row) - squares**2), 0), max(by_log, 0)))

    def over_rows(values, power=1):
        return fsum(w**power * x for w, x in zip(w, values, strict=True))

    names = ("brier", "nll", "correct", "confidence", "entropy")
    of_rows = [[x if x < inf else 0.0 for x in sums[name]] for name in names]
    wp = [over_rows(column) for column in zip(*rows, strict=True)]
    own = [[float(k == label) for label in labels] for k in range(n_classes)]
    made = {name: over_rows(values, 2 if name == "spread_variance" else 1) for name, values in sums.items()}
    return made | {
        "n": n,
        "w": fsum(w),
        "w2": fsum(w * w for w in w),
        "w2_squared": over_rows(sums["brier"], 2),
        "wp": wp,
        "wy": [over_rows(y) for y in own],
        "deviation": [
            over_rows([(p - total / fsum(w)) ** 2 for p in column])
            for column, total in zip(zip(*rows, strict=True), wp, strict=True)
        ],
        "w2x": [over_rows(x, 2) for x in of_rows],
        "w2xx": [over_rows([one * one for one in x], 2) for x in of_rows],
        "w2y": [over_rows(y, 2) for y in own],
        "w2y_brier": [over_rows([a * b for a, b in zip(y, of_rows[0], strict=True)], 2) for y in own],
        "by_chance": [over_rows(column, 2) for column in zip(*chance, strict=True)],
    }


@BOTH
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("n", "n_classes"), [(1, 2), (130, 2), (70, 5), (9, 32), (5, 33), (70, 40), (3, 200)])
def test_a_matrix_sums_what_a_loop_sums(which, n, n_classes, dtype, weighted):
    """Proper scores, their moments and sums by class are those of the rows, one by one."""
    matrix, labels = matrix_of(n, n_classes, dtype)
    w = np.random.default_rng(1).choice([0.5, 3.0], n) if weighted else None
    found, valid = kernel("matrix_sums", which)(matrix, labels, w, 1e-3)
    assert valid
    same(found, plain_matrix_sums(matrix, labels, w), w=9 * n)
    for name, value in found.items():
        assert isinstance(value, int if name == "n" else float) or value.dtype == np.float64


@pytest.mark.parametrize(("n", "n_classes"), [(20_000, 10), (3_000, 70), (40, 20_000)])
def test_threads_change_nothing_of_a_matrix(monkeypatch, n, n_classes):
    """One thread, two or three give the same sums to the last bit, and those of NumPy to rounding."""
    matrix, labels = matrix_of(n, n_classes, "float32")
    results = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("BELIEVABLE_THREADS", threads)
        results.append(kernel("matrix_sums", "compiled")(matrix, labels, None).sums)
    for other in results[1:]:
        for name, value in results[0].items():
            np.testing.assert_array_equal(other[name], value)
    same(results[0], kernel("matrix_sums", "numpy")(matrix, labels, None).sums, w=9 * n)


@BOTH
def test_a_matrix_may_be_any_view(which):
    """Columns in Fortran order, every second row, read-only, labels of one byte: the same sums."""
    matrix, labels = matrix_of(200, 6, "float64")
    expected = kernel("matrix_sums", which)(matrix, labels, None).sums
    for view in (np.asfortranarray(matrix), np.repeat(matrix, 2, axis=0)[::2]):
        view.flags.writeable = False
        found = kernel("matrix_sums", which)(view, labels.astype(np.int8), np.ones(400)[::2])
        same(found.sums, expected, w=200)


@BOTH
@pytest.mark.parametrize("n_classes", [2, 5, 40])
@pytest.mark.parametrize("row", [0, 63, 64, 199])
def test_a_matrix_is_checked_while_it_is_summed(which, n_classes, row):
    """A value out of range, NaN, a label that is no class, or a sum that is not 1 anywhere: no sums."""
    count = kernel("matrix_sums", which)
    matrix, labels = matrix_of(200, n_classes, "float64")
    assert count(matrix, labels, None, 1e-9).valid
    for column in (0, n_classes - 1):
        for wrong in (-1e-9, 1 + 1e-9, np.nan, np.inf, -np.inf):
            bad = matrix.copy()
            bad[row, column] = wrong
            assert not count(bad, labels, None).valid
        longer = matrix.copy()
        longer[row] = 0.6 / n_classes
        assert count(longer, labels, None).valid
        assert not count(longer, labels, None, 1e-3).valid
    for wrong in (-1, n_classes):
        other = labels.copy()
        other[row] = wrong
        assert not count(matrix, other, None).valid


def test_what_does_not_fit_is_refused():
    """Lengths and labels that would lead out of an array are errors."""
    kernel("matrix_sums", "compiled")
    p, y = np.full(10, 0.5), np.zeros(10, int)
    edges, sums = Grid(4).inner_edges(), np.zeros((1, 13))
    with pytest.raises(ValueError, match="fit together"):
        c.binary_pass(p, y[:9], None, sums, None, None, None, 0, 10)
    with pytest.raises(ValueError, match="fit together"):
        c.binary_pass(p, y, None, sums, np.zeros(5), np.zeros(5), None, 0, 10, edges, None, 40.0)
    with pytest.raises(ValueError, match="fit together"):
        c.binary_pass(p, y, None, sums, None, None, None, 0, 11)
    with pytest.raises(TypeError, match="arguments"):
        c.binary_pass(p, y, None, sums)
    with pytest.raises(ValueError, match="fit together"):
        c.matrix_sums(p, y[:3], None, sums, sums, 0.0, 1, 0, 1)
