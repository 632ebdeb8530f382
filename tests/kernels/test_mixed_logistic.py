"""Partial pooling against the formula of its likelihood, and against an integral over the effects."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize
from scipy.special import logsumexp

from believable._kernels import mixed_logistic
from believable._kernels.mixed_logistic import fit_mixed_logistic

EXACT = {"rtol": 0, "atol": 2e-5}  # of coefficients and covariances: the literal search ends there


def draw(sizes, n=600, seed=1, missing=False, spread=0.7):
    """Rows with a level in each column, whose intercepts and slopes differ."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(-1 if missing else 0, size, n) for size in sizes]
    z = rng.normal(0.3, 1.2, n)
    eta = 0.8 * z + 0.2
    for code, size in zip(codes, sizes, strict=True):
        intercept, slope = rng.normal(0, spread, size + 1), rng.normal(0, spread / 2, size + 1)
        eta += np.where(code < 0, 0, intercept[code] + slope[code] * z)
    y = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float)
    return z, y, codes


def laplace(parameters, z, w, y, codes, sizes, prior=np.inf, unit=1.0):
    """Return minus Laplace's approximation of the marginal log-likelihood, and the effects at the mode.

    `parameters` are slope, intercept, and the lower triangle of the root L of each column's covariance of (intercept,
    slope). The effects are L s, one pair for each level of each column; the dense design has a column for each s.
    """
    slope, intercept = parameters[:2]
    roots = [np.array([[p, 0], [q, r]]) for p, q, r in parameters[2:].reshape(-1, 3)]
    design, to_effects = np.zeros((len(z), 2 * sum(sizes))), np.zeros((2 * sum(sizes), 2 * sum(sizes)))
    first = 0
    for code, size, root in zip(codes, sizes, roots, strict=True):
        for level in range(size):
            at = slice(2 * (first + level), 2 * (first + level) + 2)
            design[:, at] = np.column_stack([code == level, (code == level) * z])
            to_effects[at, at] = root
        first += size
    design = design @ to_effects
    s = np.zeros(design.shape[1])
    for _ in range(100):
        q = 1 / (1 + np.exp(-(slope * z + intercept + design @ s)))
        gradient = design.T @ (w * (q - y)) + s
        information = design.T @ (design * (w * q * (1 - q))[:, None]) + np.eye(len(s))
        step = np.linalg.solve(information, gradient)
        s = s - step * min(1, 1 / np.abs(step).max())
        if np.abs(step).max() < 1e-10:
            break
    eta = slope * z + intercept + design @ s
    cost = np.sum(w * (np.logaddexp(0, eta) - y * eta)) + s @ s / 2 + np.linalg.slogdet(information)[1] / 2
    standard = np.array([[1, 0], [0, unit]])  # the prior is on roots for z in standard deviations, around its mean
    for root in roots:
        cost += np.sum((standard @ root) ** 2) / (2 * prior**2)
    return cost, to_effects @ s


def triangle(covariance):
    """Return the lower triangle of the root of a covariance."""
    return np.linalg.cholesky(covariance)[[0, 1, 1], [0, 0, 1]]


@pytest.mark.parametrize(
    ("sizes", "missing", "weighted"), [((6,), False, False), ((5,), True, True), ((4, 3), True, False)]
)
def test_it_is_the_most_likely_one(sizes, missing, weighted):
    """A literal search from elsewhere finds the same coefficients, covariances and effects."""
    z, y, codes = draw(sizes, missing=missing)
    w = np.random.default_rng(5).choice([1.0, 2.0], len(z)) if weighted else np.ones(len(z))
    fit = fit_mixed_logistic(z, w, w * y, codes, sizes)

    def cost(parameters):
        return laplace(parameters, z, w, y, codes, sizes)[0]

    start = np.array([1.0, 0.0, *[0.6, 0.1, 0.4] * len(sizes)])
    found = minimize(cost, start, method="BFGS", options={"gtol": 1e-7, "maxiter": 500})
    assert fit.log_likelihood == pytest.approx(-found.fun, rel=1e-9)
    assert fit.converged
    np.testing.assert_allclose([fit.slope, fit.intercept], found.x[:2], **EXACT)
    for mine, (p, q, r) in zip(fit.covariances, found.x[2:].reshape(-1, 3), strict=True):
        root = np.array([[p, 0], [q, r]])
        np.testing.assert_allclose(mine, root @ root.T, **EXACT)
    np.testing.assert_allclose(
        np.vstack(fit.effects), laplace(found.x, z, w, y, codes, sizes)[1].reshape(-1, 2), **EXACT
    )


