"""The verdict answers whether scores may be taken at face value, and its words agree with each other."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from benchmarks.verdicts import GRID, answers

import believable
from believable import Predictions, reliability_table, verdict
from believable.auditing import judgement
from believable.auditing.judgement import effective_rows_of_bins
from believable.auditing.source import ClusteredRows
from believable.errors import InputError
from believable.inference.interval import Interval, interval
from believable.stats.source import count_bins

RNG = np.random.default_rng(0)


@pytest.fixture
def without_interval(monkeypatch):
    """Verdicts with an interval of no width around the ECE, and fewer draws: the interval does not decide whether
    perfect calibration is rejected, and takes most of the time; tests by fewer draws hold their level too."""

    def instead(metric, predictions, *, options, level, **others):
        value = believable.expected_calibration_error(predictions, **options)
        return Interval(value, value, level, value, value, "none")

    monkeypatch.setattr(judgement, "interval", instead)
    monkeypatch.setattr(judgement, "FLOOR_DRAWS", 1000)
    monkeypatch.setattr(judgement, "TEST_DRAWS", 999)


@pytest.mark.slow
@pytest.mark.parametrize("truth", GRID, ids=[truth.name for truth in GRID])
def test_the_answer_is_the_one_a_statistician_would_give(truth):
    """Of a few data sets from each of some forty truths, nearly all get a right answer."""
    times = 1 if "000,000 rows" in truth.name else 3 if "0,000 rows" in truth.name else 6
    found = answers(truth, times)
    right = sum(found[answer] for answer in truth.right)
    assert right >= times - 1 - (times > 3), found


def test_directions():
    """Scores of an event over- or under-predict by their average, and are too extreme or not enough by their slope."""
    p = RNG.beta(0.7, 0.7, 20_000)
    logit = np.log(p / (1 - p))
    for slope, spread in ((0.5, "too extreme"), (2.0, "not extreme enough"), (1.0, "unclear")):
        y = (RNG.random(20_000) < 1 / (1 + np.exp(-slope * logit))).astype(int)
        assert verdict(p, y).spread == spread
    assert verdict(p, RNG.random(20_000) < p**1.5).direction == "over-predicts"
    assert verdict(p, RNG.random(20_000) < p**0.6).direction == "under-predicts"
    assert verdict(p, RNG.random(20_000) < p**1.5, pairs=True).direction == "over-confident"


def test_directions_agree_with_the_decomposition():
    """Under-predicting by the verdict is under-confident by the decomposition, as the reliability diagram has it."""
    p = RNG.random(5000)
    for power, way in ((1.5, "over-predicts"), (0.6, "under-predicts")):
        y = (RNG.random(5000) < p**power).astype(int)
        parts = believable.confidence_decomposition(p, y)
        judged = verdict(p, y)
        assert judged.direction == way
        assert (parts.over > parts.under) == (way == "over-predicts")
        assert {one.over for one in judged.ranges} == {way == "over-predicts"}


def test_ranges_are_runs_of_bins():
    """Where scores are wrong, the range and the rows are named; neighbours are told together."""
    p = np.repeat([0.05, 0.15, 0.25, 0.55, 0.95], 1000)
    rate = np.repeat([0.05, 0.4, 0.5, 0.3, 0.95], 1000)
    y = (np.tile(np.arange(1000), 5) < rate * 1000).astype(int)
    low, high = verdict(p, y).ranges
    assert (low.low, low.high, low.n, low.over) == (0.1, 0.3, 2000, False)
    assert (low.predicted, low.observed, low.share) == pytest.approx((0.2, 0.45, 0.4))
    assert (
        high.in_words()
        == "Scores between 0.50 and 0.60 over-predict: average prediction 55 %, observed rate 30 % (1,000 rows)."
    )


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 50, 200, 2000])
def test_a_perfect_model_is_seldom_rejected(n, without_interval):
    """Several tests together reject a perfect model one time in twenty."""
    rng = np.random.default_rng(n)
    told = 0
    for _ in range(100):
        p = rng.random(n)
        told += verdict(p, (rng.random(n) < p).astype(int)).miscalibrated
    assert told <= 12  # of a chance of 5 %, more come 2 times in 1,000; at 16 %, 12 or fewer one time in six


@pytest.mark.parametrize(("p", "n"), [(0.001, 1000), (0.01, 100), (0.3, 50)])
def test_rare_events_raise_no_false_alarm(p, n, without_interval):
    """A perfect model of rare events is seldom said to over- or under-predict."""
    rng = np.random.default_rng(1)
    # The counts of events take few values, so few that verdicts differ in: each is asked for once.
    counts = np.bincount(rng.binomial(n, p, 2000))
    told = sum(counts[k] * verdict(np.full(n, p), np.arange(n) < k).miscalibrated for k in np.flatnonzero(counts))
    # Counts are skewed, so up to 8 % rather than 5 %: more than 200 of 2,000 then come 1 time in 1,000.
    assert told <= 200


def test_certain_and_right_is_not_wrong():
    """Scores of nearly 0 and 1 that are right are inside their interval, for every number of rows."""
    for n in (1, 2, 3, 5, 8, 13, 50, 120, 399):
        table = believable.reliability_table([0.0] * n + [1.0] * n, [0] * n + [1] * n, n_bins=2)
        assert table.low[0] == 0
        assert table.high[1] == 1
        assert "*" not in str(table)
        assert not verdict([0.0] * n, [0] * n, pairs=True).ranges


def test_all_right_is_exactly_right():
    """A weighted share of everything is 1, not one rounding above."""
    rng = np.random.default_rng(3)
    for n in (1, 7, 24, 1000):
        weights = rng.random(n)
        assert believable.accuracy(np.tile([0.3, 0.7], (n, 1)), [1] * n, sample_weight=weights) == 1
        assert believable.accuracy([0.7] * n, [1] * n, sample_weight=weights) == 1
        assert verdict(np.tile([0.3, 0.7], (n, 1)), [1] * n, sample_weight=weights)


def test_nothing_is_said_of_ten_right_rows():
    """Ten right answers at 0.99 are what a perfect model gives."""
    judged = verdict([0.99] * 10, [1] * 10)
    assert (judged.miscalibrated, judged.direction, judged.ranges, judged.findings) == (False, "unclear", (), ())


def test_no_range_of_a_handful_of_rows_is_named():
    """Bins with fewer than 30 rows are looked at with their neighbours, and fewer than 30 rows have no range at all."""
    rng = np.random.default_rng(20)
    p = np.concatenate([rng.random(1000) * 0.5, np.full(6, 0.95)])
    y = np.concatenate([rng.random(1000) < p[:1000], np.zeros(6, bool)])
    assert all(one.n >= 30 for one in verdict(p, y).ranges)
    assert verdict([0.9] * 20, [0] * 20).ranges == ()
    assert verdict([0.9] * 20, [0] * 20).answer == "no, recalibrate first"


def test_statistics_are_named_in_the_refusal():
    """What needs the predictions says so."""
    stats = believable.BinStats.of(believable.Predictions([0.5], [1]))
    with pytest.raises(InputError, match="this function needs the rows of predictions, not a BinStats"):
        verdict(stats)


def test_the_noise_floor_is_that_of_a_simulation():
    """What noise would show is the mean over outcomes drawn row by row."""
    p = RNG.beta(0.5, 1.5, 400)
    w = RNG.random(400)
    simulated = [believable.expected_calibration_error(p, RNG.random(400) < p, sample_weight=w) for _ in range(2000)]
    judged = verdict(p, RNG.random(400) < p, sample_weight=w)
    # 1000 and 2000 draws, weights by their effective number
    assert judged.floor == pytest.approx(np.mean(simulated), rel=0.05)


def test_rare_events_are_judged_by_their_factor():
    """Risks that are wrong by a factor are named, however small the ECE is."""
    p = RNG.beta(0.6, 30, 5000)
    judged = verdict(p, (RNG.random(5000) < np.minimum(2.5 * p, 1)).astype(int))
    assert (judged.grade, judged.answer) == ("excellent", "no, recalibrate first")
    assert judged.direction == "under-predicts"
    assert "too low by a factor of 2." in judged.headline
    assert "By the usual guideline for the ECE alone (below 0.05 excellent" in str(judged)


def test_few_rows_are_not_enough():
    """With a handful of rows nothing can be told, and it is said how many would do."""
    judged = verdict([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1])
    assert not judged.miscalibrated
    assert (judged.answer, judged.tone, judged.grade) == ("not enough data", "unsure", None)
    assert judged.headline.startswith("Not enough data. 4 rows cannot tell good calibration from poor; about ")
    assert judged.needed in judged.headline


def test_the_grade_is_of_the_estimate():
    """A perfect model of 300 rows shows an ECE that the guideline calls good, and is not graded by that."""
    rng = np.random.default_rng(3)
    p = rng.random(300)
    judged = verdict(p, rng.random(300) < p)
    assert judged.ece > judged.estimate
    assert judged.grade in ("excellent", None)


@pytest.mark.slow
def test_as_many_rows_as_it_asks_for_are_enough():
    """With the rows it asks for, and the same model, there is an answer."""
    rng = np.random.default_rng(10)
    p = rng.beta(0.7, 0.7, 100_000)
    y = rng.random(100_000) < p
    few = verdict(p[:60], y[:60])
    assert few.answer == "not enough data"
    for part in range(5):
        rows = slice(1000 + part * few.rows_needed, 1000 + (part + 1) * few.rows_needed)
        assert verdict(p[rows], y[rows]).answer != "not enough data"


def test_clusters_make_it_less_sure():
    """Rows in ten copies: one by one they look like proof; as clusters they are worth a tenth of them."""
    rng = np.random.default_rng(11)
    p = rng.random(60)
    y = rng.random(60) < p
    copies, patients = (np.repeat(p, 10), np.repeat(y, 10)), np.repeat(np.arange(60), 10)
    plain, clustered, once = verdict(*copies), verdict(*copies, clusters=patients), verdict(p, y)
    assert plain.ece == clustered.ece == pytest.approx(once.ece)
    assert plain.miscalibrated
    assert plain.looks_clustered
    assert not clustered.miscalibrated
    assert not clustered.looks_clustered
    assert clustered.p_value > 0.05 > plain.p_value
    assert not clustered.ranges
    assert clustered.high - clustered.low > 1.5 * (plain.high - plain.low)
    assert clustered.answer == once.answer == "not enough data"


def test_clusters_that_are_wrong_are_told():
    """What every patient shows is not noise, however few rows each of them has."""
    rng = np.random.default_rng(12)
    p = rng.random(1500)
    judged = verdict(p, rng.random(1500) < p**3, clusters=np.repeat(np.arange(300), 5))
    assert (judged.answer, judged.direction) == ("no, recalibrate first", "over-predicts")
    assert all(one.over for one in judged.ranges)


def test_classes_put_together():
    """pooled=True judges every class and every probability at once: the ECE is the pooled one."""
    rng = np.random.default_rng(13)
    p = rng.dirichlet(np.full(4, 0.5), 600)
    y = np.array([rng.choice(4, p=row) for row in p])
    sharp = p**3 / (p**3).sum(axis=1, keepdims=True)
    for notion in ("classwise", "top_label"):
        judged = verdict(sharp, y, notion=notion, pooled=True)
        direct = believable.expected_calibration_error(sharp, y, notion=notion, pooled=True)
        assert (judged.ece, judged.notion) == (direct, notion)
        assert (judged.answer, judged.spread) == ("no, recalibrate first", "too extreme")
    assert judged.direction == "over-confident"


def test_a_class_that_is_wrong_is_named():
    """Confidences may be right on average while the probabilities of one class are not."""
    rng = np.random.default_rng(21)
    p = rng.dirichlet([2, 2, 2], 6000)
    true = p.copy()
    true[:, 0], true[:, 1] = p[:, 0] * 0.4, p[:, 1] + p[:, 0] * 0.6
    y = (rng.random((6000, 1)) > true.cumsum(axis=1)).sum(axis=1)
    judged = verdict(Predictions(p, y))
    assert "class" in [finding.rule for finding in judged.findings]
    assert judged.tone in ("warn", "bad")
    assert "For class " in str(judged)


@pytest.mark.slow
def test_words_never_contradict_each_other(monkeypatch):
    """What is not rejected has no direction, range or finding; the interval leaves out 0 where it is, and only there."""
    monkeypatch.setattr(judgement, "interval", partial(interval, n_resamples=100))  # words, not digits, are looked at
    monkeypatch.setattr(judgement, "FLOOR_DRAWS", 400)
    monkeypatch.setattr(judgement, "TEST_DRAWS", 400)
    rng = np.random.default_rng(14)
    seen = set()
    for _ in range(250):
        n = int(rng.choice([5, 20, 60, 200, 2000]))
        p = rng.beta(*rng.choice([0.3, 1, 3], 2), n).round(int(rng.choice([1, 2, 8]))).clip(0.001, 0.999)
        rate = np.clip(p ** rng.choice([1, 1, 1.5]) + rng.choice([0, 0, 0.1, -0.1]), 0, 1)
        groups = rng.integers(0, max(n // 4, 2), n) if rng.random() < 0.3 else None
        if groups is not None and len(set(groups)) < 2:
            continue
        judged = verdict(p, rng.random(n) < rate, clusters=groups, n_bins=int(rng.choice([2, 5, 10])))
        seen.add(judged.answer)
        text = str(judged)
        if judged.miscalibrated:
            assert judged.answer not in ("yes, as far as these data can tell", "not enough data"), text
        else:
            assert (judged.ranges, judged.direction, judged.spread, judged.findings) == ((), "unclear", "unclear", ())
            assert judged.low == 0, text
            assert judged.tone in ("good", "unsure"), text
        assert (judged.p_value <= 0.05) == judged.miscalibrated
        assert judged.rows_needed is None or judged.answer in ("not enough data", "use with care")
        assert judged.rows_needed is None or groups is not None or judged.rows_needed >= n  # more of it, never less
        assert 0 <= judged.low <= judged.high <= 1
        assert text.startswith(judged.label.split(",")[0])
        if judged.findings:
            assert judged.answer == judged.findings[0].answer
    assert len(seen) == 5


def test_rejection_and_interval_agree():
    """Where the slope alone shows that scores are wrong, the interval of the ECE leaves out 0 too."""
    rng = np.random.default_rng(22)
    disagree = 0
    for _ in range(20):
        p = rng.beta(0.6, 120, 20_000).clip(1e-6)
        c = np.log(0.005 / 0.995)
        y = rng.random(20_000) < 1 / (1 + np.exp(-(c + 0.5 * (np.log(p / (1 - p)) - c))))
        judged = verdict(p, y)
        disagree += judged.miscalibrated and judged.low == 0
        assert judged.tone in ("warn", "bad")
    assert disagree == 0


def test_one_curve_only():
    """A verdict is about one curve."""
    with pytest.raises(InputError, match="a verdict is about one curve"):
        verdict([[0.5, 0.5]], [0], notion="classwise")
    assert verdict([0.5], [1]).ranges == ()


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_clusters_raise_no_false_alarm(level, without_interval):
    """Clusters that share a fate, calibrated on the whole, are seldom rejected, whatever the level of the intervals."""
    from scipy.special import ndtr

    rng = np.random.default_rng(16)
    told = 0
    for _ in range(60):
        cluster = np.arange(400) // 8
        p = rng.random(400)
        fate = 0.6 * rng.normal(size=50)[cluster] + 0.8 * rng.normal(size=400)
        told += verdict(p, ndtr(fate) < p, clusters=cluster, level=level).miscalibrated
    assert told <= 9  # of 60 with a chance of 5 %, more come 1 time in 1,000


def test_two_clusters_prove_nothing():
    """Two clusters cannot tell noise from a pattern, and the interval does not claim it."""
    rng = np.random.default_rng(17)
    p = rng.random(200)
    judged = verdict(p, rng.random(200) < p**2, clusters=np.arange(200) % 2)
    assert (judged.miscalibrated, judged.low) == (False, 0.0)


def test_confidences_in_answers():
    """With pairs the accuracy is the share of right answers, and over-confidence is said of that."""
    p = np.repeat([0.5, 0.9], 200)
    y = np.concatenate([np.arange(200) % 2, np.arange(200) % 5 > 1])  # half and six in ten are right
    judged = verdict(p, y, pairs=True)
    assert (judged.predicted, judged.observed) == pytest.approx((0.7, 0.55))
    assert judged.direction == "over-confident"
    assert judged.headline.startswith(
        "No, recalibrate first. On average it is 70 % confident, but right 55 % of the time"
    )
    assert "Confidences between 0.80 and 0.90 are too high: average confidence 90 %, accuracy 60 %" in str(judged)
    assert verdict(p, y, pairs=True, clusters=np.arange(400) // 4).direction == "over-confident"
    with pytest.raises(InputError, match="pairs=True is for 1-D scores"):
        verdict([[0.5, 0.5]], [0], pairs=True)


def test_scores_of_an_event_are_not_called_confident():
    """Confidence is spoken of for classes and answers only."""
    rng = np.random.default_rng(4)
    for p in (rng.beta(1, 30, 5000), rng.random(5000)):
        assert "confident" not in str(verdict(p, rng.random(5000) < 0.5 * p))


def test_clusters_are_asked_for():
    """Where rows come in clusters, so many clusters would do."""
    rng = np.random.default_rng(2)
    p = np.repeat(rng.random(30), 5)
    judged = verdict(p, rng.random(150) < p, clusters=np.arange(150) // 5)
    assert judged.answer == "not enough data"
    assert judged.headline.startswith("Not enough data. 30 clusters cannot tell")
    assert f"about {judged.rows_needed:,} clusters could" in judged.headline


@pytest.mark.slow
def test_copies_within_clusters_raise_no_false_alarm(without_interval):
    """Rows of a cluster may share their score and their outcome, whatever the scores."""
    for scores in (lambda rng: rng.random(150), lambda rng: rng.beta(0.6, 30, 150).clip(1e-6)):
        told = 0
        for seed in range(40):
            rng = np.random.default_rng(seed)
            p = scores(rng)
            y = rng.random(150) < p
            told += verdict(np.repeat(p, 10), np.repeat(y, 10), clusters=np.repeat(np.arange(150), 10)).miscalibrated
        assert told <= 6  # of 40 with a chance of 5 %, more come 1 time in 300


def test_one_or_two_events_are_no_proof():
    """Two events where 0.4 are expected are no factor, and have no slope."""
    p = np.full(100, 0.004)
    p[0] = 0.0041
    judged = verdict(p, np.isin(np.arange(100), [0, 50]))
    assert judged.slope is None
    assert judged.ratio_low < 1 < judged.ratio_high
    assert judged.answer != "no, recalibrate first"


def test_a_turned_event_has_the_same_answer():
    """Whether the event or its absence is scored makes no difference."""
    rng = np.random.default_rng(30)
    for rate in (lambda p: p, lambda p: p**1.5, lambda p: 0.5 + 0.5 * (p - 0.5)):
        p = rng.beta(0.7, 6, 3000).clip(1e-6, 1 - 1e-6)
        y = rng.random(3000) < rate(p)
        one, other = verdict(p, y), verdict(1 - p, ~y)
        assert one.answer == other.answer
        assert {one.direction, other.direction} in ({"unclear"}, {"over-predicts", "under-predicts"})


def test_the_level_does_not_change_the_answer():
    """Rules look at 95 % intervals; the level is that of the interval that is shown."""
    rng = np.random.default_rng(31)
    p = rng.random(400)
    y = rng.random(400) < 0.5 + 0.8 * (p - 0.5)
    assert len({verdict(p, y, level=level).answer for level in (0.5, 0.8, 0.95, 0.99)}) == 1


def test_what_was_impossible_is_not_calibrated():
    """One row that had a probability of exactly 1 and did not happen refutes the scores, however many were right."""
    rng = np.random.default_rng(32)
    p = np.append(rng.random(3000), 1.0)
    y = np.append(rng.random(3000) < p[:-1], False)
    assert verdict(p, y).miscalibrated
    assert not verdict(p[:-1], y[:-1]).miscalibrated


def test_few_bins_hide_nothing():
    """Ranges are looked for in ten bins of equal counts where the headline has fewer than five."""
    rng = np.random.default_rng(33)
    p = rng.random(20_000)
    y = rng.random(20_000) < np.clip(p + np.where((p * 10).astype(int) % 2, 0.15, -0.15), 0, 1)
    assert verdict(p, y, n_bins=1).answer == "no, recalibrate first"


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


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.99])
def test_rejection_and_interval_agree_at_every_level(level):
    """An interval from 0 beside "miscalibrated" would be a contradiction, at whatever level it is asked for."""
    rng = np.random.default_rng(23)
    for _ in range(6):
        p = rng.beta(2, 2, 600)
        judged = verdict(p, rng.random(600) < np.clip(p - 0.05, 0, 1), level=level)
        assert (judged.low > 0) == judged.miscalibrated
        assert judged.low <= judged.estimate <= judged.high


def test_ratio_and_slope_have_the_level_asked_for():
    """The interval shown is wider at a higher level; the answer is not another one."""
    rng = np.random.default_rng(24)
    p = rng.beta(2, 2, 800)
    y = rng.random(800) < np.clip(p - 0.1, 0, 1)
    narrow, wide = verdict(p, y, level=0.5), verdict(p, y, level=0.99)
    assert wide.ratio_low < narrow.ratio_low < narrow.ratio < narrow.ratio_high < wide.ratio_high
    assert wide.slope_low < narrow.slope_low < narrow.slope < narrow.slope_high < wide.slope_high
    assert narrow.answer == wide.answer


def test_what_is_wrong_with_classes_alone_does_not_contradict_the_test():
    """The confidences are right and the classes are not: the test is told to be of the whole."""
    rng = np.random.default_rng(25)
    p = rng.dirichlet(np.full(4, 0.6), 4000)
    y = (rng.random((4000, 1)) > np.cumsum(p, axis=1)).sum(axis=1)
    order = np.argsort(-p, axis=1)
    swapped = p.copy()
    rows = np.arange(4000)
    swapped[rows, order[:, 1]], swapped[rows, order[:, 3]] = p[rows, order[:, 3]], p[rows, order[:, 1]]
    judged = verdict(swapped, y)
    assert judged.findings[0].rule == "class"
    assert not judged.miscalibrated
    assert "A perfectly calibrated model could show such differences overall" in str(judged)


def test_two_classes_as_an_event_are_judged_as_the_event():
    """The classes are the event and its absence, and add nothing to its verdict."""
    rng = np.random.default_rng(26)
    for power in (1.0, 1.2, 1.4):
        p = rng.beta(0.4, 1, 3000).round(2)
        y = (rng.random(3000) < p**power).astype(int)
        assert verdict(np.column_stack([1 - p, p]), y, notion="binary") == verdict(p, y)
