"""Several models in one diagram: by name, one call after the other, and the folds of one."""

from __future__ import annotations

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb

import believable
from believable import BinStats, CellStats, Predictions
from believable.errors import InputError
from believable.plots.style import MODEL_COLOURS
from tests.plots.data import LABELS, MATRIX, P, W, Y
from tests.plots.drawn import legend, line, nothing_is_cut, overlapping, title, words_of

RNG = np.random.default_rng(5)
EIGHT = {f"model {i}": np.clip(P + 0.03 * i * (0.5 - P), 0, 1) for i in range(8)}
DIAGRAMS = {
    "reliability": believable.plot_reliability_diagram,
    "smoothed": believable.plot_smoothed_calibration,
    "corp": lambda *a, **k: believable.plot_corp_diagram(*a, n_resamples=20, random_state=0, **k),
}


def models_of(ax, names):
    """The line of each model, by the name that its label begins with."""
    return [next(one for one in ax.lines if str(one.get_label()).startswith(name)) for name in names]


@pytest.mark.parametrize("kind", DIAGRAMS)
@pytest.mark.parametrize("n", [2, 8])
def test_each_model_has_its_line_and_its_words(kind, n):
    """Colours differ, one legend names all of them and the diagonal, and nothing is cut or written over."""
    some = dict(list(EIGHT.items())[:n])
    figure = DIAGRAMS[kind](some, Y)
    (ax,) = figure.axes
    lines = models_of(ax, some)
    assert len({to_hex(one.get_color()) for one in lines}) == n
    words = legend(ax)
    assert len(words) == n + 1
    assert words[-1] == "Perfect calibration"
    assert sum(one.get_legend() is not None for one in (ax, *ax.child_axes)) == 1
    assert title(figure).startswith(f"{n} models, n = 400 each\n")
    assert len(ax.child_axes[0].patches) == n
    assert nothing_is_cut(figure)
    assert overlapping(words_of(ax), words_of(ax)) == []


def test_the_points_are_those_of_each_model():
    """What a model shows among others is what it shows alone."""
    names = ["model 0", "model 5"]
    (ax,) = believable.plot_reliability_diagram({name: EIGHT[name] for name in names}, Y, 8, "quantile").axes
    for name in names:
        x, y, _ = believable.calibration_curve(EIGHT[name], Y, 8, "quantile")
        assert np.allclose(line(ax, name), [x, y])
        ece = believable.expected_calibration_error(EIGHT[name], Y, 8, "quantile")
        assert f"{name}, ECE {ece:.3f}" in legend(ax)
    (ax,) = believable.plot_smoothed_calibration({name: EIGHT[name] for name in names}, Y).axes
    curve = believable.smoothed_calibration_curve(EIGHT["model 5"], Y, degree=2)
    assert np.allclose(line(ax, "model 5"), [curve.x, curve.y])


def test_a_model_is_given_in_any_form():
    """Scores with common labels, pairs, predictions and statistics are drawn alike."""
    given = {
        "scores": [{"one": P, "two": P**2}, Y],
        "pairs": [{"one": (P, Y), "two": (P**2, Y)}],
        "predictions": [{"one": Predictions(P, Y), "two": Predictions(P**2, Y)}],
        "statistics": [{"one": BinStats.of(Predictions(P, Y)), "two": CellStats.of(Predictions(P**2, Y))}],
        "mixed": [{"one": BinStats.of(Predictions(P, Y)), "two": P**2}, Y],
    }
    drawn = {how: believable.plot_reliability_diagram(*what).axes[0] for how, what in given.items()}
    for ax in drawn.values():
        for name in ("one", "two"):
            assert np.allclose(line(ax, name), line(drawn["scores"], name))
    two = believable.plot_reliability_diagram({"a": MATRIX, "b": np.roll(MATRIX, 1, axis=1)}, LABELS).axes[0]
    assert two.child_axes[0].get_xlabel() == "Mean confidence"


@pytest.mark.parametrize("kind", DIAGRAMS)
def test_calls_on_one_ax_are_one_diagram(kind):
    """The next call takes the next colour; title, diagonal, legend and histogram are there once."""
    names = ["model 0", "model 3", "model 6"]
    _, ax = plt.subplots(figsize=(5, 8))
    mine = ax.axhline(0.3)
    for name in names:
        DIAGRAMS[kind](EIGHT[name], Y, ax=ax, name=name)
    together = DIAGRAMS[kind]({name: EIGHT[name] for name in names}, Y).axes[0]
    assert legend(ax) == legend(together)
    assert ax.get_title("left") == title(together.figure)
    assert [one.get_color() for one in models_of(ax, names)] == list(MODEL_COLOURS[:3])
    for one, other in zip(models_of(ax, names), models_of(together, names), strict=True):
        assert np.allclose(one.get_xydata(), other.get_xydata())
    assert len(models_of(ax, ["Perfect"])) == sum(str(one.get_label()).startswith("Perfect") for one in ax.lines)
    assert len(ax.child_axes) == 1
    assert mine in ax.lines  # what somebody else drew stays
    assert len(ax.collections) == len(together.collections)


