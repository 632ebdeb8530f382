"""The smoothed calibration curve against local regression in exact fractions."""

import inspect
from dataclasses import replace
from math import fsum
from statistics import NormalDist

import numpy as np
import pytest

from believable import (
    CellStats,
    Predictions,
    _kernels,
    calibration_index,
    integrated_calibration_index,
    local_calibration_score,
    smoothed_calibration_curve,
)
from believable.curves import smoothed
from believable.curves.smoothed import Smoother
from believable.errors import InputError, UndefinedError
from believable.stats.source import count_points
from tests.curves.literal_local import local_rate, places, shares_near
from tests.metrics.literal import BINARY, MATRIX, SOFT, choices, over, pairs

RNG = np.random.default_rng(20240602)
SMALL = {
    name: BINARY[name]
    for name in (
        "ties",
        "ties float32",
        "constant",
        "one row",
        "fewer rows than bins",
        "0 and 1",
        "only 0 and 1",
        "in order",
        "ties and weights",
        "halves that meet but for rounding",
        "whole weights",
    )
}
NEAR = {"abs": 1e-9}


@over(SMALL, {"soft, ties, weights": SOFT["soft, ties, weights"]})
@choices({}, {"degree": 0}, {"degree": 1, "span": 0.4}, {"bandwidth": 0.15}, {"degree": 2, "bandwidth": 0.003})
def test_definition(data, bins):
    """At 101 places it is the local polynomial, within [0, 1]; the weight is that of the nearest scores."""
    group = pairs(data)[0]
    found = smoothed_calibration_curve(
        Predictions(data.scores, data.labels, sample_weight=data.weights, soft_labels=data.kind == "soft"), **bins
    )
    at = places(group)
    assert found.x.tolist() == pytest.approx(at, rel=1e-15)
    assert found.y[::5].tolist() == pytest.approx([local_rate(group, x, **bins) for x in found.x[::5].tolist()], **NEAR)
    total = fsum(w for _, _, w in group)
    assert (found.weight / total).tolist() == pytest.approx(shares_near(group, at), abs=1e-12)
    assert np.all((found.low >= 0) & (found.low <= found.y) & (found.y <= found.high) & (found.high <= 1))


@over({name: BINARY[name] for name in ("random", "float32", "unequal weights", "weights with zeros", "one class")})
def test_many_scores(data):
    """The same for scores that do not repeat, with weights from 1e-6 to 1e6."""
    group = pairs(data)[0]
    for degree in (1, 2):
        found = smoothed_calibration_curve(data.scores, data.labels, degree=degree, sample_weight=data.weights)
        expected = [local_rate(group, x, degree=degree) for x in found.x[::20].tolist()]
        assert found.y[::20].tolist() == pytest.approx(expected, abs=1e-8)


@over({name: MATRIX[name] for name in ("random", "argmax ties and weights")})
@choices({}, {"notion": "rth", "r": 2}, name="view")
def test_matrix(data, view):
    """Of a matrix the confidences are looked at, or another notion with one group."""
    found = smoothed_calibration_curve(data.scores, data.labels, sample_weight=data.weights, **view)
    group = pairs(data, **view)[0]
    assert found.y[::25].tolist() == pytest.approx([local_rate(group, x) for x in found.x[::25].tolist()], **NEAR)
    assert found.settings["notion"] == view.get("notion", "confidence")
    with pytest.raises(UndefinedError, match="a curve needs one set of scores"):
        smoothed_calibration_curve(data.scores, data.labels, notion="classwise")


@over({name: SMALL[name] for name in ("ties", "ties float32", "constant", "one row", "fewer rows than bins")})
@choices({"neighbours": 1}, {"neighbours": 3}, {"neighbours": 40, "degree": 1}, {"neighbours": 10_000})
def test_neighbours(data, bins):
    """The window ends at the k-th nearest row, or holds all rows if there are fewer."""
    group = pairs(data)[0]
    found = smoothed_calibration_curve(data.scores, data.labels, **bins)
    expected = [local_rate(group, x, **bins) for x in found.x[::5].tolist()]
    assert found.y[::5].tolist() == pytest.approx(expected, **NEAR)


