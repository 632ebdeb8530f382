"""The one-liner with a method that was asked for; `method="auto"` is tested with `select`."""

from __future__ import annotations

import numpy as np
import pytest

import believable
from believable.errors import InputError
from believable.recalibrate import IsotonicCalibration
from tests.recalibrate.data import binary

QUICK = {"n_resamples": 100}


def test_it_is_judged_by_the_score_that_was_asked_for():
    """A map with an infinite log loss can still be worth its while by the Brier score, and the words say which."""
    p, y = binary(1000)
    by_loss = believable.calibrate(p, y, "isotonic", **QUICK)
    by_brier = believable.calibrate(p, y, IsotonicCalibration(), score="brier", **QUICK)
    assert np.isinf(by_loss.improvement.after["log_loss"].value)
    assert "so its log loss is infinite: leave the scores alone, or judge it by the Brier score" in str(by_loss)
    assert "It lowers the Brier score: the 95 % interval of the gain lies above 0." in str(by_brier)


def test_an_infinite_log_loss_before_is_judged_by_the_brier_score():
    """A method that was asked for is judged by the Brier score where the scores alone have an infinite log loss."""
    p, y = (part.copy() for part in binary(1000))
    p[0], y[0] = 1.0, 0
    result = believable.calibrate(p, y, "platt", **QUICK)
    assert result.improvement.before["log_loss"].value == np.inf
    assert result.improvement.score == "brier"
    assert "It lowers the Brier score: the 95 % interval of the gain lies above 0." in str(result)
    assert result.caveats[0] == (
        "The log loss of the scores as they are is infinite (in 1 row the observed outcome had predicted probability "
        "0), so the Brier score is used instead."
    )


def test_choices_that_would_be_ignored():
    """Scores that do not exist and candidates beside a method are refused."""
    p, y = binary()
    with pytest.raises(InputError, match="score must be one of"):
        believable.calibrate(p, y, "platt", score="nonsense")
    with pytest.raises(InputError, match="candidates are for method='auto'"):
        believable.calibrate(p, y, "platt", candidates=["beta"])


def test_the_map_is_fitted_on_all_rows():
    """What is returned is the method fitted on everything; what is reported is out of fold."""
    p, y = binary()
    result = believable.calibrate(p, y, "beta", **QUICK)
    alone = believable.recalibrate.BetaCalibration().fit(p, y)
    np.testing.assert_array_equal(result.transform(p), alone.transform(p))
    assert (result.improvement.predictions_after.scores != alone.transform(p)).any()


def test_predicted_classes_are_refused():
    """No map is learnt from scores of 0 and 1 only, unless they are raw scores."""
    p, y = [0.0, 1.0] * 100, [0, 1, 1, 0, 0, 1] * 33 + [0, 1]
    said = r"all predictions are 0 or 1: .*pass predict_proba\(X\)\[:, 1\] in place of predict\(X\)"
    for choose in (believable.calibrate, believable.select):
        with pytest.raises(InputError, match=said):
            choose(p, y)
        with pytest.raises(InputError, match=said):
            choose(believable.Predictions(p, y))
    raw = believable.calibrate(p, y, method="platt", input="scores")
    assert raw.transform([0.0, 1.0]) == pytest.approx([np.mean(y[::2]), np.mean(y[1::2])], abs=1e-6)
