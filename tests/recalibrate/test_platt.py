"""Platt scaling against the literal likelihood, Platt's own targets and scikit-learn."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.calibration import _SigmoidCalibration
from sklearn.linear_model import LogisticRegression

from believable.errors import InputError, LimitWarning
from believable.recalibrate import PlattScaling
from tests.needs import decided_by_rounding
from tests.recalibrate.data import binary, logit, multiclass

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def literal(z, targets, weights=None):
    """Slope and intercept that minimise the textbook cost."""
    w = np.ones(len(z)) if weights is None else weights

    def cost(line):
        eta = line[0] * z + line[1]
        slope = w * (sigmoid(eta) - targets)
        value = w @ (targets * np.logaddexp(0, -eta) + (1 - targets) * np.logaddexp(0, eta))
        return value, np.array([slope @ z, slope.sum()])

    return minimize(cost, [1.0, 0.0], jac=True, method="BFGS", options={"gtol": 1e-9}).x


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("input", ["probabilities", "logits", "scores"])
def test_literal_likelihood(input, weighted):
    """Slope and intercept maximise the likelihood of the labels."""
    p, y = binary()
    w = np.random.default_rng(5).random(len(y)) if weighted else None
    X = p if input == "probabilities" else logit(p)
    model = PlattScaling(input=input).fit(X, y, sample_weight=w)
    slope, intercept = literal(logit(p), y, w)
    np.testing.assert_allclose(model.transform(X), sigmoid(slope * logit(p) + intercept), atol=1e-7)
    assert model.slope_ == pytest.approx(slope, abs=1e-6)
    assert model.intercept_ == pytest.approx(intercept, abs=1e-6)


def test_scikit_learn():
    """An unpenalised logistic regression on the logit says the same."""
    p, y = binary()
    peer = LogisticRegression(C=np.inf, tol=1e-10, solver="newton-cholesky").fit(logit(p)[:, None], y)
    ours = PlattScaling(input="logits").fit(logit(p), y)
    np.testing.assert_allclose(ours.predict_proba(logit(p)), peer.predict_proba(logit(p)[:, None]), atol=1e-8)


def smoothed(y):
    """Platt's targets, row by row."""
    n1 = sum(1 for label in y if label == 1)
    n0 = len(y) - n1
    return np.array([(n1 + 1) / (n1 + 2) if label == 1 else 1 / (n0 + 2) for label in y])


def test_smoothed_targets():
    """Smoothed targets are Platt's, as scikit-learn has them too."""
    p, y = binary(60)
    z = logit(p)
    ours = PlattScaling(input="logits", targets="smoothed").fit(z, y)
    slope, intercept = literal(z, smoothed(y))
    np.testing.assert_allclose(ours.transform(z), sigmoid(slope * z + intercept), atol=1e-7)
    np.testing.assert_allclose(ours.transform(z), _SigmoidCalibration().fit(z, y).predict(z), atol=2e-4)
    times = np.random.default_rng(0).integers(1, 4, len(y))
    weighted = PlattScaling(input="logits", targets="smoothed").fit(z, y, sample_weight=times)
    repeated = PlattScaling(input="logits", targets="smoothed").fit(np.repeat(z, times), np.repeat(y, times))
    np.testing.assert_allclose(weighted.transform(z), repeated.transform(z), atol=1e-9)


@pytest.mark.parametrize("n", [300, 70_000])
def test_refitting_changes_nothing(n):
    """After Platt scaling the slope is 1 and the intercept 0."""
    p, y = binary(n)
    again = PlattScaling().fit(PlattScaling().fit(p, y).transform(p), y)
    assert again.slope_ == pytest.approx(1, abs=1e-8)
    assert again.intercept_ == pytest.approx(0, abs=1e-8)


def test_a_factor_of_the_weights_does_not_matter():
    """Weights count relative to each other."""
    p, y = binary()
    w = np.random.default_rng(5).random(len(y))
    one, other = PlattScaling().fit(p, y, sample_weight=w), PlattScaling().fit(p, y, sample_weight=1e6 * w)
    assert one.slope_ == pytest.approx(other.slope_, rel=1e-9)


@pytest.mark.parametrize(
    ("p", "y"),
    [
        ([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]),
        ([0.1, 0.2, 0.8, 0.9], [1, 1, 0, 0]),
        ([0.1, 0.5, 0.5, 0.9], [0, 0, 1, 1]),
        ([0.0, 0.0, 0.9, 1.0], [0, 0, 1, 1]),
    ],
)
def test_separated_classes(p, y):
    """Where a threshold separates the classes smoothed targets are taken, with a warning."""
    sentence = "a threshold on the scores separates the classes, so the likelihood has no maximum: smoothed targets"
    with pytest.warns(LimitWarning, match=sentence):
        model = PlattScaling().fit(p, y)
    same = PlattScaling(targets="smoothed").fit(p, y)
    assert model.maps_ == same.maps_
    z = logit(np.clip(p, 1e-12, 1 - 1e-12))
    slope, intercept = literal(z, smoothed(y))
    np.testing.assert_allclose(model.transform(p), sigmoid(slope * z + intercept), atol=1e-4)


