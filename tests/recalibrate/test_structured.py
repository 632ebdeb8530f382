"""Structured scaling against its definition, and between temperature and matrix scaling."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

from believable.errors import InputError, LimitWarning, SchemaError
from believable.recalibrate import DirichletCalibration, StructuredScaling, TemperatureScaling, load_recalibrator
from tests.recalibrate.data import softmax
from tests.recalibrate.literal_linear import apply, draw, least, mean_cost

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")


def mixed_logs(p, temperature, n):
    """log q, with q = (1 - e) softmax(log p / T) + e / K, row by row."""
    rows = []
    for row in p:
        power = row ** (1 / temperature)
        rows.append(np.log(n / (n + 1) * power / power.sum() + 1 / (n + 1) / len(row)))
    return np.array(rows)


@pytest.mark.parametrize("structure", ["matrix", "vector"])
@pytest.mark.parametrize(("penalty", "weight"), [(0.3, 1.5), (1, 1.5), (1, 3)])
def test_literal_definition(structure, penalty, weight):
    """T is the best temperature, and M and b are where the cost with the three penalties is least."""
    z, labels = draw(80)
    p = softmax(z)
    w = weight * np.random.default_rng(1).random(80)
    n = w.sum()
    temperature = TemperatureScaling().fit(p, labels, sample_weight=w).temperature_
    x = mixed_logs(p, temperature, max(n, 80))
    off = 1 - np.eye(3) if structure == "matrix" else np.zeros((3, 3))

    def split(c):
        return np.diag(c[:3]) + off * c[6:].reshape(3, 3), c[3:6]

    def cost(c):
        m, b = split(c)
        group = 3 * np.sum((m.diagonal() - 1) ** 2) + 3 * np.sum(b**2) + 6 * np.sum((off * m) ** 2)
        return mean_cost(m, b, x, labels, w) + penalty / n * group

    m, b = split(least(cost, 15, np.append(np.ones(3), np.zeros(12))))
    model = StructuredScaling(structure=structure, penalty=penalty).fit(p, labels, sample_weight=w)
    assert model.temperature_ == pytest.approx(temperature, rel=1e-9)
    np.testing.assert_allclose(model.weights_, m, atol=2e-5)  # a general minimiser's accuracy
    np.testing.assert_allclose(model.intercepts_, b, atol=2e-5)
    np.testing.assert_allclose(model.transform(p), apply(model.weights_, model.intercepts_, x), atol=1e-12)


def test_between_temperature_and_dirichlet():
    """A huge penalty is temperature scaling, none is Dirichlet calibration without penalty, both of mixed scores."""
    z, labels = draw(300)
    p = softmax(z)
    temperature = TemperatureScaling().fit(p, labels)
    strong = StructuredScaling(penalty=1e9).fit(p, labels).transform(p)
    np.testing.assert_allclose(strong, 300 / 301 * temperature.transform(p) + 1 / 301 / 3, atol=1e-6)
    q = np.exp(mixed_logs(p, temperature.temperature_, 300))
    none = StructuredScaling(penalty=0).fit(p, labels).transform(p)
    np.testing.assert_allclose(none, DirichletCalibration(penalty=0).fit(q, labels).transform(q), atol=1e-8)


def test_labels_of_probability_zero():
    """A row whose label had probability 0 costs a few log n at most, and does not ruin the map of the others."""
    z, labels = draw(500)
    p = softmax(z)
    p[:5] = np.eye(3)[(labels[:5] + 1) % 3]
    out = StructuredScaling().fit(p, labels).transform(p)
    own = -np.log(out[np.arange(500), labels])
    assert own[:5].max() < 2 * np.log(500)
    assert own[5:].mean() < -np.log(softmax(z)[np.arange(500), labels]).mean()


def test_maps_saved_without_mixing():
    """A map that has neither temperature nor mixing is softmax(W log p + b)."""
    z, labels = draw(100)
    model = StructuredScaling(input="logits").fit(z, labels)
    saved = json.loads(model.to_json())
    for name in ("temperature", "mixing"):
        del saved["maps"][0][name]
    loaded = load_recalibrator(json.dumps(saved))
    assert loaded.temperature_ == 1
    expected = apply(model.weights_, model.intercepts_, np.log(softmax(z)))
    np.testing.assert_allclose(loaded.transform(z), expected, atol=1e-12)
    del saved["maps"][0]["weights"]
    with pytest.raises(SchemaError, match="a map of StructuredScaling has the fields"):
        load_recalibrator(json.dumps(saved))


def simulated(n, seed, wrong):
    """Logits of ten classes with a wrong temperature, and a wrong matrix if asked for; true probabilities."""
    rng = np.random.default_rng(seed)
    z = 1.5 * rng.normal(size=(n, 10))
    z[np.arange(n), rng.integers(0, 10, n)] += 3
    matrix = np.random.default_rng(5)
    m = 0.5 * np.eye(10) + wrong * 0.08 * matrix.normal(size=(10, 10))
    true = softmax(np.log(softmax(z)) @ m.T + wrong * 0.4 * matrix.normal(size=10))
    return z, (np.log(true) + rng.gumbel(size=z.shape)).argmax(axis=1), true


def regret(model, n, wrong):
    z, labels, _ = simulated(n, 0, wrong)
    new, _, true = simulated(5000, 1, wrong)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        p = model.fit(z, labels).transform(new)
    return np.sum(true * (np.log(true) - np.log(p)), axis=1).mean()


@pytest.mark.parametrize("n", [200, 500])
def test_few_rows_are_nearly_temperature_scaling(n):
    """Where a temperature is all that is wrong, it costs little more, and far less than no penalty."""
    ours = regret(StructuredScaling(input="logits"), n, 0)
    assert ours < regret(TemperatureScaling(input="logits"), n, 0) + 0.04
    assert ours < regret(DirichletCalibration(input="logits", penalty=0), n, 0) / 3


def test_many_rows_are_nearly_matrix_scaling():
    """Where the whole matrix is wrong and rows are many, it costs nearly what no penalty costs."""
    ours = regret(StructuredScaling(input="logits"), 20_000, 1)
    # Mixing bounds log p from below, so that a map that is truly linear in log p costs 0.0025 more than without it.
    assert ours < regret(DirichletCalibration(input="logits", penalty=0), 20_000, 1) + 0.004
    assert ours < regret(TemperatureScaling(input="logits"), 20_000, 1) / 10


def test_logits_and_probabilities_agree():
    """Logits stand for log softmax(z), whatever is added to their rows."""
    z, labels = draw(200)
    shift = 100 * np.random.default_rng(1).normal(size=(200, 1))
    one = StructuredScaling().fit(softmax(z), labels).transform(softmax(z))
    np.testing.assert_allclose(
        one, StructuredScaling(input="logits").fit(z + shift, labels).transform(z + shift), atol=1e-9
    )


def test_absent_class_is_no_limit():
    """A class that does not occur has a map, and small probabilities, without a warning."""
    z, labels = draw(300, 4)
    rows = labels != 2
    model = StructuredScaling(input="logits").fit(z[rows], labels[rows])
    p = model.transform(z)[:, 2]
    assert 0 < p.mean() < softmax(z)[:, 2].mean() / 2


def test_no_best_temperature():
    """Logits that are all right, or useless, are shrunk to T = 1, with a sentence."""
    z, _ = draw(200)
    with pytest.warns(LimitWarning, match="no temperature is best, so T = 1 was used"):
        model = StructuredScaling(input="logits", penalty=1e9).fit(z, z.argmax(axis=1))
    np.testing.assert_allclose(model.weights_, np.eye(3), atol=1e-6)
    with pytest.warns(LimitWarning, match="no temperature is best"):
        model = StructuredScaling(input="logits").fit(z, z.argmin(axis=1))
    assert np.isfinite(model.weights_).all()


def test_bad_settings():
    """An unknown structure and a negative penalty are sentences."""
    z, labels = draw(50)
    with pytest.raises(InputError, match="structure must be one of 'matrix', 'vector'"):
        StructuredScaling(input="logits", structure="tensor").fit(z, labels)
    with pytest.raises(InputError, match="penalty must be a number from 0 to inf"):
        StructuredScaling(input="logits", penalty=-1).fit(z, labels)


@pytest.mark.parametrize("mask", [-2e5, -1e9, -3e38, -1e300])
def test_masked_logits_are_zeros(mask):
    """Masked logits of any size are one and the same, to be fitted and to be mapped, and leave a good map."""
    z, labels = draw(400)
    z[:60][np.arange(60), (labels[:60] + 1) % 3] = -1e12
    reference = StructuredScaling(input="logits", penalty=0.1).fit(z, labels)
    np.testing.assert_array_equal(reference.transform(np.maximum(z, mask)), reference.transform(z))
    other = StructuredScaling(input="logits", penalty=0.1).fit(np.maximum(z, mask), labels)
    np.testing.assert_allclose(other.transform(z), reference.transform(z), atol=1e-9)
    cost = [-np.log(p[np.arange(400), labels]).mean() for p in (other.transform(z), softmax(z))]
    assert cost[0] < cost[1]


def test_nearly_uniform_probabilities():
    """Logits however small have nearly the same map: what they tell is not taken for rounding."""
    z, labels = draw(400)
    one, two = (
        StructuredScaling(input="logits", penalty=1e-9).fit(z * scale, labels).transform(z * scale)
        for scale in (1e-5, 1e-7)
    )
    cost = [-np.log(p[np.arange(400), labels]).mean() for p in (one, two)]
    assert cost[0] == pytest.approx(cost[1], abs=5e-3)
    assert cost[1] < -np.log(softmax(z)[np.arange(400), labels]).mean()
