"""Spiegelhalter's test against its literal definition, and against its level."""

import math
from math import fsum

import numpy as np
import pytest
from scipy.stats import norm

from believable import CellStats, Predictions, ScoreSums, spiegelhalter
from believable.errors import InputError, UndefinedError
from tests.metrics.literal import BINARY, MATRIX, MULTILABEL, choices, over, pairs


def literal(rows):
    spread = fsum(w * (y - p) * (1 - 2 * p) for p, y, w in rows)
    variance = fsum(w * w * (1 - 2 * p) ** 2 * p * (1 - p) for p, _, w in rows)
    if variance == 0:
        return math.copysign(math.inf, spread) if spread else 0.0
    return spread / math.sqrt(variance)


def check(found, rows):
    z = literal(rows)
    assert found.statistic == pytest.approx(z, rel=1e-9, abs=1e-12)
    assert found.p_value == pytest.approx(2 * norm.sf(abs(z)), rel=1e-8, abs=1e-300)
    assert (found.df, found.n, found.method) == (None, len(rows), "normal")


@over(BINARY)
def test_definition(ask, data):
    """Sum of w (y - p)(1 - 2p) over the root of its variance, two-sided."""
    check(ask(spiegelhalter, data), pairs(data)[0])


@over(MATRIX)
@choices({}, {"notion": "rth", "r": 2}, {"notion": "within_top_r", "r": 2}, name="view")
def test_matrix(ask, data, view):
    """Of a matrix it is that of the confidences, or of another notion with one group."""
    check(ask(spiegelhalter, data, **view), pairs(data, **view)[0])


@pytest.mark.parametrize(
    ("p", "y", "z", "p_value"),
    [
        ([0.0, 1.0, 0.5], [0, 1, 1], 0.0, 1.0),
        ([0.0, 1.0, 0.5], [1, 1, 1], math.inf, 0.0),
        ([1.0], [0], math.inf, 0.0),
        ([0.5, 0.5], [0, 0], 0.0, 1.0),
    ],
)
def test_limits(p, y, z, p_value):
    """0/0 is 0 with p-value 1, x/0 infinite with p-value 0."""
    found = spiegelhalter(p, y)
    assert (found.statistic, found.p_value) == (z, p_value)


def test_statistics():
    """Sums of binary predictions, and cells on a grid that holds the scores, give the test of the data."""
    data = BINARY["ties and weights"]
    checked = Predictions(data.scores, data.labels, sample_weight=data.weights)
    expected = spiegelhalter(checked)
    for source in (ScoreSums.of(checked), CellStats.of(checked)):
        found = spiegelhalter(source)
        assert found.statistic == pytest.approx(expected.statistic, rel=1e-10)
        assert found.n == expected.n


def test_refusals():
    """Sums over classes have another variance; several groups have no one test."""
    matrix = Predictions(MATRIX["random"].scores, MATRIX["random"].labels)
    with pytest.raises(UndefinedError, match="needs binary ScoreSums, these are multiclass"):
        spiegelhalter(ScoreSums.of(matrix))
    with pytest.raises(UndefinedError, match="one set of scores, but there are 4"):
        spiegelhalter(matrix, notion="classwise")
    labels = MULTILABEL["multilabel"]
    with pytest.raises(UndefinedError, match="these are multilabel"):
        spiegelhalter(ScoreSums.of(Predictions(labels.scores, labels.labels, multilabel=True)))
    with pytest.raises(InputError, match="leave r out"):
        spiegelhalter(ScoreSums.of(Predictions([0.5], [1])), r=1)


@pytest.mark.parametrize("weighted", [False, True])
def test_size(weighted):
    """Of calibrated scores it rejects 5 % at the level 5 %, with weights too."""
    rng = np.random.default_rng(32)
    p = rng.beta(1, 2, 300)
    w = rng.exponential(size=300) if weighted else None
    found = [spiegelhalter(p, rng.random(300) < p, sample_weight=w).p_value for _ in range(1500)]
    assert 0.035 <= np.mean(np.array(found) < 0.05) <= 0.066


def test_size_of_confidences():
    """Of the confidences of calibrated rows it holds its level as well."""
    rng = np.random.default_rng(33)
    matrix = rng.dirichlet(np.ones(3), 300)
    cumulative = matrix.cumsum(axis=1)
    found = []
    for _ in range(1000):
        labels = np.minimum((rng.random((300, 1)) > cumulative).sum(axis=1), 2)
        found.append(spiegelhalter(matrix, labels).p_value)
    assert 0.03 <= np.mean(np.array(found) < 0.05) <= 0.072
