"""The integrated calibration index against local regression in exact fractions."""

from dataclasses import replace
from functools import partial
from math import fsum

import numpy as np
import pytest

from believable import CellStats, Predictions, integrated_calibration_index
from believable.curves.smoothed import Smoother
from believable.errors import InputError
from believable.metrics.smoothed_curve import _index, over_replicates
from believable.stats.source import count_points
from tests.curves.literal_local import local_rate
from tests.metrics.literal import BINARY, MATRIX, MULTILABEL, SOFT, choices, over, pairs

RNG = np.random.default_rng(20240605)
FEW = (
    "ties",
    "ties float32",
    "constant",
    "one row",
    "fewer rows than bins",
    "0 and 1",
    "only 0 and 1",
    "ties and weights",
)
FEW_MATRIX = {name: MATRIX[name] for name in ("argmax ties", "argmax ties and weights", "two columns at 1/2", "sure")}
NEAR = {"rel": 1e-9, "abs": 1e-12}


def literal(data, view=None, **smoother):
    """sum_i w_i |g(p_i) - p_i| / W; of each group, averaged by weight."""
    smoother = {"degree": 2} | smoother
    values, weights = [], []
    for group in pairs(data, **(view or {})):
        if group:
            g = {p: local_rate(group, p, **smoother) for p in {p for p, _, _ in group}}
            weights.append(fsum(w for _, _, w in group))
            values.append(fsum(w * abs(g[p] - p) for p, _, w in group) / weights[-1])
    return fsum(w * value for w, value in zip(weights, values, strict=True)) / fsum(weights)


@over({name: BINARY[name] for name in FEW}, {"soft, ties, weights": SOFT["soft, ties, weights"]})
@choices({}, {"degree": 0, "span": 0.3}, {"degree": 1}, {"bandwidth": 0.2})
def test_definition(ask, data, bins):
    """It is the mean distance between the scores and the curve at them."""
    assert ask(integrated_calibration_index, data, **bins) == pytest.approx(literal(data, **bins), **NEAR)


@over({"in order": BINARY["in order"], "100 tied rows of weight 0.1": BINARY["100 tied rows of weight 0.1"]})
def test_parabolas(ask, data):
    """The same where scores are many, by parabolas."""
    assert ask(integrated_calibration_index, data) == pytest.approx(literal(data), **NEAR)


@over(FEW_MATRIX)
@choices({}, {"notion": "classwise"}, {"notion": "top_label"}, {"notion": "within_top_r", "r": 2}, name="view")
def test_matrix(ask, data, view):
    """Groups that are kept apart have a value each, averaged by weight."""
    assert ask(integrated_calibration_index, data, **view) == pytest.approx(literal(data, view), **NEAR)


@over({"multilabel ties": MULTILABEL["multilabel ties"]})
def test_multilabel(ask, data):
    """Independent columns have a value each."""
    assert ask(integrated_calibration_index, data) == pytest.approx(literal(data), **NEAR)


def test_cells():
    """Cells of a fine grid answer like the data, by knots too."""
    p = RNG.random(4000)
    data = Predictions(p, RNG.random(4000) < p**2)
    assert integrated_calibration_index(CellStats.of(data)) == pytest.approx(
        integrated_calibration_index(data), abs=1e-5
    )


def test_replicates():
    """Many replicates at once are what each of them is alone."""
    p = np.round(RNG.random(200), 2)
    points = count_points(Predictions(p, RNG.random(200) < p))[0]
    value = partial(_index, Smoother.of(0.75, None, 2))
    many = replace(points, wy=RNG.binomial(points.n, points.score, (10, len(points.n))).astype(float))
    found = over_replicates(value, many)
    assert found == pytest.approx(np.array([value(replace(points, wy=wy)) for wy in many.wy]))


def test_bad_choices():
    """Choices that make no sense are refused by name."""
    with pytest.raises(InputError, match="span must be a number from 0 to 1, got 2"):
        integrated_calibration_index([0.1, 0.9], [0, 1], span=2)
