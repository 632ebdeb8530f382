"""The alarm: a promise about false alarms, and that it rings when it should."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest

from believable import CellStats, DriftAlarm, Predictions, Summary
from believable.errors import InputError, MergeError, SchemaError

STAKES = [2.0**-k for k in range(1, 8)]


def textbook(batches, alpha, tolerance, n_bins=10):
    """The definition, row by row: the capital after each batch."""
    bets = {}
    capitals = []
    for t, (p, y) in enumerate(batches, start=1):
        for place in [*range(n_bins), "all"]:
            low, high = (0.0, 1.0) if place == "all" else (place / n_bins, (place + 1) / n_bins)
            for sign in (1, -1):
                for share in STAKES:
                    stake = share / ((high if sign == 1 else 1 - low) + tolerance)
                    factor = 1.0
                    for score, outcome in zip(p, y, strict=True):
                        k = max(math.ceil(score * n_bins - 1e-12) - 1, 0)
                        if place in ("all", k):
                            factor *= 1 + stake * (sign * (outcome - score) - tolerance)
                    bet = place, sign, share
                    bets[bet] = (bets.get(bet, 0.0) + 1 / (t * (t + 1))) * factor
        capitals.append(sum(bets.values()) / len(bets))
    return capitals


@pytest.mark.parametrize("tolerance", [0.0, 0.05])
def test_the_capital_is_that_of_the_definition(tolerance):
    """Rows, and cells that hold rows of one score each, give the capital of the literal loop."""
    rng = np.random.default_rng(0)
    batches = []
    for n in (1, 7, 30, 20):
        p = rng.integers(0, 1001, n) / 1000
        batches.append((p, (rng.random(n) < 0.8 * p).astype(int)))
    by_rows, by_cells = DriftAlarm(tolerance=tolerance), DriftAlarm(tolerance=tolerance)
    for (p, y), expected in zip(batches, textbook(batches, 0.01, tolerance), strict=True):
        by_rows.update(p, y)
        by_cells.update(Summary.of(Predictions(p, y)))
        assert by_rows.capital == pytest.approx(expected, rel=1e-11)
        assert by_cells.capital == pytest.approx(expected, rel=1e-6)
        assert by_cells.capital <= by_rows.capital * (1 + 1e-12)
    assert (by_rows.n, by_rows.batches) == (58, 4)


@pytest.mark.parametrize("cells", [50_400, 5040, 840])
def test_cells_never_win_more_than_rows(cells):
    """Whatever the scores within the cells, in either direction, with a loss that shrinks with the cells' square."""
    rng = np.random.default_rng(1)
    p = rng.random(3000)
    for y in (rng.random(3000) < p**1.3, rng.random(3000) < p**0.7, rng.random(3000) < p):
        rows, counted, weighted = DriftAlarm(), DriftAlarm(), DriftAlarm()
        rows.update(p, y)
        counted.update(CellStats.of(Predictions(p, y), cells=cells))
        weighted.update(CellStats.of(Predictions(p, y, sample_weight=rng.random(3000) + 0.5), cells=cells))
        exact, bound, worst = (one._log_capital for one in (rows, counted, weighted))
        assert np.all(bound <= exact + 1e-9)
        assert np.all(worst <= bound + 1e-9)
        # Of a concave function with second derivative -(stake / factor)^2 the chord is below by width^2 / 8 of it.
        np.testing.assert_allclose(bound, exact, atol=3000 * (10 / 0.5) ** 2 / cells**2 / 8 + 1e-9)


def test_parts_of_a_batch_may_be_merged():
    """The alarm of a sum of summaries is that of all the rows together."""
    rng = np.random.default_rng(2)
    p, y = rng.random(400), rng.integers(0, 2, 400)
    parts = [Summary.of(Predictions(p[part], y[part])) for part in (slice(100), slice(100, 400))]
    merged, whole = DriftAlarm(), DriftAlarm()
    merged.update(sum(parts))
    whole.update(Summary.of(Predictions(p, y)))
    assert merged.capital == pytest.approx(whole.capital, rel=1e-10)


def first_alarms(rate, tolerance, alpha, *, n_streams=300, n_batches=200, n=6, seed=0):
    """When each of many streams first rings (0: never); a column of independent columns is a stream of its own."""
    rng = np.random.default_rng(seed)
    alarm = DriftAlarm(alpha=alpha, tolerance=tolerance)
    first = np.zeros(n_streams, int)
    for t in range(1, n_batches + 1):
        p = rng.random((n, n_streams))
        y = rng.random((n, n_streams)) < rate(p, t)
        alarm.update(Predictions(p, y, multilabel=True))
        first[(first == 0) & (capital_by_stream(alarm, n_streams) >= math.log(1 / alpha))] = t
    return first


def capital_by_stream(alarm, n_streams):
    """The log of the mean of each column's bets."""
    bets = alarm._log_capital
    in_bins = bets[:, :, : n_streams * 10].reshape(2, len(STAKES), n_streams, 10)
    both = [
        np.logaddexp.reduce(in_bins, axis=(0, 1, 3)),
        np.logaddexp.reduce(bets[:, :, n_streams * 10 :], axis=(0, 1)),
    ]
    return np.logaddexp(*both) - math.log(2 * len(STAKES) * 11)


