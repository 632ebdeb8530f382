"""Cox's likelihood-ratio test against a literal difference of log-likelihoods."""

import math

import numpy as np
import pytest

from believable import CellStats, Predictions, cox_test
from believable.errors import ClippedWarning, InputError, UndefinedError
from tests.metrics.literal import BINARY, MATRIX, Data, over
from tests.metrics.logistic_literal import best_shift, log_likelihood, logit, profile, separated, triples

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.ClippedWarning")
RNG = np.random.default_rng(5)
P = RNG.random(200)
Y = (RNG.random(200) < P**1.5).astype(int)
UNWEIGHTED = {name: data for tables in (BINARY, MATRIX) for name, data in tables.items() if data.weights is None}


def highest(rows):
    """The largest log-likelihood of any line: a golden-section search of the slope, with the best shift at each."""
    low, high, ratio = -200.0, 200.0, (math.sqrt(5) - 1) / 2
    for _ in range(60):
        one, other = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, other) if profile(rows, one) > profile(rows, other) else (one, high)
    return profile(rows, (low + high) / 2)


def as_it_is(rows):
    return sum(-math.log1p(math.exp(-(2 * y - 1) * x)) for x, y, _ in rows)


@pytest.mark.parametrize("seed", range(2))
def test_definition(seed):
    """Twice the difference of the log-likelihoods of the best line and of the scores as they are, with two df."""
    rng = np.random.default_rng(seed)
    p = rng.random(60)
    y = (rng.random(60) < 0.2 + 0.6 * p).astype(int)
    rows = triples(Data(p, y))
    found = cox_test(p, y)
    assert found.statistic == pytest.approx(2 * (highest(rows) - as_it_is(rows)), rel=1e-8)
    assert (found.df, found.n, found.method) == (2, 60, "chi-squared")
    assert found.p_value == pytest.approx(math.exp(-found.statistic / 2), rel=1e-12)  # chi-squared with two df


@over(UNWEIGHTED)
def test_every_problem(ask, data):
    """Separated outcomes and one class have a limit; equal scores have no line; the statistic is never negative."""
    rows = triples(data)
    if len({x for x, _, _ in rows}) == 1:
        with pytest.raises(UndefinedError, match="Cox's test needs scores that are not all equal"):
            ask(cox_test, data)
        return
    found = ask(cox_test, data)
    assert found.statistic >= 0
    one_class = len({y for _, y, _ in rows}) == 1
    if one_class or separated(rows):
        if one_class or max(x for x, y, _ in rows if y == 0) != min(x for x, y, _ in rows if y == 1):
            assert found.statistic == pytest.approx(-2 * as_it_is(rows), rel=1e-9)


def test_limits_of_separated_outcomes():
    """Ever steeper lines approach the limit that is used, also with both outcomes at the threshold."""
    for p, y in (
        ([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]),
        ([0.1, 0.4, 0.4, 0.4, 0.9], [0, 0, 1, 1, 1]),
        ([0.1, 0.9], [1, 0]),
    ):
        rows = triples(Data(np.array(p), np.array(y)))
        side = separated(rows)
        steep = max(log_likelihood(rows, best_shift(rows, side * b), side * b) for b in (8.0, 12.0))
        assert cox_test(p, y).statistic == pytest.approx(2 * (steep - as_it_is(rows)), abs=1e-3)


def test_what_it_counts():
    """Cells answer like rows, classes by their confidences; weights, soft labels and several strata are refused."""
    found = cox_test(P, Y)
    assert cox_test(CellStats.of(Predictions(P, Y))).statistic == pytest.approx(found.statistic, rel=1e-3)
    two = np.column_stack([1 - P, P])
    assert cox_test(two, Y, notion="binary").statistic == pytest.approx(found.statistic, rel=1e-12)
    assert cox_test(P, Y, sample_weight=np.ones(200)).statistic == found.statistic
    with pytest.raises(InputError, match="Cox's test does not support weights: it counts rows"):
        cox_test(P, Y, sample_weight=np.arange(200) + 1.0)
    with pytest.raises(InputError, match="Cox's test counts events: it needs outcomes of 0 and 1, not soft labels"):
        cox_test(Predictions(P, Y / 2, soft_labels=True))
    with pytest.raises(UndefinedError, match="Cox's test needs one set of scores"):
        cox_test(two, Y, notion="classwise")
    with pytest.warns(ClippedWarning, match="1 of 3 scores were clipped"):
        wrong = cox_test([0.0, 0.5, 0.7], [1, 0, 1])
    assert wrong.statistic > 2 * -logit(1e-12) - 3


def test_size_and_power():
    """Calibrated scores are rejected at about the level asked for, over-confident ones nearly always."""
    rng = np.random.default_rng(0)
    p = rng.random(500)
    right = [cox_test(p, rng.random(500) < p).p_value for _ in range(400)]
    assert 0.02 < np.mean(np.array(right) < 0.05) < 0.09
    steep = 1 / (1 + ((1 - p) / p) ** 1.8)
    assert np.mean([cox_test(steep, rng.random(500) < p).p_value < 0.05 for _ in range(40)]) > 0.95
