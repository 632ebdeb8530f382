"""Ensemble temperature scaling against the literal likelihood, and the two steps of the paper."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.optimize import minimize

from believable import _kernels
from believable.errors import LimitWarning, SchemaError
from believable.recalibrate import EnsembleTemperature, TemperatureScaling, load_recalibrator
from tests.recalibrate.data import binary, multiclass, softmax

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")


def noisy(n, n_classes, scale, flipped, seed):
    """Logits, scale times too large, of labels of which some were then drawn at random."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, n_classes)) * 2
    y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    at_random = rng.random(n) < flipped
    y[at_random] = rng.integers(0, n_classes, at_random.sum())
    return scale * z, y


def mixture(z, t, weights):
    return weights[0] * softmax(z / t) + weights[1] * softmax(z) + weights[2] / z.shape[1]


def loss(z, y, t, weights, w=None):
    return np.average(-np.log(mixture(z, t, weights)[np.arange(len(y)), y]), weights=w)


def best_of_scipy(z, y, w=None):
    """The least loss from several starts, the weights as a softmax."""

    def cost(parameters):
        return loss(z, y, np.exp(parameters[0]), softmax(parameters[None, 1:])[0], w)

    starts = [np.array([np.log(t), *first]) for t in (0.3, 1.5, 5) for first in ((0, 0, 0), (3, 0, 0))]
    bounds = [(-4, 4), (-25, 25), (-25, 25), (-25, 25)]
    return min(minimize(cost, start, method="L-BFGS-B", bounds=bounds).fun for start in starts)


CASES = pytest.mark.parametrize(
    ("scale", "flipped", "seed"), [(3, 0.3, 0), (1, 0.2, 1), (0.5, 0, 2), (2, 0.05, 3), (6, 0.5, 4), (1, 0, 5)]
)


@CASES
@pytest.mark.filterwarnings("ignore:the likelihood still rises")  # where little weight is left for any T
@pytest.mark.parametrize("n_classes", [2, 4])
def test_minimises_the_literal_loss(scale, flipped, seed, n_classes):
    """No start of SciPy's leads to a smaller mean of -log p'[label]; weights of rows count."""
    z, y = noisy(300, n_classes, scale, flipped, seed)
    w = np.random.default_rng(seed).integers(1, 4, len(y)) if seed % 2 else None
    model = EnsembleTemperature(input="logits").fit(z, y, sample_weight=w)
    assert loss(z, y, model.temperature_, model.weights_, w) <= best_of_scipy(z, y, w) + 1e-10
    assert model.weights_.min() >= 0
    assert model.weights_.sum() == pytest.approx(1, abs=1e-15)
    np.testing.assert_allclose(
        model.transform(z), mixture(z, model.temperature_, model.weights_), rtol=1e-9, atol=1e-14
    )


@CASES
@pytest.mark.filterwarnings("ignore:the likelihood still rises")
def test_many_rows(scale, flipped, seed):
    """A search that starts on some of the rows ends at a stationary point of all, not worse than the paper's."""
    z, y = noisy(9000, 3, scale, flipped, seed)
    model = EnsembleTemperature(input="logits").fit(z, y)
    found = loss(z, y, model.temperature_, model.weights_)
    t = TemperatureScaling(input="logits").fit(z, y).temperature_
    own = np.arange(len(y)), y
    parts = np.stack([softmax(z / t)[own], softmax(z)[own], np.full(len(y), 1 / 3)])
    paper = _kernels.part_weights(parts, np.full(len(y), 1 / len(y)))
    assert found <= loss(z, y, t, paper) + 1e-12
    inside = t / 99 < model.temperature_ < 99 * t
    for factor in (1 - 1e-3, 1 + 1e-3) if inside else ():
        assert loss(z, y, factor * model.temperature_, model.weights_) >= found - 1e-14


@pytest.mark.parametrize("seed", range(8))
def test_weights_of_parts(seed):
    """Weights meet the conditions of Karush, Kuhn and Tucker: sum_i part/mixture is 1, or less where a weight is 0."""
    rng = np.random.default_rng(seed)
    parts = rng.random((3, 200)) ** rng.integers(1, 9, (3, 1))
    shares = rng.random(200)
    shares /= shares.sum()
    v = _kernels.part_weights(parts, shares)
    pull = (parts / (v @ parts)) @ shares
    assert v.sum() == pytest.approx(1, abs=1e-14)
    np.testing.assert_allclose(pull[v > 0], 1, atol=1e-9)
    assert pull.max() <= 1 + 1e-9


def test_weights_of_odd_parts():
    """Parts that are equal, or nothing but for a row, or nothing at all, have weights too."""
    shares = np.full(5, 0.2)
    flat, nothing = np.full(5, 0.5), np.full(5, 1e-300)
    one = nothing.copy()
    one[0] = 1
    assert _kernels.part_weights(np.stack([flat, flat, flat]), shares).sum() == pytest.approx(1)
    assert _kernels.part_weights(np.stack([flat, nothing, nothing]), shares).tolist() == [1, 0, 0]
    v = _kernels.part_weights(np.stack([flat, one, nothing]), shares)
    np.testing.assert_allclose(v, [1, 0, 0], atol=1e-12)  # 0.2 of the rows at twice the chance: 0.4 < 1


