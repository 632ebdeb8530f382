"""The picture of calibration over time."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

import believable
from believable.errors import InputError, UndefinedError
from believable.plots.style import FLAG
from believable.streams import History, Window
from tests.plots.drawn import legend, line, nothing_is_cut, title


def made(n=6, ends=None, rang=4, flagged=3):
    """Windows whose error grows."""
    ends = [500 * (k + 1) for k in range(n)] if ends is None else ends
    windows = [
        Window(
            None,
            end,
            500,
            0.5,
            0.5,
            0.02 + 0.01 * k,
            0.01 * k,
            0.03 + 0.01 * k,
            0.02,
            0.5,
            k >= flagged,
            1.0,
            k >= rang,
        )
        for k, end in enumerate(ends)
    ]
    return History(tuple(windows), 10, "binary", 0.95, 0.01)


def test_what_is_drawn_is_what_was_found():
    """Values, intervals, chance and the first alarm stand at the end of each window."""
    history = made()
    ax = believable.plot_calibration_over_time(history).axes[0]
    at, values = line(ax, "Observed value")
    assert at.tolist() == [one.end for one in history]
    assert np.allclose(values, [one.value for one in history])
    assert np.allclose(line(ax, "Noise floor")[1], 0.02)
    assert line(ax, "Alarm")[0].tolist() == [2500, 2500]
    drawn = {segment[0, 0]: segment[:, 1] for part in ax.collections for segment in part.get_segments()}
    assert np.allclose([drawn[one.end] for one in history], [(one.low, one.high) for one in history])
    colours = {part.get_label(): part.get_color()[0] for part in ax.collections}
    assert np.allclose(colours["95 % interval: flagged"], to_rgba(FLAG))
    assert ax.get_ylabel() == "ECE (binary, 10 bins)"


def test_the_title_says_what_there_is():
    """How many windows are off, and when the alarm rang."""
    words = title(believable.plot_calibration_over_time(made(), title="mine"))
    assert words == (
        "mine\n3 of 6 windows are flagged as miscalibrated\nAlarm in the window that ends 2,500 (false-alarm rate 0.01)"
    )
    quiet = believable.plot_calibration_over_time(made(rang=9, flagged=9))
    assert title(quiet).startswith("None of 6 windows is flagged as miscalibrated\nNo alarm")
    assert legend(quiet.axes[0]) == ["95 % interval", "Observed value", "Noise floor, mean"]


DAYS = [datetime(2026, 3, 1) + timedelta(days=k) for k in range(40)]


@pytest.mark.parametrize(
    "ends", [None, DAYS, DAYS[:1], [0.5 * k for k in range(200)], [10**9 * k for k in range(9)]], ids=range(5)
)
def test_nothing_is_cut(ends, tmp_path):
    """Rows, days, numbers; one window and many."""
    figure = believable.plot_calibration_over_time(made(ends=ends, rang=0), tmp_path / "a.png")
    assert nothing_is_cut(figure)
    assert (tmp_path / "a.png").exists()


def test_a_monitor_is_enough():
    """It draws its history; where there is none yet, or something else is passed, the error says so."""
    monitor = believable.CalibrationMonitor(2, n_resamples=100)
    with pytest.raises(UndefinedError, match="no window is complete"):
        believable.plot_calibration_over_time(monitor)
    monitor.update([0.2, 0.7], [0, 1])
    assert "of 1 windows" in title(believable.plot_calibration_over_time(monitor))
    with pytest.raises(InputError, match="got a list"):
        believable.plot_calibration_over_time([0.2])


def test_a_given_ax_is_used():
    """Its figure comes back, and the ax beside it stays empty."""
    figure = Figure(layout="constrained")
    left, right = figure.subplots(1, 2)
    assert believable.plot_calibration_over_time(made(), ax=left) is figure
    assert left.has_data()
    assert not right.has_data()
