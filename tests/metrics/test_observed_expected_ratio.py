"""The observed/expected ratio against its literal definition."""

import math
from dataclasses import replace
from math import fsum
from statistics import NormalDist

import numpy as np
import pytest

from believable import CellStats, Predictions, ScoreSums, observed_expected_ratio
from believable.errors import InputError, UndefinedError
from tests.metrics.literal import BINARY, MATRIX, MULTILABEL, SOFT, choices, close, over, pairs


def check(found, rows, squares=True):
    observed, expected = fsum(w * y for _, y, w in rows), fsum(w * p for p, _, w in rows)
    assert found.value == close(observed / expected)
    if not observed:
        size = fsum(w for _, _, w in rows) / fsum(w * w for _, _, w in rows)
        assert (found.low, found.high) == (0, close(-math.log(0.025) / (expected * size)))
    elif squares:
        error = NormalDist().inv_cdf(0.975) * math.sqrt(fsum((w * (y - p)) ** 2 for p, y, w in rows)) / observed
        assert found.low == pytest.approx(found.value * math.exp(-error), rel=1e-10)
        assert found.high == pytest.approx(found.value * math.exp(error), rel=1e-10)
    assert 0 <= found.low <= found.value <= found.high


@over(BINARY)
def test_definition(ask, data):
    """Sum of w y over sum of w p, with an interval on the log scale; without events, the bound of a Poisson number."""
    check(ask(observed_expected_ratio, data), pairs(data)[0])


@over(SOFT)
def test_soft_labels(ask, data):
    """A share counts as so much of an event."""
    check(ask(observed_expected_ratio, data), pairs(data)[0], squares=False)


@over(MATRIX)
@choices({}, {"notion": "rth", "r": 2}, {"notion": "within_top_r", "r": 2}, name="view")
def test_matrix(ask, data, view):
    """Of a matrix it is that of the confidences, or of another notion with one group."""
    rows = pairs(data, **view)[0]
    if not any(p for p, _, _ in rows):
        with pytest.raises(UndefinedError, match="all scores are 0"):
            ask(observed_expected_ratio, data, **view)
        return
    check(ask(observed_expected_ratio, data, **view), rows)


def test_statistics():
    """Sums and cells give what the data give; sums of a matrix have too wide an interval."""
    data = BINARY["ties and weights"]
    checked = Predictions(data.scores, data.labels, sample_weight=data.weights)
    expected = observed_expected_ratio(checked)
    for source in (ScoreSums.of(checked), CellStats.of(checked)):
        found = observed_expected_ratio(source)
        assert (found.value, found.low, found.high) == close((expected.value, expected.low, expected.high))
    matrix = Predictions(MATRIX["random"].scores, MATRIX["random"].labels)
    exact, wide = observed_expected_ratio(matrix), observed_expected_ratio(ScoreSums.of(matrix))
    assert wide.value == close(exact.value)
    assert wide.low < exact.low < exact.high < wide.high


def test_replicates():
    """Many outcomes at once give the values they give alone."""
    cells = CellStats.of(Predictions(BINARY["ties"].scores, BINARY["ties"].labels))
    wy = np.stack([cells.n * 0.0, cells.n * 0.5])
    found = observed_expected_ratio(replace(cells, wy=wy))
    assert found.tolist() == [0, close(observed_expected_ratio(replace(cells, wy=wy[1])).value)]


def test_limits():
    """Perfect scores have no error; enormous weights have no upper end; scores of 0 have no ratio."""
    perfect = observed_expected_ratio([0.0, 1.0], [0, 1])
    assert (perfect.value, perfect.low, perfect.high) == (1, 1, 1)
    open_ended = observed_expected_ratio([0.5, 0.5], [0, 1], sample_weight=[1e9, 1e-9])
    assert open_ended.high == math.inf
    with pytest.raises(UndefinedError, match="needs a score above 0: all scores are 0"):
        observed_expected_ratio([0.0, 0.0], [0, 1])


def test_scores_next_to_zero():
    """Scores whose ratio no float holds are an error; without events there is nothing to overflow."""
    for scores in ([1e-310, 1e-310], [5e-324, 0.0]):
        with pytest.raises(UndefinedError, match="ratio overflows: all scores are nearly 0"):
            observed_expected_ratio(scores, [1, 0])
    cells = CellStats.of(Predictions([1e-310, 1e-310], [1, 0]))
    with pytest.raises(UndefinedError, match="ratio overflows"):
        observed_expected_ratio(replace(cells, wy=np.array([[1.0], [0.0]])))
    none = observed_expected_ratio([1e-310, 1e-310], [0, 0])
    assert (none.value, none.low, none.high) == (0, 0, math.inf)


def test_the_highest_level():
    """The last level below 1 has an interval."""
    found = observed_expected_ratio([0.2, 0.4, 0.6, 0.8], [0, 1, 1, 1], level=1 - 2**-53)
    assert 0 < found.low < found.value < found.high < math.inf


def test_refusals(ask):
    """Several groups, and what a statistic already holds, are errors."""
    with pytest.raises(UndefinedError, match="one set of scores, but there are 4"):
        ask(observed_expected_ratio, MATRIX["random"], notion="classwise")
    labels = MULTILABEL["multilabel"]
    with pytest.raises(UndefinedError, match="pass the column of one label"):
        observed_expected_ratio(ScoreSums.of(Predictions(labels.scores, labels.labels, multilabel=True)))
    with pytest.raises(InputError, match="leave notion out"):
        observed_expected_ratio(ScoreSums.of(Predictions([0.5], [1])), notion="binary")


def test_coverage():
    """Intervals of calibrated scores hold 1 about as often as they say."""
    rng, hits = np.random.default_rng(13), 0
    for _ in range(1000):
        p = rng.beta(1, 3, 200)
        found = observed_expected_ratio(p, rng.random(200) < p)
        hits += found.low <= 1 <= found.high
    assert 0.93 <= hits / 1000 <= 0.975
