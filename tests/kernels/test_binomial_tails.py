"""Tails of sums of binomial numbers, against distributions added up event by event."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import binom, poisson

from believable._kernels import binomial_tails

# factor, number of trials and probability of each binomial number, and what one event changes
SUMS = {
    "one trial": ([1], [1], [0.1], 1),
    "a coin": ([1], [1], [0.5], 1),
    "two trials": ([1], [2], [0.3], 1),
    "ten trials": ([1], [10], [0.1], 1),
    "nearly certain": ([1], [10], [0.995], 1),
    "rare": ([1, 1, 1], [20, 30, 10], [0.01, 0.02, 0.1], 1),
    "different probabilities": ([1, 1, 1], [5, 3, 4], [0.1, 0.5, 0.9], 1),
    "a negative factor": ([1, -1], [6, 9], [0.2, 0.4], 1),
    "a factor of 0": ([-1, 0, 1], [8, 8, 8], [0.2, 0.3, 0.4], 1),
    "events of weight 2": ([2, 2], [5, 8], [0.2, 0.4], 2),
    "events of weight 0.1": ([0.1], [7], [0.3], 0.1),
}


def literal(factor, n, p):
    """The probability of each value of the sum of factor (N - n p), one binomial number after the other."""
    known = {0: 1.0}  # by the number of steps
    step = min(abs(f) for f in factor if f)
    for f, size, q in zip(factor, n, p, strict=True):
        more = {}
        for value, probability in known.items():
            for k in range(size + 1):
                at = value + round(f / step) * k
                more[at] = more.get(at, 0.0) + probability * math.comb(size, k) * q**k * (1 - q) ** (size - k)
        known = more
    mean = sum(f * size * q for f, size, q in zip(factor, n, p, strict=True))
    return {at * step - mean: probability for at, probability in sorted(known.items())}


def tails(factor, n, p, observed, step):
    eta = [math.log(q) - math.log1p(-q) for q in p]
    return binomial_tails(np.array(factor, float), np.array(eta), np.array(n, float), observed, step)


@pytest.mark.parametrize("name", SUMS)
def test_tails_of_every_value(name):
    """Both tails include the value itself; their errors are a few per cent, however small they are; higher is rarer."""
    factor, n, p, step = SUMS[name]
    known = literal(factor, n, p)
    all_found = [tails(factor, n, p, value, step) for value in known]
    assert all(one.above < more.above and one.below > more.below for one, more in pairwise(all_found))
    for value, found in zip(known, all_found, strict=True):
        assert ndtr(-found.above) == pytest.approx(sum(q for at, q in known.items() if at >= value), rel=0.075)
        assert ndtr(-found.below) == pytest.approx(sum(q for at, q in known.items() if at <= value), rel=0.075)


def test_beyond_all_values_tails_are_0_and_1():
    """Nothing is as high as that; everything is as low."""
    assert tails([1, 1], [3, 2], [0.2, 0.4], 10, 1) == (math.inf, -math.inf)
    assert tails([1, 1], [3, 2], [0.2, 0.4], -10, 1) == (-math.inf, math.inf)


@pytest.mark.parametrize(("n", "p", "k"), [(10**6, 0.3, 301_000), (10**6, 1e-5, 25), (10**5, 0.999, 99_850)])
def test_large_numbers(n, p, k):
    """As scipy.stats.binom has them."""
    found = tails([1], [n], [p], k - n * p, 1)
    assert ndtr(-found.above) == pytest.approx(binom.sf(k - 1, n, p), rel=0.01)
    assert ndtr(-found.below) == pytest.approx(binom.cdf(k, n, p), rel=0.01)


@pytest.mark.parametrize(
    ("mean", "events", "share"),
    [(0.01, 1, 1.005), (0.01, 3, 1.001), (1e-3, 1, 0.874), (1e-4, 1, 0.722), (1e-4, 3, 0.931)],
)
def test_few_events_where_hardly_any_are_expected(mean, events, share):
    """The share of the true tail that is found, as the docstring says."""
    found = tails([1], [10**7], [mean / 10**7], events - mean, 1)
    assert ndtr(-found.above) / poisson.sf(events - 1, mean) == pytest.approx(share, abs=0.001)


binomials = st.lists(
    st.tuples(st.floats(-3, 3), st.floats(-8, 8), st.floats(0.5, 200)).filter(lambda one: abs(one[0]) > 1e-3),
    min_size=1,
    max_size=4,
)


@given(binomials, st.floats(-4, 4), st.floats(0.01, 1))
def test_laws(drawn, deviations, step):
    """Signs swap the tails; the unit does not matter, nor does a division of the trials."""
    factor, eta, n = np.array(drawn).T
    e = 1 / (1 + np.exp(-eta))
    observed = deviations * math.sqrt(float(n @ (factor**2 * e * (1 - e))))
    found = binomial_tails(factor, eta, n, observed, step)
    assume(np.isfinite(found).all())
    assert binomial_tails(-factor, eta, n, -observed, step) == pytest.approx(found[::-1], abs=1e-6)
    assert binomial_tails(4 * factor, eta, n, 4 * observed, 4 * step) == pytest.approx(found, abs=1e-6)
    halves = (np.tile(factor, 2), np.tile(eta, 2), np.tile(n / 2, 2))
    assert binomial_tails(*halves, observed, step) == pytest.approx(found, abs=1e-6)
