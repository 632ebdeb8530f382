"""Logit-spline calibration against the bounded optimum of its literal cost."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.optimize import minimize

from believable import CellStats, Predictions
from believable.errors import InputError, SchemaError
from believable.recalibrate import LogitSplineCalibration, PlattScaling, QuadraticScaling, load_recalibrator
from tests.recalibrate.data import binary, logit
from tests.recalibrate.test_quadratic import bent, mixed_logit

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")

STRENGTHS = (1000, 100, 30, 10, 3, 1, 0.3, 0.1)


def integrals(z, knots):
    """The integral from 0 to z of the slope that is 1 at one knot and 0 at the others, for each knot."""

    def rise(x, k):
        """The integral from the first knot, summed over the pieces passed; the slope is constant beyond the knots."""
        total = min(x - knots[0], 0) * (k == 0) + max(x - knots[-1], 0) * (k == len(knots) - 1)
        for j in range(len(knots) - 1):
            left, right = knots[j], min(max(x, knots[j]), knots[j + 1])
            slope = [np.interp(at, knots, np.arange(len(knots)) == k) for at in (left, right)]
            total += (right - left) * (slope[0] + slope[1]) / 2
        return total

    return np.array([[rise(x, k) - rise(0, k) for k in range(len(knots))] for x in z])


def literal(p, y, n_knots, smoothing, penalty=1.0, w=None):
    """The least cost of the definition, and the map there."""
    w = np.ones(len(p)) if w is None else w
    n = max(w.sum(), len(w))
    z = mixed_logit(p, n)
    knots = np.linspace(z.min(), z.max(), n_knots)
    columns = integrals(z, knots)
    width = knots[1] - knots[0]

    def cost(c):
        eta = c[0] + columns @ c[1:]
        rough = np.ptp(knots) * sum(width * (step / width) ** 2 for step in np.diff(c[1:]))
        prior = 2 * penalty * (c[0] ** 2 + 2 / n_knots * np.sum((c[1:] - 1) ** 2))
        return w @ (y * np.logaddexp(0, -eta) + (1 - y) * np.logaddexp(0, eta)) + prior + smoothing * rough

    start = np.append(0.0, np.ones(n_knots))
    bounds = [(None, None), *[(0, None)] * n_knots]
    for _ in range(4):  # from where it stopped
        best = minimize(cost, start, method="L-BFGS-B", bounds=bounds, options={"ftol": 0, "gtol": 1e-10})
        start = best.x
    return best.fun, lambda new: 1 / (1 + np.exp(-best.x[0] - integrals(mixed_logit(new, n), knots) @ best.x[1:]))


@pytest.mark.parametrize(("n_knots", "smoothing"), [(2, 0), (4, 0.3), (8, 1), (8, 30)])
@pytest.mark.parametrize("weight", [None, 1.5, 3])
def test_literal_cost(n_knots, smoothing, weight):
    """The slopes at the knots are where the cost is least."""
    p, y = (part.copy() for part in binary())
    p[:4] = [0, 1, 0, 1]
    w = None if weight is None else weight * np.random.default_rng(5).random(len(y))
    model = LogitSplineCalibration(n_knots=n_knots, smoothing=smoothing).fit(p, y, sample_weight=w)
    _, expected = literal(p, y, n_knots, smoothing, w=w)
    new = np.concatenate([p[:100], [0, 1e-15, 1e-3, 1 - 1e-3, 1]])
    np.testing.assert_allclose(model.transform(new), expected(new), atol=2e-5)  # a general minimiser's accuracy


@pytest.mark.parametrize("shape", ["falling", "hill", "valley"])
def test_constrained_minimum(shape):
    """Where the spline would fall, slopes are 0, and the map is that of the constrained minimum."""
    p, y = bent(shape)
    model = LogitSplineCalibration(smoothing=0.3, n_knots=5).fit(p, y)
    _, expected = literal(p, y, 5, 0.3)
    np.testing.assert_allclose(model.transform(p), expected(p), atol=2e-5)
    assert model.maps_[0]["slopes"].min() == 0
    assert np.diff(LogitSplineCalibration().fit(p, y).transform(np.linspace(0, 1, 501))).min() >= -1e-15


def test_two_knots_are_quadratic_scaling():
    """With two knots and no smoothing the slope is linear throughout."""
    p, y = binary()
    spline = LogitSplineCalibration(n_knots=2, smoothing=0).fit(p, y)
    new = np.linspace(0, 1, 101)
    np.testing.assert_allclose(spline.transform(new), QuadraticScaling().fit(p, y).transform(new), atol=1e-12)


def test_smoothing_is_chosen_by_leaving_rows_out():
    """The strength is the one with the least log loss of left-out rows, which one fit gives to first order."""
    rng = np.random.default_rng(1)
    z = rng.normal(size=60) * 2
    y = (rng.random(60) < 1 / (1 + np.exp(-3 * np.tanh(z)))).astype(int)
    p = 1 / (1 + np.exp(-z))
    n, mixed = len(y), mixed_logit(p, len(y))
    knots = np.linspace(mixed.min(), mixed.max(), 4)
    columns = np.column_stack([integrals(mixed, knots), np.ones(n)])

    def fitted(rows, strength):
        """The free minimum, by Newton's method; no slope is negative here."""
        steps = np.diff(np.eye(4), axis=0)
        ridge = np.diag([1.0] * 4 + [2.0])
        ridge[:4, :4] += strength * 3 * steps.T @ steps
        c = np.array([1.0, 1, 1, 1, 0])
        for _ in range(50):
            s = 1 / (1 + np.exp(-columns[rows] @ c))
            gradient = columns[rows].T @ (s - y[rows]) + 2 * ridge @ (c - [1, 1, 1, 1, 0])
            c = c - np.linalg.solve((columns[rows].T * (s * (1 - s))) @ columns[rows] + 2 * ridge, gradient)
        assert c[:4].min() > 0
        return c

    costs = []
    for strength in STRENGTHS:
        eta = [columns[i] @ fitted(np.arange(n) != i, strength) for i in range(n)]
        costs.append(np.mean(np.logaddexp(0, eta) - y * np.array(eta)))
    chosen = LogitSplineCalibration(n_knots=4).fit(p, y).maps_[0]
    same = [
        np.allclose(LogitSplineCalibration(n_knots=4, smoothing=s).fit(p, y).maps_[0]["slopes"], chosen["slopes"])
        for s in STRENGTHS
    ]
    assert costs[same.index(True)] == pytest.approx(min(costs), abs=1e-4)
    assert max(costs) > min(costs) + 1e-3


