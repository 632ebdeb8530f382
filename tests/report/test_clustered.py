"""Bins of clustered rows: how much their rows tell."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from believable import Predictions, reliability_table
from believable.auditing.judgement import effective_rows
from believable.stats.source import count_bins

RNG = np.random.default_rng(0)


def literal(p, y, w, cluster, edges):
    """The definition, bin by bin and cluster by cluster."""
    found = []
    for low, high in pairwise(edges):
        here = [i for i in range(len(p)) if low < p[i] <= high or (low == 0 and p[i] == 0)]
        if not here:
            continue
        total = sum(w[i] for i in here)
        rate = sum(w[i] * y[i] for i in here) / total
        names = sorted({cluster[i] for i in here})
        sums = [sum(w[i] * (y[i] - rate) for i in here if cluster[i] == name) for name in names]
        plain = total**2 / sum(w[i] ** 2 for i in here)
        if rate in (0, 1) or len(names) < 2:
            found.append(min(len(names), plain))
            continue
        variance = sum(one**2 for one in sums) / total**2 * len(names) / (len(names) - 1)
        found.append(min(max(rate * (1 - rate) / variance, 1), plain))
    return found


@pytest.mark.parametrize("weighted", [False, True])
def test_the_definition(weighted):
    """It is the loop over bins and clusters."""
    p = RNG.random(200).round(2)
    y = (RNG.random(200) < p).astype(int)
    cluster = RNG.integers(0, 25, 200)
    w = RNG.random(200) + 0.1 if weighted else np.ones(200)
    predictions = Predictions(p, y, sample_weight=w if weighted else None)
    stats = count_bins(predictions, 5, "uniform")
    assert effective_rows(predictions, stats, cluster) == pytest.approx(
        literal(p, y, w, cluster, [0, 0.2, 0.4, 0.6, 0.8, 1]), rel=1e-9
    )


def test_copies_tell_nothing_new():
    """Rows that come ten times, as clusters, are worth about the rows themselves."""
    p = RNG.random(400)
    y = (RNG.random(400) < p).astype(int)
    many = Predictions(np.repeat(p, 10), np.repeat(y, 10))
    stats = count_bins(many, 4, "uniform")
    once = reliability_table(p, y, n_bins=4).n
    worth = effective_rows(many, stats, np.repeat(np.arange(400), 10))
    assert worth == pytest.approx(once, rel=0.02)  # less the one that the rate of the bin takes: (G - 1)/G


def test_classes_of_a_row_are_one_cluster():
    """With all classes in common bins a row has as many pairs as there are classes."""
    q = RNG.dirichlet([1, 1, 1], 150)
    y = RNG.integers(0, 3, 150)
    predictions = Predictions(q, y)
    stats = count_bins(predictions, 4, "uniform", notion="classwise", pooled=True)
    worth = effective_rows(predictions, stats, np.arange(150) // 3)
    expected = literal(
        q.ravel(), (y[:, None] == np.arange(3)).ravel().astype(int), np.ones(450), np.repeat(np.arange(150) // 3, 3), [0, 0.25, 0.5, 0.75, 1]
    )  # fmt: skip
    assert worth == pytest.approx(expected, rel=1e-9)
