"""Beta-CDF calibration against an integral and the optimum of the literal likelihood."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import betainc

from believable._kernels import incomplete_beta
from believable.errors import InputError, LimitWarning
from believable.recalibrate import BetaCDFCalibration
from tests.recalibrate.data import binary, logit, multiclass

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")


def cost(logs, p, y, w):
    a, b = np.exp(logs)
    return -(w @ (y * np.log(betainc(a, b, p)) + (1 - y) * np.log(betainc(b, a, 1 - p)))) / w.sum()


def literal(p, y, w=None):
    """a and b of the smallest textbook cost, and that cost."""
    w = np.ones(len(p)) if w is None else w
    options = {"xatol": 1e-10, "fatol": 1e-16, "maxiter": 2000}
    best = minimize(cost, [0.0, 0.0], (p, y, w), "Nelder-Mead", options=options)
    best = minimize(cost, best.x, (p, y, w), "Nelder-Mead", options=options)
    return np.exp(best.x), best.fun


def fitted(a, b):
    """A map with these parameters, applied without fitting them."""
    model = BetaCDFCalibration().fit(*binary())
    model.maps_ = ({"a": a, "b": b},)
    return model


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.5, 2.0), (3.0, 0.7), (4.0, 6.0), (0.05, 0.05)])
def test_the_map_is_an_integral(a, b):
    """I_p(a, b) is the integral of t^(a-1) (1-t)^(b-1) to p, over the whole."""
    model = fitted(a, b)

    def whole(end, power, other):
        """The integral from 0 to `end` <= 1/2, with s = t^power, which takes the singularity away."""
        width = end**power
        return width * quad(lambda s: (1 - (s * width) ** (1 / power)) ** (other - 1) / power, 0, 1)[0]

    left, right = whole(0.5, a, b), whole(0.5, b, a)
    for p in (0.01, 0.3, 0.5, 0.8, 0.999):
        value = whole(p, a, b) if p <= 0.5 else left + right - whole(1 - p, b, a)
        assert model.transform([p])[0] == pytest.approx(value / (left + right), rel=1e-7)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_literal_likelihood(seed, weighted):
    """a and b maximise the likelihood."""
    p, y = binary(seed=seed)
    w = np.random.default_rng(5).random(len(y)) + 0.1 if weighted else np.ones(len(y))
    model = BetaCDFCalibration().fit(p, y, sample_weight=w if weighted else None)
    (a, b), value = literal(p, y, w)
    np.testing.assert_allclose(model.transform(p), betainc(a, b, p), atol=1e-7)
    assert cost(np.log([model.a_, model.b_]), p, y, w) <= value + 1e-15


@pytest.mark.slow
@pytest.mark.parametrize(
    ("a", "b", "location", "spread"), [(40, 30, 0, 0.1), (1, 1, -9, 1), (0.2, 0.5, 0, 3), (2, 0.3, 3, 2)]
)
def test_steep_rare_and_flat(a, b, location, spread):
    """The maximum is found where the map is steep, where events are rare and where it is flat."""
    rng = np.random.default_rng(0)
    p = 1 / (1 + np.exp(-(location + spread * rng.normal(size=4000))))
    y = (rng.random(4000) < betainc(a, b, p)).astype(int)
    y[0] = 1
    model = BetaCDFCalibration().fit(p, y)
    (found_a, found_b), value = literal(p, y)
    assert cost(np.log([model.a_, model.b_]), p, y, np.ones(4000)) <= value + 1e-14
    np.testing.assert_allclose(model.transform(p), betainc(found_a, found_b, p), atol=1e-6)


def test_nothing_to_change():
    """Scores that are right in every row have a = b = 1."""
    p = np.linspace(0.01, 0.99, 99)
    model = BetaCDFCalibration().fit(np.repeat(p, 2), np.tile([0, 1], 99), np.column_stack([1 - p, p]).ravel())
    assert (model.a_, model.b_) == pytest.approx((1, 1), abs=1e-8)


@pytest.mark.parametrize(("location", "spread"), [(0, 1.5), (-9, 1), (0, 0.1)])
def test_gathering_changes_nothing(monkeypatch, location, spread):
    """Many rows are gathered into cells: the map is that of the rows to 1e-6."""
    rng = np.random.default_rng(1)
    z = location + spread * rng.normal(size=8000)
    p = 1 / (1 + np.exp(-z))
    y = (rng.random(8000) < betainc(1.3, 0.8, p)).astype(int)
    y[0] = 1
    rows = BetaCDFCalibration().fit(p, y)
    monkeypatch.setattr(incomplete_beta, "POINTS_FOR_CELLS", 1000)
    cells = BetaCDFCalibration().fit(p, y)
    assert (cells.a_, cells.b_) != (rows.a_, rows.b_)
    np.testing.assert_allclose(cells.transform(p), rows.transform(p), atol=1e-6)
    monkeypatch.setattr(incomplete_beta, "SMOOTH_IN_CELLS", 0.0)  # cells are never fine enough
    np.testing.assert_allclose(BetaCDFCalibration().fit(p, y).transform(p), rows.transform(p), atol=1e-9)


def test_separated_classes():
    """Where a threshold separates the classes outcomes are moved inwards as Platt did."""
    p, y = np.array([0.1, 0.2, 0.4, 0.7, 0.9]), np.array([0, 0, 0, 1, 1])
    with pytest.warns(LimitWarning, match="a threshold on the scores separates the classes, so the likelihood has no"):
        model = BetaCDFCalibration().fit(p, y)
    targets = np.where(y == 1, 3 / 4, 1 / 5)
    (a, b), _ = literal(p, targets)
    np.testing.assert_allclose(model.transform(p), betainc(a, b, p), atol=1e-6)


def test_scores_that_tell_nothing():
    """Where higher scores do not go with more events the map goes to a constant, the end of the range."""
    p, y = binary()
    sentence = r"the likelihood still rises at a = .*, b = .*, a limit of \[1e-4, 1e4\], which was used"
    with pytest.warns(LimitWarning, match=sentence):
        model = BetaCDFCalibration().fit(1 - p, y)
    assert min(model.a_, model.b_) == 1e-4
    np.testing.assert_allclose(model.transform([0.1, 0.5, 0.9]), y.mean(), atol=1e-3)


@pytest.mark.parametrize("p", [0.2, 0.5, 0.9, 0.0, 1.0])
def test_equal_scores(p):
    """One distinct score goes to the base rate."""
    with pytest.warns(LimitWarning, match="all scores are equal: the map takes them to the base rate"):
        model = BetaCDFCalibration()._fit_to_model([p] * 8, [0, 1, 1, 1, 0, 1, 1, 1])
    assert model.transform([p])[0] == pytest.approx(0.75, abs=1e-9)
    assert 1.0 in (model.a_, model.b_)


def test_zero_and_one():
    """Scores of exactly 0 and 1 count as 1e-12 from them, in fitting and in applying."""
    p, y = binary()
    p, y = np.append(p, [0.0, 1.0, 1.0]), np.append(y, [1, 0, 1])
    model = BetaCDFCalibration().fit(p, y)
    inside = np.clip(p, 1e-12, 1 - 1e-12)
    moved = BetaCDFCalibration().fit(inside, y)
    assert (model.a_, model.b_) == pytest.approx((moved.a_, moved.b_), rel=1e-9)
    (a, b), _ = literal(inside, y)
    np.testing.assert_allclose(model.transform(p), betainc(a, b, inside), atol=1e-5)


def test_logits():
    """Logits give the map of the probabilities they stand for; huge ones are those of 1e-12 from 0 and 1."""
    p, y = binary()
    model = BetaCDFCalibration(input="logits").fit(logit(p), y)
    np.testing.assert_allclose(model.transform(logit(p)), BetaCDFCalibration().fit(p, y).transform(p), atol=1e-9)
    far = model.transform(np.array([-1e4, 1e4], np.float32))
    np.testing.assert_allclose(far, model.transform(np.array([-28.0, 28.0])), rtol=0)
    wild = np.array([-1e4, 1e4, 3.0, -3.0, 5.0, -5.0, 1e4], np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        out = BetaCDFCalibration(input="logits").fit(wild, [0, 1, 0, 1, 1, 0, 0]).transform(wild)
    assert np.isfinite(out).all()


def test_both_tails():
    """Neither end loses digits: the map of 1 - p with a and b exchanged is one minus the map."""
    z = np.array([-27.0, -20, -5, -1, 0, 1, 5, 20, 27])
    for a, b in ((0.3, 2.0), (5.0, 5.0), (0.01, 0.02)):
        model, other = fitted(a, b), fitted(b, a)
        model.input = other.input = "logits"
        up, down = model.transform(z), other.transform(-z)
        np.testing.assert_allclose(up + down, 1, atol=1e-14)
        small = up < 0.5
        p = np.exp(-np.logaddexp(0, -z))
        np.testing.assert_allclose(up[small], betainc(a, b, p)[small], rtol=1e-9)


def test_classes_one_against_the_rest():
    """Each class has the map of its column, and rows are divided by their sums."""
    p, labels = multiclass()
    model = BetaCDFCalibration().fit(p, labels)
    columns = np.column_stack([BetaCDFCalibration().fit(p[:, k], labels == k).transform(p[:, k]) for k in range(4)])
    np.testing.assert_allclose(model.transform(p), columns / columns.sum(axis=1, keepdims=True), atol=1e-9)
    assert model.a_.shape == model.b_.shape == (4,)


def test_scores_are_refused():
    """Any real number is not a probability."""
    with pytest.raises(InputError, match="BetaCDFCalibration takes input='probabilities' or 'logits', not scores"):
        BetaCDFCalibration(input="scores").fit([0.1, 0.9, 0.4], [0, 1, 1])


def flat(rng):
    """Draw scores so close to each other that the likelihood hardly changes along a curve of a and b."""
    n = int(rng.integers(2, 60))
    rng.random(n)
    p = 0.4 + 0.01 * rng.random(n)
    rates = p, 1 - p, p**3, np.full(n, 0.3), p > np.median(p)
    y = (rng.random(n) < rates[int(rng.integers(0, 5))]).astype(int)
    y[:2] = 0, 1
    times = rng.integers(0, 4, n)
    times[:2] = 1
    return p, y, times


def heavy(rng):
    """Draw a few scores that are repeated so often that all rows together would be counted in cells."""
    n = int(rng.integers(4, 300))
    p = rng.random(n) ** 4
    return p, (rng.random(n) < 1 - p).astype(int), 100 * rng.integers(1, 4, n)


@pytest.mark.filterwarnings("ignore::believable.errors.LimitWarning")
@pytest.mark.parametrize(("draw", "seed"), [(flat, 237), (flat, 321), (flat, 387), (heavy, 25), (heavy, 1)])
def test_order_and_weights(draw, seed):
    """Neither the order of rows nor weights in place of repetitions matter."""
    rng = np.random.default_rng(seed)
    p, y, times = draw(rng)
    order, new = rng.permutation(len(p)), np.linspace(0.001, 0.999, 99)
    first = BetaCDFCalibration().fit(p, y).transform(new)
    np.testing.assert_allclose(BetaCDFCalibration().fit(p[order], y[order]).transform(new), first, atol=1e-9)
    weighted = BetaCDFCalibration().fit(p, y, sample_weight=times).transform(new)
    repeated = BetaCDFCalibration().fit(np.repeat(p, times), np.repeat(y, times)).transform(new)
    np.testing.assert_allclose(weighted, repeated, atol=1e-9)
