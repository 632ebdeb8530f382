"""Moments of 1-D scores by bin: in NumPy and compiled, against a loop."""

from __future__ import annotations

import numpy as np
import pytest

from believable._kernels import Partition
from tests.kernels.twins import both

FLOATS, INTEGERS = [np.float32, np.float64], [np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8]


def uniform(n_bins, dtype, **choices):
    """Bins of equal width."""
    return Partition((np.arange(n_bins + 1) / n_bins).astype(dtype), True, **choices)


def by_loop(scores, labels, weights, partition, squares):
    """The sums of every bin, row by row; a score's bin is the number of inner edges below it."""
    edges, apart = partition.edges.tolist(), partition.apart
    n_parts = len(edges) - 1 + 2 * apart
    m = (5 + 2 * squares) if weights is not None else 2 + squares
    total, positive = [[0.0] * n_parts for _ in range(m)], [[0.0] * n_parts for _ in range(m)]
    for i, (p, y) in enumerate(zip(scores.tolist(), labels.tolist(), strict=True)):
        k = sum(edge < p for edge in edges[1:-1])
        if apart:
            k = 0 if p == 0 else n_parts - 1 if p == 1 else k + 1
        w = 1.0 if weights is None else float(weights[i])
        terms = [1.0, p, p * p] if weights is None else [1.0, w, w * p, w * w, w * w * p, w * p * p, w * w * p * p]
        for j in range(m):
            total[j][k] += terms[j]
            positive[j][k] += terms[j] * y
    return np.array(total), np.array(positive)


def rows(n, dtype=np.float64, label=np.int64, seed=0):
    """Scores, many of them on edges, with 0 and 1 among them; labels; weights."""
    rng = np.random.default_rng(seed)
    p = np.where(rng.random(n) < 0.3, rng.integers(0, 31, n) / 30, rng.random(n)).astype(dtype)
    p[rng.integers(0, n, 2)] = [0, 1]
    return p, (rng.random(n) < p).astype(label), rng.random(n) + 0.1


def check(found, wanted):
    """Counts are equal, sums to the last digits."""
    assert found.valid
    for mine, other in zip((found.total, found.positive), wanted, strict=True):
        assert np.array_equal(mine[0], other[0])
        assert np.allclose(mine, other, rtol=1e-12, atol=0)


@both("bin_moments")
@pytest.mark.parametrize("label", INTEGERS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_types(kernel, dtype, label):
    """Scores and labels of every type."""
    p, y, _ = rows(301, dtype, label)
    partition = uniform(10, dtype)
    y = y.view(np.uint8) if label is np.bool_ else y
    check(kernel(p, y, None, partition, True), by_loop(p, y, None, partition, True))


@both("bin_moments")
@pytest.mark.parametrize("squares", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("n_bins", [1, 3, 15, 600])
def test_choices(kernel, n_bins, apart, weighted, squares):
    """Few bins and many, ends apart or not, weights or not, squares or not."""
    p, y, w = rows(500, np.float32)
    partition = uniform(n_bins, np.float32, apart=apart)
    check(
        kernel(p, y, w if weighted else None, partition, squares),
        by_loop(p, y, w if weighted else None, partition, squares),
    )


@both("bin_moments")
@pytest.mark.parametrize("n", [1, 50, 5000])
@pytest.mark.parametrize(
    "edges", [[0, 1], [0, 0.1, 0.100001, 0.5, 1], [0, 0, 0.25, 1], [0, *np.linspace(0.5, 0.6, 40), 1]]
)
def test_any_edges(kernel, edges, n):
    """Edges that are not k/M, close together or with {0} as a bin, with and without a table of where to look."""
    p, y, w = rows(n)
    p[: n // 3] = np.resize(edges, n // 3)
    partition = Partition(np.array(edges, float), False)
    check(kernel(p, y, w, partition, True), by_loop(p, y, w, partition, True))


@both("bin_moments")
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n_bins", [7, 10, 15, 49, 1000])
def test_edges_are_right_closed(kernel, n_bins, dtype):
    """A score on an edge belongs below it, the next float above it."""
    partition = uniform(n_bins, dtype)
    inner = partition.edges[1:-1]
    p = np.concatenate([inner, np.nextafter(inner, dtype(2)), np.nextafter(inner, dtype(-1))])
    k = np.arange(1, n_bins)
    found = kernel(p, np.zeros(len(p), np.int8), None, partition, False)
    assert np.array_equal(found.total[0], np.bincount(np.concatenate([k - 1, k, k - 1]), minlength=n_bins))


@both("bin_moments")
@pytest.mark.parametrize("bad", [np.nan, -1e-300, 1.0000001, np.inf, -np.inf, 7.0, 1e300])
@pytest.mark.parametrize("at", [0, 1500, 3999])
def test_a_score_that_is_none(kernel, bad, at):
    """One score outside of [0, 1] anywhere makes all of it invalid; -0.0 is 0."""
    p, y, _ = rows(4000)
    p[5] = -0.0
    partition = uniform(10, np.float64)
    assert kernel(p, y, None, partition, False).valid
    p[at] = bad
    assert not kernel(p, y, None, partition, False).valid
    assert not kernel(p, y, None, Partition(partition.edges, False), False).valid


@both("bin_moments")
@pytest.mark.parametrize("bad", [-1, 2, 127, -128])
@pytest.mark.parametrize("label", [np.int8, np.int16, np.int32, np.int64])
def test_a_label_that_is_none(kernel, label, bad):
    """One label other than 0 and 1 makes all of it invalid."""
    p, y, _ = rows(2000, label=label)
    y[1999] = bad
    assert not kernel(p, y, None, uniform(10, np.float64), False).valid


@both("bin_moments")
@pytest.mark.parametrize("apart", [False, True])
def test_threads_do_not_show(kernel, apart, monkeypatch):
    """However many threads, the sums are those of one to the last digits."""
    p, y, w = rows(400_000)
    partition = uniform(840 if apart else 15, np.float64, apart=apart)
    monkeypatch.setenv("BELIEVABLE_THREADS", "1")
    alone = kernel(p, y, w, partition, True)
    for threads in ("2", "3", "5"):
        monkeypatch.setenv("BELIEVABLE_THREADS", threads)
        check(kernel(p, y, w, partition, True), alone[:2])


@both("bin_moments")
def test_many_equal_scores_do_not_drift(kernel):
    """A million times 0.1 is 100,000 to twelve digits."""
    found = kernel(np.full(10**6, 0.1), np.ones(10**6, np.uint8), None, uniform(10, np.float64), True)
    assert found.total[1, 0] == pytest.approx(1e5, rel=1e-12)
    assert found.positive[2, 0] == pytest.approx(1e4, rel=1e-12)


@both("bin_moments")
def test_arrays_of_others(kernel):
    """Columns of a matrix, every other row, reversed and read-only arrays count as their copies do, and stay as they are."""
    p, y, w = rows(6000)
    wide = np.column_stack([1 - p, p])
    partition = uniform(12, np.float64)
    wanted = kernel(p, y, w, partition, True)
    for array in (p, y, w, wide):
        array.flags.writeable = False
    check(kernel(wide[:, 1], y, w, partition, True), wanted[:2])
    half = kernel(p[::2], y[::2], w[::2], partition, True)
    check(half, kernel(p[::2].copy(), y[::2].copy(), w[::2].copy(), partition, True)[:2])
    back = kernel(p[::-1], y[::-1], w[::-1], partition, True)
    check(back, wanted[:2])
