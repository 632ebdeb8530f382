"""Intervals of errors whose rows have to be simulated: other libraries' bins, the sweep, and functions of one's own."""

from typing import get_args

import numpy as np
import pytest

from believable import Predictions, interval, sweep_calibration_error
from believable._types import Convention
from believable.errors import InputError
from believable.inference.functions import is_error_of_rows
from believable.inference.interval import as_error
from believable.inference.question import ask


def own_ece(scores, labels):
    """The recipe of many tutorials: ten bins by truncation."""
    code = np.minimum((scores * 10).astype(int), 9)
    return np.abs(np.bincount(code, labels - scores, 10)).sum() / len(scores)


def calibrated(n, rng):
    p = rng.random(n)
    return p, (rng.random(n) < p).astype(int)


def over_confident(n, rng, slope=2.0):
    rate = rng.beta(2, 2, n)
    p = 1 / (1 + np.exp(-slope * np.log(rate / (1 - rate))))
    return p, (rng.random(n) < rate).astype(int)


# --- other libraries' bins --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("convention", get_args(Convention))
@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("metric", ["ece", "rmsce", "mce"])
def test_bins_of_a_convention_at_given_edges(convention, strategy, metric):
    """Edges at the largest score of each bin divide the same rows in the same way, scores of 0 and 1 included."""
    if strategy == "quantile" and convention in ("torchmetrics", "relplot"):
        pytest.skip("uniform bins only")
    rng = np.random.default_rng(0)
    p = np.append(rng.random(200), [0.0, 1.0])
    y = np.append(rng.random(200) < p[:200], [0, 1]).astype(int)
    q = rng.dirichlet(np.ones(3), 150)
    label = (rng.random(150)[:, None] >= q.cumsum(axis=1)).sum(axis=1)
    for data in ((p, y), (p.astype(np.float32), y), (q, label), (q.astype(np.float32), label)):
        question = ask(metric, *data, options={"convention": convention, "n_bins": 12, "strategy": strategy})
        error = as_error(question)
        assert error is not None
        assert "convention" not in error.options
        assert error.value() == pytest.approx(question.value(), abs=1e-6)  # some sum in float32


def test_convention_covers_zero():
    """Of 30 calibrated models, nearly all intervals contain 0; the percentile bootstrap's did in none of 200."""
    rng = np.random.default_rng(1)
    asked = {"options": {"convention": "torchmetrics", "n_bins": 15}, "n_resamples": 200, "random_state": rng}
    found = [interval("ece", *calibrated(300, rng), **asked) for _ in range(30)]
    assert {one.method for one in found} == {"inversion"}
    assert sum(0.0 in one for one in found) >= 27


def test_convention_is_the_error_in_its_bins():
    """The interval is that of the same bins, asked for by their edges; the value is the other library's."""
    p, y = over_confident(400, np.random.default_rng(2))
    edges = [0, *np.sort(p)[39:399:40][:9], 1]
    asked = {"n_resamples": 200, "random_state": 0}
    found = interval("ece", p, y, options={"convention": "array_split", "n_bins": 10}, **asked)
    same = interval("ece", p, y, options={"edges": edges}, **asked)
    assert (found.low, found.high, found.estimate) == (same.low, same.high, same.estimate)
    assert found.value == pytest.approx(same.value, abs=1e-12)


def test_split_ties():
    """A rule that splits equal scores has no edges: rows are simulated."""
    p, y = calibrated(200, np.random.default_rng(3))
    p = np.round(p, 1)
    found = interval("ece", p, y, options={"convention": "array_split"}, n_resamples=200, random_state=0)
    assert found.method == "inversion"
    assert found.low == 0 < found.high < 0.2
    groups = np.arange(200) // 4
    clustered = interval(
        "ece", p, y, options={"convention": "array_split"}, clusters=groups, n_resamples=200, random_state=0
    )
    assert clustered.method == "percentile"
    assert "do not trust this interval near perfect calibration" in clustered.note


# --- the sweep --------------------------------------------------------------------------------------------------------


def test_sweep_covers_zero():
    """Of 15 calibrated models, the interval of the sweep contains 0; the percentile bootstrap's did in none of 200."""
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(15):
        found = interval("sweepece", *calibrated(200, rng), n_resamples=200, random_state=rng)
        held += 0.0 in found
        assert found.method == "inversion"
    assert held >= 13


def test_sweep_covers_a_real_error():
    """So it does the mean gap of over-confident scores, whose rates rise."""
    rng = np.random.default_rng(5)
    rate = rng.beta(2, 2, 200_000)
    true = np.abs(1 / (1 + np.exp(-2 * np.log(rate / (1 - rate)))) - rate).mean()
    found = [interval("sweepece", *over_confident(300, rng), n_resamples=200, random_state=rng) for _ in range(15)]
    assert sum(true in one for one in found) >= 12
    assert sum(one.low > 0 for one in found) >= 10


# --- functions --------------------------------------------------------------------------------------------------------


