"""Temperature scaling against the literal likelihood, scikit-learn's, and its laws."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from believable.errors import InputError, LimitWarning
from believable.recalibrate import TemperatureScaling
from tests.recalibrate.data import binary, logit, multiclass, softmax

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")


def logits_of(n_classes=4, n=400):
    p, y = multiclass(n, n_classes)
    return np.log(p), y


def fit(z, y, sample_weight=None, **settings):
    return TemperatureScaling(input="logits", **settings).fit(z, y, sample_weight=sample_weight)


def temperature(z, y, sample_weight=None, **settings):
    return fit(z, y, sample_weight, **settings).temperature_


def loss(t, z, y, w):
    """The mean of -log p'[label], row by row."""
    total = 0.0
    for row, label, weight in zip(z, y, w, strict=True):
        scaled = [value / t for value in row]
        top = max(scaled)
        total += weight * (top + np.log(sum(np.exp(value - top) for value in scaled)) - scaled[label])
    return total / sum(w)


def ece(score, outcome, n_bins=15):
    """Expected calibration error in uniform bins, closed on the right, in a plain loop."""
    total = 0.0
    for m in range(n_bins):
        inside = (score > m / n_bins) & (score <= (m + 1) / n_bins) | ((m == 0) & (score == 0))
        if inside.any():
            total += inside.mean() * abs(outcome[inside].mean() - score[inside].mean())
    return total


# --- the definition ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_minimises_the_literal_loss(weighted):
    """No other T has a smaller mean of -log p'[label]; SciPy finds the same to the half of its digits."""
    z, y = logits_of(n=150)
    w = np.random.default_rng(0).exponential(size=len(y)) if weighted else np.ones(len(y))
    found = temperature(z, y, w)
    literal = minimize_scalar(loss, bounds=(0.2, 5), args=(z, y, w), method="bounded", options={"xatol": 1e-9})
    assert found == pytest.approx(literal.x, rel=1e-6)
    assert loss(found, z, y, w) <= literal.fun + 1e-14
    steps = [loss(found * (1 + step), z, y, w) - loss(found, z, y, w) for step in (-1e-3, 1e-3)]
    assert min(steps) > 0
    assert steps[0] == pytest.approx(steps[1], rel=1e-2)  # a parabola, but for its third derivative


def test_the_map_is_softmax_of_z_over_t():
    """p' = softmax(z / T), for one event sigmoid(z / T)."""
    z, y = logits_of()
    model = fit(z, y)
    np.testing.assert_allclose(model.transform(z), softmax(z / model.temperature_), atol=1e-15)
    p, y = binary()
    model = TemperatureScaling().fit(p, y)
    np.testing.assert_allclose(model.transform(p), 1 / (1 + np.exp(-logit(p) / model.temperature_)), atol=1e-14)
    assert model.maps_ == ({"temperature": model.temperature_},)


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_least_calibration_error(kind):
    """objective="ece" finds a T whose error is no larger than at any place that is looked at first."""
    if kind == "binary":
        p, y = binary(500)
        z = np.column_stack([np.zeros_like(p), logit(p)])
    else:
        z, y = logits_of()

    def error(t):
        q = softmax(z / t)
        return ece(q[:, 1], y) if kind == "binary" else ece(q.max(axis=1), q.argmax(axis=1) == y)

    start, found = temperature(z, y), temperature(z, y, objective="ece")
    first = [error(t) for t in start * np.geomspace(0.25, 4, 41)]
    assert error(found) <= min(first) + 1e-12
    assert start / 4 <= found <= 4 * start
    assert error(found) < error(start)


def test_oracle_scikit_learn():
    """scikit-learn's temperature, found by Brent's method to about 1e-8 of the loss, is ours."""
    calibration = pytest.importorskip("sklearn.calibration")
    if not hasattr(calibration, "_TemperatureScaling"):
        pytest.skip("this scikit-learn has no temperature scaling")
    z, y = logits_of(n=2000)
    w = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    for weights in (None, w):
        theirs = 1 / calibration._TemperatureScaling().fit(z, y, weights).beta_
        assert temperature(z, y, weights) == pytest.approx(theirs, rel=1e-5)


