"""Scores as large as floats go, in every recalibrator that takes them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from believable.errors import LimitWarning, SmallSampleWarning
from believable.inference.compare import mean_of_rows
from believable.recalibrate import RECALIBRATORS, calibrate
from believable.recalibrate.inputs import Scores

LARGEST = np.finfo(np.float64).max
ALL = [(cls, input) for cls in RECALIBRATORS.values() for input in cls.inputs if input != "probabilities"]


def some(n_classes, every):
    """Logits with a few huge ones, or nothing else."""
    rng = np.random.default_rng(n_classes)
    z = rng.normal(size=(60, n_classes))
    labels = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    rows = slice(None) if every else slice(0, 4)
    z[rows] = rng.choice([-LARGEST, 1.0, LARGEST], z[rows].shape)
    return z, labels


@pytest.mark.slow
@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("n_classes", [1, 2, 3])
@pytest.mark.parametrize(("cls", "input"), ALL)
def test_probabilities_without_warnings(cls, input, n_classes, every):
    """The largest floats are fitted and mapped to probabilities, and no overflow is heard of."""
    z, labels = some(max(n_classes, 2), every)
    z = z[:, 1] if n_classes == 1 else z
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", LimitWarning)
        warnings.simplefilter("ignore", SmallSampleWarning)
        model = cls(input=input).fit(z, labels)
        for scores in (z, -z):
            p = model.transform(scores)
            assert ((p >= 0) & (p <= 1)).all()
            np.testing.assert_allclose(model.predict_proba(scores).sum(axis=1), 1, atol=1e-12)


def test_differences_beyond_floats():
    """A difference that no float holds becomes the largest one, of its sign."""
    z = np.array([[-LARGEST, LARGEST], [LARGEST, -LARGEST], [0.5, 2.0]])
    np.testing.assert_array_equal(Scores.of(z, "logits").values, [LARGEST, -LARGEST, 1.5])
    three = Scores.of(np.column_stack([z, z[:, 0]]), "logits")
    np.testing.assert_array_equal(three.of_class(1).values[:2], [LARGEST, -LARGEST])


@pytest.mark.parametrize("size", [1e150, 1e300, LARGEST])
def test_gains_over_huge_losses_have_intervals(size):
    """The square of a log loss of 1e300 is infinite, but its standard error is not."""
    rng = np.random.default_rng(0)
    z, y = rng.choice([-size, size], 80), rng.integers(2, size=80)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", LimitWarning)
        found = calibrate(z, y, method="platt", input="logits", random_state=0)
    loss, gain = found.improvement.before["log_loss"], found.improvement.gains["log_loss"]
    assert loss.value == pytest.approx(size * np.mean((z > 0) != y), rel=1e-12)
    assert 0 < loss.low < loss.value < loss.high <= np.inf
    assert 0 < gain.low < gain.value < gain.high <= np.inf


@pytest.mark.parametrize("cluster", [None, np.arange(50) // 5])
def test_errors_of_means_have_the_scale_of_the_values(cluster):
    """Literally, for values that can be squared; a factor carries over to those that cannot."""
    rng = np.random.default_rng(1)
    values, weights = rng.exponential(size=50), rng.random(50) + 0.5
    unit = np.arange(50) if cluster is None else cluster
    left_out = [np.average(values[unit != u], weights=weights[unit != u]) for u in range(unit.max() + 1)]
    n, mean = len(left_out), np.average(values, weights=weights)
    literal = np.sqrt((n - 1) / n * sum((one - mean) ** 2 for one in left_out))
    assert mean_of_rows(values, weights, cluster) == pytest.approx((mean, literal, n - 1), rel=1e-12)
    huge = mean_of_rows(1e300 * values, weights, cluster)
    assert huge == pytest.approx((1e300 * mean, 1e300 * literal, n - 1), rel=1e-12)
