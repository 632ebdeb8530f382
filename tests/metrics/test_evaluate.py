"""`evaluate`: every metric that the input allows, and why not the others."""

from __future__ import annotations

import numpy as np
import pytest

from believable import METRICS, Predictions, evaluate, expected_calibration_error
from believable.errors import InputError

RNG = np.random.default_rng(0)
P = RNG.random(300)
Y = (RNG.random(300) < P).astype(int)
MATRIX = RNG.dirichlet(np.ones(4), 300)
LABELS = RNG.integers(0, 4, 300)


def test_everything_is_given_or_explained():
    """Each metric of the table is in the values or among the skipped, for every kind of input."""
    for data in (Predictions(P, Y), Predictions(MATRIX, LABELS), Predictions(MATRIX, MATRIX > 0.3, multilabel=True)):
        result = evaluate(data)
        assert set(result) | set(result.skipped) == set(METRICS)
        assert not set(result) & set(result.skipped)
        for name, value in result.items():
            assert value == float(METRICS[name].function(data))


def test_names_and_aliases():
    """Metrics are asked for by name or alias, and read by either."""
    result = evaluate(P, Y, ["ece", "brier_score"], n_bins=15)
    assert list(result) == ["expected_calibration_error", "brier_score"]
    assert result["ece"] == result["expected_calibration_error"] == expected_calibration_error(P, Y, 15)
    assert result.n_bins == 15
    assert result.notion == "binary"
    assert len(evaluate(P, Y, "auc")) == 1
    assert "foo" not in result
    assert result.get("foo") is None
    with pytest.raises(InputError, match=r"there is no metric 'eec' .did you mean ece.*; choose from accuracy"):
        evaluate(P, Y, ["eec"])


def test_notion_is_stated_and_passed_on():
    """A matrix is judged by confidence unless another notion is asked for."""
    assert evaluate(MATRIX, LABELS).notion == "confidence"
    asked = evaluate(MATRIX, LABELS, ["ece"], notion="classwise")
    assert asked["ece"] == expected_calibration_error(MATRIX, LABELS, notion="classwise")


def test_what_is_undefined_is_skipped_with_its_reason():
    """One class only: no AUC, no skill; the rest is there."""
    result = evaluate([0.1, 0.2, 0.7], [0, 0, 0])
    assert "needs positives and negatives" in result.skipped["auc"]
    assert "more than one outcome" in result.skipped["brier_skill_score"]
    assert "these are binary" in result.skipped["static_calibration_error"]
    with pytest.raises(KeyError, match="auc was skipped: the AUC needs"):
        result["auc"]
    assert "auc: skipped, the AUC needs" in repr(result)
