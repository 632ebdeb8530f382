"""Cumulative differences."""

from __future__ import annotations

import numpy as np
import pytest

import believable
from believable import CellStats, Predictions
from believable.errors import UndefinedError
from tests.plots.data import DIFFICULT, HEAPED, LABELS, MATRIX, P, W, Y
from tests.plots.drawn import band, legend, line, nothing_is_cut, title


def literal(p, y, w):
    """Share of the weight, C and its standard deviation after each distinct score, by the definition."""
    rows = [(0.0, 0.0, 0.0)]
    for s in sorted(set(p)):
        below = p <= s
        gap = np.sum(w[below] * (y[below] - p[below])) / w.sum()
        variance = np.sum((w[below] ** 2) * p[below] * (1 - p[below]))
        rows.append((w[below].sum() / w.sum(), gap, np.sqrt(variance) / w.sum()))
    return np.array(rows).T


@pytest.mark.parametrize("p", [P, HEAPED], ids=["distinct", "heaped"])
@pytest.mark.parametrize("w", [np.ones(400), W], ids=["equal", "weighted"])
def test_the_line_is_the_cumulative_gap(p, w):
    """The line is C over the share of the weight, the band two standard deviations of chance."""
    ax = believable.plot_cumulative_differences(p, Y, sample_weight=w, random_state=0).axes[0]
    share, gap, deviation = literal(p, Y, w)
    assert np.allclose(line(ax, "Cumulative difference"), [share, gap], atol=1e-12)
    x, low, high = band(ax, "deviations, if calibrated")
    assert np.allclose(x, share)
    assert np.allclose(high, 2 * deviation)
    assert np.allclose(low, -2 * deviation)


def test_extremes_are_marked_with_the_errors():
    """A vertical line reaches from 0 to the KS error, a bracket over the Kuiper error; the title has both."""
    figure = believable.plot_cumulative_differences(P, Y)
    ax = figure.axes[0]
    ks = believable.kolmogorov_smirnov_calibration_error(P, Y)
    kuiper = believable.kuiper_calibration_error(P, Y)
    test = believable.kuiper_test(P, Y)
    marked = next(one for one in ax.collections if str(one.get_label()).startswith("KS")).get_segments()[0]
    assert np.ptp(marked[:, 1]) == pytest.approx(ks)
    x, y = line(ax, "Cumulative")
    assert marked[0, 0] == x[np.argmax(np.abs(y))]
    bracket = next(c for c in ax.containers if hasattr(c, "has_yerr"))[2][0].get_segments()[0]
    assert np.ptp(bracket[:, 1]) == pytest.approx(kuiper)
    chance = f"p = {test.p_value:.3f}" if test.p_value >= 0.001 else "p < 0.001"
    assert title(figure).splitlines()[0] == f"KS {ks:.3f}   Kuiper {kuiper:.3f}, {chance}   n = 400"
    assert f"KS {ks:.3f}: largest distance from 0" in legend(ax)


def test_scores_are_told_above():
    """The axis above says which score each share of the rows reaches."""
    ax = believable.plot_cumulative_differences(HEAPED, Y, random_state=0).axes[0]
    above = ax.child_axes[0]
    ordered = np.sort(HEAPED)
    expected = [ordered[max(int(np.ceil(share * 400 - 1e-9)) - 1, 0)] for share in above.get_xticks()]
    assert [float(label.get_text()) for label in above.get_xticklabels()] == pytest.approx(expected)


def test_many_rows_keep_their_extremes():
    """A line of more points than can be seen is thinned, not its lowest and highest point."""
    rng = np.random.default_rng(0)
    p = rng.random(10_000)
    y = rng.random(10_000) < p
    x, gap = line(believable.plot_cumulative_differences(p, y).axes[0], "Cumulative")
    assert len(x) < 2100
    assert np.ptp(gap) == pytest.approx(believable.kuiper_calibration_error(p, y))


def test_cells_are_drawn_like_data():
    """A statistic with one cell for each score gives the same line."""
    data = Predictions(HEAPED, Y)
    pictures = (believable.plot_cumulative_differences(source, random_state=0) for source in (data, CellStats.of(data)))
    one, other = (line(figure.axes[0], "Cumulative") for figure in pictures)
    assert np.allclose(one, other)


@pytest.mark.parametrize("name", DIFFICULT)
def test_difficult_data_are_drawn(name):
    """Few rows, heaped, rare and certain scores give a picture with no words cut."""
    figure = believable.plot_cumulative_differences(DIFFICULT[name], n_resamples=20, random_state=0, title="mine")
    assert nothing_is_cut(figure)


def test_one_group_only(tmp_path):
    """Notions with several groups are refused; the picture is saved where asked."""
    with pytest.raises(UndefinedError, match="the cumulative difference needs one set of scores, but there are 4"):
        believable.plot_cumulative_differences(MATRIX, LABELS, notion="classwise")
    path = tmp_path / "cumulative.png"
    believable.plot_cumulative_differences(MATRIX, LABELS, path, notion="rth", r=2)
    assert path.stat().st_size > 5000
