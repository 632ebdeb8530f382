"""Rows in cells along a line: in NumPy and compiled, against loops."""

from __future__ import annotations

import numpy as np
import pytest

from believable._kernels import quantile_boundaries
from tests.kernels.twins import both

CELLS = 4096


def scores_of(n, dtype=np.float64):
    """With 0, 1 and ends of cells among them."""
    rng = np.random.default_rng(0)
    score = np.where(rng.random(n) < 0.5, rng.random(n), rng.integers(0, CELLS + 1, n) / CELLS)
    score[:2] = [0, 1][: len(score[:2])]
    return score.astype(dtype)


@both("cell_weights")
@pytest.mark.parametrize("threads", ["1", "2", "3"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_weight_in_cells(kernel, dtype, threads, monkeypatch):
    """A score is in the cell that its product with the number of cells says; 1 has one of its own."""
    monkeypatch.setenv("BELIEVABLE_THREADS", threads)
    for n in (1, 70_000):
        score = scores_of(n, dtype)
        cell = (score * dtype(CELLS)).astype(int)
        weight = np.random.default_rng(1).random(n)
        np.testing.assert_array_equal(kernel(score, None), np.bincount(cell, minlength=CELLS + 1))
        np.testing.assert_allclose(kernel(score, weight), np.bincount(cell, weight, CELLS + 1), rtol=1e-12)


@both("rows_in_cells")
@pytest.mark.parametrize("threads", ["1", "2"])
def test_rows_are_found_by_their_cell(kernel, threads, monkeypatch):
    """In their order, none twice."""
    monkeypatch.setenv("BELIEVABLE_THREADS", threads)
    wanted = np.random.default_rng(2).random(CELLS + 1) < 0.1
    for n in (1, 66_000):
        for dtype in (np.float32, np.float64):
            score = scores_of(n, dtype)
            literal = [i for i, p in enumerate(score) if wanted[int(p * dtype(CELLS))]]
            np.testing.assert_array_equal(kernel(score, wanted), literal)


@pytest.mark.parametrize("n", [1, 10, 5_000, 40_000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_boundaries_are_where_the_weight_reaches_its_share(n, dtype):
    """By cells or by a sort: the first score at which the cumulative weight is j/M of the total, less 1e-9."""
    rng = np.random.default_rng(3)
    for score in (rng.random(n), rng.random(n).round(2), np.full(n, 0.5), rng.random(n) ** 20):
        score = score.astype(dtype)
        for weight in (None, rng.random(n) + 0.1):
            order = np.argsort(score, kind="stable")
            reached = np.cumsum((np.ones(n) if weight is None else weight)[order], dtype=np.longdouble)
            asked = (np.arange(1, 7) / 7 - 1e-9) * reached[-1]
            wanted = score[order][np.searchsorted(reached, asked)]
            np.testing.assert_array_equal(quantile_boundaries(score, weight, 7), wanted)


@both("cell_sums")
@pytest.mark.parametrize("threads", ["1", "2"])
def test_sums_in_cells_between_two_ends(kernel, threads, monkeypatch):
    """Scores beyond the ends are at them; weights of 0.1 do not drift."""
    monkeypatch.setenv("BELIEVABLE_THREADS", threads)
    n, n_cells = 100_000, 20
    score = np.random.default_rng(4).normal(size=n)
    score[: n // 2] = 0.1
    w, wy = np.full(n, 0.1), 0.1 * (np.arange(n) % 3 == 0)
    place = (np.clip(score, -1.5, 2.0) + 1.5) * ((n_cells - 1) / 3.5)
    cell, sums = kernel(score, w, wy, (-1.5, 2.0), n_cells)
    np.testing.assert_array_equal(cell, place.astype(np.int32))
    assert cell.dtype == np.int32
    assert sums.shape == (3, n_cells)
    for found, terms in zip(sums, (w, wy, w * place), strict=True):
        exact = [np.sum(terms[cell == k], dtype=np.longdouble) for k in range(n_cells)]
        np.testing.assert_allclose(found, np.array(exact, float), rtol=1e-12)


@both("rows_of_cells")
def test_rows_whose_cell_is_wanted(kernel):
    """Cells that were given are not made anew."""
    rng = np.random.default_rng(5)
    cell, wanted = rng.integers(0, 9, 80_000).astype(np.int32), rng.random(9) < 0.5
    np.testing.assert_array_equal(kernel(cell, wanted), np.flatnonzero(wanted[cell]))


@both("spread")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_residuals_are_shared_between_two_nodes(kernel, dtype):
    """In proportion to how near they are; a score of 1 is a node."""
    score = scores_of(2_000, dtype)
    excess = np.random.default_rng(6).normal(size=2_000)
    literal = np.zeros(102)
    for p, e in zip(score.astype(float), excess, strict=True):
        below = int(p * 100)
        literal[below] += e * (1 - (p * 100 - below))
        literal[below + 1] += e * (p * 100 - below)
    found = kernel(score, excess, 100)
    assert found.shape == (101,)
    np.testing.assert_allclose(found, literal[:-1], rtol=0, atol=1e-12)
