"""Multinomial regression towards the identity, against scikit-learn, finite differences and itself."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from believable._kernels import (
    fit_multinomial,
    log_softmax,
    mapped_softmax,
    multinomial,
    multinomial_cost,
    multinomial_steps,
)
from tests.needs import decided_by_rounding
from tests.recalibrate.literal_linear import apply, draw, mean_cost

SHAPES = pytest.mark.parametrize("diagonal", [False, True], ids=["matrix", "vector"])


def width(n_classes, diagonal):
    return 2 if diagonal else n_classes + 1


def ridges(n_classes, diagonal, seed=0):
    return 0.02 * np.random.default_rng(seed).random((n_classes, width(n_classes, diagonal)))


def identity(n_classes, diagonal):
    return np.column_stack([np.ones(n_classes) if diagonal else np.eye(n_classes), np.zeros(n_classes)])


@SHAPES
def test_derivatives_are_those_of_the_cost(diagonal):
    """Gradient, curvature, curvature times a direction and within classes agree with differences of the cost."""
    z, labels = draw(60)
    w = np.random.default_rng(1).random(60)
    problem = multinomial.MultinomialProblem(z, labels, w / w.sum(), ridges(3, diagonal))
    c = identity(3, diagonal) + 0.3 * np.random.default_rng(2).normal(size=problem.ridge.shape)
    place = problem.at(c, True)
    steps = np.eye(c.size).reshape(-1, *c.shape) * 1e-5
    slope = [(problem.at(c + s, False).cost - problem.at(c - s, False).cost) / 2e-5 for s in steps]
    np.testing.assert_allclose(place.gradient.ravel(), slope, atol=1e-9)
    bend = [(problem.at(c + s, False).gradient - problem.at(c - s, False).gradient).ravel() / 2e-5 for s in steps]
    np.testing.assert_allclose(place.model, bend, atol=1e-8)
    direction = np.random.default_rng(3).normal(size=c.shape)
    np.testing.assert_allclose(
        problem.curvature_times(c, direction).ravel(), place.model @ direction.ravel(), atol=1e-12
    )
    by_class = place.model.reshape(3, c.shape[1], 3, c.shape[1])
    np.testing.assert_allclose(problem.own_curvatures(c), [by_class[k, :, k] for k in range(3)], atol=1e-12)


def test_cost_is_the_literal_one():
    """The cost is the weighted mean of -log softmax(W z + b)[label]."""
    z, labels = draw(50)
    w = np.random.default_rng(1).random(50)
    c = np.random.default_rng(2).normal(size=(3, 4))
    assert multinomial_cost(z, labels, w, c) == pytest.approx(mean_cost(c[:, :-1], c[:, -1], z, labels, w), abs=1e-12)
    np.testing.assert_allclose(mapped_softmax(z, c), apply(c[:, :-1], c[:, -1], z), atol=1e-14)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_no_ridge_is_logistic_regression(n_classes):
    """Without ridges it gives the probabilities of scikit-learn's unpenalised regression, weights and all."""
    z, labels = draw(600, n_classes)
    w = np.random.default_rng(1).random(600)
    c, determined = fit_multinomial(z, labels, w, np.zeros((n_classes, n_classes + 1)))
    peer = LogisticRegression(C=np.inf, solver="newton-cg", tol=1e-10, max_iter=1000).fit(z, labels, sample_weight=w)
    assert determined
    np.testing.assert_allclose(mapped_softmax(z, c), peer.predict_proba(z), atol=1e-8)


@SHAPES
def test_the_nearest_to_the_identity_is_taken(diagonal):
    """Without ridges, what makes no difference to the probabilities is as in the identity."""
    z, labels = draw(300)
    c = fit_multinomial(z, labels, None, np.zeros((3, width(3, diagonal)))).coefficients
    assert c[:, -1].sum() == pytest.approx(0, abs=1e-10)
    if not diagonal:
        np.testing.assert_allclose(c[:, :-1].sum(axis=0), 1, atol=1e-10)
    centred = z - z.mean(axis=1, keepdims=True)
    c = fit_multinomial(centred, labels, None, np.zeros((3, width(3, diagonal)))).coefficients
    if not diagonal:  # rows of zero sum do not see what is added to all weights of a class
        np.testing.assert_allclose((c - identity(3, False))[:, :-1] @ (centred**2).mean(axis=0), 0, atol=1e-10)


