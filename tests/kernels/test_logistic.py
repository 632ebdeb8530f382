"""Logistic regression against its score equations, and everything around it against loops."""

from __future__ import annotations

import math
from math import fsum

import numpy as np
import pytest

from believable import _kernels


def sigmoid(z):
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


def problem(seed, n=60, k=2, spread=1.0):
    """Columns, weights, weights of positives and an offset; both classes everywhere, so that the maximum exists."""
    rng = np.random.default_rng(seed)
    columns = np.vstack([np.ones(n), spread * rng.normal(size=(k - 1, n))])
    w = rng.integers(1, 5, n).astype(float) if seed % 2 else 10 ** rng.uniform(-2, 2, n)
    share = np.where(rng.random(n) < 0.5, rng.random(n), rng.integers(0, 2, n))
    return columns, w, w * share, rng.normal(size=n) * (seed % 3)


def score(columns, coefficients, w, wy, offset):
    """Gradient, information, log-likelihood and sum of absolute terms, row by row."""
    k, n = columns.shape
    eta = [offset[j] + fsum(coefficients[i] * columns[i, j] for i in range(k)) for j in range(n)]
    residual = [wy[j] * sigmoid(-eta[j]) - (w[j] - wy[j]) * sigmoid(eta[j]) for j in range(n)]
    gradient = [fsum(residual[j] * columns[i, j] for j in range(n)) for i in range(k)]
    information = [
        [
            fsum(w[j] * sigmoid(eta[j]) * sigmoid(-eta[j]) * columns[i, j] * columns[m, j] for j in range(n))
            for m in range(k)
        ]
        for i in range(k)
    ]
    value = fsum(wy[j] * math.log(sigmoid(eta[j])) + (w[j] - wy[j]) * math.log(sigmoid(-eta[j])) for j in range(n))
    size = [fsum(w[j] * abs(columns[i, j]) for j in range(n)) for i in range(k)]
    return gradient, information, value, size


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_score_equations(seed, k):
    """At the coefficients the gradient vanishes, and likelihood and information are those of the formulas."""
    columns, w, wy, offset = problem(seed, k=k)
    fit = _kernels.fit_logistic(columns, w, wy, offset)
    gradient, information, value, size = score(columns, fit.coefficients, w, wy, offset)
    assert fit.converged
    assert all(abs(g) <= 1e-12 * s for g, s in zip(gradient, size, strict=True))
    assert fit.information == pytest.approx(np.array(information), rel=1e-10)
    assert float(fit.log_likelihood) == pytest.approx(value, rel=1e-12)
    found, slope, again = _kernels.likelihood(columns, fit.coefficients, w, wy, offset)
    assert found == pytest.approx(value, rel=1e-12)
    assert again == pytest.approx(np.array(information), rel=1e-10)
    assert np.all(np.abs(slope) <= 1e-11 * np.array(size))


@pytest.mark.parametrize("spread", [1e-6, 1e6])
def test_the_scale_of_columns_does_not_matter(spread):
    """A column times c has a coefficient over c."""
    columns, w, wy, _ = problem(4)
    scaled = columns * [[1], [spread]]
    one, other = _kernels.fit_logistic(columns, w, wy), _kernels.fit_logistic(scaled, w, wy)
    assert other.coefficients * [1, spread] == pytest.approx(one.coefficients, rel=1e-9)


def test_a_poor_start_does_not_matter():
    """Where Newton's own step would run away it is halved."""
    columns, w, wy, _ = problem(2, spread=3.0)
    expected = _kernels.fit_logistic(columns, w, wy).coefficients
    for start in ([5.0, 5.0], [-30.0, 20.0], [0.0, -40.0], [200.0, 300.0]):
        fit = _kernels.fit_logistic(columns, w, wy, start=np.array(start))
        assert fit.converged
        assert fit.coefficients == pytest.approx(expected, rel=1e-9)


def test_extreme_predictors():
    """Offsets of hundreds neither overflow nor lose the tails."""
    offset = np.array([-700.0, 700.0, 1.0, -1.0])
    w = np.ones(4)
    fit = _kernels.fit_logistic(np.ones((1, 4)), w, np.array([0.0, 1.0, 0.0, 1.0]), offset)
    assert fit.converged
    assert fit.coefficients[0] == pytest.approx(0, abs=1e-12)
    offset = np.array([-20.0, 20.0, 1.0, -1.0])
    wy = np.array([1.0, 1.0, 0.0, 1.0])
    fit = _kernels.fit_logistic(np.ones((1, 4)), w, wy, offset)
    (gradient,), _, value, _ = score(np.ones((1, 4)), fit.coefficients, w, wy, offset)
    assert abs(gradient) < 1e-15
    assert float(fit.log_likelihood) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("factor", [1e-90, 1e-3, 1e3, 1e90])
