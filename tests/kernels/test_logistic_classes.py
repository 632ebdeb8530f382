"""Logistic regression with the classes apart, against `fit_logistic` and a bounded optimum of the literal likelihood."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from believable import _kernels
from believable._kernels import logistic_classes
from believable._kernels.logistic_classes import ClassRows


def rows_of(columns, w, wy, noise=(0.0, 0.0)):
    """Positives and negatives of points that may hold both."""
    above, below = wy > 0, wy < w
    return (
        ClassRows([x[above] for x in columns], wy[above], noise[0]),
        ClassRows([x[below] for x in columns], (w - wy)[below], noise[1]),
    )


def coefficients(*rows, **choices):
    return _kernels.fit_logistic_classes(*rows, **choices).coefficients


def problem(seed, n=80):
    rng = np.random.default_rng(seed)
    columns = [rng.normal(size=n), rng.exponential(size=n)]
    w = 10 ** rng.uniform(-2, 2, n) if seed % 2 else np.ones(n)
    share = rng.random(n) if seed % 3 else rng.integers(0, 2, n)
    return columns, w, w * share


def cost(at, columns, w, wy, noise=(0.0, 0.0)):
    """Minus the literal log-likelihood."""
    eta = sum(c * x for c, x in zip(at, columns, strict=False)) + at[-1]
    log_p, log_q = -np.logaddexp(0, -eta), -np.logaddexp(0, eta)
    positive = (1 - noise[0]) * wy + noise[1] * (w - wy)
    return -(positive @ log_p + (w - positive) @ log_q)


@pytest.mark.parametrize("seed", range(6))
def test_equals_the_other_kernel(seed):
    """Apart or together, the maximum is the same."""
    columns, w, wy = problem(seed)
    together = _kernels.fit_logistic(np.stack([*columns, np.ones(len(w))]), w, wy).coefficients
    assert coefficients(*rows_of(columns, w, wy)) == pytest.approx(together, rel=1e-8, abs=1e-9)
    plain = _kernels.fit_logistic(np.stack(columns), w, wy).coefficients
    assert coefficients(*rows_of(columns, w, wy), intercept=False) == pytest.approx([*plain, 0], rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_bounded_maximum(seed):
    """With coefficients that must not be negative, no allowed point has a larger likelihood."""
    columns, w, wy = problem(seed)
    columns = [x * sign for x, sign in zip(columns, [(1, 1), (-1, 1), (1, -1), (-1, -1)][seed % 4], strict=True)]
    found = coefficients(*rows_of(columns, w, wy), rising=True)
    bounds = [(0, None), (0, None), (None, None)]
    best = minimize(cost, [0.5, 0.5, 0], (columns, w, wy), bounds=bounds, options={"ftol": 1e-15, "gtol": 1e-9})
    assert found[:2].min() >= 0
    assert cost(found, columns, w, wy) <= best.fun * (1 + 1e-13)
    free = coefficients(*rows_of(columns, w, wy))
    if free[:2].min() < 0:
        assert found[:2].min() == 0


def test_bounded_where_free_has_no_maximum():
    """Classes that only a falling line separates have a bounded maximum: the constant."""
    x = np.arange(6.0)
    w, wy = np.ones(6), np.array([1.0, 1, 1, 0, 0, 0])
    found = coefficients(*rows_of([x, x**2], w, wy), rising=True)
    assert found == pytest.approx([0, 0, 0], abs=1e-9)


@pytest.mark.parametrize("noise", [(0.1, 0.02), (0.3, 0.0)])
def test_noise(noise):
    """Noise is a share of each row in the other class."""
    columns, w, wy = problem(3)
    found = coefficients(*rows_of(columns, w, wy, noise))
    moved = (1 - noise[0]) * wy + noise[1] * (w - wy)
    assert found == pytest.approx(coefficients(*rows_of(columns, w, moved)), rel=1e-8)


@pytest.mark.parametrize("rare", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_many_rows(rare, weighted):
    """Starting from every eighth row ends where starting from nothing ends; one weight stands for many."""
    rng = np.random.default_rng(1)
    n = logistic_classes.ROWS_FOR_A_SAMPLE + 5000
    x = rng.normal(size=n)
    y = (rng.random(n) < 1 / (1 + np.exp(5.0 * rare - 2 * x))).astype(float)
    w = rng.random(n) + 0.5 if weighted else np.full(n, 3.0)
    positive, negative = rows_of([x], w, w * y)
    if not weighted:
        positive, negative = positive._replace(weight=3.0), negative._replace(weight=3.0)
    expected = _kernels.fit_logistic(np.stack([x, np.ones(n)]), w, w * y).coefficients
    assert coefficients(positive, negative) == pytest.approx(expected, rel=1e-8)


def test_a_sample_that_is_separated():
    """Where every eighth row is separated all rows still have their maximum."""
    n = 9 * logistic_classes.CACHED_ROWS
    x = np.linspace(-1, 1, 2 * n)
    negative, positive = x[:n].copy(), x[n:].copy()
    negative[1::8], positive[1::8] = positive[1::8], negative[1::8].copy()
    found = coefficients(ClassRows([positive], 1.0), ClassRows([negative], 1.0))
    both = np.concatenate([positive, negative])
    expected = _kernels.fit_logistic(
        np.stack([both, np.ones(2 * n)]), np.ones(2 * n), np.repeat([1.0, 0.0], n)
    ).coefficients
    assert found == pytest.approx(expected, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("factor", [1e-90, 1e90])
def test_a_factor_of_the_weights_does_not_matter(factor):
    """Weights times c have the same coefficients."""
    columns, w, wy = problem(1)
    one = coefficients(*rows_of(columns, w, wy))
    assert coefficients(*rows_of(columns, factor * w, factor * wy)) == pytest.approx(one, rel=1e-8)


def test_large_scores():
    """Scores of 1e4 and 1e-4 neither overflow nor stall."""
    columns, w, wy = problem(2)
    one = coefficients(*rows_of(columns[:1], w, wy))
    for scale in (1e4, 1e-4):
        other = coefficients(*rows_of([columns[0] * scale], w, wy))
        assert other * [scale, 1] == pytest.approx(one, rel=1e-7)
    x = np.array([-1e4, -1e4, 1e4, 1e4, 3.0, -3.0])
    wy = np.array([0.0, 0, 1, 1, 0, 1])
    found = coefficients(*rows_of([x], np.ones(6), wy), rising=True)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("exponent", [-900, -340, 0, 340, 990])
@pytest.mark.parametrize("rising", [False, True])
def test_any_unit(exponent, rising):
    """Columns times a power of two have coefficients divided by it, to the last bit or nearly."""
    columns, w, wy = problem(3)
    one = coefficients(*rows_of(columns, w, wy), rising=rising)
    other = coefficients(*rows_of([np.ldexp(x, exponent) for x in columns], w, wy), rising=rising)
    assert np.ldexp(other[:2], exponent) == pytest.approx(one[:2], rel=1e-9)
    assert other[2] == pytest.approx(one[2], rel=1e-9)


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e9])
@pytest.mark.parametrize("rising", [False, True])
def test_far_from_zero(offset, rising):
    """Columns that are far from 0 have the slopes that they have near it."""
    columns, w, wy = problem(4)
    away = np.array([offset, -3 * offset])
    far = [x + place for x, place in zip(columns, away, strict=True)]
    near = [x - place for x, place in zip(far, away, strict=True)]  # exactly
    one = coefficients(*rows_of(near, w, wy), rising=rising)
    fit = _kernels.fit_logistic_classes(*rows_of(far, w, wy), rising=rising)
    assert fit.limit == ""
    assert fit.coefficients[:2] == pytest.approx(one[:2], rel=1e-8)
    assert fit.coefficients[2] == pytest.approx(one[2] - one[:2] @ away, rel=1e-8)


def test_what_counts_is_far_from_the_rest():
    """Where most rows lie elsewhere, and are sure, the slope is that of the others."""
    (x, _), w, wy = problem(1)
    alone = coefficients(*rows_of([x], w, wy))
    together = rows_of([np.append(x + 1e8, np.zeros(300))], np.append(w, np.ones(300)), np.append(wy, np.zeros(300)))
    assert coefficients(*together)[0] == pytest.approx(alone[0], rel=1e-7)


def test_limits():
    """Scores that rounding would tell apart no more, or that are beyond all others, are said to be so."""
    (x, _), w, wy = problem(2)
    assert _kernels.fit_logistic_classes(*rows_of([x + 1e14], w, wy)).limit == "rounded"
    x[0] = 1e300
    wy = w / (1 + np.exp(-np.maximum(x, -50)))
    fit = _kernels.fit_logistic_classes(*rows_of([x], w, wy))
    assert fit.limit == "cut"
    assert fit.coefficients == pytest.approx(coefficients(*rows_of([x[1:]], w[1:], wy[1:])), rel=1e-6)