@SHAPES
@pytest.mark.parametrize("strength", [0, 1])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_conjugate_gradients_find_the_same(monkeypatch, diagonal, strength, n_classes):
    """Steps from products alone, with either preconditioner, end where exact steps end."""
    z, labels = draw(400, n_classes)
    ridge = strength * ridges(n_classes, diagonal)
    exact = mapped_softmax(z, fit_multinomial(z, labels, None, ridge).coefficients)
    monkeypatch.setattr(multinomial, "MOST_COEFFICIENTS", 0)
    for most in (1 << 22, 0 if not diagonal else 1 << 22):
        monkeypatch.setattr(multinomial_steps, "MOST_CLASS_CURVATURES", most)
        other = fit_multinomial(z, labels, None, ridge)
        assert other.determined
        np.testing.assert_allclose(mapped_softmax(z, other.coefficients), exact, atol=1e-8)


def test_many_classes():
    """Twenty classes, too many for second derivatives, have a gradient of zero at the end."""
    z, labels = draw(3000, 20)
    ridge = np.full((20, 21), 1e-4)
    c, determined = fit_multinomial(z, labels, None, ridge)
    assert determined
    assert np.abs(multinomial.MultinomialProblem(z, labels, None, ridge).at(c, False).gradient).max() < 1e-9


@SHAPES
def test_a_first_fit_on_some_rows_changes_nothing(monkeypatch, diagonal):
    """Where the search starts does not matter."""
    z, labels = draw(4000)
    ridge = np.zeros((3, width(3, diagonal)))
    one = fit_multinomial(z, labels, None, ridge).coefficients
    monkeypatch.setattr(multinomial, "ROWS_PER_COEFFICIENT", 10**6)
    two = fit_multinomial(z, labels, None, ridge).coefficients
    three = fit_multinomial(z, labels, None, ridge, start=np.zeros_like(ridge)).coefficients
    np.testing.assert_allclose(one, two, atol=1e-9)
    np.testing.assert_allclose(one, three, atol=1e-9)


@SHAPES
@pytest.mark.parametrize("most", [300, 0])
@decided_by_rounding
def test_separated_classes_are_noticed(monkeypatch, diagonal, most):
    """Separated in all or in one class, there is no maximum; with ridges there is one."""
    monkeypatch.setattr(multinomial, "MOST_COEFFICIENTS", most)
    z, labels = draw(200)
    shape = (3, width(3, diagonal))
    right = z.argmax(axis=1)
    one_apart = np.where(z[:, 0] > 1, 0, np.maximum(labels, 1))
    for separated in (right, one_apart):
        assert not fit_multinomial(z, separated, None, np.zeros(shape)).determined
        fit = fit_multinomial(z, separated, None, np.full(shape, 1e-3))
        assert fit.determined
        assert np.isfinite(fit.coefficients).all()


def test_log_softmax_is_the_logarithm():
    """It agrees with the logarithm of softmax, and stays finite where that is zero."""
    z, _ = draw(50)
    np.testing.assert_allclose(log_softmax(z), np.log(apply(np.eye(3), np.zeros(3), z)), atol=1e-14)
    far = log_softmax(np.array([[1.7e308, -1.7e308], [1e4, 0]]))
    assert np.isfinite(far).all()
    assert far[1].tolist() == [0, -1e4]
    assert log_softmax(np.array([[0, -1e4]]), lowest=-1e3).tolist() == [[0, -1e3]]
    own = z.copy()
    assert log_softmax(own, in_place=True) is own


@SHAPES
@pytest.mark.parametrize("most", [300, 0])
@pytest.mark.parametrize("strength", [0, 1])
def test_offsets_and_units_of_columns_change_nothing(monkeypatch, diagonal, most, strength):
    """Columns with large offsets have the probabilities of columns without; with ridges, coefficients move with them."""
    monkeypatch.setattr(multinomial, "MOST_COEFFICIENTS", most)
    z, labels = draw(400)
    ridge = np.zeros((3, width(3, diagonal)))
    ridge[:, 0] = strength * 0.02 if diagonal else 0
    if not diagonal:
        ridge[:, :-1] = strength * 0.02
    plain = mapped_softmax(z, fit_multinomial(z, labels, None, ridge).coefficients)
    for offset in (30, 1e3, 1e6):
        moved = z + offset * np.array([1, 2, 3])
        fit = fit_multinomial(moved, labels, None, ridge)
        assert fit.determined
        np.testing.assert_allclose(mapped_softmax(moved, fit.coefficients), plain, atol=1e-7)
    if not strength:
        units = z * [1e-6, 1, 1e6]
        fit = fit_multinomial(units, labels, None, ridge)
        np.testing.assert_allclose(mapped_softmax(units, fit.coefficients), plain, atol=1e-7)


