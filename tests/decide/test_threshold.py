"""The threshold with a guaranteed precision: the literal search, the guarantee on unseen rows, and the edges."""

from __future__ import annotations

import math

import numpy as np
import pytest

from believable import Predictions, threshold_for
from believable.decide.precision import Kept
from believable.errors import InputError

RNG = np.random.default_rng(5)


def tail(hits, n, p):
    """P(X >= hits) for a binomial X, term by term."""
    return sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(hits, n + 1))


def fewest(mistakes, target, alpha):
    n = mistakes + 1
    while tail(n - mistakes, n, target) > alpha:
        n += 1
    return n


def literal(p, y, target=0.9, alpha=0.05):
    """Cut, rows kept and hits, by testing one cut after the other; None where the first test fails."""
    least = fewest(0, target, alpha)
    start = fewest(max(math.floor(math.sqrt(len(p) / least)) - 1, 0), target, alpha)
    found = None
    for cut in sorted(set(p), reverse=True):
        kept = [b for a, b in zip(p, y, strict=True) if a >= cut]
        if len(kept) < start:
            continue
        if tail(sum(kept), len(kept), target) > alpha:
            break
        found = (cut, len(kept), sum(kept))
    return found


@pytest.mark.parametrize("target", [0.6, 0.8, 0.9])
@pytest.mark.parametrize("scores", ["distinct", "heaped", "float32"])
def test_the_search_is_the_literal_one(target, scores):
    """Cuts are tested from above by the binomial tail until one fails."""
    n_found = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        p = rng.beta(0.3, 0.3, 300)
        y = (rng.random(300) < p).astype(int)
        p = np.round(p, 1) if scores == "heaped" else p.astype(np.float32 if scores == "float32" else float)
        found, expected = threshold_for(p, y, precision=target), literal(p.tolist(), y.tolist(), target)
        assert found.is_found == (expected is not None)
        if expected is None:
            continue
        n_found += 1
        cut, n_kept, hits = expected
        assert (found.cut, found.n_kept) == (cut, n_kept)
        assert (p >= found.cut).sum() == n_kept
        assert found.precision == pytest.approx(hits / n_kept)
        assert found.recall == pytest.approx(hits / y.sum())
        assert found.share == n_kept / 300
        assert tail(hits, n_kept, found.lower) == pytest.approx(0.05)
        assert found.lower >= target
    assert n_found >= 4


@pytest.mark.parametrize(
    "truth",
    [
        lambda s: s,
        lambda s: 0.5 + (s - 0.5) * 0.85,
        lambda s: np.where(s > 0.3, 0.8999, 0.3),
        lambda s: np.where(s > 0.95, 0.8, np.where(s > 0.6, 0.95, 0.5)),
        lambda s: 1 - 0.3 * s,
    ],
    ids=["calibrated", "over-confident", "on the brink", "wrong at the top", "upside down"],
)
@pytest.mark.parametrize("n", [100, 600])
def test_the_promise_holds_for_rows_to_come(truth, n):
    """In 400 data sets the true precision above the cut is below the target in no more than 5 %, up to chance."""
    rng = np.random.default_rng(n)
    grid = (np.arange(100_000) + 0.5) / 100_000
    above = np.cumsum(truth(grid)[::-1])[::-1] / np.arange(100_000, 0, -1)
    broken = 0
    for _ in range(400):
        s = rng.random(n)
        found = threshold_for(s, rng.random(n) < truth(s))
        broken += found.is_found and above[int(found.cut * 100_000)] < 0.9 - 1e-4
    assert broken <= 400 * 0.05 + 2.5 * math.sqrt(400 * 0.05 * 0.95)


def test_a_promise_is_made_where_it_can_be():
    """With 2,000 calibrated scores a cut is nearly always found, not far above the lowest that would do."""
    rng = np.random.default_rng(0)
    share, most = [], []
    for _ in range(60):
        s = np.sort(rng.beta(0.4, 0.4, 2000))[::-1]
        share.append(threshold_for(s, rng.random(2000) < s).share)
        most.append(np.mean(np.cumsum(s) / np.arange(1, 2001) >= 0.9))
    assert min(share) > 0.3
    assert np.mean(share) > 0.85 * np.mean(most)


@pytest.mark.parametrize("alike", [0.0, 0.3, 0.95], ids=["independent", "somewhat alike", "nearly the same"])
def test_the_promise_holds_for_clusters(alike):
    """Rows of a cluster share their luck; precision just below the target is not promised too often."""
    rng = np.random.default_rng(1)
    broken = 0
    for _ in range(250):
        group = np.repeat(np.arange(120), rng.integers(1, 12, 120))
        own, shared = rng.random(len(group)), rng.random(120)[group]
        y = np.where(rng.random(120)[group] < alike, shared, own) < 0.899
        broken += threshold_for(rng.random(len(group)), y, clusters=group).is_found
    assert broken <= 250 * 0.05 + 2.5 * math.sqrt(250 * 0.05 * 0.95)


def test_the_promise_holds_with_weights():
    """Heavy rows that are wrong more often do not break it."""
    rng = np.random.default_rng(2)
    broken = 0
    for _ in range(250):
        w = rng.exponential(size=500)
        q = np.where(w > 0.7, 0.88, 0.95)
        q = q - (w @ q / w.sum() - 0.899)
        broken += threshold_for(rng.random(500), rng.random(500) < q, sample_weight=w).is_found
    assert broken <= 250 * 0.05 + 2.5 * math.sqrt(250 * 0.05 * 0.95)