BEHAVIOUR = {
    "error": (own_ece, True),
    "squared error": (lambda p, y: own_ece(p, y) ** 2, True),
    "absolute mean gap": (lambda p, y: abs(np.mean(p - y)), True),
    "signed mean gap": (lambda p, y: np.mean(p - y), False),
    "Brier score": (lambda p, y: np.mean((p - y) ** 2), False),
    "accuracy": (lambda p, y: np.mean((p > 0.5) == y), False),
    "sharpness": (lambda p, y: np.var(p), False),
    "chi-squared": (lambda p, y: len(p) * own_ece(p, y) ** 2 / np.mean(p * (1 - p)), False),
    "more than an error": (lambda p, y: own_ece(p, y) + 0.1, False),
}


@pytest.mark.parametrize("name", BEHAVIOUR)
@pytest.mark.parametrize("n", [60, 500])
def test_errors_are_recognised(name, n):
    """An error is what grows with the noise and is never negative, whatever the number of rows."""
    function, expected = BEHAVIOUR[name]
    for seed in range(3):
        rng = np.random.default_rng(seed)
        assert is_error_of_rows(ask(function, *calibrated(n, rng)), rng) == expected


def test_errors_of_classes_are_recognised():
    """A function of a matrix is recognised too; it is bootstrapped with a note, because rows cannot be simulated."""
    rng = np.random.default_rng(1)
    q = rng.dirichlet(np.ones(3), 150)
    label = (rng.random(150)[:, None] >= q.cumsum(axis=1)).sum(axis=1)

    def top(scores, labels):
        return own_ece(scores.max(axis=1), (scores.argmax(axis=1) == labels).astype(float))

    found = interval(top, q, label, n_resamples=200, random_state=0)
    assert found.method == "percentile"
    assert "noise alone raises the error" in found.note
    with pytest.raises(
        InputError, match="supports this error for 1-D scores with labels 0 and 1 only, without clusters"
    ):
        interval(top, q, label, method="inversion", n_resamples=200, random_state=0)


def test_a_function_has_the_interval_of_the_metric():
    """A function that is the ECE gets its interval, up to simulation."""
    rng = np.random.default_rng(6)
    p, y = over_confident(400, rng)
    found = interval(own_ece, p, y, n_resamples=800, random_state=0)
    known = interval("ece", p, y, random_state=0)
    width = known.high - known.low
    assert found.method == "inversion"
    assert found.value == pytest.approx(known.value, abs=1e-12)
    assert found.low == pytest.approx(known.low, abs=0.2 * width)  # 200 draws, smooth shapes and fixed scores
    assert found.high == pytest.approx(known.high, abs=0.2 * width)


@pytest.mark.slow
def test_functions_cover_zero():
    """Of ten calibrated models, the interval of a function contains 0; the percentile bootstrap's did in none of 100."""
    rng = np.random.default_rng(7)
    found = [interval(own_ece, *calibrated(200, rng), n_resamples=200, random_state=rng) for _ in range(10)]
    assert sum(0.0 in one for one in found) >= 8
    percentile = interval(own_ece, *calibrated(200, rng), method="percentile", n_resamples=200, random_state=rng)
    assert percentile.low > 0


def test_weighted_errors_are_bootstrapped():
    """A weighted error is recognised and called with its weights; it is bootstrapped with a note."""
    rng = np.random.default_rng(10)
    p, y = calibrated(200, rng)

    def mine(scores, labels, *, sample_weight):
        code = np.minimum((scores * 10).astype(int), 9)
        return np.abs(np.bincount(code, sample_weight * (labels - scores), 10)).sum() / sample_weight.sum()

    found = interval(mine, p, y, sample_weight=rng.uniform(1, 2, 200), n_resamples=200, random_state=0)
    assert found.method == "percentile"
    assert "noise alone raises the error" in found.note


def test_other_functions_are_bootstrapped():
    """A score needs no note; a function that resampling moves gets one; inversion of either is refused."""
    rng = np.random.default_rng(8)
    p, y = calibrated(200, rng)

    def score(scores, labels):
        return np.mean((scores - labels) ** 2)

    def above_a_tenth(scores, labels):
        return 0.1 + own_ece(scores, labels)

    found = interval(score, p, y, n_resamples=200, random_state=0)
    assert (found.method, found.note) == ("percentile", "")
    moved = interval(above_a_tenth, p, y, n_resamples=200, random_state=0)
    assert moved.method == "percentile"
    assert "resampling alone moves the value" in moved.note
    with pytest.raises(InputError, match="supports calibration errors only"):
        interval(score, p, y, method="inversion", n_resamples=200, random_state=0)


def test_sweep_of_replicates():
    """Replicates are swept one by one, whatever number of bins each ends at."""
    rng = np.random.default_rng(9)
    cells = ask("sweepece", *calibrated(80, rng)).cells(100)
    outcomes = (rng.random((6, len(cells))) < np.linspace(0, 1, 6)[:, None] * cells.conf).astype(float)
    outcomes[5] = np.arange(len(cells)) > 40
    each = [sweep_calibration_error(Predictions(cells.conf, one)) for one in outcomes]
    assert ask("sweepece", cells.conf, outcomes[0]).replicates(cells.with_outcomes(outcomes)) == pytest.approx(each)
