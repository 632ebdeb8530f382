"""Scaling-binning: two halves by turns, a logistic regression on one, its means in bins of the other."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize

from believable.errors import InputError, LimitWarning, SchemaError
from believable.recalibrate import ScalingBinning, load_recalibrator
from believable.recalibrate.scaling_binning import _by_turns
from tests.recalibrate.data import binary, logit, multiclass

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")


def sigmoid(t):
    return 1 / (1 + np.exp(-t))


def platt(z, y):
    """Slope and intercept of the largest likelihood."""

    def cost(c):
        eta = c[0] * z + c[1]
        return np.mean(np.logaddexp(0, eta) - y * eta)

    def slope(c):
        gap = sigmoid(c[0] * z + c[1]) - y
        return np.array([np.mean(gap * z), np.mean(gap)])

    return minimize(cost, [1.0, 0.0], jac=slope, method="BFGS", options={"gtol": 1e-11}).x


def literal(score, z, y, n_bins):
    """Inner edges and means: rows of each class by turns, then the mean of g in bins of equal counts."""
    halves = ([], [])
    for label in (0, 1):
        for turn, i in enumerate(sorted(np.flatnonzero(y == label), key=lambda i: score[i])):
            halves[turn % 2].append(i)
    first, second = np.array(halves[0]), np.array(halves[1])
    a, b = platt(z[first], y[first])
    second = second[np.argsort(score[second])]
    cuts = sorted({float(score[second[-(-j * len(second) // n_bins) - 1]]) for j in range(1, n_bins)})
    edges = [cut for cut in cuts if cut < score[second[-1]]]
    means = [
        np.mean([sigmoid(a * z[i] + b) for i in second if low < score[i] <= high])
        for low, high in zip([-np.inf, *edges], [*edges, np.inf], strict=True)
    ]
    return edges, means


@pytest.mark.parametrize("n_bins", [1, 4, 10])
@pytest.mark.parametrize("ties", [False, True])
def test_textbook(n_bins, ties):
    """It is the loop: by turns, Platt on one half, equal counts and means of g on the other."""
    p, y = binary(301)
    p = p.round(2).clip(0.01, 0.99) if ties else p
    edges, means = literal(p, logit(p), y, n_bins)
    learnt = ScalingBinning(n_bins=n_bins).fit(p, y).maps_[0]
    assert learnt["edges"].tolist() == edges
    np.testing.assert_allclose(learnt["means"], means, rtol=0, atol=1e-8)  # of the literal search


def test_scores_are_scaled_as_they_are():
    """Scores of any size are taken for the logit; the outermost bins reach to infinity."""
    rng = np.random.default_rng(1)
    s = 3 + 2 * rng.normal(size=400)
    y = (rng.random(400) < sigmoid(s - 3)).astype(int)
    edges, means = literal(s, s, y, 5)
    model = ScalingBinning(input="scores", n_bins=5).fit(s, y)
    assert model.maps_[0]["edges"].tolist() == edges
    out = model.transform([-1e300, *edges, *np.nextafter(edges, np.inf), 1e300])
    np.testing.assert_allclose(out, [means[0], *means[:-1], *means[1:], means[-1]], rtol=0, atol=1e-8)


def test_logits_and_probabilities_agree():
    """Logits give what their probabilities give, and float32 what its float64 values give."""
    p, y = binary()
    one = ScalingBinning().fit(p, y).transform(p)
    np.testing.assert_allclose(ScalingBinning(input="logits").fit(logit(p), y).transform(logit(p)), one, atol=1e-12)
    brief = p.astype(np.float32)
    np.testing.assert_allclose(
        ScalingBinning().fit(brief, y).transform(brief),
        ScalingBinning().fit(brief.astype(float), y).transform(brief.astype(float)),
        atol=1e-12,
    )


def test_means_of_a_good_map():
    """On plenty of calibrated rows every bin gives nearly the frequency of new outcomes."""
    rng = np.random.default_rng(2)
    z = rng.normal(size=40_000)
    y = (rng.random(40_000) < sigmoid(z)).astype(int)
    model = ScalingBinning(input="logits").fit(2 * z[:20_000] + 1, y[:20_000])
    out = model.transform(2 * z[20_000:] + 1)
    assert len(np.unique(out)) == 10
    for value in np.unique(out):
        assert y[20_000:][out == value].mean() == pytest.approx(
            value, abs=0.04
        )  # a rate of 2,000 rows, four standard errors


def test_whole_weights_are_repetitions():
    """Weight 3 is the row three times: it is divided between the halves as three rows would be."""
    p, y = binary()
    times = np.random.default_rng(3).integers(0, 5, len(y))
    weighted = ScalingBinning().fit(p, y, sample_weight=times).maps_[0]
    repeated = ScalingBinning().fit(np.repeat(p, times), np.repeat(y, times)).maps_[0]
    np.testing.assert_array_equal(weighted["edges"], repeated["edges"])
    np.testing.assert_allclose(weighted["means"], repeated["means"], rtol=0, atol=1e-12)


def test_small_weights_are_halved_too():
    """Weights that sum to one make the halves that weights of one make; large ones put rows into both."""
    p, y = binary()
    plain = ScalingBinning().fit(p, y).maps_[0]
    small = ScalingBinning().fit(p, y, sample_weight=np.full(len(y), 1 / len(y))).maps_[0]
    np.testing.assert_array_equal(small["edges"], plain["edges"])
    np.testing.assert_allclose(small["means"], plain["means"], rtol=0, atol=1e-9)
    large = ScalingBinning().fit(p, y, sample_weight=np.full(len(y), 1000.0)).maps_[0]
    a, b = platt(logit(p), y)
    assert large["means"].mean() == pytest.approx(sigmoid(a * logit(p) + b).mean(), abs=1e-6)


def test_any_order_of_rows():
    """The halves do not depend on the order of rows, not even among ties."""
    p, y = binary()
    p = p.round(2)
    w = np.random.default_rng(4).random(len(y))
    order = np.random.default_rng(5).permutation(len(y))
    one, two = (ScalingBinning().fit(p[rows], y[rows], sample_weight=w[rows]) for rows in (slice(None), order))
    np.testing.assert_allclose(two.transform(p), one.transform(p), rtol=0, atol=1e-12)


def test_ranking_follows_the_slope():
    """Outputs do not fall where g rises, nor rise where it falls."""
    p, y = binary()
    assert np.all(np.diff(ScalingBinning().fit(p, y).maps_[0]["means"]) > 0)
    assert np.all(np.diff(ScalingBinning().fit(p, 1 - y).maps_[0]["means"]) < 0)


def test_classes_are_taken_one_against_the_rest():
    """K columns are K maps, and rows divided by their sums."""
    p, labels = multiclass()
    columns = [ScalingBinning(n_bins=4).fit(p[:, k], labels == k).transform(p[:, k]) for k in range(4)]
    expected = np.column_stack(columns)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(ScalingBinning(n_bins=4).fit(p, labels).transform(p), expected, rtol=1e-12)


def test_limits():
    """One score for all gets the base rate; two rows, separated, smoothed targets with a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        constant = ScalingBinning().fit([0.3] * 40, [0, 1, 1, 1] * 10)
    assert constant.transform([0.0, 0.3, 1.0]) == pytest.approx([0.75] * 3)
    assert constant.maps_[0]["edges"].tolist() == []
    with pytest.warns(LimitWarning, match="a threshold on the scores separates the classes"):
        two = ScalingBinning(n_bins=2).fit([0.2, 0.7], [0, 1])
    assert two.transform([0.1, 0.2, 0.3, 0.9]) == pytest.approx([1 / 3, 1 / 3, 2 / 3, 2 / 3])


