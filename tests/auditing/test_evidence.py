"""What a verdict rests on: exact intervals, ranges that are named together, and the average."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest, chi2, norm

from believable import Predictions, observed_expected_ratio
from believable._kernels import exact_interval
from believable.auditing.evidence import Average, ClusteredPairs, is_crowded, ranges_of, slope_of
from believable.stats import BinStats
from believable.stats.source import BinsAsked, count_asked, count_bins, count_points


@pytest.mark.parametrize(("events", "n"), [(0, 40), (3, 40), (20, 40), (40, 40)])
def test_exact_intervals(events, n):
    """They are those of SciPy's exact test."""
    low, high = exact_interval(events / n, n, 0.01)
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


def test_no_rate_is_below_0_or_above_1():
    """With three events in three rows, normal ends would be a negative ratio and a rate above 1."""
    found = Average.of(BinStats.of(Predictions([0.5, 0.6, 0.4], [1, 1, 1])), 0.95)
    assert (found.ratio.low, found.ratio.high) == pytest.approx((0, 2), abs=1e-12)
    assert found.ratio.low >= 0
    assert (found.gap.low, found.gap.high) == pytest.approx((-0.5, 0.5), abs=1e-12)
    rare = Average.of(BinStats.of(Predictions([0.5] * 4, [1, 0, 0, 0])), 0.95)
    assert rare.ratio.high == pytest.approx(2)


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


def clustered(n_clusters=40, size=6):
    """Scores and outcomes that are alike within clusters, each with another weight."""
    rng = np.random.default_rng(4)
    cluster = np.repeat(np.arange(n_clusters), size)
    p = 0.8 * rng.beta(2, 3, n_clusters)[cluster] + 0.1 * rng.random(len(cluster))
    y = (0.5 * rng.random(n_clusters)[cluster] + 0.5 * rng.random(len(p)) < p).astype(float)
    return p, y, rng.random(len(p)) + 0.5, cluster


def test_clusters_widen_the_slope_as_the_sandwich_says():
    """The robust variance of the slope over that of the model, cluster by cluster."""
    p, y, w, cluster = clustered()
    intercept, slope = 0.2, 0.7
    curvature, middle, alone = np.zeros((2, 2)), np.zeros((2, 2)), np.zeros((2, 2))
    for c in range(40):
        added = np.zeros(2)
        for i in np.flatnonzero(cluster == c):
            x = np.array([1.0, math.log(p[i] / (1 - p[i]))])
            rate = 1 / (1 + math.exp(-(intercept + slope * x[1])))
            curvature += w[i] * rate * (1 - rate) * np.outer(x, x)
            alone += w[i] ** 2 * rate * (1 - rate) * np.outer(x, x)
            added += w[i] * (y[i] - rate) * x
        middle += np.outer(added, added) * 40 / 39
    inverse = np.linalg.inv(curvature)
    expected = (inverse @ middle @ inverse)[1, 1] / (inverse @ alone @ inverse)[1, 1]
    assert expected > 1.2
    assert ClusteredPairs(p, y, w, cluster).design_of_slope(intercept, slope) == pytest.approx(expected, rel=1e-9)


def test_clusters_widen_the_ratio_by_what_they_add_to_it():
    """The squares of what clusters add to events less predictions at their ratio, over those of rows."""
    p, y, w, cluster = clustered()
    ratio = math.fsum(w * y) / math.fsum(w * p)
    sums = [math.fsum((w * (y - ratio * p))[cluster == c]) ** 2 for c in range(40)]
    expected = 40 / 39 * math.fsum(sums) / math.fsum((w * (y - p)) ** 2)
    assert w @ y < w.sum() / 2
    assert expected > 1.2
    assert ClusteredPairs(p, y, w, cluster).design_of_ratio() == pytest.approx(expected, rel=1e-9)
    assert ClusteredPairs(1 - p, 1 - y, w, cluster).design_of_ratio() == pytest.approx(expected, rel=1e-9)


def test_intervals_of_slope_and_ratio_cover_with_clusters():
    """Also where scores are wrong, which rows of a cluster share."""
    rng = np.random.default_rng(8)
    times, n_clusters, size = 100, 100, 6
    cluster = np.repeat(np.arange(n_clusters), size)
    held = np.zeros(2)
    for _ in range(times):
        p = rng.beta(1.5, 2.5, len(cluster))
        rate = 1 / (1 + np.exp(-(0.3 + 0.5 * np.log(p / (1 - p)))))
        alike = norm.cdf(np.sqrt(0.5) * (rng.normal(size=n_clusters)[cluster] + rng.normal(size=len(p))))
        rows = Predictions(p, (alike < rate).astype(int))
        pairs = ClusteredPairs(p, rows.labels.astype(float), np.ones(len(p)), cluster)
        points = count_points(rows, notion="binary")
        slope, _ = slope_of(points[0], points.view, 0.95, pairs)
        ratio = Average.of(count_asked(rows, BinsAsked(), squares=True), 0.95, pairs.design_of_ratio()).ratio
        held += [slope.low <= 0.5 <= slope.high, ratio.low <= 1.3156 <= ratio.high]  # by numerical integration
    assert (held >= 89).all()  # of 95 expected, three standard errors


def test_copies_within_clusters_tell_nothing_new():
    """The slope of five copies of each row has about the interval of one copy."""
    p, y, _, _ = clustered()
    row = np.repeat(np.arange(len(p)), 5)
    once = count_points(Predictions(p, y), notion="binary")
    copies = count_points(Predictions(p[row], y[row]), notion="binary")
    alone, _ = slope_of(once[0], once.view, 0.95)
    pairs = ClusteredPairs(p[row], y[row], np.ones(len(row)), row)
    several, _ = slope_of(copies[0], copies.view, 0.95, pairs)
    # The robust variance is that of these residuals, not of the model.
    assert (several.low, several.high) == pytest.approx((alone.low, alone.high), abs=0.15 * (alone.high - alone.low))