@SHAPES
@pytest.mark.parametrize("strength", [0, 1])
def test_a_frame_changes_no_derivative(diagonal, strength):
    """In coordinates of its own, with offsets and ridges, a problem has the derivatives of its cost."""
    z, labels = draw(60)
    z = z * [1, 3, 0.2] + [5, -4, 2]
    w = np.full(60, 1 / 60)
    ridge = strength * ridges(3, diagonal)
    outside = multinomial.MultinomialProblem(z, labels, w, ridge)
    inside = outside._replace(frame=multinomial_steps.frame_of(z, w))
    c = identity(3, diagonal) + 0.3 * np.random.default_rng(2).normal(size=ridge.shape)
    d = inside.inside(c)
    np.testing.assert_allclose(inside.outside(d), c, atol=1e-12)
    place = inside.at(d, True)
    assert place.cost == pytest.approx(outside.at(c, False).cost, abs=1e-12)
    steps = np.eye(c.size).reshape(-1, *c.shape) * 1e-5
    slope = [(inside.at(d + s, False).cost - inside.at(d - s, False).cost) / 2e-5 for s in steps]
    np.testing.assert_allclose(place.gradient.ravel(), slope, atol=1e-8)
    bend = [(inside.at(d + s, False).gradient - inside.at(d - s, False).gradient).ravel() / 2e-5 for s in steps]
    np.testing.assert_allclose(place.model, bend, atol=1e-7)
    direction = np.random.default_rng(3).normal(size=c.shape)
    np.testing.assert_allclose(
        inside.curvature_times(d, direction).ravel(), place.model @ direction.ravel(), atol=1e-10
    )
    by_class = place.model.reshape(3, c.shape[1], 3, c.shape[1])
    np.testing.assert_allclose(inside.own_curvatures(d), [by_class[k, :, k] for k in range(3)], atol=1e-10)


@SHAPES
@pytest.mark.parametrize("most", [300, 0])
@pytest.mark.parametrize("mask", [-65504.0, -1e9, float(np.finfo(np.float32).min), -1e300])
@pytest.mark.parametrize("share", [0, 0.3, 0.9])
def test_masked_logits_do_not_drown_the_others(monkeypatch, diagonal, most, mask, share):
    """One masked logit, or many in one column or all, of classes that do not happen: no worse than at the start."""
    monkeypatch.setattr(multinomial, "MOST_COEFFICIENTS", most)
    z, labels = draw(400)
    rng = np.random.default_rng(5)
    column = rng.integers(0, 3, 400)
    rows = (column != labels) & ((rng.random(400) < share) if share else (np.arange(400) < 2))
    masked, floored = z.copy(), z.copy()
    masked[rows, column[rows]], floored[rows, column[rows]] = mask, -1e3
    ridge = np.zeros((3, width(3, diagonal)))
    fit = fit_multinomial(masked, labels, None, ridge)
    start = multinomial_cost(masked, labels, None, identity(3, diagonal))
    best = multinomial_cost(floored, labels, None, fit_multinomial(floored, labels, None, ridge).coefficients)
    cost = multinomial_cost(masked, labels, None, fit.coefficients)
    assert cost < start
    if diagonal:
        assert fit.determined
        assert cost == pytest.approx(best, abs=1e-6)
    elif most and share and mask > -1e10:
        assert cost == pytest.approx(best, abs=2e-3)


def test_a_start_that_is_better_is_kept():
    """Where the search ends higher than it began, by rounding, the start is returned and nothing is determined."""
    z, labels = draw(100)
    problem = multinomial.MultinomialProblem(z, labels, None, np.zeros((3, 4)))
    steps = multinomial_steps.Directions(problem, multinomial_steps.frame_of(z, None))
    start = identity(3, False)
    fit = multinomial._rounded(problem, 50 * np.ones((3, 4)) * np.eye(3, 4, 1), steps, start, True)
    assert not fit.determined
    np.testing.assert_array_equal(fit.coefficients, start)


def test_ridges_are_least_among_equal_maps():
    """With ridges, also what makes no difference to probabilities of large logits is at its best."""
    z, labels = draw(300)
    z = log_softmax(1e4 * z)
    ridge = 0.002 * (1 - np.eye(3, 4))
    c = fit_multinomial(z, labels, None, ridge).coefficients
    np.testing.assert_allclose((ridge * (c - identity(3, False))).sum(axis=0), 0, atol=1e-12)
