"""Real predictions, where BELIEVABLE_DATA names a folder of them: facts that are known about them."""

from __future__ import annotations

import numpy as np
import pytest

import believable
from believable import CellStats, Predictions
from believable.recalibrate import TemperatureScaling
from tests.needs import real_data

MATRICES = ["cifar10_lenet5", "cifar10_vgg16", "cifar100_wrn16_4", "digits_gnb", "digits_lr", "fte_worldcup3"]
VECTORS = ["fte_nfl", "fte_nhl", "calzone_mis", "breast_lr", "breast_rf"]


def load(name):
    saved = np.load(real_data() / f"{name}.npz")
    return saved["probs64" if "probs64" in saved else "probs"], saved["labels"]


def literal_ece(confidence, correct, n_bins):
    """The textbook loop, in the type of the scores."""
    error = 0.0
    for m in range(1, n_bins + 1):
        low, high = (confidence.dtype.type(k / n_bins) for k in (m - 1, m))
        inside = (confidence > low) & (confidence <= high) | ((confidence == 0) & (m == 1))
        if inside.any():
            gap = correct[inside].astype(float).mean() - confidence[inside].astype(float).mean()
            error += inside.mean() * abs(gap)
    return error


@pytest.mark.parametrize("name", MATRICES + VECTORS)
@pytest.mark.parametrize("n_bins", [10, 15])
def test_ece_is_the_textbook_loop(name, n_bins):
    """On real scores too, binary or confidence."""
    scores, labels = load(name)
    top = scores if scores.ndim == 1 else scores.max(axis=1)
    right = labels if scores.ndim == 1 else scores.argmax(axis=1) == labels
    expected = literal_ece(top, right, n_bins)
    assert believable.expected_calibration_error(scores, labels, n_bins) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("name", MATRICES)
def test_classes_one_by_one(name):
    """The class-wise error is the mean over classes of the binary one."""
    scores, labels = load(name)
    overall, per_class = believable.classwise_ece(scores, labels, 15)
    each = [literal_ece(np.ascontiguousarray(scores[:, k]), labels == k, 15) for k in range(scores.shape[1])]
    assert per_class == pytest.approx(each, rel=1e-10)
    assert overall == pytest.approx(np.mean(each), rel=1e-10)


@pytest.mark.parametrize("name", MATRICES + VECTORS)
def test_everything_can_be_evaluated(name):
    """Every metric is in its range, and cells give the same errors as the data."""
    data = Predictions(*load(name))
    for metric, value in believable.evaluate(data).items():
        row = believable.METRICS[metric]
        assert row.low <= value <= row.high
    cells = CellStats.of(data)
    for n_bins in (10, 15, 25):
        assert believable.expected_calibration_error(cells, n_bins=n_bins) == pytest.approx(
            believable.expected_calibration_error(data, n_bins=n_bins), rel=1e-11
        )


def test_known_facts():
    """LeNet-5 and naive Bayes are over-confident, the logistic model of digits is timid, the NFL forecasts are good."""
    lenet, bayes, logistic, nfl = map(load, ("cifar10_lenet5", "digits_gnb", "digits_lr", "fte_nfl"))
    for scores, labels in (lenet, bayes):
        assert believable.mean_confidence(scores, labels) > believable.accuracy(scores, labels) + 0.05
    assert believable.mean_confidence(*logistic) < believable.accuracy(*logistic) - 0.05
    assert believable.expected_calibration_error(*nfl) < 0.05


@pytest.mark.parametrize("name", ["cifar10_lenet5", "cifar10_vgg16", "digits_lr"])
def test_the_temperature_of_real_networks(name):
    """T is where the literal likelihood is flat, and an over-confident network gets one above 1."""
    scores, labels = load(name)
    logs = np.log(np.maximum(scores.astype(np.float64), 1e-12))
    T = TemperatureScaling().fit(scores, labels).temperature_
    z = logs / T
    q = np.exp(z - z.max(axis=1, keepdims=True))
    q /= q.sum(axis=1, keepdims=True)
    slope = ((q * logs).sum(axis=1) - logs[np.arange(len(labels)), labels]).mean()
    spread = (q * logs**2).sum(axis=1).mean() - ((q * logs).sum(axis=1) ** 2).mean()
    assert abs(slope / spread) * T < 1e-6  # of T; logarithms of float32 scores are taken in float32 there
    if name.startswith("cifar"):
        assert T > 1.05


@pytest.mark.slow
def test_real_scores_are_mended_or_left_alone():
    """Naive Bayes on digits is mended; forecasts of football games are left alone where proof is asked for."""
    options = {"n_resamples": 100}
    digits = believable.calibrate(*load("digits_gnb"), candidates=["temperature", "structured"], **options)
    assert digits.method == "average"
    assert digits.improvement.after["ece"].value < digits.improvement.before["ece"].value / 2
    football = believable.calibrate(*load("fte_nfl"), candidates=["temperature", "platt"], rule="proven", **options)
    assert football.method == "nothing"
