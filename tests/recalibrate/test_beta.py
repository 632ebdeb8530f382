"""Beta calibration against the bounded optimum of the literal likelihood."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from believable.errors import InputError, LimitWarning
from believable.recalibrate import BetaCalibration, PlattScaling, TemperatureScaling
from tests.recalibrate.data import binary, logit, multiclass

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")


def beta_map(p, a, b, c):
    eta = a * np.log(p) - b * np.log1p(-p) + c
    return 1 / (1 + np.exp(-eta))


def three(free, parameters):
    """a, b and c from those that are free."""
    if parameters == "abm":
        return free
    if parameters == "am":
        return free[0], free[0], free[1]
    if parameters == "a":
        return free[0], free[0], 0.0
    return free[0], free[1], (free[0] - free[1]) * np.log(2)


def cost(free, p, y, w, parameters):
    a, b, c = three(free, parameters)
    eta = a * np.log(p) - b * np.log1p(-p) + c
    return w @ (y * np.logaddexp(0, -eta) + (1 - y) * np.logaddexp(0, eta)) / w.sum()


def slope(free, p, y, w, parameters):
    """The gradient of the cost."""
    residual = w * (beta_map(p, *three(free, parameters)) - y) / w.sum()
    u, v = residual @ np.log(p), -residual @ np.log1p(-p)
    half = residual.sum() * np.log(2)
    return np.array(
        {"abm": [u, v, residual.sum()], "am": [u + v, residual.sum()], "ab": [u + half, v - half], "a": [u + v]}[
            parameters
        ]
    )


def literal(p, y, parameters="abm", w=None):
    """The smallest textbook cost with a, b >= 0, and its a, b and c."""
    w = np.ones(len(p)) if w is None else w
    bounds = {
        "abm": [(0, None), (0, None), (None, None)],
        "am": [(0, None), (None, None)],
        "ab": [(0, None)] * 2,
        "a": [(0, None)],
    }
    best, start = None, np.ones(len(parameters))
    for _ in range(3):  # from where it stopped
        options = {"ftol": 0, "gtol": 1e-13, "maxiter": 2000}
        best = minimize(
            cost, start, (p, y, w, parameters), "L-BFGS-B", slope, bounds=bounds[parameters], options=options
        )
        start = best.x
    return best.fun, three(best.x, parameters)


@pytest.mark.parametrize("parameters", ["abm", "am", "ab", "a"])
@pytest.mark.parametrize("weighted", [False, True])
def test_literal_likelihood(parameters, weighted):
    """a, b and c maximise the likelihood."""
    p, y = binary()
    w = np.random.default_rng(5).random(len(y)) + 0.1 if weighted else None
    model = BetaCalibration(parameters=parameters).fit(p, y, sample_weight=w)
    value, expected = literal(p, y, parameters, w)
    np.testing.assert_allclose(model.transform(p), beta_map(p, *expected), atol=1e-7)
    a, b, c = model.a_, model.b_, model.c_
    found = {"abm": (a, b, c), "am": (a, c), "ab": (a, b), "a": (a,)}[parameters]
    assert cost(found, p, y, np.ones(len(y)) if w is None else w, parameters) <= value + 1e-15


def test_two_columns_of_a_logistic_regression():
    """Where no constraint binds it is a logistic regression on log p and -log(1 - p)."""
    p, y = binary(2000)
    columns = np.column_stack([np.log(p), -np.log1p(-p)])
    peer = LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky", max_iter=1000).fit(columns, y)
    model = BetaCalibration().fit(p, y)
    assert peer.coef_.min() > 0
    np.testing.assert_allclose(model.transform(p), peer.predict_proba(columns)[:, 1], atol=1e-7)
    assert (model.a_, model.b_) == pytest.approx(peer.coef_[0], abs=1e-6)


def bent(shape, n=400, seed=0):
    """Scores and outcomes whose free maximum has a negative coefficient."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.98, n)
    rate = {
        "a": 0.3 + 0.65 * p**6,  # scores near 0 tell nothing, or the opposite
        "b": 0.05 + 0.65 * (1 - (1 - p) ** 6) - 0.2 * p**4,
        "falling": 0.9 - 0.8 * p,
        "hill": 0.05 + 0.9 * np.exp(-8 * (p - 0.6) ** 2),
        "valley": 0.9 - 0.85 * np.exp(-8 * (p - 0.4) ** 2),
    }[shape]
    return p, (rng.random(n) < rate).astype(int)


