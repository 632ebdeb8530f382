"""Calibration-in-the-large against its score equation."""

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

from believable import CellStats, Predictions, calibration_in_the_large
from believable.errors import ClippedWarning, InputError, UndefinedError
from tests.metrics.literal import BINARY, MATRIX, MULTILABEL, SOFT, Data, choices, over
from tests.metrics.logistic_literal import best_shift, log_likelihood, scores, sigmoid, triples

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.ClippedWarning")
RNG = np.random.default_rng(7)
P = RNG.random(120)
Y = (RNG.random(120) < P**1.4).astype(int)


def check(found, rows):
    outcomes = {y for _, y, _ in rows}
    if len(outcomes) == 1:
        assert found.value == (math.inf if outcomes == {1} else -math.inf)
        return
    weight = sum(w for _, _, w in rows)
    assert abs(scores(rows, found.value, 1)[0]) <= 1e-12 * weight
    # The score is flat where certain scores are contradicted: its root is not known better than this.
    assert found.value == pytest.approx(best_shift(rows), rel=1e-6, abs=1e-6)


@over(BINARY, SOFT)
def test_definition(ask, data):
    """The shift solves sum w (y - mu) = 0; it is infinite where there is one class."""
    check(ask(calibration_in_the_large, data), triples(data))


@over(MATRIX)
@choices({}, {"notion": "rth", "r": 2}, {"notion": "within_top_r", "r": 2}, name="view")
def test_matrix(ask, data, view):
    """Of a matrix it is that of the confidences, or of another notion with one group."""
    check(ask(calibration_in_the_large, data, **view), triples(data, **view))


def test_standard_error():
    """The Wald interval is that of the sandwich, sum w^2 (y - mu)^2 over (sum w mu (1 - mu))^2."""
    w = RNG.random(120)
    found = calibration_in_the_large(P, Y, sample_weight=w, level=0.9)
    rows = triples(Data(P, Y, w))
    mu = [sigmoid(found.value + x) for x, _, _ in rows]
    middle = sum((wi * (y - m)) ** 2 for (_, y, wi), m in zip(rows, mu, strict=True))
    information = sum(wi * m * (1 - m) for (_, _, wi), m in zip(rows, mu, strict=True))
    half = NormalDist().inv_cdf(0.95) * math.sqrt(middle) / information
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half), rel=1e-10)
    assert (found.level, found.method) == (0.9, "wald")


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_profile_ends_solve_the_likelihood_ratio_equation(level):
    """At both ends twice the log-likelihood is lower by the quantile of chi-squared."""
    found = calibration_in_the_large(P, Y, interval="profile", level=level)
    rows = triples(Data(P, Y))
    goal = NormalDist().inv_cdf(0.5 + level / 2) ** 2
    for end in (found.low, found.high):
        lost = 2 * (log_likelihood(rows, found.value, 1) - log_likelihood(rows, end, 1))
        assert lost == pytest.approx(goal, rel=1e-9)
    assert found.low < found.value < found.high
    assert found.method == "profile"


@pytest.mark.parametrize("interval", ["wald", "profile"])
@pytest.mark.parametrize("outcome", [0, 1])
def test_one_class(interval, outcome):
    """Without one of the outcomes the shift is infinite, and a profile likelihood bounds it on one side."""
    found = calibration_in_the_large(P[:30], np.full(30, outcome), interval=interval)
    sign = 1 if outcome else -1
    end = found.low if outcome else found.high
    assert found.value == sign * math.inf == (found.high if outcome else found.low)
    rows = triples(Data(P[:30], np.full(30, outcome)))
    assert -2 * log_likelihood(rows, end, 1) == pytest.approx(NormalDist().inv_cdf(0.975) ** 2, rel=1e-9)
    weighted = calibration_in_the_large(P[:30], np.full(30, outcome), sample_weight=P[:30])
    assert (weighted.value, weighted.low, weighted.high) == (sign * math.inf, -math.inf, math.inf)
    assert weighted.method == "unbounded"


@pytest.mark.parametrize("p", [0.0, 1e-9, 0.3, 1.0])
def test_one_row(p):
    """One row, certain or not, has an interval that is open on one side."""
    found = calibration_in_the_large([p], [1])
    assert found.value == found.high == math.inf
    assert math.isfinite(found.low)


def test_contradicted_certainty():
    """Scores of 0 and 1 that are wrong have a finite shift and a profile interval in order."""
    found = calibration_in_the_large([0.0, 1.0], [1, 0], interval="profile")
    assert found.value == pytest.approx(0, abs=1e-3)
    assert -40 < found.low < found.value < found.high < 40


def test_clipping_is_said_once():
    """One warning counts the rows moved, and points at the caller."""
    with pytest.warns(ClippedWarning, match=r"3 of 5 scores were clipped to \[1e-12, 1 - 1e-12\]") as said:
        calibration_in_the_large([0.0, 1.0, 1e-13, 0.5, 1e-12], [0, 1, 0, 1, 1])
    assert len(said) == 1
    assert said[0].filename == __file__


