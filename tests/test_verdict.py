"""The verdict says how good, which way, and where."""

from __future__ import annotations

import numpy as np
import pytest

from believable.errors import InputError
from believable.report import verdict
from believable.report.verdict import grade

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("ece", "word"),
    [(0, "excellent"), (0.0499, "excellent"), (0.05, "good"), (0.1, "moderate"), (0.15, "poor"), (1, "poor")],
)
def test_grades_follow_the_guideline(ece, word):
    """Below 0.05 excellent, 0.10 good, 0.15 moderate, otherwise poor."""
    assert grade(ece) == word


def test_directions():
    """Too extreme is over-confident, too timid under-confident, and noise is neither."""
    p = RNG.beta(0.7, 0.7, 20_000)
    logit = np.log(p / (1 - p))
    for slope, direction in ((0.5, "over-confident"), (2.0, "under-confident"), (1.0, "unclear")):
        y = (RNG.random(20_000) < 1 / (1 + np.exp(-slope * logit))).astype(int)
        assert verdict(p, y).direction == direction


def test_places_are_runs_of_bins():
    """Where scores are off, the range and the rows are named; neighbours are told together."""
    p = np.repeat([0.05, 0.15, 0.25, 0.55, 0.95], 1000)
    rate = np.repeat([0.05, 0.4, 0.5, 0.3, 0.95], 1000)
    y = (np.tile(np.arange(1000), 5) < rate * 1000).astype(int)
    low, high = verdict(p, y).places
    assert (low.low, low.high, low.n) == (0.1, 0.3, 2000)
    assert (low.conf, low.acc) == pytest.approx((0.2, 0.45))
    assert str(high) == "scores from 0.50 to 0.60 are too high: 0.550 predicted, 0.300 happened (1,000 rows)"


def test_one_curve_only():
    """A verdict is about one curve."""
    with pytest.raises(InputError, match="a verdict is about one curve"):
        verdict([[0.5, 0.5]], [0], notion="classwise")
    assert "No range of scores is off" in str(verdict([0.5], [1]))
