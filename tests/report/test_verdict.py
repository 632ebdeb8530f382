"""The verdict says how good, which way, and where."""

from __future__ import annotations

import numpy as np
import pytest

import believable
from believable.errors import InputError
from believable.report import verdict
from believable.report.judgement import grade

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


@pytest.mark.parametrize("n", [20, 50, 200, 2000])
def test_a_perfect_model_is_not_called_poor(n):
    """With few rows a perfect model shows a large ECE: nineteen times out of twenty it is told from no perfect one."""
    rng = np.random.default_rng(n)
    told = 0
    for _ in range(200):
        p = rng.random(n)
        told += verdict(p, (rng.random(n) < p).astype(int)).beyond_chance
    assert told <= 22  # 10 are expected; more than 22 has a chance of 2 in 10,000


@pytest.mark.parametrize(("p", "n"), [(0.001, 1000), (0.01, 100), (0.3, 50)])
def test_rare_events_raise_no_false_alarm(p, n):
    """A perfect model of rare events is seldom called too high or too low on the whole."""
    rng = np.random.default_rng(1)
    judged = [verdict(np.full(n, p), (rng.random(n) < p).astype(int)) for _ in range(300)]
    assert sum(one.off_on_the_whole for one in judged) <= 36  # the counts are skewed: up to 8 % rather than 5 %
    assert sum(one.direction != "unclear" for one in judged) <= 36


def test_certain_and_right_is_not_off():
    """Scores of exactly 0 and 1 that are right are inside their interval, for every number of rows."""
    for n in range(1, 400, 7):
        table = believable.reliability_table([0.0] * n + [1.0] * n, [0] * n + [1] * n, n_bins=2)
        assert table.low[0] == 0
        assert table.high[1] == 1
        assert "*" not in str(table)
        assert not verdict([0.0] * n, [0] * n).places


def test_all_right_is_exactly_right():
    """A weighted share of everything is 1, not one rounding above."""
    rng = np.random.default_rng(3)
    for n in (1, 7, 24, 1000):
        weights = rng.random(n)
        assert believable.accuracy(np.tile([0.3, 0.7], (n, 1)), [1] * n, sample_weight=weights) == 1
        assert believable.accuracy([0.7] * n, [1] * n, sample_weight=weights) == 1
        assert verdict(np.tile([0.3, 0.7], (n, 1)), [1] * n, sample_weight=weights)


def test_nothing_said_of_ten_right_rows():
    """Ten right answers at 0.99 are what a perfect model gives."""
    judged = verdict([0.99] * 10, [1] * 10)
    assert not judged.off_on_the_whole
    assert judged.direction == "unclear"


def test_statistics_are_named_in_the_refusal():
    """What needs the predictions says so."""
    stats = believable.BinStats.of(believable.Predictions([0.5], [1]))
    with pytest.raises(InputError, match="this needs the predictions themselves, not a BinStats"):
        verdict(stats)


def test_the_error_by_chance_is_that_of_a_simulation():
    """What chance would show is the mean over outcomes drawn row by row."""
    p = RNG.beta(0.5, 1.5, 400)
    w = RNG.random(400)
    simulated = [believable.expected_calibration_error(p, RNG.random(400) < p, sample_weight=w) for _ in range(2000)]
    judged = verdict(p, RNG.random(400) < p, sample_weight=w)
    assert judged.by_chance == pytest.approx(
        np.mean(simulated), rel=0.05
    )  # 1000 and 2000 draws, weights by their effective number


def test_rare_events_are_judged_on_the_whole():
    """Risks off by a factor are named, however small the ECE is, and so are bins that tell little."""
    p = RNG.beta(0.6, 30, 5000)
    judged = verdict(p, (RNG.random(5000) < np.minimum(2.5 * p, 1)).astype(int))
    assert judged.grade == "excellent"
    assert judged.beyond_chance
    assert judged.off_on_the_whole
    text = str(judged)
    assert text.startswith("The error is small on the scale of the ECE, but real: ECE 0.0")
    assert "On the whole the scores are too low: mean score 0.0" in text
    assert "times as often as predicted." in text
    assert "try quantile bins" in text


def test_few_rows_get_no_grade():
    """Where chance explains a large ECE, no grade is given."""
    judged = verdict([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1])
    assert not judged.beyond_chance
    assert str(judged).startswith("Calibration cannot be told from perfect with so few rows: ECE 0.")


def test_one_curve_only():
    """A verdict is about one curve."""
    with pytest.raises(InputError, match="a verdict is about one curve"):
        verdict([[0.5, 0.5]], [0], notion="classwise")
    assert "No range of scores is off" in str(verdict([0.5], [1]))
