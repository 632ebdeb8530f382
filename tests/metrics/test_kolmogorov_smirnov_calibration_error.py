"""The Kolmogorov–Smirnov calibration error against its literal definition."""

from dataclasses import replace
from math import fsum

import numpy as np
import pytest

from believable import CellStats, Predictions, kolmogorov_smirnov_calibration_error
from believable.metrics.cumulative import gap_range, largest_gap
from believable.stats.source import count_points
from tests.metrics.literal import BINARY, MATRIX, MULTILABEL, SOFT, choices, close, mean, over, pairs


def steps(group):
    """0, and C after each distinct score."""
    total = fsum(w for _, _, w in group)
    scores = sorted({p for p, _, _ in group})
    return [0.0] + [fsum(w * (y - p) for p, y, w in group if p <= s) / total for s in scores]


def literal(data, **view):
    groups = [group for group in pairs(data, **view) if group]
    return mean([(max(abs(c) for c in steps(group)), fsum(w for _, _, w in group)) for group in groups])


@over(BINARY, SOFT, MULTILABEL)
def test_definition(ask, data):
    """The largest cumulative gap after any distinct score."""
    assert ask(kolmogorov_smirnov_calibration_error, data) == close(literal(data))


@over(MATRIX)
@choices(
    {"notion": None},
    {"notion": "classwise"},
    {"notion": "top_label"},
    {"notion": "rth", "r": 2},
    {"notion": "within_top_r", "r": 2},
    {"notion": "top_r", "r": 2},
    name="view",
)
def test_matrix(ask, data, view):
    """Of a matrix, the confidences, or any notion; groups are averaged by weight."""
    assert ask(kolmogorov_smirnov_calibration_error, data, **view) == close(literal(data, **view))


def test_ties_are_one_step():
    """Equal scores are added at once: what happens within them does not show."""
    assert kolmogorov_smirnov_calibration_error([0.5] * 4, [1, 1, 0, 0]) == 0


def test_cells():
    """From cells it is the error of the data, up to the width of a cell."""
    rng = np.random.default_rng(3)
    p = rng.random(2000)
    data = Predictions(p, rng.random(2000) < p**2)
    assert kolmogorov_smirnov_calibration_error(CellStats.of(data)) == pytest.approx(
        kolmogorov_smirnov_calibration_error(data), abs=1e-4
    )


def test_replicates():
    """Many outcomes on the same scores are one call, and each is its own value."""
    rng = np.random.default_rng(4)
    (points,) = count_points(Predictions(np.round(rng.random(50), 1), rng.integers(0, 2, 50)))
    many = rng.binomial(points.n, points.score, (6, len(points.score))).astype(float)
    for value in (largest_gap, gap_range):
        expected = [value(replace(points, wy=row)) for row in many]
        assert value(replace(points, wy=many)) == pytest.approx(expected, rel=1e-12)
