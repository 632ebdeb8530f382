"""Moments of a matrix, of its largest entries and of every entry by class: in NumPy and compiled, against a loop."""

from __future__ import annotations

import numpy as np
import pytest

from believable._kernels import Partition
from believable._kernels.twins import TWINS, backend

INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
FLOATS = [np.float32, np.float64]


def uniform(n_bins, dtype, **choices):
    """Bins of equal width."""
    return Partition((np.arange(n_bins + 1) / n_bins).astype(dtype), True, **choices)


def problem(n, width, dtype=np.float64, seed=0, tied=True):
    """A matrix with rows that sum to one, ties, zeros and ones among them; labels; weights."""
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.full(width, 2 / width), n)
    if tied:
        few = rng.multinomial(4, np.full(width, 1 / width), n) / 4
        matrix[::3] = few[::3]
        matrix[::11] = np.eye(width)[rng.integers(0, width, len(matrix[::11]))]
    return matrix.astype(dtype), rng.integers(0, width, n), rng.random(n) + 0.1


def by_loop(matrix, labels, weights, partition, squares, what):
    """The sums of every (group, part), pair by pair."""
    edges, apart, n_parts = partition.edges.tolist(), partition.apart, partition.n_parts
    n_codes = n_parts * (1 if what == "top" else matrix.shape[1])
    m = (5 + 2 * squares) if weights is not None else 2 + squares
    total, positive = np.zeros((m, n_codes)), np.zeros((m, n_codes))
    for i, (row, y) in enumerate(zip(matrix.tolist(), labels.tolist(), strict=True)):
        best = max(range(len(row)), key=lambda k, row=row: (row[k], -k))
        for k in range(len(row)) if what == "every" else [best]:
            p = row[k]
            part = sum(edge < p for edge in edges[1:-1])
            if apart:
                part = 0 if p == 0 else n_parts - 1 if p == 1 else part + 1
            code = part if what == "top" else k * n_parts + part
            w = 1.0 if weights is None else float(weights[i])
            terms = [1.0, p, p * p] if weights is None else [1.0, w, w * p, w * w, w * w * p, w * p * p, w * w * p * p]
            total[:, code] += terms[:m]
            positive[:, code] += np.multiply(terms[:m], k == y)
    return total, positive


def check(found, wanted):
    """Counts are equal, sums to the last digits."""
    assert found.valid
    for mine, other in zip((found.total, found.positive), wanted, strict=True):
        assert mine.shape == other.shape
        assert np.array_equal(mine[0], other[0])
        assert np.allclose(mine, other, rtol=1e-12, atol=1e-300)


def every_way(kernel, matrix, labels, weights, partition, squares, tolerance=1e-3):
    """What the kernel counts, by name: largest entries, largest entries by class, or all of them."""
    if kernel.__name__ == "classwise_moments":
        return {"every": kernel(matrix, labels, weights, partition, squares, tolerance)}
    return {
        what: kernel(matrix, labels, weights, partition, squares, what == "by_class", tolerance)
        for what in ("top", "by_class")
    }


@pytest.fixture
def agree(kernel):
    """A function that compares the kernel with the loop."""

    def compare(matrix, labels, weights, partition, squares=True):
        for what, found in every_way(kernel, matrix, labels, weights, partition, squares).items():
            check(found, by_loop(matrix, labels, weights, partition, squares, what))

    return compare


UNBUILT = pytest.mark.skipif(backend == "numpy", reason="the compiled kernels are not in use")
BOTH = pytest.mark.parametrize(
    "kernel",
    [
        pytest.param(TWINS[name][at], id=f"{name}-{('numpy', 'compiled')[at]}", marks=[UNBUILT] if at else [])
        for name in ("top_moments", "classwise_moments")
        for at in (0, 1)
    ],
)


@BOTH
@pytest.mark.parametrize("width", [2, 3, 10, 32, 33, 64, 65])
@pytest.mark.parametrize("dtype", FLOATS)
def test_widths(agree, dtype, width):
    """Few columns and many, of either type."""
    matrix, labels, _ = problem(67, width, dtype)
    agree(matrix, labels, None, uniform(15, dtype))


@BOTH
@pytest.mark.parametrize("label", INTEGERS)
def test_labels_of_every_type(agree, label):
    """Labels of any integer type."""
    matrix, labels, _ = problem(50, 5)
    agree(matrix, labels.astype(label), None, uniform(10, np.float64))


