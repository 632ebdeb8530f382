"""Intervals for the true rate at a score, against windows and limits computed literally."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, norm

from believable.errors import InputError
from believable.recalibrate import PlattScaling, rate_interval

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")


def lower_limit(events, m, side):
    """Clopper and Pearson: the rate at which so many events or more have the probability 1 - side, by bisection."""
    if events == 0:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if binom.sf(events - 1, m, middle) < 1 - side else (low, middle)
    return low


def literal_lower(scores, y, x, level, expected):
    """The lower limit from the rows at scores up to x, in the window that Platt scaling expects to be best."""
    side = (1 + level) / 2
    best, limit = -np.inf, 0.0
    inside = np.zeros(len(scores), bool)
    for s in sorted((s for s in set(scores.tolist()) if s <= x), reverse=True):
        inside |= scores == s
        mean, m = expected[inside].mean(), inside.sum()
        worth = mean - norm.ppf(side) * np.sqrt(mean * (1 - mean) / m)
        if worth > best:
            best, limit = worth, lower_limit(y[inside].sum(), m, side)
    return limit


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_literal(tied, level):
    """Both limits are Clopper and Pearson's in the window that Platt scaling expects to be best."""
    rng = np.random.default_rng(0)
    p = rng.random(120).round(1 if tied else 6)
    y = (rng.random(120) < p**2).astype(int)
    expected = PlattScaling(targets="smoothed").fit(p, y).transform(p)
    at = np.array([0.0, 0.05, 0.3, 0.55, 0.9, 1.0])
    found = rate_interval(p, y, at, level=level)
    for x, (low, high) in zip(at, found, strict=True):
        assert low == pytest.approx(literal_lower(p, y, x, level, expected), abs=1e-9)
        assert 1 - high == pytest.approx(literal_lower(-p, 1 - y, -x, level, 1 - expected), abs=1e-9)


def test_it_holds_the_true_rate():
    """In simulations, intervals of 95 % hold the rate at least so often."""
    held, at = [], np.array([0.2, 0.5, 0.8])
    for seed in range(150):
        rng = np.random.default_rng(seed)
        p = rng.random(300)
        low, high = rate_interval(p, rng.random(300) < p**3, at).T
        held.append((low <= at**3) & (at**3 <= high))
    assert np.mean(held) > 0.93


def test_scales_labels_and_order():
    """Raw scores and logits will do, and labels of any two kinds; the order of rows does not matter."""
    rng = np.random.default_rng(1)
    z = rng.normal(size=400)
    y = rng.random(400) < 1 / (1 + np.exp(-z))
    first = rate_interval(z, y, [-1.0, 1], input="logits")
    np.testing.assert_allclose(rate_interval(5 * z - 3, y, 5 * np.array([-1.0, 1]) - 3, input="scores"), first)
    words = np.where(y, "yes", "no")[::-1]
    np.testing.assert_allclose(rate_interval(z[::-1], words, [-1.0, 1], input="logits"), first)


def test_ends_and_equal_scores():
    """Below all scores the interval begins at 0, above all it ends at 1; equal scores give one binomial interval."""
    ends = rate_interval([0.4, 0.6], [0, 1], [0.1, 0.9])
    assert (ends[0, 0], ends[1, 1]) == (0, 1)
    found = rate_interval([0.5] * 40, [0, 1] * 20, [0.5])[0]
    assert found.tolist() == pytest.approx([lower_limit(20, 40, 0.975), 1 - lower_limit(20, 40, 0.975)], abs=1e-9)


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (([[0.1, 0.9]], [1], [0.5]), "scores must be 1-D: the scores of one event, got shape"),
        (([0.1, 0.9], [0, 1], [[0.5]]), "at must be 1-D"),
        (([0.1, 0.9], [1, 1], [0.5]), "y has only one class"),
        (([0.1, 1.9], [0, 1], [0.5]), "must lie in"),
    ],
)
def test_sentences(args, sentence):
    """Several classes, one class and scores of another scale are refused."""
    with pytest.raises(InputError, match=sentence):
        rate_interval(*args)


def test_level():
    """A level of 1 would need the whole range."""
    with pytest.raises(InputError, match="level must lie strictly between 0 and 1"):
        rate_interval([0.1, 0.9], [0, 1], [0.5], level=1)