def test_neighbours_are_a_share_of_the_rows():
    """k of n rows are a span of k / n; rows with weights have no such number."""
    p, y = RNG.random(400), RNG.integers(0, 2, 400)
    by_number, by_share = (smoothed_calibration_curve(p, y, **one) for one in ({"neighbours": 100}, {"span": 0.25}))
    assert np.array_equal(by_number.y, by_share.y)
    assert by_number.settings["neighbours"] == 100
    equal = smoothed_calibration_curve(p, y, neighbours=100, sample_weight=np.ones(400))
    assert np.array_equal(equal.y, by_number.y)
    with pytest.raises(InputError, match="neighbours counts rows, but these have weights: use span"):
        smoothed_calibration_curve(p, y, neighbours=100, sample_weight=np.full(400, 2.0))


def test_the_curve_and_its_errors_have_the_same_defaults():
    """Degree 2 and three quarters of the rows, as in R's loess, for the curve, its plot and its errors."""
    for function in (
        smoothed_calibration_curve,
        integrated_calibration_index,
        calibration_index,
        local_calibration_score,
    ):
        defaults = {name: one.default for name, one in inspect.signature(function).parameters.items()}
        assert (defaults["degree"], defaults["span"], defaults["neighbours"]) == (2, 0.75, None), function


def test_lines_and_parabolas_are_kept():
    """Rates on a line are returned as they are by degree 1, on a parabola by degree 2."""
    p = np.linspace(0.05, 0.95, 37)
    for degree, rate in ((1, 0.1 + 0.7 * p), (2, 0.9 - 1.2 * p + 0.9 * p**2)):
        curve = smoothed_calibration_curve(Predictions(p, rate, soft_labels=True), degree=degree, span=0.5)
        assert curve.y == pytest.approx(
            np.interp(curve.x, p, rate) if degree == 1 else 0.9 - 1.2 * curve.x + 0.9 * curve.x**2
        )


@pytest.mark.parametrize("degree", [0, 1, 2])
def test_interval(degree):
    """The variance is that of the linear map: the fitted value moves by l_i when outcome i moves by 1."""
    p, w = np.sort(RNG.random(25)), RNG.random(25) + 0.5
    y = (RNG.random(25) < 0.2 + 0.6 * p).astype(float)
    data = Predictions(p, y, sample_weight=w)
    curve = smoothed_calibration_curve(data, degree=degree, level=0.8, span=0.9)
    g = np.interp(p, curve.x, curve.y)
    points = count_points(data)[0]
    blocks = list(Smoother.of(0.9, None, degree).blocks(points, curve.x))
    each = np.array([_kernels.smoothed(blocks, column, 101) for column in np.eye(25)])
    half = NormalDist().inv_cdf(0.9) * np.sqrt(np.sum(each**2 * (g * (1 - g))[:, None], axis=0))
    assert curve.low == pytest.approx(np.clip(curve.y - half, 0, 1), abs=1e-12)
    assert curve.high == pytest.approx(np.clip(curve.y + half, 0, 1), abs=1e-12)
    free = (curve.y > 0) & (curve.y < 1)
    assert (y @ each)[free] == pytest.approx(curve.y[free])


def test_close_scores_do_not_shake_it():
    """Scores that differ by rounding tell no slope: the degree is lowered instead of dividing by nothing."""
    p = np.array([0.0, 1e-300, 1e-16, 0.2, 0.2 + 1e-12, np.nextafter(1, 0), 1.0])
    for degree in (0, 1, 2):
        for span in (0.75, 1.0):
            y = smoothed_calibration_curve(p, [0, 1, 1, 0, 1, 1, 0], degree=degree, span=span).y
            moved = smoothed_calibration_curve(np.round(p, 9), [0, 1, 1, 0, 1, 1, 0], degree=degree, span=span).y
            assert y == pytest.approx(moved, abs=1e-6)


