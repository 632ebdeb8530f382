"""The picture of a ranking: intervals in the new order, and lines from the old one."""

from __future__ import annotations

import numpy as np
import pytest

import believable
from believable import plot_ranking
from believable.errors import InputError
from tests.plots.data import P
from tests.plots.drawn import line, nothing_is_cut, title

V = np.random.default_rng(0).gamma(1, 0.02, 400)


def test_the_first_rows_in_their_new_order():
    """Intervals, scores and what they were ranked by are those of the ranking."""
    found = believable.risk_aware_rank(P, variance=V)
    figure = plot_ranking(found, top=10, title="mine")
    ax = figure.axes[0]
    rows = found.order[:10]
    assert np.allclose(line(ax, "Score"), [P[rows], range(1, 11)])
    assert np.allclose(line(ax, "Ranked by this (aversion 1)")[0], found.adjusted[rows])
    drawn = ax.collections[0].get_segments()
    assert np.allclose([part[:, 0] for part in drawn], np.column_stack([found.low, found.high])[rows])
    names = [text.get_text() for text in ax.texts]
    assert sorted(names) == sorted([f"row {row}" for row in rows] + ["Now"])
    new = int(np.sum(found.plain_rank[rows] > 10))
    assert title(figure) == f"mine\nUncertainty counts against a row\n{new} of the first 10 are new"


def test_lines_lead_from_the_old_order():
    """One for each row that is among the first in either order, from its old place to its new one."""
    found = believable.risk_aware_rank(P, variance=V)
    beside = plot_ranking(found, top=10).axes[0].child_axes[0]
    rows = np.flatnonzero((found.rank <= 10) | (found.plain_rank <= 10))
    drawn = sorted(tuple(one.get_ydata()) for one in beside.lines)
    assert drawn == sorted(zip(found.plain_rank[rows], found.rank[rows], strict=True))
    names = [text.get_text() for text in beside.texts]
    assert sorted(names) == sorted([f"row {row}" for row in np.flatnonzero(found.plain_rank <= 10)] + ["By score"])


def test_scores_are_ranked_first(tmp_path):
    """Without a `Ranking` it is computed; one query of several, rows by name, saved."""
    query = np.repeat(["x", "y"], 200)
    names = [f"document {i}" for i in range(400)]
    figure = plot_ranking(
        P, tmp_path / "a.png", interval=(P - 0.1, P + 0.2), aversion=-1, clusters=query, query=1, names=names, top=3
    )
    best = 200 + np.argsort(-P[200:])[:3]
    assert [text.get_text() for text in figure.axes[0].texts if text.get_text() != "Now"] == [
        names[row] for row in sorted(best)
    ]
    assert title(figure) == "Uncertainty counts in favour of a row\nNo new row among the first 3"
    assert (tmp_path / "a.png").stat().st_size > 1000


@pytest.mark.parametrize("n", [1, 2, 60])
def test_few_and_many_rows_fit(n):
    """Nothing is cut, long names neither."""
    names = ["a very long name that goes on and on"] * 400
    assert nothing_is_cut(plot_ranking(P, variance=V, top=n, names=names))
    assert nothing_is_cut(plot_ranking(P[:1], variance=V[:1], top=n))


def test_bad_choices_are_refused():
    """What was found needs no intervals; queries and names must be there."""
    found = believable.risk_aware_rank(P, variance=V)
    with pytest.raises(InputError, match="leave variance, interval and clusters out"):
        plot_ranking(found, variance=V)
    with pytest.raises(InputError, match="there is no query 2: they are numbered from 0 to 0"):
        plot_ranking(found, query=2)
    with pytest.raises(InputError, match="names must be one for each of 400 rows"):
        plot_ranking(found, names=["a"])
    with pytest.raises(InputError, match="top must be an integer from 1 to 60"):
        plot_ranking(found, top=100)
