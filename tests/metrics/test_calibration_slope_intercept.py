"""Calibration slope and intercept against their score equations."""

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from statistics import NormalDist

import numpy as np
import pytest

from believable import CellStats, Predictions, calibration_slope_intercept, logistic_calibration_curve
from believable.errors import ClippedWarning, InputError, UndefinedError
from believable.stats.source import PointStats, count_points
from tests.metrics.literal import BINARY, MATRIX, SOFT, Data, choices, over
from tests.metrics.logistic_literal import log_likelihood, logit, profile, root, scores, separated, sigmoid, triples

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.ClippedWarning")
RNG = np.random.default_rng(17)
P = RNG.random(80)
Y = (RNG.random(80) < P**1.4).astype(int)


def check(ask, data, **view):
    rows = triples(data, **view)
    side = separated(rows)
    if side is None:
        with pytest.raises(UndefinedError, match="the calibration slope needs"):
            ask(calibration_slope_intercept, data, **view)
        return
    found = ask(calibration_slope_intercept, data, **view)
    assert float(found) == found.slope.value
    if side:
        assert found.slope.value == side * math.inf
        return
    first, second = scores(rows, found.intercept.value, found.slope.value)
    assert abs(first) <= 1e-12 * sum(w for _, _, w in rows)
    assert abs(second) <= 1e-12 * sum(w * (1 + abs(x)) for x, _, w in rows)
    assert found.slope.low < found.slope.value < found.slope.high
    assert found.intercept.low < found.intercept.value < found.intercept.high


@over(BINARY, SOFT)
def test_definition(ask, data):
    """Both score equations are solved; separable outcomes have an infinite slope, others are undefined."""
    check(ask, data)


@over(MATRIX)
@choices({}, {"notion": "rth", "r": 2}, {"notion": "within_top_r", "r": 2}, name="view")
def test_matrix(ask, data, view):
    """Of a matrix they are those of the confidences, or of another notion with one group."""
    check(ask, data, **view)


def test_standard_errors():
    """The Wald intervals are those of the sandwich, written out for two coefficients."""
    w = RNG.random(80)
    found = calibration_slope_intercept(P, Y, sample_weight=w, level=0.9)
    rows = triples(Data(P, Y, w))
    middle, information = np.zeros((2, 2)), np.zeros((2, 2))
    for x, y, wi in rows:
        mu = sigmoid(found.intercept.value + found.slope.value * x)
        for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
            middle[i, j] += wi**2 * (y - mu) ** 2 * x**i * x**j
            information[i, j] += wi * mu * (1 - mu) * x**i * x**j
    inverse = np.linalg.inv(information)
    errors = np.sqrt(np.diag(inverse @ middle @ inverse)) * NormalDist().inv_cdf(0.95)
    for estimate, half in zip((found.intercept, found.slope), errors, strict=True):
        assert (estimate.low, estimate.high) == pytest.approx((estimate.value - half, estimate.value + half), rel=1e-9)


def test_profile_ends_solve_the_likelihood_ratio_equation():
    """At each end of the slope, with the best intercept there, the likelihood ratio is the quantile of chi-squared."""
    found = calibration_slope_intercept(P, Y, interval="profile", level=0.9)
    rows = triples(Data(P, Y))
    best = log_likelihood(rows, found.intercept.value, found.slope.value)
    goal = NormalDist().inv_cdf(0.95) ** 2
    for end in (found.slope.low, found.slope.high):
        assert 2 * (best - profile(rows, end)) == pytest.approx(goal, rel=1e-9)
    for end in (found.intercept.low, found.intercept.high):
        slope = root(lambda b: scores(rows, end, b)[1], -100, 100)  # noqa: B023
        assert 2 * (best - log_likelihood(rows, end, slope)) == pytest.approx(goal, rel=1e-9)
    assert found.slope.method == found.intercept.method == "profile"


