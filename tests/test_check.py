"""Bad input gets a sentence that says what, where and what to do."""

from __future__ import annotations

import re

import numpy as np
import pytest

import believable
from believable import BinStats, Predictions, View, expected_calibration_error
from believable.errors import BelievableError, InputError

P = np.linspace(0.05, 0.95, 30)
Y = np.tile([0, 1, 1], 10)
M = np.tile([0.7, 0.2, 0.1], (30, 1))


def with_value(array, value, row=17):
    changed = np.array(array, dtype=float)
    changed[row] = value
    return changed


REFUSED = {
    "logits": (
        (with_value(P, 3.2), Y),
        "predictions must lie in [0, 1], got 3.2 at row 17; these look like logits: pass Predictions(..., from_logits=True)",
    ),
    "percentages": (
        (100 * P, Y),
        "predictions must lie in [0, 1], got 5 at row 0; these look like percentages: divide by 100",
    ),
    "slightly negative": (
        (with_value(P, -1e-7), Y),
        "predictions must lie in [0, 1], got -1e-07 at row 17; if this is a rounding error, clip them to [0, 1] first",
    ),
    "negative": ((with_value(P, -0.2), Y), "predictions must lie in [0, 1], got -0.2 at row 17"),
    "nan": (
        (with_value(P, np.nan), Y),
        "predictions must be finite, got NaN (missing) at row 17; drop or repair such rows first",
    ),
    "infinite": ((with_value(P, np.inf), Y), "predictions must be finite, got inf at row 17"),
    "swapped": ((Y, P), "the arguments look swapped: the order is (predictions, actuals), scores first"),
    "swapped matrix": ((np.tile([0, 1, 2], 10), M), "the arguments look swapped"),
    "empty": (([], []), "predictions are empty: there is nothing to measure"),
    "lengths": ((P, Y[:-1]), "predictions and actuals differ in length: 30 and 29"),
    "one column": (
        (P[:, None], Y),
        "predictions have shape (30, 1): one column is ambiguous; pass predictions.ravel()",
    ),
    "three axes": (
        (M[None], Y),
        "predictions must be 1-D (binary) or 2-D (one column per class), got shape (1, 30, 3)",
    ),
    "column of labels": ((P, Y[:, None]), "actuals must be 1-D, got shape (30, 1); pass actuals.ravel()"),
    "one-hot labels": (
        (M, np.eye(3, dtype=int)[Y]),
        "pass actuals.argmax(axis=1) or Predictions(..., one_hot=True) for one-hot rows",
    ),
    "row sums": (
        (with_value(M, [0.7, 0.2, 0.2]), Y),
        "rows of predictions must sum to 1, got 1.1 at row 17; divide by the row sums",
    ),
    "label out of range": ((M, np.full(30, 3)), "actuals must be integers 0..2, got 3 at row 0"),
    "minus one": (
        (P, np.where(Y == 0, -1, 1)),
        "actuals must be 0 or 1, got -1 at row 0; pass Predictions(..., pos_label=...)",
    ),
    "text labels": (
        (P, ["no"] * 30),
        "actuals must be 0 or 1, got 'no' at row 0; pass Predictions(..., pos_label",
    ),
    "soft labels": (
        (P, with_value(Y, 0.5)),
        "actuals must be whole numbers, got 0.5 at row 17; pass Predictions(..., pos",
    ),
    "missing label": ((P, with_value(Y, np.nan)), "actuals have a missing label at row 17"),
    "null label": ((P, [None, *Y[1:].tolist()]), "actuals have a missing label at row 0"),
    "text scores": ((["0.1"] * 30, Y), "predictions must be numbers, got text"),
    "text among scores": (([0.5] * 29 + ["0.5"], Y), "predictions must be numbers"),
    "complex scores": ((P + 0j, Y), "predictions must be numbers, got values of type complex128"),
    "ragged": (([[0.5, 0.5], [1.0]], [0, 1]), "predictions cannot be read as an array of numbers"),
    "no actuals": ((P,), "actuals are missing"),
}


