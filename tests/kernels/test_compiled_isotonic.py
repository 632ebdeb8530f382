"""Isotonic regression: in NumPy and compiled, against its formula."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.twins import both


def by_formula(w, wy):
    """At i, the largest over a <= i of the smallest over b >= i of the means from a to b."""
    n = len(w)
    mean = [[wy[a : b + 1].sum() / w[a : b + 1].sum() if a <= b else np.nan for b in range(n)] for a in range(n)]
    return np.array([max(min(mean[a][b] for b in range(i, n)) for a in range(i + 1)) for i in range(n)])


def rates_of(n, rng):
    """Rates that rise, fall, stay, and do all of that."""
    yield rng.random(n)
    yield (rng.random(n) < np.linspace(0, 1, n)).astype(float)
    yield np.linspace(0, 1, n)
    yield np.linspace(1, 0, n)
    yield np.full(n, 0.3)
    yield np.zeros(n)


@both("pav")
def test_fits_are_those_of_the_formula(kernel):
    """The fit is a largest of smallest means."""
    rng = np.random.default_rng(0)
    for n in (1, 2, 12):
        for rate in rates_of(n, rng):
            for w in (np.ones(n), rng.random(n) + 0.01, 1e150 * rng.random(n), 1e-150 * rng.random(n)):
                kept = w.copy()
                found = kernel(w, w * rate)
                np.testing.assert_allclose(found, by_formula(w, w * rate), rtol=1e-13, atol=1e-15)
                assert np.all(np.diff(found) >= 0)
                np.testing.assert_array_equal(w, kept)


@both("pav")
@pytest.mark.parametrize("threads", ["1", "2", "3"])
def test_fits_of_many_points_do_not_depend_on_threads(kernel, threads, monkeypatch):
    """The best monotone fit leaves residuals whose sums over blocks are 0 and whose running sums are not negative."""
    monkeypatch.setenv("BELIEVABLE_THREADS", threads)
    n = 70_000
    for rate in rates_of(n, np.random.default_rng(1)):
        w = np.full(n, 0.1)
        fitted = kernel(w, w * rate)
        assert np.all(np.diff(fitted) >= 0)
        above = np.cumsum(w * (rate - fitted))
        assert above.min() > -1e-9
        assert abs(above[-1]) < 1e-9
        ends = np.flatnonzero(np.append(np.diff(fitted) > 1e-12, True))
        assert np.abs(above[ends]).max() < 1e-9


@both("pav_blocks")
def test_blocks_are_where_fits_are_level(kernel):
    """Starts of blocks ascend from 0, and each mean is that of its points."""
    rng = np.random.default_rng(2)
    for n in (1, 500):
        for rate in rates_of(n, rng):
            w = rng.random(n) + 0.1
            starts, value = kernel(w, w * rate)
            assert starts[0] == 0
            assert np.all(np.diff(starts) > 0)
            assert starts.dtype == np.intp
            means = np.add.reduceat(w * rate, starts) / np.add.reduceat(w, starts)
            np.testing.assert_allclose(value, means, rtol=1e-12)


@both("pav_rows")
@pytest.mark.parametrize("threads", ["1", "2"])
def test_rows_are_fitted_one_by_one(kernel, threads, monkeypatch):
    """Points without weight lie on the line between their neighbours, and level beyond the last."""
    monkeypatch.setenv("BELIEVABLE_THREADS", threads)
    rng = np.random.default_rng(3)
    x = np.sort(rng.random(40))
    w = rng.poisson(1.0, (2_000, 40)).astype(float)
    w[:, 7] += 1
    y = rng.random((2_000, 40)) < x
    found = kernel(x, w, w * y)
    for row in range(0, 2_000, 500):
        here = w[row] > 0
        values = by_formula(w[row, here], (w * y)[row, here])
        np.testing.assert_allclose(found[row], np.interp(x, x[here], values), rtol=1e-12, atol=1e-14)
    one = kernel(x, np.ones(40), y[:3].astype(float))
    np.testing.assert_allclose(one[1], by_formula(np.ones(40), y[1].astype(float)), rtol=1e-12, atol=1e-14)


@both("pav_rows")
def test_a_row_without_weight_is_refused(kernel):
    """There is nothing to fit."""
    with pytest.raises(ValueError, match=r"empty|weight"):
        kernel(np.arange(3.0), np.array([[1.0, 1, 1], [0, 0, 0]]), np.zeros((2, 3)))
