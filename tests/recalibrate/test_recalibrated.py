"""`Recalibrated`: a classifier and its map as one classifier."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from believable.errors import InputError
from believable.recalibrate import (
    RECALIBRATORS,
    BetaCalibration,
    DirichletCalibration,
    Identity,
    OneVsRest,
    PlattScaling,
    Recalibrated,
    TemperatureScaling,
    VennAbers,
    combine_intervals,
    load_recalibrator,
    select,
)

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")

NAMES = np.array(["ant", "bee", "cat"])


def flowers(n=240, n_classes=3, seed=0):
    """Overlapping classes, and features that repeat each other, so that naive Bayes is over-confident."""
    rng = np.random.default_rng(seed)
    k = np.arange(n) % n_classes
    rng.shuffle(k)
    x = rng.normal(size=(n, 2)) + np.array([[0, 0], [1.2, 0], [0, 1.2]])[k]
    return np.column_stack([x, x + 0.3 * rng.normal(size=x.shape)]), NAMES[k]


BOTH = pytest.mark.parametrize("n_classes", [2, 3])


# --- the definition ---------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(
    ("model", "method", "ask"),
    [
        (GaussianNB(), TemperatureScaling(), "predict_proba"),
        (GaussianNB(), BetaCalibration(), "predict_proba"),
        (LinearDiscriminantAnalysis(), TemperatureScaling(input="logits"), "decision_function"),
        (RidgeClassifier(), PlattScaling(input="scores"), "decision_function"),
    ],
    ids=["temperature", "beta", "temperature of logits", "Platt of scores"],
)
def test_out_of_fold_is_the_literal_loop(n_classes, model, method, ask):
    """The map is learnt from scores by models that have not seen the row, and applied to a model of all rows."""
    X, y = flowers(n_classes=n_classes)
    scores = np.empty((len(y),) if ask == "decision_function" and n_classes == 2 else (len(y), n_classes))
    for train, test in StratifiedKFold(5).split(X, y):
        scores[test] = getattr(clone(model).fit(X[train], y[train]), ask)(X[test])
    by_hand = clone(method).set_params(classes=NAMES[:n_classes]).fit(scores, y)
    final = clone(model).fit(X, y)
    expected = by_hand.predict_proba(getattr(final, ask)(X))

    fitted = Recalibrated(model, method).fit(X, y)
    np.testing.assert_array_equal(fitted.predict_proba(X), expected)
    np.testing.assert_array_equal(fitted.classes_, NAMES[:n_classes])
    np.testing.assert_array_equal(fitted.predict(X), NAMES[expected.argmax(axis=1)])
    np.testing.assert_array_equal(fitted.method_.classes_, NAMES[:n_classes])
    assert fitted.n_features_in_ == 4
    assert len(fitted.estimators_) == len(fitted.methods_) == 1


@BOTH
def test_ensemble_is_the_mean_of_its_folds(n_classes):
    """With ensemble=True each fold keeps a model and the map of the rows it left out; probabilities are averaged."""
    X, y = flowers(n_classes=n_classes)
    parts = []
    for train, test in StratifiedKFold(4).split(X, y):
        model = GaussianNB().fit(X[train], y[train])
        method = PlattScaling(classes=NAMES[:n_classes]).fit(model.predict_proba(X[test]), y[test])
        parts.append(method.predict_proba(model.predict_proba(X)))
    fitted = Recalibrated(GaussianNB(), PlattScaling(), cv=4, ensemble=True).fit(X, y)
    np.testing.assert_allclose(fitted.predict_proba(X), np.mean(parts, axis=0), rtol=1e-14)
    assert len(fitted.estimators_) == len(fitted.methods_) == 4
    for name in ("estimator_", "method_"):
        with pytest.raises(AttributeError, match=f"an ensemble has 4 of them: see {name[:-1]}s_"):
            getattr(fitted, name)


@pytest.mark.parametrize("wrap", [lambda m: Recalibrated(m, cv="prefit"), lambda m: Recalibrated(FrozenEstimator(m))])
def test_prefit_learns_the_map_alone(wrap):
    """A model that is fitted already is asked, never fitted; what is learnt is the map of what it says."""
    X, y = flowers()
    model = GaussianNB().fit(X[:100], y[:100])
    before = pickle.dumps(model)
    fitted = wrap(model).fit(X[100:], y[100:])
    by_hand = TemperatureScaling(classes=model.classes_).fit(model.predict_proba(X[100:]), y[100:])
    np.testing.assert_array_equal(fitted.predict_proba(X), by_hand.predict_proba(model.predict_proba(X)))
    assert pickle.dumps(model) == before
    assert fitted.method_.temperature_ > 1


def test_prefit_keeps_classes_that_the_map_has_not_seen():
    """Classes are the model's, also where the rows of the map lack one."""
    X, y = flowers()
    fitted = Recalibrated(GaussianNB().fit(X, y), cv="prefit").fit(X[y != "bee"], y[y != "bee"])
    assert fitted.classes_.tolist() == NAMES.tolist()
    assert fitted.predict_proba(X).shape == (len(y), 3)


