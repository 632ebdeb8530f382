"""Dirichlet calibration against its definition, logistic regression and beta calibration."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from believable.errors import LimitWarning
from believable.recalibrate import DirichletCalibration
from tests.recalibrate.data import softmax
from tests.recalibrate.literal_linear import apply, draw, least, mean_cost, odir

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")


def test_literal_definition():
    """W and b are where the mean cost of softmax(W log p + b) with ODIR is least."""
    z, labels = draw(80)
    p = softmax(z)
    w = np.random.default_rng(1).random(80)

    def cost(c):
        weights, intercepts = c[:9].reshape(3, 3), c[9:]
        return mean_cost(weights, intercepts, np.log(p), labels, w) + 0.1 * odir(weights, intercepts)

    best = least(cost, 12, np.append(np.eye(3).ravel(), np.zeros(3)))
    model = DirichletCalibration(penalty=0.1).fit(p, labels, sample_weight=w)
    np.testing.assert_allclose(model.weights_.ravel(), best[:9], atol=2e-5)  # a general minimiser's accuracy
    np.testing.assert_allclose(model.intercepts_, best[9:], atol=2e-5)
    np.testing.assert_allclose(model.transform(p), apply(model.weights_, model.intercepts_, np.log(p)), atol=1e-13)


def test_no_penalty_is_logistic_regression():
    """Without penalty it is scikit-learn's multinomial regression on log p."""
    z, labels = draw(600, 4)
    p = softmax(z)
    peer = LogisticRegression(C=np.inf, solver="newton-cg", tol=1e-10, max_iter=1000).fit(np.log(p), labels)
    model = DirichletCalibration(penalty=0).fit(p, labels)
    np.testing.assert_allclose(model.transform(p), peer.predict_proba(np.log(p)), atol=1e-8)


def test_one_event_is_beta_calibration_of_any_slope():
    """For one event it is the logistic regression on log p and -log(1 - p)."""
    rng = np.random.default_rng(0)
    p = rng.beta(0.7, 1.3, size=400)
    y = (rng.random(400) < p**1.5).astype(int)
    columns = np.column_stack([np.log(p), -np.log1p(-p)])
    peer = LogisticRegression(C=np.inf, solver="newton-cg", tol=1e-10, max_iter=1000).fit(columns, y)
    model = DirichletCalibration(penalty=0).fit(p, y)
    np.testing.assert_allclose(model.predict_proba(p), peer.predict_proba(columns), atol=1e-7)


def test_logits_and_probabilities_agree():
    """Logits stand for log softmax(z), whatever is added to their rows; so they choose the same strength."""
    z, labels = draw(200)
    shift = 100 * np.random.default_rng(1).normal(size=(200, 1))
    one = DirichletCalibration().fit(softmax(z), labels)
    two = DirichletCalibration(input="logits").fit(z + shift, labels)
    assert one.penalty_ == two.penalty_
    np.testing.assert_allclose(one.transform(softmax(z)), two.transform(z + shift), atol=1e-9)


def test_given_arrays_are_left_alone():
    """Neither logits nor probabilities are written to."""
    z, labels = draw(100)
    for X, kind in ((z, "logits"), (softmax(z), "probabilities")):
        given = X.copy()
        DirichletCalibration(input=kind, penalty=1).fit(X, labels).transform(X)
        np.testing.assert_array_equal(X, given)


def test_zeros():
    """Probabilities of zero count as 1e-12."""
    z, labels = draw(200)
    p = softmax(z)
    p[p < 0.05] = 0
    p /= p.sum(axis=1, keepdims=True)
    out = DirichletCalibration(penalty=0.01).fit(p, labels).transform(p)
    assert np.isfinite(out).all()
    clipped = np.maximum(p, 1e-12)
    same = DirichletCalibration(penalty=0.01, input="logits").fit(np.log(clipped), labels).transform(np.log(clipped))
    np.testing.assert_allclose(out, same, atol=1e-9)


def test_absent_class():
    """A class that does not occur becomes improbable, about 1/n, with a sentence."""
    z, labels = draw(300, 4)
    rows = labels != 2
    with pytest.warns(LimitWarning, match="1 of the classes do not occur in y, so no map has the largest likelihood"):
        model = DirichletCalibration(penalty=0).fit(softmax(z[rows]), labels[rows])
    assert 0.1 / rows.sum() < model.transform(softmax(z))[:, 2].mean() < 10 / rows.sum()


def test_few_rows():
    """Two rows choose a strength and give a finite map."""
    with pytest.warns(LimitWarning):
        model = DirichletCalibration().fit(softmax(np.eye(3)[[0, 1]]), [0, 1])
    assert np.isfinite(model.weights_).all()


@pytest.mark.parametrize("mask", [-2e5, -1e9, -3e38, -1e300])
def test_masked_logits_are_zeros(mask):
    """Masked logits of any size are one and the same, to be fitted and to be mapped, and leave a good map."""
    z, labels = draw(400)
    z[:60][np.arange(60), (labels[:60] + 1) % 3] = -1e12
    reference = DirichletCalibration(input="logits", penalty=0.1).fit(z, labels)
    np.testing.assert_array_equal(reference.transform(np.maximum(z, mask)), reference.transform(z))
    other = DirichletCalibration(input="logits", penalty=0.1).fit(np.maximum(z, mask), labels)
    np.testing.assert_allclose(other.transform(z), reference.transform(z), atol=1e-9)
    cost = [-np.log(p[np.arange(400), labels]).mean() for p in (other.transform(z), softmax(z))]
    assert cost[0] < cost[1]


def test_nearly_uniform_probabilities():
    """Logits however small have nearly the same map: what they tell is not taken for rounding."""
    z, labels = draw(400)
    one, two = (
        DirichletCalibration(input="logits", penalty=1e-9).fit(z * scale, labels).transform(z * scale)
        for scale in (1e-5, 1e-7)
    )
    cost = [-np.log(p[np.arange(400), labels]).mean() for p in (one, two)]
    assert cost[0] == pytest.approx(cost[1], abs=5e-3)
    assert cost[1] < -np.log(softmax(z)[np.arange(400), labels]).mean()
