"""Bands that hold together: exact bounds of bins, and a band for a whole isotonic curve."""

import numpy as np
import pytest
from scipy.stats import beta

from believable import corp_curve, reliability_table
from believable._kernels import exact_interval
from believable.errors import InputError


def literal_band(scores, labels, level):
    """For each distinct score the best Clopper-Pearson bound of any range of scores, as the article has it."""
    distinct = sorted(set(scores))
    m = len(distinct)
    alpha = (1 - level) / (m * (m + 1))
    low, high = [], []
    for x in distinct:
        least, most = [0.0], [1.0]
        for j in range(m):
            for k in range(j, m):
                rows = [y for s, y in zip(scores, labels, strict=True) if distinct[j] <= s <= distinct[k]]
                n, events = len(rows), sum(rows)
                if distinct[k] <= x and events > 0:
                    least.append(beta.ppf(alpha, events, n - events + 1))
                if distinct[j] >= x and events < n:
                    most.append(beta.ppf(1 - alpha, events + 1, n - events))
        low.append(max(least))
        high.append(min(most))
    return low, high


@pytest.mark.parametrize("seed", range(4))
def test_band_of_curve(seed):
    """The band is the best of the exact bounds of all ranges of scores, at a level divided by their number."""
    rng = np.random.default_rng(seed)
    p = rng.integers(0, 13, 150) / 12
    y = (rng.random(150) < p**2).astype(int)
    low, high = literal_band(p.tolist(), y.tolist(), 0.9)
    curve = corp_curve(p, y, band="simultaneous", level=0.9)
    assert curve.low == pytest.approx(np.minimum(low, curve.y), abs=1e-12)
    assert curve.high == pytest.approx(np.maximum(high, curve.y), abs=1e-12)
    assert curve.settings == {"band": "simultaneous", "level": 0.9}


def test_band_contains_the_curve():
    """Where rates fall, the bounds would exclude the isotonic curve, and are moved."""
    p = np.repeat([0.2, 0.8], 500)
    y = np.repeat([1, 0], 500)
    low, high = literal_band(p.tolist(), y.tolist(), 0.95)
    assert low[0] > high[0]
    curve = corp_curve(p, y, band="simultaneous")
    assert (curve.low <= curve.y).all()
    assert (curve.y <= curve.high).all()


def test_merged_scores_keep_the_guarantee():
    """Of many scores, the bounds of a group hold from its last score on, and up to its first."""
    rng = np.random.default_rng(1)
    p = np.sort(rng.random(3000))
    y = (rng.random(3000) < p**1.3).astype(int)
    curve = corp_curve(p, y, band="simultaneous")
    size = 6  # rows in each of 500 groups of equal weight
    ends = [(i, min(i + size, 3000)) for i in range(0, 3000, size)]
    alpha = 0.05 / (500 * 501)
    best = 0.0
    for first, _ in ends[:60]:
        n, events = ends[59][1] - first, int(y[first : ends[59][1]].sum())
        if events:
            best = max(best, beta.ppf(alpha, events, n - events + 1))
    before = [beta.ppf(alpha, y[a:b].sum(), b - a - y[a:b].sum() + 1) if y[a:b].any() else 0 for a, b in ends[:60]]
    assert curve.low[359] >= max(best, *before) - 1e-12  # the last score of the sixtieth group
    assert curve.low[360] == curve.low[359]  # the next group is not complete at its first score
    assert (curve.low <= p**1.3).all()
    assert (p**1.3 <= curve.high).all()


def test_a_constant_score_has_the_exact_interval():
    """One score has one range, and the interval of Clopper and Pearson."""
    curve = corp_curve(np.full(50, 0.3), np.arange(50) < 20, band="simultaneous")
    assert curve.low[0] == pytest.approx(beta.ppf(0.025, 20, 31), abs=1e-12)
    assert curve.high[0] == pytest.approx(beta.ppf(0.975, 21, 30), abs=1e-12)


@pytest.mark.parametrize("rate", [lambda p: p, lambda p: 0.2 + 0.5 * p**2, lambda p: np.where(p < 0.4, 0.05, 0.7)])
def test_band_covers_the_whole_curve(rate):
    """In 60 small samples from isotonic rates, the whole curve lies within the 80 % band at least 43 times."""
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(60):
        p = rng.random(60)
        curve = corp_curve(p, rng.random(60) < rate(p), band="simultaneous", level=0.8)
        held += bool(((curve.low <= rate(curve.x)) & (rate(curve.x) <= curve.high)).all())
    assert held >= 43  # of 48 expected at least


def test_bins():
    """Simultaneous intervals of bins are exact, each at its share of the level; empty bins take none."""
    rng = np.random.default_rng(3)
    p = rng.choice([0.05, 0.15, 0.55, 0.95], 200)
    y = (rng.random(200) < p).astype(int)
    y[p == 0.95] = 1
    table = reliability_table(p, y, band="simultaneous", level=0.9)
    for i in np.flatnonzero(table.n):
        n, events = table.n[i], int(y[(p > table.edges[i, 0]) & (p <= table.edges[i, 1])].sum())
        alpha = 0.1 / 4
        assert table.low[i] == pytest.approx(beta.ppf(alpha / 2, events, n - events + 1) if events else 0, abs=1e-12)
        high = beta.ppf(1 - alpha / 2, events + 1, n - events) if events < n else 1
        assert table.high[i] == pytest.approx(high, abs=1e-12)
    assert np.isnan(table.low[table.n == 0]).all()
    assert "90 % simultaneous interval" in str(table)
    assert list(table.to_dict()) == list(reliability_table(p, y).to_dict())


def test_bins_hold_together():
    """In 200 calibrated samples, ten Wilson intervals miss somewhere in many, simultaneous ones in at most 5 %."""
    rng = np.random.default_rng(5)
    missed = {"pointwise": 0, "simultaneous": 0}
    for _ in range(200):
        p = rng.random(300)
        y = rng.random(300) < p
        for band in missed:
            table = reliability_table(p, y, band=band)
            missed[band] += bool(((table.conf < table.low) | (table.conf > table.high)).any())
    assert missed["simultaneous"] <= 14
    assert missed["pointwise"] > 30


def test_exact_interval():
    """The quantiles of the beta distribution, also for rates of 0 and 1 and numbers that are not whole."""
    low, high = exact_interval([0.0, 0.25, 1.0], [10, 10.4, 7], 0.1)
    assert low == pytest.approx([0, beta.ppf(0.05, 2.6, 8.8), 0.05 ** (1 / 7)], abs=1e-12)
    assert high == pytest.approx([1 - 0.05**0.1, beta.ppf(0.95, 3.6, 7.8), 1], abs=1e-12)


def test_refusals():
    """An unknown band is refused."""
    with pytest.raises(InputError, match="band must be"):
        reliability_table([0.1, 0.9], [0, 1], band="both")
    with pytest.raises(InputError, match="band must be"):
        corp_curve([0.1, 0.9], [0, 1], band="pointwise")
