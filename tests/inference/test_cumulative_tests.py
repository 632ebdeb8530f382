"""The Kolmogorov–Smirnov and Kuiper tests: their statistics, p-values and level."""

from math import fsum, inf, sqrt

import numpy as np
import pytest

from believable import CellStats, Predictions, kolmogorov_smirnov_test, kuiper_test
from believable._kernels import range_tail, sup_tail
from believable.errors import InputError, UndefinedError
from tests.metrics.literal import BINARY, MATRIX, over, pairs

TESTS = {"ks": (kolmogorov_smirnov_test, sup_tail), "kuiper": (kuiper_test, range_tail)}
both = pytest.mark.parametrize("name", TESTS)


def statistic(group, name):
    """How far C gets, times W, beside the root of the sum of w^2 p (1 - p)."""
    at = sorted({p for p, _, _ in group})
    steps = [0.0] + [fsum(w * (y - p) for p, y, w in group if p <= s) for s in at]
    far = max(map(abs, steps)) if name == "ks" else max(steps) - min(steps)
    variance = fsum(w * w * p * (1 - p) for p, _, w in group)
    return far / sqrt(variance) if variance else inf if far else 0.0


@both
@over({f"binary, {k}": data for k, data in BINARY.items()}, MATRIX)
def test_definition(name, data):
    """The statistic is the loop's, and the p-value is the tail of Brownian motion there."""
    test, tail = TESTS[name]
    result = test(data.scores, data.labels, method="asymptotic", sample_weight=data.weights)
    expected = statistic(pairs(data)[0], name)
    assert result.statistic == pytest.approx(expected, rel=1e-11, abs=1e-12)
    assert result.p_value == pytest.approx(tail(expected), abs=1e-11)
    assert (result.df, result.n, result.method) == (None, len(pairs(data)[0]), "asymptotic")


@both
def test_ranks(name):
    """Other notions of one group are tested on their pairs."""
    data = MATRIX["random"]
    for view in ({"notion": "rth", "r": 2}, {"notion": "within_top_r", "r": 2}, {"notion": "confidence"}):
        result = TESTS[name][0](data.scores, data.labels, method="asymptotic", **view)
        assert result.statistic == pytest.approx(statistic(pairs(data, **view)[0], name), rel=1e-11)


@both
@pytest.mark.parametrize("case", ["heaped", "weights", "equal weights", "distinct and weighted", "few rows", "cells"])
def test_resampling(name, case):
    """Drawn labels give the p-value of a plain loop over drawn labels."""
    rng = np.random.default_rng(2)
    p = np.round(rng.random(40), 1) if case != "distinct and weighted" else rng.random(40)
    p = p[:3] if case == "few rows" else p
    y = (rng.random(len(p)) < 0.6 * p).astype(int)
    w = rng.integers(1, 5, len(p)) if "weight" in case else np.ones(len(p))
    w = np.full(len(p), 2.5) if case == "equal weights" else w
    data = Predictions(p, y, sample_weight=w)
    data = CellStats.of(data) if case == "cells" else data
    result = TESTS[name][0](data, method="resampling", n_resamples=2000, random_state=3)
    observed, as_large = statistic(list(zip(p, y, w, strict=True)), name), 0
    for _ in range(600):
        drawn = (rng.random(len(p)) < p).astype(int)
        as_large += statistic(list(zip(p, drawn, w, strict=True)), name) >= observed - 1e-9
    expected = (1 + as_large) / 601
    assert result.method == "resampling"
    assert result.statistic == pytest.approx(observed, rel=1e-11)
    assert result.p_value == pytest.approx(expected, abs=4 * sqrt(expected * (1 - expected) / 600) + 0.003)


@both
def test_auto(name):
    """The limit is for 200 distinct scores and more; fewer are resampled."""
    rng = np.random.default_rng(4)
    p = np.arange(1, 201) / 201
    y = rng.random(200) < p
    assert TESTS[name][0](p, y).method == "asymptotic"
    assert TESTS[name][0](p[:199], y[:199], random_state=0).method == "resampling"


@both
def test_seed(name):
    """The same seed gives the same p-value; a share of (1 + n_resamples) it is."""
    data = BINARY["ties"]
    one, two = (TESTS[name][0](data.scores, data.labels, n_resamples=99, random_state=5) for _ in range(2))
    assert one == two
    assert one.p_value * 100 == pytest.approx(round(one.p_value * 100))


@both
def test_certain_scores(name):
    """Scores of 0 and 1 are right, with p-value 1, or refuted, with p-value 0."""
    for method in ("auto", "asymptotic", "resampling"):
        right = TESTS[name][0]([0.0, 1.0, 1.0], [0, 1, 1], method=method)
        assert (right.statistic, right.p_value) == (0, 1)
        wrong = TESTS[name][0]([0.0, 1.0, 1.0], [0, 1, 0], method=method)
        assert (wrong.statistic, wrong.p_value) == (inf, 0)


@both
def test_one_row_and_one_class(name):
    """A single row, one class and constant scores have a p-value."""
    test = TESTS[name][0]
    assert test([0.5], [1], random_state=1).p_value == 1
    assert test([0.01], [1], method="resampling", n_resamples=999, random_state=1).p_value < 0.05
    assert test([0.2] * 50, [0] * 50, random_state=1).p_value < 0.01
    assert test(np.full(50, 0.2), np.arange(50) < 10, random_state=1).p_value == 1


@both
def test_what_is_refused(name):
    """Each refusal says what is wrong."""
    test, p = TESTS[name][0], MATRIX["random"]
    with pytest.raises(UndefinedError, match="test needs one set of scores, but there are 4"):
        test(p.scores, p.labels, notion="classwise")
    with pytest.raises(InputError, match="method must be one of 'auto', 'asymptotic', 'resampling'"):
        test(p.scores, p.labels, method="exact")
    with pytest.raises(InputError, match="n_resamples must be an integer at least 1"):
        test(p.scores, p.labels, n_resamples=0)
    with pytest.raises(InputError, match="random_state must be"):
        test(p.scores, p.labels, random_state="seed")
    cells = CellStats.of(Predictions([0.5, 0.5, 0.2], [0, 1, 1], sample_weight=[1, 2, 1]))
    assert test(cells).method == "asymptotic"
    with pytest.raises(UndefinedError, match="cannot draw labels for cells whose rows have different weights"):
        test(cells, method="resampling")


@both
@pytest.mark.parametrize("scores", ["continuous", "heaped", "weighted"])
def test_level(name, scores):
    """Calibrated scores are rejected at 5 % about 5 % of the time, and never much more."""
    rng = np.random.default_rng(6)
    rejected = 0
    for _ in range(300):
        p = rng.beta(2, 2, 400) if scores == "continuous" else rng.choice([0.1, 0.3, 0.35, 0.6, 0.9], 60)
        w = rng.integers(1, 6, len(p)) if scores == "weighted" else None
        y = rng.random(len(p)) < p
        rejected += TESTS[name][0](p, y, n_resamples=99, random_state=rng, sample_weight=w).p_value <= 0.05
    assert rejected / 300 == pytest.approx(0.05, abs=3 * sqrt(0.05 * 0.95 / 300))


@both
def test_power(name):
    """Overconfident scores are found out."""
    rng = np.random.default_rng(7)
    p = rng.random(1000)
    rate = 1 / (1 + ((1 - p) / p) ** 0.5)
    found = [TESTS[name][0](p, rng.random(1000) < rate).p_value < 0.05 for _ in range(20)]
    assert np.mean(found) > 0.9
