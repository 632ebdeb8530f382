"""The CORP diagram."""

from __future__ import annotations

import numpy as np
import pytest

import believable
from believable import BinStats, CellStats, Predictions
from believable.errors import InputError, UndefinedError
from tests.plots.data import DIFFICULT, HEAPED, LABELS, MATRIX, P, W, Y
from tests.plots.drawn import band, legend, line, nothing_is_cut, title


def test_the_curve_is_the_isotonic_one():
    """The line runs through the isotonic curve at every score."""
    ax = believable.plot_corp_diagram(P, Y, band=None).axes[0]
    curve = believable.corp_curve(P, Y)
    assert np.allclose(np.interp(curve.x, *line(ax, "Isotonic")), curve.y, atol=1e-12)
    assert legend(ax) == ["Isotonic curve (CORP)", "Perfect calibration"]


def test_pooled_scores_are_drawn_thick_and_others_as_dots():
    """Each score lies on a thick piece or is a dot."""
    ax = believable.plot_corp_diagram(HEAPED, Y, band=None).axes[0]
    curve = believable.corp_curve(HEAPED, Y)
    pieces = [tuple(segment[:, 0]) for segment in ax.collections[0].get_segments()]
    dots = ax.lines[1].get_xdata()
    for x in curve.x:
        assert x in dots or any(low <= x <= high for low, high in pieces)


def test_nothing_is_drawn_where_no_score_stands_alone():
    """A line of no dots would claim room at the corner of the figure, and leave a saved picture half empty."""
    ax = believable.plot_corp_diagram([0.2, 0.3, 0.7, 0.8], [1, 0, 1, 0], band=None).axes[0]
    assert all(len(one.get_xdata()) for one in ax.lines)


@pytest.mark.parametrize(("name", "words"), [("consistency", "if calibrated"), ("confidence", "confidence band")])
def test_bands_are_those_of_the_curve(name, words):
    """Each band ends where `corp_curve` says, and it alone is drawn if it alone is asked for."""
    ax = believable.plot_corp_diagram(P, Y, band=name, level=0.8, n_resamples=50, random_state=1).axes[0]
    curve = believable.corp_curve(P, Y, band=name, level=0.8, n_resamples=50, random_state=1)
    x, low, high = band(ax, words)
    assert np.allclose(x, curve.x)
    assert np.allclose(low, curve.low)
    assert np.allclose(high, curve.high)
    assert len(legend(ax)) == 3
    assert any(text.startswith("80 %") for text in legend(ax))


def test_both_bands_are_drawn_unless_asked_otherwise():
    """The default shows what chance explains and what is known."""
    ax = believable.plot_corp_diagram(P, Y, n_resamples=20, random_state=0).axes[0]
    assert legend(ax) == [
        "Isotonic curve (CORP)",
        "95 % of curves, if calibrated",
        "95 % confidence band",
        "Perfect calibration",
    ]


@pytest.mark.parametrize(("score", "name"), [("brier", "Brier score"), ("log", "log score")])
def test_the_title_splits_the_score(score, name):
    """MCB, DSC and UNC are those of `corp_decomposition`."""
    words = title(believable.plot_corp_diagram(P, Y, band=None, score=score, sample_weight=W, title="mine"))
    parts = believable.corp_decomposition(P, Y, score=score, sample_weight=W)
    assert words == (
        f"mine\nMCB {parts.mcb:.3f}   DSC {parts.dsc:.3f}   UNC {parts.unc:.3f}\n"
        f"{name} {parts.score:.3f} = MCB - DSC + UNC, n = 400"
    )


def test_small_scores_have_a_small_frame():
    """Where all scores are small the axes end early, the histogram with them; `limit` says otherwise."""
    rare = DIFFICULT["rare"]
    ax = believable.plot_corp_diagram(rare, band=None).axes[0]
    end = ax.get_xlim()[1]
    assert rare.scores.max() <= end <= 0.25
    assert ax.get_ylim() == ax.get_xlim() == ax.child_axes[0].get_xlim()
    assert sum(bar.get_height() for bar in ax.child_axes[0].patches) == pytest.approx(100)
    assert believable.plot_corp_diagram(rare, band=None, limit=1).axes[0].get_xlim() == (0, 1)
    half = believable.plot_corp_diagram(P, Y, band=None, limit=0.5).axes[0].child_axes[0]
    assert sum(bar.get_height() for bar in half.patches) == pytest.approx(100 * np.mean(P <= 0.5))


def test_cells_are_drawn_like_data():
    """A statistic with one cell for each score gives the same curve; bins do not suffice."""
    data = Predictions(HEAPED, Y)
    ax = believable.plot_corp_diagram(CellStats.of(data), band=None).axes[0]
    assert np.allclose(line(ax, "Isotonic"), line(believable.plot_corp_diagram(data, band=None).axes[0], "Isotonic"))
    with pytest.raises(UndefinedError, match="this needs CellStats or predictions"):
        believable.plot_corp_diagram(BinStats.of(data))


@pytest.mark.parametrize("name", DIFFICULT)
def test_difficult_data_are_drawn(name):
    """Few rows, heaped, rare and certain scores give a picture with no words cut."""
    assert nothing_is_cut(believable.plot_corp_diagram(DIFFICULT[name], n_resamples=20, random_state=0))


def test_the_histogram_can_be_left_out(tmp_path):
    """Without it the legend is below the diagram itself; the picture is saved where asked."""
    path = tmp_path / "corp.png"
    figure = believable.plot_corp_diagram(P, Y, path, False, band=None)
    assert not figure.axes[0].child_axes
    assert legend(figure.axes[0])
    assert path.stat().st_size > 5000


def test_bad_choices_are_refused():
    """Unknown bands, limits of 0 and notions with several groups."""
    with pytest.raises(
        InputError, match="band must be one of None, 'both', 'consistency', 'confidence', 'simultaneous', got 'all'"
    ):
        believable.plot_corp_diagram(P, Y, band="all")
    with pytest.raises(InputError, match="limit must be above 0"):
        believable.plot_corp_diagram(P, Y, band=None, limit=0)
    with pytest.raises(UndefinedError, match="the CORP diagram needs one set of scores, but there are 4"):
        believable.plot_corp_diagram(MATRIX, LABELS, notion="classwise")
    assert believable.plot_corp_diagram(MATRIX, LABELS, notion="rth", r=2, band=None)


def test_the_simultaneous_band_is_drawn_alone():
    """It takes the place of both others, and says what it is."""
    ax = believable.plot_corp_diagram(P, Y, band="simultaneous", level=0.9).axes[0]
    curve = believable.corp_curve(P, Y, band="simultaneous", level=0.9)
    x, low, high = band(ax, "simultaneous confidence band")
    assert np.allclose(x, curve.x)
    assert np.allclose(low, curve.low)
    assert np.allclose(high, curve.high)
    assert legend(ax)[1:] == ["90 % simultaneous confidence band", "Perfect calibration"]
    two = believable.plot_corp_diagram({"a": P, "b": np.sqrt(P)}, Y, band="simultaneous")
    assert "95 % simultaneous confidence bands" in title(two)
