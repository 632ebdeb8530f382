"""Curve less score, against the score."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_rgb

import believable
from believable.plots.style import TOO_HIGH, TOO_LOW
from tests.plots.data import DIFFICULT, P, W, Y
from tests.plots.drawn import band, legend, line, nothing_is_cut, title


@pytest.mark.parametrize("method", ["local", "kernel", "logistic"])
def test_gap_and_band_are_the_curve_less_the_score(method):
    """What `plot_smoothed_calibration` draws, less the diagonal, with the same title."""
    ax = believable.plot_miscalibration(P, Y, method=method, sample_weight=W).axes[0]
    flat = believable.plot_smoothed_calibration(P, Y, method=method, sample_weight=W).axes[0]
    words = flat.lines[0].get_label()
    x, y = line(flat, words)
    assert np.allclose(line(ax, f"{words} minus score"), [x, y - x])
    at, low, high = band(flat, "confidence band")
    assert np.allclose(band(ax, "confidence band"), [at, low - at, high - at])
    assert ax.get_title("left") == flat.get_title("left")
    assert list(line(ax, "Perfect")[1]) == [0, 0]


def test_colours_say_which_way():
    """Red where scores are too high, blue where they are too low, pale where the band holds zero."""
    high, low = (believable.plot_miscalibration(p, Y).axes[0] for p in (np.sqrt(P), P**4))
    assert "Over-predicts" in legend(high)
    assert "Under-predicts" in legend(low)
    for ax, words, colour in ((high, "Over-predicts", TOO_HIGH), (low, "Under-predicts", TOO_LOW)):
        area = next(one for one in ax.collections if one.get_label() == words)
        assert np.allclose(area.get_facecolor()[0, :3], to_rgb(colour))
        assert area.get_alpha() == 0.5
    few = believable.plot_miscalibration([0.3] * 10, [1] * 4 + [0] * 6).axes[0]
    assert [one.get_alpha() for one in few.collections if "predicts" in str(one.get_label())] == [0.25]


def test_the_frame_holds_curve_and_zero():
    """The whole curve and the zero line are inside the frame."""
    for name, data in DIFFICULT.items():
        ax = believable.plot_miscalibration(data).axes[0]
        _, gap = line(ax, "Smoothed")
        low, high = ax.get_ylim()
        assert low < min(gap.min(), 0), name
        assert high > max(gap.max(), 0), name


@pytest.mark.parametrize("name", DIFFICULT)
def test_difficult_data_are_drawn(name):
    """Few rows, heaped, rare and certain scores give a picture with no words cut."""
    figure = believable.plot_miscalibration(DIFFICULT[name], title="mine")
    assert nothing_is_cut(figure)
    assert title(figure).startswith("mine\nICI")


def test_the_histogram_can_be_left_out(tmp_path):
    """And the picture is saved where asked."""
    path = tmp_path / "gap.svg"
    figure = believable.plot_miscalibration(P, Y, path, False)
    assert not figure.axes[0].child_axes
    assert path.stat().st_size > 5000