def literal_effective(w, y, g):
    """Rows that the kept ones are worth, cluster by cluster."""
    names = sorted(set(g))
    size = {c: sum(a for a, k in zip(w, g, strict=True) if k == c) for c in names}
    hits = {c: sum(a * b for a, b, k in zip(w, y, g, strict=True) if k == c) for c in names}
    total = sum(size.values())
    size["added"], hits["added"] = sum(a * a for a in size.values()) / total, 0.0
    whole = sum(size.values())
    p = sum(hits.values()) / whole
    variance = sum((hits[c] - p * size[c]) ** 2 for c in size) / whole**2
    return min(p * (1 - p) / variance - 1, total**2 / sum(a * a for a in w))


def test_effective_rows_are_the_literal_ones():
    """At every cut, from sums over its clusters."""
    p, y = np.round(RNG.random(80), 2), RNG.integers(0, 2, 80)
    w, g = RNG.exponential(size=80), RNG.integers(0, 15, 80)
    kept = Kept.of(p, y, w, g)
    for i, cut in enumerate(kept.cut):
        here = p >= cut
        if y[here].any():
            expected = literal_effective(w[here].tolist(), y[here].tolist(), g[here].tolist())
            assert kept.effective[i] == pytest.approx(expected, rel=1e-9)
        assert kept.n[i] == here.sum()
        assert kept.rate[i] == pytest.approx(w[here] @ y[here] / w[here].sum())


def test_equal_weights_and_lone_rows_change_nothing():
    """Weights that are all the same, and clusters of one row, give the exact answer; weight 0 removes a row."""
    p = RNG.beta(0.4, 0.4, 500)
    y = RNG.random(500) < p
    plain = threshold_for(p, y)
    for other in (
        threshold_for(p, y, sample_weight=np.full(500, 3.0)),
        threshold_for(p, y, clusters=np.arange(500)),
        threshold_for(np.append(p, 0.99), np.append(y, False), sample_weight=np.append(np.ones(500), 0)),
        threshold_for(Predictions(p, y)),
    ):
        assert (other.cut, other.n_kept) == (plain.cut, plain.n_kept)
        assert other.lower == pytest.approx(plain.lower)


def test_clusters_without_a_mistake_count_once():
    """28 faultless clusters of ten rows promise nothing, 29 do; so do 29 rows."""
    for n_clusters, found in ((28, False), (29, True)):
        group = np.repeat(np.arange(n_clusters), 10)
        p = np.linspace(0.5, 1, len(group))
        assert threshold_for(p, np.ones(len(group), int), clusters=group).is_found == found
        assert threshold_for(p[:n_clusters], np.ones(n_clusters, int)).is_found == found


def test_nothing_can_be_promised():
    """Then the cut is infinite, nothing is kept, and it says what it would take."""
    few = threshold_for([0.9], [1])
    assert (few.cut, few.n_kept, few.share, few.recall, few.least, few.start) == (math.inf, 0, 0, 0, 29, 0)
    assert str(few) == (
        "No threshold guarantees a precision of at least 0.9 with 95 % confidence. Even without a mistake this takes 29 "
        "rows above the threshold; there are too few."
    )
    p = np.linspace(0, 1, 100)
    bad = threshold_for(p, np.arange(100) % 20 > 0)
    assert str(bad).endswith(
        "The first threshold tested keeps the 29 rows with the highest scores; their precision is 0.9655 (lower bound "
        "0.8466). At that precision, about 64 rows above the threshold would be needed."
    )
    never = threshold_for(p, np.zeros(100, int))
    assert not never.is_found
    assert str(never).endswith("their precision is 0.0000 (lower bound 0.0000).")


def test_certain_and_constant_scores():
    """A constant score is one cut, zeros and ones are two."""
    constant = threshold_for(np.full(100, 0.3), np.arange(100) > 1)
    assert (constant.cut, constant.n_kept, constant.start) == (0.3, 100, 100)
    certain = threshold_for(np.repeat([0.0, 1.0], 50), np.repeat([0, 1], 50))
    assert (certain.cut, certain.n_kept, certain.recall) == (1.0, 50, 1.0)


def test_classes_are_answered_with_a_promised_accuracy():
    """For a matrix the score is the confidence in the predicted class, as for (confidence, correct) pairs."""
    matrix = RNG.dirichlet(np.full(3, 0.2), 1000)
    labels = np.array([RNG.choice(3, p=row) for row in matrix])
    found = threshold_for(matrix, labels)
    pairs = threshold_for(matrix.max(axis=1), matrix.argmax(axis=1) == labels)
    assert (found.cut, found.n_kept, found.notion) == (pairs.cut, pairs.n_kept, "confidence")
    assert str(found).startswith(
        f"Keep rows with a confidence of at least {found.cut:.6g}: this guarantees an accuracy"
    )


def test_many_cuts_are_thinned_for_the_curve_alone():
    """The chosen cut stays among them."""
    p = RNG.beta(0.4, 0.4, 20_000)
    y = RNG.random(20_000) < p
    found = threshold_for(p, y)
    assert len(found.curve.cut) <= 1002
    assert found.cut in found.curve.cut
    assert found.start in found.curve.n
    assert (found.curve.n[-1], found.curve.share[-1], found.curve.recall[-1]) == (20_000, 1, 1)


def test_refusals():
    """What cannot be asked for is refused in words."""
    with pytest.raises(InputError, match="precision must lie strictly between 0 and 1, got 1"):
        threshold_for([0.5], [1], precision=1)
    with pytest.raises(InputError, match=r"confidence must lie strictly between 0 and 1, got 0\.0"):
        threshold_for([0.5], [1], confidence=0.0)
    with pytest.raises(InputError, match="notion='classwise' has 3 sets of scores, each with its own threshold"):
        threshold_for(np.full((4, 3), 1 / 3), [0, 1, 2, 0], notion="classwise")
    with pytest.raises(InputError, match="clusters holds only one cluster"):
        threshold_for([0.5, 0.6], [1, 0], clusters=[1, 1])
