"""Spline calibration, against least squares on truncated powers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from believable import CellStats, Predictions
from believable.errors import InputError, SchemaError
from believable.recalibrate import SplineCalibration, load_recalibrator, spline

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")


def natural_basis(u, knots):
    """Natural cubic splines as differences of truncated powers (Hastie, Tibshirani, Friedman, section 5.2.1)."""
    last, before = knots[-1], knots[-2]

    def d(k):
        return (np.maximum(u - k, 0) ** 3 - np.maximum(u - last, 0) ** 3) / (last - k)

    return np.column_stack([np.ones_like(u), u] + [d(k) - d(before) for k in knots[:-2]])


def cumulative(p, y, w):
    """Distinct scores, and the broken line through the cumulative differences at them."""
    scores = sorted(set(p.tolist()))
    u, c = [0.0], [0.0]
    for s in scores:
        here = p == s
        u.append(u[-1] + w[here].sum() / w.sum())
        c.append(c[-1] + (w[here] * (y[here] - s)).sum() / w.sum())
    return np.array(scores), np.array(u), np.array(c)


def literal_spline(p, y, w, n_knots=6):
    """Scores and shifts; squares are integrated by Gauss's rule with four nodes, which is exact for these."""
    scores, u, c = cumulative(p, y, w)
    knots = np.linspace(0, 1, n_knots)
    cuts = sorted({*u.tolist(), *knots.tolist()})
    nodes, weights = np.polynomial.legendre.leggauss(4)
    at = np.concatenate([(a + b) / 2 + (b - a) / 2 * nodes for a, b in pairwise(cuts)])
    root = np.sqrt(np.concatenate([(b - a) / 2 * weights for a, b in pairwise(cuts)]))
    coefficients = np.linalg.lstsq(natural_basis(at, knots) * root[:, None], np.interp(at, u, c) * root, rcond=None)[0]
    return scores, np.diff(natural_basis(u, knots) @ coefficients) / np.diff(u)


def example(n, seed=0, digits=8):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.7, 0.9, n).round(digits)
    y = (rng.random(n) < p**1.5).astype(int)
    y[:2] = 0, 1
    return p, y, rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("n_knots", [3, 6, 9])
@pytest.mark.parametrize(("n", "digits"), [(2, 8), (5, 1), (30, 8), (200, 1), (200, 8)])
def test_literal(n, digits, n_knots):
    """The shifts are the slopes of the natural spline that least squares on a basis gives."""
    p, y, w = example(n, n, digits)
    for weights in (np.ones(n), w):
        scores, shifts = literal_spline(p, y, weights, n_knots)
        learnt = SplineCalibration(n_knots=n_knots).fit(p, y, sample_weight=weights).maps_[0]
        np.testing.assert_array_equal(learnt["scores"], scores)
        np.testing.assert_allclose(learnt["shifts"], np.clip(shifts, -1, 1), atol=1e-9)


def test_sums_over_rows():
    """The authors' least squares over rows, at u = i/n, gives the same up to about 1/n."""
    p, y, _ = example(1500, 1)
    _, u, c = cumulative(p, y, np.ones(1500))
    knots = np.linspace(0, 1, 6)
    coefficients = np.linalg.lstsq(natural_basis(u[1:], knots), c[1:], rcond=None)[0]
    shifts = np.diff(natural_basis(u, knots) @ coefficients) / np.diff(u)
    learnt = SplineCalibration().fit(p, y).maps_[0]
    np.testing.assert_allclose(
        learnt["shifts"], shifts, atol=0.01
    )  # the largest is at an end, where one row weighs most
    assert np.abs(learnt["shifts"] - shifts).mean() < 1e-3


def test_apply():
    """Between scores the shift is linear, outside it is the nearest one's, and the result stays in [0, 1]."""
    model = SplineCalibration().fit(*example(40, 2)[:2])
    learnt = model.maps_[0]
    a, b = learnt["scores"][10:12]
    left, right = learnt["shifts"][10:12]
    x = a + (b - a) / 4
    assert model.transform([x])[0] == pytest.approx(x + 0.75 * left + 0.25 * right, abs=1e-12)
    top = learnt["scores"][-1]
    expected = np.clip([0 + learnt["shifts"][0], (1 + top) / 2 + learnt["shifts"][-1]], 0, 1)
    np.testing.assert_allclose(model.transform([0, (1 + top) / 2]), expected, atol=1e-12)