@pytest.mark.parametrize(("arguments", "sentence"), REFUSED.values(), ids=REFUSED)
def test_bad_input_is_refused_with_a_sentence(arguments, sentence):
    """What is wrong, the row, and the way out stand in the message."""
    with pytest.raises(InputError, match=re.escape(sentence)):
        expected_calibration_error(*arguments)


WEIGHTS = {
    "negative": (with_value(np.ones(30), -1), "sample_weight must not be negative, got -1 at row 17"),
    "nan": (with_value(np.ones(30), np.nan), "sample_weight must be finite, got NaN (missing) at row 17"),
    "all zero": (np.zeros(30), "sample_weight is zero in every row"),
    "length": (np.ones(29), "sample_weight must be one number per row, 30 of them, got shape (29,)"),
    "huge": (np.full(30, 1e200), "sample_weight reaches 1e+200"),
}


@pytest.mark.parametrize(("weights", "sentence"), WEIGHTS.values(), ids=WEIGHTS)
def test_bad_weights_are_refused(weights, sentence):
    """Weights are finite, not negative, not all zero, and as many as the rows."""
    with pytest.raises(InputError, match=re.escape(sentence)):
        expected_calibration_error(P, Y, sample_weight=weights)


CHOICES = {
    "strategy": ({"strategy": "equal"}, "strategy must be one of 'uniform', 'quantile', got 'equal'"),
    "notion": ({"notion": "top"}, "notion must be one of 'binary'"),
    "n_bins zero": ({"n_bins": 0}, "n_bins must be an integer from 1 to 1000000, got 0"),
    "n_bins fraction": ({"n_bins": 10.0}, "n_bins must be an integer"),
    "n_bins bool": ({"n_bins": True}, "n_bins must be an integer"),
    "norm below one": ({"norm": 0.5}, "norm must be a number from 1 to inf, got 0.5"),
    "norm word": ({"norm": "l3"}, "norm must be a number of at least 1, or 'l1', 'l2' or 'max', got 'l3'"),
    "threshold": ({"threshold": 2}, "threshold must be a number from 0 to 1, got 2"),
    "r without rank": ({"r": 2}, "r is for the notions"),
    "edges": ({"edges": [0, 0.5, 0.4, 1]}, "edges must increase"),
    "edges ends": ({"edges": [0.1, 0.5, 1]}, "edges must be at least two numbers that begin with 0 and end with 1"),
    "convention": ({"convention": "sklearn"}, "convention must be one of 'scikit-learn'"),
    "notion of vector": ({"notion": "classwise"}, "notion='classwise' needs a matrix of predictions, got 1-D scores"),
    "confidence of vector": ({"notion": "confidence"}, "pass the two columns numpy.column_stack([1 - p, p])"),
}


@pytest.mark.parametrize(("options", "sentence"), CHOICES.values(), ids=CHOICES)
def test_bad_choices_are_refused(options, sentence):
    """A choice that does not exist is named, with those that do."""
    with pytest.raises(InputError, match=re.escape(sentence)):
        expected_calibration_error(P, Y, **options)


@pytest.mark.parametrize(
    "name", ["static_calibration_error", "marginal_calibration_error", "top_label_calibration_error", "classwise_ece"]
)
def test_metrics_of_classes_refuse_one_column(name):
    """What is defined class by class is an error for 1-D scores."""
    with pytest.raises(InputError, match="needs a matrix of predictions"):
        getattr(believable, name)(P, Y)


def test_a_value_stands_for_both_arguments():
    """With a Predictions or a statistic, actuals and weights are left out."""
    value = Predictions(P, Y)
    with pytest.raises(InputError, match="a Predictions already holds its actuals"):
        expected_calibration_error(value, Y)
    with pytest.raises(InputError, match="already holds its weights"):
        expected_calibration_error(value, sample_weight=np.ones(30))
    with pytest.raises(InputError, match="a BinStats already contains outcomes and weights: leave actuals out"):
        expected_calibration_error(BinStats.of(value), Y)


