"""Bayesian binning into quantiles, against loops over bins and the logarithm of the gamma function."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import exp, lgamma

import numpy as np
import pytest

from believable import _kernels
from believable.errors import InputError, SchemaError
from believable.recalibrate import BBQ, load_recalibrator

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")


def literal_binning(rows, n_bins):
    """The quantile rule: walk the scores until j/B of the weight is reached; lists of rows, none of them empty."""
    total = sum(w for _, _, w in rows)
    bins, current, reached, j = [], [], 0, 1
    for p in sorted({p for p, _, _ in rows}):
        current += [row for row in rows if row[0] == p]
        reached += sum(w for q, _, w in rows if q == p)
        is_boundary = False
        while j < n_bins and reached >= Fraction(j * total, n_bins) - Fraction(total, 10**9):
            is_boundary, j = True, j + 1
        if is_boundary:
            bins.append(current)
            current = []
    return [*bins, current] if current else bins


def literal_bbq(rows, at, prior):
    """The weighted mean of binnings at some scores."""
    n = sum(w for _, _, w in rows)
    fewest = max([b for b in range(1, 100) if (10 * b) ** 3 <= n], default=1)
    most = next(b for b in range(1, 1000) if b**3 >= 1000 * n)
    binnings = {}
    for n_bins in range(fewest, most + 1):
        bins = literal_binning(rows, n_bins)
        binnings[tuple(max(b)[0] for b in bins)] = bins
    fits = []
    for bins in binnings.values():
        ends = [0.0] + [(max(a)[0] + min(b)[0]) / 2 for a, b in pairwise(bins)] + [1.0]
        c = 2 if prior == "per_bin" else 2 / len(bins)
        log_evidence, values = 0.0, []
        for rows_in, (low, high) in zip(bins, pairwise(ends), strict=True):
            n_b, m_b = sum(w for _, _, w in rows_in), sum(w * y for _, y, w in rows_in)
            alpha, beta = c * (low + high) / 2, c * (1 - (low + high) / 2)
            log_evidence += lgamma(c) - lgamma(n_b + c)
            log_evidence += lgamma(m_b + alpha) - lgamma(alpha) + lgamma(n_b - m_b + beta) - lgamma(beta)
            values.append((m_b + alpha) / (n_b + c))
        fits.append((log_evidence, ends, values))
    best = max(score for score, _, _ in fits)
    total = sum(exp(score - best) for score, _, _ in fits)
    return [
        sum(exp(score - best) * values[sum(x > e for e in ends[1:-1])] for score, ends, values in fits) / total
        for x in at
    ]


def example(n, digits, seed):
    """Scores, rounded so that they tie, labels, and weights that are whole numbers."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.6, 0.9, n).round(digits)
    y = (rng.random(n) < p**1.5).astype(int)
    y[:2] = 0, 1
    return p, y, rng.integers(1, 4, n)


@pytest.mark.parametrize("prior", ["per_bin", "shared"])
@pytest.mark.parametrize(("n", "digits"), [(2, 3), (7, 8), (40, 1), (40, 8), (90, 2), (90, 8)])
def test_literal(n, digits, prior):
    """The map is the literal mean of binnings, at the scores, at their boundaries and beyond."""
    p, y, w = example(n, digits, n)
    at = np.concatenate([p, np.random.default_rng(0).random(50), [0, 1]])
    for weights in (np.ones(n, int), w):
        rows = list(zip(p.tolist(), y.tolist(), weights.tolist(), strict=True))
        model = BBQ(prior=prior).fit(p, y, sample_weight=weights)
        np.testing.assert_allclose(model.transform(at), literal_bbq(rows, at, prior), atol=1e-10)


def test_numbers_of_bins():
    """From n^(1/3) / 10 to 10 n^(1/3): with 8000 different scores, from 2 to 200 bins."""
    binnings = _kernels.quantile_binnings(np.arange(1, 8001), 2, 200)
    assert binnings.n_bins.tolist() == list(range(2, 201))
    p = (np.arange(8000) + 0.5) / 8000
    edges = BBQ().fit(p, np.arange(8000) % 2).maps_[0]["edges"]
    np.testing.assert_allclose(edges[np.abs(edges - 0.5).argmin()], 0.5, atol=1e-12)