def test_a_prior_holds_the_variation_back():
    """It is a normal density of the roots, with z in standard deviations around its mean."""
    z, y, codes = draw((6,))
    ones = np.ones(len(z))
    centred = z - z.mean()
    fit = fit_mixed_logistic(centred, ones, y, codes, [6], prior=0.5)

    def cost(parameters):
        return laplace(parameters, centred, ones, y, codes, [6], 0.5, z.std())[0]

    found = minimize(cost, np.array([1.0, 0.0, 0.6, 0.1, 0.4]), method="BFGS", options={"gtol": 1e-7})
    p, q, r = found.x[2:]
    root = np.array([[p, 0], [q, r]])
    np.testing.assert_allclose(fit.covariances[0], root @ root.T, **EXACT)
    free = fit_mixed_logistic(centred, ones, y, codes, [6])
    assert np.trace(fit.covariances[0]) < np.trace(free.covariances[0])
    assert fit.log_likelihood < free.log_likelihood


def test_the_integral_over_effects():
    """Laplace's approximation is close to the integral, and the effects to their means, level by level."""
    z, y, (code,) = draw((5,), n=600)
    fit = fit_mixed_logistic(z, np.ones(600), y, [code], [5])
    root = np.linalg.cholesky(fit.covariances[0])
    nodes = np.linspace(-6, 6, 301)  # of two standard normal numbers
    first, second = (part.ravel() for part in np.meshgrid(nodes, nodes))
    intercepts, slopes = root @ [first, second]
    log_prior = -(first**2 + second**2) / 2 - np.log(2 * np.pi) + 2 * np.log(nodes[1] - nodes[0])
    total, means = 0.0, []
    for level in range(5):
        log_density = log_prior.copy()
        for x, outcome in zip(z[code == level], y[code == level], strict=True):
            eta = fit.slope * x + fit.intercept + intercepts + slopes * x
            log_density += outcome * eta - np.logaddexp(0, eta)
        log_level = logsumexp(log_density)
        total += log_level
        share = np.exp(log_density - log_level)
        means.append([share @ intercepts, share @ slopes])
    assert fit.log_likelihood == pytest.approx(total, abs=0.05)  # of some -300
    np.testing.assert_allclose(fit.effects[0], means, atol=0.03)  # they range from -1 to 1


def test_the_gradient_is_that_of_the_cost():
    z, y, codes = draw((4, 3, 2), missing=True)
    columns = [mixed_logistic._Column.of(code) for code in codes]
    model = mixed_logistic._Model(np.stack([np.ones(len(z)), z]), np.ones(len(z)), y, columns, None, 0.7)
    rng = np.random.default_rng(1)
    for _ in range(3):
        at = rng.normal(0, 0.5, 11)
        scale = np.abs(model.at(at).gradient).max()
        wrong = check_grad(lambda x: model.at(x).cost, lambda x: model.at(x).gradient, at, epsilon=1e-6)
        assert wrong < 1e-5 * scale


def test_without_variation_it_is_a_logistic_regression():
    """Where maximum likelihood finds no variation, the effects are 0, and nothing is gained."""
    rng = np.random.default_rng(2)
    z, code = rng.normal(size=400), np.arange(400) % 8
    y = (rng.random(400) < 1 / (1 + np.exp(-z))).astype(float)
    fit = fit_mixed_logistic(z, np.ones(400), y, [code], [8])
    assert np.abs(fit.effects[0]).max() < 1e-3
    np.testing.assert_allclose(fit.shares[0], 0, atol=1e-3)
    np.testing.assert_allclose([fit.slope, fit.intercept], fit.common, atol=1e-3)
    assert 0 <= fit.gains[0] < 1e-3


@pytest.mark.parametrize("offset", [False, True])
def test_what_the_effects_gain(offset):
    """The gain of the only column is that over a map without effects; of several columns, over the others'."""
    z, y, codes = draw((6, 3))
    ones, fixed = np.ones(len(z)), 0.5 * z if offset else None
    one = fit_mixed_logistic(z, ones, y, codes[:1], [6], fixed)
    eta = fixed if offset else one.common[0] * z + one.common[1]
    without = np.sum(np.logaddexp(0, eta) - y * eta)
    assert one.gains[0] == pytest.approx(one.log_likelihood + without, abs=1e-6)
    assert one.gains[0] > 3
    if offset:
        return
    best = minimize(lambda b: np.sum(np.logaddexp(0, b[0] * z + b[1]) - y * (b[0] * z + b[1])), [1.0, 0.0])
    np.testing.assert_allclose(one.common, best.x, atol=1e-4)
    two = fit_mixed_logistic(z, ones, y, codes, [6, 3])
    roots = [triangle(covariance) for covariance in two.covariances]
    for k in range(2):
        kept = np.concatenate([[two.slope, two.intercept], *(0 * r if m == k else r for m, r in enumerate(roots))])
        loss = laplace(kept, z, ones, y, codes, [6, 3])[0] + two.log_likelihood
        assert two.gains[k] == pytest.approx(loss, abs=1e-5)


