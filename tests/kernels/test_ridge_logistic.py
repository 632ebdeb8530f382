"""Logistic regression with a ridge, also with slopes by segment, against costs written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from believable import _kernels
from believable._kernels.ridge_logistic import fit_sloped_logistic


def problem(seed, n=80, k=3):
    """Columns, offset, weights and weights of positives; some points have one class, some no weight."""
    rng = np.random.default_rng(seed)
    x, offset = rng.normal(size=(n, k)), 2 * rng.normal(size=n)
    w = rng.choice([0.0, 0.5, 1.0, 20.0], n)
    truth = 1 / (1 + np.exp(-(offset + x @ rng.normal(size=k))))
    return x, offset, w, w * np.where(rng.random(n) < 0.3, np.round(truth), truth), 10 ** rng.uniform(-3, 1, k)


def literal_cost(eta, w, wy, numbers, ridge):
    """The negative log-likelihood point by point, and half the ridge times the squares."""
    total = 0.0
    for one, weight, events in zip(eta, w, wy, strict=True):
        p = 1 / (1 + math.exp(-one))
        total -= events * math.log(p) + (weight - events) * math.log(1 - p)
    return total + sum(r * b * b / 2 for r, b in zip(ridge, numbers, strict=True))


def predicted(x, offset, b):
    return [offset[i] + sum(x[i, k] * b[k] for k in range(x.shape[1])) for i in range(len(x))]


def predicted_with_slopes(x, offset, members, w, numbers):
    """The logit of each point: what all share, and for its segments an intercept and a slope of that."""
    k, segments = x.shape[1], len(members)
    b, a, c = numbers[:k], numbers[k : k + segments], numbers[k + segments :]
    shared, eta = predicted(x, offset, b), []
    for i in range(len(x)):
        total = shared[i]
        for j in range(segments):
            if members[j, i]:
                inside = [m for m in range(len(x)) if members[j, m]]
                middle = sum(w[m] * offset[m] for m in inside) / sum(w[m] for m in inside)
                total += a[j] + c[j] * (shared[i] - middle)
        eta.append(total)
    return eta


def steepest(cost, numbers):
    """The largest slope of a cost in any direction of the numbers, by central differences."""
    slopes = []
    for k in range(len(numbers)):
        step = np.zeros(len(numbers))
        step[k] = 1e-5
        slopes.append((cost(numbers + step) - cost(numbers - step)) / 2e-5)
    return max(map(abs, slopes))


# --- columns ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_the_minimum_is_that_of_scipy(seed):
    """Of the cost as it is written."""
    x, offset, w, wy, ridge = problem(seed)

    def cost(b):
        return literal_cost(predicted(x, offset, b), w, wy, b, ridge)

    found = _kernels.fit_ridge_logistic(x, offset, w, wy, ridge)
    assert found == pytest.approx(minimize(cost, np.zeros(3), method="BFGS").x, abs=1e-4)
    assert steepest(cost, found) < 1e-6


def test_the_score_equations_hold():
    """Each column times observed minus expected events is the ridge times its number."""
    x, offset, w, wy, ridge = problem(7)
    found = _kernels.fit_ridge_logistic(x, offset, w, wy, ridge)
    for k in range(3):
        eta = predicted(x, offset, found)
        score = math.fsum(x[i, k] * (wy[i] - w[i] / (1 + math.exp(-eta[i]))) for i in range(len(x)))
        assert score == pytest.approx(ridge[k] * found[k], abs=1e-10)


@pytest.mark.parametrize("start", [[0.0, 0.0, 0.0], [5.0, -5.0, 5.0], [100.0, 0.0, -30.0]])
def test_the_start_does_not_matter(start):
    """There is one minimum."""
    x, offset, w, wy, ridge = problem(8)
    expected = _kernels.fit_ridge_logistic(x, offset, w, wy, ridge)
    assert _kernels.fit_ridge_logistic(x, offset, w, wy, ridge, np.array(start)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("offset", [-3000.0, -30.0, 0.0, 30.0, 3000.0])
def test_offsets_far_from_the_data(offset):
    """A single intercept undoes them, as far as the ridge lets it."""
    n, events, ridge = 50.0, 20.0, 1e-6
    (found,) = _kernels.fit_ridge_logistic(
        np.ones((1, 1)), np.array([offset]), np.array([n]), np.array([events]), np.array([ridge])
    )
    p = 1 / (1 + math.exp(-(offset + found)))
    assert events - n * p == pytest.approx(ridge * found, abs=1e-9)


def test_a_single_class_has_a_finite_number():
    """Where the likelihood has no maximum, the ridge decides: ridge b = n (1 - p)."""
    ridge, n = 1e-3, 100.0
    (found,) = _kernels.fit_ridge_logistic(
        np.ones((1, 1)), np.zeros(1), np.array([n]), np.array([n]), np.array([ridge])
    )
    assert ridge * found == pytest.approx(n / (1 + math.exp(found)), rel=1e-9)


def test_no_columns_no_numbers():
    assert len(_kernels.fit_ridge_logistic(np.ones((4, 0)), np.zeros(4), np.ones(4), np.ones(4), np.ones(0))) == 0


# --- slopes of segments -----------------------------------------------------------------------------------------------


def sloped(seed, n=60, segments=2):
    """A problem with overlapping segments, in which slopes and intercepts differ."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.integers(0, 2, n) == level for level in range(2)]).astype(float)
    offset, w = 1.5 * rng.normal(size=n), rng.choice([1.0, 5.0, 30.0], n)
    members = (rng.random((segments, n)) < 0.4).astype(float)
    numbers = [*rng.normal(size=2), *rng.normal(size=segments), *rng.uniform(-0.8, 1.5, segments)]
    truth = 1 / (1 + np.exp(-np.array(predicted_with_slopes(x, offset, members, w, numbers))))
    return x, offset, members, w, rng.binomial(w.astype(int), truth).astype(float), 10 ** rng.uniform(-2, 0.5, 6)