def test_prefit_model_of_another_library():
    """Of a fitted model nothing is needed but classes_ and what the map reads."""

    class Foreign:
        classes_ = ("no", "yes")

        def predict_proba(self, X):
            return np.column_stack([1 - X, X]).astype(np.float32)

    p = np.linspace(0.05, 0.95, 100)
    y = np.where(np.arange(100) % 10 < 10 * p, "yes", "no")
    fitted = Recalibrated(Foreign(), PlattScaling(), cv="prefit").fit(p, y)
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert fitted.predict_proba(p).shape == (100, 2)
    assert not hasattr(fitted, "n_features_in_")


def test_it_helps():
    """Naive Bayes on repeated features loses log loss, and gains it back."""
    X, y = flowers(2000)
    seen, unseen = slice(1000), slice(1000, None)
    alone = GaussianNB().fit(X[seen], y[seen])
    together = Recalibrated(GaussianNB()).fit(X[seen], y[seen])
    gain = log_loss(y[unseen], alone.predict_proba(X[unseen])) - log_loss(y[unseen], together.predict_proba(X[unseen]))
    assert gain > 0.05


@BOTH
@pytest.mark.parametrize("ensemble", [False, True])
def test_agrees_with_scikit_learn(n_classes, ensemble):
    """Platt's targets on decision_function are CalibratedClassifierCV's "sigmoid", up to where its search stops."""
    X, y = flowers(n_classes=n_classes)
    ours = Recalibrated(RidgeClassifier(), PlattScaling(input="scores", targets="smoothed"), ensemble=ensemble)
    theirs = CalibratedClassifierCV(RidgeClassifier(), method="sigmoid", cv=5, ensemble=ensemble)
    np.testing.assert_allclose(ours.fit(X, y).predict_proba(X), theirs.fit(X, y).predict_proba(X), atol=1e-6)


@BOTH
@pytest.mark.filterwarnings("ignore::believable.errors.LimitWarning")  # 240 rows are few for some
@pytest.mark.parametrize("cls", RECALIBRATORS.values(), ids=RECALIBRATORS)
def test_every_recalibrator_is_a_method(cls, n_classes):
    """Whatever is in the table of recalibrators can be the method, with labels of any kind."""
    X, y = flowers(n_classes=n_classes)
    fitted = Recalibrated(GaussianNB(), cls(), cv=3).fit(X, y)
    p = fitted.predict_proba(X)
    assert p.shape == (len(y), n_classes)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    assert set(fitted.predict(X)) <= set(NAMES[:n_classes])
    again = load_recalibrator(fitted.method_.to_json())
    np.testing.assert_array_equal(again.predict_proba(fitted.estimator_.predict_proba(X)), p)


# --- Venn–Abers -------------------------------------------------------------------------------------------------------


def test_intervals_of_one_map():
    """Intervals are those of the map; methods without them leave none."""
    X, y = flowers()
    fitted = Recalibrated(GaussianNB(), VennAbers()).fit(X, y)
    expected = fitted.method_.predict_interval(fitted.estimator_.predict_proba(X))
    np.testing.assert_array_equal(fitted.predict_interval(X), expected)
    assert not hasattr(Recalibrated(GaussianNB()), "predict_interval")


@BOTH
def test_cross_venn_abers(n_classes):
    """An ensemble of Venn–Abers maps averages log-odds, and its intervals hold its points before rows are divided."""
    X, y = flowers(n_classes=n_classes)
    fitted = Recalibrated(GaussianNB(), VennAbers(), cv=3, ensemble=True).fit(X, y)
    each = [m.predict_interval(e.predict_proba(X)) for e, m in zip(fitted.estimators_, fitted.methods_, strict=True)]
    low, high = np.moveaxis(each, -1, 0)
    p = combine_intervals(low, high)
    p = np.column_stack([1 - p, p]) if n_classes == 2 else p / p.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fitted.predict_proba(X), p, rtol=1e-14)
    low, high = np.moveaxis(fitted.predict_interval(X), -1, 0)
    point = combine_intervals(*np.moveaxis(each, -1, 0))
    if n_classes == 2:
        assert (low <= p[:, 1]).all()
        assert (p[:, 1] <= high).all()
    assert low.shape == ((len(y),) if n_classes == 2 else (len(y), 3))
    assert (low <= point).all()
    assert (point <= high).all()