def test_columns_are_streams_of_their_own():
    """The capital of a column, within those of many, is that of an alarm that sees it alone."""
    rng = np.random.default_rng(3)
    p, y = rng.random((60, 3)), rng.integers(0, 2, (60, 3))
    together, alone = DriftAlarm(), DriftAlarm()
    together.update(Predictions(p, y, multilabel=True))
    alone.update(p[:, 1], y[:, 1])
    assert math.exp(capital_by_stream(together, 3)[1]) == pytest.approx(alone.capital)
    assert together.n == 60


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "tolerance"),
    [
        (lambda p, t: p, 0.0),
        (lambda p, t: np.minimum(p + 0.03, 1), 0.03),
        (lambda p, t: np.maximum(p - 0.03, 0), 0.03),
    ],
    ids=["perfect", "at the upper end of the tolerance", "at the lower end"],
)
def test_false_alarms_are_as_rare_as_promised(rate, tolerance):
    """Looking after each of 200 batches, no more than 5 % of 300 streams ever ring."""
    assert np.mean(first_alarms(rate, tolerance, 0.05) > 0) <= 0.05


def test_a_change_is_found():
    """With 200 rows a batch and scores 0.1 too low from batch 101 on, all ring within 15 batches; none before."""
    first = first_alarms(
        lambda p, t: p if t <= 100 else np.minimum(p + 0.1, 1), 0.02, 0.01, n_streams=30, n_batches=115, n=200
    )
    assert first.min() > 100
    assert first.max() <= 115
    assert np.median(first) <= 110


def test_a_change_in_one_bin_is_found_there():
    """The alarm says which scores, and which way."""
    rng = np.random.default_rng(4)
    alarm = DriftAlarm(tolerance=0.02)
    for day in range(60):
        p = rng.random(1000)
        rate = np.where((p > 0.7) & (p <= 0.8) & (day >= 30), p - 0.2, p)
        alarm.update(p, rng.random(1000) < rate)
        if alarm.alarm is not None:
            break
    found = alarm.alarm
    assert 30 < found.batch < 45
    assert (found.low, found.high, found.direction, found.stratum) == (0.7, 0.8, "too high", None)
    assert alarm.p_value <= 0.01
    assert str(alarm).startswith("alarm: scores in (0.7, 0.8] are too high (batch ")
    assert alarm.where.share > 0.5


def test_a_class_is_found():
    """Of several classes the one that is off is named, and a matrix is watched by its confidence."""
    rng = np.random.default_rng(5)
    p = rng.dirichlet([1, 1, 1], 4000)
    true = p * [1, 1, 0.5]
    true[:, :2] += (p[:, 2:] / 2) / 2
    y = np.array([rng.choice(3, p=row) for row in true])
    alarm = DriftAlarm(notion="classwise")
    alarm.update(p, y)
    assert (alarm.alarm.stratum, alarm.alarm.direction) == (2, "too high")
    confidence, summary = DriftAlarm(), DriftAlarm()
    confidence.update(p, y)
    summary.update(Summary.of(Predictions(p, y)))
    assert summary.capital == pytest.approx(confidence.capital, rel=1e-4)


def test_a_billion_rows_do_not_overflow():
    """Capitals are kept as logs: a merged summary of 2^30 rows gives infinity or nothing, never NaN."""
    summary = Summary.of(Predictions([0.2, 0.2, 0.7, 0.7], [0, 1, 0, 1]))
    for _ in range(28):
        summary = summary + summary
    alarm, tolerant = DriftAlarm(), DriftAlarm(tolerance=0.31)
    for one in (alarm, tolerant):
        one.update(summary)
        one.update(summary)
        assert np.isfinite(one._log_capital).all()
    assert (alarm.capital, alarm.alarm.batch, alarm.n) == (math.inf, 1, 2**31)
    assert tolerant.alarm is None
    assert alarm.p_value == 0


def test_soft_labels_win_no_more_than_they_may():
    """A share wins at most its own factor, 1 + stake (share - p), whose expectation is what the promise rests on."""
    rng = np.random.default_rng(6)
    p, share = rng.random(200), rng.random(200)
    soft = DriftAlarm()
    soft.update(Predictions(p, share, soft_labels=True))
    exact = 0.0
    stake = 0.5 / 1.0
    for score, outcome in zip(p, share, strict=True):
        exact += math.log(1 + stake * (outcome - score))
    assert soft._log_capital[0, 0, 10] - math.log(0.5) <= exact


@pytest.mark.parametrize("shifted", [False, True])
def test_a_reference_is_how_it_was(shifted):
    """Scores that are off, but no more than in the reference, do not ring; a change from there does."""
    rng = np.random.default_rng(7)

    def batch(n, change=0.0):
        p = rng.random(n)
        return p, rng.random(n) < np.clip(p**1.5 + change, 0, 1)

    reference = Summary.of(Predictions(*batch(20_000)))
    alarm = DriftAlarm(reference=reference, tolerance=0.01)
    plain = DriftAlarm(tolerance=0.01)
    for day in range(40):
        p, y = batch(500, 0.15 if shifted and day >= 20 else 0.0)
        alarm.update(p, y)
        plain.update(p, y)
    assert plain.alarm.batch < 10
    assert (alarm.alarm is not None) == shifted
    assert not shifted or 20 < alarm.alarm.batch < 30
    assert "around the reference" in str(alarm)


