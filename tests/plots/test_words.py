"""The picture of the scale of words, with scores and intervals on it."""

from __future__ import annotations

import numpy as np
import pytest

from believable import confidence_words, plot_confidence_words
from believable.decide import SCALE
from believable.errors import InputError
from believable.plots.words import WORD_BANDS
from tests.plots.drawn import nothing_is_cut


def logit(p):
    return np.log(p / (1 - np.asarray(p)))


def test_every_score_has_its_line_and_words():
    """Dots, intervals and words are those given, in their order from the top."""
    p, low, high = [0.3, 0.8, 0.95], [0.2, 0.7, 0.5], [0.4, 0.9, 0.99]
    figure = plot_confidence_words(p, (low, high), names=["a", "b", "c"], title="mine")
    ax = figure.axes[0]
    x, y = ax.lines[-1].get_xydata().T
    assert np.allclose(x, logit(p))
    assert y.tolist() == [0, -1, -2]
    drawn = [part[:, 0] for part in ax.collections[-1].get_segments()]
    assert np.allclose(drawn, np.column_stack([logit(low), logit(high)]))
    assert [text.get_text() for text in ax.texts][-3:] == confidence_words(p, (low, high))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b", "c"]
    assert ax.get_title("left") == "mine"


def test_the_bands_are_the_scale():
    """Bands change where the word of a lone probability does, and are named so."""
    ax = plot_confidence_words(0.5).axes[0]
    named = [" ".join(text.get_text().split()) for text in ax.texts[:7]]
    middles = [0.005, 0.05, 0.2, 0.5, 0.8, 0.95, 0.995]
    assert named == confidence_words(middles, style="word")
    assert set(WORD_BANDS) == {end for _, low, high in SCALE[:7] for end in (low, high)} - {0, 1}
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "10", "33", "66", "90", "99"]
    for border in WORD_BANDS:
        below, above = confidence_words([border - 1e-6, border + 1e-6], style="word")
        assert below != above


def test_ends_are_cut_at_the_axis(tmp_path):
    """0 and 1 have no log-odds, and lie at the ends."""
    ax = plot_confidence_words([0, 1], ([0, 0.9], [0.1, 1]), tmp_path / "a.png").axes[0]
    assert ax.lines[-1].get_xdata() == pytest.approx(ax.get_xlim())
    assert (tmp_path / "a.png").stat().st_size > 1000


def test_one_and_many_fit():
    """Nothing is cut: a lone score with an interval, forty with long names."""
    assert nothing_is_cut(plot_confidence_words(0.8, (0.7, 0.9)))
    assert nothing_is_cut(plot_confidence_words(0.8, [0.7, 0.9]))
    assert nothing_is_cut(plot_confidence_words(np.linspace(0, 1, 40), names=["a name that goes on and on"] * 40))


def test_bad_choices_are_refused():
    """None, too many, or names that do not fit."""
    for p in ([], np.full(41, 0.5)):
        with pytest.raises(InputError, match="from 1 to 40 probabilities"):
            plot_confidence_words(p)
    with pytest.raises(InputError, match="names must be one for each of 1"):
        plot_confidence_words(0.5, names=["a", "b"])
