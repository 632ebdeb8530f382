"""The forest plot of segments that a search found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

import believable
from believable.errors import InputError
from believable.inference.segments import DIRECTIONS_IN_WORDS, Segment
from believable.plots.segments import LOOK
from believable.stats import SegmentStats
from tests.plots.drawn import legend, nothing_is_cut, title

RNG = np.random.default_rng(4)
N = 4000
P = RNG.random(N)
BY = {"site": RNG.choice(["east", "north", "south"], N), "sex": RNG.choice(["f", "m"], N)}
WRONG = np.where(BY["site"] == "south", 0.6 * P, np.where((BY["site"] == "east") & (BY["sex"] == "f"), P**0.4, P))
Y = (RNG.random(N) < WRONG).astype(int)


@pytest.fixture(scope="module")
def found():
    """A level that is over-predicted, and an intersection that is under-predicted."""
    return believable.find_segments(P, Y, BY)


def made(n, **changed):
    """So many segments, each with a level of its own."""
    ways = list(LOOK)
    segments = tuple(
        Segment(
            where={"a column": f"level {i}"},
            n=1000 + i,
            mean_score=0.3,
            rate=0.4 + 0.001 * i,
            expected=0.3,
            gap=0.1 + 0.001 * i,
            low=0.05,
            high=0.2,
            slope=1.0,
            slope_low=0.8,
            slope_high=1.2,
            p_value=1e-9,
            adjusted=1e-7,
            direction=ways[i % 4],
        )
        for i in range(n)
    )
    found = believable.find_segments(P[:200], (P[:200] > RNG.random(200)).astype(int), BY["site"][:200])
    return replace(found, **({"segments": segments, "searched": 100} | changed))


def names(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def dots(ax):
    """Gaps that were drawn, by line."""
    return {int(-y): x for one in ax.lines if one.get_marker() == "o" for x, y in one.get_xydata()}


def intervals(ax):
    return {int(-part[0, 1]): tuple(part[:, 0]) for lines in ax.collections for part in lines.get_segments()}


def test_each_segment_has_its_line(found):
    """Name, gap, interval, rows and their rates, surest first."""
    ax = believable.plot_segments(found).axes[0]
    assert names(ax) == [one.name for one in found]
    assert len(found) == 2
    for i, one in enumerate(found):
        assert dots(ax)[i] == pytest.approx(one.gap)
        assert intervals(ax)[i] == pytest.approx((one.low, one.high))
    beside = [text.get_text() for text in ax.texts]
    columns = np.array(beside).reshape(4, -1).tolist()
    assert columns == [
        ["Rows", *(f"{one.n:,}" for one in found)],
        ["Predicted", *(f"{one.mean_score:.3f}" for one in found)],
        ["Observed", *(f"{one.rate:.3f}" for one in found)],
        ["Elsewhere", *(f"{one.expected:.3f}" for one in found)],
    ]
    assert ax.get_xlabel() == "Observed rate minus that of other rows with the same scores (elsewhere)"


def test_the_axis_holds_0_and_all_intervals(found):
    ax = believable.plot_segments(found).axes[0]
    low, high = ax.get_xlim()
    ends = [0, *(one.low for one in found), *(one.high for one in found)]
    assert low < min(ends)
    assert max(ends) < high
    assert ax.lines[0].get_xdata() == [0, 0]


def test_colours_say_how_scores_are_wrong():
    """One for each direction, with its words in the legend."""
    assert set(LOOK) == set(DIRECTIONS_IN_WORDS)
    ax = believable.plot_segments(made(6)).axes[0]
    assert legend(ax) == [words for _, words in LOOK.values()]
    for i, (colour, words) in enumerate(LOOK.values()):
        drawn = [one for one in ax.lines if one.get_color() == colour and len(one.get_xdata())]
        assert [(-y).tolist() for one in drawn for y in one.get_ydata()] == [k for k in range(6) if k % 4 == i], words


def test_the_title_counts():
    """What was found among what was searched, how sure that is, and what is left out."""
    assert title(believable.plot_segments(made(3))) == (
        "3 of 100 segments clearly differ from the other rows\nFalse discovery rate 0.05, 95 % intervals"
    )
    assert title(believable.plot_segments(made(1, searched=1, rate=0.1, level=0.999))) == (
        "1 of 1 segment clearly differs from the other rows\nFalse discovery rate 0.1, 99.9 % intervals"
    )
    few = believable.plot_segments(made(5), max_segments=2, title="mine")
    assert title(few).splitlines()[0] == "mine"
    assert title(few).endswith("95 % intervals; the surest 2 are shown")
    assert names(few.axes[0]) == ["a column = level 0", "a column = level 1"]
    assert title(believable.plot_segments(made(5), max_segments=1)).endswith("; the surest is shown")


def test_nothing_found_is_said():
    """With what was searched; and that nothing was, if no segment has the rows."""
    figure = believable.plot_segments(made(0, segments=()))
    assert title(figure) == "No segment clearly differs from the other rows"
    assert [text.get_text() for text in figure.axes[0].texts] == [
        "100 segments of at least 30 rows were tested,\nby group\n\nSmall segments and small differences may go unseen."
    ]
    assert legend(figure.axes[0]) == []
    assert nothing_is_cut(figure)
    none = believable.plot_segments(P, Y, BY, min_rows=3000)
    assert title(none) == "No segment was tested"
    assert [text.get_text() for text in none.axes[0].texts] == [
        "No segment has at least 3,000 rows, and as many outside it,\nby site, sex"
    ]


def test_predictions_are_searched_first(found):
    """With the same choices; a statistic too."""
    for figure in (
        believable.plot_segments(P, Y, BY),
        believable.plot_segments(SegmentStats.of(believable.Predictions(P, Y), BY)),
    ):
        assert dots(figure.axes[0]) == pytest.approx(dots(believable.plot_segments(found).axes[0]))
    single = believable.plot_segments(P, Y, BY, depth=1, rate=0.01, level=0.9, sample_weight=np.full(N, 2))
    expected = believable.find_segments(P, Y, BY, depth=1, rate=0.01, level=0.9)
    assert names(single.axes[0]) == [one.name for one in expected]
    assert title(single).endswith("False discovery rate 0.01, 90 % intervals")


def test_a_panel_has_room_for_rows_only(found):
    """A given ax shows no rates."""
    figure = Figure(layout="constrained", figsize=(12, 4))
    left, _ = figure.subplots(1, 2)
    assert believable.plot_segments(found, ax=left) is figure
    assert [text.get_text() for text in left.texts] == ["Rows", *(f"{one.n:,}" for one in found)]


def test_long_names_and_many_segments_fit():
    """Names have a line for each column, shortened; lines do not touch, and nothing is cut."""
    where = {f"a column with {word} name": f"a level that goes on and on {word}" for word in ("this", "that")}
    long = tuple(replace(one, where=where) for one in made(45).segments)
    figure = believable.plot_segments(made(45, segments=long), title="mine", max_segments=45)
    assert names(figure.axes[0])[0].count("\n") == 1
    assert "…" in names(figure.axes[0])[0]
    assert len(names(figure.axes[0])) == 45
    assert nothing_is_cut(figure)
    assert nothing_is_cut(believable.plot_segments(made(1)))


def test_it_is_saved(found, tmp_path):
    for ending in ("png", "svg"):
        believable.plot_segments(found, save_path=tmp_path / f"segments.{ending}")
        assert (tmp_path / f"segments.{ending}").stat().st_size > 1000


def test_bad_choices_are_refused(found):
    """What was found already needs no data."""
    with pytest.raises(
        InputError, match="a result of find_segments already contains outcomes and weights: leave actuals out"
    ):
        believable.plot_segments(found, Y)
    with pytest.raises(InputError, match="by is missing"):
        believable.plot_segments(P, Y)
    for most in (0, 51):
        with pytest.raises(InputError, match=f"max_segments must be an integer from 1 to 50, got {most}"):
            believable.plot_segments(found, max_segments=most)
