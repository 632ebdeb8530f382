"""The picture of a sample: all rows by score, the sampled ones marked."""

from __future__ import annotations

import math

import numpy as np
import pytest

from believable import plot_uncertainty_sample, uncertainty_sample
from believable.plots import SampledScores
from tests.plots.data import DIFFICULT, MATRIX, P
from tests.plots.drawn import legend, nothing_is_cut, title


def test_every_row_is_counted_once():
    """The bins hold all rows, and the sampled ones are those of `uncertainty_sample`."""
    value = SampledScores.of(P, 50, random_share=0.2, random_state=0)
    assert (value.n.sum(), value.unsure.sum(), value.drawn.sum()) == (400, 40, 10)
    rows = uncertainty_sample(P, 50, random_share=0.2, random_state=0)
    for count, part in ((value.unsure, rows[:40]), (value.drawn, rows[40:])):
        expected = np.zeros(40, int)
        for p in P[part]:
            expected[max(math.ceil(p * 40) - 1, 0)] += 1
        assert count.tolist() == expected.tolist()


def test_edges_belong_below():
    """0 is in the first bin, 1 in the last, an edge in the bin that ends there."""
    value = SampledScores.of([0.0, 0.025, 0.5, 1.0], 1, random_state=0)
    assert {int(i): int(value.n[i]) for i in np.flatnonzero(value.n)} == {0: 2, 19: 1, 39: 1}
    assert value.unsure[19] == 1


@pytest.mark.parametrize(
    ("strategy", "end", "words"),
    [("margin", 1, "Margin"), ("entropy", math.log(4), "Entropy, in nats"), ("confidence", 1, "Confidence")],
)
def test_classes_are_shown_by_their_strategy(strategy, end, words):
    """The axis is what the strategy looks at; the least sure rows lie together at one end."""
    value = SampledScores.of(MATRIX, 100, strategy, random_state=0)
    assert value.edges[-1] == pytest.approx(end)
    assert value.x_label.startswith(words)
    filled, left = np.flatnonzero(value.unsure), np.flatnonzero(value.n - value.unsure)
    assert filled.min() >= left.max() if strategy == "entropy" else filled.max() <= left.min()


def test_the_picture(tmp_path):
    """Bars add up to all rows, the legend counts the parts, the title says how many were taken."""
    figure = plot_uncertainty_sample(P, 50, tmp_path / "a.png", random_share=0.2, random_state=0, title="mine")
    ax = figure.axes[0]
    assert sum(bar.get_height() for bar in ax.patches) == 400
    assert legend(ax) == ["Sampled: least certain (40)", "Sampled: at random (10)", "Not sampled (350)"]
    assert title(figure) == "mine\n50 of 400 rows sampled"
    assert (tmp_path / "a.png").stat().st_size > 1000
    assert legend(plot_uncertainty_sample(P, 400).axes[0]) == ["Sampled: least certain (400)"]


@pytest.mark.slow
@pytest.mark.parametrize("name", DIFFICULT)
def test_difficult_data_can_be_drawn(name):
    """Nothing is cut, whatever the scores are."""
    assert nothing_is_cut(plot_uncertainty_sample(DIFFICULT[name], 1, random_state=0))
