"""Segments of rows that come in clusters: variances by a literal loop, and how often calibrated scores have segments."""

from __future__ import annotations

import math

import numpy as np
import pytest

from believable import Predictions, Summary, audit, find_segments
from believable.errors import InputError
from believable.inference.segment_clusters import allowing_for_clusters
from believable.inference.segment_search import ranges_of_scores
from believable.stats import SegmentStats


def clustered(seed, shift=0.0, n_clusters=300, spread=1.5):
    """Draw clusters that share an effect, of which the scores know the mean; site 1 may be off."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(n_clusters), rng.integers(1, 15, n_clusters))
    n, effect = len(cluster), rng.normal(0, spread, n_clusters)[cluster]
    site = rng.integers(0, 4, n_clusters)[cluster]
    z, nodes = rng.normal(0, 1.2, n), np.quantile(rng.normal(0, spread, 20_000), np.linspace(0.005, 0.995, 100))
    p = (1 / (1 + np.exp(-z[:, None] - nodes))).mean(axis=1)
    y = (rng.random(n) < 1 / (1 + np.exp(-z - effect - shift * (site == 1)))).astype(int)
    return p, y, {"site": site.astype(str), "day": rng.integers(0, 3, n).astype(str)}, cluster


def test_squares_of_weights_by_a_literal_loop():
    """Each is multiplied by 1 + (m - 1) r, with the correlation r of the residuals of pairs of rows in a cluster."""
    p, y, by, cluster = clustered(0, n_clusters=40)
    w = np.random.default_rng(1).uniform(0.5, 2, len(p))
    source = Predictions(p, y, sample_weight=w)
    stats = SegmentStats.of(source, by)
    found = allowing_for_clusters(stats, source, by, cluster)

    ranges = ranges_of_scores(stats)[stats.grid.assign(p)]
    rate = {r: sum(w[ranges == r] * y[ranges == r]) / sum(w[ranges == r]) for r in set(ranges.tolist())}
    residual = [w[i] * (y[i] - rate[ranges[i]]) for i in range(len(p))]
    deviation = [w[i] * math.sqrt(rate[ranges[i]] * (1 - rate[ranges[i]])) for i in range(len(p))]
    shared = most = 0.0
    for i in range(len(p)):
        for j in range(len(p)):
            if i != j and cluster[i] == cluster[j]:
                shared += residual[i] * residual[j]
                most += deviation[i] * deviation[j]
    assert 0 < shared < most
    expected = dict.fromkeys("0123", 0.0)
    for i in range(len(p)):
        rows = sum(w[j] for j in range(len(p)) if cluster[j] == cluster[i]) / w[i]
        expected[by["site"][i]] += w[i] ** 2 * (1 + max(rows - 1, 0) * shared / most)
    for number, site in enumerate(stats.levels_of("site")):
        assert found.w2[found.codes[0] == number].sum() == pytest.approx(expected[site], rel=1e-10)
    for name in ("codes", "cell", "n", "ny", "w", "wp", "wy"):
        np.testing.assert_allclose(getattr(found, name), getattr(stats, name), rtol=1e-12)


def test_repeated_rows_are_one_row():
    """If every row is there eight times, as a cluster, eight rows count as one."""
    rng = np.random.default_rng(0)
    p, site = rng.random(500), rng.choice(["a", "b"], 500)
    y = (rng.random(500) < p).astype(int)
    eight, cluster = np.repeat(np.arange(500), 8), np.repeat(np.arange(500), 8)
    source, by = Predictions(p[eight], y[eight]), {"site": site[eight]}
    found = allowing_for_clusters(SegmentStats.of(source, by), source, by, cluster)
    np.testing.assert_allclose(found.w2, 8.0 * found.n, rtol=1e-9)


def test_calibrated_clusters_have_no_segments():
    """Without clusters, many samples have some; with clusters, at the level of the search."""
    draws = [clustered(seed) for seed in range(40)]
    assert sum(len(find_segments(p, y, by)) > 0 for p, y, by, _ in draws) > 10
    assert sum(len(find_segments(p, y, by, clusters=cluster)) > 0 for p, y, by, cluster in draws) <= 4


def test_segments_of_clusters_are_found():
    """A site that is off is found, and its interval is wider than that of independent rows."""
    p, y, by, cluster = clustered(3, shift=2.0)
    (found, *_), (independent, *_) = find_segments(p, y, by, clusters=cluster), find_segments(p, y, by)
    assert found.where == independent.where == {"site": "1"}
    assert found.n == independent.n
    assert found.gap == pytest.approx(independent.gap, abs=0.02)
    assert found.high - found.low > 1.3 * (independent.high - independent.low)


def test_rows_in_clusters_of_one():
    """They are independent."""
    p, y, by, _ = clustered(3, shift=2.0, spread=1e-9)
    assert str(find_segments(p, y, by, clusters=np.arange(len(p)))) == str(find_segments(p, y, by))


def test_an_audit_searches_with_its_clusters():
    """The segments of an audit are those of the search."""
    p, y, by, cluster = clustered(3, shift=2.0)
    wanted = find_segments(p, y, by, clusters=cluster)
    found = audit(p, y, by=by, clusters=cluster, find_segments=True, fix=False).segments.found
    assert [one.name for one in found] == [one.name for one in wanted]
    assert [one.low for one in found] == pytest.approx([one.low for one in wanted])
    chance = clustered(6)
    assert audit(*chance[:2], by=chance[2], find_segments=True, fix=False).segments.found
    assert not audit(*chance[:2], by=chance[2], clusters=chance[3], find_segments=True, fix=False).segments.found


def test_statistics_have_no_clusters():
    """They are refused beside one."""
    p, y, by, cluster = clustered(0)
    stats = SegmentStats.of(Predictions(p, y), by)
    for one in (stats, Summary.of(Predictions(p, y), by=by)):
        with pytest.raises(InputError, match="clusters says which rows belong together, but a statistic has no rows"):
            find_segments(one, clusters=cluster)
    with pytest.raises(InputError, match="find_segments is a statistic, which does not know clusters"):
        audit(p, y, clusters=cluster, find_segments=stats)