# --- rows, groups, weights --------------------------------------------------------------------------------------------


class Rememberer(ClassifierMixin, BaseEstimator):
    """It knows whom it has seen (the first column of X says who a row is), and refuses to be asked about them."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.seen_ = set(X[:, 0])
        return self

    def predict_proba(self, X):
        assert not self.seen_ & set(X[:, 0]), "asked about a group it was fitted to"
        p = 1 / (1 + np.exp(-X[:, 1]))
        return np.column_stack([1 - p, p])


@pytest.mark.parametrize("ensemble", [False, True])
@pytest.mark.parametrize("cv", [3, GroupKFold(4), StratifiedGroupKFold(3, shuffle=True, random_state=1)])
def test_groups_are_never_split(cv, ensemble):
    """No model is asked in fitting about a row of a group that it was fitted to."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 5)
    X = np.column_stack([groups, rng.normal(size=200)])
    y = rng.random(200) < 0.5
    model = Recalibrated(Rememberer(), PlattScaling(), cv=cv, ensemble=ensemble)
    assert hasattr(model.fit(X, y, groups=groups), "classes_")
    with pytest.raises(
        InputError, match=r"fold 0 of cv has the group \d+ in both its training and its test rows; use a splitter"
    ):
        model.set_params(cv=list(StratifiedKFold(3).split(X, y))).fit(X, y, groups=groups)


@pytest.mark.parametrize("ensemble", [False, True])
def test_weight_two_is_the_row_twice(ensemble):
    """Weights are repetitions, in the model and in the map, given the same folds; weight 0 is no row."""
    X, y = flowers()
    rng = np.random.default_rng(1)
    w = rng.integers(0, 3, len(y))
    fold = rng.integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), w)
    splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    again = [(np.flatnonzero(fold[rows] != k), np.flatnonzero(fold[rows] == k)) for k in range(3)]
    weighted = Recalibrated(GaussianNB(), PlattScaling(), cv=splits, ensemble=ensemble).fit(X, y, sample_weight=w)
    repeated = Recalibrated(GaussianNB(), PlattScaling(), cv=again, ensemble=ensemble).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-7)


def test_model_without_weights():
    """Where the model takes no weights they are used for the map alone, and that is said."""
    X, y = flowers()
    w = np.random.default_rng(0).random(len(y))
    with pytest.warns(
        UserWarning, match="fit of KNeighborsClassifier takes no sample_weight: the weights are used for"
    ):
        fitted = Recalibrated(KNeighborsClassifier(20), PlattScaling()).fit(X, y, sample_weight=w)
    plain = Recalibrated(KNeighborsClassifier(20), PlattScaling()).fit(X, y)
    assert (fitted.method_.slope_ != plain.method_.slope_).all()


def test_rows_that_no_fold_tests_do_not_count():
    """With folds that leave rows out, as those of TimeSeriesSplit, the map is learnt from the others."""
    X, y = flowers()
    cv = TimeSeriesSplit(3)
    fitted = Recalibrated(GaussianNB(), cv=cv).fit(X, y)
    asked = [(GaussianNB().fit(X[a], y[a]).predict_proba(X[b]), y[b]) for a, b in cv.split(X)]
    by_hand = TemperatureScaling(classes=NAMES).fit(
        np.concatenate([p for p, _ in asked]), np.concatenate([labels for _, labels in asked])
    )
    assert fitted.method_.temperature_ == by_hand.temperature_


def test_class_that_a_fold_lacks():
    """A class that a model has not seen has the probability 0; for logits there is no such value."""
    X, y = flowers()
    bees = y == "bee"
    half = np.arange(len(y)) % 2 == 0
    cv = [(np.flatnonzero(half & ~bees), np.flatnonzero(~half)), (np.flatnonzero(~half), np.flatnonzero(half))]
    fitted = Recalibrated(GaussianNB(), PlattScaling(), cv=cv).fit(X, y)
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1, rtol=1e-12)
    with pytest.raises(InputError, match="a model was fitted without the class 'bee', so it has no score"):
        Recalibrated(LinearDiscriminantAnalysis(), TemperatureScaling(input="logits"), cv=cv).fit(X, y)


