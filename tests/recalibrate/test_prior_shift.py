"""Prior shift, from the definition."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from believable._kernels import mixture
from believable.errors import InputError, LimitWarning, SchemaError
from believable.recalibrate import PriorShift, load_recalibrator
from tests.recalibrate.data import binary, logit, multiclass, softmax


def test_definition():
    """p_k t_k / s_k, divided by the sum of the row, with the weighted shares of y as source."""
    p, labels = multiclass()
    weight = np.random.default_rng(0).random(len(labels))
    target = [0.1, 0.2, 0.3, 0.4]
    source = [weight[labels == k].sum() / weight.sum() for k in range(4)]
    by_hand = p * target / source
    by_hand /= by_hand.sum(axis=1, keepdims=True)
    model = PriorShift(target=target).fit(p, labels, sample_weight=weight)
    np.testing.assert_allclose(model.transform(p), by_hand, rtol=1e-12)
    np.testing.assert_allclose(model.source_, source, rtol=1e-12)
    np.testing.assert_allclose(model.target_, target, rtol=1e-15)


def test_odds_of_one_event():
    """The odds of one event are multiplied by the ratio of the prior odds; one share says as much as two."""
    p, y = binary()
    odds = p / (1 - p) * (0.02 / 0.98) / (0.3 / 0.7)
    model = PriorShift(target=0.02, source=0.3).fit(p, y)
    np.testing.assert_allclose(model.transform(p), odds / (1 + odds), rtol=1e-12)
    pairs = PriorShift(target=[0.98, 0.02], source=(0.7, 0.3)).fit(p, y)
    np.testing.assert_allclose(pairs.transform(p), model.transform(p), rtol=1e-14)


def test_exact_in_the_tails():
    """Log-odds move by the same amount wherever they are, and do not overflow."""
    z = np.array([-700.0, -30, 0, 30, 1e4])
    model = PriorShift(input="logits", target=0.9, source=0.5).fit([0.0, 1.0], [0, 1])
    np.testing.assert_allclose(model.transform(z)[:2], 9 * np.exp(z[:2]), rtol=1e-11)
    assert model.transform(z)[-1] == 1


def test_nothing_changes_until_told():
    """Without a target the map is the identity."""
    p, labels = multiclass()
    np.testing.assert_allclose(PriorShift().fit(p, labels).transform(p), p, rtol=1e-13)


def test_there_and_back():
    """Moving to a target and back again changes nothing."""
    p, labels = multiclass()
    away = [0.7, 0.1, 0.1, 0.1]
    there = PriorShift(target=away).fit(p, labels)
    back = PriorShift(source=away, target=there.source_).fit(p, labels)
    np.testing.assert_allclose(back.transform(there.transform(p)), p, rtol=1e-11)


def test_absent_classes():
    """A target of 0 is probability 0; a class that is not in y needs a source."""
    p, labels = multiclass()
    out = PriorShift(target=[0.5, 0, 0.5, 0]).fit(p, labels).transform(p)
    assert np.all(out[:, [1, 3]] == 0)
    np.testing.assert_allclose(out.sum(axis=1), 1, rtol=1e-15)
    seen = labels != 2
    with pytest.raises(InputError, match=r"class 2 does not occur in y, .*: pass source=\[...\], one share per class"):
        PriorShift().fit(p[seen], labels[seen])
    assert np.isfinite(PriorShift(source=[0.25] * 4).fit(p[seen], labels[seen]).transform(p)).all()
    assert PriorShift(target=1).fit([0.2, 0.7], [0, 1]).transform([0.0, 0.4, 1.0]).tolist() == [1, 1, 1]


def saerens(p, source, weight, steps=20_000):
    """The EM algorithm as published: shares from posteriors, posteriors from shares."""
    target = np.array(source)
    for _ in range(steps):
        posterior = p * target / source
        posterior /= posterior.sum(axis=1, keepdims=True)
        before, target = target, np.average(posterior, axis=0, weights=weight)
        if np.abs(target - before).max() < 1e-15:
            break
    return target


@pytest.mark.parametrize("weighted", [False, True])
def test_adapt_is_where_em_ends(weighted):
    """The target that `adapt` finds is the fixed point of the EM algorithm, with weights too."""
    p, labels = multiclass()
    rng = np.random.default_rng(0)
    rows = np.flatnonzero(rng.random(len(p)) < np.array([0.9, 0.1, 0.6, 0.3])[labels])
    weight = rng.integers(0, 3, len(rows)).astype(float) if weighted else None
    model = PriorShift().fit(p, labels)
    expected = saerens(p[rows], model.source_, weight)
    np.testing.assert_allclose(model.adapt(p[rows], sample_weight=weight).target_, expected, atol=1e-12)
    again = PriorShift(target=expected).fit(p, labels)
    np.testing.assert_allclose(model.transform(p), again.transform(p), atol=1e-11)
    if weighted:
        repeated = np.repeat(p[rows], weight.astype(int), axis=0)
        np.testing.assert_allclose(model.adapt(repeated).target_, expected, atol=1e-12)


def test_adapt_finds_the_truth():
    """With many rows and right scores, the estimated share is near the true one."""
    rng = np.random.default_rng(0)
    y = (np.arange(20_000) < 2000).astype(int)
    z = rng.normal(size=20_000) + 2 * y - 1  # where both classes are alike frequent, 2 z is the log-odds
    model = PriorShift(input="logits", source=0.5).fit(2 * z, y).adapt(2 * z)
    assert model.target_[1] == pytest.approx(0.1, abs=0.01)  # a share of 20,000 overlapping rows, three standard errors
    assert model.transform(2 * z).mean() == pytest.approx(model.target_[1], abs=1e-10)  # at a fixed point of EM


def test_adapt_again():
    """What was adapted before does not matter, nor does a target that was given."""
    p, y = binary()
    once = PriorShift().fit(p, y).adapt(p[:50])
    twice = PriorShift(target=0).fit(p, y).adapt(p[100:]).adapt(p[:50])
    np.testing.assert_array_equal(twice.target_, once.target_)
    saved = load_recalibrator(once.to_json())
    np.testing.assert_array_equal(saved.transform(p), once.transform(p))


def test_adapt_at_the_limits():
    """Scores that tell nothing leave the source; one certain row is all there is."""
    model = PriorShift(source=0.3).fit([0.2, 0.7], [0, 1])
    np.testing.assert_allclose(model.adapt([0.3] * 5).target_, [0.7, 0.3], atol=1e-13)
    assert model.adapt([0.9]).target_ == pytest.approx([0, 1], abs=1e-12)
    assert model.adapt([0.0, 0.1]).target_ == pytest.approx([1, 0], abs=1e-12)
    z = np.random.default_rng(0).normal(size=(30, 3)).astype(np.float32) * 1e4
    logits = PriorShift(input="logits").fit(z, np.arange(30) % 3).adapt(z)
    np.testing.assert_allclose(logits.target_, np.bincount(z.argmax(axis=1)) / 30, atol=1e-9)


def test_a_maximum_that_is_not_found_is_said(monkeypatch):
    """Shares that had not settled come with a warning."""
    settings = replace(mixture.SHARES_SEARCH, most_steps=0)
    monkeypatch.setattr(mixture, "SHARES_SEARCH", settings)
    model = PriorShift().fit(*binary())
    with pytest.warns(LimitWarning, match="too flat to find its maximum"):
        model.adapt([0.1, 0.2, 0.7])


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"target": 1.2}, "target must be a number from 0 to 1, got 1.2"),
        ({"target": [0.5, 0.2, 0.2, 0.2]}, "target must be shares that sum to 1, got a sum of 1.1"),
        ({"target": 0.5}, "target must be 4 shares, one per class, got the share of one event"),
        ({"target": [0.5, 0.5]}, "target must be 4 shares, one per class, got 2"),
        ({"target": "half"}, "target must be a number from 0 to 1, got 'half'"),
        ({"source": [0.5, 0.5, 0, 0]}, "source must be above 0 for every class"),
        ({"input": "scores"}, "PriorShift takes input='probabilities' or 'logits', not scores"),
    ],
)
def test_sentences(settings, sentence):
    """Shares that are none are refused."""
    with pytest.raises(InputError, match=re.escape(sentence)):
        PriorShift(**settings).fit(*multiclass())


def test_saved_shares_are_checked():
    """Shares that do not sum to one, or a source of 0, are refused; settings survive."""
    p, labels = multiclass()
    model = PriorShift(target=np.array([0.1, 0.2, 0.3, 0.4])).fit(p, labels)
    saved = json.loads(model.to_json())
    assert load_recalibrator(model.to_json()).target == [0.1, 0.2, 0.3, 0.4]
    for source, sentence in (([0.5, 0.5, 0.5, 0.5], "4 shares that sum to 1"), ([0.5, 0.5, 0, 0], "above 0")):
        saved["maps"][0]["source"] = source
        with pytest.raises(SchemaError, match=sentence):
            load_recalibrator(json.dumps(saved))


def test_two_columns_and_logits_adapt_alike():
    """One event, its two columns and its logits give one target."""
    p, y = binary()
    one = PriorShift().fit(p, y).adapt(p[:99]).target_
    pairs = np.column_stack([1 - p, p])
    np.testing.assert_allclose(PriorShift().fit(pairs, y).adapt(pairs[:99]).target_, one, atol=1e-12)
    z = logit(p)
    np.testing.assert_allclose(PriorShift(input="logits").fit(z, y).adapt(z[:99]).target_, one, atol=1e-12)
    matrix, labels = multiclass()
    shifted = np.log(matrix) + 9
    np.testing.assert_allclose(
        PriorShift(input="logits").fit(shifted, labels).adapt(shifted[:99]).target_,
        PriorShift().fit(matrix, labels).adapt(softmax(shifted)[:99]).target_,
        atol=1e-11,
    )


def test_adapt_finds_shares_of_few_rows():
    """With fewer rows than classes, shares that vanish are dropped, and the maximum is found."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        k = int(rng.choice([6, 10]))
        p = softmax(rng.normal(size=(3, k)) * rng.choice([0.5, 2, 8]))
        model = PriorShift(source=np.full(k, 1 / k)).fit(softmax(rng.normal(size=(60, k))), np.arange(60) % k).adapt(p)
        pull = (p / (p @ model.target_)[:, None]).mean(axis=0)
        assert pull.max() <= 1 + 1e-9
