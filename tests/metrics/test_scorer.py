"""Metrics as scikit-learn scorers, and pictures of estimators."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import believable
from believable.errors import InputError

X, Y = load_breast_cancer(return_X_y=True)
MODEL = make_pipeline(StandardScaler(), LogisticRegression())


def test_scorers_work_in_cross_validation():
    """cross_validate takes several; each is the metric on the held-out fold, negated where lower is better."""
    scoring = {"ece": believable.scorer("expected_calibration_error", n_bins=15), "auc": believable.scorer("auc")}
    folds = [(np.arange(0, 400), np.arange(400, 569))]
    result = cross_validate(MODEL, X, Y, scoring=scoring, cv=folds)
    held_out = MODEL.fit(X[:400], Y[:400]).predict_proba(X[400:])[:, 1]
    assert result["test_ece"][0] == -believable.expected_calibration_error(held_out, Y[400:], 15)
    assert result["test_auc"][0] == believable.auc(held_out, Y[400:])


def test_scorers_choose_parameters():
    """GridSearchCV maximises, so less error wins."""
    scorer = believable.scorer("nll")
    grid = {"logisticregression__C": [1e-4, 1.0]}
    search = GridSearchCV(MODEL, grid, scoring=scorer, cv=3).fit(X, Y)
    assert search.best_params_ == {"logisticregression__C": 1.0}
    assert pickle.loads(pickle.dumps(scorer)) == scorer


def test_labels_of_any_type():
    """Classes are matched with the estimator's columns, for text and for more than two."""
    words = np.where(Y == 1, "benign", "malignant")
    plain = believable.scorer("ece")(MODEL.fit(X, Y), X, Y)
    # the second class in alphabetical order is the other one
    assert believable.scorer("brier")(MODEL.fit(X, words), X, words) == pytest.approx(
        believable.scorer("brier")(MODEL.fit(X, Y), X, Y),
        rel=1e-6,  # another fit
    )
    assert plain <= 0
    features, species = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[species]
    model = MODEL.fit(features, names)
    assert believable.scorer("sce")(model, features, names) == -believable.static_calibration_error(
        model.predict_proba(features), species
    )
    weights = np.arange(150.0)
    assert believable.scorer("ece")(model, features, names, weights) == -believable.expected_calibration_error(
        model.predict_proba(features), species, sample_weight=weights
    )


def test_what_cannot_score_is_refused():
    """Unknown metrics, options, and estimators without probabilities."""
    with pytest.raises(InputError, match="there is no metric"):
        believable.scorer("f1")
    with pytest.raises(InputError, match="auc has no option 'n_bins'"):
        believable.scorer("auc", n_bins=10)
    with pytest.raises(InputError, match="higher values of sharpness are neither better nor worse"):
        believable.scorer("sharpness")
    with pytest.raises(InputError, match="RidgeClassifier has no predict_proba"):
        believable.scorer("ece")(RidgeClassifier().fit(X, Y), X, Y)


def test_a_negated_loss_is_what_a_scorer_is():
    """scikit-learn's own names give scikit-learn's own numbers."""
    from sklearn.metrics import get_scorer

    model = MODEL.fit(X[::2], Y[::2])
    for name in ("neg_log_loss", "neg_brier_score", "roc_auc", "accuracy"):
        ours, theirs = (made(model, X, Y) for made in (believable.scorer(name), get_scorer(name)))
        assert ours == pytest.approx(theirs, rel=1e-12)
    assert believable.scorer("neg_log_loss") == believable.scorer("log_loss")
    with pytest.raises(InputError, match="use 'auc', for which higher is better here"):
        believable.scorer("neg_auc")


def test_weights_reach_the_scorer_where_it_requests_them():
    """With metadata routing, weights go to `fit` and to the scorer as each of them requests; alone, they are refused."""
    w = np.random.default_rng(0).integers(1, 5, len(Y)).astype(float)
    folds = [(np.arange(0, 400), np.arange(400, 569))]

    def score(model, scoring):
        return cross_validate(model, X, Y, scoring=scoring, cv=folds, params={"sample_weight": w})["test_score"][0]

    with config_context(enable_metadata_routing=True):
        plain = LogisticRegression().set_fit_request(sample_weight=False)
        model = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), plain)
        p = model.fit(X[:400], Y[:400]).predict_proba(X[400:])[:, 1]
        asks = believable.scorer("brier").set_score_request(sample_weight=True)
        declines = believable.scorer("brier").set_score_request(sample_weight=False)
        expected = -np.average((p - Y[400:]) ** 2, weights=w[400:])
        assert score(model, asks) == pytest.approx(expected, rel=1e-12)
        with pytest.raises(ValueError, match="not explicitly set as requested or not"):
            score(model, believable.scorer("brier"))
        several = cross_validate(model, X, Y, scoring={"a": asks, "b": declines}, cv=folds, params={"sample_weight": w})
        assert several["test_a"][0] == score(model, asks)
        assert several["test_b"][0] == pytest.approx(-np.mean((p - Y[400:]) ** 2), rel=1e-12)
        weighted = make_pipeline(StandardScaler(), LogisticRegression())
        weighted[0].set_fit_request(sample_weight=True)
        weighted[1].set_fit_request(sample_weight=True)
        grid = {"logisticregression__C": [0.1, 1.0]}
        search = GridSearchCV(weighted, grid, scoring=asks, cv=folds, refit=False).fit(X, Y, sample_weight=w)
        weighted.set_params(logisticregression__C=1.0)
        own = {"standardscaler__sample_weight": w[:400], "logisticregression__sample_weight": w[:400]}
    p = weighted.fit(X[:400], Y[:400], **own).predict_proba(X[400:])[:, 1]
    expected = -np.average((p - Y[400:]) ** 2, weights=w[400:])
    assert search.cv_results_["mean_test_score"][1] == pytest.approx(expected, rel=1e-9)


def test_a_request_without_routing_is_refused():
    """A request that scikit-learn would ignore is an error, as with its own scorers."""
    with pytest.raises(InputError, match=r"call sklearn\.set_config"):
        believable.scorer("brier").set_score_request(sample_weight=True)