@BOTH
@pytest.mark.parametrize("squares", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("n_bins", [1, 12])
@pytest.mark.parametrize("width", [4, 40])
def test_choices(agree, width, n_bins, apart, weighted, squares):
    """Few bins and many, ends apart or not, weights or not, squares or not."""
    matrix, labels, weights = problem(20, width, np.float32)
    partition = uniform(n_bins, np.float32, apart=apart)
    agree(matrix, labels, weights if weighted else None, partition, squares)


@BOTH
@pytest.mark.parametrize(("n", "width"), [(1, 4), (20, 4), (20, 40), (110, 40), (4200, 3)])
@pytest.mark.parametrize("edges", [[0, 1], [0, 0.1, 0.100001, 0.25, 0.5, 1], [0, 0, 0.25, 1]])
def test_any_edges(agree, edges, n, width):
    """Edges that are not k/M, close together or with {0} as a bin, with and without a table of where to look."""
    matrix, labels, weights = problem(n, width)
    agree(matrix, labels, weights, Partition(np.array(edges, float), False), squares=n < 50)


@BOTH
@pytest.mark.parametrize("width", [3, 80])
@pytest.mark.parametrize("bad", [np.nan, -1e-30, 1.001, np.inf, -np.inf, 1e30])
@pytest.mark.parametrize("at", [0, 1999])
def test_an_entry_that_is_none(kernel, bad, at, width):
    """One entry outside of [0, 1] anywhere makes all of it invalid, whatever sums may be; -0.0 is 0."""
    matrix, labels, _ = problem(2000, width, np.float32)
    matrix[5] = -0.0
    matrix[5, 1] = 1
    for apart in (False, True):
        partition = uniform(10, np.float32, apart=apart)
        assert all(m.valid for m in every_way(kernel, matrix, labels, None, partition, False, np.inf).values())
        wrong = matrix.copy()
        wrong[at, -1] = bad
        assert not any(m.valid for m in every_way(kernel, wrong, labels, None, partition, False, np.inf).values())


@BOTH
@pytest.mark.parametrize("width", [3, 80])
@pytest.mark.parametrize("label", INTEGERS)
def test_a_label_that_is_none(kernel, label, width):
    """A label below 0 or beyond the columns makes all of it invalid."""
    matrix, labels, _ = problem(500, width)
    for bad in (width, -1, 127):
        wrong = labels.astype(label)
        wrong[499] = np.array(bad).astype(label)
        found = every_way(kernel, matrix, wrong, None, uniform(10, np.float64), False)
        assert not any(moments.valid for moments in found.values())


@BOTH
@pytest.mark.parametrize("width", [3, 80])
@pytest.mark.parametrize("dtype", FLOATS)
def test_a_row_that_does_not_sum_to_one(kernel, dtype, width):
    """A row off by more than the tolerance makes all of it invalid, one off by less does not."""
    matrix, labels, _ = problem(500, width, dtype, tied=False)
    for factor, valid in ((0.9995, True), (0.998, False)):
        off = matrix.copy()
        off[300] *= dtype(factor)
        found = every_way(kernel, off, labels, None, uniform(10, dtype), False)
        assert all(moments.valid == valid for moments in found.values())
        assert all(moments.valid for moments in every_way(kernel, off, labels, None, uniform(10, dtype), 0, 1).values())


@BOTH
@pytest.mark.parametrize(("n", "width"), [(60_000, 5), (6_000, 50)])
def test_threads_do_not_show(kernel, n, width, monkeypatch):
    """However many threads, the sums are those of one to the last digits."""
    matrix, labels, weights = problem(n, width, np.float32)
    partition = uniform(15, np.float32)
    monkeypatch.setenv("BELIEVABLE_THREADS", "1")
    alone = every_way(kernel, matrix, labels, weights, partition, True)
    for threads in ("2", "3"):
        monkeypatch.setenv("BELIEVABLE_THREADS", threads)
        for what, found in every_way(kernel, matrix, labels, weights, partition, True).items():
            check(found, alone[what][:2])


@BOTH
@pytest.mark.parametrize("width", [6, 60])
def test_arrays_of_others(kernel, width):
    """Turned, strided, reversed and read-only arrays count as their copies do, and stay as they are."""
    matrix, labels, weights = problem(900, width)
    partition = uniform(12, np.float64, apart=True)
    arrays = (matrix, labels, weights)
    kept = [array.copy() for array in arrays]
    wanted = every_way(kernel, *kept, partition, True)
    half = every_way(kernel, *(array[::2].copy() for array in kept), partition, True)
    for array in arrays:
        array.flags.writeable = False
    for given, expected in (
        (arrays, wanted),
        ((np.asfortranarray(matrix), labels, weights), wanted),
        ([array[::-1] for array in arrays], wanted),
        ([array[::2] for array in arrays], half),
    ):
        for what, found in every_way(kernel, *given, partition, True).items():
            check(found, expected[what][:2])
    assert all(np.array_equal(array, copy) for array, copy in zip(arrays, kept, strict=True))


@BOTH
@pytest.mark.parametrize("width", [2, 40])
def test_many_equal_rows_do_not_drift(kernel, width):
    """However often 0.1 is added, it is that many times 0.1, to twelve digits."""
    n = 200_000 // width
    row = np.full(width, 0.1 / (width - 1))
    row[0] = 0.9
    found = every_way(kernel, np.tile(row, (n, 1)), np.ones(n, int), None, uniform(10, np.float64), True)
    for moments in found.values():
        assert np.isclose(moments.total[1].max(), 0.9 * n, rtol=1e-12, atol=0)
        if len(moments.total[1]) > 10 and kernel.__name__ == "classwise_moments":
            assert np.isclose(moments.total[1, 10:].max(), 0.1 / (width - 1) * n, rtol=1e-12, atol=0)
