"""Linear maps of all logits without a penalty, on tiny and separable data: one map whatever the order of the rows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from believable.errors import LimitWarning
from believable.recalibrate import DirichletCalibration, MatrixScaling, VectorScaling

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")


# Some of the seeds at which the order of rows, or weights in place of repetitions, once decided whether classes counted
# as separated; and a few more.
SEEDS = [90, 261, 313, 381, 409, 450, 457, 604, 0, 1, 2, 5]


def tiny(seed):
    """Draw a few rows: round, extreme or equal scores, labels with or without errors, classes that are absent."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    n = int(rng.integers(2, 13)) if rng.random() < 0.5 else int(rng.integers(2, 31))
    kind = int(rng.integers(0, 6))
    if kind == 0:
        z = rng.choice([0, 0.1, 0.5, 0.9, 1.0], size=(n, k))
        z[z.sum(axis=1) == 0] = 1
    elif kind in (1, 2, 4):
        z = rng.dirichlet(np.full(k, {1: 0.1, 2: 0.01, 4: 1}[kind]), size=n)
        if kind == 4:
            z[:, 0] = z[:, 1]
    elif kind == 3:
        z = rng.integers(1, 4, size=(n, k)).astype(float)
    else:
        z = rng.normal(size=(n, k)) * 10.0 ** rng.integers(-3, 4)
    if kind != 5:
        z /= z.sum(axis=1, keepdims=True)
    labels = z.argmax(axis=1) if rng.random() < 0.3 else rng.integers(0, k, size=n)
    if len(np.unique(labels)) < 2:
        labels[:2] = 0, 1
    if rng.random() < 0.5 and n >= k:
        labels[:k] = np.arange(k)
    times = rng.integers(0, 4, size=n)
    first = labels == labels[0]
    times[first] = np.maximum(times[first], 1)
    if rng.random() < 0.6:
        times[~first] = np.maximum(times[~first], 1)
    new = rng.normal(size=(40, k)) * 3
    if kind != 5:
        new = np.exp(new)
        new /= new.sum(axis=1, keepdims=True)
    return "logits" if kind == 5 else "probabilities", z, labels, times, rng.permutation(n), new


def fitted(model, new, *rows):
    """Return predictions for new rows, and whether a limit was used; any warning of NumPy is an error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("error", RuntimeWarning)
        p = model.fit(*rows).predict_proba(new)
    return p, any(each.category is LimitWarning for each in caught)


@pytest.mark.parametrize("cls", [MatrixScaling, VectorScaling, DirichletCalibration])
@pytest.mark.parametrize("seed", SEEDS)
def test_order_and_weights(cls, seed):
    """Neither the order of rows nor weights in place of repetitions change the map, or whether it is a limit."""
    scale, z, labels, times, order, new = tiny(seed)
    model = cls(input=scale, penalty=0)
    first, limit = fitted(model, new, z, labels)
    again, limit_again = fitted(model, new, z[order], labels[order])
    repeated, limit_of_repeated = fitted(model, new, np.repeat(z, times, axis=0), np.repeat(labels, times))
    weighted, limit_of_weighted = fitted(model, new, z, labels, times)
    assert (limit_again, limit_of_weighted) == (limit, limit_of_repeated)
    np.testing.assert_allclose(again, first, atol=1e-7)
    np.testing.assert_allclose(weighted, repeated, atol=1e-7)


@pytest.mark.parametrize("cls", [MatrixScaling, VectorScaling, DirichletCalibration])
@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e200])
def test_no_warnings_of_numpy(cls, size):
    """Logits whose squares are no floats neither divide by zero nor overflow."""
    z = np.random.default_rng(0).normal(size=(12, 3)) * size
    p, _ = fitted(cls(input="logits", penalty=0), z, z, np.arange(12) % 3)
    assert np.isfinite(p).all()