def test_repeated_rows_choose_the_same_smoothing():
    """A row that occurs twice is left out once, whether it is written twice or has weight 2."""
    p, y = binary()
    one = LogitSplineCalibration().fit(np.repeat(p, 2), np.repeat(y, 2))
    two = LogitSplineCalibration().fit(p, y, sample_weight=np.full(len(y), 2))
    np.testing.assert_allclose(one.maps_[0]["slopes"], two.maps_[0]["slopes"], atol=1e-9)


def test_the_map_is_the_integral_of_its_slope():
    """Saved values are those of a curve whose slope is interpolated, and linear beyond the knots."""
    p, y = binary()
    model = LogitSplineCalibration(smoothing=0.1).fit(p, y)
    (m,) = model.maps_
    new = np.array([1e-9, 0.01, 0.2, 0.5, 0.77, 0.99, 1 - 1e-9])
    z = mixed_logit(new, len(y))
    fine = np.linspace(m["knots"][0], z, 100_001)
    slope = np.interp(fine, m["knots"], m["slopes"])
    expected = m["values"][0] + (np.diff(fine, axis=0) * (slope[1:] + slope[:-1]) / 2).sum(axis=0)
    np.testing.assert_allclose(logit(model.transform(new)), expected, atol=1e-6)
    np.testing.assert_allclose(np.diff(m["values"]), np.diff(m["knots"]) * (m["slopes"][1:] + m["slopes"][:-1]) / 2)


@pytest.mark.parametrize("weight", [1e6, 1e100])
def test_heavy_weights(weight):
    """Where the weights are so large that the penalty is lost to rounding, there still is a map that rises."""
    p = np.linspace(0, 1, 200)
    for y in (p > 0.5, np.arange(200) % 3 == 0):
        out = LogitSplineCalibration().fit(p, y, sample_weight=np.full(200, weight)).transform(p)
        assert np.isfinite(out).all()
        assert np.diff(out).min() >= -1e-15


def test_never_certain():
    """Scores inside (0, 1) stay inside, also where a threshold separates the classes, and so do 0 and 1."""
    z = np.linspace(-8, 8, 1000)
    model = LogitSplineCalibration(input="logits").fit(z, z > 0.1)
    out = model.predict_proba(np.array([-800.0, -30, 0, 30, 800]))
    assert out.min() > 0
    assert out.max() < 1


def test_bends_are_found():
    """Log-odds that level off at both ends are followed closely, where Platt scaling cannot."""
    rng = np.random.default_rng(0)
    z = 3 * rng.normal(size=5000)
    true = 1 / (1 + np.exp(-2 * np.tanh(z)))
    y = rng.random(5000) < true

    def lost(cls):
        p = cls(input="logits").fit(z, y).transform(z)
        return np.mean(true * np.log(true / p) + (1 - true) * np.log((1 - true) / (1 - p)))

    assert lost(LogitSplineCalibration) < 0.002 < lost(PlattScaling) / 5


def test_cells():
    """Cells give what rows give."""
    p, y = binary(2000)
    cells = LogitSplineCalibration().fit_from_cells(CellStats.of(Predictions(p, y)))
    np.testing.assert_allclose(cells.transform(p), LogitSplineCalibration().fit(p, y).transform(p), atol=1e-4)


def test_bad_settings_and_maps():
    """Too few knots, a negative smoothing and fields of different lengths are sentences."""
    p, y = binary()
    with pytest.raises(InputError, match="n_knots must be"):
        LogitSplineCalibration(n_knots=1).fit(p, y)
    with pytest.raises(InputError, match="smoothing, unless it is 'auto', must be a number from 0 to inf"):
        LogitSplineCalibration(smoothing="some").fit(p, y)
    with pytest.raises(InputError, match="penalty must be a number from 1e-06 to inf"):
        LogitSplineCalibration(penalty=0).fit(p, y)
    saved = json.loads(LogitSplineCalibration().fit(p, y).to_json())
    saved["maps"][0]["slopes"].pop()
    with pytest.raises(SchemaError, match="the saved knots, values and slopes must have the same length"):
        load_recalibrator(json.dumps(saved))


def test_damaged_maps():
    """A saved map whose values do not follow from its slopes is refused."""
    p, y = binary()
    saved = json.loads(LogitSplineCalibration().fit(p, y).to_json())
    for knots, values, slopes in (([0, 5e-324], [0, 1], [0, 1e100]), ([-1, 1], [0, 0.1], [50, 50])):
        saved["maps"][0].update(knots=knots, values=values, slopes=slopes)
        with pytest.raises(SchemaError, match="as the slopes say"):
            load_recalibrator(json.dumps(saved))
