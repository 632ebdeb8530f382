"""What a verdict rests on: exact intervals, ranges that are named together, and the average."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest, chi2

from believable import Predictions, observed_expected_ratio
from believable.auditing.evidence import Average, clopper_pearson, is_crowded, ranges_of
from believable.stats import BinStats
from believable.stats.source import count_bins


@pytest.mark.parametrize(("events", "n"), [(0, 40), (3, 40), (20, 40), (40, 40)])
def test_exact_intervals(events, n):
    """They are those of SciPy's exact test."""
    low, high = clopper_pearson(events / n, n, 0.01)
    expected = binomtest(events, n).proportion_ci(0.99, method="exact")
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_the_average_is_that_of_the_rows():
    """Gap and ratio with one interval, that of the observed over the expected number of the rarer outcome."""
    rng = np.random.default_rng(0)
    p, w = rng.random(300) * 0.8, rng.random(300) + 0.5
    y = (rng.random(300) < p).astype(int)
    rows = Predictions(p, y, sample_weight=w)
    found = Average.of(count_bins(rows, 10, "uniform"), 0.95)
    total = math.fsum(w)
    gap = math.fsum(w * (y - p)) / total
    ratio, expected = observed_expected_ratio(rows), math.fsum(w * p) / total
    assert (found.ratio.value, found.ratio.low, found.ratio.high) == pytest.approx((ratio.value, ratio.low, ratio.high))
    assert (found.gap.value, found.gap.low, found.gap.high) == pytest.approx(
        (gap, expected * (ratio.low - 1), expected * (ratio.high - 1))
    )
    turned = Average.of(count_bins(Predictions(1 - p, 1 - y, sample_weight=w), 10, "uniform"), 0.95)
    assert (turned.gap.low, turned.gap.high) == pytest.approx((-found.gap.high, -found.gap.low))
    assert (turned.rarer.low, turned.rarer.high) == pytest.approx((found.rarer.low, found.rarer.high))


def test_few_rare_events_have_an_exact_interval():
    """That of a Poisson number, from SciPy's chi-squared."""
    found = Average.of(BinStats.of(Predictions([0.01] * 300, [1] * 5 + [0] * 295)), 0.95).ratio
    assert (found.low, found.high) == pytest.approx((chi2.ppf(0.025, 10) / 6, chi2.ppf(0.975, 12) / 6))


def test_an_average_without_events():
    """No events leave a ratio between 0 and a bound, and no predictions none."""
    none = Average.of(BinStats.of(Predictions([0.1] * 20, [0] * 20)), 0.95).ratio
    assert (none.value, none.low) == (0, 0)
    assert none.high == pytest.approx(-math.log(0.025) / 2)  # the same for none
    assert Average.of(BinStats.of(Predictions([0.0] * 20, [0] * 19 + [1])), 0.95).ratio.value == math.inf


@pytest.mark.slow
def test_right_ranges_are_seldom_named():
    """Of data sets with one wrong range, 5 % at most name another."""
    rng = np.random.default_rng(1)
    named = missed = 0
    for _ in range(200):
        p = rng.random(3000)
        y = rng.random(3000) < np.where(p > 0.9, 0.7, p)
        _, wrong = ranges_of(count_bins(Predictions(p, y.astype(int)), 10, "uniform"), 0.05)
        named += any(one.high <= 0.9 for one in wrong)
        missed += not any(one.low == 0.9 for one in wrong)
    assert named <= 18  # of a chance of 5 %, more come 1 time in 150
    assert missed == 0


def test_small_bins_are_looked_at_together():
    """No range has fewer than 30 rows, and all rows are in one."""
    p = np.repeat([0.05, 0.15, 0.25, 0.95], [100, 5, 5, 10])
    looked_at, _ = ranges_of(count_bins(Predictions(p, (p > 0.5).astype(int)), 10, "uniform"), 0.05)
    assert [(one.low, one.high, one.n) for one in looked_at] == [(0.0, 1.0, 120)]
    assert sum(one.share for one in looked_at) == pytest.approx(1)
    assert ranges_of(count_bins(Predictions([0.5] * 29, [1] * 29), 10, "uniform"), 0.05) == ((), ())


def test_crowded_scores():
    """More than half of the rows in one bin of equal width."""
    rng = np.random.default_rng(2)
    rare = Predictions(rng.beta(1, 30, 500), rng.integers(0, 2, 500))
    assert is_crowded(count_bins(rare, 10, "uniform"))
    assert not is_crowded(count_bins(rare, 10, "quantile"))
    assert not is_crowded(count_bins(Predictions(rng.random(500), rng.integers(0, 2, 500)), 10, "uniform"))
