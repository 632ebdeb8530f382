"""The reliability diagram with scikit-learn's constructors, on scikit-learn's own estimators."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

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
    with pytest.raises(InputError, match="the label 'rose' at row 1 is not in classes"):
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


def test_labels_as_a_column_are_refused_for_every_label():
    """A column of labels is no list of labels: it would be compared with `pos_label` row by row, and never be equal."""
    for labels in (Y[TEST][:, None], pd.DataFrame({"y": Y[TEST]})):
        for pos_label in (None, 0, 1):
            with pytest.raises(InputError, match=r"actuals must be 1-D, got shape \(269, 1\)"):
                ReliabilityDisplay.from_estimator(FITTED, X[TEST], labels, pos_label=pos_label)
    several = OneVsRestClassifier(GaussianNB()).fit(X[TRAIN], np.column_stack([Y, 1 - Y, Y])[TRAIN])
    with pytest.raises(InputError, match=r"actuals must be 1-D class labels, got shape \(269, 3\)"):
        ReliabilityDisplay.from_estimator(several, X[TEST], np.column_stack([Y, 1 - Y, Y])[TEST], pos_label=1)


def test_labels_and_weights_belong_together_for_every_label():
    """With `pos_label` too, indexes of labels and weights must agree, and missing labels are named."""
    labels, weights = pd.Series(Y[TEST]), pd.Series(W[TEST])[::-1]
    unknown = labels.astype(object).where(labels.index > 0, None)
    for pos_label in (None, 0, 1):
        asked = {"pos_label": pos_label}
        with pytest.raises(InputError, match="the indexes of actuals and sample_weight differ"):
            ReliabilityDisplay.from_estimator(FITTED, X[TEST], labels, sample_weight=weights, **asked)
        with pytest.raises(InputError, match="missing label at row 0"):
            ReliabilityDisplay.from_estimator(FITTED, X[TEST], unknown, **asked)
        with pytest.raises(InputError, match="actuals must be 1-D"):
            ReliabilityDisplay.from_estimator(FITTED, X[TEST], 1, **asked)


def test_decisions_about_pairs_of_classes_are_refused():
    """Three classes have three pairs, so the shape of the decisions cannot tell pairs from classes."""
    features, species = load_iris(return_X_y=True)
    machine = SVC(decision_function_shape="ovo")
    for model in (machine, make_pipeline(StandardScaler(), machine), GridSearchCV(machine, {"C": [1.0]}, cv=3)):
        with pytest.raises(InputError, match="of SVC compares pairs of classes"):
            ReliabilityDisplay.from_estimator(
                model.fit(features, species), features, species, response_method="decision_function"
            )
    two = machine.fit(X[TRAIN], Y[TRAIN])
    ReliabilityDisplay.from_estimator(two, X[TEST], Y[TEST], response_method="decision_function")


def test_estimators_that_are_none():
    """A class, a classifier of one class, a model that does not name its classes, and one with a single column."""
    with pytest.raises(InputError, match="is the class LogisticRegression: pass a fitted instance"):
        ReliabilityDisplay.from_estimator(LogisticRegression, X, Y)
    one = DummyClassifier().fit(X, np.zeros(len(Y), int))
    with pytest.raises(InputError, match="DummyClassifier was fitted on one class only, 0"):
        ReliabilityDisplay.from_estimator(one, X, Y)

    class Model:
        def predict_proba(self, X):
            return np.full((len(X), 2), 0.5)

    with pytest.raises(InputError, match="Model has no classes_"):
        ReliabilityDisplay.from_estimator(Model(), X, Y)

    class OneColumn:
        classes_ = np.array([0, 1])

        def predict_proba(self, X):
            return FITTED.predict_proba(X)[:, 1]

    display = ReliabilityDisplay.from_estimator(OneColumn(), X[TEST], Y[TEST], pos_label=0)
    assert display.reliability.ece == pytest.approx(believable.expected_calibration_error(1 - P, 1 - Y[TEST]))


def test_labels_and_weights_of_another_length_than_the_folds():
    """Rows of folds are positions, so that labels or weights of another length would be those of other rows."""
    found = cross_validate(MODEL, X, WORDS, cv=3, return_estimator=True, return_indices=True)
    for labels in (WORDS[:300], np.tile(WORDS, 2)):
        with pytest.raises(InputError, match=r"y has (300|1,138) rows, but X has 569"):
            ReliabilityDisplay.from_cv_results(found, X, labels)
    for weights in (W[:300], np.tile(W, 2)):
        with pytest.raises(InputError, match=r"sample_weight has (300|1,138) rows, but X has 569"):
            ReliabilityDisplay.from_cv_results(found, X, WORDS, sample_weight=weights)
    with pytest.raises(InputError, match="y has no rows"):
        ReliabilityDisplay.from_cv_results(found, X, None)
    for labels in (pd.Series(WORDS).array, WORDS.tolist()):  # an extension array of pandas
        display = ReliabilityDisplay.from_cv_results(found, X, labels)
        assert display.prob_true.tolist() == ReliabilityDisplay.from_cv_results(found, X, WORDS).prob_true.tolist()


def test_columns_with_the_names_of_classes():
    """`classes` names the columns, as the errors advise; notions with several curves are for another plot."""
    features, species = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(features, species)
    matrix, names = model.predict_proba(features), np.array(["s", "v", "w"])[species]
    display = ReliabilityDisplay.from_predictions(names, matrix, classes=["s", "v", "w"])
    assert display.reliability.ece == believable.expected_calibration_error(matrix, species)
    with pytest.raises(InputError, match="shows one curve, not notion='classwise': for one class, pass its label"):
        ReliabilityDisplay.from_estimator(model, features, species, notion="classwise")


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
