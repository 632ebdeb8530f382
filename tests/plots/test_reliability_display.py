"""The reliability diagram with scikit-learn's constructors, on scikit-learn's own estimators."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import believable
from believable import ReliabilityDisplay
from believable.errors import InputError

X, Y = load_breast_cancer(return_X_y=True)
WORDS = np.where(Y == 1, "benign", "malignant")
MODEL = make_pipeline(StandardScaler(), LogisticRegression())
TRAIN, TEST = np.arange(300), np.arange(300, 569)
FITTED = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[TRAIN], Y[TRAIN])
P = FITTED.predict_proba(X[TEST])[:, 1]
W = np.random.default_rng(0).integers(1, 4, len(Y)).astype(float)


def legend(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_the_same_points_as_scikit_learn():
    """Both constructors draw the points of `CalibrationDisplay`, for the same bins."""
    theirs = CalibrationDisplay.from_predictions(Y[TEST], P, n_bins=7)
    for ours in (
        ReliabilityDisplay.from_predictions(Y[TEST], P, n_bins=7),
        ReliabilityDisplay.from_estimator(FITTED, X[TEST], Y[TEST], n_bins=7),
    ):
        assert np.allclose(ours.prob_pred, theirs.prob_pred)
        assert np.allclose(ours.prob_true, theirs.prob_true)
        assert np.allclose(ours.line_.get_xydata(), np.column_stack([theirs.prob_pred, theirs.prob_true]))
        assert ours.figure_ is ours.ax_.get_figure()
        assert ours.reliability.ece == believable.expected_calibration_error(P, Y[TEST], 7)
        assert ours.fold_lines_ == []


def test_weights_bins_and_the_name_of_the_last_step():
    """Weights and "cube_root" are those of the metric; a pipeline is named after its classifier."""
    display = ReliabilityDisplay.from_estimator(FITTED, X[TEST], Y[TEST], n_bins="cube_root", sample_weight=W[TEST])
    assert display.reliability.ece == believable.expected_calibration_error(P, Y[TEST], 7, sample_weight=W[TEST])
    assert "LogisticRegression, 95 % interval" in legend(display)
    assert "model A, 95 % interval" in legend(display.plot(name="model A"))


@pytest.mark.parametrize("pos_label", ["benign", "malignant", None])
def test_the_positive_label_is_a_word(pos_label):
    """`pos_label` chooses the column and the outcome, by default the second class."""
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[TRAIN], WORDS[TRAIN])
    display = ReliabilityDisplay.from_estimator(model, X[TEST], WORDS[TEST], pos_label=pos_label)
    column = 0 if pos_label == "benign" else 1
    p, y = model.predict_proba(X[TEST])[:, column], WORDS[TEST] == (pos_label or "malignant")
    assert display.reliability.ece == believable.expected_calibration_error(p, y)
    display = ReliabilityDisplay.from_predictions(WORDS[TEST], p, pos_label=pos_label or "malignant")
    assert display.reliability.ece == believable.expected_calibration_error(p, y)


def test_decisions_are_logits_only_if_that_is_asked_for():
    """A logistic regression's decisions are its logits; a machine without probabilities says what to do."""
    for pos_label in (None, 0, 1):
        asked = {"response_method": "decision_function", "pos_label": pos_label}
        decided = ReliabilityDisplay.from_estimator(FITTED, X[TEST], Y[TEST], **asked)
        same = ReliabilityDisplay.from_estimator(FITTED, X[TEST], Y[TEST], pos_label=pos_label)
        assert decided.reliability.ece == pytest.approx(same.reliability.ece, rel=1e-9)
    machine = LinearSVC().fit(X[TRAIN], Y[TRAIN])
    with pytest.raises(InputError, match=r"LinearSVC has no predict_proba.*Recalibrated\(estimator, PlattScaling"):
        ReliabilityDisplay.from_estimator(machine, X[TEST], Y[TEST])
    display = ReliabilityDisplay.from_estimator(machine, X[TEST], Y[TEST], response_method="decision_function")
    p = 1 / (1 + np.exp(-machine.decision_function(X[TEST])))
    assert display.reliability.ece == pytest.approx(believable.expected_calibration_error(p, Y[TEST]), rel=1e-12)
    with pytest.raises(InputError, match="response_method must be one of"):
        ReliabilityDisplay.from_estimator(machine, X[TEST], Y[TEST], response_method="predict")


def test_several_classes():
    """The confidence by default, one class with `pos_label`, by probabilities and by decisions."""
    features, species = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[species]
    model = LogisticRegression(max_iter=1000).fit(features[::2], names[::2])
    matrix, rest = model.predict_proba(features[1::2]), names[1::2]
    display = ReliabilityDisplay.from_estimator(model, features[1::2], rest)
    assert display.reliability.ece == believable.expected_calibration_error(matrix, species[1::2])
    expected = believable.expected_calibration_error(matrix[:, 1], rest == "versicolor")
    for method in ("predict_proba", "decision_function"):
        asked = {"response_method": method, "pos_label": "versicolor"}
        display = ReliabilityDisplay.from_estimator(model, features[1::2], rest, **asked)
        assert display.reliability.ece == pytest.approx(expected, rel=1e-9)
    with pytest.raises(InputError, match=r"pos_label must be one of the classes .*, got 'rose'"):
        ReliabilityDisplay.from_estimator(model, features[1::2], rest, pos_label="rose")
    with pytest.raises(InputError, match="a label is 'rose'"):
        ReliabilityDisplay.from_estimator(model, features[:2], ["setosa", "rose"], pos_label="setosa")


