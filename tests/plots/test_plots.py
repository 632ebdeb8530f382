"""Pictures: computed, then drawn, on any ax, without touching anything global."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression

import believable
from believable import BinStats, CellStats, Predictions
from believable.errors import InputError
from believable.plots import Reliability, draw_reliability
from tests.plots.drawn import nothing_is_cut

RNG = np.random.default_rng(2)
P = RNG.random(400)
Y = (RNG.random(400) < P**2).astype(int)
MATRIX = RNG.dirichlet(np.full(4, 0.5), 400)
LABELS = RNG.integers(0, 4, 400)


def points(ax):
    """The bins that were drawn: x, y."""
    line = next(c for c in ax.containers if hasattr(c, "has_yerr"))[0]
    return line.get_xydata()


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_the_diagram_shows_the_curve(strategy):
    """Points are the mean score and mean outcome of the bins; the title tells the errors of the same bins."""
    figure = believable.plot_reliability_diagram(P, Y, 8, strategy)
    x, y, _ = believable.calibration_curve(P, Y, 8, strategy)
    assert np.allclose(points(figure.axes[0]), np.column_stack([x, y]))
    title = figure.axes[0].get_title("left")
    assert f"ECE {believable.expected_calibration_error(P, Y, 8, strategy):.3f}" in title
    assert f"MCE {believable.maximum_calibration_error(P, Y, 8, strategy):.3f}" in title
    assert f"n = 400, 8 {strategy} bins" in title


def test_intervals_are_those_of_the_table():
    """Error bars end where the reliability table says."""
    figure = believable.plot_reliability_diagram(P, Y, 5, level=0.8)
    table = believable.reliability_table(P, Y, 5, level=0.8)
    bars = next(c for c in figure.axes[0].containers if hasattr(c, "has_yerr"))[2][0]
    ends = np.array([segment[:, 1] for segment in bars.get_segments()])
    assert np.allclose(ends, np.column_stack([table.low, table.high]))
    assert "80 % interval" in [t.get_text() for t in figure.axes[0].get_legend().get_texts()][-1]


def test_simultaneous_intervals():
    """The bars are the exact ones of the table, and the legend says so."""
    p, y = np.linspace(0.01, 0.99, 200), np.arange(200) % 3 > 0
    ax = believable.plot_reliability_diagram(p, y, n_bins=4, band="simultaneous", level=0.9).axes[0]
    table = believable.reliability_table(p, y, n_bins=4, band="simultaneous", level=0.9)
    bars = next(one for one in ax.containers if one.has_yerr).lines[2][0].get_segments()
    assert np.allclose([segment[:, 1] for segment in bars], np.column_stack([table.low, table.high]))
    assert any(t.get_text() == "Bin, 90 % simultaneous interval" for t in ax.get_legend().get_texts())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "corner", "framed"),
    [(P**2, 2, False), (np.minimum(1, 3 * P), 4, False), (np.where(P < 0.5, 1.0, 0.0), 2, True)],
    ids=["low", "high", "both"],
)
def test_the_legend_hides_no_bin(rate, corner, framed):
    """It stands above the diagonal, or below it where bins are there; with a ground of its own if both are taken."""
    legend = believable.plot_reliability_diagram(P, RNG.random(400) < rate).axes[0].get_legend()
    assert legend._get_loc() == corner  # 2 is upper left, 4 lower right
    assert legend.get_frame_on() is framed


def test_two_diagrams_side_by_side_are_not_cut():
    """In a figure with a layout engine and enough height, titles and labels lie within it."""
    figure = Figure(figsize=(9.6, 6.4), layout="constrained")
    for ax in figure.subplots(1, 2):
        believable.plot_reliability_diagram(P, Y, ax=ax, title="one")
    assert nothing_is_cut(figure)


def test_a_summary_knows_the_names_of_classes():
    """Panels are called as the rows call their classes."""
    names = [f"kind {k}" for k in range(MATRIX.shape[1])]
    data = believable.Predictions(MATRIX, np.array(names)[LABELS], classes=names)
    panels = believable.plot_classwise_reliability(believable.Summary.of(data)).axes
    assert [ax.get_title("left").splitlines()[0] for ax in panels] == names


def test_classes_share_one_legend():
    """Below the panels, each word once, clear of the label of the scores."""
    figure = believable.plot_classwise_reliability(MATRIX, LABELS)
    (legend,) = figure.legends
    words = [text.get_text() for text in legend.get_texts()]
    assert sorted(set(words)) == sorted(words)
    assert {"Over-predicts", "Perfect calibration"} <= set(words)
    for _ in range(2):  # the layout settles in the second
        figure.draw_without_rendering()
    boxes = [ax.xaxis.label.get_window_extent() for ax in figure.axes if ax.get_xlabel()]
    assert len(boxes) == 1
    assert not boxes[0].overlaps(legend.get_window_extent())


def test_confidences_in_answers_have_their_own_words():
    """A pair is a confidence and whether the answer was right; a matrix is none."""
    (ax, *_) = believable.plot_reliability_diagram([0.9] * 20, [1] * 10 + [0] * 10, pairs=True).axes
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "Over-confident" in words
    assert ax.get_ylabel() == "Accuracy"
    with pytest.raises(InputError, match="pairs=True is for 1-D scores"):
        believable.plot_reliability_diagram([[0.2, 0.8], [0.6, 0.4]], [1, 0], pairs=True)


def test_the_histogram_below_sums_to_all_rows():
    """Shares of the histogram are per cent of the rows, on the same axis."""
    figure = believable.plot_reliability_diagram(P, Y)
    below = figure.axes[0].child_axes[0]
    assert sum(bar.get_height() for bar in below.patches) == pytest.approx(100)
    assert below.get_xlim() == figure.axes[0].get_xlim()
    assert not believable.plot_reliability_diagram(P, Y, show_histogram=False).axes[0].child_axes


def test_a_given_ax_is_used():
    """The picture goes where it is asked to go, and its figure comes back."""
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert believable.plot_reliability_diagram(P, Y, ax=left) is figure
    assert believable.plot_confidence_histogram(MATRIX, LABELS, ax=right) is figure
    value = Reliability.of(BinStats.of(Predictions(P, Y)))
    assert draw_reliability(value, right) is right


def test_nothing_global_changes():
    """rcParams stay, and pyplot is not imported on our account."""
    before = dict(matplotlib.rcParams)
    believable.plot_reliability_diagram(P, Y)
    believable.plot_classwise_reliability(MATRIX, LABELS)
    believable.plot_confidence_histogram(P, Y)
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_pictures_are_saved(tmp_path, ending):
    """The ending decides the format; one that does not exist is an error."""
    path = tmp_path / f"picture.{ending}"
    believable.plot_reliability_diagram(P, Y, save_path=path)
    assert path.stat().st_size > 5000
    believable.plot_classwise_reliability(MATRIX, LABELS, save_path=path)
    believable.plot_confidence_histogram(P, Y, save_path=path)
    with pytest.raises(InputError, match="cannot save the picture"):
        believable.plot_reliability_diagram(P, Y, save_path=tmp_path / "picture.doc")


def test_statistics_are_drawn_like_data():
    """A picture of a statistic shows the same bins."""
    data = Predictions(MATRIX, LABELS, sample_weight=RNG.random(400))
    expected = points(believable.plot_reliability_diagram(data, n_bins=10).axes[0])
    for stats in (BinStats.of(data), CellStats.of(data)):
        assert np.allclose(points(believable.plot_reliability_diagram(stats).axes[0]), expected)
    quantile = BinStats.of(data, strategy="quantile")
    figure = believable.plot_reliability_diagram(quantile)
    assert figure.axes[0].child_axes[0].get_ylabel() == "Density"


def test_coarse_and_logit_cells_are_drawn():
    """Cells that cannot make the finer histogram show their own bins below."""
    data = Predictions(P, Y)
    assert believable.plot_reliability_diagram(CellStats.of(data, cells=30))
    assert believable.plot_reliability_diagram(CellStats.of(data, spacing="logit"), strategy="quantile")
    with pytest.raises(InputError, match="level must lie strictly between 0 and 1"):
        believable.plot_reliability_diagram(P, Y, level=1)


def test_every_class_has_its_panel():
    """Panels carry the class's name and its ECE."""
    names = ["ant", "bee", "cat", "dog"]
    data = Predictions(MATRIX, np.array(names)[LABELS], classes=names)
    figure = believable.plot_classwise_reliability(data)
    _, per_class = believable.classwise_ece(data)
    titles = [ax.get_title("left") for ax in figure.axes]
    assert titles == [f"{name}\nECE {ece:.3f}" for name, ece in zip(names, per_class, strict=True)]
    chosen = believable.plot_classwise_reliability(data, classes=[2, 0])
    assert [ax.get_title("left").split()[0] for ax in chosen.axes] == ["cat", "ant"]