def test_sentences():
    """What makes no sense is refused with a sentence."""
    with pytest.raises(InputError, match=r"n_bins must be an integer from 1 to 1000000, got 2\.5"):
        ScalingBinning(n_bins=2.5).fit(*binary())
    saved = json.loads(ScalingBinning().fit(*binary()).to_json())
    saved["maps"][0]["means"].pop()
    with pytest.raises(SchemaError, match="there must be one more of the saved means than of the edges"):
        load_recalibrator(json.dumps(saved))


@pytest.mark.parametrize("weight", [0.1, 0.3, 1 / 3, 0.7, 1e-8])
@pytest.mark.parametrize("n", [10, 1001])
def test_equal_weights_below_one(weight, n):
    """Rows of one weight below 1 are halved as rows without weights are: none is divided."""
    w = np.full(n, weight)
    np.testing.assert_array_equal(_by_turns(w, min(1.0, float(w.mean()))), np.where(np.arange(n) % 2, 0.0, weight))
    p, y = binary(n if n > 100 else 200)
    one, other = ScalingBinning().fit(p, y), ScalingBinning().fit(p, y, sample_weight=np.full(len(y), weight))
    np.testing.assert_array_equal(one.maps_[0]["edges"], other.maps_[0]["edges"])
    np.testing.assert_allclose(one.maps_[0]["means"], other.maps_[0]["means"], rtol=1e-9)
