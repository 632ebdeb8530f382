"""Vector scaling against its definition."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from believable.errors import LimitWarning, SchemaError
from believable.recalibrate import MatrixScaling, TemperatureScaling, VectorScaling, load_recalibrator
from tests.recalibrate.data import softmax
from tests.recalibrate.literal_linear import apply, draw, least, mean_cost

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")


def fitted(z, labels, sample_weight=None, **settings):
    return VectorScaling(input="logits", **settings).fit(z, labels, sample_weight=sample_weight)


@pytest.mark.parametrize("penalty", [0, 0.05, 2])
def test_literal_definition(penalty):
    """v and b are where the mean cost with the penalty on b is least."""
    z, labels = draw(80)
    w = np.random.default_rng(1).random(80)

    def cost(c):
        return mean_cost(np.diag(c[:3]), c[3:], z, labels, w) + penalty * np.mean(c[3:] ** 2)

    best = least(cost, 6, np.array([1.0, 1, 1, 0, 0, 0]))
    model = fitted(z, labels, w, penalty=penalty)
    np.testing.assert_allclose(model.scales_, best[:3], atol=2e-5)  # a general minimiser's accuracy
    np.testing.assert_allclose(model.intercepts_, best[3:] - best[3:].mean(), atol=2e-5)
    np.testing.assert_allclose(model.transform(z), apply(np.diag(model.scales_), model.intercepts_, z), atol=1e-14)


def test_refitting_is_the_identity():
    """On its own output logits it finds v = 1, b = 0."""
    z, labels = draw(500, 4)
    first = fitted(z, labels, penalty=0)
    again = fitted(first.scales_ * z + first.intercepts_, labels, penalty=0)
    np.testing.assert_allclose(again.scales_, 1, atol=1e-8)
    np.testing.assert_allclose(again.intercepts_, 0, atol=1e-8)


def test_probabilities_are_taken_by_their_logarithms():
    """Of probabilities z is log p."""
    z, labels = draw(300)
    p = apply(np.eye(3), np.zeros(3), z)
    one = VectorScaling(penalty=0.1).fit(p, labels)
    np.testing.assert_allclose(
        one.transform(p), fitted(np.log(p), labels, penalty=0.1).transform(np.log(p)), atol=1e-10
    )


def test_one_event():
    """Logits of one event give two equal scales and Platt's line; probabilities, slopes for log p and -log(1 - p)."""
    z = np.random.default_rng(0).normal(size=300) * 2
    y = (z + np.random.default_rng(1).logistic(size=300) > 0.4).astype(int)
    model = fitted(z, y, penalty=0)
    peer = LogisticRegression(C=np.inf, solver="newton-cg", tol=1e-10).fit(z[:, None], y)
    assert model.scales_[0] == pytest.approx(model.scales_[1], abs=1e-10)
    assert model.scales_[0] == pytest.approx(peer.coef_[0, 0], abs=1e-7)
    assert 2 * model.intercepts_[1] == pytest.approx(peer.intercept_[0], abs=1e-7)
    p = 1 / (1 + np.exp(-z))
    columns = np.column_stack([-np.log1p(-p), np.log(p)])
    peer = LogisticRegression(C=np.inf, solver="newton-cg", tol=1e-10).fit(columns, y)
    model = VectorScaling(penalty=0).fit(p, y)
    np.testing.assert_allclose(model.predict_proba(p), peer.predict_proba(columns), atol=1e-7)
    np.testing.assert_allclose(model.scales_, peer.coef_[0], atol=1e-5)


def test_strong_penalty_leaves_no_intercepts():
    """Only b is penalised."""
    z, labels = draw(300)
    model = fitted(z, labels, penalty=1e9)
    np.testing.assert_allclose(model.intercepts_, 0, atol=1e-7)
    assert np.abs(model.scales_ - 1).max() > 0.1


def test_no_best_map_is_a_limit():
    """Separated and absent classes take a standard normal prior around the identity, with a sentence."""
    z, labels = draw(200)
    for y, why in ((z.argmax(axis=1), "classes are separated"), (labels % 2, "1 of the classes do not occur in y")):
        for penalty in (0, 1, "auto"):
            with pytest.warns(LimitWarning, match=why):
                model = fitted(z, y, penalty=penalty)
            assert np.abs(model.scales_).max() < 1000
    assert 0 < model.transform(z)[:, 2].mean() < 0.05


def test_many_classes():
    """A hundred and sixty classes, too many for second derivatives, are fitted to the end."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(4000, 160)) * 2
    labels = (0.5 * z + rng.gumbel(size=z.shape)).argmax(axis=1)
    model = fitted(z, labels, penalty=0.1)
    p = model.transform(z)
    residual = p - np.eye(160)[labels]
    np.testing.assert_allclose((residual * z).mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(residual.mean(axis=0) + 2 * 0.1 * model.intercepts_ / 160, 0, atol=1e-9)


@pytest.mark.parametrize("penalty", [0, 0.01, "auto"])
def test_one_masked_logit(penalty):
    """A logit of float32's lowest number, of a class that did not happen, leaves a map that is better than none."""
    z, labels = draw(400)
    z[0, (labels[0] + 1) % 3] = np.finfo(np.float32).min
    model = VectorScaling(input="logits", penalty=penalty).fit(z, labels)
    cost = -np.log(model.transform(z)[np.arange(400), labels]).mean()
    assert cost < -np.log(softmax(z)[np.arange(400), labels]).mean()


def test_saved_numbers_that_cannot_be_multiplied():
    """Entries beyond 1e100 are refused."""
    z, labels = draw(100)
    saved = json.loads(VectorScaling(input="logits", penalty=1).fit(z, labels).to_json())
    saved["maps"][0]["scales"][0] = 1e308
    with pytest.raises(SchemaError, match=r"the saved scales must lie between -1e\+100 and 1e\+100"):
        load_recalibrator(json.dumps(saved))


@pytest.mark.filterwarnings("ignore::believable.errors.LimitWarning")
@pytest.mark.parametrize("cls", [VectorScaling, MatrixScaling])
def test_masks_on_the_true_class(cls):
    """However far away a mask is, a map without penalty is no worse than the best temperature, but for its prior."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        z = rng.normal(size=(400, 2))
        labels = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
        z[rng.random(400) < 0.3, 0] = -1e20
        half = (z[:, 1] - z[:, 0]) / 2
        pair = np.column_stack([-half, half])

        def cost(eta, labels=labels):
            top = eta.max(axis=1, keepdims=True)
            logs = eta - top - np.log(np.exp(eta - top).sum(axis=1, keepdims=True))
            return -logs[np.arange(len(labels)), labels].mean()

        model = cls(input="logits", penalty=0).fit(z, labels)
        weights = np.diag(model.scales_) if cls is VectorScaling else model.weights_
        temperature = TemperatureScaling(input="logits").fit(z, labels).temperature_
        assert cost(pair @ weights.T + model.intercepts_) <= cost(pair / temperature) + 1e-9
