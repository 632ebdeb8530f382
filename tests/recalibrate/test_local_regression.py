"""Local regression as a map, against local polynomials in exact fractions."""

from __future__ import annotations

import numpy as np
import pytest

from believable import CellStats, Predictions, smoothed_calibration_curve
from believable.errors import InputError, SchemaError
from believable.recalibrate import LocalRegressionCalibration, load_recalibrator
from tests.curves.literal_local import local_rate

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")


def example(n, seed=0, digits=8):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.7, 0.9, n).round(digits)
    y = (rng.random(n) < p**1.5).astype(int)
    y[:2] = 0, 1
    return p, y, rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize(
    "settings", [{}, {"span": 0.4}, {"bandwidth": 0.2}, {"degree": 0}, {"degree": 2}, {"span": 0.5, "degree": 2}]
)
@pytest.mark.parametrize(("n", "digits"), [(2, 8), (12, 1), (40, 8)])
def test_literal(n, digits, settings):
    """At the scores seen, the map is the textbook's fitted value."""
    p, y, w = example(n, n, digits)
    for weights in (np.ones(n), w):
        group = list(zip(p.tolist(), y.tolist(), weights.tolist(), strict=True))
        expected = [local_rate(group, x, **{"degree": 1} | settings) for x in p.tolist()]
        model = LocalRegressionCalibration(**settings).fit(p, y, sample_weight=weights)
        np.testing.assert_allclose(model.transform(p), expected, atol=1e-9)


def test_apply():
    """Between knots the map is a line, outside of them constant."""
    model = LocalRegressionCalibration().fit(*example(40, 2)[:2])
    learnt = model.maps_[0]
    a, b = learnt["scores"][10:12]
    left, right = learnt["values"][10:12]
    assert model.transform([a + (b - a) / 4])[0] == pytest.approx(0.75 * left + 0.25 * right, abs=1e-12)
    np.testing.assert_allclose(model.transform([0, 1]), learnt["values"][[0, -1]], atol=1e-15)


def test_is_the_curve():
    """With many scores, few of them are knots, and the map is the smoothed calibration curve of its degree all the same."""
    p, y, _ = example(30_000, 1, 12)
    curve = smoothed_calibration_curve(p, y, degree=1)
    model = LocalRegressionCalibration().fit(p, y)
    assert len(model.maps_[0]["scores"]) <= 2000
    np.testing.assert_allclose(model.transform(curve.x), curve.y, atol=1e-5)


def test_few_scores():
    """One score becomes the base rate, and two that are far apart their own rates."""
    np.testing.assert_allclose(LocalRegressionCalibration().fit([0.3] * 30, [0, 1, 1] * 10).transform([0, 0.3]), 2 / 3)
    y = [0, 0, 1] * 10 + [0, 1, 1] * 10
    model = LocalRegressionCalibration(span=0.5).fit(np.repeat([0.3, 0.6], 30), y)
    np.testing.assert_allclose(model.transform([0.3, 0.45, 0.6]), [1 / 3, 1 / 2, 2 / 3], atol=1e-12)


def test_heaps_at_the_ends():
    """Heaps at exactly 0 and 1 that fill a window become their rates."""
    p = np.concatenate([np.zeros(400), np.linspace(0.01, 0.99, 50), np.ones(400)])
    y = np.concatenate([np.arange(400) % 10 == 0, np.arange(50) >= 25, np.arange(400) % 10 != 0]).astype(int)
    np.testing.assert_allclose(LocalRegressionCalibration(span=0.4).fit(p, y).transform([0, 1]), [0.1, 0.9], atol=1e-9)


def test_order_is_not_kept():
    """Where the rate goes down, so does the map."""
    p = np.linspace(0, 1, 400)
    y = (np.random.default_rng(0).random(400) < 1 - p).astype(int)
    low, high = LocalRegressionCalibration().fit(p, y).transform([0.1, 0.9])
    assert low > 0.8 > 0.2 > high


def test_a_common_factor_of_weights():
    """Weights matter by their shares alone."""
    p, y, w = example(100, 4)
    one, two = (LocalRegressionCalibration().fit(p, y, sample_weight=f * w).transform(p) for f in (1, 1e-5))
    np.testing.assert_allclose(one, two, atol=1e-10)


@pytest.mark.parametrize("spacing", ["uniform", "logit"])
@pytest.mark.parametrize(("shift", "scale"), [(0, 2), (-6, 1.5)])
def test_cells(spacing, shift, scale):
    """Cells give what rows give to 1e-4, for spread scores and for those of rare events."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=10_000) * scale + shift
    y = rng.random(10_000) < 1 / (1 + np.exp(-z - 0.7 * np.sin(2 * z)))
    p = 1 / (1 + np.exp(-z))
    cells = CellStats.of(Predictions(p, y), spacing=spacing)
    out = LocalRegressionCalibration().fit_from_cells(cells).transform(p)
    np.testing.assert_allclose(out, LocalRegressionCalibration().fit(p, y).transform(p), atol=1e-4)


def test_settings():
    """Spans, bandwidths and degrees that make no sense are sentences."""
    for wrong, sentence in (
        ({"span": 1.5}, "span must be a number from 0 to 1, got 1.5"),
        ({"bandwidth": -1}, "bandwidth must be a number from 0 to inf, got -1"),
        ({"degree": 3}, "degree must be one of 0, 1, 2, got 3"),
        ({"input": "scores"}, "LocalRegressionCalibration takes input='probabilities' or 'logits', not scores"),
    ):
        with pytest.raises(InputError, match=sentence):
            LocalRegressionCalibration(**wrong).fit([0.1, 0.2], [0, 1])


def test_damaged_map():
    """Every score needs its value."""
    model = LocalRegressionCalibration().fit([0.3] * 30, [0, 1, 1] * 10)
    with pytest.raises(SchemaError, match="the saved scores and values must have the same length"):
        load_recalibrator(model.to_json().replace('"scores": [0.3]', '"scores": [0.3, 0.4]'))
