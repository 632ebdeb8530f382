"""Risk against coverage: literal loops, laws, edges, and intervals that cover."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from believable import Predictions, accuracy, selective
from believable.errors import InputError

RNG = np.random.default_rng(3)
QUICK = {"n_resamples": 100, "random_state": 0}


def literal(sure, wrong, w):
    """Cut, coverage and risk at each confidence, and the mean of the risk over the rows."""
    curve, area = [], 0.0
    for cut in sorted(set(sure), reverse=True):
        kept = [i for i in range(len(sure)) if sure[i] >= cut]
        weight = sum(w[i] for i in kept)
        risk = sum(w[i] * wrong[i] for i in kept) / weight
        curve.append((cut, weight / sum(w), risk))
        area += risk * sum(w[i] for i in kept if sure[i] == cut) / sum(w)
    return curve, area


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("decimals", [1, 12])
def test_binary_curve_is_the_literal_one(weighted, decimals):
    """The answer is p > 1/2, the confidence max(p, 1 - p); equal confidences enter together, also 0.1 and 0.9."""
    p, y = np.round(RNG.random(60), decimals), RNG.integers(0, 2, 60)
    w = RNG.exponential(size=60) if weighted else None
    found = selective(p, y, sample_weight=w, **QUICK)
    sure = [round(max(a, 1 - a), 12) for a in p.tolist()]
    wrong = [int((a > 0.5) != b) for a, b in zip(p.tolist(), y.tolist(), strict=True)]
    curve, area = literal(sure, wrong, [1.0] * 60 if w is None else w.tolist())
    assert np.allclose(np.stack([found.cut, found.coverage, found.risk], axis=1), curve, atol=1e-12)
    assert found.area == pytest.approx(area, abs=1e-12)
    assert found.risk[-1] == pytest.approx(1 - accuracy(p, y, sample_weight=w))


def test_matrix_curve_is_the_literal_one():
    """The answer is the largest entry, the first of equal ones."""
    matrix = np.round(RNG.dirichlet(np.full(4, 0.5), 80), 2)
    matrix[:, -1] = 1 - matrix[:, :-1].sum(axis=1)
    matrix = np.clip(matrix, 0, 1)
    labels = RNG.integers(0, 4, 80)
    found = selective(matrix, labels, **QUICK)
    wrong = (matrix.argmax(axis=1) != labels).astype(int)
    curve, area = literal(matrix.max(axis=1).tolist(), wrong.tolist(), [1.0] * 80)
    assert np.allclose(np.stack([found.cut, found.coverage, found.risk], axis=1), curve)
    assert found.area == pytest.approx(area)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_rule_keeps_the_rows_it_says(kind):
    """Rows with max(p, 1 - p) of at least the cut are n, to the last digit; 0.07 and 0.93 go together."""
    rng = np.random.default_rng(0)
    for p in (rng.random(200).astype(kind), (rng.integers(0, 101, 400) / 100).astype(kind)):
        found = selective(p, rng.random(len(p)) < p, random_state=0)
        sure = np.maximum(p, 1 - p)
        assert [int((sure >= cut).sum()) for cut in found.cut] == found.n.tolist()
    assert len(found.cut) == 51
    two = selective(np.column_stack([1 - p, p]), rng.random(400) < p, random_state=0)
    assert two.n.tolist() == found.n.tolist()


def test_the_best_order_is_the_best_of_all():
    """No order of the rows has a smaller area, weighted or not."""
    for w in ([1.0] * 5, [3.0, 1.0, 0.5, 2.0, 1.5]):
        wrong = [1, 0, 1, 0, 1]
        found = selective([0.9, 0.8, 0.7, 0.65, 0.6], [0, 1, 0, 1, 0], sample_weight=w, **QUICK)
        orders = permutations([0.9, 0.8, 0.7, 0.65, 0.6])
        assert found.best == pytest.approx(min(literal(list(order), wrong, w)[1] for order in orders))
        assert found.excess == pytest.approx(found.area - found.best)


def test_best_area_of_equal_rows():
    """With e wrong among n it is the sum of j / (n - e + j) over j = 1..e, by n; a perfect order has no excess."""
    p = np.linspace(0.99, 0.55, 50)
    found = selective(p, np.arange(50) < 40, **QUICK)
    assert found.best == pytest.approx(sum(j / (40 + j) for j in range(1, 11)) / 50)
    assert found.excess == 0


def test_weights():
    """Weight 2 is the row twice, for curve and area; weight 0 removes it; a common factor changes nothing."""
    p, y = RNG.random(40), RNG.integers(0, 2, 40)
    w = RNG.integers(0, 4, 40)
    weighted, repeated = selective(p, y, sample_weight=w, **QUICK), selective(np.repeat(p, w), np.repeat(y, w), **QUICK)
    assert weighted.area == pytest.approx(repeated.area)
    assert np.allclose(weighted.risk, repeated.risk)
    scaled = selective(p, y, sample_weight=7.0 * w, **QUICK)
    assert (scaled.area, scaled.best) == (pytest.approx(weighted.area), pytest.approx(weighted.best))


def test_reading_the_curve():
    """Risk at a coverage answers at least so many; coverage at a risk is the largest that has it."""
    found = selective([0.9, 0.9, 0.8, 0.7], [1, 0, 1, 1], **QUICK)
    assert found.risk_at(0.25) == found.risk_at(0.5) == 0.5
    assert found.risk_at([0.75, 1.0]).tolist() == [1 / 3, 0.25]
    assert (found.coverage_at(0.3), found.coverage_at(0.5), found.coverage_at(0.1)) == (1, 1, 0)
    with pytest.raises(InputError, match="coverage must be above 0"):
        found.risk_at(0)


def test_edges():
    """One row, one confidence, nothing wrong, all wrong."""
    assert selective([0.7], [0], **QUICK).area == 1
    constant = selective(np.full(10, 0.5), np.arange(10) < 3, **QUICK)
    assert (constant.area, len(constant.risk)) == (pytest.approx(0.3), 1)
    right = selective([0.0, 1.0, 0.2], [0, 1, 0], **QUICK)
    assert (right.area, right.low, right.high, right.excess) == (0, 0, 0, 0)
    soft = selective(Predictions([0.8, 0.7], [0.75, 0.5], soft_labels=True), **QUICK)
    assert soft.risk.tolist() == [0.25, 0.375]


def test_words():
    """The result reads as words."""
    text = str(selective([0.9, 0.2, 0.6, 0.7], [1, 0, 0, 1], **QUICK))
    assert text.startswith(
        "Error rate: 25.00 % on all 4 rows, 25.00 % on the most confident 90 %, 0.00 % on the most confident half."
    )
    assert text.endswith("0.0000 above the best possible order.")


@pytest.mark.parametrize("clustered", [False, True], ids=["rows", "clusters"])
def test_the_interval_covers_the_area_of_the_population(clustered):
    """Nine times in ten at level 0.9, roughly; without the clusters it would be too narrow."""
    rng = np.random.default_rng(4)

    def draw(n_groups):
        g = np.repeat(np.arange(n_groups), 8 if clustered else 1)
        p = rng.beta(0.7, 0.7, n_groups)[g]
        luck = rng.random(n_groups)[g] if clustered else rng.random(len(g))
        return np.clip(p + rng.normal(0, 1e-6, len(g)), 0, 1), (luck < p**1.3).astype(int), g

    truth = selective(*draw(400_000 if not clustered else 50_000)[:2], **QUICK).area
    inside = 0
    for seed in range(150):
        p, y, g = draw(120)
        groups = g if clustered else None
        found = selective(p, y, clusters=groups, level=0.9, n_resamples=200, random_state=seed)
        inside += found.low <= truth <= found.high
    assert 0.83 <= inside / 150 <= 0.97


def test_confident_rows_are_right_on_fresh_data():
    """The risk at half coverage is that of new rows with a confidence above the same cut."""
    rng = np.random.default_rng(6)
    p, q = rng.random(20_000), rng.random(20_000)
    found = selective(p, rng.random(20_000) < p, **QUICK)
    cut = found.cut[np.searchsorted(found.coverage, 0.5)]
    sure = np.maximum(q, 1 - q) >= cut
    wrong = (q > 0.5) != (rng.random(20_000) < q)
    # Two means of 10,000 rows with a rate of 1/8: 2.5 standard errors of their difference.
    assert found.risk_at(0.5) == pytest.approx(wrong[sure].mean(), abs=0.012)


def test_many_confidences_are_grouped_for_the_interval_alone():
    """The area is that of all rows, and lies inside."""
    p = RNG.random(5000)
    y = RNG.random(5000) < p
    found = selective(p, y, **QUICK)
    assert len(found.risk) == 5000
    assert found.low < found.area < found.high


def test_refusals():
    """Several labels per row have no one answer."""
    with pytest.raises(InputError, match="selective needs one answer per row"):
        selective(Predictions([[0.2, 0.9]], [[0, 1]], multilabel=True))
