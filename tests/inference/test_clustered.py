"""The chance of an error where rows come in clusters: signs tossed, cluster by cluster."""

from itertools import product

import numpy as np
import pytest

from believable import Predictions
from believable.inference.noise import chance_of_clusters
from believable.inference.question import ask


def clustered(n_clusters, size, rng, shift=0.0):
    """Rows of a cluster share a part of their fate; on the whole `shift` is what the rates are off by towards 1/2."""
    from scipy.special import ndtr

    cluster = np.repeat(np.arange(n_clusters), size)
    p = rng.random(len(cluster))
    fate = 0.5 * rng.normal(size=n_clusters)[cluster] + np.sqrt(0.75) * rng.normal(size=len(cluster))
    return Predictions(p, (ndtr(fate) < p + shift * (1 - 2 * p)).astype(int)), cluster


def test_literally():
    """Every way to give eight clusters a sign, one after the other."""
    rng = np.random.default_rng(0)
    p, y, cluster = rng.random(40), rng.integers(0, 2, 40), np.arange(40) % 8
    sums = np.zeros((8, 2))
    for row in range(40):
        sums[cluster[row], int(p[row] > 0.5)] += y[row] - p[row]
    seen = sum(abs(sum(sums[c, b] for c in range(8))) for b in range(2))
    as_large = 0
    for signs in product((-1, 1), repeat=8):
        as_large += sum(abs(sum(signs[c] * sums[c, b] for c in range(8))) for b in range(2)) >= seen - 1e-12
    question = ask("ece", Predictions(p, y), options={"n_bins": 2})
    found = chance_of_clusters(question, cluster, 20_000, np.random.default_rng(1))
    assert found == pytest.approx(as_large / 2**8, abs=0.015)  # four standard errors of 20,000 draws


@pytest.mark.parametrize(("metric", "n_clusters", "size"), [("ece", 30, 10), ("ece", 400, 2), ("ks", 30, 10)])
def test_calibrated_clusters(metric, n_clusters, size):
    """One time in five the chance comes out below one in five; many clusters are put together."""
    rng = np.random.default_rng(3)
    found = []
    for _ in range(80):
        predictions, cluster = clustered(n_clusters, size, rng)
        found.append(chance_of_clusters(ask(metric, predictions), cluster, 300, rng))
    assert 5 <= np.sum(np.array(found) <= 0.2) <= 30  # 16 are expected; outside lie 2 of 1,000


def test_shows_what_is_there():
    """Rates that are too timid in every cluster are no chance."""
    rng = np.random.default_rng(4)
    for metric in ("ece", "smece"):
        predictions, cluster = clustered(150, 5, rng, shift=0.25)
        assert chance_of_clusters(ask(metric, predictions), cluster * 3, 400, rng) < 0.01


def test_two_clusters_say_nothing():
    """Of four ways to give two clusters a sign two are what was seen, or its opposite."""
    rng = np.random.default_rng(5)
    p = rng.random(200)
    question = ask("ece", Predictions(p, rng.random(200) < p**3))
    assert chance_of_clusters(question, np.arange(200) % 2, 2000, rng) == pytest.approx(0.5, abs=0.06)