@pytest.mark.parametrize(
    ("p", "y", "slope", "intercept"),
    [
        ([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], math.inf, 0.0),
        ([0.1, 0.2, 0.8, 0.8, 0.8, 0.9], [0, 0, 1, 1, 1, 1], math.inf, math.log(3) / 2),
        ([0.1, 0.2, 0.8, 0.9], [1, 1, 0, 0], -math.inf, 0.0),
        ([0.1, 0.2, 0.3, 0.9], [0, 0, 1, 1], math.inf, math.inf),
        ([0.1, 0.7, 0.8, 0.9], [0, 0, 1, 1], math.inf, -math.inf),
        ([0.1, 0.2, 0.3, 0.9], [1, 1, 0, 0], -math.inf, -math.inf),
        ([0.1, 0.5, 0.5, 0.5, 0.9], [0, 0, 1, 1, 1], math.inf, math.log(2)),
        ([0.1, 0.4, 0.4, 0.9], [0, 0, 1, 1], math.inf, math.inf),
        ([0.0, 1.0], [0, 1], math.inf, 0.0),
        ([0.0, 1e-14, 0.3], [1, 0, 1], math.inf, math.inf),
    ],
)
def test_separable(p, y, slope, intercept):
    """A threshold that tells the outcomes apart makes the slope infinite and the intercept its limit."""
    found = calibration_slope_intercept(p, y)
    assert found.slope.value == slope
    assert found.intercept.value == pytest.approx(intercept, abs=1e-12)
    assert (found.intercept.low, found.intercept.high) == (-math.inf, math.inf)
    assert slope in (found.slope.low, found.slope.high)
    weighted = calibration_slope_intercept(p, y, sample_weight=np.arange(1.0, len(p) + 1))
    assert weighted.slope.value == slope
    assert (weighted.slope.low, weighted.slope.high) == (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("p", "y", "highest"),
    [
        ([0.1, 0.2, 0.3, 0.35, 0.8, 0.9], [0, 0, 0, 1, 1, 1], 0.0),
        ([0.1, 0.2, 0.4, 0.4, 0.4, 0.9], [0, 0, 0, 1, 1, 1], math.log(1 / 3) + 2 * math.log(2 / 3)),
        ([0.1, 0.2, 0.3, 0.35, 0.8, 0.9], [1, 1, 1, 0, 0, 0], 0.0),
    ],
)
def test_separable_profile(p, y, highest):
    """The finite end of an infinite slope is where the likelihood is lower than its limit by what chance allows."""
    found = calibration_slope_intercept(p, y).slope
    end = found.low if found.value > 0 else found.high
    rows = triples(Data(np.array(p), np.array(y)))
    assert 2 * (highest - profile(rows, end)) == pytest.approx(NormalDist().inv_cdf(0.975) ** 2, rel=1e-8)
    assert found == calibration_slope_intercept(p, y, interval="profile").slope


def test_steep_lines_tend_to_the_limit():
    """The limit of the intercept is that of ever steeper lines."""
    p, y = np.array([0.1, 0.2, 0.8, 0.8, 0.9]), np.array([0, 0, 1, 1, 1])
    rows = triples(Data(p, y))
    steep = root(lambda a: scores(rows, a, 15)[0], -100, 100)
    assert steep == pytest.approx(calibration_slope_intercept(p, y).intercept.value, abs=1e-5)


def test_nearly_separable():
    """Two scores out of order by a hair have a finite slope, which solves the score equations."""
    p = np.array([0.1, 0.2, 0.3, 0.5, 0.5 + 1e-6, 0.7, 0.8, 0.9])
    y = np.array([0, 0, 0, 1, 0, 1, 1, 1])
    found = calibration_slope_intercept(p, y)
    rows = triples(Data(p, y))
    assert 1 < found.slope.value < math.inf
    first, second = scores(rows, found.intercept.value, found.slope.value)
    assert max(abs(first), abs(second)) < 1e-12


def exact_line(p, y, w):
    """Slope and intercept by Newton's method, to eighty digits."""
    p, y, w = ([Decimal(float(one)) for one in column] for column in (p, y, w))
    x = [(one / (1 - one)).ln() for one in p]
    centre = sum(x) / len(x)
    z = [(one - centre) / (max(x) - min(x)) for one in x]
    a = b = Decimal(0)
    for _ in range(60):
        mu = [1 / (1 + (-a - b * one).exp()) for one in z]
        first = sum(v * (t - m) for v, t, m in zip(w, y, mu, strict=True))
        second = sum(v * (t - m) * one for v, t, m, one in zip(w, y, mu, z, strict=True))
        info = [v * m * (1 - m) for v, m in zip(w, mu, strict=True)]
        aa, ab, bb = (sum(i * one**k for i, one in zip(info, z, strict=True)) for k in (0, 1, 2))
        a += (bb * first - ab * second) / (aa * bb - ab * ab)
        b += (aa * second - ab * first) / (aa * bb - ab * ab)
    slope = b / (max(x) - min(x))
    return float(slope), float(a - slope * centre)