# --- laws -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1e-6, 0.3, 7.0, 1e6])
def test_scaled_logits_scale_t(factor):
    """Logits times c give T times c, and the same probabilities; at the limits too."""
    z, y = logits_of()
    for labels in (y, z.argmax(axis=1), z.argmin(axis=1)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LimitWarning)
            one, two = fit(z, labels), fit(factor * z, labels)
        assert two.temperature_ == pytest.approx(factor * one.temperature_, rel=1e-9)
        np.testing.assert_allclose(two.transform(factor * z), one.transform(z), atol=1e-9)


def test_row_constants_change_nothing():
    """A constant added to all logits of a row changes neither T nor the probabilities."""
    z, y = logits_of()
    moved = z + np.random.default_rng(0).normal(size=(len(z), 1)) * 100
    assert temperature(moved, y) == pytest.approx(temperature(z, y), rel=1e-11)
    np.testing.assert_allclose(fit(z, y).transform(moved), fit(z, y).transform(z), atol=1e-12)


def test_refitting_gives_one():
    """Fitted to its own output, probabilities or logits, T is 1."""
    for n_classes in (2, 4, 50):
        z, y = logits_of(n_classes)
        model = fit(z, y)
        assert temperature(z / model.temperature_, y) == pytest.approx(1, abs=1e-7)
        again = TemperatureScaling().fit(model.transform(z), y)
        assert again.temperature_ == pytest.approx(1, abs=1e-7)


def test_classes_and_ranking_stay():
    """The order of the classes in a row stays; for one event the order of the rows."""
    z, y = logits_of()
    np.testing.assert_array_equal(np.argsort(fit(z, y).transform(z)), np.argsort(z))
    p, y = binary()
    np.testing.assert_array_equal(np.argsort(TemperatureScaling().fit(p, y).transform(p)), np.argsort(p))


def test_weights_of_any_size():
    """A common factor of the weights changes nothing."""
    z, y = logits_of()
    w = np.random.default_rng(0).exponential(size=len(y))
    for factor in (1e-50, 1e50):
        assert temperature(z, y, factor * w) == pytest.approx(temperature(z, y, w), rel=1e-12)


@pytest.mark.parametrize(("n", "n_classes"), [(400, 4), (14_000, 10), (4500, 40)])
def test_float32_and_float64_agree(n, n_classes):
    """The same numbers in float32 and float64 give the same T, for few and for many rows."""
    z, y = logits_of(n_classes, n)
    z = z.astype(np.float32)
    assert temperature(z, y) == pytest.approx(temperature(z.astype(np.float64), y), rel=1e-10)


def test_rows_of_equal_logits_say_nothing():
    """Rows whose logits are all equal do not change T."""
    z, y = logits_of()
    more = np.vstack([z, np.full((100, 4), 2.5)])
    assert temperature(more, np.append(y, np.arange(100) % 4)) == pytest.approx(temperature(z, y), rel=1e-10)


def test_one_event_in_all_its_forms():
    """Probabilities and logits of one event, in one column or two, give one T."""
    p, y = binary()
    z = logit(p)
    wanted = TemperatureScaling().fit(p, y).temperature_
    assert TemperatureScaling().fit(np.column_stack([1 - p, p]), y).temperature_ == pytest.approx(wanted, rel=1e-9)
    for scores in (z, z[:, None], np.column_stack([np.zeros_like(z), z]), np.column_stack([-z / 2 + 9, z / 2 + 9])):
        assert temperature(scores, y) == pytest.approx(wanted, rel=1e-9)


# --- limits -----------------------------------------------------------------------------------------------------------


def test_all_right():
    """Logits that are right in every row give nearly certain, finite answers, and a sentence."""
    z, _ = logits_of()
    with pytest.warns(LimitWarning, match="right in every row, so the likelihood rises as T falls to 0"):
        model = fit(z, z.argmax(axis=1))
    q = model.transform(z)
    assert -np.log(q.max(axis=1)).mean() == pytest.approx(1e-6, rel=1e-3)
    assert model.temperature_ > 0


