"""The scores for ordered classes against their literal definitions."""

from math import fsum, inf, log

import numpy as np
import pytest

from believable import (
    Predictions,
    ScoreSums,
    Summary,
    brier_score,
    compare,
    evaluate,
    interval,
    negative_log_likelihood,
    noise_floor,
    ordinal_log_score,
    ranked_probability_score,
)
from believable.errors import InputError, UndefinedError
from tests.metrics.literal import MATRIX, close, mean, over, rows

SCORES = (ranked_probability_score, ordinal_log_score)


@over(MATRIX)
def test_ranked_probability_score(ask, data):
    """At every threshold, the squared distance from the cumulative probability to whether the label is not above it."""
    literal = []
    for p, y, w in rows(data):
        total = fsum((min(fsum(p[: k + 1]), 1) - (y <= k)) ** 2 for k in range(len(p) - 1))
        literal.append((total / (len(p) - 1), w))
    assert ask(ranked_probability_score, data) == close(mean(literal))


@over(MATRIX)
def test_ordinal_log_score(ask, data):
    """At every threshold, minus the log of the probability of the classes on the label's side."""
    literal = []
    for p, y, w in rows(data):
        sides = [min(fsum(p[: k + 1] if y <= k else p[k + 1 :]), 1) for k in range(len(p) - 1)]
        literal.append((fsum(-log(side) if side > 0 else inf for side in sides), w))
    assert ask(ordinal_log_score, data) == close(mean(literal))


def test_two_classes_have_the_binary_scores():
    """With one threshold, they are the Brier score and the log loss of one event."""
    p, y = np.array([0.1, 0.8, 0.35]), np.array([0, 1, 1])
    two = np.column_stack([1 - p, p])
    assert ranked_probability_score(two, y) == close(brier_score(p, y))
    assert ordinal_log_score(two, y) == close(negative_log_likelihood(p, y))


def test_nearby_is_better_than_far():
    """The Brier score and the log loss cannot tell a neighbour from the far end; these can."""
    near, far = [[0.2, 0.7, 0.1, 0.0]], [[0.2, 0.1, 0.0, 0.7]]
    assert negative_log_likelihood(near, [0]) == negative_log_likelihood(far, [0])
    for score in SCORES:
        assert score(near, [0]) < score(far, [0])


def test_reversed_classes_change_nothing():
    """The order matters, its direction does not; small tails stay exact on both sides."""
    p = np.array([[1 - 3e-18, 1e-18, 2e-18], [0.2, 0.5, 0.3]])
    for y in ([1, 0], [2, 2]):
        for score in SCORES:
            assert score(p, y) == close(score(p[:, ::-1], 2 - np.array(y)))
    assert ordinal_log_score([[1.0, 1e-18, 2e-18]], [2]) == close(-log(3e-18) - log(2e-18))


def test_nothing_is_lost_in_blocks():
    """More rows than a block holds are summed as a whole."""
    rng = np.random.default_rng(0)
    p, y, w = rng.dirichlet(np.ones(4), 40_000), rng.integers(0, 4, 40_000), rng.random(40_000)
    terms = (np.cumsum(p, axis=1)[:, :-1] - (y[:, None] <= np.arange(3))) ** 2
    assert ranked_probability_score(p, y, sample_weight=w) == pytest.approx(np.average(terms.mean(1), weights=w))


def test_only_if_they_are_named():
    """The order of the columns may mean nothing, so `evaluate` asks; a statistic does not hold whole rows."""
    data = Predictions([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]], [0, 2])
    everything = evaluate(data)
    assert "it is for ordered classes: if these are, ask for it by name, 'rps'" in everything.skipped.values()
    assert evaluate(data, metrics=["rps"])["rps"] == ranked_probability_score(data)
    assert evaluate(Summary.of(data), metrics=["ordlog"]).skipped == {
        "ordinal_log_score": "it needs the predictions themselves"
    }
    for statistic in (ScoreSums.of(data), Summary.of(data)):
        with pytest.raises(UndefinedError, match="pass"):
            ranked_probability_score(statistic)
    with pytest.raises(UndefinedError, match="ranked_probability_score reads whole rows: pass the predictions"):
        interval("rps", Summary.of(data))
    with pytest.raises(InputError, match="predictions must have one column per class, in the order of the classes"):
        ranked_probability_score([0.1, 0.8], [0, 1])


def test_inference():
    """Interval, noise floor and comparison come from the rows."""
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(3), 300)
    y = (rng.random(300)[:, None] > np.cumsum(p, axis=1)).sum(axis=1)
    found = interval("rps", p, y, random_state=0, n_resamples=200)
    assert found.low < found.value == ranked_probability_score(p, y) < found.high
    assert noise_floor("ordlog", p, y, random_state=0, n_resamples=100).p_value > 0.05
    other = rng.dirichlet(np.ones(3), 300)
    assert compare(p, other, y, metric="rps", random_state=0, n_resamples=200).high < 0