@pytest.mark.parametrize(
    "method",
    [TemperatureScaling(), PlattScaling(), DirichletCalibration(penalty=1), "isotonic", PlattScaling(input="logits")],
)
def test_class_that_a_member_has_not_seen(method):
    """A member of an ensemble gives exactly 0 to a class that its model was fitted without, whatever its method."""
    X, y = flowers()
    bees, half = y == "bee", np.arange(len(y)) % 2 == 0
    cv = [(np.flatnonzero(half & ~bees), np.flatnonzero(~half)), (np.flatnonzero(~half), np.flatnonzero(half))]
    fitted = Recalibrated(LinearDiscriminantAnalysis(), method, cv=cv, ensemble=True).fit(X, y)
    ask = "predict_proba" if not isinstance(method, PlattScaling) or method.input == "probabilities" else None
    blind, sighted = fitted.estimators_
    first, second = fitted.methods_
    assert fitted.classes_.tolist() == ["ant", "bee", "cat"]
    assert first.classes_.tolist() == ["ant", "cat"]
    known = ~half & ~bees
    scores = getattr(blind, ask or "decision_function")
    by_hand = clone(first).fit(scores(X[known]), y[known]).predict_proba(scores(X)) @ [[1, 0, 0], [0, 0, 1]]
    of_second = second.predict_proba(getattr(sighted, ask or "decision_function")(X))
    np.testing.assert_allclose(fitted.predict_proba(X), (by_hand + of_second) / 2, rtol=1e-12)


def test_intervals_of_a_class_that_a_member_has_not_seen():
    """The intervals of such a class are those of the models that know it."""
    X, y = flowers()
    bees, half = y == "bee", np.arange(len(y)) % 2 == 0
    cv = [(np.flatnonzero(half & ~bees), np.flatnonzero(~half)), (np.flatnonzero(~half), np.flatnonzero(half))]
    fitted = Recalibrated(GaussianNB(), VennAbers(), cv=cv, ensemble=True).fit(X, y)
    blind, sighted = fitted.estimators_
    first, second = fitted.methods_
    of_second = second.predict_interval(sighted.predict_proba(X))
    np.testing.assert_allclose(fitted.predict_interval(X)[:, 1], of_second[:, 1], atol=1e-12)
    cats = first.predict_interval(blind.predict_proba(X))
    for at, (k, own) in enumerate([(2, cats), (0, 1 - cats[:, ::-1])]):
        low, high = np.stack([own, of_second[:, k]]).transpose(2, 0, 1)
        p = fitted.predict_interval(X)[:, k]
        np.testing.assert_allclose(p[:, 0], combine_intervals(low, low), atol=1e-12, err_msg=str(at))
        np.testing.assert_allclose(p[:, 1], combine_intervals(high, high), atol=1e-12)
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1, rtol=1e-12)


# --- within scikit-learn ----------------------------------------------------------------------------------------------


def test_full_trees_have_probabilities_of_0_and_1():
    """What `predict_proba` returns is taken as it is, so a map may be learnt from zeros and ones."""
    X, y = make_classification(400, 5, flip_y=0.3, random_state=0)
    model = Recalibrated(DecisionTreeClassifier(random_state=0), "platt").fit(X, y)
    assert set(model.estimator_.predict_proba(X).ravel()) == {0.0, 1.0}
    assert model.predict_proba(X).min() > 0.05
    assert model.predict_proba(X).max() < 0.95


def test_grid_search_over_methods():
    """Methods, and settings of a method, are parameters like others."""
    X, y = flowers()
    grid = [{"method": [TemperatureScaling(), BetaCalibration()], "estimator__var_smoothing": [1e-9, 1e-2]}]
    search = GridSearchCV(Recalibrated(GaussianNB(), cv=3), grid, scoring="neg_log_loss", cv=3).fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    inner = Recalibrated(RidgeClassifier(), PlattScaling(input="scores"), cv=3)
    search = GridSearchCV(inner, {"method__targets": ["labels", "smoothed"]}, scoring="neg_log_loss", cv=3).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_methods_by_name():
    """A name or alias is the method with its defaults; the parameter stays the name, so names can be searched."""
    X, y = flowers()
    for name in ("platt", "PlattScaling"):
        model = Recalibrated(GaussianNB(), method=name)
        assert clone(model).get_params()["method"] == name
        expected = Recalibrated(GaussianNB(), PlattScaling()).fit(X, y).predict_proba(X)
        np.testing.assert_array_equal(model.fit(X, y).predict_proba(X), expected)
        assert model.method == name
    grid = {"method": ["temperature", "platt", "OneVsRest"]}
    search = GridSearchCV(Recalibrated(GaussianNB(), cv=3), grid, scoring="neg_log_loss", cv=3).fit(X, y)
    assert search.best_params_["method"] in grid["method"]
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_intervals_of_a_method_by_name():
    """There are intervals for the name of Venn–Abers, and none for others, known or not."""
    X, y = flowers()
    for name in ("venn_abers", "VennAbers"):
        assert Recalibrated(GaussianNB(), name).fit(X, y).predict_interval(X).shape == (len(y), 3, 2)
        assert hasattr(Recalibrated(GaussianNB(), name), "predict_interval")
    for name in ("platt", "plat"):
        assert not hasattr(Recalibrated(GaussianNB(), name), "predict_interval")