@pytest.mark.parametrize("parameters", ["abm", "am", "ab", "a"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", ["a", "b", "falling", "hill", "valley"])
def test_constrained_maximum(shape, seed, parameters):
    """Where the constraint binds, no allowed map has a larger likelihood."""
    p, y = bent(shape, seed=seed)
    model = BetaCalibration(parameters=parameters).fit(p, y)
    value, expected = literal(p, y, parameters)
    a, b, c = model.a_, model.b_, model.c_
    assert min(a, b) >= 0
    free = {"abm": (a, b, c), "am": (a, c), "ab": (a, b), "a": (a,)}[parameters]
    assert cost(free, p, y, np.ones(len(y)), parameters) <= value + 1e-14
    np.testing.assert_allclose(model.transform(p), beta_map(p, *expected), atol=1e-7)
    assert np.diff(model.transform(np.linspace(0, 1, 101))).min() >= 0


def test_constraints_bind_in_the_tests():
    """Each face of the constraint is the answer to one of them."""
    maps = {shape: BetaCalibration().fit(*bent(shape)) for shape in ("a", "b", "falling")}
    assert maps["a"].a_ == 0 < maps["a"].b_
    assert maps["b"].b_ == 0 < maps["b"].a_
    assert maps["falling"].a_ == maps["falling"].b_ == 0
    p, y = bent("falling")
    np.testing.assert_allclose(maps["falling"].transform(p), y.mean(), atol=1e-9)


def test_kkt_conditions():
    """At the answer the likelihood rises towards no allowed direction."""
    p, y = bent("hill")
    model = BetaCalibration().fit(p, y)
    residual = y - model.transform(p)
    gains = np.array([residual @ np.log(p), -residual @ np.log1p(-p), residual.sum()]) / len(p)
    assert abs(gains[2]) < 1e-9
    for value, gain in ((model.a_, gains[0]), (model.b_, gains[1])):
        assert gain <= 1e-9 if value == 0 else abs(gain) < 1e-9


def test_classes_that_only_a_hill_separates():
    """Free coefficients would run away there; the constrained maximum exists and is found in silence."""
    p = np.array([0.05, 0.1, 0.2, 0.4, 0.5, 0.6, 0.8, 0.9, 0.95])
    y = np.array([0, 0, 0, 1, 1, 1, 0, 0, 0])
    model = BetaCalibration().fit(p, y)
    value, expected = literal(p, y)
    np.testing.assert_allclose(model.transform(p), beta_map(p, *expected), atol=1e-6)
    assert cost((model.a_, model.b_, model.c_), p, y, np.ones(9), "abm") <= value + 1e-14
    low_first = BetaCalibration().fit([0.1, 0.2, 0.3, 0.7, 0.8], [1, 1, 1, 0, 0])
    assert low_first.maps_[0] == pytest.approx({"a": 0, "b": 0, "c": np.log(1.5)}, abs=1e-9)


@pytest.mark.parametrize(
    ("p", "y"),
    [([0.1, 0.2, 0.3, 0.8, 0.9], [0, 0, 0, 1, 1]), ([0.1, 0.3, 0.3, 0.8], [0, 0, 1, 1]), ([0.0, 0.4, 1.0], [0, 0, 1])],
)
@pytest.mark.parametrize("parameters", ["abm", "am"])
def test_separated_classes(p, y, parameters):
    """Where a threshold separates the classes outcomes are moved inwards as Platt did."""
    sentence = "a threshold on the scores separates the classes, so the likelihood has no maximum: smoothed targets"
    with pytest.warns(LimitWarning, match=sentence):
        model = BetaCalibration(parameters=parameters).fit(p, y)
    n1 = sum(y)
    targets = np.where(np.array(y) == 1, (n1 + 1) / (n1 + 2), 1 / (len(y) - n1 + 2))
    inside = np.clip(p, 1e-12, 1 - 1e-12)
    value, _ = literal(inside, targets, parameters)
    free = (model.a_, model.b_, model.c_) if parameters == "abm" else (model.a_, model.c_)
    assert cost(free, inside, targets, np.ones(len(y)), parameters) <= value + 1e-9
    assert np.isfinite(model.transform([0.0, 0.5, 1.0])).all()


def test_half_separates():
    """For "ab" the threshold is 1/2: other thresholds leave a maximum."""
    with pytest.warns(LimitWarning, match="1/2 separates the classes"):
        BetaCalibration(parameters="ab").fit([0.2, 0.4, 0.7, 0.8], [0, 0, 1, 1])
    p, y = np.array([0.2, 0.3, 0.4, 0.45, 0.8]), np.array([0, 0, 0, 1, 1])
    model = BetaCalibration(parameters="ab").fit(p, y)
    _, expected = literal(p, y, "ab")
    np.testing.assert_allclose(model.transform(p), beta_map(p, *expected), atol=1e-6)
    assert model.transform([0.5])[0] == pytest.approx(0.5, abs=1e-15)


def test_too_few_distinct_scores():
    """Two distinct scores get their frequencies with a = b; one gets the base rate."""
    p, y = [0.2] * 4 + [0.7] * 4, [0, 0, 0, 1, 1, 1, 0, 1]
    with pytest.warns(LimitWarning, match="there are too few distinct scores for parameters='abm': a = b was taken"):
        model = BetaCalibration().fit(p, y)
    np.testing.assert_allclose(model.transform([0.2, 0.7]), [0.25, 0.75], atol=1e-9)
    assert model.a_ == model.b_
    for parameters in ("abm", "am"):
        with pytest.warns(
            LimitWarning, match="all scores are equal and carry no information: every row gets the base rate"
        ):
            model = BetaCalibration(parameters=parameters).fit([0.3] * 4, [0, 1, 1, 1])
        np.testing.assert_allclose(model.transform([0.1, 0.3]), 0.75, atol=1e-12)


def test_half_tells_nothing():
    """For "ab" scores of 1/2 do not count."""
    with pytest.warns(LimitWarning, match="all scores are 1/2 and stay 1/2"):
        model = BetaCalibration(parameters="ab").fit([0.5] * 4, [0, 1, 1, 1])
    assert model.maps_ == ({"a": 1.0, "b": 1.0, "c": 0.0},)
    with pytest.warns(LimitWarning, match="a = b was taken"):
        model = BetaCalibration(parameters="ab").fit([0.5, 0.5, 0.7, 0.7, 0.7, 0.7], [0, 1, 1, 1, 0, 1])
    np.testing.assert_allclose(model.transform([0.7]), 0.75, atol=1e-9)


def test_many_equal_scores_at_first():
    """That the first thousand scores are equal does not mean that all are."""
    rng = np.random.default_rng(0)
    p = np.concatenate([np.full(1500, 0.4), rng.random(1000)])
    y = (rng.random(2500) < p).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = BetaCalibration().fit(p, y)
    assert min(model.a_, model.b_) > 0


def test_am_is_platt_with_a_slope_that_is_not_negative():
    """a = b is Platt scaling where that rises, and the base rate where it falls."""
    p, y = binary()
    model, platt = BetaCalibration(parameters="am").fit(p, y), PlattScaling().fit(p, y)
    assert (model.a_, model.b_, model.c_) == pytest.approx((platt.slope_, platt.slope_, platt.intercept_), abs=1e-9)
    falling = BetaCalibration(parameters="am").fit(1 - p, y)
    assert falling.a_ == 0
    np.testing.assert_allclose(falling.transform(p), y.mean(), atol=1e-9)


def test_logits_far_out():
    """Logits of 50 and 800 are exact, and 1e4 apart in float32 does not overflow."""
    z = np.array([-800.0, -50, -2, -1, 0, 1, 2, 50, 800, 1e4], np.float32)
    model = BetaCalibration(input="logits").fit(z, [0, 0, 1, 0, 1, 0, 1, 1, 1, 1])
    p = model.transform(z)
    assert np.isfinite(p).all()
    assert np.diff(p).min() >= 0
    log_p, log_q = -np.logaddexp(0, -z.astype(float)), -np.logaddexp(0, z.astype(float))
    eta = model.a_ * log_p - model.b_ * log_q + model.c_
    np.testing.assert_allclose(p, np.exp(-np.logaddexp(0, -eta)), rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_many_rows(weighted):
    """With many rows the score equations hold as with few."""
    p, y = binary(80_000)
    w = np.random.default_rng(1).random(len(y)) if weighted else np.ones(len(y))
    model = BetaCalibration().fit(p, y, sample_weight=w if weighted else None)
    residual = w * (y - model.transform(p))
    for column in (np.log(p), np.log1p(-p), np.ones(len(p))):
        assert abs(residual @ column) < 1e-8 * (w @ np.abs(column))


def test_classes_one_against_the_rest():
    """Each class has the map of its column, and rows are divided by their sums."""
    p, labels = multiclass()
    model = BetaCalibration().fit(p, labels)
    columns = np.column_stack([BetaCalibration().fit(p[:, k], labels == k).transform(p[:, k]) for k in range(4)])
    np.testing.assert_allclose(model.transform(p), columns / columns.sum(axis=1, keepdims=True), atol=1e-9)
    np.testing.assert_allclose(model.transform(p).sum(axis=1), 1, atol=1e-12)
    assert model.a_.shape == model.b_.shape == model.c_.shape == (4,)


def test_logits_of_one_event():
    """Logits give the map of the probabilities they stand for."""
    p, y = binary()
    one, other = BetaCalibration().fit(p, y), BetaCalibration(input="logits").fit(logit(p), y)
    assert (one.a_, one.b_, one.c_) == pytest.approx((other.a_, other.b_, other.c_), abs=1e-7)


def test_warning_filters_are_left_alone():
    """Fitting does not change what is warned of elsewhere."""
    before = list(warnings.filters)
    BetaCalibration().fit(*binary())
    assert warnings.filters == before


def test_unknown_parameters():
    """Parameters are of four kinds."""
    with pytest.raises(InputError, match="parameters must be one of 'abm', 'am', 'ab', 'a', got 'b'"):
        BetaCalibration(parameters="b").fit([0.1, 0.9, 0.4], [0, 1, 1])
    with pytest.raises(InputError, match="BetaCalibration takes input='probabilities' or 'logits', not scores"):
        BetaCalibration(input="scores").fit([0.1, 0.9, 0.4], [0, 1, 1])


@pytest.mark.parametrize("middle", [0.3, 0.999, 1e-6])
@pytest.mark.parametrize("parameters", ["abm", "am"])
def test_nearly_constant_scores(middle, parameters):
    """Scores that differ by 1e-8 of themselves are told apart as those that differ more: there the map is a line."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=500)
    y = rng.random(500) < 1 / (1 + np.exp(-z))
    p = middle + 1e-8 * min(middle, 1 - middle) * z
    line = PlattScaling(input="scores").fit(p - middle, y)
    np.testing.assert_allclose(
        BetaCalibration(parameters=parameters).fit(p, y).transform(p), line.transform(p - middle), atol=1e-6
    )


@pytest.mark.parametrize("parameters", ["abm", "am", "ab", "a"])
def test_tiny_logits(parameters):
    """Logits that probabilities cannot tell from 0 are warned of, at first for their rounding, then as all equal."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=500)
    y = rng.random(500) < 1 / (1 + np.exp(-z))
    model = BetaCalibration(input="logits", parameters=parameters)
    with pytest.warns(LimitWarning, match="the scores differ so little for their size that rounding changes log-odds"):
        model.fit(1e-12 * z, y)
    assert np.ptp(model.transform(1e-12 * z)) > 0.5
    with pytest.warns(LimitWarning, match="all scores are"):
        model.fit(1e-200 * z, y)


def test_huge_logits_among_others():
    """One logit of 1e300 leaves the map of the others, and is said to have been taken as smaller."""
    p, y = binary()
    z = np.append(logit(p), 1e300)
    with pytest.warns(LimitWarning, match="some scores are more than 1e100 times as large as others"):
        model = BetaCalibration(input="logits").fit(z, np.append(y, 1))
    alone = BetaCalibration(input="logits").fit(z[:-1], y)
    np.testing.assert_allclose(model.transform(z[:-1]), alone.transform(z[:-1]), atol=1e-6)


@pytest.mark.parametrize("scale", ["probabilities", "logits"])
def test_one_parameter_is_a_temperature(scale):
    """With one parameter, beta calibration is temperature scaling with T = 1 / a, and 1/2 stays 1/2."""
    p, y = binary()
    x = p if scale == "probabilities" else logit(p)
    model = BetaCalibration(input=scale, parameters="a").fit(x, y)
    warm = TemperatureScaling(input=scale).fit(x, y)
    assert (model.b_, model.c_) == (model.a_, 0)
    assert model.a_ == pytest.approx(1 / warm.temperature_, rel=1e-8)
    np.testing.assert_allclose(model.transform(x), warm.transform(x), atol=1e-9)
    assert model.transform([0.5 if scale == "probabilities" else 0.0]).tolist() == [0.5]


def test_limits_of_one_parameter():
    """Falling scores give 1/2 everywhere, scores that 1/2 separates smoothed targets, scores of 1/2 no change."""
    p, y = binary()
    np.testing.assert_array_equal(BetaCalibration(parameters="a").fit(1 - p, y).transform(p), 0.5)
    with pytest.warns(LimitWarning, match="1/2 separates the classes"):
        steep = BetaCalibration(parameters="a").fit(p, p > 0.5)
    assert 1 < steep.a_ < 1000
    with pytest.warns(LimitWarning, match="all scores are 1/2"):
        assert BetaCalibration(parameters="a").fit([0.5] * 4, [0, 1, 1, 1]).a_ == 1
