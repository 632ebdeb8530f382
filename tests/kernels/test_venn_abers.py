"""Isotonic fits with one more point, against fitting again."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from believable import _kernels


def refitted(points, s):
    """The isotonic fit at s of points (score, w, wy), in exact fractions: distinct scores pooled until they ascend."""
    blocks = []
    for x in sorted({x for x, _, _ in points}):
        blocks.append([[x], *(sum(Fraction(p[i]) for p in points if p[0] == x) for i in (1, 2))])
        while len(blocks) > 1 and blocks[-2][2] * blocks[-1][1] >= blocks[-1][2] * blocks[-2][1]:
            last = blocks.pop()
            blocks[-1] = [mine + theirs for mine, theirs in zip(blocks[-1], last, strict=True)]
    return next(float(wy / w) for xs, w, wy in blocks if s in xs)


def problem(seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 25)
    score = rng.integers(0, rng.integers(2, 40), n).astype(float)
    w = np.ones(n) if seed % 2 else rng.exponential(size=n) * 10.0 ** rng.integers(-2, 3)
    wy = w * (rng.random(n) if seed % 5 == 0 else rng.random(n) < rng.random())
    if seed % 7 == 0:
        wy = w * (score / 40)  # already ascending: every score is a block of its own
    return score, w, wy


def at(steps, s):
    low = steps.low[np.sum(steps.low_from <= s)]
    return low, steps.high[np.sum(steps.high_after < s)]


@pytest.mark.parametrize("seed", range(60))
def test_the_fit_with_one_more_point(seed):
    """At, between and beyond the scores, the steps are what fitting again with a negative and a positive gives."""
    score, w, wy = problem(seed)
    steps = _kernels.venn_abers_steps(score, w, wy)
    points = list(zip(score, w, wy, strict=True))
    for s in np.concatenate([[-1.0], np.unique(score), np.unique(score) + 0.5]):
        exact = [refitted([*points, (s, 1.0, label)], s) for label in (0.0, 1.0)]
        assert at(steps, s) == pytest.approx(exact, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_steps_are_few_and_ascend(seed):
    """Values strictly increase from step to step, low starts at 0, high ends at 1."""
    steps = _kernels.venn_abers_steps(*problem(seed))
    for place, value in ((steps.low_from, steps.low), (steps.high_after, steps.high)):
        assert len(value) == len(place) + 1
        assert np.all(np.diff(place) > 0)
        assert np.all(np.diff(value) > 0)
    assert steps.low[0] == 0
    assert steps.high[-1] == 1


def test_many_scores():
    """With thousands of scores, too, each step is what fitting again gives."""
    rng = np.random.default_rng(0)
    score = rng.random(3000)
    wy = (rng.random(3000) < score**2).astype(float)
    steps = _kernels.venn_abers_steps(score, np.ones(3000), wy)
    for s in (0.05, score[7], 0.5, score[11], 0.97):
        for label, found in zip((0.0, 1.0), at(steps, s), strict=True):
            x = np.append(score, s)
            order = np.lexsort(
                (-np.append(wy, label), x)
            )  # distinct scores but for s: a tie in falling order is pooled
            fit = _kernels.pav(np.ones(3001), np.append(wy, label)[order])
            assert found == pytest.approx(fit[np.flatnonzero(x[order] == s)[0]], rel=1e-13)


def test_huge_and_tiny_weights():
    """Weights from 1e-100 to 1e100 give fits between 0 and 1 that do not decrease."""
    w = np.array([1e-100, 1e100, 1.0, 1e-50, 1e50, 1e100])
    steps = _kernels.venn_abers_steps(np.arange(6.0), w, w * [1, 0, 1, 0, 1, 0])
    for value in (steps.low, steps.high):
        assert np.all(np.diff(value) >= 0)
        assert value.min() >= 0
        assert value.max() <= 1
