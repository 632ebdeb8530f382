"""Net benefit: the literal loop, its laws, and what holds on fresh data."""

from __future__ import annotations

import numpy as np
import pytest

from believable import Predictions, net_benefit
from believable.errors import InputError

RNG = np.random.default_rng(8)
P = RNG.random(150)
Y = (RNG.random(150) < P**1.5).astype(int)
W = RNG.exponential(size=150)
QUICK = {"n_resamples": 100, "random_state": 0}


def literal(p, y, w, t):
    """Net benefit of the model and of treating everyone, row by row."""
    odds = t / (1 - t)
    model = everyone = 0.0
    for score, happened, weight in zip(p, y, w, strict=True):
        worth = weight * (1 if happened else -odds) / sum(w)
        everyone += worth
        model += worth if score >= t else 0
    return model, everyone


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("decimals", [1, 12])
def test_the_curve_is_the_literal_one(weighted, decimals):
    """TP / n - FP / n * t / (1 - t) where the score is at least t, ties included."""
    p = np.round(P, decimals)
    found = net_benefit(p, Y, sample_weight=W if weighted else None, thresholds=np.arange(10) / 10, **QUICK)
    expected = [literal(p.tolist(), Y.tolist(), W.tolist() if weighted else [1.0] * 150, t) for t in np.arange(10) / 10]
    assert np.allclose(np.stack([found.net_benefit, found.treat_all], axis=1), expected, atol=1e-12)
    assert np.allclose(found.gain, [model - max(everyone, 0) for model, everyone in expected], atol=1e-12)
    assert np.allclose(found.standardised, found.net_benefit / found.prevalence)


def test_float32_scores_on_a_threshold_are_treated():
    """Thresholds are rounded to the type of the scores."""
    for dtype in (np.float32, np.float64):
        p = np.array([0.1, 0.3, 0.7, 0.9], dtype)
        assert net_benefit(p, [0, 0, 1, 1], thresholds=[0.3, 0.7], **QUICK).treated.tolist() == [0.75, 0.5]


def test_the_ends_of_the_thresholds():
    """At 0 everyone is treated and all is the prevalence; 1 is refused."""
    found = net_benefit(P, Y, thresholds=0, **QUICK)
    assert found.net_benefit[0] == pytest.approx(Y.mean())
    assert (found.treated[0], found.gain[0]) == (1, 0)
    for bad in ([0.5, 1.0], [-0.1], [np.nan]):
        with pytest.raises(InputError, match="thresholds must"):
            net_benefit(P, Y, thresholds=bad)
    with pytest.raises(InputError, match="thresholds are empty"):
        net_benefit(P, Y, thresholds=[])
    assert np.allclose(net_benefit(P, Y, **QUICK).threshold, np.arange(1, 100) / 100)


def test_laws():
    """No more than the prevalence; the perfect model has it; weight 2 is a row twice; weight 0 removes a row."""
    assert (net_benefit(P, Y, **QUICK).net_benefit <= Y.mean() + 1e-12).all()
    assert np.allclose(net_benefit(Y.astype(float), Y, **QUICK).standardised, 1)
    times = RNG.integers(0, 3, 150)
    weighted = net_benefit(P, Y, sample_weight=times, **QUICK)
    repeated = net_benefit(np.repeat(P, times), np.repeat(Y, times), **QUICK)
    assert np.allclose(weighted.net_benefit, repeated.net_benefit)
    two = net_benefit(np.column_stack([1 - P, P]), Y, **QUICK)
    assert np.allclose(two.net_benefit, net_benefit(P, Y, **QUICK).net_benefit)


def test_one_class_and_one_row():
    """If it never happened the best is to treat no one; if always, everyone."""
    never = net_benefit(P, np.zeros(150, int), **QUICK)
    assert (never.net_benefit <= 0).all()
    assert np.isnan(never.standardised).all()
    assert str(never) == "At no threshold does the model beat both treating everyone and treating no one."
    always = net_benefit([0.7], [1], thresholds=[0.5, 0.8], **QUICK)
    assert always.net_benefit.tolist() == [1, 0]
    assert always.useful == ()


