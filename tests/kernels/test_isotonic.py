"""Isotonic regression against the min-max formula."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from believable import _kernels


def min_max(w, wy):
    """max over i <= j of min over k >= j of the mean of i..k, in exact fractions."""
    w, wy = [Fraction(x) for x in w], [Fraction(x) for x in wy]
    n = len(w)
    mean = [[sum(wy[i : k + 1]) / sum(w[i : k + 1]) if k >= i else None for k in range(n)] for i in range(n)]
    return [float(max(min(mean[i][k] for k in range(j, n)) for i in range(j + 1))) for j in range(n)]


def problem(seed, n=12):
    rng = np.random.default_rng(seed)
    w = rng.random(n) if seed % 2 else rng.integers(1, 4, n).astype(float)
    return w, w * rng.integers(0, 2, n) if seed % 3 else w * rng.random(n)


@pytest.mark.parametrize("seed", range(30))
def test_min_max_formula(seed):
    """The fit is the largest of the smallest means of runs that hold the point."""
    w, wy = problem(seed)
    fitted = _kernels.pav(w, wy)
    assert fitted == pytest.approx(min_max(w, wy), rel=1e-13, abs=1e-15)
    assert np.all(np.diff(fitted) >= 0)


def test_ends_are_exact():
    """Runs of zeros and of ones are 0 and 1, whatever the weights."""
    w = np.array([0.1, 0.2, 0.3, 0.7, 1e-9, 1e9])
    assert _kernels.pav(w, w * [0, 0, 0, 1, 1, 1]).tolist() == [0, 0, 0, 1, 1, 1]
    assert _kernels.pav(np.array([0.3]), np.array([0.3])).tolist() == [1]


@pytest.mark.parametrize("same_weights", [True, False])
def test_rows_are_fitted_one_by_one(same_weights):
    """Every row of many is the fit of that row alone."""
    w = np.stack([problem(seed)[0] for seed in range(5)])
    wy = w * np.stack([problem(seed)[1] / problem(seed)[0] for seed in range(5)])
    x = np.arange(12.0)
    if same_weights:
        w, wy = w[0], wy * w[0] / w
    rows = _kernels.pav_rows(x, w, wy)
    for row, weights, sums in zip(rows, np.broadcast_to(w, wy.shape), wy, strict=True):
        assert row == pytest.approx(_kernels.pav(weights.copy(), sums), rel=1e-14)


def test_points_without_weight_are_interpolated():
    """Between points that have weight the fit is drawn straight, beyond them it is level."""
    x = np.array([0.0, 1.0, 2.0, 4.0, 5.0])
    w = np.array([[0.0, 1.0, 0.0, 1.0, 0.0]])
    assert _kernels.pav_rows(x, w, w * [0, 0.25, 0, 1, 0]).tolist() == [[0.25, 0.25, 0.5, 1, 1]]
