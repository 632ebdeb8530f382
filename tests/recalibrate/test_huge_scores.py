"""Scores as large as floats go, in every recalibrator that takes them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from believable.errors import LimitWarning, SmallSampleWarning
from believable.recalibrate import RECALIBRATORS
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
