"""Calibration and refinement: the split of a proper score."""

from __future__ import annotations

import numpy as np
import pytest

import believable
from believable._check import generator
from believable.errors import InputError
from believable.recalibrate import PlattScaling
from believable.recalibrate.crossfit import folds
from tests.recalibrate.data import binary, logit, multiclass


@pytest.mark.parametrize("score", ["log_loss", "brier"])
def test_is_the_loop(score):
    """Calibration is S(p) - S(q), refinement S(q), q recalibrated out of fold."""
    p, y = binary()
    found = believable.refinement(p, y, score=score, method="platt", random_state=5)
    fold = folds(y, None, 5, generator(5))
    q = np.empty_like(p)
    for k in range(5):
        q[fold == k] = PlattScaling().fit(p[fold != k], y[fold != k]).transform(p[fold == k])

    def mean_loss(r):
        total = 0.0
        for one, happened in zip(r, y, strict=True):
            total += (one - happened) ** 2 if score == "brier" else -np.log(one if happened else 1 - one)
        return total / len(y)

    assert found.refinement.value == pytest.approx(mean_loss(q), rel=1e-12)
    assert found.calibration.value == pytest.approx(mean_loss(p) - mean_loss(q), rel=1e-9)
    assert found.score.value == pytest.approx(mean_loss(p), rel=1e-12)
    assert found.share == pytest.approx(found.calibration.value / found.score.value)
    word = {"log_loss": "log loss", "brier": "Brier score"}[score]
    assert str(found).startswith(f"{word} {found.score.value:.4f} = calibration")
    assert str(found).endswith(f"recalibration by Platt scaling removes {100 * found.share:.1f} % of it")


def test_what_recalibration_can_remove():
    """Stretching the logits moves calibration and leaves refinement."""
    p, y = binary(2000)
    z = logit(p)
    plain, stretched = (believable.refinement(c * z, y, input="logits", method="temperature") for c in (1.0, 2.0))
    assert stretched.refinement.value == pytest.approx(plain.refinement.value, abs=1e-9)
    assert stretched.calibration.value > plain.calibration.value


def test_classes_and_defaults():
    """Beta calibration for one event, temperature scaling for classes."""
    assert believable.refinement(*binary()).method == "beta"
    found = believable.refinement(*multiclass())
    assert found.method == "temperature"
    assert found.score.value == pytest.approx(found.calibration.value + found.refinement.value)


def test_refusals():
    """Errors are not proper scores, and scores without a loss have no parts."""
    with pytest.raises(InputError, match="not a proper score"):
        believable.refinement(*binary(), score="ece")
    with pytest.raises(InputError, match="input must be one of"):
        believable.refinement(*binary(), input="scores")


def test_infinite_scores():
    """An infinite score has no share that recalibration removes, and the sentence has no NaN."""
    p, y = (part.copy() for part in binary())
    p[0], y[0] = 0.0, 1
    found = believable.refinement(p, y, method="platt")
    assert found.score.value == np.inf
    assert np.isnan(found.share)
    assert "nan" not in str(found)
    assert "log loss infinite before recalibration by Platt scaling, 0." in str(found)
