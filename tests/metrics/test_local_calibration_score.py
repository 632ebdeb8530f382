"""The local calibration score against local regression in exact fractions."""

from dataclasses import replace
from functools import partial
from math import fsum

import numpy as np
import pytest

from believable import Predictions, local_calibration_score, smoothed_calibration_curve
from believable.curves.smoothed import Smoother
from believable.errors import InputError
from believable.metrics.smoothed_curve import _score, over_replicates
from believable.stats.source import count_points
from tests.curves.literal_local import local_rate, places, shares_near
from tests.metrics.literal import BINARY, MATRIX, MULTILABEL, SOFT, choices, over, pairs

RNG = np.random.default_rng(20240604)
FEW = (
    "ties",
    "ties float32",
    "constant",
    "one row",
    "fewer rows than bins",
    "0 and 1",
    "only 0 and 1",
    "whole weights",
)
FEW_MATRIX = {name: MATRIX[name] for name in ("argmax ties", "argmax ties and weights", "two columns at 1/2", "sure")}
NEAR = {"rel": 1e-9, "abs": 1e-12}


def literal(data, view=None, **smoother):
    """sum_i v_i (g(l_i) - l_i)^2 over the places that have weight; of each group, averaged by weight."""
    values, weights = [], []
    for group in pairs(data, **(view or {})):
        if group:
            at = places(group)
            shares = zip(at, shares_near(group, at), strict=True)
            values.append(fsum(v * (local_rate(group, x, **smoother) - x) ** 2 for x, v in shares if v > 0))
            weights.append(fsum(w for _, _, w in group))
    return fsum(w * value for w, value in zip(weights, values, strict=True)) / fsum(weights)


@over({name: BINARY[name] for name in FEW}, {"soft, ties, weights": SOFT["soft, ties, weights"]})
@choices({}, {"degree": 0, "span": 0.3}, {"degree": 1}, {"bandwidth": 0.2})
def test_definition(ask, data, bins):
    """It is the squared distance of the curve from the diagonal, where the scores are."""
    assert ask(local_calibration_score, data, **bins) == pytest.approx(literal(data, **bins), **NEAR)


@over(FEW_MATRIX)
@choices({}, {"notion": "classwise"}, {"notion": "top_label"}, {"notion": "top_r", "r": 2}, name="view")
def test_matrix(ask, data, view):
    """Groups that are kept apart have a value each, averaged by weight."""
    assert ask(local_calibration_score, data, **view) == pytest.approx(literal(data, view), **NEAR)


@over({"multilabel ties": MULTILABEL["multilabel ties"]})
def test_multilabel(ask, data):
    """Independent columns have a value each."""
    assert ask(local_calibration_score, data) == pytest.approx(literal(data), **NEAR)


def test_it_is_read_off_the_curve():
    """The curve and its weights say the same."""
    p = RNG.random(400)
    data = Predictions(p, RNG.random(400) < p**2)
    curve = smoothed_calibration_curve(data, span=0.5)
    expected = np.sum(curve.weight * (curve.y - curve.x) ** 2) / 400
    assert local_calibration_score(data, span=0.5) == pytest.approx(expected, rel=1e-12)


def test_halves_go_to_the_lower_place():
    """A score between two places counts for the lower, but for rounding."""
    scores = np.array([0.0, 0.005, 0.015, 0.145, 0.995, 1.0])
    for kind in (np.float64, np.float32):
        weight = smoothed_calibration_curve(scores.astype(kind), [0, 1, 0, 1, 0, 1]).weight
        assert np.flatnonzero(weight).tolist() == [0, 1, 14, 99, 100]
        assert weight[0] == 2


def test_replicates():
    """Many replicates at once are what each of them is alone, whether their weights differ or not."""
    p = np.round(RNG.random(200), 2)
    points = count_points(Predictions(p, RNG.random(200) < p))[0]
    value = partial(_score, Smoother.of(0.75, None, 1))
    wy = RNG.binomial(points.n, points.score, (2, 5, len(points.n))).astype(float)
    w = RNG.poisson(points.n, wy.shape).astype(float)
    for many in (replace(points, wy=wy), replace(points, wy=np.minimum(w, wy), w=w, w2=w, w2y=np.minimum(w, wy))):
        found = over_replicates(value, many)
        assert found.shape == (2, 5)
        for i in np.ndindex(2, 5):
            kept = np.broadcast_to(many.w, wy.shape)[i] > 0
            one = {
                name: np.broadcast_to(getattr(many, name), wy.shape)[i][kept] for name in ("n", "w", "wy", "w2", "w2y")
            }
            assert found[i] == pytest.approx(float(value(replace(points, score=points.score[kept], **one))))


def test_neighbours(ask):
    """A number of nearest rows in place of a share of the weight."""
    for name in ("ties", "one row", "fewer rows than bins"):
        for k in (1, 7, 1000):
            expected = literal(BINARY[name], neighbours=k)
            assert ask(local_calibration_score, BINARY[name], neighbours=k) == pytest.approx(expected, **NEAR)
    with pytest.raises(InputError, match="neighbours counts rows, but these have weights: use span"):
        ask(local_calibration_score, BINARY["ties and weights"], neighbours=7)


def test_bad_choices():
    """Choices that make no sense are refused by name."""
    with pytest.raises(InputError, match="degree must be one of 0, 1, 2, got 4"):
        local_calibration_score([0.1, 0.9], [0, 1], degree=4)