def test_frozen_model_in_a_grid_search():
    """A frozen model stays fitted through the clones of a search; a fitted one does not, and the error says so."""
    X, y = flowers()
    model = GaussianNB().fit(X, y)
    grid = {"method": [TemperatureScaling(), PlattScaling()]}
    assert GridSearchCV(Recalibrated(FrozenEstimator(model)), grid, cv=3).fit(X, y).best_score_ > 0.5
    with pytest.raises(NotFittedError, match=r"wrap it in sklearn\.frozen\.FrozenEstimator"):
        clone(Recalibrated(model, cv="prefit")).fit(X, y)


def test_pipelines():
    """It takes a pipeline and fits into one, to the same effect."""
    X, y = flowers()
    outside = make_pipeline(StandardScaler(), Recalibrated(GaussianNB(), PlattScaling())).fit(X, y)
    inside = Recalibrated(make_pipeline(StandardScaler(), GaussianNB()), PlattScaling()).fit(X, y)
    np.testing.assert_allclose(outside.predict_proba(X), inside.predict_proba(X), atol=1e-6)
    assert inside.n_features_in_ == 4


def test_data_frames_and_sparse_matrices_reach_the_model_as_they_are():
    """X is handed on: a data frame with its names, a sparse matrix as one."""
    X, y = flowers()
    frame = pd.DataFrame(X, columns=list("abcd"))
    fitted = Recalibrated(GaussianNB()).fit(frame, pd.Series(y))
    assert fitted.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(fitted.predict_proba(frame), Recalibrated(GaussianNB()).fit(X, y).predict_proba(X))
    assert not hasattr(Recalibrated(GaussianNB()).fit(X, y), "feature_names_in_")
    counts = np.random.default_rng(0).poisson(np.exp(X))
    dense = Recalibrated(MultinomialNB()).fit(counts, y)
    thin = Recalibrated(MultinomialNB()).fit(sparse.coo_array(counts), y)
    np.testing.assert_allclose(thin.predict_proba(sparse.csr_array(counts)), dense.predict_proba(counts), rtol=1e-12)


def test_precomputed_kernels_are_cut_on_both_sides():
    """A model of a kernel matrix is given the columns of the rows it was fitted to."""
    X, y = flowers()
    direct = Recalibrated(SVC(kernel="linear"), PlattScaling(input="scores"), cv=3).fit(X, y)
    kernel = Recalibrated(SVC(kernel="precomputed"), PlattScaling(input="scores"), cv=3).fit(X @ X.T, y)
    np.testing.assert_allclose(kernel.predict_proba(X @ X.T), direct.predict_proba(X), atol=1e-6)


def test_pickle_and_clone():
    """A pickle gives what it was made from; a clone has its settings and nothing learnt."""
    X, y = flowers()
    fitted = Recalibrated(GaussianNB(), BetaCalibration(), cv=3).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict_proba(X), fitted.predict_proba(X))
    with pytest.raises(NotFittedError):
        clone(fitted).predict_proba(X)
    assert not hasattr(clone(fitted), "n_features_in_")
    assert not hasattr(clone(fitted), "method_")