@pytest.mark.parametrize("frame", [False, True])
def test_folds_and_their_mean(frame):
    """Every fold is drawn on its held-out rows, in the bins of all held-out rows, which are the bold line."""
    data, weights = (pd.DataFrame(X), pd.Series(W)) if frame else (X, W)
    labels = pd.Series(WORDS, index=np.arange(len(Y))[::-1]) if frame else WORDS
    model = MODEL.set_params(standardscaler=StandardScaler().set_output(transform="default"))
    found = cross_validate(model, data, labels, cv=4, return_estimator=True, return_indices=True)
    display = ReliabilityDisplay.from_cv_results(found, data, labels, n_bins=4, sample_weight=weights)
    assert len(display.fold_lines_) == 4
    held_out = np.empty(len(Y))
    for estimator, rows, line in zip(found["estimator"], found["indices"]["test"], display.fold_lines_, strict=True):
        held_out[rows] = estimator.predict_proba(X[rows] if not frame else data.iloc[rows])[:, 1]
        own = believable.reliability_table(held_out[rows], WORDS[rows] == "malignant", 4, sample_weight=W[rows])
        full = own.n > 0
        assert np.allclose(line.get_xydata(), np.column_stack([own.conf[full], own.acc[full]]))
    whole = believable.reliability_table(held_out, WORDS == "malignant", 4, sample_weight=W)
    assert np.allclose(display.line_.get_xydata(), np.column_stack([whole.conf, whole.acc]))
    assert legend(display)[0] == "Each of 4 folds"


def test_what_is_no_result_of_a_cross_validation():
    """Missing keys, other rows and folds without a class are named."""
    found = cross_validate(MODEL, X, Y, cv=3, return_estimator=True)
    with pytest.raises(InputError, match=r"cv_results has no 'indices': pass what cross_validate\(\.\.\., return_est"):
        ReliabilityDisplay.from_cv_results(found, X, Y)
    with pytest.raises(InputError, match="cv_results has no 'estimator'"):
        ReliabilityDisplay.from_cv_results([1, 2], X, Y)
    asked = {"return_estimator": True, "return_indices": True}
    found = cross_validate(MODEL, X, Y, cv=3, **asked)
    with pytest.raises(InputError, match="X has 100 rows, but the folds were made of 569"):
        ReliabilityDisplay.from_cv_results(found, X[:100], Y[:100])
    features, species = load_iris(return_X_y=True)
    found = cross_validate(LogisticRegression(max_iter=1000), features, species, cv=KFold(3), **asked)
    with pytest.raises(InputError, match=r"fold 1 knows the classes .*: use stratified folds"):
        ReliabilityDisplay.from_cv_results(found, features, species)


def test_folds_may_leave_rows_out():
    """A random split that uses part of the rows is drawn too."""
    splits = ShuffleSplit(3, train_size=0.3, test_size=0.2, random_state=0)
    found = cross_validate(MODEL, X, Y, cv=splits, return_estimator=True, return_indices=True)
    display = ReliabilityDisplay.from_cv_results(found, X, Y, n_bins=3)
    assert display.reliability.table.n.sum() == 3 * 114


def test_two_models_share_an_ax():
    """A second display on the same ax is a second model; the lines of the first are found after that."""
    ax = Figure().subplots()
    first = ReliabilityDisplay.from_predictions(Y[TEST], P, ax=ax, name="first")
    second = ReliabilityDisplay.from_predictions(Y[TEST], P**2, ax=ax, name="second")
    assert first.ax_ is second.ax_ is ax
    assert first.line_ is not second.line_
    assert np.allclose(first.line_.get_ydata(), first.prob_true)
    assert np.allclose(second.line_.get_ydata(), second.prob_true)
    first.line_.set_linewidth(4)
    assert [text.split(",")[0] for text in legend(second)[:2]] == ["first", "second"]


def test_the_order_of_labels_and_scores():
    """The usual order of this package is refused here, with the right one."""
    with pytest.raises(InputError, match=r"y_true comes first here, as in scikit-learn"):
        ReliabilityDisplay.from_predictions(P, Y[TEST])
    with pytest.raises(InputError, match="made of a Reliability"):
        ReliabilityDisplay(P)


def test_the_scorer_takes_a_response_method():
    """Decisions are scored as logits where that is asked for."""
    scorer = believable.scorer("brier", response_method="decision_function")
    assert scorer(FITTED, X[TEST], Y[TEST]) == pytest.approx(-np.mean((P - Y[TEST]) ** 2), rel=1e-9)
    with pytest.raises(InputError, match="response_method must be one of"):
        believable.scorer("brier", response_method="predict")
