"""The logistic calibration curve against slope and intercept, and the delta method written out."""

from statistics import NormalDist

import numpy as np
import pytest

from believable import CellStats, Predictions, calibration_slope_intercept, logistic_calibration_curve
from believable.errors import ClippedWarning, InputError, UndefinedError
from tests.metrics.literal import BINARY, MATRIX, SOFT, Data, over
from tests.metrics.logistic_literal import logit, separated, sigmoid, triples

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.ClippedWarning")
RNG = np.random.default_rng(27)
P = RNG.beta(2, 2, 90)
Y = (RNG.random(90) < P**1.4).astype(int)
W = RNG.random(90)


def ask(function, data):
    return function(Predictions(data.scores, data.labels, sample_weight=data.weights, soft_labels=data.kind == "soft"))


@over(BINARY, SOFT, MATRIX)
def test_definition(data):
    """sigmoid(a + b logit p) on 101 points from the smallest to the largest score, where the line exists."""
    if separated(triples(data)) != 0:
        with pytest.raises(UndefinedError):
            ask(logistic_calibration_curve, data)
        return
    curve, line = ask(logistic_calibration_curve, data), ask(calibration_slope_intercept, data)
    a, b = line.intercept.value, line.slope.value
    rows = triples(data)
    assert len(curve.x) == 101
    assert curve.y == pytest.approx([sigmoid(a + b * logit(p)) for p in curve.x.tolist()], rel=1e-9)
    assert curve.settings["intercept"] == pytest.approx(a, rel=1e-12)
    assert curve.settings["slope"] == pytest.approx(b, rel=1e-12)
    assert curve.weight.sum() == pytest.approx(sum(w for _, _, w in rows), rel=1e-12)
    assert np.all((curve.low >= 0) & (curve.low <= curve.y) & (curve.y <= curve.high) & (curve.high <= 1))


def test_grid():
    """The grid is even, and each row's weight is at the nearest point of it, halves at the lower."""
    curve = logistic_calibration_curve([0.0, 0.25, 0.5, 0.75, 0.755, 1.0], [0, 1, 0, 1, 0, 1])
    assert curve.x == pytest.approx(np.arange(101) / 100, abs=1e-15)
    assert curve.weight[[0, 25, 50, 75, 76, 100]].tolist() == [1, 1, 1, 2, 0, 1]
    assert curve.settings["n_clipped"] == 2


def test_interval():
    """The linear predictor has the variance (1, x) C (1, x)', with C the sandwich."""
    curve = logistic_calibration_curve(P, Y, sample_weight=W, level=0.8)
    a, b = curve.settings["intercept"], curve.settings["slope"]
    middle, information = np.zeros((2, 2)), np.zeros((2, 2))
    for x, y, w in triples(Data(P, Y, W)):
        mu, design = sigmoid(a + b * x), np.outer([1, x], [1, x])
        middle += w**2 * (y - mu) ** 2 * design
        information += w * mu * (1 - mu) * design
    inverse = np.linalg.inv(information)
    covariance = inverse @ middle @ inverse
    z = NormalDist().inv_cdf(0.9)
    for i in range(0, 101, 10):
        x = logit(float(curve.x[i]))
        half = z * np.sqrt(np.array([1, x]) @ covariance @ np.array([1, x]))
        assert curve.low[i] == pytest.approx(sigmoid(a + b * x - half), rel=1e-9)
        assert curve.high[i] == pytest.approx(sigmoid(a + b * x + half), rel=1e-9)
    assert curve.settings["level"] == 0.8


def test_calibrated_scores_have_the_diagonal():
    """Scores that are the rates, in the long run, have a curve near the diagonal, and a band around it."""
    rng = np.random.default_rng(1)
    p = rng.random(50000)
    curve = logistic_calibration_curve(p, rng.random(50000) < p)
    assert np.abs(curve.y - curve.x).max() < 0.02
    assert np.mean((curve.low <= curve.x) & (curve.x <= curve.high)) > 0.5


def test_coverage():
    """Where the line is right its interval at a score holds about as often as it says."""
    rng, hits = np.random.default_rng(2), np.zeros(3)
    x = rng.normal(0, 1.5, 250)
    p = 1 / (1 + np.exp(-x))
    for _ in range(300):
        curve = logistic_calibration_curve(p, rng.random(250) < 1 / (1 + np.exp(-(0.3 + 0.7 * x))))
        at = [15, 50, 85]
        truth = np.array([sigmoid(0.3 + 0.7 * logit(s)) for s in curve.x[at].tolist()])
        hits += (curve.low[at] <= truth) & (truth <= curve.high[at])
    assert np.all((hits / 300 >= 0.91) & (hits / 300 <= 0.985))


def test_cells():
    """On a grid that holds the scores cells give the curve of the data."""
    checked = Predictions(np.round(P, 2), Y)
    one, other = logistic_calibration_curve(CellStats.of(checked)), logistic_calibration_curve(checked)
    assert one.y == pytest.approx(other.y, rel=1e-9)
    assert one.high == pytest.approx(other.high, rel=1e-9)


def test_undefined():
    """Where there is no line the error says why."""
    with pytest.raises(UndefinedError, match="needs both outcomes, and scores that are not all equal"):
        logistic_calibration_curve([0.1, 0.9], [1, 1])
    with pytest.raises(UndefinedError, match="needs both outcomes, and scores that are not all equal"):
        logistic_calibration_curve([0.4, 0.4], [1, 0])
    with pytest.raises(UndefinedError, match="a threshold separates the outcomes"):
        logistic_calibration_curve([0.1, 0.9], [0, 1])
    with pytest.raises(UndefinedError, match="one set of scores, but there are 4"):
        logistic_calibration_curve(MATRIX["random"].scores, MATRIX["random"].labels, notion="classwise")
    with pytest.raises(InputError, match="level"):
        logistic_calibration_curve(P, Y, level=2)


@pytest.mark.parametrize("q", [1e-14, 1e-20, 1e-100])
def test_light_rows_count(q):
    """The curve goes through both of two points, however little one weighs."""
    soft = Predictions([0.2, 0.7], [0.5, 0.25], sample_weight=[1, q], soft_labels=True)
    curve = logistic_calibration_curve(soft)
    assert curve.y[[0, 100]] == pytest.approx([0.5, 0.25], rel=1e-12)
    hard = logistic_calibration_curve([0.2, 0.2, 0.7, 0.7], [0, 1, 0, 1], sample_weight=[1, 1, q, q])
    assert hard.y == pytest.approx(np.full(101, 0.5), rel=1e-12)


def test_the_highest_level():
    """The last level below 1 has a band, wider than others."""
    curve, usual = logistic_calibration_curve(P, Y, level=1 - 2**-53), logistic_calibration_curve(P, Y)
    assert np.all((curve.low < usual.low) & (usual.high < curve.high))


def test_clipping_is_said():
    """One warning counts the rows moved, and points at the caller."""
    with pytest.warns(ClippedWarning, match="1 of 4 scores") as said:
        logistic_calibration_curve([0.0, 0.3, 0.6, 0.7], [0, 1, 0, 1])
    assert len(said) == 1
    assert said[0].filename == __file__