def test_metadata_routing():
    """Weights go to the model and the map where both ask for them, groups to the folds."""
    X, y = flowers()
    w, groups = np.random.default_rng(0).random(len(y)), np.arange(len(y)) // 4
    expected = Recalibrated(GaussianNB(), cv=3).fit(X, y, sample_weight=w, groups=groups).predict_proba(X)
    with config_context(enable_metadata_routing=True):
        model = Recalibrated(GaussianNB().set_fit_request(sample_weight=True), cv=3).set_fit_request(sample_weight=True)
        piped = make_pipeline(StandardScaler(with_mean=False, with_std=False), model)
        piped[0].set_fit_request(sample_weight=False)
        np.testing.assert_array_equal(piped.fit(X, y, sample_weight=w, groups=groups).predict_proba(X), expected)
        by_splitter = clone(model).set_params(cv=StratifiedGroupKFold(3)).fit(X, y, sample_weight=w, groups=groups)
        np.testing.assert_array_equal(by_splitter.predict_proba(X), expected)
        model.set_score_request(sample_weight=True)
        scores = cross_validate(model, X, y, cv=GroupKFold(2), params={"sample_weight": w, "groups": groups})
        assert np.isfinite(scores["test_score"]).all()
        unweighted = clone(model).set_params(estimator=GaussianNB().set_fit_request(sample_weight=False))
        fitted = unweighted.fit(X, y, sample_weight=w)
        np.testing.assert_array_equal(fitted.estimator_.theta_, GaussianNB().fit(X, y).theta_)
        frozen = Recalibrated(FrozenEstimator(GaussianNB().fit(X, y))).set_fit_request(sample_weight=True)
        by_hand = TemperatureScaling(classes=NAMES).fit(GaussianNB().fit(X, y).predict_proba(X), y, sample_weight=w)
        assert make_pipeline(frozen).fit(X, y, sample_weight=w)[0].method_.temperature_ == by_hand.temperature_
        with pytest.raises(ValueError, match="not explicitly set as requested or not"):
            clone(model).set_params(estimator=GaussianNB()).fit(X, y, sample_weight=w)


class Costly(GaussianNB):
    """A classifier whose `fit` takes one more array, and one more number."""

    def fit(self, X, y, sample_weight=None, cost=None, power=1):
        self.cost_ = cost
        return super().fit(X, y, sample_weight=None if cost is None else np.asarray(cost) ** power)


@pytest.mark.parametrize("ensemble", [False, True])
def test_parameters_of_fit_reach_the_model(ensemble):
    """Arrays are cut to the rows of each fold, with metadata routing and without, as in CalibratedClassifierCV."""
    X, y = flowers()
    cost = np.random.default_rng(0).integers(1, 5, len(y)).astype(float)
    model = Recalibrated(Costly(), cv=3, ensemble=ensemble)
    same = Recalibrated(GaussianNB(), cv=3, ensemble=ensemble).fit(X, y, sample_weight=cost**2)
    fitted = model.fit(X, y, cost=cost, power=2)
    for one, other in zip(fitted.estimators_, same.estimators_, strict=True):
        np.testing.assert_array_equal(one.theta_, other.theta_)
    peer = CalibratedClassifierCV(Costly(), cv=3, ensemble=ensemble).fit(X, y, cost=cost, power=2)
    theirs = [each.estimator.theta_ for each in peer.calibrated_classifiers_]
    np.testing.assert_allclose([each.theta_ for each in fitted.estimators_], theirs, rtol=1e-12)
    expected = fitted.predict_proba(X)
    with config_context(enable_metadata_routing=True):
        asks = Costly().set_fit_request(cost=True, power=True, sample_weight=False)
        routed = Recalibrated(asks, cv=3, ensemble=ensemble).set_fit_request(sample_weight=False)
        grid = GridSearchCV(routed, {"method": ["temperature"]}, cv=2).fit(X, y, cost=cost, power=2)
        np.testing.assert_array_equal(grid.best_estimator_.predict_proba(X), expected)
        piped = make_pipeline(StandardScaler(with_mean=False, with_std=False), routed)
        np.testing.assert_array_equal(piped.fit(X, y, cost=cost, power=2).predict_proba(X), expected)
        with pytest.raises(TypeError, match="unexpected argument"):
            clone(routed).fit(X, y, unknown=1)