def test_how_far_a_map_is_its_own():
    """1 - the posterior variance of what effects add at a level's mean z, over their variance among levels."""
    z, y, (code,) = draw((5,), missing=True, seed=0)
    fit = fit_mixed_logistic(z, np.ones(len(z)), y, [code], [5])
    for level in range(5):
        rows = code == level
        x = np.column_stack([np.ones(rows.sum()), z[rows]])
        eta = fit.intercept + fit.slope * z[rows] + x @ fit.effects[0][level]
        q = 1 / (1 + np.exp(-eta))
        prior = np.linalg.inv(fit.covariances[0])
        posterior = np.linalg.inv(prior + x.T @ (x * (q * (1 - q))[:, None]))
        at = np.array([1, z[rows].mean()])
        share = 1 - at @ posterior @ at / (at @ fit.covariances[0] @ at)
        assert fit.shares[0][level] == pytest.approx(share, abs=1e-6)


def test_the_order_of_rows_levels_and_columns_does_not_matter():
    z, y, codes = draw((5, 3), missing=True)
    ones = np.ones(len(z))
    fit = fit_mixed_logistic(z, ones, y, codes, [5, 3])
    order, turn = np.random.default_rng(3).permutation(len(z)), np.array([3, 0, 4, 1, 2, -1])
    other = fit_mixed_logistic(z[order], ones, y[order], [codes[1][order], turn[codes[0]][order]], [3, 5])
    assert other.log_likelihood == pytest.approx(fit.log_likelihood, rel=1e-12)
    np.testing.assert_allclose(other.effects[1][turn[:5]], fit.effects[0], atol=1e-8)
    np.testing.assert_allclose(other.gains, fit.gains[::-1], atol=1e-8)


def test_equal_rows_may_be_added_up():
    """A row of weight 2 is two rows; levels that do not occur change nothing, nor do rows of weight 0."""
    z, y, codes = draw((5,))
    z = np.round(z, 1)
    twice = [np.concatenate([codes[0], codes[0]])]
    fit = fit_mixed_logistic(np.tile(z, 2), np.ones(2 * len(z)), np.tile(y, 2), twice, [5])
    w = np.append(np.full(len(z), 2.0), 0.0)
    other = fit_mixed_logistic(np.append(z, 50.0), w, w * np.append(y, 1.0), [np.append(codes[0], 7)], [9])
    np.testing.assert_allclose(other.effects[0][:5], fit.effects[0], atol=1e-9)
    np.testing.assert_array_equal(other.effects[0][5:], 0)
    assert other.log_likelihood == pytest.approx(fit.log_likelihood, rel=1e-12)


def test_an_offset_takes_the_place_of_the_common_map():
    """Its units are those of the linear predictor; a and b are 0."""
    z, y, codes = draw((6,))
    ones = np.ones(len(z))
    free = fit_mixed_logistic(z, ones, y, codes, [6])
    fixed = fit_mixed_logistic(z, ones, y, codes, [6], free.slope * z + free.intercept)
    assert (fixed.slope, fixed.intercept) == (0, 0)
    np.testing.assert_allclose(fixed.effects[0], free.effects[0], atol=1e-5)


@pytest.mark.parametrize("constant", [-700.0, 0.0, 3.0])
def test_equal_scores_have_no_slopes(constant):
    rng = np.random.default_rng(4)
    code = np.arange(200) % 4
    y = (rng.random(200) < np.array([0.2, 0.4, 0.6, 0.8])[code]).astype(float)
    fit = fit_mixed_logistic(np.full(200, constant), np.ones(200), y, [code], [4])
    np.testing.assert_array_equal(fit.effects[0][:, 1], 0)
    assert fit.slope == 0
    assert np.all(np.diff(fit.effects[0][:, 0]) > 0)


def test_separated_classes_end():
    """Coefficients stay finite where a threshold or a level tells the outcome."""
    z = np.linspace(-2, 2, 60)
    code = np.arange(60) % 3
    for y in ((z > 0) * 1.0, (code == 1) * 1.0, np.ones(60)):
        fit = fit_mixed_logistic(z, np.ones(60), y, [code], [3], prior=0.5)
        assert np.isfinite(fit.effects[0]).all()
        assert np.isfinite([fit.slope, fit.intercept, *fit.gains, *fit.common]).all()