def test_equal_weights_are_a_likelihood():
    """Rows of one weight have the profile interval of rows without; rows of several weights have none."""
    plain = calibration_in_the_large(P, Y, interval="profile")
    same = calibration_in_the_large(P, Y, interval="profile", sample_weight=np.full(120, 0.3))
    assert (same.low, same.high) == pytest.approx((plain.low, plain.high), rel=1e-9)
    with pytest.raises(InputError, match="interval='profile' needs a likelihood: rows of equal weight"):
        calibration_in_the_large(P, Y, interval="profile", sample_weight=P)
    soft = Predictions(P, np.where(Y, 0.8, 0.1), soft_labels=True)
    with pytest.raises(InputError, match="outcomes of 0 and 1"):
        calibration_in_the_large(soft, interval="profile")


def test_cells_answer_like_the_data():
    """On a grid that holds the scores cells give value and intervals of the data."""
    p = np.round(P, 2)
    cells = CellStats.of(Predictions(p, Y))
    for interval in ("wald", "profile"):
        one, other = (
            calibration_in_the_large(cells, interval=interval),
            calibration_in_the_large(p, Y, interval=interval),
        )
        assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high), rel=1e-9)


def test_replicates():
    """Many outcomes at once give the values they give alone, infinite ones too."""
    cells = CellStats.of(Predictions(np.round(P, 2), Y))
    wy = np.stack([RNG.binomial(cells.n, rate) for rate in (0, 0.2, 0.5, 1)]).astype(float)
    found = calibration_in_the_large(replace(cells, wy=wy))
    assert found.tolist() == [
        pytest.approx(calibration_in_the_large(replace(cells, wy=row)).value, rel=1e-10) for row in wy
    ]
    assert found[[0, 3]].tolist() == [-math.inf, math.inf]


def test_refusals(ask):
    """Several groups and unknown choices are errors."""
    with pytest.raises(UndefinedError, match="calibration-in-the-large needs one set of scores, but there are 4"):
        ask(calibration_in_the_large, MATRIX["random"], notion="classwise")
    with pytest.raises(UndefinedError, match="one set of scores"):
        ask(calibration_in_the_large, MULTILABEL["multilabel"])
    with pytest.raises(InputError, match="interval must be one of 'wald', 'profile'"):
        calibration_in_the_large(P, Y, interval="exact")
    with pytest.raises(InputError, match="level"):
        calibration_in_the_large(P, Y, level=1)


@pytest.mark.parametrize("weight", [1e-60, 1.0, 1e3, 1e9, 1e60])
def test_one_weight_for_all_changes_nothing(weight):
    """Far from the scores, too, the shift of a constant is the difference of logits, whatever rows weigh."""
    y = np.arange(1000) > 0
    found = calibration_in_the_large(np.full(1000, 1e-4), y, sample_weight=np.full(1000, weight))
    assert found.value == pytest.approx(math.log(999) - math.log(1e-4 / (1 - 1e-4)), rel=1e-12)
    plain = calibration_in_the_large(np.full(1000, 1e-4), y)
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high), rel=1e-10)


@pytest.mark.parametrize("q", [1e-20, 1e-90])
def test_a_light_row_counts(q):
    """The shift solves its equation where one outcome has next to no weight."""
    found = calibration_in_the_large([0.2, 0.7], [1, 0], sample_weight=[1, q])
    # 1 - mu of the first is q times mu of the second, which is 1 as near as can be.
    assert found.value == pytest.approx(math.log(0.8 / 0.2) - math.log(q), rel=1e-12)
    assert found.low < found.value < found.high


def test_shares_next_to_certainty_are_not_outcomes():
    """A soft label a hair from 1 is both outcomes: no counts, and no end from them."""
    soft = Predictions([0.2, 0.5, 0.7], [1, 1 - 1e-10, 1], soft_labels=True)
    found = calibration_in_the_large(soft)
    assert math.isfinite(found.value)
    assert found.method == "wald"
    with pytest.raises(InputError, match="outcomes of 0 and 1"):
        calibration_in_the_large(soft, interval="profile")


@pytest.mark.parametrize("interval", ["wald", "profile"])
@pytest.mark.parametrize("level", [1e-20, 1 - 2**-53])
def test_extreme_levels(interval, level):
    """The first and the last level that are no errors have intervals in order."""
    found = calibration_in_the_large(P, Y, interval=interval, level=level)
    assert -math.inf < found.low <= found.value <= found.high < math.inf


def test_coverage():
    """Wald intervals of calibrated scores hold 0 about as often as they say."""
    rng, hits = np.random.default_rng(11), 0
    for _ in range(400):
        p = rng.beta(1, 3, 150)
        found = calibration_in_the_large(p, rng.random(150) < p)
        hits += found.low <= 0 <= found.high
    assert 0.92 <= hits / 400 <= 0.98
