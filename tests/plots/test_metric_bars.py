"""Calibration errors as bars."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

import believable
from believable import CellStats, Summary
from believable.errors import InputError, UndefinedError
from believable.plots import draw_metrics, metric_bars
from believable.plots.style import FLAG
from tests.plots.data import DIFFICULT, LABELS, MATRIX, P, Y
from tests.plots.drawn import legend, nothing_is_cut, title

CHEAP = ("ece", "rmsce", "ks", "kuiper")


def bars(ax, words):
    """Lengths of the bars with this label, by line."""
    some = [one for one in ax.containers if str(one.get_label()).startswith(words)]
    return {round(bar.get_y() + bar.get_height() / 2): bar.get_width() for one in some for bar in one}


def test_bars_are_values_intervals_and_chance():
    """Bars end at the value, boxes at the 95 % point of chance, lines where the interval does."""
    ax = believable.plot_metrics(P, Y, CHEAP, n_resamples=100, random_state=3).axes[0]
    found = metric_bars(believable.Predictions(P, Y), CHEAP, n_resamples=100, random_state=3)
    at = [0, -1, -2, -3]
    assert [bars(ax, "Value")[y] for y in at] == pytest.approx([bar.interval.value for bar in found])
    assert [bars(ax, "Noise floor, 95")[y] for y in at] == pytest.approx([bar.floor.q95 for bar in found])
    lines = {str(part.get_label()): part.get_segments() for part in ax.collections}
    average = lines.pop("Noise floor, mean")
    assert [segment[0, 0] for segment in average] == pytest.approx([bar.floor.mean for bar in found])
    (intervals,) = (part for part in lines.values() if len(part) == 4 and np.ptp(part[0][:, 1]) == 0)
    assert np.allclose([part[:, 0] for part in intervals], [(b.interval.low, b.interval.high) for b in found])
    values = [text.get_text() for text in ax.texts]
    assert sorted(values) == sorted(["Value", *(f"{bar.interval.value:.3f}" for bar in found)])
    assert [label.get_text().replace("\n", " ") for label in ax.get_yticklabels()] == [
        "expected calibration error",
        "root mean square calibration error",
        "Kolmogorov–Smirnov calibration error",
        "Kuiper calibration error",
    ]


def test_values_are_those_of_the_metrics():
    """Bins and notion reach the metrics that have them."""
    data = believable.Predictions(MATRIX, LABELS)
    found = metric_bars(data, ["ece", "brier"], n_bins=5, notion="classwise", n_resamples=100, random_state=0)
    assert found[0].interval.value == believable.expected_calibration_error(data, n_bins=5, notion="classwise")
    assert found[1].interval.value == believable.brier_score(data)


def test_more_than_chance_is_in_colour():
    """Of miscalibrated scores all bars are in colour, of calibrated ones most are not; the title counts them."""
    ax = (figure := believable.plot_metrics(P, Y, CHEAP, n_resamples=100, random_state=0)).axes[0]
    assert title(figure) == "4 of 4 errors are above the noise floor\nn = 400"
    assert "Value above the noise floor" in legend(ax)
    colours = {
        one.patches[0].get_facecolor() for one in ax.containers if str(one.get_label()).startswith("Value above")
    }
    assert colours == {to_rgba(FLAG)}
    rng = np.random.default_rng(1)
    p = rng.random(300)
    fine = believable.plot_metrics(p, rng.random(300) < p, ["ece"], n_resamples=100, random_state=0, title="mine")
    assert title(fine) == "mine\nNone of 1 errors is above the noise floor\nn = 300"
    assert "Value" in legend(fine.axes[0])


def test_what_is_undefined_says_why():
    """A metric that the data do not have leaves its reason in place of a bar; if all do, that is the error."""
    figure = believable.plot_metrics(P, Y, ["ece", "sce"], n_resamples=100, random_state=0)
    words = [text.get_text().replace("\n", " ") for text in figure.axes[0].texts]
    assert "static_calibration_error is defined for multiclass and multilabel predictions, these are binary" in words
    assert title(figure).startswith("1 of 1 errors is above")
    assert nothing_is_cut(figure)
    with pytest.raises(UndefinedError, match="defined for multiclass"):
        believable.plot_metrics(P, Y, ["sce"])


def test_errors_only():
    """What is not 0 at best is no error, and cannot stand beside one."""
    for name in ("auc", "slope", "conf", "skce"):
        with pytest.raises(InputError, match="bars are for errors"):
            believable.plot_metrics(P, Y, ["ece", name])
    with pytest.raises(InputError, match="there is no metric 'eec'"):
        believable.plot_metrics(P, Y, ["eec"])
    with pytest.raises(InputError, match="at least one metric"):
        believable.plot_metrics(P, Y, [])
    with pytest.raises(InputError, match="leave actuals out"):
        believable.plot_metrics(CellStats.of(believable.Predictions(P, Y)), Y)


def test_statistics_are_drawn_like_data():
    """Cells hold all that errors need."""
    data = believable.Predictions(P, Y)
    drawn = (
        bars(believable.plot_metrics(source, metrics=CHEAP, n_resamples=100, random_state=0).axes[0], "value")
        for source in (data, CellStats.of(data), Summary.of(data))
    )
    rows, *statistics = drawn
    assert all(one == pytest.approx(rows, abs=1e-4) for one in statistics)


@pytest.mark.parametrize("name", DIFFICULT)
def test_difficult_data_are_drawn(name):
    """Few rows, heaped, rare and certain scores give a picture with no words cut."""
    assert nothing_is_cut(believable.plot_metrics(DIFFICULT[name], metrics=CHEAP, n_resamples=100, random_state=0))


@pytest.mark.slow
def test_the_default_is_drawn_and_saved(tmp_path):
    """Six errors, or one name alone."""
    path = tmp_path / "errors.pdf"
    figure = believable.plot_metrics(P[:60], Y[:60], save_path=path, n_resamples=100, random_state=0)
    assert len(figure.axes[0].get_yticks()) == 6
    assert path.stat().st_size > 5000
    assert len(believable.plot_metrics(P, Y, "ece", n_resamples=100).axes[0].get_yticks()) == 1


def test_infinite_values_end_with_the_axis():
    """A bar that has no end is cut, and its number says so."""
    (bar,) = metric_bars(believable.Predictions(P, Y), ["ece"], n_resamples=100, random_state=0)
    endless = replace(bar, interval=replace(bar.interval, value=float("inf"), high=float("inf")))
    ax = draw_metrics((bar, endless), Figure().subplots())
    assert bars(ax, "Value")[-1] == ax.get_xlim()[1] < 1
    assert "inf" in [text.get_text() for text in ax.texts]
