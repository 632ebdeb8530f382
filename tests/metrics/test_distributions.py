"""One-hot labels, and distributions over classes as outcomes."""

from math import fsum, inf, log

import numpy as np
import pytest

import believable
from believable import (
    METRICS,
    Predictions,
    brier_score,
    compare,
    evaluate,
    interval,
    negative_log_likelihood,
    noise_floor,
)
from believable.errors import BelievableError, InputError, UndefinedError
from tests.metrics.literal import close

RNG = np.random.default_rng(7)
N, K = 150, 4
P = RNG.dirichlet(np.full(K, 0.7), N)
VOTES = RNG.multinomial(5, [0.4, 0.3, 0.2, 0.1], N)
SHARES = VOTES / 5
WEIGHTS = RNG.random(N)
LABELS = RNG.integers(0, K, N)
SUMS = (
    "accuracy",
    "brier_score",
    "brier_skill_score",
    "mean_confidence",
    "mean_entropy",
    "negative_log_likelihood",
    "sharpness",
)


def expected(score, weights=None):
    """The mean over rows of the expected score under the row's distribution."""
    terms = [fsum(SHARES[i, k] * score(P[i], k) for k in range(K) if SHARES[i, k] > 0) for i in range(N)]
    weights = np.ones(N) if weights is None else weights
    return fsum(w * x for w, x in zip(weights, terms, strict=True)) / fsum(weights)


def brier(p, label):
    return fsum((p[k] - (k == label)) ** 2 for k in range(K))


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_the_score_is_its_expectation(weights):
    """Brier score, log loss and accuracy are means over the labels that the distribution gives."""
    data = Predictions(P, SHARES, soft_labels=True, sample_weight=weights)
    assert brier_score(data) == close(expected(brier, weights))
    assert negative_log_likelihood(data) == close(expected(lambda p, k: -log(p[k]), weights))
    assert believable.accuracy(data) == close(expected(lambda p, k: p.argmax() == k, weights))
    assert brier_score(data, reduction="none")[3] == close(fsum(SHARES[3, k] * brier(P[3], k) for k in range(K)))
    clipped = negative_log_likelihood(data, eps=0.1)
    assert clipped == close(expected(lambda p, k: -log(min(max(p[k], 0.1), 0.9)), weights))


def test_annotators_one_by_one():
    """Shares of five annotators are five rows, one for each of them, in every sum over rows."""
    of_row, label = np.nonzero(VOTES)
    each = Predictions(P[of_row], label, sample_weight=VOTES[of_row, label] / 5)
    data = Predictions(P, SHARES, soft_labels=True)
    assert dict(evaluate(data, metrics=SUMS)) == {
        name: close(value) for name, value in evaluate(each, metrics=SUMS).items()
    }


def test_one_hot_distributions_are_labels():
    """A distribution with all its weight on one class gives the number of that label."""
    hot = Predictions(P, np.eye(K)[LABELS], soft_labels=True)
    assert dict(evaluate(hot, metrics=SUMS)) == {
        name: close(value) for name, value in evaluate(P, LABELS, metrics=SUMS).items()
    }
    zero = [[0.0, 1.0], [0.5, 0.5]]
    assert negative_log_likelihood(Predictions(zero, [[0.0, 1.0], [0.5, 0.5]], soft_labels=True)) == close(log(2) / 2)
    assert negative_log_likelihood(Predictions(zero, [[0.1, 0.9], [0.5, 0.5]], soft_labels=True)) == inf


def test_whatever_needs_a_label_says_so():
    """Sums over rows accept distributions; every other metric refuses with the reason, and so do other functions."""
    data = Predictions(P, SHARES, soft_labels=True)
    result = evaluate(data, metrics=METRICS)
    assert set(result) == set(SUMS)
    said = "this needs one label per row, but the outcomes are distributions over classes"
    assert {reason for name, reason in result.skipped.items() if "multiclass" in METRICS[name].kinds} == {
        reason for reason in result.skipped.values() if reason.startswith(said)
    }
    for call in (
        believable.verdict,
        believable.audit,
        believable.reliability_table,
        believable.calibrate,
        believable.Summary.of,
    ):
        with pytest.raises(BelievableError, match=said):
            call(data)
    meter = believable.CalibrationMeter(soft_labels=True)
    with pytest.raises(BelievableError, match=said):
        meter.update(P, SHARES)


