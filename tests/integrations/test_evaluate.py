"""Hugging Face `evaluate`: metrics made directly and loaded from the package's file, without a network."""

from __future__ import annotations

import doctest
import socket

import numpy as np
import pytest

import believable
from believable.errors import InputError
from tests.needs import need

evaluate = need("evaluate")

from believable.integrations import evaluate as ours  # noqa: E402
from believable.integrations.evaluate import calibration_metric, module_path  # noqa: E402

RNG = np.random.default_rng(0)
P = RNG.random(400)
Y = (RNG.random(400) < P**1.3).astype(int)
W = RNG.random(400)
Q = RNG.dirichlet([1, 1, 1], 400)
K = RNG.integers(0, 3, 400)


@pytest.fixture(autouse=True)
def _own_folders_and_no_network(tmp_path, monkeypatch):
    """Temporary data and loaded scripts go into the test's folder; a connection is an error."""
    monkeypatch.setattr(evaluate.config, "HF_METRICS_CACHE", str(tmp_path / "metrics"))
    monkeypatch.setattr(evaluate.config, "HF_MODULES_CACHE", str(tmp_path / "modules"))

    def refused(*args, **options):
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refused)


def loaded(metric="ece", **options):
    return evaluate.load(module_path(), metric, **options)


@pytest.mark.parametrize("make", [calibration_metric, loaded])
def test_values_are_those_of_the_library(make):
    """For one event and for several classes, with options and with weights."""
    for weight in (None, W):
        found = make("ece", n_bins=15).compute(predictions=P, references=Y, sample_weight=weight)
        expected = believable.expected_calibration_error(P, Y, 15, sample_weight=weight)
        assert found == {"expected_calibration_error": pytest.approx(expected, abs=1e-15)}
        found = make("brier").compute(predictions=Q, references=K, sample_weight=weight)
        expected = believable.brier_score(Q, K, sample_weight=weight)
        assert found == {"brier_score": pytest.approx(expected, abs=1e-15)}
    logits = np.log(P / (1 - P))
    found = make("nll", from_logits=True).compute(predictions=logits, references=Y)
    assert found["negative_log_likelihood"] == pytest.approx(believable.negative_log_likelihood(P, Y), rel=1e-12)


@pytest.mark.parametrize("options", [{}, {"keep_in_memory": True}])
def test_rows_one_by_one_and_in_batches(options):
    """`add` and `add_batch`, also with arrays, lists and matrices; the metric can be used again."""
    expected = believable.expected_calibration_error(P, Y)
    metric = calibration_metric("ece", **options)
    for _ in range(2):
        for part in np.array_split(np.arange(400), 7):
            metric.add_batch(predictions=P[part].tolist(), references=Y[part])
        assert metric.compute()["expected_calibration_error"] == pytest.approx(expected, abs=1e-15)
    for p, y in zip(P[:50], Y[:50], strict=True):
        metric.add(prediction=p, reference=y)
    expected = believable.expected_calibration_error(P[:50], Y[:50])
    assert metric.compute()["expected_calibration_error"] == pytest.approx(expected, abs=1e-15)
    sce = calibration_metric("sce", **options)
    for part in np.array_split(np.arange(400), 7):
        sce.add_batch(predictions=Q[part], references=K[part])
    expected = believable.static_calibration_error(Q, K)
    assert sce.compute()["static_calibration_error"] == pytest.approx(expected, abs=1e-15)


def test_combined():
    """`evaluate.combine` computes several at once, also the same one with other options."""
    both = evaluate.combine([calibration_metric("ece"), loaded("brier")])
    found = both.compute(predictions=P, references=Y, sample_weight=W)
    assert found["brier_score"] == pytest.approx(believable.brier_score(P, Y, sample_weight=W), abs=1e-15)
    assert set(found) == {"expected_calibration_error", "brier_score"}
    twice = evaluate.combine({"few": calibration_metric("ece", n_bins=5), "many": calibration_metric("ece", n_bins=50)})
    found = twice.compute(predictions=P, references=Y)
    for name, n_bins in (("few", 5), ("many", 50)):
        expected = believable.expected_calibration_error(P, Y, n_bins)
        assert found[f"{name}_expected_calibration_error"] == pytest.approx(expected, abs=1e-15)


def test_labels_of_other_types():
    """Truth values, floats and text; classes by name."""
    expected = pytest.approx(believable.brier_score(P, Y), abs=1e-15)
    metric = calibration_metric("brier")
    for labels in (Y.astype(bool), Y.astype(float), Y.astype(np.int8)):
        assert metric.compute(predictions=P, references=labels)["brier_score"] == expected
    words = np.where(Y == 1, "spam", "ham").tolist()
    assert metric.compute(predictions=P, references=words, pos_label="spam")["brier_score"] == expected
    names = np.array(["a", "b", "c"])
    found = metric.compute(predictions=Q, references=names[K].tolist(), classes=["a", "b", "c"])
    assert found["brier_score"] == pytest.approx(believable.brier_score(Q, K), abs=1e-15)


def test_wrong_uses_are_named():
    """One sentence each; a label of 0.7 does not become 0."""
    with pytest.raises(InputError, match="there is no metric 'f1'"):
        loaded("f1")
    with pytest.raises(InputError, match="has no option 'bins'"):
        calibration_metric("ece", bins=3)
    metric = calibration_metric("ece")
    with pytest.raises(InputError, match=r"actuals must be whole numbers, got 0.7 at row 0"):
        metric.compute(predictions=[0.1, 0.2], references=[0.7, 0])
    with pytest.raises(InputError, match="one probability per class in every row, got rows of 1 to 2"):
        metric.compute(predictions=[[0.1, 0.9], [0.2]], references=[1, 0])
    with pytest.raises(InputError, match=r"must lie in \[0, 1\], got 3.2 at row 0; these look like logits"):
        metric.compute(predictions=[3.2, -1.5], references=[1, 0])
    with pytest.raises(ValueError, match="Mismatch in the number"):
        calibration_metric("ece").compute(predictions=[0.2, 0.3], references=[1])


def test_it_describes_itself():
    """What `evaluate` shows of a metric."""
    metric = loaded("brier")
    assert metric.description == "Mean squared difference between predicted probability and outcome."
    assert "Brier" in metric.citation
    assert "sample_weight (optional)" in metric.inputs_description


def test_examples():
    """The docstrings' examples hold."""
    assert doctest.testmod(ours).failed == 0