def test_classes_and_ranking_stay():
    """The order of the classes in a row stays; for one event the order of the rows."""
    p, y = multiclass()
    np.testing.assert_array_equal(np.argsort(EnsembleTemperature().fit(p, y).transform(p)), np.argsort(p))
    p, y = binary()
    np.testing.assert_array_equal(np.argsort(EnsembleTemperature().fit(p, y).transform(p)), np.argsort(p))


def test_row_constants_change_nothing():
    """A constant added to all logits of a row changes nothing."""
    z, y = noisy(400, 4, 2, 0.2, 0)
    moved = z + np.random.default_rng(0).normal(size=(len(z), 1)) * 100
    one, two = (EnsembleTemperature(input="logits").fit(scores, y) for scores in (z, moved))
    np.testing.assert_allclose(two.transform(moved), one.transform(z), atol=1e-9)


def test_all_right_and_equal():
    """Where temperature scaling has a limit by itself, it is that, with the whole weight."""
    z, y = noisy(50, 3, 1, 0, 0)
    for scores, labels, words in ((z, z.argmax(axis=1), "right in every row"), (np.ones_like(z), y, "are equal")):
        with pytest.warns(LimitWarning, match=words):
            model = EnsembleTemperature(input="logits").fit(scores, labels)
        with pytest.warns(LimitWarning, match=words):
            alone = TemperatureScaling(input="logits").fit(scores, labels)
        np.testing.assert_array_equal(model.weights_, [1, 0, 0])
        assert model.temperature_ == alone.temperature_


def test_useless_logits():
    """Where nothing is better than 1/K the answers are nearly that, and the order of the classes stays."""
    z, _ = noisy(300, 3, 1, 0, 0)
    with pytest.warns(LimitWarning, match="do not distinguish the classes"):
        model = EnsembleTemperature(input="logits").fit(z, z.argmin(axis=1))
    np.testing.assert_allclose(model.transform(z), 1 / 3, atol=1e-6)
    np.testing.assert_array_equal(model.predict(z), z.argmax(axis=1))


def test_no_temperature_is_small_enough():
    """Where the largest logit is right equally often however large it is, T goes to the end of its range, and says so."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(2000, 3))
    y = np.where(rng.random(2000) < 0.8, z.argmax(axis=1), rng.integers(0, 3, 2000))
    with pytest.warns(LimitWarning, match="still rises at an end of the range of T"):
        model = EnsembleTemperature(input="logits").fit(z, y)
    assert model.temperature_ == pytest.approx(TemperatureScaling(input="logits").fit(z, y).temperature_ / 100)
    rate = (z.argmax(axis=1) == y).mean()
    assert model.transform(z).max(axis=1).mean() == pytest.approx(
        rate, abs=1e-2
    )  # T stops at the end of its range, short of the limit


def test_saved_weights_must_sum_to_one():
    """Weights that do not sum to 1 are refused when read."""
    p, y = multiclass()
    saved = json.loads(EnsembleTemperature().fit(p, y).to_json())
    saved["maps"][0] |= {"scaled": 0.5, "unscaled": 0.25, "uniform": 0.3}
    with pytest.raises(SchemaError, match="scaled, unscaled and uniform must sum to 1"):
        load_recalibrator(json.dumps(saved))


@pytest.mark.parametrize("seed", [162, 181, 240, 242, 362, 417])
def test_a_minimum_next_to_one(seed):
    """A best T near to 1 is found, where the scaled part and the unscaled one are nearly the same."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(40, 3)) * 3
    y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    at_random = rng.random(40) < 0.1
    y[at_random] = rng.integers(0, 3, at_random.sum())
    p = EnsembleTemperature(input="logits").fit(z, y).transform(z)
    cost = -np.log(p[np.arange(40), y]).mean()
    for t in np.exp(np.linspace(-0.3, 0.3, 13)):
        for c in np.linspace(0, 0.2, 11):
            q = (1 - c) * softmax(z / t) + c / 3
            assert cost <= -np.log(q[np.arange(40), y]).mean() + 1e-9


def test_hopeless_rows_do_not_hide_the_rest():
    """Where some labels are masked, temperature scaling is driven far away, and the mixture is found all the same."""
    rng = np.random.default_rng(0)
    n, n_classes = 2000, 3
    z = rng.normal(size=(n, n_classes))
    labels = (9 * z + rng.gumbel(size=z.shape)).argmax(axis=1)
    z[rng.random((n, n_classes)) < 0.1] = -1e4
    p = EnsembleTemperature(input="logits").fit(z, labels).predict_proba(z)
    sharp = np.exp((z - z.max(axis=1, keepdims=True)) / 0.1)
    by_hand = 0.8 * sharp / sharp.sum(axis=1, keepdims=True) + 0.2 / n_classes
    rows = np.arange(n)
    assert -np.log(p[rows, labels]).mean() < -np.log(by_hand[rows, labels]).mean()