@pytest.mark.parametrize("seed", range(4))
def test_slopes_are_those_of_scipy(seed):
    """Of the cost as it is written, from the same start."""
    x, offset, members, w, wy, ridge = sloped(seed)

    def cost(numbers):
        return literal_cost(predicted_with_slopes(x, offset, members, w, numbers), w, wy, numbers, ridge)

    found = np.concatenate(fit_sloped_logistic(x, offset, members, w, wy, ridge))
    expected = minimize(cost, np.zeros(6), method="BFGS")
    assert cost(found) <= expected.fun + 1e-9
    assert found == pytest.approx(expected.x, abs=1e-4)
    assert steepest(cost, found) < 1e-6


def test_planted_slopes_are_found():
    """From rates without noise, and with hardly any ridge, the numbers that made them."""
    rng = np.random.default_rng(3)
    n = 200
    x, offset, w = np.ones((n, 1)), rng.normal(size=n), np.full(n, 1e6)
    members = np.array([np.arange(n) % 2 == 0, np.arange(n) % 3 == 0], float)
    numbers = [0.4, -0.5, 0.8, -0.5, 1.0]
    rates = 1 / (1 + np.exp(-np.array(predicted_with_slopes(x, offset, members, w, numbers))))
    found = fit_sloped_logistic(x, offset, members, w, w * rates, np.full(5, 1e-6))
    assert found.shared == pytest.approx(numbers[:1], abs=1e-6)
    assert found.intercepts == pytest.approx(numbers[1:3], abs=1e-6)
    assert found.slopes == pytest.approx(numbers[3:], abs=1e-6)


def test_without_segments_it_is_the_other_fit():
    x, offset, w, wy, ridge = problem(5)
    found = fit_sloped_logistic(x, offset, np.ones((0, len(x))), w, wy, ridge)
    assert found.shared == pytest.approx(_kernels.fit_ridge_logistic(x, offset, w, wy, ridge), abs=1e-9)
    assert len(found.intercepts) == len(found.slopes) == 0


def test_a_segment_of_one_class_keeps_finite_numbers():
    """The rest is fitted as without it."""
    x, offset, members, w, wy, ridge = sloped(6, segments=1)
    inside, ridge = members[0] > 0, np.array([1e-3, 1e-3, 1e-3, 1.0])
    found = fit_sloped_logistic(x, offset, members, w, np.where(inside, w, wy), ridge)
    rest = _kernels.fit_ridge_logistic(x[~inside], offset[~inside], w[~inside], wy[~inside], ridge[:2])
    assert np.isfinite(np.concatenate(found)).all()
    assert found.intercepts[0] > 5
    assert found.shared == pytest.approx(rest, abs=0.02)