def test_inference_of_distributions():
    """Intervals, noise floors and comparisons of scores take distributions; rows can be picked."""
    data = Predictions(P, SHARES, soft_labels=True)
    found = interval("brier", data, random_state=0)
    assert found.low < found.value == brier_score(data) < found.high
    assert noise_floor("nll", data, n_resamples=50, random_state=0).value == negative_log_likelihood(data)
    other = Predictions(RNG.dirichlet(np.ones(K), N), SHARES, soft_labels=True)
    assert compare(data, other, metric="brier", random_state=0).difference == brier_score(data) - brier_score(other)
    assert brier_score(data.take(np.arange(10))) == close(brier_score(data, reduction="none")[:10].mean())


@pytest.mark.parametrize("dtype", [int, bool, float, np.float32, np.uint8])
def test_one_hot(dtype):
    """One-hot rows are labels, for every metric."""
    hot = Predictions(P, np.eye(K)[LABELS].astype(dtype), one_hot=True, sample_weight=WEIGHTS)
    assert hot.labels.tolist() == LABELS.tolist()
    assert dict(evaluate(hot)) == dict(evaluate(P, LABELS, sample_weight=WEIGHTS))
    assert Predictions(P, np.eye(K)[LABELS], one_hot=True, classes=list("abcd")).class_name(2) == "c"


TWICE = np.eye(K)[LABELS]
TWICE[17] = [1, 0, 1, 0]
NONE = np.eye(K)[LABELS]
NONE[5] = 0
MISSING = np.eye(K)[LABELS]
MISSING[4, 2] = np.nan


@pytest.mark.parametrize(
    ("options", "labels", "said"),
    [
        (
            {"one_hot": True},
            TWICE,
            "actuals must have a single 1 in each row with one_hot=True, got 2 at row 17; pass ",
        ),
        ({"one_hot": True}, NONE, "actuals must have a single 1 in each row with one_hot=True, got 0 at row 5"),
        (
            {"one_hot": True},
            SHARES,
            "actuals must be 0 or 1 with one_hot=True, got 0.* pass Predictions.*soft_labels=True",
        ),
        ({"one_hot": True}, MISSING, "missing label at row 4"),
        (
            {"one_hot": True},
            LABELS,
            r"one entry for each row and class, of the shape \(150, 4\) of the predictions, got",
        ),
        ({"one_hot": True}, np.eye(K + 1)[LABELS], r"of the shape \(150, 4\) of the predictions, got \(150, 5\)"),
        ({"one_hot": True, "soft_labels": True}, SHARES, "pass only one of one_hot and soft_labels"),
        ({"one_hot": True, "multilabel": True}, SHARES, "one_hot cannot be combined with multilabel=True"),
        ({"soft_labels": True, "multilabel": True}, SHARES, "soft_labels cannot be combined with multilabel=True"),
        ({"soft_labels": True, "ignore_label": 9}, SHARES, "ignore_label needs one label per row: drop the rows first"),
        (
            {"soft_labels": True},
            VOTES,
            "soft labels must lie in .0, 1., got .* divide counts by their sum in each row, and pass the sums as sample_weight$",
        ),
        ({"soft_labels": True}, SHARES / 2, "rows of soft labels must sum to 1, got 0.5 at row 0"),
        ({"soft_labels": True}, MISSING, "soft labels must be finite, got NaN .missing. at row 4"),
        ({"soft_labels": True}, LABELS, r"one entry for each row and class"),
        (
            {},
            SHARES,
            r"pass actuals.argmax\(axis=1\) or Predictions\(..., one_hot=True\) for one-hot rows, Predictions",
        ),
    ],
)
def test_bad_rows(options, labels, said):
    """Every row is checked, and the sentence says which one is wrong and what to do."""
    with pytest.raises(InputError, match=said):
        Predictions(P, labels, **options)


def test_one_score_per_row_is_not_one_hot():
    """One-hot rows need a column per class."""
    with pytest.raises(InputError, match="one_hot=True needs predictions with one column per class"):
        Predictions([0.1, 0.8], [0, 1], one_hot=True)
    with pytest.raises(UndefinedError, match="pass the most frequent class of each row, or a row for each annotator"):
        Predictions(P, SHARES, soft_labels=True).labels  # noqa: B018 - reading it raises
