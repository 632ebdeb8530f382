"""Logistic regression with slopes that are not negative, against SciPy and against leaving rows out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import lsq_linear

from believable._kernels.rising import _nearest, fit_rising, slope_columns


def rows(n=60, seed=0, knots=4):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n) * 2
    y = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(float)
    return slope_columns(z, np.linspace(-4, 4, knots)), y


@pytest.mark.parametrize("knots", [[-1.0, 2.0], [0.5, 1.0, 3.0], [-3.0, -2.5, -2.0, 4.0]])
def test_columns_are_integrals_of_hat_functions(knots):
    """Each column is the integral from 0 of the function that is 1 at its knot, linear between and flat beyond."""
    z = np.array([-5.0, -1.0, 0.0, 0.7, 2.0, 6.0])
    found = slope_columns(z, np.array(knots))
    for k in range(len(knots)):
        hat = np.arange(len(knots)) == k
        breaks = [*knots, 0.0]
        expected = [quad(np.interp, 0, x, (knots, hat), points=[b for b in breaks if abs(b) < abs(x)])[0] for x in z]
        np.testing.assert_allclose(found[k], expected, atol=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_bounded_minimum_of_a_quadratic(seed):
    """All but the last coordinate are at least 0, and SciPy finds nothing lower."""
    rng = np.random.default_rng(seed)
    k = rng.integers(2, 9)
    root, target = rng.normal(size=(k + 3, k)), rng.normal(size=k + 3)
    start = np.append(rng.random(k - 1) * rng.integers(0, 2, k - 1), 0.3)
    found = _nearest(root.T @ root, root.T @ target, start)
    best = lsq_linear(root, target, ([0] * (k - 1) + [-np.inf], np.inf), method="bvls", tol=1e-14)
    np.testing.assert_allclose(found, best.x, atol=1e-9)
    assert found[:-1].min() >= 0


def test_optimality():
    """The cost rises in every allowed direction: the gradient is 0 where a slope is positive, and not negative else."""
    columns, y = rows()
    for outcome in (y, 1 - y):
        fit = fit_rising(columns, np.ones(len(y)), outcome, np.eye(5) * 0.01)
        eta = fit.slopes @ columns + fit.intercept
        residual = 1 / (1 + np.exp(-eta)) - outcome
        gradient = columns @ residual + 0.02 * (fit.slopes - 1)
        assert abs(residual.sum() + 0.02 * fit.intercept) < 1e-8
        assert np.abs(gradient[fit.slopes > 0]).max(initial=0) < 1e-8
        assert gradient.min() > -1e-8
    assert fit.slopes.min() == 0


@pytest.mark.parametrize("ridge", [0.5, 2.0, 10.0])
def test_cost_of_left_out_rows(ridge):
    """The cost of left-out rows from one fit is nearly that of as many fits as there are rows."""
    columns, y = rows(100)
    ones, penalty = np.ones(100), ridge * np.eye(5)
    exact = 0.0
    for i in range(100):
        others = np.arange(100) != i
        fit = fit_rising(columns[:, others], ones[others], y[others], penalty)
        eta = fit.slopes @ columns[:, i] + fit.intercept
        exact += np.logaddexp(0, eta) - y[i] * eta
    fit = fit_rising(columns, ones, y, penalty)
    eta = fit.slopes @ columns + fit.intercept
    within = np.sum(np.logaddexp(0, eta) - y * eta)
    assert fit.held_out == pytest.approx(exact, rel=0.01)
    assert abs(fit.held_out - exact) < 0.2 * (exact - within)


def test_points_are_rows():
    """A point of weight 3, two of it positive, is three rows; each is left out alone."""
    columns, y = rows(40)
    w = np.full(40, 3.0)
    wy = 2 * y + (1 - y)
    points = fit_rising(columns, w, wy, np.eye(5))
    outcomes = np.concatenate([np.ones(40), y, np.zeros(40)])
    separate = fit_rising(np.tile(columns, 3), np.ones(120), outcomes, np.eye(5))
    np.testing.assert_allclose(points.slopes, separate.slopes, atol=1e-9)
    assert points.held_out == pytest.approx(separate.held_out, rel=1e-9)