def test_a_factor_of_the_weights_does_not_matter(factor):
    """Weights times c have the same coefficients, and c times likelihood and information."""
    columns, w, wy, offset = problem(4)
    one = _kernels.fit_logistic(columns, w, wy, offset)
    other = _kernels.fit_logistic(columns, factor * w, factor * wy, offset)
    assert other.converged
    assert other.coefficients == pytest.approx(one.coefficients, rel=1e-11)
    assert float(other.log_likelihood) == pytest.approx(factor * float(one.log_likelihood), rel=1e-11)
    assert other.information == pytest.approx(factor * one.information, rel=1e-10)


def test_no_information_at_the_start():
    """Where the likelihood is flat to the last digit a step is long, but no more than that."""
    columns, w, wy, _ = problem(2)
    expected = _kernels.fit_logistic(columns, w, wy).coefficients
    for start in ([1e4, 0.0], [-1e5, 1e3], [0.0, 1e8]):
        fit = _kernels.fit_logistic(columns, w, wy, start=np.array(start))
        assert fit.converged
        assert fit.coefficients == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("own_weights", [True, False])
def test_replicates_are_fitted_one_by_one(own_weights):
    """Many outcomes at once have the fits they have alone."""
    rng = np.random.default_rng(3)
    columns, w, _, offset = problem(1, n=300)
    weights = rng.integers(0, 4, (7, 300)).astype(float) if own_weights else w
    wy = weights * (rng.random((7, 300)) < 0.3)
    fits = _kernels.fit_logistic(columns, weights, wy, offset)
    for b in range(7):
        alone = _kernels.fit_logistic(columns, weights[b] if own_weights else w, wy[b], offset)
        assert fits.coefficients[b] == pytest.approx(alone.coefficients, rel=1e-11)
        assert fits.log_likelihood[b] == pytest.approx(float(alone.log_likelihood), rel=1e-12)
        assert fits.information[b] == pytest.approx(alone.information, rel=1e-10)
        assert fits.converged[b]


def test_many_blocks():
    """More points than a block holds."""
    columns, w, wy, offset = problem(5, n=20001)
    fit = _kernels.fit_logistic(columns, w, wy, offset)
    gradient, _, value, size = score(columns, fit.coefficients, w, wy, offset)
    assert all(abs(g) <= 1e-11 * s for g, s in zip(gradient, size, strict=True))
    assert float(fit.log_likelihood) == pytest.approx(value, rel=1e-11)


def test_sandwich():
    """The covariance is the inverse information around the sum of w^2 (y - mu)^2 x x'."""
    rng = np.random.default_rng(8)
    columns, w, _, offset = problem(3)
    y = rng.integers(0, 2, len(w))
    fit = _kernels.fit_logistic(columns, w, w * y, offset)
    middle = _kernels.score_products(columns, fit.coefficients, w**2, w**2 * y, offset)
    mu = [sigmoid(eta) for eta in fit.coefficients @ columns + offset]
    terms = [(w[j] * (y[j] - mu[j])) ** 2 for j in range(len(w))]
    literal = [
        [fsum(t * columns[i, j] * columns[m, j] for j, t in enumerate(terms)) for m in range(2)] for i in range(2)
    ]
    assert middle == pytest.approx(np.array(literal), rel=1e-11)
    inverse = np.linalg.inv(fit.information)
    assert _kernels.sandwich(fit.information, middle) == pytest.approx(inverse @ middle @ inverse, rel=1e-9)


def test_logits():
    """Logits are odd, and those of the ends exact opposites."""
    p = np.array([0.0, 1e-300, 1e-12, 0.3, 0.5, 1 - 1e-12, np.nextafter(1, 0), 1.0])
    found = _kernels.clipped_logit(p)
    end = math.log((1 - 1e-12) / 1e-12)
    assert found.tolist() == pytest.approx([-end, -end, -end, math.log(3 / 7), 0, end, end, end], rel=1e-15)
    assert found[0] == -found[-1]


@pytest.mark.parametrize("seed", range(200))
def test_separation(seed):
    """A threshold separates where no negative is above a positive, or no positive above a negative."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.choice(9, rng.integers(1, 5), replace=False)).astype(float)
    w = rng.integers(0, 3, len(x)).astype(float)
    wy = np.array([rng.integers(0, k + 1) for k in w], float)
    positive, negative = x[wy > 0], x[w > wy]
    found = float(_kernels.separation(x, w, wy))
    if not len(positive) or not len(negative) or len({*positive, *negative}) == 1:
        assert math.isnan(found)
    else:
        assert found == int(negative.max() <= positive.min()) - int(positive.max() <= negative.min())
    assert np.array_equal(_kernels.separation(x, w, np.stack([wy, wy])), [found, found], equal_nan=True)