def test_words():
    """The stretches are named, the longest three if there are more."""
    found = net_benefit([0.1, 0.3, 0.6, 0.9], [0, 0, 1, 1], thresholds=[0, 0.2, 0.5], **QUICK)
    assert str(found) == (
        "The model beats treating everyone and treating no one at thresholds 0.2 to 0.5. The 95 % interval of its "
        "gain lies above 0 at no threshold. Observed rate: 50 % of 4 rows."
    )
    p = np.arange(100) / 100
    patchy = net_benefit(p, np.arange(100) // 5 % 2, thresholds=p, **QUICK)
    assert len(patchy.useful) > 3
    assert "shorter ranges. The 95 % interval of its gain" in str(patchy)


def test_the_interval_covers():
    """In repeated samples the net benefit of the population lies inside, at low, middle and high thresholds."""
    rng = np.random.default_rng(9)
    t = np.array([0.1, 0.4, 0.8, 0.95])
    x = (np.arange(200_000) + 0.5) / 200_000
    truth = np.array([np.mean((x >= s) * (x**1.3 - (1 - x**1.3) * s / (1 - s))) for s in t])
    inside = np.zeros(4)
    for seed in range(200):
        p = rng.random(200)
        found = net_benefit(p, rng.random(200) < p**1.3, thresholds=t, level=0.9, n_resamples=200, random_state=seed)
        inside += (found.low <= truth) & (truth <= found.high)
    assert (inside / 200 >= 0.85).all()


def test_where_no_row_is_treated_some_may_be():
    """At thresholds that few rows reach, or nearly all do, the interval covers though the sample shows no such row."""
    rng = np.random.default_rng(0)
    t = np.array([0.0, 0.005, 0.8, 0.9])
    population = rng.beta(0.7, 2, 200_000)
    benefit = [np.mean((population >= each) * (population - each) / (1 - each)) for each in t]
    treat_all = population.mean() - (1 - population.mean()) * t / (1 - t)
    gain = benefit - np.maximum(treat_all, 0)
    covered, nobody = np.zeros((2, len(t))), 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        p = rng.beta(0.7, 2, 60)
        found = net_benefit(p, rng.random(60) < p, thresholds=t, n_resamples=100, random_state=0)
        covered += [
            (found.low <= benefit) & (benefit <= found.high),
            (found.gain_low <= gain + 1e-12) & (gain <= found.gain_high + 1e-12),
        ]
        nobody += found.treated[-1] == 0
        assert found.gain_low[0] == found.gain_high[0] == 0
    assert nobody > 30
    assert (covered / 100 > 0.88).all()


@pytest.mark.slow
def test_being_sure_holds_on_fresh_data():
    """Where the model is no better than treating all or none, it is called so beyond chance hardly ever."""
    rng = np.random.default_rng(10)
    t = np.array([0.05, 0.5, 0.95])
    wrong = np.zeros(3)
    for seed in range(200):
        p = rng.random(150)  # knows nothing: it happens at the rate t, where the two are equal
        for j, rate in enumerate(t):
            found = net_benefit(p, rng.random(150) < rate, thresholds=[rate], n_resamples=100, random_state=seed)
            wrong[j] += bool(found.surely_useful)
    assert (wrong / 200 <= 0.025 + 2.5 * np.sqrt(0.025 * 0.975 / 200)).all()


def test_ten_faultless_rows_prove_little():
    """At a high threshold a few treated rows without a mistake are better than nothing, but not beyond chance."""
    p = np.append(np.full(90, 0.1), np.full(10, 0.97))
    found = net_benefit(p, (p > 0.5).astype(int), thresholds=[0.5, 0.95], **QUICK)
    assert (found.gain > 0).all()
    assert found.surely_useful == ((0.5, 0.5),)


def test_clusters_widen_the_interval():
    """Rows that come ten at a time, all the same, are worth a tenth."""
    group = np.repeat(np.arange(150), 10)
    p, y = P[group], Y[group]
    alone = net_benefit(p, y, thresholds=[0.3], n_resamples=400, random_state=0)
    grouped = net_benefit(p, y, thresholds=[0.3], clusters=group, n_resamples=400, random_state=0)
    ratio = (grouped.high - grouped.low) / (alone.high - alone.low)
    assert 2.4 < ratio[0] < 4.2


def test_refusals():
    """One event only."""
    with pytest.raises(InputError, match="net_benefit is about one event, these are 3 classes"):
        net_benefit(np.full((3, 3), 1 / 3), [0, 1, 2])
    with pytest.raises(InputError, match="net_benefit is about one event"):
        net_benefit(Predictions([[0.2, 0.9]], [[0, 1]], multilabel=True))
