"""The verdict says how good, which way, and where."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import believable
from believable import Predictions, reliability_table, verdict
from believable.auditing import judgement
from believable.auditing.judgement import effective_rows_of_bins, grade
from believable.auditing.settings import AuditSettings
from believable.auditing.source import ClusteredRows, RowSource
from believable.errors import InputError
from believable.inference.interval import Interval, interval
from believable.report.verdicts import ECE_GUIDELINE
from believable.stats.source import count_bins

RNG = np.random.default_rng(0)


@pytest.fixture
def without_interval(monkeypatch):
    """Verdicts with an interval of no width around the ECE: whether chance explains it is not decided by the interval,
    which takes most of the time."""

    def instead(metric, predictions, *, options, level, **others):
        value = believable.expected_calibration_error(predictions, **options)
        return Interval(value, value, level, value, value, "none")

    monkeypatch.setattr(judgement, "interval", instead)


@pytest.mark.parametrize(
    ("ece", "word"),
    [(0, "excellent"), (0.0499, "excellent"), (0.05, "good"), (0.1, "moderate"), (0.15, "poor"), (1, "poor")],
)
def test_grades_follow_the_guideline(ece, word):
    """Below 0.05 excellent, 0.10 good, 0.15 moderate, otherwise poor."""
    assert grade(ece) == word


def test_directions():
    """Too extreme is over-confident, too timid under-confident, and noise is neither."""
    p = RNG.beta(0.7, 0.7, 20_000)
    logit = np.log(p / (1 - p))
    for slope, direction in ((0.5, "over-confident"), (2.0, "under-confident"), (1.0, "unclear")):
        y = (RNG.random(20_000) < 1 / (1 + np.exp(-slope * logit))).astype(int)
        assert verdict(p, y).direction == direction


def test_places_are_runs_of_bins():
    """Where scores are off, the range and the rows are named; neighbours are told together."""
    p = np.repeat([0.05, 0.15, 0.25, 0.55, 0.95], 1000)
    rate = np.repeat([0.05, 0.4, 0.5, 0.3, 0.95], 1000)
    y = (np.tile(np.arange(1000), 5) < rate * 1000).astype(int)
    low, high = verdict(p, y).places
    assert (low.low, low.high, low.n) == (0.1, 0.3, 2000)
    assert (low.conf, low.acc) == pytest.approx((0.2, 0.45))
    assert str(high) == "scores from 0.50 to 0.60 are too high: 0.550 predicted, 0.300 happened (1,000 rows)"


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 50, 200, 2000])
def test_a_perfect_model_is_not_called_poor(n, without_interval):
    """With few rows a perfect model shows a large ECE: nineteen times out of twenty it is told from no perfect one."""
    rng = np.random.default_rng(n)
    told = 0
    for _ in range(100):
        p = rng.random(n)
        told += verdict(p, (rng.random(n) < p).astype(int)).beyond_chance
    # One in twenty by the ECE, and at most one in a hundred each by the two means, which go along with it: of a chance
    # of 6 %, more than 15 in 100 come 3 times in 10,000; at 16 %, twice what the words promise, 15 or fewer every other time.
    assert told <= 15


@pytest.mark.parametrize(("p", "n"), [(0.001, 1000), (0.01, 100), (0.3, 50)])
def test_rare_events_raise_no_false_alarm(p, n, without_interval):
    """A perfect model of rare events is seldom called too high or too low on the whole."""
    rng = np.random.default_rng(1)
    # The counts of events take few values, so few that verdicts differ in: each is asked for once.
    happened = np.bincount(rng.binomial(n, p, 2000))
    off = unclear = 0
    for k in np.flatnonzero(happened):
        judged = verdict(np.full(n, p), np.arange(n) < k)
        off += happened[k] * judged.off_on_the_whole
        unclear += happened[k] * (judged.direction == "unclear")
    # Counts are skewed, so up to 8 % rather than 5 %: more than 200 of 2,000 then come 1 time in 1,000.
    assert off <= 200
    assert unclear >= 1800


def test_certain_and_right_is_not_off():
    """Scores of exactly 0 and 1 that are right are inside their interval, for every number of rows."""
    for n in (1, 2, 3, 5, 8, 13, 50, 120, 399):
        table = believable.reliability_table([0.0] * n + [1.0] * n, [0] * n + [1] * n, n_bins=2)
        assert table.low[0] == 0
        assert table.high[1] == 1
        assert "*" not in str(table)
        assert not verdict([0.0] * n, [0] * n, pairs=True).places


def test_all_right_is_exactly_right():
    """A weighted share of everything is 1, not one rounding above."""
    rng = np.random.default_rng(3)
    for n in (1, 7, 24, 1000):
        weights = rng.random(n)
        assert believable.accuracy(np.tile([0.3, 0.7], (n, 1)), [1] * n, sample_weight=weights) == 1
        assert believable.accuracy([0.7] * n, [1] * n, sample_weight=weights) == 1
        assert verdict(np.tile([0.3, 0.7], (n, 1)), [1] * n, sample_weight=weights)


def test_nothing_said_of_ten_right_rows():
    """Ten right answers at 0.99 are what a perfect model gives."""
    judged = verdict([0.99] * 10, [1] * 10)
    assert not judged.off_on_the_whole
    assert judged.direction == "unclear"


def test_statistics_are_named_in_the_refusal():
    """What needs the predictions says so."""
    stats = believable.BinStats.of(believable.Predictions([0.5], [1]))
    with pytest.raises(InputError, match="this needs the predictions themselves, not a BinStats"):
        verdict(stats)


def test_the_error_by_chance_is_that_of_a_simulation():
    """What chance would show is the mean over outcomes drawn row by row."""
    p = RNG.beta(0.5, 1.5, 400)
    w = RNG.random(400)
    simulated = [believable.expected_calibration_error(p, RNG.random(400) < p, sample_weight=w) for _ in range(2000)]
    judged = verdict(p, RNG.random(400) < p, sample_weight=w)
    assert judged.by_chance == pytest.approx(
        np.mean(simulated), rel=0.05
    )  # 1000 and 2000 draws, weights by their effective number


def test_rare_events_are_judged_on_the_whole():
    """Risks off by a factor are named, however small the ECE is, and so are bins that tell little."""
    p = RNG.beta(0.6, 30, 5000)
    judged = verdict(p, (RNG.random(5000) < np.minimum(2.5 * p, 1)).astype(int))
    assert judged.grade == "excellent"
    assert judged.beyond_chance
    assert judged.off_on_the_whole
    text = str(judged)
    assert text.startswith("The error is small on the scale of the ECE, but real: ECE 0.0")
    assert "On the whole the scores are too low: mean score 0.0" in text
    assert "times as often as predicted." in text
    assert "try quantile bins" in text


def test_few_rows_get_no_grade():
    """Where the interval reaches from excellent to moderate, no grade is given, and it is said how many rows would do."""
    judged = verdict([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1])
    assert not judged.beyond_chance
    assert judged.standing == judged.label == "too little data"
    assert str(judged).startswith(
        "There is too little data to tell good calibration from poor: ECE 0.4000, 95 % interval "
    )
    assert f"About {judged.rows_needed:,} rows would do." in judged.headline
    assert "Guideline" not in str(judged)


@pytest.mark.parametrize(
    ("low", "high", "beyond", "standing"),
    [
        (0.0, 0.0999, False, "cannot be told from perfect"),
        (0.0, 0.10, False, "too little data"),
        (0.0499, 0.10, True, "too little data"),
        (0.05, 0.30, True, "off"),
        (0.06, 0.30, False, "cannot be told from perfect"),
        (0.0, 0.04, True, "off"),
    ],
)
def test_standing_by_the_interval(low, high, beyond, standing):
    """Too little data where both excellent and moderate are possible; otherwise chance decides."""
    assert judgement._standing(low, high, beyond) == standing


def test_the_three_standings():
    """A bad model is off, a perfect one cannot be told from perfect, and with a handful of rows nothing can be told."""
    p = np.random.default_rng(8).beta(0.7, 0.7, 3000)
    happened = np.random.default_rng(9).random(3000)
    off = verdict(p, happened < 0.5 + 0.4 * (p - 0.5))
    assert (off.standing, off.label, off.rows_needed) == ("off", off.grade, None)
    assert off.headline.startswith(f"Calibration is {off.grade}: ECE 0.")
    fine = verdict(p, happened < p)
    assert (fine.standing, fine.label, fine.rows_needed) == ("cannot be told from perfect",) * 2 + (None,)
    assert fine.headline.startswith("Calibration cannot be told from perfect at this sample size: ECE 0.0")
    few = verdict(p[:30], happened[:30] < p[:30])
    assert few.standing == "too little data"
    surely = verdict([0.99] * 8, [1, 0, 1, 1, 0, 1, 1, 1])
    assert surely.beyond_chance
    assert surely.standing in ("off", "too little data")
    if surely.standing == "too little data":
        assert surely.headline.startswith("The scores are off, but there is too little data to say by how much")


def test_as_many_rows_as_it_asks_for_are_enough():
    """With the rows it asks for, and the same model, there is no longer too little data."""
    rng = np.random.default_rng(10)
    p = rng.beta(0.7, 0.7, 100_000)
    y = rng.random(100_000) < p
    few = verdict(p[:60], y[:60])
    assert few.standing == "too little data"
    width = (few.high - few.low) / ECE_GUIDELINE[0][1]
    assert few.rows_needed == pytest.approx(60 * width**2, rel=0.5)  # one digit that counts
    for part in range(5):
        rows = slice(1000 + part * few.rows_needed, 1000 + (part + 1) * few.rows_needed)
        assert verdict(p[rows], y[rows]).standing != "too little data"


def test_clusters_make_it_less_sure():
    """Rows in ten copies: one by one they look like proof; as clusters they tell as much as a tenth of them."""
    rng = np.random.default_rng(11)
    p = rng.random(60)
    y = rng.random(60) < p
    copies, patients = (np.repeat(p, 10), np.repeat(y, 10)), np.repeat(np.arange(60), 10)
    plain, clustered, once = verdict(*copies), verdict(*copies, clusters=patients), verdict(p, y)
    assert plain.ece == clustered.ece == pytest.approx(once.ece)
    assert plain.beyond_chance
    assert not clustered.beyond_chance
    assert clustered.p_value > 0.05 > plain.p_value
    assert not clustered.places
    assert clustered.high - clustered.low > 1.5 * (plain.high - plain.low)
    assert clustered.standing == once.standing == "too little data"


def test_clusters_that_are_off_are_told():
    """What every patient shows is no chance, however few rows each of them has."""
    rng = np.random.default_rng(12)
    p = rng.random(1500)
    judged = verdict(p, rng.random(1500) < p**3, clusters=np.repeat(np.arange(300), 5))
    assert (judged.standing, judged.off_on_the_whole) == ("off", True)
    assert all(place.way == "too high" for place in judged.places)


def test_classes_put_together():
    """pooled=True judges every class and every probability at once: the ECE is the pooled one."""
    rng = np.random.default_rng(13)
    p = rng.dirichlet(np.full(4, 0.5), 600)
    y = np.array([rng.choice(4, p=row) for row in p])
    sharp = p**3 / (p**3).sum(axis=1, keepdims=True)
    for notion in ("classwise", "top_label"):
        judged = verdict(sharp, y, notion=notion, pooled=True)
        direct = believable.expected_calibration_error(sharp, y, notion=notion, pooled=True)
        assert (judged.ece, judged.notion, judged.standing) == (direct, notion, "off")
        assert judged.direction == "over-confident"
        assert judged.mean_score is None


@pytest.mark.parametrize("notion", ["confidence", "classwise", "top_label"])
def test_a_perfect_model_of_classes_has_no_direction(notion, without_interval, monkeypatch):
    """Whatever the headline is about, confidence and accuracy differ by no more than chance 99 times in 100."""
    chance = SimpleNamespace(mean=0.0, q95=0.0, p_value=1.0)  # as if the ECE were fine: the direction is judged alone
    monkeypatch.setattr(judgement, "noise_floor", lambda *arguments, **options: chance)
    rng = np.random.default_rng(15)
    directed = 0
    for _ in range(60):
        p = rng.dirichlet(np.full(4, 0.5), 200)
        y = (rng.random((200, 1)) > p.cumsum(axis=1)).sum(axis=1)
        directed += verdict(p, y, notion=notion, pooled=notion != "confidence").direction != "unclear"
    assert directed <= 4  # of 60 with a chance of 1 %, more come 3 times in 10,000


@pytest.mark.slow
def test_words_never_contradict_each_other(monkeypatch):
    """What cannot be told from perfect has no direction, no place and no shift; nor has it a grade."""
    monkeypatch.setattr(judgement, "interval", partial(interval, n_resamples=100))  # words, not digits, are looked at
    monkeypatch.setattr(judgement, "VERDICT_DRAWS", 400)
    rng = np.random.default_rng(14)
    standings = set()
    for _ in range(250):
        n = int(rng.choice([5, 20, 60, 200]))
        p = rng.beta(*rng.choice([0.3, 1, 3], 2), n).round(int(rng.choice([1, 2, 8])))
        rate = np.clip(p ** rng.choice([1, 1, 1.5]) + rng.choice([0, 0, 0.1, -0.1]), 0, 1)
        groups = rng.integers(0, max(n // 4, 2), n) if rng.random() < 0.3 else None
        if groups is not None and len(set(groups)) < 2:
            continue
        judged = verdict(p, rng.random(n) < rate, clusters=groups, n_bins=int(rng.choice([2, 5, 10])))
        standings.add(judged.standing)
        text = str(judged)
        if not judged.beyond_chance:
            assert (judged.places, judged.direction, judged.off_on_the_whole) == ((), "unclear", False), text
            assert "No range of scores is off" in text
        assert ("Guideline" in text) == (judged.standing == "off")
        assert (judged.rows_needed is None) == (judged.standing != "too little data")
        assert (judged.standing == "cannot be told from perfect") <= (not judged.beyond_chance)
        assert judged.rows_needed is None or judged.rows_needed >= n  # more of it, never less
        assert 0 <= judged.low <= judged.high <= 1
        assert judged.label in (judged.grade, judged.standing, "off on the whole")
    assert standings == {"off", "cannot be told from perfect", "too little data"}


def test_one_curve_only():
    """A verdict is about one curve."""
    with pytest.raises(InputError, match="a verdict is about one curve"):
        verdict([[0.5, 0.5]], [0], notion="classwise")
    assert "No range of scores is off" in str(verdict([0.5], [1]))


def test_what_had_no_probability_is_no_excellent_forecast():
    """Events at a score of 0 are infinitely more than predicted, however small the ECE is."""
    rows = RowSource(Predictions([0.0] * 300, np.arange(300) == 0))
    judged = judgement.judge(rows, AuditSettings(10, "uniform", None, False, False, 0.95, 0))
    assert judged.label == "off on the whole"
    assert "happened 0.0033, which had a probability of 0" in str(judged)


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_clusters_raise_no_false_alarm(level):
    """Clusters that share a fate, calibrated on the whole, are seldom called off, whatever the level of the intervals."""
    from scipy.special import ndtr

    rng = np.random.default_rng(16)
    told = 0
    for _ in range(60):
        cluster = np.arange(400) // 8
        p = rng.random(400)
        fate = 0.6 * rng.normal(size=50)[cluster] + 0.8 * rng.normal(size=400)
        told += verdict(p, ndtr(fate) < p, clusters=cluster, level=level).beyond_chance
    assert told <= 10  # of 60 with a chance of 6 %, more come 1 time in 1,000


def test_two_clusters_prove_nothing():
    """Two clusters cannot tell chance from a pattern, and the interval does not claim it."""
    rng = np.random.default_rng(17)
    p = rng.random(200)
    judged = verdict(p, rng.random(200) < p**2, clusters=np.arange(200) % 2)
    assert (judged.beyond_chance, judged.low) == (False, 0.0)


def test_confidences_in_answers():
    """With pairs the accuracy is the share of right answers, and over-confidence is said of that."""
    p = np.repeat([0.5, 0.9], 200)
    y = np.concatenate([np.arange(200) % 2, np.arange(200) % 5 > 1])  # half and six in ten are right
    judged = verdict(p, y, pairs=True)
    assert (judged.confidence, judged.accuracy) == pytest.approx((0.7, 0.55))
    assert judged.direction == "over-confident"
    assert "The model is over-confident: mean confidence 0.7000, accuracy 0.5500." in str(judged)
    assert "On the whole" not in str(judged)
    assert verdict(p, y, pairs=True, clusters=np.arange(400) // 4).direction == "over-confident"
    with pytest.raises(InputError, match="pairs=True is for 1-D scores"):
        verdict([[0.5, 0.5]], [0], pairs=True)


def test_rare_events_have_no_confidence():
    """Where every score is on one side of one half, too high and too low say it all."""
    rng = np.random.default_rng(4)
    p = rng.beta(1, 30, 5000)
    judged = verdict(p, rng.random(5000) < 0.5 * p)
    assert judged.one_sided
    assert "too high" in str(judged)
    assert "confident" not in str(judged)


def test_clusters_are_asked_for():
    """Where rows come in clusters, so many clusters would do."""
    rng = np.random.default_rng(2)
    p = np.repeat(rng.random(30), 5)
    judged = verdict(p, rng.random(150) < p, clusters=np.arange(150) // 5)
    assert judged.standing == "too little data"
    assert "clusters would do" in judged.headline


# --- how much the rows of a bin tell, where they come in clusters ------------------------------------------------------


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
    assert effective_rows_of_bins(ClusteredRows(predictions, cluster), stats) == pytest.approx(
        literal(p, y, w, cluster, [0, 0.2, 0.4, 0.6, 0.8, 1]), rel=1e-9
    )


def test_copies_tell_nothing_new():
    """Rows that come ten times, as clusters, are worth about the rows themselves."""
    p = RNG.random(400)
    y = (RNG.random(400) < p).astype(int)
    many = Predictions(np.repeat(p, 10), np.repeat(y, 10))
    stats = count_bins(many, 4, "uniform")
    once = reliability_table(p, y, n_bins=4).n
    worth = effective_rows_of_bins(ClusteredRows(many, np.repeat(np.arange(400), 10)), stats)
    assert worth == pytest.approx(once, rel=0.02)  # less the one that the rate of the bin takes: (G - 1)/G


def test_classes_of_a_row_are_one_cluster():
    """With all classes in common bins a row has as many pairs as there are classes."""
    q = RNG.dirichlet([1, 1, 1], 150)
    y = RNG.integers(0, 3, 150)
    predictions = Predictions(q, y)
    stats = count_bins(predictions, 4, "uniform", notion="classwise", pooled=True)
    worth = effective_rows_of_bins(ClusteredRows(predictions, np.arange(150) // 3), stats)
    expected = literal(
        q.ravel(), (y[:, None] == np.arange(3)).ravel().astype(int), np.ones(450), np.repeat(np.arange(150) // 3, 3), [0, 0.25, 0.5, 0.75, 1]
    )  # fmt: skip
    assert worth == pytest.approx(expected, rel=1e-9)