# --- sentences --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (Recalibrated(RidgeClassifier()), "RidgeClassifier has no predict_proba, which TemperatureScaling(input='probabilities') needs; it has decision_function: use TemperatureScaling(input='logits') if these are logits, or PlattScaling(input='scores') for any other numbers"),
        (Recalibrated(RidgeClassifier(), PlattScaling()), "use PlattScaling(input='logits' or 'scores')"),
        (Recalibrated(GaussianNB(), PlattScaling(input="scores")), "GaussianNB has no decision_function, which PlattScaling(input='scores') needs; it has predict_proba: use PlattScaling(input='probabilities')"),
        (Recalibrated(KNeighborsClassifier), "estimator must be a classifier, such as LogisticRegression(), got <class"),
        (Recalibrated(None), "estimator must be a classifier, such as LogisticRegression(), got None"),
        (Recalibrated(GaussianNB(), "plat"), "method 'plat' is not known; did you mean 'platt'? Choose from: "),
        (Recalibrated(GaussianNB(), PlattScaling), "method must be a recalibrator, got a class: pass PlattScaling()"),
        (Recalibrated(GaussianNB(), 3), "method must be a recalibrator such as TemperatureScaling(), or the name of one, got 3"),
        (Recalibrated(GaussianNB(), PlattScaling(targets="soft")), "targets must be one of 'labels', 'smoothed', got 'soft'"),
        (Recalibrated(GaussianNB(), OneVsRest(PlattScaling(), multilabel=True)), "Recalibrated is for one label per row: make the method with multilabel=False"),
        (Recalibrated(GaussianNB(), OneVsRest(normalise=False)), "a classifier needs rows of predict_proba that sum to one: make the method with normalise=True"),
        (Recalibrated(GaussianNB(), ensemble="auto"), "ensemble must be True or False, got 'auto'"),
        (Recalibrated(GaussianNB(), cv="prefitted"), "cv must be a number of folds, a splitter, a list of splits or 'prefit', got 'prefitted'"),
        (Recalibrated(GaussianNB(), cv=1), "cv must be an integer at least 2, got 1"),
        (Recalibrated(GaussianNB(), cv="prefit", ensemble=True), "an estimator that is already fitted is a single model: leave out ensemble=True"),
        (Recalibrated(GaussianNB(), cv=[(np.arange(240), np.arange(240))]), "fold 0 of cv has row 0 in both its training and its test rows"),
        (Recalibrated(GaussianNB(), cv=RepeatedKFold(n_splits=3, n_repeats=2)), "cv tests row 0 more than once, but each row may count only once in the fit of the map; use folds that do not overlap, or ensemble=True"),
        (Recalibrated(SVC(decision_function_shape="ovo"), PlattScaling(input="scores")), "decision_function of SVC has shape (64, 6) for 4 classes; one column per class is needed"),
        (Recalibrated(Rememberer().fit(np.zeros((2, 2)), [0, 1]), cv="prefit"), "the label 'ant' at row 0 is not in classes"),
    ],
)  # fmt: skip
def test_sentences(model, sentence):
    """Errors say what, where, and what to do."""
    X, y = flowers()
    X = X + 1  # nobody is at zero
    y = np.r_[["ant"], y[1:]]
    if "SVC" in sentence:
        X, y = np.r_[X, X[:80] + 3], np.r_[y, ["dog"] * 80]
    with pytest.raises(InputError, match=re.escape(sentence)):
        model.fit(X, y)


def test_sentences_about_rows():
    """Too few groups or classes are said before anything is fitted; a regressor is not a classifier."""
    X, y = flowers()
    with pytest.raises(InputError, match="cv=5 folds need at least as many groups, got 2"):
        Recalibrated(GaussianNB()).fit(X, y, groups=np.arange(len(y)) % 2)
    with pytest.raises(InputError, match="y has only one class, 'ant', so there is nothing to fit"):
        Recalibrated(GaussianNB()).fit(X, np.full(len(y), "ant"))
    with pytest.raises(InputError, match="y has only one class, 'bee'"):
        Recalibrated(GaussianNB()).fit(X, y, sample_weight=y == "bee")
    with pytest.raises(InputError, match="sample_weight must not be negative, got -1 at row 0"):
        Recalibrated(GaussianNB()).fit(X, y, sample_weight=-np.ones(len(y)))
    with pytest.raises(InputError, match="LinearRegression has no classes_, so the order of its columns is unknown"):
        Recalibrated(LinearRegression()).fit(X, y == "bee")
    halves = pd.Series(np.where(np.arange(len(y)) < 100, "odd", "even"))
    with pytest.raises(InputError, match="fold 0 of cv has the group 'odd' in both its training and its test rows"):
        Recalibrated(GaussianNB(), cv=[(np.arange(50), np.arange(50, 240))]).fit(X, y, groups=halves)
    with pytest.raises(InputError, match="cv has no fold with test rows"):
        Recalibrated(GaussianNB(), cv=[(np.arange(240), [])]).fit(X, y)
    rows = np.arange(len(y))
    cv = [(rows[::2], rows[1::2]), (rows[:100], rows[(rows >= 100) & (y == "cat")])]
    with pytest.warns(UserWarning, match="1 of 2 folds of cv are left out of the ensemble: their test rows are of one"):
        left = Recalibrated(GaussianNB(), PlattScaling(), cv=cv, ensemble=True).fit(X, y)
    assert len(left.estimators_) == 1
    with pytest.raises(InputError, match="the test rows of every fold of cv are of one class"):
        Recalibrated(GaussianNB(), PlattScaling(), cv=cv[1:], ensemble=True).fit(X, y)
    with pytest.raises(InputError, match="already fitted takes no parameters of fit, got epochs: leave it out"):
        Recalibrated(FrozenEstimator(GaussianNB().fit(X, y))).fit(X, y, epochs=3)
    with pytest.raises(InputError, match="has neither predict_proba nor decision_function, so there is nothing"):
        Recalibrated(FrozenEstimator(NoScores().fit(X, y))).fit(X, y)


