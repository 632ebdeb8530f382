"""Cascades: a cut on confidence at the least cost, and what it saves on rows that did not choose it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import believable
from believable import Predictions, cascade
from believable.errors import InputError

COSTS = {"cost_fast": 0.01, "cost_slow": 0.2}


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return p, (rng.random(n) < p).astype(int)


def literal(confidence, fast_wrong, slow_wrong, weight, fast, slow, error):
    """Every cut from the textbook: the cost of each row, one by one."""
    curve = []
    for cut in [0.0, *sorted(set(confidence))]:
        total = routed = 0.0
        for c, f, s, w in zip(confidence, fast_wrong, slow_wrong, weight, strict=True):
            total += w * (fast + (slow + error * s if c <= cut else error * f))
            routed += w * (c <= cut)
        curve.append((cut, routed / sum(weight), total / sum(weight)))
    return curve


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("heaped", [False, True])
def test_the_curve_is_the_literal_one(weighted, heaped):
    """Cost and share at every cut equal the loop over rows, ties together; the cut is the cheapest."""
    rng = np.random.default_rng(1)
    p, y = data(200)
    p = np.round(p, 1) if heaped else p
    slow = np.where(rng.random(200) < 0.9, y, 1 - y).astype(float)
    w = rng.integers(1, 4, 200).astype(float) if weighted else None
    found = cascade(p, y, cost_fast=0.02, cost_slow=0.3, cost_error=2.0, slow=slow, sample_weight=w)
    sure = [max(x, 1 - x) for x in p]
    fast_wrong = [int((x > 0.5) != bool(label)) for x, label in zip(p, y, strict=True)]
    rows = (sure, fast_wrong, (slow != y).astype(int), np.ones(200) if w is None else w)
    cut, routed, cost = zip(*literal(*rows, 0.02, 0.3, 2.0), strict=True)
    assert found.curve.cut == pytest.approx(cut, abs=1e-15)
    assert found.curve.routed == pytest.approx(routed, abs=1e-12)
    assert found.curve.cost == pytest.approx(cost, abs=1e-12)
    best = min(range(len(cost)), key=lambda i: cost[i])
    assert (found.cut, found.cost) == pytest.approx((cut[best], cost[best]), abs=1e-12)
    assert found.cost_fast_only == pytest.approx(cost[0], abs=1e-12)
    assert found.cost_slow_only == pytest.approx(cost[-1] - 0.02, abs=1e-12)
    assert found.theoretical_cut == pytest.approx(1 - found.slow_error - 0.15, abs=1e-12)
    reached = max(i for i in range(len(cut)) if cut[i] <= found.theoretical_cut)
    assert found.theoretical_cost == pytest.approx(cost[reached], abs=1e-12)


def test_error_rates_add_up():
    """The errors of the kept and the routed, by their shares, are the errors of the cascade."""
    p, y = data(500)
    found = cascade(p, y, slow_error=0.05, **COSTS)
    mixed = found.routed * found.routed_error + (1 - found.routed) * found.kept_error
    assert found.error == pytest.approx(mixed, abs=1e-12)
    assert found.cost == pytest.approx(0.01 + 0.2 * found.routed + found.error, abs=1e-12)
    assert found.routed_error == pytest.approx(0.05)
    assert found.fast_error == pytest.approx(1 - believable.accuracy(p, y), abs=1e-12)
    assert found.curve.promised[0] == pytest.approx(
        0.01 + 1 - believable.mean_confidence(np.column_stack([1 - p, p]), y)
    )


def test_a_matrix_of_two_columns_is_the_event():
    """The answer is the same for P(y = 1) and for both columns; for classes the confidence is the top one."""
    p, y = data(300)
    one, two = cascade(p, y, **COSTS), cascade(np.column_stack([1 - p, p]), y, **COSTS)
    assert (one.cut, one.cost) == pytest.approx((two.cut, two.cost), abs=1e-12)
    rng = np.random.default_rng(0)
    matrix = rng.dirichlet([1, 1, 1], 300)
    labels = np.array([rng.choice(3, p=row) for row in matrix])
    found = cascade(matrix, labels, **COSTS)
    assert found.fast_error == pytest.approx(np.mean(matrix.argmax(1) != labels))
    assert np.mean(found.route(matrix)) == pytest.approx(found.routed)


def test_weights_are_repetitions_and_none_is_removal():
    """Weight 2 is a row twice, weight 0 no row, for everything but the folds."""
    p, y = data(100)
    w = np.arange(100) % 3.0
    slow = np.where(np.arange(100) % 17 == 5, 1 - y, y)
    weighted = cascade(p, y, slow=slow, sample_weight=w, **COSTS)
    times = w.astype(int)
    repeated = cascade(np.repeat(p, times), np.repeat(y, times), slow=np.repeat(slow, times), **COSTS)
    for name in ("cut", "cost", "cost_fast_only", "cost_slow_only", "routed", "error", "kept_error", "routed_error"):
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name), abs=1e-12), name
    kept = w > 0
    removed = cascade(p[kept], y[kept], slow=slow[kept], sample_weight=w[kept], **COSTS)
    assert removed.saving == weighted.saving


def test_what_the_slow_model_may_be():
    """Probabilities, a `Predictions` of the same rows, two columns, or the classes that it answers."""
    rng = np.random.default_rng(0)
    matrix = rng.dirichlet([1, 1, 1], 200)
    labels = np.array([rng.choice(3, p=row) for row in matrix])
    other = rng.dirichlet([1, 1, 1], 200)
    ways = [other, Predictions(other, labels), other.argmax(1), other.argmax(1).astype(float)]
    assert len({cascade(matrix, labels, slow=slow, **COSTS).cost for slow in ways}) == 1
    names = np.array(["a", "b", "c"])
    named = Predictions(matrix, names[labels], classes=["a", "b", "c"])
    assert (
        cascade(named, slow=names[other.argmax(1)], **COSTS).cost == cascade(matrix, labels, slow=other, **COSTS).cost
    )
    p, y = data(200)
    two = np.column_stack([1 - p, p])
    assert cascade(p, y, slow=two, **COSTS).slow_error == cascade(p, y, slow=p, **COSTS).slow_error


def test_soft_labels_are_shares():
    """A share s of outcome 1 costs s of an error where the answer is 0."""
    shares = np.array([0.2, 0.9, 0.5, 0.4, 1.0])
    found = cascade(Predictions([0.1, 0.8, 0.6, 0.3, 0.9], shares, soft_labels=True), cost_fast=0, cost_slow=0.9)
    assert found.fast_error == pytest.approx((0.2 + 0.1 + 0.5 + 0.4 + 0.0) / 5)


def test_nothing_and_everything_may_be_routed():
    """A dear slow model is never asked; where the fast one is always wrong all go to a cheap one."""
    p, y = data(100)
    none = cascade(p, y, cost_fast=0, cost_slow=1.5)
    assert (none.cut, none.routed, none.cost) == (0.0, 0.0, none.cost_fast_only)
    assert math.isnan(none.routed_error)
    assert none.theoretical_cut == 0
    assert not none.route(p).any()
    assert str(none).startswith("Route no rows")
    everything = cascade(p, (p <= 0.5).astype(int), cost_fast=0.01, cost_slow=0.1)
    assert (everything.routed, everything.cheaper) == (1.0, "slow")
    assert math.isnan(everything.kept_error)
    # A fold's cut may keep a row that is surer than all it has seen: 0.9 dearer, and two of a hundred at most.
    assert everything.saving.value == pytest.approx(-0.01, abs=0.02)
    assert "use the slow model alone" in str(cascade(p, (p <= 0.5).astype(int), cost_fast=0.5, cost_slow=0.1))


def test_the_folds_are_those_of_clusters():
    """Rows that come in copies say no more than once: with groups the interval is wider, and like that of one copy."""
    p, y = data(300)
    five = np.repeat(np.arange(300), 5)
    grouped = cascade(p[five], y[five], clusters=five, **COSTS).saving
    alone = cascade(p, y, **COSTS).saving
    ignored = cascade(p[five], y[five], **COSTS).saving
    # The same rows, dealt into other folds, which choose somewhat other cuts.
    assert grouped.high - grouped.low == pytest.approx(alone.high - alone.low, rel=0.15)
    assert ignored.high - ignored.low < 0.6 * (grouped.high - grouped.low)


def test_no_dearer_than_one_model_on_the_other_half():
    """A cut chosen on one half costs less than the better single model on the other half, beyond noise."""
    p, y = data(6000, 3)
    found = cascade(p[:3000], y[:3000], **COSTS)
    p, wrong = p[3000:], (p[3000:] > 0.5) != y[3000:]
    sent = found.route(p)
    saved = min(0.01 + wrong.mean(), 0.2) - (0.01 + np.where(sent, 0.2, wrong))
    assert saved.mean() > 4 * saved.std() / math.sqrt(3000)
    assert abs(saved.mean() - found.saving.value) < 5 * saved.std() / math.sqrt(3000)


def test_the_interval_of_the_saving_covers():
    """95 % intervals hold what the cut truly saves nine times in ten at least, also where the two models tie."""
    for slow_price in (0.1, 0.26):
        hits = 0
        for seed in range(150):
            p, y = data(600, seed)
            found = cascade(p, y, cost_fast=0.01, cost_slow=slow_price, slow_error=0.0, random_state=seed)
            cut = max(found.cut, 0.5)
            true = (
                0.01 + (2 * cut - 1) * slow_price + (1 - cut) ** 2
            )  # confidence is uniform on (0.5, 1) and calibrated
            hits += min(0.26, slow_price) - true in found.saving
        assert hits >= 0.87 * 150


def test_theory_agrees_where_scores_can_be_believed():
    """With calibrated scores the cut from the data is near the theoretical one; over-confident ones need a higher cut."""
    p, y = data(20_000, 5)
    assert cascade(p, y, **COSTS).cut == pytest.approx(0.8, abs=0.05)  # four of its standard deviations over seeds
    odds = p / (1 - p)
    loud = odds**3 / (1 + odds**3)
    found = cascade(loud, y, **COSTS)
    assert found.cut > 0.95 > found.theoretical_cut
    assert found.theoretical_cost > found.cost + 0.005
    assert "If the scores were calibrated, the best threshold would be 0.8" in str(found)


def test_float32_scores_route_themselves():
    """Routing the rows that chose the cut routes the share it says, in float32 too."""
    p, y = data(500)
    p = p.astype(np.float32).round(2)
    found = cascade(p, y, **COSTS)
    assert found.route(p).mean() == pytest.approx(found.routed)
    assert found.route(Predictions(p, y)).sum() == found.route(p).sum()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_probability_and_its_mirror_go_the_same_way(kind):
    """1 - 0.07 is not 0.93 in floating point, and yet as sure; the same as two columns, and on rows to come."""
    cents = np.random.default_rng(0).integers(0, 101, 1000)
    p = (cents / 100).astype(kind)
    y = np.random.default_rng(1).random(1000) < p
    found = cascade(p, y, cost_fast=0.01, cost_slow=0.12)
    assert len(found.curve.cut) == 52
    columns = np.column_stack([(100 - cents) / 100, p]).astype(kind)
    assert cascade(columns, y, cost_fast=0.01, cost_slow=0.12).fresh_cost == found.fresh_cost
    sure = np.maximum(cents, 100 - cents)
    at = round(100 * found.cut)
    for scores in (p, columns, p.astype(np.float64), p.astype(np.float32)):
        assert np.array_equal(found.route(scores), sure <= at)
    assert found.routed == pytest.approx((np.maximum(p, 1 - p) <= found.cut).mean())


def test_sentences():
    """The result reads as words, with the interval on rows that did not choose the cut."""
    p, y = data(2000)
    found = cascade(p, y, **COSTS)
    first, second, third, fourth = str(found).splitlines()
    assert first.startswith(
        f"Route the {100 * found.routed:.3g} % of rows with a confidence of at most {found.cut:.4g}"
    )
    assert second.startswith("The cascade pays off. On rows not used to choose the threshold it costs ")
    assert "over the slow model alone (95 % interval " in second
    assert third.endswith("slow model alone 0 %.")
    assert fourth.startswith("If the scores were calibrated, the best threshold would be ")
    assert "do not show whether the cascade pays off" in str(cascade(p[:30], y[:30], cost_fast=0.01, cost_slow=0.25))


def test_bad_input_is_refused():
    """Each with a sentence of its own."""
    p, y = data(20)
    refused = {
        "cost_slow must be a number from 0": {"cost_slow": -1},
        "cost_error must be above 0": {"cost_error": 0},
        "cost_error must be a number from 0 to 1e\\+100": {"cost_error": 1e300},
        "slow_error must be a number from 0 to 1": {"slow_error": 1.5},
        "pass either slow or slow_error": {"slow": p, "slow_error": 0.1},
        "slow must have one entry for each of 20 rows": {"slow": p[:3]},
        "slow must lie in": {"slow": p + 1},
        "3 columns, the predictions have 2 classes": {"slow": np.full((20, 3), 1 / 3)},
        "not for the same rows": {"slow": Predictions(p, 1 - y)},
        "cv=30 folds, but there are only 20 rows": {"cv": 30},
        "there are only 2 clusters of rows": {"clusters": np.arange(20) % 2},
        "level must": {"level": 1},
    }
    for words, choices in refused.items():
        with pytest.raises(InputError, match=words):
            cascade(p, y, **COSTS | choices)
    with pytest.raises(InputError, match="only 1 rows"):
        cascade(p[:1], y[:1], **COSTS)
    with pytest.raises(InputError, match=r"class numbers 0\.\.2 or one column per class, got 7 at row 1"):
        cascade(np.full((6, 3), 1 / 3), [0, 1, 2] * 2, slow=[0, 7, 1, 1, 1, 1], **COSTS)
    with pytest.raises(InputError, match="True or False, but there are more than two classes"):
        cascade(np.full((6, 3), 1 / 3), [0, 1, 2] * 2, slow=[True, False] * 3, **COSTS)
    with pytest.raises(InputError, match="not multilabel"):
        cascade(Predictions(np.full((5, 2), 0.3), np.eye(5, 2, dtype=int), multilabel=True), **COSTS)
    with pytest.raises(InputError, match="these look like logits: take the sigmoid"):
        cascade(p, y, **COSTS).route([-3.0, 2.0])
