"""The picture of a threshold with a guaranteed precision."""

from __future__ import annotations

import numpy as np
import pytest

import believable
from tests.plots.data import DIFFICULT, P, Y
from tests.plots.drawn import legend, line, nothing_is_cut, title


def test_the_lines_are_the_curve():
    """Precision and its bound over the share kept, with the cut where they were last above the target."""
    found = believable.threshold_for(P, Y, precision=0.7)
    figure = believable.plot_threshold(P, Y, precision=0.7)
    ax = figure.axes[0]
    assert np.allclose(line(ax, "Precision of the rows"), [100 * found.curve.share, found.curve.precision])
    assert np.allclose(line(ax, "Lower bound"), [100 * found.curve.share, found.curve.lower])
    assert np.allclose(line(ax, "Threshold").ravel(), [100 * found.share, found.lower])
    assert f"Threshold {found.cut:.4g}: keeps {100 * found.share:.3g} %" in legend(ax)
    assert title(figure).startswith(
        f"Score ≥ {found.cut:.4g}: precision ≥ 0.7 with 95 % confidence\nKeeps {found.n_kept} of 400"
    )
    assert title(believable.plot_threshold(found)) == title(figure)


def test_nothing_promised_is_said(tmp_path):
    """No cut is drawn, and the title says why; the picture is saved where asked."""
    figure = believable.plot_threshold(P[:20], Y[:20], tmp_path / "a.png", title="mine")
    assert (tmp_path / "a.png").stat().st_size > 5000
    assert title(figure).splitlines() == [
        "mine",
        "No threshold guarantees precision ≥ 0.9 with 95 % confidence",
        "n = 20; even without an error, that takes 29 rows above the threshold",
    ]
    assert not any(words.startswith("Threshold") for words in legend(figure.axes[0]))
    assert "; the highest 61 have " in title(believable.plot_threshold(P, Y, precision=0.9))


@pytest.mark.parametrize("name", DIFFICULT)
def test_difficult_data_are_drawn(name):
    """Few rows, heaped, rare and certain scores give a picture with no words cut."""
    assert nothing_is_cut(believable.plot_threshold(DIFFICULT[name], precision=0.6))
