"""Pictures in the panels of a figure: nothing lies over a neighbour, and everything can be read."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

import believable
from believable import Predictions
from believable.plots.room import cell_of, wrapped
from tests.plots.data import LABELS, MATRIX, P, Y
from tests.plots.drawn import overlapping, words_of
from tests.plots.test_given_ax import PICTURES

THREE = {"first": P, "the second of three": P**2, "third": np.sqrt(P)}
PANELS = PICTURES | {
    "reliability": lambda ax: believable.plot_reliability_diagram(P, Y, ax=ax, title="A title that is a little long"),
    "histogram": lambda ax: believable.plot_confidence_histogram(MATRIX, LABELS, ax=ax),
    "models": lambda ax: believable.plot_reliability_diagram(THREE, Y, ax=ax),
}


@pytest.mark.parametrize(
    ("name", "place", "layout"),
    [(name, i % 4, None) for i, name in enumerate(PANELS)]
    + [(name, i, "constrained") for i, name in enumerate(["reliability", "models", "ranking", "forest"])],
)
def test_panels_keep_to_themselves(name, place, layout):
    """In one of four panels of a figure of the usual size all words stay in the cell, apart, with ticks at the axis."""
    figure, axes = plt.subplots(2, 2, layout=layout)
    ax = axes.ravel()[place]
    PANELS[name](ax)
    figure.draw_without_rendering()
    cell, written = cell_of(ax), words_of(ax)
    assert overlapping(written, written) == []
    for text, box in written.items():
        inside = box.x0 > cell.x0 - 1 and box.x1 < cell.x1 + 1 and box.y0 > cell.y0 - 1 and box.y1 < cell.y1 + 1
        assert inside, text.get_text()
    assert any(label in written for one in (ax, *ax.child_axes) for label in one.get_xticklabels())
    assert min(ax.bbox.width, ax.bbox.height) > 0.1 * min(cell.width, cell.height)


def test_the_title_of_a_figure_has_its_room():
    """A suptitle lies above the panels' own titles, also after `tight_layout` and in a larger window."""
    figure, axes = plt.subplots(2, 1, figsize=(5, 8))
    above = figure.suptitle("Two models")
    for ax in axes.ravel():
        believable.plot_reliability_diagram(P, Y, ax=ax)
    for change in (lambda: None, figure.tight_layout, lambda: figure.set_size_inches(6, 10)):
        change()
        figure.draw_without_rendering()
        written = [words_of(ax) for ax in axes.ravel()]
        for i, one in enumerate(written):
            assert overlapping(one, {above: above.get_window_extent()}) == []
            assert all(overlapping(one, other) == [] for other in written[:i])


def test_long_titles_go_on_below():
    """A line breaks where it would be too wide, first between its parts."""
    figure, ax = plt.subplots()
    figure.canvas.draw()
    text = "one part   another part\nshort"
    assert wrapped(ax, text, 10, 1000) == text
    assert wrapped(ax, text, 10, 100) == "one part\nanother part\nshort"
    assert wrapped(ax, text, 10, 1) == "one\npart\nanother\npart\nshort"


@pytest.mark.parametrize("n_classes", [2, 7, 12])
def test_classes_have_panels_that_can_be_read(n_classes):
    """Each has a title of its own and ticks, the lowest of each column labels; no words meet others or the legend."""
    rng = np.random.default_rng(0)
    names = [f"a class whose name is much too long, number {k}" for k in range(n_classes)]
    matrix = rng.dirichlet(np.ones(n_classes), 300)
    data = Predictions(matrix, np.array(names)[rng.integers(0, n_classes, 300)], classes=names)
    figure = believable.plot_classwise_reliability(data)
    figure.draw_without_rendering()
    assert len(figure.axes) == n_classes  # the empty places of the grid are gone
    titles = [ax.get_title("left") for ax in figure.axes]
    assert len(set(titles)) == n_classes
    written = {text: text.get_window_extent() for text in figure.texts}
    for legend in figure.legends:
        written |= {text: text.get_window_extent() for text in legend.get_texts()}
    for ax in figure.axes:
        written |= words_of(ax)
        assert len(ax.get_xticks()) == len(ax.get_yticks()) == 3
    assert overlapping(written, written) == []
    bottom = {round(ax.bbox.x0): ax for ax in sorted(figure.axes, key=lambda ax: -ax.bbox.y0)}
    assert all(ax.get_xticklabels()[0] in words_of(ax) for ax in bottom.values())


@pytest.mark.parametrize("confidence", [0.3, 0.6, 0.99])
def test_the_legend_of_a_histogram_is_off_its_bars(confidence):
    """Wherever the confidences are, the numbers stand below the bars."""
    rest = (1 - confidence) / 3
    figure = believable.plot_confidence_histogram(np.tile([confidence, rest, rest, rest], (50, 1)), np.arange(50) % 4)
    figure.draw_without_rendering()
    (ax,) = figure.axes
    box = ax.get_legend().get_window_extent()
    assert [text.get_text().rpartition(" ")[0] for text in ax.get_legend().get_texts()] == [
        "Accuracy",
        "Mean confidence",
    ]
    assert not any(box.overlaps(bar.get_window_extent()) for bar in ax.patches)
    assert not box.overlaps(ax.xaxis.label.get_window_extent())
