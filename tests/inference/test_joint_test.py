"""Several tests of calibration together hold their level, see what each alone is blind to, and bound the error."""

from __future__ import annotations

import math

import numpy as np
import pytest

from believable import Predictions
from believable.inference.joint_test import ScoreGroups, _looks, joint_test
from believable.stats.source import count_points

ALPHA = 0.05


def outcome_of(p, y, w=None, seed=0, n_draws=500):
    """The test of these rows."""
    (points,) = count_points(Predictions(p, y, sample_weight=w))
    return joint_test(points, ALPHA, n_draws, np.random.default_rng(seed))


def literal(p, y, w):
    """Average, slope and intercept, Kuiper, and the bins of equal weight, row by row and in sorted order."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    p, y, w = ([values[i] for i in order] for values in (p, y, w))
    u0 = u1 = v00 = v01 = v11 = running = high = low = 0.0
    for score, outcome, weight in zip(p, y, w, strict=True):
        logit = math.log(score / (1 - score))
        u0 += weight * (outcome - score)
        u1 += weight * (outcome - score) * logit
        variance = weight**2 * score * (1 - score)
        v00, v01, v11 = v00 + variance, v01 + variance * logit, v11 + variance * logit**2
        running += weight * (outcome - score)
        high, low = max(high, running), min(low, running)
    det = v00 * v11 - v01**2
    cox = math.sqrt((v11 * u0**2 - 2 * v01 * u0 * u1 + v00 * u1**2) / det)
    return abs(u0), cox, high - low


@pytest.mark.parametrize("weighted", [False, True])
def test_the_statistics_are_those_of_the_loop(weighted):
    """With as many groups as scores nothing is lost."""
    rng = np.random.default_rng(1)
    p, y = rng.uniform(0.05, 0.95, 120), rng.integers(0, 2, 120)
    w = rng.uniform(0.5, 2, 120) if weighted else np.ones(120)
    (points,) = count_points(Predictions(p, y, sample_weight=w if weighted else None))
    groups = ScoreGroups.of(points)
    looks, _ = _looks(groups, groups.excess[None], np.diag(groups.variance))
    assert looks[:3, 0] == pytest.approx(literal(p.tolist(), y.tolist(), w.tolist()), rel=1e-9)


def test_bins_are_tenths_of_the_rows():
    """The gaps of ten bins of equal counts add up, and the worst is in standard errors."""
    rng = np.random.default_rng(2)
    p, y = np.sort(rng.uniform(0.05, 0.95, 100)), rng.integers(0, 2, 100)
    (points,) = count_points(Predictions(p, y))
    groups = ScoreGroups.of(points)
    looks, _ = _looks(groups, groups.excess[None], np.diag(groups.variance))
    gaps = [sum(y[k : k + 10]) - sum(p[k : k + 10]) for k in range(0, 100, 10)]
    errors = [math.sqrt(sum(p[k : k + 10] * (1 - p[k : k + 10]))) for k in range(0, 100, 10)]
    assert looks[3, 0] == pytest.approx(sum(map(abs, gaps)))
    assert looks[4, 0] == pytest.approx(max(abs(gap) / error for gap, error in zip(gaps, errors, strict=True)))


@pytest.mark.slow
@pytest.mark.parametrize("scores", ["even", "rare", "constant", "weighted"])
def test_the_level_is_held_together(scores):
    """Of 200 calibrated data sets about 5 % are rejected, whatever the scores."""
    rng = np.random.default_rng(3)
    rejected = 0
    for i in range(200):
        p = {"rare": rng.beta(0.6, 30, 400), "constant": np.full(400, 0.3)}.get(scores, rng.random(400))
        w = rng.exponential(size=400) if scores == "weighted" else None
        rejected += outcome_of(p.clip(1e-6), rng.random(400) < p, w, i).p_value <= ALPHA
    assert rejected <= 20  # of a chance of 5 %, more come 1 time in 300


@pytest.mark.parametrize("slope", [0.5, 0.0, -0.5])
def test_it_sees_what_the_ece_of_rare_events_does_not(slope):
    """At a prevalence of 0.5 % the order of the scores may be reversed while the ECE is within its noise."""
    rng = np.random.default_rng(4)
    p = rng.beta(0.6, 120, 20_000).clip(1e-6)
    centre = math.log(0.005 / 0.995)
    y = rng.random(20_000) < 1 / (1 + np.exp(-(centre + slope * (np.log(p / (1 - p)) - centre))))
    found = outcome_of(p, y)
    assert found.p_value < 0.01
    assert found.at_least > 0


@pytest.mark.slow
def test_the_bound_is_below_the_error():
    """What the tests show for sure is seldom more than the mean distance of scores and rates."""
    rng = np.random.default_rng(5)
    above = 0
    for i in range(60):
        p = rng.random(1000)
        rate = np.clip(p + rng.choice([-0.08, 0.08]) * np.sin(6 * p), 0, 1)
        found = outcome_of(p, rng.random(1000) < rate, seed=i)
        above += found.at_least > np.abs(rate - p).mean()
        assert (found.at_least > 0) == (found.p_value <= ALPHA)
    assert above <= 5


def test_certain_scores():
    """Scores of 0 and 1 that are right are never rejected, and always where one is wrong."""
    assert outcome_of([0.0, 0.0, 1.0, 1.0], [0, 0, 1, 1]).p_value == 1
    assert outcome_of([0.0] * 50 + [1.0] * 50, [0] * 49 + [1] + [1] * 50).p_value <= 1 / 100


@pytest.mark.parametrize("far", [18, 22, 26])
def test_certain_and_right_is_a_tie(far):
    """Scores next to 0 and 1 that are all right are what nearly every draw shows, whatever rounding does."""
    rng = np.random.default_rng(far)
    for _ in range(5):
        p = 1 / (1 + np.exp(-(rng.normal(size=2000) * 2 + far * rng.choice([-1, 1], 2000))))
        points = count_points(Predictions(p, rng.random(2000) < p), notion="binary")[0]
        assert joint_test(points, 0.05, 500, np.random.default_rng(0)).p_value > 0.05


def test_a_common_factor_of_weights_changes_nothing():
    """Weights that depend on the outcome too, however small or large they are."""
    rng = np.random.default_rng(4)
    p = rng.beta(1, 4, 600)
    y = (rng.random(600) < 0.85 * p).astype(int)
    w = np.where(y == 1, rng.choice([0.2, 4.0], 600), 1.0)
    found = []
    for factor in (1.0, 1e-12, 1e9 / 3):
        points = count_points(Predictions(p, y, sample_weight=w * factor), notion="binary")[0]
        found.append(joint_test(points, 0.05, 500, np.random.default_rng(0)))
    assert [one.p_value for one in found] == [found[0].p_value] * 3
    assert [one.at_least for one in found] == pytest.approx([found[0].at_least] * 3)
