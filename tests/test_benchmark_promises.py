"""The benchmark of promised gains runs, and means what it says."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import promises
from benchmarks.promises import Promise


@pytest.mark.parametrize("name", list(promises.POPULATIONS))
def test_a_population_has_true_probabilities(name):
    """They are probabilities, of finite logits, and those of calibrated populations are the scores."""
    population = promises.POPULATIONS[name]
    z = population.logits(np.random.default_rng(0), 1000)
    rate = population.rate(z)
    assert np.isfinite(z).all()
    assert ((rate > 0) & (rate < 1)).all()
    assert np.allclose(rate, promises.sigmoid(z)) == name.startswith("calibrated")


@pytest.mark.parametrize("rule", ["average", "proven"])
def test_a_promise_is_compared_with_the_truth(rule):
    """Over-confident scores gain by being recalibrated, and the interval of one sample contains the true gain."""
    found = promises.promise(0, "over-confident", 300, rule, n_new=2000)
    assert found.recalibrated
    assert found.realised > 0
    assert found.low <= found.realised <= found.high
    assert promises.promise(0, "rare", 50, rule) is None


def test_promises_are_summed_up_over_recalibrated_samples():
    """A sample that was left alone counts only in the share of recalibrated ones."""
    made = [
        Promise(True, 0.03, 0.01, 0.05, 0.02),
        Promise(True, 0.03, 0.025, 0.05, 0.02),
        Promise(False, 0.0, 0.0, 0.0, 0.0),
    ]
    found = promises.kept(made)
    assert found == pytest.approx(
        {
            "recalibrated": 2 / 3,
            "promised": 0.03,
            "realised": 0.02,
            "bias": 0.01,
            "error": 0,
            "covers": 0.5,
            "below": 0,
            "above": 0.5,
        }
    )
    assert promises.kept(made[2:]) == {"recalibrated": 0.0}
    assert "67%" in promises.line("some", 300, found)
    assert promises.line("none", 300, promises.kept(made[2:])).endswith("0%")