def test_mirrored():
    """Scores and outcomes of the other class give one minus the map."""
    p, y, w = example(300, 3, 2)
    one = SplineCalibration().fit(p, y, sample_weight=w).transform(p)
    other = SplineCalibration().fit(1 - p, 1 - y, sample_weight=w).transform(1 - p)
    np.testing.assert_allclose(other, 1 - one, atol=1e-10)


def test_few_scores():
    """One score becomes the base rate, and fewer scores than knots are no trouble."""
    np.testing.assert_allclose(SplineCalibration().fit([0.3] * 30, [0, 1, 1] * 10).transform([0.3]), 2 / 3)
    out = SplineCalibration().fit(np.repeat([0.3, 0.6], 50), [0, 1] * 50).transform([0, 0.3, 0.6, 1])
    assert np.all((out >= 0) & (out <= 1))
    np.testing.assert_allclose(
        out[1:3].mean(), 0.5, atol=0.02
    )  # a smooth curve through two heaps keeps the mean nearly


def test_heaps_at_the_ends():
    """Heaps at exactly 0 and 1 come near their rates."""
    p = np.concatenate([np.zeros(400), np.linspace(0.01, 0.99, 200), np.ones(400)])
    y = np.concatenate([np.arange(400) % 10 == 0, np.arange(200) % 200 >= 100, np.arange(400) % 10 != 0]).astype(int)
    np.testing.assert_allclose(
        SplineCalibration().fit(p, y).transform([0, 1]), [0.1, 0.9], atol=0.03
    )  # six knots bend only so sharply


def test_a_common_factor_of_weights():
    """Weights matter by their shares alone, also when one is 10^-30 of the others."""
    p, y, w = example(100, 4)
    one, two = (SplineCalibration().fit(p, y, sample_weight=f * w).transform(p) for f in (1, 1e-5))
    np.testing.assert_allclose(one, two, atol=1e-12)
    w[50] = 1e-30
    rest = np.arange(100) != 50
    out = SplineCalibration().fit(p, y, sample_weight=w).transform(p)
    assert np.isfinite(out).all()
    without = SplineCalibration().fit(p[rest], y[rest], sample_weight=w[rest]).transform(p)
    np.testing.assert_allclose(out[rest], without[rest], atol=1e-9)


def test_merged_scores(monkeypatch):
    """Merging more than 2,000 scores moves the map by far less than its standard error, and keeps the file small."""
    p, y, _ = example(20_000, 5, 12)
    merged = SplineCalibration().fit(p, y)
    assert len(merged.maps_[0]["scores"]) <= 2000
    monkeypatch.setattr(spline, "MOST_POINTS", 10**9)
    exact = SplineCalibration().fit(p, y)
    assert len(exact.maps_[0]["scores"]) > 19_000
    gap = np.abs(merged.transform(p) - exact.transform(p))
    assert gap.max() < 1e-3
    assert gap.mean() < 1e-4


@pytest.mark.parametrize("spacing", ["uniform", "logit"])
@pytest.mark.parametrize(("shift", "scale", "tolerance"), [(0, 2, 1e-3), (-6, 1.5, 1e-4)])
def test_cells(spacing, shift, scale, tolerance):
    """Cells give what rows give: to 1e-3 for spread scores, to 1e-4 for those of rare events."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=10_000) * scale + shift
    y = rng.random(10_000) < 1 / (1 + np.exp(-z - 0.7 * np.sin(2 * z)))
    p = 1 / (1 + np.exp(-z))
    cells = CellStats.of(Predictions(p, y), spacing=spacing)
    out = SplineCalibration().fit_from_cells(cells).transform(p)
    np.testing.assert_allclose(out, SplineCalibration().fit(p, y).transform(p), atol=tolerance)


def test_settings():
    """Numbers of knots that make no spline, and scores that are no probabilities, are sentences."""
    for n_knots in (2, 101, 6.0):
        with pytest.raises(InputError, match="n_knots must be an integer from 3 to 100"):
            SplineCalibration(n_knots=n_knots).fit([0.1, 0.2], [0, 1])
    with pytest.raises(InputError, match="SplineCalibration takes input='probabilities' or 'logits', not scores"):
        SplineCalibration(input="scores").fit([0.1, 0.2], [0, 1])


def test_damaged_map():
    """Every score needs its shift."""
    model = SplineCalibration().fit([0.3] * 30, [0, 1, 1] * 10)
    with pytest.raises(SchemaError, match="the saved scores and shifts must have the same length"):
        load_recalibrator(model.to_json().replace('"scores": [0.3]', '"scores": [0.3, 0.4]'))