class NoScores(ClassifierMixin, BaseEstimator):
    """It has an opinion, but no scores."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self


def test_overlapping_folds_in_an_ensemble():
    """An ensemble may test a row in several folds, as ShuffleSplit does."""
    X, y = flowers()
    model = Recalibrated(GaussianNB(), cv=ShuffleSplit(4, random_state=0), ensemble=True).fit(X, y)
    assert len(model.methods_) == 4


def test_folds_are_the_same_every_time():
    """Nothing is random unless the splitter is: two fits give the same probabilities."""
    X, y = flowers()
    for cv in (5, KFold(3)):
        first, second = (Recalibrated(GaussianNB(), cv=cv).fit(X, y).predict_proba(X) for _ in range(2))
        np.testing.assert_array_equal(first, second)


# --- a method that is chosen ------------------------------------------------------------------------------------------


def over_confident(n, seed=0):
    """Features that repeat each other, which naive Bayes takes for new evidence."""
    return make_classification(n, 20, n_informative=3, n_redundant=17, random_state=seed)


def test_auto_chooses_what_select_chooses():
    """The map is that of the method that `select` chooses for out-of-fold probabilities."""
    X, y = over_confident(1500)
    model = Recalibrated(GaussianNB(), "auto").fit(X, y)
    p = cross_val_predict(GaussianNB(), X, y, cv=5, method="predict_proba")
    found = select(p[:, 1], y, errors=(), progress=False)
    assert model.selection_.chosen == found.chosen != "nothing"
    assert model.method_.facts.alias == found.chosen
    by_hand = Recalibrated(GaussianNB(), found[found.chosen].method).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), by_hand.predict_proba(X))
    assert log_loss(y, model.predict_proba(X)) < log_loss(y, GaussianNB().fit(X, y).predict_proba(X))
    assert not hasattr(model.set_params(method="platt").fit(X, y), "selection_")


def test_auto_may_leave_probabilities_alone():
    """Where no method helps beyond chance, the model's own probabilities come out."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 2))
    y = (rng.random(600) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int)
    model = Recalibrated(LogisticRegression(), "auto").fit(X, y)
    assert model.selection_.chosen == "nothing"
    assert isinstance(model.method_, Identity)
    np.testing.assert_allclose(model.predict_proba(X), LogisticRegression().fit(X, y).predict_proba(X), atol=1e-12)


def test_auto_for_classes_names_weights_and_groups():
    """Labels may be names; weights and groups take part in the choice."""
    X, y = flowers()
    w, groups = np.random.default_rng(0).random(len(y)) + 0.5, np.arange(len(y)) // 4
    model = Recalibrated(GaussianNB(), "auto", cv=3).fit(X, y, sample_weight=w, groups=groups)
    assert model.classes_.tolist() == GaussianNB().fit(X, y).classes_.tolist()
    assert "clusters" in model.selection_.rows
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, atol=1e-9)


def test_auto_of_raw_scores_and_of_a_fitted_model():
    """Without probabilities it is chosen among maps of raw scores; a fitted model is taken as it is."""
    X, y = over_confident(800)
    raw = Recalibrated(RidgeClassifier(), "auto").fit(X, y)
    assert raw.method_.input == "scores"
    assert log_loss(y, raw.predict_proba(X)) < 0.65
    fitted = GaussianNB().fit(X[::2], y[::2])
    prefit = Recalibrated(fitted, "auto", cv="prefit").fit(X[1::2], y[1::2])
    assert prefit.estimator_ is fitted
    assert prefit.selection_.chosen != "nothing"


def test_auto_of_full_trees():
    """Probabilities of 0 and 1 only are what such a model says, and a map of them is chosen."""
    X, y = make_classification(400, 5, flip_y=0.3, random_state=0)
    model = Recalibrated(DecisionTreeClassifier(random_state=0), "auto").fit(X, y)
    assert model.selection_.chosen != "nothing"
    assert model.predict_proba(X).min() > 0


def test_auto_is_one_choice():
    """An ensemble has a map per fold, so there is nothing to choose for all of them."""
    X, y = flowers()
    with pytest.raises(InputError, match="method='auto' finds one map for all rows: leave ensemble=False"):
        Recalibrated(GaussianNB(), "auto", ensemble=True).fit(X, y)
    copied = clone(Recalibrated(GaussianNB(), "auto").fit(X, y))
    assert copied.method == "auto"
    assert not hasattr(copied, "selection_")
