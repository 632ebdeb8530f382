"""The forest plot of subgroups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import believable
from believable.errors import InputError, UndefinedError
from believable.inference.subgroups import Subgroup, Subgroups
from believable.plots.style import FLAG
from tests.plots.data import P, Y
from tests.plots.drawn import legend, line, nothing_is_cut, title

SITE = np.where(np.arange(400) % 4 == 0, "north", "south")
OLD = np.where(np.arange(400) % 3 == 0, "old", "young")


@pytest.fixture(scope="module")
def found():
    """Two columns of two groups."""
    return believable.subgroups(P, Y, {"site": SITE, "age": OLD}, n_resamples=100, random_state=0)


def dots(ax):
    """Estimates that were drawn, by line."""
    filled = [one for one in ax.lines if one.get_marker() == "o" and one.get_markerfacecolor() != "none"]
    return {int(y): x for one in filled for x, y in one.get_xydata()}


def test_every_group_has_its_line(found):
    """Estimates, intervals, chance and rows are those of the subgroups, column by column."""
    ax = believable.plot_subgroup_forest(found).axes[0]
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["site", "south", "north", "age", "young", "old"]
    where = [-1, -2, -4, -5]
    assert [dots(ax)[y] for y in where] == pytest.approx([group.estimate for group in found])
    drawn = {segment[0, 1]: segment[:, 0] for part in ax.collections for segment in part.get_segments()}
    assert np.allclose([drawn[y] for y in where], [(group.low, group.high) for group in found])
    chance, at = line(ax, "Noise floor")
    assert np.allclose(chance, [group.floor for group in found])
    assert list(at) == where
    measured, _ = line(ax, "Observed value")
    assert np.allclose(measured, [group.value for group in found])
    beside = [text.get_text() for text in ax.texts]
    assert beside == ["Rows", *(str(group.n) for group in found)]
    assert ax.get_xlabel() == "Expected calibration error"


def test_all_rows_are_a_line(found):
    """The estimate of all rows goes through all groups, its interval behind it."""
    ax = believable.plot_subgroup_forest(found).axes[0]
    assert line(ax, "All rows")[0] == pytest.approx([found.overall.estimate] * 2)
    corners = ax.patches[0].get_path().get_extents(ax.patches[0].get_patch_transform()).get_points()[:, 0]
    assert (corners.min(), corners.max()) == pytest.approx((found.overall.low, found.overall.high))


def test_flagged_groups_are_in_colour(found):
    """Their names too, and the title counts them."""
    groups = tuple(replace(group, flagged=group.name == "old") for group in found)
    figure = believable.plot_subgroup_forest(replace(found, groups=groups))
    ax = figure.axes[0]
    assert [label.get_text() for label in ax.get_yticklabels() if label.get_color() == FLAG] == ["old"]
    assert title(figure) == "1 of 4 subgroups is flagged as miscalibrated\nFalse discovery rate 0.05"
    assert "Estimate, 95 % interval: flagged" in legend(ax)
    coloured = [one for one in ax.lines if one.get_color() == FLAG and len(one.get_xdata())]
    assert [len(one.get_xdata()) for one in coloured] == [1]


def test_predictions_are_grouped_first(found):
    """Without a `Subgroups` it is computed, with the same choices."""
    figure = believable.plot_subgroup_forest(P, Y, {"site": SITE, "age": OLD}, n_resamples=100, random_state=0)
    ax = figure.axes[0]
    assert dots(ax) == pytest.approx(dots(believable.plot_subgroup_forest(found).axes[0]))
    other = believable.plot_subgroup_forest(P, Y, SITE, metric="brier", n_resamples=100, random_state=0, level=0.8)
    assert other.axes[0].get_xlabel() == "Brier score"
    assert "Estimate, 80 % interval" in legend(other.axes[0])
    assert [label.get_text() for label in other.axes[0].get_yticklabels()] == ["south", "north"]


def made(n, **changed):
    """So many groups, each further from chance than the one before."""
    groups = tuple(
        Subgroup("a column", f"group {i}", 10, 0.5, 0.5, 0.1, 0.0, 0.2, 0.1, 0.05, 1 / (1 + i), 0.5, False, None)
        for i in range(n)
    )
    overall = believable.interval("ece", P, Y, n_resamples=100, random_state=0)
    return replace(Subgroups(groups, "ece", 0.95, 0.05, overall), **changed)


def test_too_many_groups_show_those_furthest_from_chance():
    """In their order, and the title says so."""
    figure = believable.plot_subgroup_forest(made(12), max_groups=3)
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == ["a column", "group 9", "group 10", "group 11"]
    assert title(figure).endswith("; the 3 smallest p-values are shown")


def test_long_names_and_many_groups_fit():
    """Names are shortened, lines do not touch, nothing is cut."""
    long = tuple(replace(group, name="a name that goes on and on and on " + group.name) for group in made(45))
    figure = believable.plot_subgroup_forest(made(45, groups=long), title="mine", max_groups=45)
    assert figure.axes[0].get_yticklabels()[1].get_text() == "a name that goes on and on and on…"
    assert nothing_is_cut(figure)
    assert nothing_is_cut(believable.plot_subgroup_forest(made(1)))


def test_a_group_without_a_value_says_why():
    """An undefined metric leaves its line with the reason."""
    figure = believable.plot_subgroup_forest(
        P, Y, np.where(np.arange(400) < 2, "two", "rest"), metric="auc", n_resamples=100, random_state=0
    )
    words = " ".join(text.get_text() for text in figure.axes[0].texts)
    assert "the AUC needs positives and negatives" in words or "undefined" in words
    assert nothing_is_cut(figure)


def test_endless_intervals_end_with_the_axis():
    """Infinite ends are cut there."""
    endless = tuple(replace(group, high=float("inf")) for group in made(2))
    ax = believable.plot_subgroup_forest(made(2, groups=endless)).axes[0]
    ends = [segment[1, 0] for part in ax.collections for segment in part.get_segments()]
    assert ends == pytest.approx([ax.get_xlim()[1]] * 2)


def test_bad_choices_are_refused(found):
    """What was found already needs no data; nothing found is nothing to draw."""
    with pytest.raises(InputError, match="leave actuals, by and sample_weight out"):
        believable.plot_subgroup_forest(found, Y)
    with pytest.raises(InputError, match="by is missing"):
        believable.plot_subgroup_forest(P, Y)
    with pytest.raises(UndefinedError, match="no subgroups"):
        believable.plot_subgroup_forest(replace(found, groups=()))
    with pytest.raises(InputError, match="max_groups must be an integer at least 1"):
        believable.plot_subgroup_forest(found, max_groups=0)