def test_many_classes_show_the_worst():
    """With more classes than panels the worst come first, and the title says so."""
    rows, labels = RNG.dirichlet(np.ones(30), 300), RNG.integers(0, 30, 300)
    figure = believable.plot_classwise_reliability(rows, labels, max_classes=4)
    _, per_class = believable.classwise_ece(rows, labels)
    worst = sorted(per_class, reverse=True)[:4]
    assert [ax.get_title("left").split()[-1] for ax in figure.axes] == [f"{ece:.3f}" for ece in worst]
    assert "the worst 4 of 30 classes" in figure.get_suptitle()
    with pytest.raises(InputError, match="classes must be an integer from 0 to 29, got 30"):
        believable.plot_classwise_reliability(rows, labels, classes=[30])


def test_one_picture_has_one_curve():
    """A notion with a curve per class is refused, and told where to go."""
    with pytest.raises(InputError, match="has 4 curves: use plot_classwise_reliability"):
        believable.plot_reliability_diagram(MATRIX, LABELS, notion="classwise")
    assert believable.plot_reliability_diagram(MATRIX, LABELS, notion="classwise", pooled=True)


def test_confidence_histogram_says_which_way():
    """Its lines are the accuracy and the mean confidence."""
    figure = believable.plot_confidence_histogram(P, Y)
    lines = sorted(line.get_xdata()[0] for line in figure.axes[0].lines)
    assert lines == pytest.approx(sorted([believable.accuracy(P, Y), believable.mean_confidence(P, Y)]))
    assert sum(bar.get_height() for bar in figure.axes[0].patches) == pytest.approx(100)
    with pytest.raises(InputError, match="not multilabel"):
        believable.plot_confidence_histogram(Predictions(MATRIX, MATRIX > 0.5, multilabel=True))


