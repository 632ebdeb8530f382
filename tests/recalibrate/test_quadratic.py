"""Quadratic scaling against the bounded optimum of its literal cost."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from believable import CellStats, Predictions
from believable.errors import InputError, SchemaError
from believable.recalibrate import PlattScaling, QuadraticScaling, load_recalibrator
from tests.recalibrate.data import binary, logit, multiclass

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")


def mixed_logit(p, n):
    """The logit of p, of which one part in n + 1 was replaced by 1/2."""
    mixed = n / (n + 1) * p + 1 / (n + 1) / 2
    return np.log(mixed / (1 - mixed))


def curve(z, at_zero, first, last, low, high):
    """A parabola with these slopes at low and high, its tangents beyond, and this value at 0."""
    bend = (last - first) / (high - low)

    def rise(x):
        """The integral of the slope from low to x."""
        if x < low:
            return first * (x - low)
        if x > high:
            return rise(high) + last * (x - high)
        return first * (x - low) + bend * (x - low) ** 2 / 2

    return np.array([at_zero + rise(x) - rise(0) for x in z])


def ends_of(z):
    return (z.min(), z.max()) if np.ptp(z) >= 1 else ((z.min() + z.max() - 1) / 2, (z.min() + z.max() + 1) / 2)


def literal(p, y, penalty=1.0, w=None):
    """The least cost of the definition, and the map there."""
    w = np.ones(len(p)) if w is None else w
    n = max(w.sum(), len(w))
    z = mixed_logit(p, n)
    low, high = ends_of(z)

    def cost(c):
        eta = curve(z, *c, low, high)
        prior = c[0] ** 2 + (c[1] - 1) ** 2 + (c[2] - 1) ** 2
        return w @ (y * np.logaddexp(0, -eta) + (1 - y) * np.logaddexp(0, eta)) + 2 * penalty * prior

    best, start = None, np.array([0.0, 1.0, 1.0])
    for _ in range(3):  # from where it stopped
        best = minimize(
            cost,
            start,
            method="L-BFGS-B",
            bounds=[(None, None), (0, None), (0, None)],
            options={"ftol": 0, "gtol": 1e-10},
        )
        start = best.x
    return best.fun, lambda new: 1 / (1 + np.exp(-curve(mixed_logit(new, n), *best.x, low, high))), best.x, cost


def found(model):
    """f(0) and the slopes at the ends, from a fitted map."""
    (m,) = model.maps_
    slopes = [m["b"] + 2 * m["c"] * end for end in (m["low"], m["high"])]
    inside = np.clip(0, m["low"], m["high"])
    value = m["a"] + m["b"] * inside + m["c"] * inside**2
    return [value - (m["b"] + 2 * m["c"] * inside) * inside, *slopes]


@pytest.mark.parametrize("weight", [None, 1.5, 3])
@pytest.mark.parametrize("penalty", [0.1, 1])
def test_literal_cost(penalty, weight):
    """The parabola is where the cost is least, and scores of 0 and 1 count at the ends."""
    p, y = (part.copy() for part in binary())
    p[:4] = [0, 1, 0, 1]
    w = None if weight is None else weight * np.random.default_rng(5).random(len(y))
    model = QuadraticScaling(penalty=penalty).fit(p, y, sample_weight=w)
    value, expected, _, cost = literal(p, y, penalty, w)
    new = np.concatenate([p, [0, 1e-15, 1e-3, 1 - 1e-3, 1]])
    np.testing.assert_allclose(model.transform(new), expected(new), atol=2e-6)
    assert cost(np.array(found(model))) <= value + 1e-9


def bent(shape, n=400, seed=0):
    """Scores and outcomes whose free parabola turns round among the scores."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.98, n)
    rate = {
        "falling": 0.9 - 0.8 * p,
        "hill": 0.05 + 0.9 * np.exp(-8 * (p - 0.6) ** 2),
        "valley": 0.9 - 0.85 * np.exp(-8 * (p - 0.4) ** 2),
    }[shape]
    return p, (rng.random(n) < rate).astype(int)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", ["falling", "hill", "valley"])
def test_constrained_minimum(shape, seed):
    """Where the parabola would turn round, one slope or both are 0, and no allowed map costs less."""
    p, y = bent(shape, seed=seed)
    model = QuadraticScaling().fit(p, y)
    value, expected, _, cost = literal(p, y)
    at_zero, first, last = found(model)
    assert min(abs(first), abs(last)) < 1e-12
    assert cost(np.array([at_zero, first, last])) <= value + 1e-9
    np.testing.assert_allclose(model.transform(p), expected(p), atol=2e-6)
    assert np.diff(model.transform(np.linspace(0, 1, 501))).min() >= -1e-15
    if shape == "falling":
        np.testing.assert_allclose(model.transform(p), y.mean(), atol=0.01)


@pytest.mark.parametrize("shape", ["hill", "valley"])
def test_beyond_the_scores_it_continues_along_tangents(shape):
    """Beyond the scores fitted the log-odds are linear in z, with the slope that they had at the end."""
    p, y = bent(shape)
    inside = (p > 0.3) & (p < 0.7)
    model = QuadraticScaling().fit(p[inside], y[inside])
    n = inside.sum()
    (m,) = model.maps_
    for new, end in ((np.linspace(0.01, 0.25, 20), m["low"]), (np.linspace(0.75, 0.99, 20), m["high"])):
        slope = m["b"] + 2 * m["c"] * end
        odds = logit(model.transform(new))
        z = mixed_logit(new, n)
        np.testing.assert_allclose(np.diff(odds), slope * np.diff(z), atol=1e-9)


