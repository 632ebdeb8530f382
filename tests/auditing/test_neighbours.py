"""Rows that look clustered are told; sorted and independent ones are not."""

from __future__ import annotations

import numpy as np
import pytest

from believable import verdict


def rows(order, seed=0, n=4000):
    """Calibrated rows in some order."""
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    y = (rng.random(n) < p).astype(int)
    by = {"shuffled": np.arange(n), "by score": np.argsort(p), "by outcome": np.argsort(y, kind="stable")}[order]
    return p[by], y[by]


@pytest.mark.parametrize("order", ["shuffled", "by score", "by outcome"])
def test_independent_rows_do_not_look_clustered(order):
    """Whatever a file is sorted by."""
    assert not any(verdict(*rows(order, seed)).looks_clustered for seed in range(3))


@pytest.mark.parametrize("size", [5, 20])
def test_clusters_that_follow_each_other_are_seen(size):
    """Rows of a cluster share a fate: the verdict asks for their name, and not once it has it."""
    rng = np.random.default_rng(1)
    fate = np.repeat(rng.normal(0, 1.0, 4000 // size), size)
    p = rng.beta(2, 2, 4000)
    y = (rng.random(4000) < 1 / (1 + np.exp(-np.log(p / (1 - p)) - fate))).astype(int)
    judged = verdict(p, y)
    assert judged.looks_clustered
    assert "as if rows came in clusters" in str(judged)
    named = verdict(p, y, clusters=np.arange(4000) // size)
    assert not named.looks_clustered
    assert "as if rows came in clusters" not in str(named)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("n_bins", [3, 10])
def test_sorted_files_are_not_clustered(order, n_bins):
    """Up or down, and with a row out of order: neighbours have the same score, whoever they are."""
    rng = np.random.default_rng(9)
    p = np.sort(rng.beta(0.5, 20, 20_000))[::order].copy()
    y = rng.random(20_000) < p
    assert not verdict(p, y, n_bins=n_bins).looks_clustered
    p[[5, 9000]], y[[5, 9000]] = p[[9000, 5]], y[[9000, 5]]
    assert not verdict(p, y, n_bins=n_bins).looks_clustered