def test_names_are_kept_apart():
    """Models without a name are numbered, and a name that comes again gets a number."""
    _, ax = plt.subplots()
    for name in (None, None, "mine", "mine"):
        believable.plot_reliability_diagram(P, Y, ax=ax, name=name)
    assert [words.partition(",")[0] for words in legend(ax)[:-1]] == ["Model 1", "Model 2", "mine", "mine (2)"]
    ax.clear()
    believable.plot_reliability_diagram(P, Y, ax=ax, name="alone")
    assert "alone, 95 % interval" in legend(ax)


def test_small_scores_share_their_frame():
    """The axes and the histograms of all models end where those of the largest scores do."""
    y = RNG.random(400) < P / 10
    (ax,) = believable.plot_reliability_diagram({"small": P / 50, "large": P / 10}, y, strategy="quantile").axes
    assert ax.get_xlim() == believable.plot_reliability_diagram(P / 10, y, strategy="quantile").axes[0].get_xlim()
    assert {patch.get_data().edges[-1] for patch in ax.child_axes[0].patches} == {ax.get_xlim()[1]}


def test_bands_are_drawn_for_two_models_only():
    """More of them could not be told apart."""
    for plot in (DIAGRAMS["smoothed"], DIAGRAMS["corp"]):
        two, three = (plot(dict(list(EIGHT.items())[:n]), Y).axes[0] for n in (2, 3))
        assert (len(two.collections), len(three.collections)) == (2, 0)


def simulated(colour, matrix):
    """A colour as CIELAB, seen through the cones of a colour-blind reader (Machado et al. 2009)."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ np.clip(np.array(matrix) @ linear, 0, 1) / [0.9505, 1, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize(
    "matrix",
    [
        np.eye(3),
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    ],
    ids=["all", "protanopia", "deuteranopia", "tritanopia"],
)
def test_colours_can_be_told_apart(matrix):
    """Any two colours of models differ by 16 in CIELAB, for colour-blind readers too."""
    seen = [simulated(colour, matrix) for colour in MODEL_COLOURS]
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 16


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_folds_are_faint_lines(strategy):
    """Each fold is drawn in the bins of all rows, below the line of all rows, which stays as it was."""
    fold = np.arange(400) % 5
    (ax,) = believable.plot_reliability_diagram(P, Y, 4, strategy, folds=fold, sample_weight=W).axes
    edges = BinStats.of(Predictions(P, Y, sample_weight=W), n_bins=4, strategy=strategy).edges
    thin = [one for one in ax.lines if one.get_linewidth() < 1 and one.get_alpha()]
    assert len(thin) == 5
    for k, one in enumerate(thin):
        part = Predictions(P[fold == k], Y[fold == k], sample_weight=W[fold == k])
        x, y, _ = believable.calibration_curve(part, edges=edges)
        assert np.allclose(one.get_xydata(), np.column_stack([x, y]))
    assert "Each of 5 folds" in legend(ax)
    whole = believable.plot_reliability_diagram(P, Y, 4, strategy, sample_weight=W).axes[0]
    pooled, plain = (next(c for c in one.containers if hasattr(c, "has_yerr"))[0].get_xydata() for one in (ax, whole))
    assert np.allclose(pooled, plain)
    several = believable.plot_reliability_diagram({"a": P, "b": P**2}, Y, folds=[f"fold {k}" for k in fold]).axes[0]
    assert sum(one.get_linewidth() < 1 and one.get_alpha() is not None for one in several.lines) == 10


def test_what_cannot_be_drawn_is_refused():
    """Nine models, none, a name too many, labels twice, and folds that do not fit."""
    with pytest.raises(InputError, match="at most 8 models can be distinguished in one picture, got 9"):
        believable.plot_reliability_diagram(EIGHT | {"ninth": P}, Y)
    _, ax = plt.subplots()
    believable.plot_reliability_diagram(EIGHT, Y, ax=ax)
    with pytest.raises(InputError, match="at most 8 models"):
        believable.plot_reliability_diagram(P, Y, ax=ax)
    with pytest.raises(InputError, match="the dict is empty"):
        believable.plot_corp_diagram({})
    with pytest.raises(InputError, match="a dict already names its models: leave name out"):
        believable.plot_smoothed_calibration({"a": P}, Y, name="b")
    with pytest.raises(InputError, match="pairs, which have their labels: leave actuals out"):
        believable.plot_reliability_diagram({"a": (P, Y)}, Y)
    with pytest.raises(InputError, match=r"folds must name the fold of each of 400 rows, got shape \(3,\)"):
        believable.plot_reliability_diagram(P, Y, folds=[0, 1, 2])
    with pytest.raises(InputError, match="folds must name at most 100 folds, got 400"):
        believable.plot_reliability_diagram(P, Y, folds=np.arange(400))
    with pytest.raises(InputError, match="folds needs the rows, not a statistic of them"):
        believable.plot_reliability_diagram(BinStats.of(Predictions(P, Y)), folds=[0])