@pytest.mark.parametrize("targets", ["labels", "smoothed"])
def test_equal_scores(targets):
    """One distinct score gives everyone the base rate, with a warning."""
    y = [0, 1, 1, 1]
    with pytest.warns(
        LimitWarning, match="all scores are equal and carry no information: every row gets the base rate"
    ):
        model = PlattScaling(targets=targets).fit([0.3] * 4, y)
    rate = 0.75 if targets == "labels" else smoothed(y).mean()
    np.testing.assert_allclose(model.transform([0.3, 0.9]), rate, atol=1e-12)
    assert model.slope_ == 0


def test_two_distinct_scores():
    """Two distinct scores get their frequencies."""
    model = PlattScaling().fit([0.2] * 4 + [0.7] * 4, [0, 0, 0, 1, 1, 1, 0, 1])
    np.testing.assert_allclose(model.transform([0.2, 0.7]), [0.25, 0.75], atol=1e-9)


def test_huge_logits():
    """Logits 1e4 apart in float32 neither overflow nor warn."""
    z = np.array([-1e4, 1e4, 3.0, -3.0, 5.0, -5.0], np.float32)
    model = PlattScaling(input="logits").fit(z, [0, 1, 0, 1, 1, 0])
    p = model.transform(z)
    assert np.isfinite(p).all()
    assert p[0] < 0.5 < p[1]


def test_scores_beyond_those_fitted():
    """The line goes on outside the fitted range; probabilities of 0 and 1 are those of 1e-12 from them."""
    p, y = binary()
    model = PlattScaling().fit(p, y)
    end = math.log((1 - 1e-12) / 1e-12)
    expected = sigmoid(model.slope_ * np.array([-end, end]) + model.intercept_)
    np.testing.assert_allclose(model.transform([0.0, 1.0]), expected, rtol=1e-9)


def test_classes_one_against_the_rest():
    """Each class has the line of its column, and rows are divided by their sums."""
    p, labels = multiclass()
    model = PlattScaling().fit(p, labels)
    alone = [PlattScaling().fit(p[:, k], labels == k) for k in range(4)]
    np.testing.assert_allclose(model.slope_, [one.slope_ for one in alone], rtol=1e-9)
    columns = np.column_stack([one.transform(p[:, k]) for k, one in enumerate(alone)])
    np.testing.assert_allclose(model.transform(p), columns / columns.sum(axis=1, keepdims=True), atol=1e-12)


def test_unknown_targets():
    """Targets are of two kinds."""
    with pytest.raises(InputError, match="targets must be one of 'labels', 'smoothed', got 'soft'"):
        PlattScaling(targets="soft").fit([0.1, 0.9, 0.4], [0, 1, 1])


def test_no_warning_without_reason():
    """Ordinary data are fitted in silence."""
    p, y = binary()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PlattScaling().fit(p, y)


FREQUENCIES = np.repeat([0, 1] * 4, [20, 5, 15, 10, 10, 15, 5, 20])


@pytest.mark.parametrize("offset", [0.0, 1e4, -1e7, 1e9])
def test_scores_far_from_zero(offset):
    """A constant added to all scores changes the intercept alone."""
    z, y = np.arange(4.0), FREQUENCIES
    model = PlattScaling(input="scores").fit(offset + z.repeat(25), y)
    slope, intercept = literal(z.repeat(25), y)
    np.testing.assert_allclose(model.transform(offset + z), sigmoid(slope * z + intercept), atol=1e-6)
    assert model.slope_ == pytest.approx(slope, rel=1e-5)
    assert model.intercept_ == pytest.approx(intercept - slope * offset, rel=1e-5)


@pytest.mark.parametrize("scale", [1e-250, 1e-200, 1e-8, 1e155, 1e200, 5e307])
def test_scores_of_any_size(scale):
    """Scores times c have the slope divided by c, without a warning."""
    z, y = np.arange(4.0), FREQUENCIES
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p = PlattScaling(input="scores").fit(scale * z.repeat(25), y).transform(scale * z)
    np.testing.assert_allclose(p, PlattScaling(input="scores").fit(z.repeat(25), y).transform(z), rtol=1e-9)


@pytest.mark.parametrize(
    ("scores", "sentence"),
    [
        ([0.3, np.nextafter(0.3, 1)], "the scores differ so little for their size that rounding changes log-odds"),
        ([1e300, 1e300 * (1 + 1e-13)], "subtract a constant from the scores or logits first"),
        (
            [0.0, 1e-300],
            "all scores are within 1e-280 of each other and carry no information: every row gets the base rate",
        ),
        ([5e-324, 1e-323], "all scores are within 1e-280 of each other"),
    ],
)
@decided_by_rounding
def test_scores_too_close(scores, sentence):
    """Where floats cannot hold the map, that is said; probabilities stay in order."""
    with pytest.warns(LimitWarning, match=sentence):
        model = PlattScaling(input="scores").fit(np.repeat(scores, 50), [0] * 40 + [1] * 10 + [1] * 40 + [0] * 10)
    low, high = model.transform(scores)
    assert 0 < low <= high < 1
    assert abs(low + high - 1) < 0.3


def test_one_huge_score():
    """A score that is beyond all others is taken for smaller than it is, which is said."""
    p, y = binary()
    z = np.append(logit(p), 1e300)
    with pytest.warns(LimitWarning, match="some scores are more than 1e100 times as large as others, and were limited"):
        model = PlattScaling(input="scores").fit(z, np.append(y, 1))
    assert model.slope_ == pytest.approx(PlattScaling(input="scores").fit(z[:-1], y).slope_, rel=1e-6)