def test_references_rarely_mislead():
    """With the reference drawn anew each time, no more than alpha of the streams ring, though it is small."""
    rng, rang = np.random.default_rng(8), 0
    for _ in range(60):
        p = rng.random(300)
        reference = Predictions(p, rng.random(300) < p**1.3)
        alarm = DriftAlarm(alpha=0.1, reference=reference)
        for _ in range(15):
            p = rng.random(100)
            alarm.update(p, rng.random(100) < p**1.3)
        rang += alarm.alarm is not None
    assert rang <= 6


def test_what_cannot_be_watched_is_refused():
    """And nothing changes: other notions, pooled classes, bins that are not made of cells, a weighted reference."""
    p, y = [[0.2, 0.8], [0.6, 0.4]], [1, 0]
    matrix = Predictions(p, y)
    alarm = DriftAlarm()
    alarm.update([0.2, 0.4], [0, 1])
    for bad, error, words in [
        ((p, y), MergeError, "confidence"),
        ((Summary.of(matrix),), MergeError, "confidence"),
        ((CellStats.of(matrix, matrix.view("classwise", pooled=True)),), InputError, "pooled"),
        ((CellStats.of(Predictions([0.2], [1]), spacing="logit"),), InputError, "whole cells"),
        ((Summary.of(Predictions([0.2], [1])), [1]), InputError, "leave actuals out"),
        (([0.2, 1.4], [0, 1]), InputError, "1.4"),
    ]:
        with pytest.raises(error, match=words):
            alarm.update(*bad)
    alarm.update([], [])
    assert (alarm.batches, alarm.n) == (1, 2)
    with pytest.raises(InputError, match="watches classwise"):
        DriftAlarm(notion="classwise").update(CellStats.of(matrix))
    with pytest.raises(InputError, match="whole cells"):
        DriftAlarm(n_bins=11).update(CellStats.of(matrix))
    with pytest.raises(InputError, match="has weights"):
        DriftAlarm(reference=Predictions([0.2], [1], sample_weight=[2])).update([0.2], [1])
    for choices in ({"alpha": 0}, {"tolerance": -1}, {"n_bins": 0}):
        with pytest.raises(InputError):
            DriftAlarm(**choices)


def test_alarms_travel():
    """Through JSON and pickle the alarm goes on as if nothing had happened; damaged states are refused."""
    rng = np.random.default_rng(9)
    p = rng.random((3, 500))
    y = rng.random((3, 500)) < p**1.5
    alarm = DriftAlarm()
    empty = json.loads(json.dumps(alarm.state_dict()))
    alarm.update(p[0], y[0])
    alarm.update(p[1], y[1])
    assert alarm.alarm is not None
    loaded, sent = DriftAlarm(), pickle.loads(pickle.dumps(alarm))
    loaded.load_state_dict(empty)
    assert loaded.where is None
    saved = json.loads(json.dumps(alarm.state_dict()))
    loaded.load_state_dict(saved)
    for one in (alarm, loaded, sent):
        one.update(p[2], y[2])
    assert loaded.capital == sent.capital == alarm.capital
    assert loaded.alarm == alarm.alarm
    for damage, words in [
        ({"schema": "x"}, "not a saved"),
        ({"settings": {}}, "other settings"),
        ({"log_capital": [1.0]}, "do not match its bins"),
        ({"view": {"notion": "odd"}}, "damaged"),
        ({"view": None}, "does not say of which kind"),
        ({"alarm": {"batch": 1}}, "damaged"),
    ]:
        with pytest.raises(SchemaError, match=words):
            DriftAlarm().load_state_dict(saved | damage)
    alarm.reset()
    assert (alarm.capital, alarm.p_value, alarm.alarm, alarm.n) == (0, 1, None, 0)
    assert str(alarm).startswith("no alarm in 0 batches")


def test_another_reference_or_a_broken_count_is_not_taken_up():
    """A state belongs to the reference it was seen with, even if both have as many rows and events."""
    alarm = DriftAlarm(reference=Predictions([0.1, 0.9], [0, 1]))
    alarm.update([0.1], [0])
    with pytest.raises(SchemaError, match="other settings"):
        DriftAlarm(reference=Predictions([0.9, 0.1], [0, 1])).load_state_dict(alarm.state_dict())
    same = DriftAlarm(reference=Predictions([0.1, 0.9], [0, 1]))
    saved = json.loads(json.dumps(alarm.state_dict()))
    same.load_state_dict(saved)
    assert str(same) == str(alarm)
    for name, value in (("n", -1), ("log_largest", float("nan"))):
        with pytest.raises(SchemaError):
            same.load_state_dict(saved | {name: value})
