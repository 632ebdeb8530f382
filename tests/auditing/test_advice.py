"""Advice and caveats: each applies where it should, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from believable import Predictions, audit


@pytest.fixture(autouse=True)
def few_metrics(monkeypatch):
    """The rules read the ECE and the log loss; the others would only take time."""
    monkeypatch.setattr(
        "believable.auditing.measure.AUDITED_ERRORS", dict.fromkeys(("binary", "multiclass", "multilabel"), ("ece",))
    )


def found(p, y, **choices):
    result = audit(p, y, **({"fix": False} | choices))
    return " ".join(result.advice), " ".join(result.caveats)


def calibrated(n, a=1.0, b=1.0, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(a, b, n)
    return p, (rng.random(n) < p).astype(int)


@pytest.mark.slow
def test_a_plain_case_has_nothing_to_say():
    """Many calibrated rows over the whole range: no advice, no caveat."""
    assert found(*calibrated(20_000)) == ("", "")


@pytest.mark.slow
def test_empty_uniform_bins_ask_for_quantile_bins():
    """Scores in a few of the uniform bins are better seen in quantile bins."""
    p, y = calibrated(5000, 2, 60)
    assert "uniform bins are empty: look at quantile bins too" in found(p, y)[0]
    assert "quantile bins" not in found(p, y, strategy="quantile")[0]


def test_few_events_per_bin_ask_for_rows():
    """Bins that expect fewer than five events tell little, and the number of rows that would help is said."""
    p = np.repeat([0.01, 0.5], [150, 4000])
    y = np.concatenate([np.zeros(150, int), np.arange(4000) % 2])
    assert "fewer than 5 events" not in found(p, y)[1]  # 4 % of the rows
    p = np.repeat([0.01, 0.5], [300, 4000])
    y = np.concatenate([np.arange(300) < 3, np.arange(4000) % 2])
    caveat = found(p, y)[1]
    assert "1 of 2 bins, with 7 % of the rows, expect fewer than 5 events" in caveat
    assert "about 7,200 rows would help" in caveat  # 4300 * 5 / 3


@pytest.mark.slow
def test_large_errors_are_to_be_recalibrated():
    """A large error asks for recalibration, and names the recalibrator that helps."""
    p, y = calibrated(3000)
    worse = np.where(p > 0.5, 0.9 + 0.1 * p, 0.1 * p)
    assert "Recalibrate the scores on labelled rows" in found(worse, y)[0]
    assert found(worse, y, fix=True)[0].startswith("Use ")
    assert "Recalibrate" not in found(p, y, fix=True)[0]


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.0, 0.6, "No score is above 0.6: nothing is known about higher scores."),
        (0.4, 1.0, "No score is below 0.4: nothing is known about lower scores."),
        (0.2, 0.7, "All scores lie between 0.2 and 0.7: nothing is known about scores outside that range."),
    ],
)
def test_ranges_never_seen(low, high, words):
    """Where no score has been, nothing is known."""
    rng = np.random.default_rng(0)
    p = np.append(rng.uniform(low, high, 4998), [low, high])
    assert words in found(p, (rng.random(5000) < p).astype(int))[1]


def test_heaps_are_named():
    """Stated confidences sit on a few round numbers."""
    rng = np.random.default_rng(0)
    p = rng.choice([0.0, 0.5, 0.8, 0.9, 0.95, 1.0], 3000)
    caveat = found(p, (rng.random(3000) < p).astype(int))[1]
    assert "of the scores are one of 6 values: 0, 0.5, 0.8, 0.9, 0.95, 1" in caveat
    assert "Equal scores always stay in one bin." in caveat


@pytest.mark.slow
def test_uneven_weights():
    """Weights that make many rows tell as little as few."""
    p, y = calibrated(5000)
    w = np.where(np.arange(5000) < 50, 1000.0, 1.0)
    assert "The weights are uneven: 5,000 rows are worth 60 rows of equal weight." in found(p, y, sample_weight=w)[1]


@pytest.mark.slow
def test_constants():
    """Scores that hardly differ can be calibrated and useless; rare events may have small scores."""
    rng = np.random.default_rng(0)
    y = (rng.random(3000) < 0.3).astype(int)
    assert "A constant can be well calibrated" in found(np.full(3000, 0.3), y)[1]
    rare = (rng.random(30_000) < 0.001).astype(int)
    assert "A constant can be well calibrated" not in found(np.full(30_000, 0.001), rare)[1]


@pytest.mark.slow
def test_with_many_rows_everything_is_beyond_chance():
    """A tiny error of many rows is to be taken by its size."""
    rng = np.random.default_rng(0)
    p = rng.random(300_000)
    y = (rng.random(300_000) < 0.995 * p).astype(int)
    assert "judge it by its size" in found(p, y)[1]


@pytest.mark.slow
def test_the_worst_subgroup_is_named():
    """With its direction, and how many there are."""
    rng = np.random.default_rng(0)
    p = rng.random(6000)
    site = rng.choice(["north", "south", "west"], 6000)
    y = (rng.random(6000) < np.where(site == "south", 0.6 * p, p)).astype(int)
    advice = found(p, y, by={"site": site})[0]
    assert (
        "Look at site = south by itself: it over-predicts (average prediction 49.6 %, observed rate 29.5 %)." in advice
    )


def test_the_other_way_round():
    """Scores of the other class are noticed."""
    p, y = calibrated(1000)
    assert "are these the probabilities of the other class?" in found(1 - p, y, fix=True)[1]


@pytest.mark.slow
def test_classes_that_are_off_are_named():
    """Worst first, at most three by name."""
    rng = np.random.default_rng(0)
    q = rng.dirichlet([1.0] * 4, 4000)
    y = np.array([rng.choice(4, p=row) for row in q])
    worse = q**3 / (q**3).sum(axis=1, keepdims=True)
    labels = np.array(["a", "b", "c", "d"])[y]
    result = audit(Predictions(worse, labels, classes=["a", "b", "c", "d"]), fix=False)
    advice = " ".join(result.advice)
    assert "Check the classes whose probabilities are miscalibrated, the worst first: " in advice
    assert "and 1 more." in advice


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.0, 0.9649, "No score is above 0.97"),
        (0.3451, 1.0, "No score is below 0.34"),
        (0.0451, 0.5511, "All scores lie between 0.045 and 0.56"),
        (0.0, 0.00123, "No score is above 0.0013"),
        (0.0, float(np.float32(0.7)), "No score is above 0.7:"),
    ],
)
def test_no_score_lies_beyond_what_is_said(low, high, words):
    """Ends are rounded outwards."""
    rng = np.random.default_rng(0)
    p = np.append(rng.uniform(low, high, 498), [low, high])
    assert words in found(p, (rng.random(500) < p).astype(int))[1]


def test_few_clusters_are_named():
    """Intervals from a handful of clusters are rough."""
    p, y = calibrated(300)
    assert "With so few clusters the intervals are rough." in found(p, y, clusters=np.arange(300) % 4)[1]
    assert "So few clusters" not in found(p, y, clusters=np.arange(300) % 40)[1]


@pytest.mark.slow
def test_few_rows_for_many_classes():
    """Class-wise errors of a few rows each are named for what they are."""
    rng = np.random.default_rng(0)
    q = rng.dirichlet([1.0] * 20, 700)
    y = np.array([rng.choice(20, p=row) for row in q])
    assert "500 rows are few for 20 classes" in found(q[:500], y[:500])[1]
    assert "rows are few" not in found(q, y)[1]