def test_all_right_with_ties():
    """Where the label shares the largest logit with another class, it gets half."""
    z = np.array([[1.0, 1.0, 0.0], [0.0, 2.0, 1.0], [3.0, 0.0, 0.0]])
    with pytest.warns(LimitWarning, match="right in every row"):
        q = fit(z, [1, 1, 0]).transform(z)
    np.testing.assert_allclose(q[0], [0.5, 0.5, 0], atol=1e-5)


def test_useless_logits():
    """Logits that tell nothing, or the contrary, give nearly uniform answers, and a sentence; T stays positive."""
    z, _ = logits_of()
    with pytest.warns(LimitWarning, match="do not distinguish the classes, so the likelihood rises with T"):
        model = fit(z, z.argmin(axis=1))
    assert model.temperature_ == pytest.approx(1e6 * np.ptp(z, axis=1).max())
    np.testing.assert_allclose(model.transform(z), 0.25, atol=1e-6)
    np.testing.assert_array_equal(model.predict(z), z.argmax(axis=1))
    with pytest.warns(LimitWarning, match="do not distinguish"):
        fit([1.0, 1.0, -1.0, -1.0], [0, 1, 0, 1])
    with pytest.warns(LimitWarning, match="do not distinguish"):
        fit(z, z.argmin(axis=1), objective="ece")


def test_equal_logits():
    """Equal logits everywhere give T = 1, and a sentence."""
    with pytest.warns(LimitWarning, match=r"equal, so they say nothing about T: it was set to 1 \(T = 1\)"):
        model = fit(np.full((6, 3), 0.7), [0, 1, 2, 0, 1, 2])
    assert model.temperature_ == 1
    np.testing.assert_allclose(model.transform([[1.0, 2.0, 3.0]]), softmax(np.array([[1.0, 2.0, 3.0]])))


def test_warnings_name_the_caller():
    """The warning points at the line that fitted."""
    with pytest.warns(LimitWarning) as caught:
        TemperatureScaling(input="logits").fit(np.eye(3), [0, 1, 2])
    assert {warning.filename for warning in caught if warning.category is LimitWarning} == {__file__}


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("n", [200, 45_000])
def test_classes_that_are_ruled_out(n):
    """Logits of -1e9, or the most negative number of float32, do not change T; differences of 1e4 do not overflow."""
    z, y = logits_of(4, n)
    z = z.astype(np.float32)
    wanted = temperature(z, y)
    for low in (-1e9, np.finfo(np.float32).min):
        masked = np.column_stack([z, np.full(n, low, np.float32)])
        assert temperature(masked, y) == pytest.approx(wanted, rel=1e-9)
        assert fit(masked, y).transform(masked)[:, 4].max() == 0
    assert temperature(z * np.float32(1e4), y) == pytest.approx(1e4 * wanted, rel=1e-6)


def test_absent_class():
    """A class that does not occur keeps its place in the softmax."""
    z, y = logits_of()
    rows = y != 2
    model = fit(z[rows], y[rows])
    np.testing.assert_allclose(model.transform(z), softmax(z / model.temperature_), atol=1e-15)


def test_unknown_objective():
    """An objective that is not known is refused."""
    with pytest.raises(InputError, match="objective must be one of"):
        fit([0.1, 0.2], [0, 1], objective="brier")


@pytest.mark.parametrize("factor", [1e-303, 1e-300, 1e300])
def test_units_of_any_size(factor):
    """T follows the unit of the logits to where floats end."""
    z, y = logits_of()
    assert temperature(factor * z, y) == pytest.approx(factor * temperature(z, y), rel=1e-8)


@pytest.mark.parametrize("size", [1e200, 1e300, 1.7e308])
@pytest.mark.parametrize("weighted", [False, True])
def test_one_huge_mistake(size, weighted):
    """One label that is 1e300 behind makes T as large as that, with no warning but the limit's."""
    z, y = logits_of()
    z[0] = 0
    z[0, (y[0] + 1) % 4] = size
    w = np.random.default_rng(0).random(len(y)) if weighted else None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", LimitWarning)
        model = fit(z, y, w)
    assert model.temperature_ > size / 1000
    assert np.isfinite(model.transform(z)).all()
