"""The calibration slope with the intercept held at 0, against its score equation."""

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

from believable import Predictions, calibration_slope_intercept, interval
from believable.errors import InputError, UndefinedError
from believable.metrics import METRICS
from believable.recalibrate import TemperatureScaling
from believable.stats.source import PointStats, count_points
from tests.metrics.literal import BINARY, MATRIX, SOFT, Data, over
from tests.metrics.logistic_literal import log_likelihood, root, scores, sigmoid, triples

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.ClippedWarning")
RNG = np.random.default_rng(18)
P = RNG.random(80)
Y = (RNG.random(80) < P**1.4).astype(int)


def slope(predictions, actuals=None, **options):
    return calibration_slope_intercept(predictions, actuals, fix_intercept=True, **options)


@over(BINARY, SOFT, MATRIX)
def test_definition(ask, data):
    """The score equation of b alone is solved; the slope is infinite if the outcomes do not bound it."""
    rows = triples(data)
    rising = any((x < 0 and y > 0) or (x > 0 and y < 1) for x, y, _ in rows)
    falling = any((x > 0 and y > 0) or (x < 0 and y < 1) for x, y, _ in rows)
    if not rising and not falling:
        with pytest.raises(UndefinedError, match="needs scores other than 1/2 if the intercept is 0"):
            ask(slope, data)
        return
    found = ask(slope, data)
    assert (found.intercept.value, found.intercept.low, found.intercept.high) == (0, 0, 0)
    assert found.intercept.method == "fixed"
    if not (rising and falling):
        assert found.slope.value == (math.inf if falling else -math.inf)
        return
    _, second = scores(rows, 0.0, found.slope.value)
    assert abs(second) <= 1e-11 * sum(w * (1 + abs(x)) for x, _, w in rows)
    assert found.slope.low < found.slope.value < found.slope.high


def test_standard_error():
    """The Wald interval is that of the sandwich of one coefficient."""
    w = RNG.random(80)
    found = slope(P, Y, sample_weight=w, level=0.9).slope
    rows = triples(Data(P, Y, w))
    middle = sum(wi**2 * (y - sigmoid(found.value * x)) ** 2 * x**2 for x, y, wi in rows)
    information = sum(wi * sigmoid(found.value * x) * sigmoid(-found.value * x) * x**2 for x, _, wi in rows)
    half = NormalDist().inv_cdf(0.95) * math.sqrt(middle) / information
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half), rel=1e-9)
    with pytest.raises(InputError, match="needs a likelihood"):
        slope(P, Y, sample_weight=w, interval="profile")


def test_profile_ends():
    """At both ends the likelihood ratio is the quantile of chi-squared."""
    found = slope(P, Y, interval="profile", level=0.9).slope
    rows = triples(Data(P, Y))
    for end in (found.low, found.high):
        ratio = 2 * (log_likelihood(rows, 0, found.value) - log_likelihood(rows, 0, end))
        assert ratio == pytest.approx(NormalDist().inv_cdf(0.95) ** 2, rel=1e-9)


@pytest.mark.parametrize(
    ("p", "y", "side"),
    [([0.2, 0.4, 0.5, 0.9], [0, 0, 1, 1], 1), ([0.2, 0.4, 0.9], [1, 1, 0], -1), ([0.6, 0.9], [1, 1], 1)],
)
def test_infinite(p, y, side):
    """An infinite slope is bounded on its finite side by what chance allows."""
    found = slope(p, y).slope
    assert found.value == side * math.inf
    assert (found.high if side > 0 else found.low) == found.value
    end = found.low if side > 0 else found.high
    rows = triples(Data(np.array(p), np.array(y)))
    highest = -math.log(2) * p.count(0.5)
    assert 2 * (highest - log_likelihood(rows, 0, end)) == pytest.approx(NormalDist().inv_cdf(0.975) ** 2, rel=1e-8)
    weighted = slope(p, y, sample_weight=np.arange(1.0, len(p) + 1)).slope
    assert (weighted.value, weighted.low, weighted.high) == (found.value, -math.inf, math.inf)


def test_one_class_and_equal_scores():
    """Neither leaves the slope undefined, unlike that of a line with an intercept."""
    assert slope([0.2, 0.7, 0.8], [0, 0, 0]).slope.value == pytest.approx(
        root(lambda b: scores(triples(Data(np.array([0.2, 0.7, 0.8]), np.zeros(3))), 0.0, b)[1], -100, 100)
    )
    assert slope([0.2] * 4, [1, 0, 0, 0]).slope.value == pytest.approx(math.log(1 / 3) / math.log(0.2 / 0.8))
    with pytest.raises(InputError, match="fix_intercept must be True or False"):
        calibration_slope_intercept(P, Y, fix_intercept="yes")


def test_it_is_an_inverse_temperature():
    """Temperature scaling of one event fits the same line."""
    fitted = TemperatureScaling().fit(P, Y)
    assert slope(P, Y).slope.value == pytest.approx(1 / fitted.temperature_, rel=1e-6)


def test_replicates():
    """Of a stack of outcomes there is one slope each, and the bootstrap interval uses them."""
    stats = count_points(Predictions(P, Y))
    (points,) = stats
    outcomes = np.stack([points.wy, np.sort(points.wy), np.zeros(80)])
    says = METRICS["calibration_slope_intercept"].says
    found = says(PointStats(stats.view, (replace(points, wy=outcomes),)), fix_intercept=True)
    each = [slope(points.score, one.astype(int)).slope.value for one in outcomes]
    assert found.tolist() == pytest.approx(each, rel=1e-9)
    shown = interval("slope", P, Y, options={"fix_intercept": True}, random_state=0)
    assert shown.low < shown.value == slope(P, Y).slope.value < shown.high


@pytest.mark.parametrize("clusters", [None, np.arange(400) // 2], ids=["rows", "clusters"])
def test_interval_is_of_the_same_slope(clusters):
    """With the intercept free, the slope of these shifted scores is much larger, and so is its interval."""
    rng = np.random.default_rng(0)
    logit = rng.normal(-2, 0.7, 400)
    p, y = 1 / (1 + np.exp(-logit)), rng.random(400) < 1 / (1 + np.exp(-(1.5 + logit)))
    held = calibration_slope_intercept(p, y, fix_intercept=True).slope
    found = interval("slope", p, y, options={"fix_intercept": True}, clusters=clusters, n_resamples=100, random_state=0)
    assert (found.value, found.estimate) == pytest.approx((held.value, held.value))
    few_draws = 0.3 * (held.high - held.low)
    assert (found.low, found.high) == pytest.approx((held.low, held.high), abs=few_draws)
    assert found.high < calibration_slope_intercept(p, y).slope.low