def test_from_estimator():
    """A fitted classifier is drawn from its data."""
    features = P[:, None]
    model = LogisticRegression().fit(features, Y)
    figure = believable.plot_reliability_diagram.from_estimator(model, features, Y, n_bins=6)
    x, y, _ = believable.calibration_curve(model.predict_proba(features)[:, 1], Y, 6)
    assert np.allclose(points(figure.axes[0]), np.column_stack([x, y]))


@pytest.mark.parametrize("n", [1, 2, 50])
def test_few_rows_are_drawn_too(n):
    """One row is enough for a picture."""
    assert believable.plot_reliability_diagram(P[:n], Y[:n])
    assert believable.plot_confidence_histogram(MATRIX[:n], LABELS[:n])


def test_small_scores_fill_the_frame():
    """Where all scores are small the axes end above them, unless asked otherwise; the histogram with them."""
    rng = np.random.default_rng(0)
    p = rng.beta(1.2, 40, 3000)
    y = rng.random(3000) < p
    ax = believable.plot_reliability_diagram(p, y, strategy="quantile").axes[0]
    below = ax.child_axes[0]
    assert p.max() > ax.get_xlim()[1] == ax.get_ylim()[1] < 0.2
    assert below.get_xlim() == ax.get_xlim()
    assert len(below.patches) == 25
    assert believable.plot_reliability_diagram(p, y, limit=1.0).axes[0].get_xlim() == (0, 1)
