"""The metrics of an audit have the interval and the floor that they should have."""

from __future__ import annotations

import numpy as np
import pytest

import believable
from believable import audit
from tests.auditing.data import few_metrics

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)


def test_every_error_has_interval_and_floor(binary, matrix):
    """Value, interval and noise floor, for every calibration error of one event and of classes."""
    for found in (binary[-1], matrix[-1]):
        for measured in found.metrics:
            assert measured.low is not None, measured.name
            assert measured.low <= measured.high
            if believable.METRICS[measured.name].power is not None or measured.family == "score":
                assert measured.floor is not None, measured.name


def test_the_expected_score_is_that_of_drawn_outcomes():
    """The Brier score and log loss by chance are means over outcomes drawn at the rates of the scores."""
    p, w = RNG.beta(1, 2, 300), RNG.random(300) + 0.5
    found = audit(p, RNG.random(300) < p, fix=False, sample_weight=w)
    for alias, loss in (("brier", lambda s, t: (s - t) ** 2), ("nll", lambda s, t: -np.log(np.where(t, s, 1 - s)))):
        expected = sum(w[i] * (p[i] * loss(p[i], True) + (1 - p[i]) * loss(p[i], False)) for i in range(300)) / w.sum()
        assert found[alias].floor == pytest.approx(expected, rel=1e-12)
    q = RNG.dirichlet([1, 1, 1], 200)
    y = np.array([RNG.choice(3, p=row) for row in q])
    found = audit(q, y, fix=False)
    brier = np.mean([sum(row[k] * (((row - np.eye(3)[k]) ** 2).sum()) for k in range(3)) for row in q])
    assert found["brier"].floor == pytest.approx(brier, rel=1e-12)
    assert found["nll"].floor == pytest.approx(np.mean(-(q * np.log(q)).sum(axis=1)), rel=1e-12)


def test_errors_too_small_for_a_smooth_floor(monkeypatch):
    """Risks of one in a hundred thousand: the smooth error has no floor, which would take minutes."""
    few_metrics(monkeypatch, "ece", "smece")
    monkeypatch.setattr("believable.auditing.measure.INTERVAL_DRAWS", 100)
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 5e4, 20_000)
    found = audit(p, np.arange(20_000) == 7, fix=False)
    assert found["smece"].value < 1e-4
    assert found["smece"].floor is None
    assert found["ece"].floor is not None
