"""Before and after recalibration: two diagrams, and what was gained."""

from __future__ import annotations

import numpy as np
import pytest

import believable
from believable import expected_calibration_error, plot_improvement
from believable.errors import InputError
from tests.recalibrate.data import binary, logit, multiclass

QUICK = {"n_resamples": 100}


def test_before_and_after():
    """The diagrams are of the scores as they were and of the cross-fitted ones, with the gains above."""
    p, y = binary(1000)
    result = believable.calibrate(p, y, "platt", **QUICK)
    figure = plot_improvement(result, 15)
    titles = [ax.get_title("left") for ax in figure.axes[:2]]
    assert titles[0].startswith(f"Before\nECE {expected_calibration_error(p, y, 15):.3f}")
    after = result.improvement.predictions_after
    assert titles[1].startswith(f"After (platt)\nECE {expected_calibration_error(after, n_bins=15):.3f}")
    gain = result.improvement.gains["log_loss"]
    words = figure.get_suptitle()
    assert f"improved by {gain.value:+.4f}, 95 % interval {gain.low:+.4f} … {gain.high:+.4f}" in words
    assert "smECE" in words


def test_improvement_alone_and_classes(tmp_path):
    """An improvement is drawn without its method's name; of several classes the confidence, or another notion."""
    p, labels = multiclass()
    result = believable.calibrate(p, labels, "temperature", **QUICK)
    figure = plot_improvement(result.improvement, notion="rth", r=2, title="second guess", save_path=tmp_path / "a.svg")
    assert figure.axes[1].get_title("left").startswith("After\n")
    assert figure.get_suptitle().startswith("second guess\n")
    assert (tmp_path / "a.svg").stat().st_size > 1000


@pytest.mark.slow
def test_raw_scores_and_infinite_losses():
    """What cannot be compared is left out of the title: no error of a base rate, no infinite gain."""
    p, y = (part.copy() for part in binary(500))
    raw = plot_improvement(believable.calibrate(10 * logit(p), y, "platt", input="scores", **QUICK))
    assert raw.axes[0].get_title("left").startswith("Base rate")
    assert "smECE" not in raw.get_suptitle()
    p[0], y[0] = 0, 1
    infinite = plot_improvement(believable.calibrate(p, y, "platt", **QUICK)).get_suptitle()
    assert infinite.startswith("log loss inf → ")
    assert "nan" not in infinite
    assert "improved" not in infinite.splitlines()[0]


def test_refusals():
    """Anything else is refused by name."""
    with pytest.raises(InputError, match=r"takes what believable\.calibrate returns, got a ndarray"):
        plot_improvement(np.zeros(3))