def test_limits():
    """No window at all, nothing within it, one row, and one class have the rates that are left."""
    assert smoothed_calibration_curve([0.2, 0.4], [0, 1], bandwidth=0).y.tolist() == [0.0] * 50 + [0.5] + [1.0] * 50
    assert smoothed_calibration_curve([0.2, 0.4], [0, 1], span=0).y.tolist() == [0.0] * 50 + [0.5] + [1.0] * 50
    one = smoothed_calibration_curve([0.7], [1])
    assert [one.x.tolist(), one.y.tolist(), one.weight.tolist()] == [[0.7], [1.0], [1.0]]
    assert not smoothed_calibration_curve(RNG.random(30), np.zeros(30, int)).y.any()


def test_the_highest_level():
    """The last level below 1 has a band that holds the usual one."""
    p, y = RNG.random(50), RNG.integers(0, 2, 50)
    curve, usual = smoothed_calibration_curve(p, y, level=1 - 2**-53), smoothed_calibration_curve(p, y)
    assert np.all((curve.low <= usual.low) & (usual.high <= curve.high))


def test_merging(monkeypatch):
    """Neighbours merged into cells move the curve by less than a hundredth of its standard error."""
    p = np.concatenate([RNG.random(5000), 10 ** RNG.uniform(-5, 0, 5000)])
    data = Predictions(p, RNG.random(10_000) < p)
    for options in ({}, {"degree": 1}, {"bandwidth": 0.4}, {"neighbours": 7500}):
        found = smoothed_calibration_curve(data, **options)
        with monkeypatch.context() as patch:
            patch.setattr(smoothed, "MAX_SMOOTHED_CELLS", 10**9)
            patch.setattr(smoothed, "CELLS_IN_A_WINDOW", 10**9)
            exact = smoothed_calibration_curve(data, **options)
        assert found.weight == pytest.approx(exact.weight)
        wide = exact.high - exact.low > 1e-3
        assert np.all(np.abs(found.y - exact.y)[wide] < (exact.high - exact.low)[wide] / 400)
        assert found.y == pytest.approx(exact.y, abs=1e-3)


def test_knots(monkeypatch):
    """Lines between a thousand knots are near the rates at the scores themselves."""
    p = np.concatenate([RNG.random(1500), 10 ** RNG.uniform(-5, 0, 1500)])
    points = count_points(Predictions(p, RNG.random(3000) < p))[0]
    many = replace(points, wy=RNG.binomial(1, points.score, (3, 3000)).astype(float))
    smoother = Smoother.of(0.75, None, 2)
    found = smoother.rates_at_scores(many)
    monkeypatch.setattr(smoothed, "MAX_SCORES_SMOOTHED_EXACTLY", 3000)
    assert found == pytest.approx(smoother.rates_at_scores(many), abs=1e-3)
    assert np.abs(found - smoother.rates_at_scores(many)).mean() < 5e-6


def test_cells():
    """Cells of a fine grid give the curve of the data."""
    data = Predictions(RNG.integers(0, 101, 500) / 100, RNG.integers(0, 2, 500))
    one, other = smoothed_calibration_curve(CellStats.of(data)), smoothed_calibration_curve(data)
    assert one.y == pytest.approx(other.y)
    assert one.settings == other.settings == {
        "span": 0.75, "bandwidth": None, "degree": 2, "neighbours": None, "notion": "binary", "level": 0.95
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"degree": 3}, "degree must be one of 0, 1, 2, got 3"),
        ({"degree": 1.0}, "degree must be one of 0, 1, 2, got 1.0"),
        ({"span": 1.5}, "span must be a number from 0 to 1, got 1.5"),
        ({"bandwidth": -0.1}, "bandwidth must be a number from 0 to inf, got -0.1"),
        ({"neighbours": 0}, "neighbours must be an integer at least 1, got 0"),
        ({"neighbours": 2.0}, "neighbours must be an integer at least 1, got 2.0"),
        ({"neighbours": 2, "bandwidth": 0.1}, "neighbours and bandwidth both set the windows: pass one of them"),
        ({"level": 1}, "level must lie strictly between 0 and 1, got 1"),
    ],
)
def test_bad_choices(options, message):
    """Choices that make no sense are refused by name."""
    with pytest.raises(InputError, match=message):
        smoothed_calibration_curve([0.1, 0.9], [0, 1], **options)