@pytest.mark.parametrize("middle", [1e-9, 0.3, 0.97])
@pytest.mark.parametrize("spread", [0.03, 1e-6, 1e-9, 1e-13])
def test_scores_close_together(middle, spread):
    """Scores that differ in their last digits only have the slope of those digits: logits, rounded, would lose them."""
    rng = np.random.default_rng(8)
    p, y = middle * (1 + spread * (rng.random(16) - 0.5)), np.arange(16) % 2
    for w in (np.ones(16), rng.random(16)):
        with localcontext(prec=80):
            slope, intercept = exact_line(p, y, w)
        found = calibration_slope_intercept(p, y, sample_weight=w)
        assert found.slope.value == pytest.approx(slope, rel=1e-12)
        assert found.intercept.value == pytest.approx(intercept, rel=1e-12)
        curve = logistic_calibration_curve(p, y, sample_weight=w)
        assert curve.settings["slope"] == pytest.approx(slope, rel=1e-12)


def test_scores_that_differ_by_one_rounding():
    """They have a slope even where their logits, rounded, are equal."""
    p = np.repeat([1e-9, np.nextafter(1e-9, 1)], 4)
    assert calibration_slope_intercept(p, [0, 0, 0, 0, 1, 1, 1, 1]).slope.value == math.inf
    step = (p[-1] - p[0]) / p[0]  # of the logits, but for 1e-9 of it
    found = calibration_slope_intercept(p, [0, 0, 0, 1, 0, 1, 1, 1])
    assert found.slope.value == pytest.approx(2 * math.log(3) / step, rel=1e-8)


def test_undefined():
    """One class only, and scores that are all equal, have no slope."""
    with pytest.raises(UndefinedError, match="the calibration slope needs both outcomes"):
        calibration_slope_intercept([0.1, 0.5, 0.9], [1, 1, 1])
    with pytest.raises(UndefinedError, match="the calibration slope needs scores that are not all equal"):
        calibration_slope_intercept([0.4, 0.4, 0.4], [1, 0, 1])
    with pytest.raises(UndefinedError, match="not all equal"):
        calibration_slope_intercept([0.7], [1])
    with pytest.raises(UndefinedError, match="the calibration slope needs one set of scores, but there are 4"):
        calibration_slope_intercept(MATRIX["random"].scores, MATRIX["random"].labels, notion="classwise")
    with pytest.raises(InputError, match="interval='profile' needs a likelihood"):
        calibration_slope_intercept(P, Y, interval="profile", sample_weight=P)


def test_clipping_is_counted():
    """The rows moved are in the result and in one warning."""
    with pytest.warns(ClippedWarning, match="2 of 4 scores") as said:
        found = calibration_slope_intercept([0.0, 1.0, 0.4, 0.6], [1, 1, 1, 0])
    assert found.n_clipped == 2
    assert len(said) == 1
    assert said[0].filename == __file__


def test_shifted_and_stretched_logits():
    """Scores whose logits are c + d times the right ones have slope 1/d and intercept -c/d, of all that is random."""
    x = np.array([logit(p) for p in P])
    one = calibration_slope_intercept(P, Y)
    other = calibration_slope_intercept(1 / (1 + np.exp(-(0.7 + 2 * x))), Y)
    assert other.slope.value == pytest.approx(one.slope.value / 2, rel=1e-9)
    assert other.intercept.value == pytest.approx(one.intercept.value - 0.7 * one.slope.value / 2, rel=1e-8)
    assert other.slope.high == pytest.approx(one.slope.high / 2, rel=1e-8)


def test_replicates():
    """Many outcomes at once give the slopes they give alone; NaN marks those that have none."""
    cells = CellStats.of(Predictions(np.round(P, 1), Y))
    wy = np.stack([RNG.binomial(cells.n, rate) for rate in (0, 0.2, 0.5)]).astype(float)
    wy = np.vstack([wy, np.where(cells.conf > 0.55, cells.n, 0), np.where(cells.conf > 0.55, 0, cells.n)])
    found = calibration_slope_intercept(replace(cells, wy=wy))
    assert math.isnan(found[0])
    assert found[3:].tolist() == [math.inf, -math.inf]
    for row in (1, 2):
        assert found[row] == pytest.approx(float(calibration_slope_intercept(replace(cells, wy=wy[row]))), rel=1e-10)


