"""The histogram of scores, and the frame that it shares with a curve."""

from __future__ import annotations

import numpy as np
import pytest

from believable import Predictions
from believable.plots import ScoreHistogram
from believable.plots.frame import Gathered, decimals, frame_end, next_round_number, spread


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_on_an_edge_belong_below(dtype):
    """Bins are right-closed in the type of the scores, and the first owns 0."""
    scores = np.array([0, 0.04, 0.2, 0.2001, 1], dtype)
    gathered = Gathered.of(Predictions(scores, [0, 1, 0, 1, 1], sample_weight=[1, 2, 3, 4, 5]))
    found = ScoreHistogram.of(gathered.points, gathered.dtype)
    assert {int(bin): float(found.weight[bin]) for bin in np.flatnonzero(found.weight)} == {0: 3, 4: 3, 5: 4, 24: 5}
    assert found.total == 15


def test_a_limit_leaves_scores_out():
    """Beyond the last bin scores count for the total alone."""
    gathered = Gathered.of([0.05, 0.1, 0.3], [0, 1, 0])
    found = ScoreHistogram.of(gathered.points, gathered.dtype, 0.1)
    assert (found.weight.sum(), found.total) == (2, 3)
    assert found.edges[-1, 1] == 0.1


def test_frames_end_at_round_numbers():
    """Just above small scores and nearly all of their rates; at 1 for others; where asked, if asked."""
    ends = [next_round_number(x) for x in (0.0123, 0.012, 0.99e-3, 0.21, 0.0)]
    assert ends == [0.015, 0.012, 0.001, 0.25, 1.0]
    score, weight = np.linspace(0, 0.05, 200), np.ones(200)
    rate = np.append(np.linspace(0, 0.06, 199), 1.0)
    assert frame_end(None, score, rate, weight) == 0.08
    assert frame_end(None, score, np.full(200, 0.5), weight) == 1
    assert frame_end(0.3, score, rate, weight) == 0.3


def test_three_digits_are_shown():
    """Small numbers get more decimals, others three."""
    assert [decimals(x) for x in (0.5, 0.1, 0.099, 0.0123, 0.00123, 0.0, float("inf"))] == [3, 3, 4, 4, 5, 3, 3]


def test_long_lines_are_thinned():
    """Both ends and what is asked for stay."""
    shown = spread(100_000, 777)
    assert {0, 777, 99_999} <= set(shown.tolist())
    assert len(shown) <= 2001
    assert spread(3).tolist() == [0, 1, 2]