def test_many_rows_are_a_logistic_regression():
    """With many rows and a parabola that rises, it is logistic regression on z and z^2."""
    rng = np.random.default_rng(0)
    z = rng.uniform(-3, 3, 50_000)
    y = (rng.random(50_000) < 1 / (1 + np.exp(-0.3 - 0.8 * z - 0.1 * z**2))).astype(int)
    columns = np.column_stack([z, z**2])
    peer = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(columns, y)
    model = QuadraticScaling(input="logits").fit(z, y)
    assert (model.a_, model.b_, model.c_) == pytest.approx((peer.intercept_[0], *peer.coef_[0]), abs=0.002)
    np.testing.assert_allclose(model.transform(z), peer.predict_proba(columns)[:, 1], atol=1e-3)


def test_merged_scores_give_nearly_the_same_map():
    """More than 2,000 distinct scores are merged, which moves the map by far less than its standard error."""
    p, y = binary(4000)
    model = QuadraticScaling().fit(p, y)
    _, expected, _, _ = literal(p, y)
    np.testing.assert_allclose(model.transform(p), expected(p), atol=5e-5)


def test_few_rows_stay_near_the_identity():
    """Two rows hardly move the scores; a huge penalty moves them by the mixing alone."""
    model = QuadraticScaling().fit([0.2, 0.7], [1, 0])
    p = np.array([0.1, 0.5, 0.9])
    mixed = 1 / (1 + np.exp(-mixed_logit(p, 2)))
    assert np.abs(model.transform(p) - mixed).max() < 0.15
    p, y = binary()
    model = QuadraticScaling(penalty=1e9).fit(p, y)
    np.testing.assert_allclose(model.transform(p), 300 / 301 * p + 1 / 602, atol=1e-6)


def test_separated_classes_need_no_limit():
    """Where a threshold separates the classes there is a map, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*mostly noise")
        for p in ([0.1, 0.2, 0.3, 0.8, 0.9], [0.0, 0.0, 0.5, 1.0, 1.0], [0.5, 0.5, 0.5, 0.5, 0.5 + 1e-12]):
            out = QuadraticScaling().fit(p, [0, 0, 0, 1, 1]).transform([0.0, 0.25, 0.5, 0.85, 1.0])
            assert 0 < out.min() <= out.max() < 1
            assert np.diff(out).min() > 0


def test_calibrated_scores_lose_little():
    """Fitted to 200 rows, calibrated scores lose less than with Platt scaling, which has a parameter fewer."""
    lost = {QuadraticScaling: [], PlattScaling: []}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        z = 1.5 * rng.normal(size=200)
        y = rng.random(200) < 1 / (1 + np.exp(-z))
        p = 1 / (1 + np.exp(-1.5 * rng.normal(size=1000)))
        for cls, costs in lost.items():
            out = cls(input="logits").fit(z, y).transform(logit(p))
            costs.append(np.mean(p * np.log(p / out) + (1 - p) * np.log((1 - p) / (1 - out))))
    assert np.mean(lost[QuadraticScaling]) < min(0.005, np.mean(lost[PlattScaling]))


def test_cells_and_summed_weights():
    """Cells give what rows give; weights that sum to less shrink more, but never towards 1/2."""
    p, y = binary(2000)
    rows = QuadraticScaling().fit(p, y)
    cells = QuadraticScaling().fit_from_cells(CellStats.of(Predictions(p, y)))
    np.testing.assert_allclose(cells.transform(p), rows.transform(p), atol=1e-4)
    light = QuadraticScaling().fit(p, y, sample_weight=np.full(2000, 1e-3))
    assert np.abs(light.b_ - 1) < np.abs(rows.b_ - 1)
    np.testing.assert_allclose(
        QuadraticScaling().fit(p, y, sample_weight=np.full(2000, 1e-9)).transform(p), p, atol=3e-4
    )


def test_classes_one_against_the_rest():
    """Each class has the map of its column, and rows are divided by their sums."""
    p, labels = multiclass()
    model = QuadraticScaling().fit(p, labels)
    columns = np.column_stack([QuadraticScaling().fit(p[:, k], labels == k).transform(p[:, k]) for k in range(4)])
    np.testing.assert_allclose(model.transform(p), columns / columns.sum(axis=1, keepdims=True), atol=1e-9)
    assert model.a_.shape == model.b_.shape == model.c_.shape == (4,)


def test_bad_settings_and_maps():
    """A penalty of 0 and ends in the wrong order are sentences."""
    p, y = binary()
    with pytest.raises(InputError, match="penalty must be a number from 1e-06 to inf, got 0"):
        QuadraticScaling(penalty=0).fit(p, y)
    saved = json.loads(QuadraticScaling().fit(p, y).to_json())
    saved["maps"][0]["low"] = 100.0
    with pytest.raises(SchemaError, match="the saved low must not exceed high"):
        load_recalibrator(json.dumps(saved))


def test_damaged_maps():
    """A saved map that would decrease is refused."""
    p, y = binary()
    saved = json.loads(QuadraticScaling().fit(p, y).to_json())
    saved["maps"][0]["b"] = -5.0
    with pytest.raises(SchemaError, match="must not let the map decrease"):
        load_recalibrator(json.dumps(saved))