def test_equal_binnings_count_once():
    """Numbers of bins that split three heaps alike are one binning."""
    binnings = _kernels.quantile_binnings(np.array([40, 80, 120]), 1, 50)
    bins = np.split(binnings.last, binnings.starts[1:])
    assert [tuple(last) for last in bins] == [(2,), (1, 2), (0, 1, 2)]


def test_one_score():
    """One score for all is one bin: the base rate, with one success and one failure more."""
    model = BBQ().fit([0.3] * 30, [0, 1, 1] * 10)
    assert model.maps_[0]["edges"].size == 0
    np.testing.assert_allclose(model.transform([0, 0.3, 1]), (20 + 1) / (30 + 2), rtol=1e-12)


def test_heaps_at_the_ends():
    """Heaps at exactly 0 and 1 with some of the other class in them become about their rates."""
    p = np.repeat([0.0, 0.5, 1.0], [3000, 200, 3000])
    y = np.concatenate([np.arange(3000) % 100 == 0, np.arange(200) % 2, np.arange(3000) % 100 != 0]).astype(int)
    np.testing.assert_allclose(BBQ().fit(p, y).transform([0, 0.5, 1]), [0.01, 0.5, 0.99], atol=1e-3)


def test_neighbouring_floats():
    """Two scores with no float between them are told apart."""
    low, high = 0.5, np.nextafter(0.5, 1)
    out = BBQ().fit([low] * 50 + [high] * 50, [0] * 49 + [1] * 50 + [0]).transform([low, high])
    assert out[0] < 0.1
    assert out[1] > 0.9


def test_more_weight_is_more_evidence():
    """Weights count as rows: a thousandth of them leaves one bin that hardly moves from the prior."""
    p, y, _ = example(300, 8, 5)
    full = BBQ().fit(p, y)
    faint = BBQ().fit(p, y, sample_weight=np.full(300, 1e-3))
    assert len(full.maps_[0]["edges"]) > 10
    assert np.ptp(full.transform(p)) > 0.5
    assert np.abs(faint.transform([0.5]) - 0.5) < 0.1


def test_enormous_weights():
    """Weights of 10^12 have no more than 2,000 bins, and each score its own rate."""
    p = np.arange(1, 21) / 21
    y = np.tile([0, 1], 20)
    out = BBQ().fit(np.repeat(p, 2), y, sample_weight=np.tile([1e12, 3e12], 20)).transform(p)
    np.testing.assert_allclose(out, 0.75, atol=1e-9)


def test_order_is_not_kept():
    """Where low scores do better than high ones, the map goes down."""
    p = np.repeat([0.2, 0.8], 200)
    y = np.repeat([1, 0, 1, 0], [150, 50, 50, 150])
    low, high = BBQ().fit(p, y).transform([0.2, 0.8])
    assert low > 0.7 > 0.3 > high


def test_one_against_the_rest():
    """A class of several has the map of its column, and rows are divided by their sums."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 400)
    labels = (p.cumsum(axis=1) < rng.random((400, 1))).sum(axis=1)
    columns = np.column_stack([BBQ().fit(p[:, k], labels == k).transform(p[:, k]) for k in range(3)])
    np.testing.assert_allclose(
        BBQ().fit(p, labels).transform(p), columns / columns.sum(axis=1, keepdims=True), atol=1e-12
    )


def test_settings():
    """Unknown priors, and none at all, are sentences."""
    with pytest.raises(InputError, match="prior must be one of 'per_bin', 'shared', got 'flat'"):
        BBQ(prior="flat").fit([0.1, 0.2], [0, 1])
    with pytest.raises(InputError, match="prior_weight must be a number from 1e-06 to 1e"):
        BBQ(prior_weight=0).fit([0.1, 0.2], [0, 1])
    with pytest.raises(InputError, match="BBQ takes input='probabilities' or 'logits', not scores"):
        BBQ(input="scores").fit([0.1, 0.2], [0, 1])


def test_damaged_map():
    """Values must be one more than edges."""
    model = BBQ().fit([0.3] * 30, [0, 1, 1] * 10)
    with pytest.raises(SchemaError, match="one more of the saved values than of the saved edges"):
        load_recalibrator(model.to_json().replace('"edges": []', '"edges": [0.5]'))
