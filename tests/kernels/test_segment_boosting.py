"""Boosting on sums by segment, against the formulas written out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from believable._kernels.segment_boosting import Entries, Table, boosting_rounds

NULL_SHARES, DEVIATIONS, LEAST_INFORMATION = (0.0, 0.9), (0.1, 0.3, 0.9), 3.0


def drawn(seed, n=4000, effect=0.8):
    """Rows in cells of two columns, sorted by cell, one of the cells off by `effect`."""
    rng = np.random.default_rng(seed)
    a, b, z = rng.integers(0, 3, n), rng.integers(0, 2, n), rng.normal(size=n)
    y = (rng.random(n) < 1 / (1 + np.exp(-(z + effect * ((a == 1) & (b == 0)))))).astype(float)
    cell = 2 * a + b
    order = np.argsort(cell, kind="stable")
    starts = np.searchsorted(cell[order], np.arange(6))
    entries = Entries(starts, z[order], z[order], np.ones(n), y[order])
    tables = [
        Table(np.zeros(6, int), 1),
        Table(np.arange(6) // 2, 3),
        Table(np.arange(6) % 2, 2),
        Table(np.arange(6), 6),
    ]
    return entries, tables, cell[order]


def literal_evidence(score, information):
    """Log Bayes factor of a table, averaged over the priors, and the posterior means of its effects."""
    by_prior, means = [], []
    for t in DEVIATIONS:
        for s in NULL_SHARES:
            total, effects = 0.0, []
            for g, h in zip(score, information, strict=True):
                if h < LEAST_INFORMATION:
                    effects.append(0.0)
                    continue
                share = t * t * h
                ratio = (1 + share) ** -0.5 * math.exp(g * g / (2 * h) * share / (1 + share))
                total += math.log(s + (1 - s) * ratio)
                off = (1 - s) * ratio / (s + (1 - s) * ratio)
                effects.append(off * g * t * t / (1 + share))
            by_prior.append(total)
            means.append(effects)
    top = max(by_prior)
    weights = [math.exp(one - top) for one in by_prior]
    posterior = [sum(w * m[k] for w, m in zip(weights, means, strict=True)) / sum(weights) for k in range(len(score))]
    return top + math.log(sum(weights) / len(weights)), posterior


def literal_first_round(entries, tables, cell):
    """The table, the intercepts and the slopes of the first round, segment by segment and row by row."""
    best = (0.0, None)
    for i, table in enumerate(tables):
        g0, h0, g1, h1, centres = ([] for _ in range(5))
        for k in range(table.size):
            rows = [j for j in range(len(cell)) if table.place[cell[j]] == k]
            mu = {j: 1 / (1 + math.exp(-entries.base[j])) for j in rows}
            h = {j: entries.w[j] * mu[j] * (1 - mu[j]) for j in rows}
            g = {j: entries.wy[j] - entries.w[j] * mu[j] for j in rows}
            centre = sum(h[j] * entries.x[j] for j in rows) / sum(h.values())
            centres.append(centre)
            g0.append(sum(g.values()))
            h0.append(sum(h.values()))
            g1.append(sum(g[j] * (entries.x[j] - centre) for j in rows))
            h1.append(sum(h[j] * (entries.x[j] - centre) ** 2 for j in rows))
        for kind, (score, information) in enumerate(((g0, h0), (g1, h1))):
            evidence, effects = literal_evidence(score, information)
            if evidence > best[0]:
                best = (evidence, (i, kind, effects, centres))
    return best


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_first_round_is_the_formula(seed):
    """The table with the most evidence is corrected, by the posterior means of its effects."""
    entries, tables, cell = drawn(seed, n=900)
    first = next(boosting_rounds(entries, tables))
    evidence, (i, kind, effects, centres) = literal_first_round(entries, tables, cell)
    assert first.table == i
    assert first.evidence == pytest.approx(evidence, rel=1e-9)
    slopes = np.zeros(len(effects)) if kind == 0 else np.array(effects)
    intercepts = np.array(effects) if kind == 0 else -slopes * np.array(centres)
    np.testing.assert_allclose(first.slopes, slopes, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(first.intercepts, intercepts, rtol=1e-9, atol=1e-12)


def test_a_tilt_is_found_and_its_average_kept():
    """Where scores are too extreme in one segment, rounds add up to its slope, around the segment's mean."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=6000)
    group = np.repeat([0, 1], 3000)
    y = (rng.random(6000) < 1 / (1 + np.exp(-z * np.where(group == 1, 0.4, 1.0)))).astype(float)
    entries = Entries(np.array([0, 3000]), z, z, np.ones(6000), y)
    rounds = list(boosting_rounds(entries, [Table(np.zeros(2, int), 1), Table(np.arange(2), 2)]))
    slopes = sum((one.slopes[[0, 0]] if one.table == 0 else one.slopes for one in rounds), np.zeros(2))
    np.testing.assert_allclose(slopes, [0, -0.6], atol=0.1)
    assert all(abs(one.intercepts).max() < 0.1 for one in rounds)


def test_rounds_raise_the_likelihood_and_end():
    """Each round raises the log-likelihood, and there is a last one."""
    entries, tables, _ = drawn(3)

    def likelihood(f):
        return float(np.sum(entries.wy * f - np.logaddexp(0, f)))

    before, rounds = likelihood(entries.base), list(boosting_rounds(entries, tables))
    assert 1 <= len(rounds) < 50
    for one in rounds:
        after = likelihood(one.log_odds)
        assert after > before
        before = after


def test_calibrated_rows_have_no_round():
    """Most calibrated samples show no evidence at all; held-out rows decide about the others."""
    counts = [len(list(boosting_rounds(*drawn(seed, 1500, effect=0.0)[:2]))) for seed in range(40)]
    assert np.mean(np.array(counts) == 0) >= 0.6


def test_small_segments_are_left_alone():
    """A segment that expects fewer than three events' worth of information is not corrected."""
    z = np.zeros(1010)
    y = np.concatenate([np.tile([0.0, 1.0], 500), np.ones(10)])
    entries = Entries(np.array([0, 1000]), z, z, np.ones(1010), y)
    rounds = list(boosting_rounds(entries, [Table(np.arange(2), 2)]))
    assert all(one.intercepts[1] == 0 for one in rounds)