@pytest.mark.parametrize("weight", [2.0, 0.5, 1e9, 1e-60])
@pytest.mark.parametrize("interval", ["wald", "profile"])
def test_one_weight_for_all_changes_nothing(weight, interval):
    """Rows of one weight, whatever it is, have the intervals of rows without."""
    plain = calibration_slope_intercept(P, Y, interval=interval)
    same = calibration_slope_intercept(P, Y, interval=interval, sample_weight=np.full(80, weight))
    for one, other in ((plain.slope, same.slope), (plain.intercept, same.intercept)):
        assert (other.value, other.low, other.high) == pytest.approx((one.value, one.low, one.high), rel=1e-8)


@pytest.mark.parametrize("q", [1.0, 1e-8, 1e-14, 1e-16, 1e-20, 1e-50, 1e-100])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_light_point_counts(q, swapped):
    """A line through two points goes through both, however little one of them weighs."""
    shares, weights = np.array([0.5, 0.25]), np.array([1, q] if not swapped else [q, 1])
    found = calibration_slope_intercept(Predictions([0.2, 0.7], shares, sample_weight=weights, soft_labels=True))
    slope = (logit(0.25) - logit(0.5)) / (logit(0.7) - logit(0.2))
    assert found.slope.value == pytest.approx(slope, rel=1e-12)
    assert found.intercept.value == pytest.approx(-slope * logit(0.2), rel=1e-12)
    assert -10 < found.slope.low < slope < found.slope.high < 10
    hard = calibration_slope_intercept([0.2, 0.2, 0.7, 0.7], [0, 1, 0, 1], sample_weight=np.repeat(weights, 2))
    assert hard.slope.value == pytest.approx(0, abs=1e-12)
    half = NormalDist().inv_cdf(0.975) * 2 / (logit(0.7) - logit(0.2))  # of four rows, each with residual 1/2
    assert (hard.slope.low, hard.slope.high) == pytest.approx((-half, half), rel=1e-9)


def test_a_narrow_cluster_beside_certain_rows():
    """Many rows that the line is sure of do not blur it where scores nearly coincide."""
    p = np.array([1e-11, 0.5, 0.5 + 1e-8])
    found = calibration_slope_intercept(Predictions(p, [0, 0.3, 0.5], sample_weight=[1e12, 1, 1], soft_labels=True))
    assert found.slope.value == pytest.approx(-logit(0.3) / (logit(p[2]) - logit(p[1])), rel=1e-9)


@pytest.mark.parametrize("q", [1e-14, 1e-20])
def test_light_points_count_in_replicates(q):
    """Replicates have the slopes they have alone where weights are very unequal."""
    source = Predictions([0.2, 0.7], [0.5, 0.25], soft_labels=True)
    w = np.array([[1, q], [q, 1], [1, 1]])
    (points,) = count_points(source)
    found = calibration_slope_intercept(PointStats(source.view(), (replace(points, w=w, wy=w * [0.5, 0.25]),)))
    assert found == pytest.approx(np.full(3, -0.491859), rel=1e-5)


def test_shares_next_to_certainty_are_not_outcomes():
    """Soft labels a hair from 0 or 1 have no likelihood of counts; the metric answers by the shares."""
    for labels in ([0, 1 - 1e-10, 1], [1e-10, 1, 1], [0, 1e-10, 1]):
        soft = Predictions([0.2, 0.5, 0.7], labels, soft_labels=True)
        found = calibration_slope_intercept(soft)
        assert found.slope.low <= found.slope.value <= found.slope.high
        with pytest.raises(InputError, match="outcomes of 0 and 1"):
            calibration_slope_intercept(soft, interval="profile")


@pytest.mark.parametrize("interval", ["wald", "profile"])
def test_the_highest_level(interval):
    """The last level below 1 has an interval, wider than others."""
    found = calibration_slope_intercept(P, Y, interval=interval, level=1 - 2**-53)
    usual = calibration_slope_intercept(P, Y, interval=interval)
    assert -math.inf < found.slope.low < usual.slope.low < usual.slope.high < found.slope.high < math.inf


def test_coverage():
    """Wald intervals of slope and intercept hold the true line about as often as they say."""
    rng, hits = np.random.default_rng(12), np.zeros(2)
    for _ in range(400):
        x = rng.normal(0, 1.5, 250)
        found = calibration_slope_intercept(1 / (1 + np.exp(-x)), rng.random(250) < 1 / (1 + np.exp(-(0.3 + 0.7 * x))))
        hits += [found.slope.low <= 0.7 <= found.slope.high, found.intercept.low <= 0.3 <= found.intercept.high]
    assert np.all((hits / 400 >= 0.92) & (hits / 400 <= 0.98))