def test_rows_are_counted_in_the_input():
    """The row in a message is the row that was passed in, also after rows were dropped."""
    labels = Y.copy()
    labels[3] = -100
    with pytest.raises(InputError, match=r"got NaN \(missing\) at row 17"):
        Predictions(with_value(P, np.nan), labels, ignore_label=-100)


def test_errors_have_one_root():
    """Every error of the package can be caught as BelievableError, and bad input as ValueError."""
    assert issubclass(InputError, BelievableError)
    assert issubclass(InputError, ValueError)


def test_an_argument_by_the_name_it_had():
    """`groups` still works where clusters are named, with a word about it; both names at once do not."""
    p, y, clusters = [0.1, 0.4, 0.6, 0.9] * 10, [0, 0, 1, 1] * 10, list(range(20)) * 2
    expected = believable.interval("brier", p, y, clusters=clusters, random_state=0)
    with pytest.warns(FutureWarning, match="^groups is now called clusters$"):
        assert believable.interval("brier", p, y, groups=clusters, random_state=0) == expected
    with pytest.raises(InputError, match="groups is now called clusters: leave groups out"):
        believable.interval("brier", p, y, groups=clusters, clusters=clusters)


def test_a_class_or_rank_by_the_name_it_had():
    """A stratum was called a group: old names still work, with a word about it, and saved forms are as they were."""
    data = Predictions([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3]], [0, 2])
    stats = BinStats.of(data, data.view("classwise"))
    with pytest.warns(FutureWarning, match="^only_group is now called only_stratum$"):
        one = stats.only_group(1)
    with pytest.warns(FutureWarning, match="^group is now called stratum$"):
        assert (one.view.group, View("classwise", 3, group=1)) == (1, one.view)
    with pytest.warns(FutureWarning, match="^n_groups is now called n_strata$"):
        assert stats.view.n_groups == 3
    with pytest.warns(FutureWarning, match="^group is now called stratum$"):
        assert believable.reliability_table(data, notion="classwise", n_bins=2).group.tolist() == [0, 0, 1, 1, 2, 2]
    assert one.to_dict()["view"]["group"] == 1
    assert BinStats.from_dict(one.to_dict()).view == one.view


THREE = "for confidences, predicted classes and labels, pass (confidences, predictions == labels)"


@pytest.mark.parametrize("labels", [Y, Y.tolist(), np.where(Y, "cat", "dog")], ids=["0/1", "list", "text"])
@pytest.mark.parametrize(
    "name",
    ["expected_calibration_error", "adaptive_calibration_error", "maximum_calibration_error", "verdict", "audit"],
)
def test_three_arrays(name, labels):
    """(confidences, predictions, labels), the order of many tutorials, gets an error that says what to pass instead."""
    with pytest.raises(InputError) as caught:
        getattr(believable, name)(P, labels, labels)
    assert str(caught.value) == f"n_bins must be one number, got an array of 30; {THREE}"


def test_three_arrays_of_other_functions():
    """Functions that compute several metrics, or count bins, say it too; other arguments say only what they take."""
    with pytest.raises(
        InputError, match=r"metrics must be names of metrics, got .*; for confidences, predicted classes"
    ):
        believable.evaluate(P, Y, Y)
    for function in (believable.reliability_table, believable.calibration_curve, believable.plot_reliability_diagram):
        with pytest.raises(InputError, match=re.escape(f"got an array of 30; {THREE}")):
            function(P, Y, Y)
    with pytest.raises(InputError, match=r"n_resamples must be one number, got an array of 2$"):
        believable.interval("ece", P, Y, n_resamples=[100, 200])
    with pytest.raises(InputError, match=r"n_bins must be an integer from 1 to 1000000, got array\(3\)"):
        expected_calibration_error(P, Y, np.array(3))
