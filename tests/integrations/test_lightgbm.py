"""LightGBM: its predictions in audits and recalibrators, and metrics during its training."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification

import believable
from believable.errors import InputError
from believable.recalibrate import PlattScaling, Recalibrated
from tests.needs import need

lightgbm = need("lightgbm")

from believable.integrations.lightgbm import eval_metric  # noqa: E402

X, Y = make_classification(4000, 10, n_informative=4, weights=[0.85], flip_y=0.1, random_state=0)
W = np.random.default_rng(0).integers(1, 4, len(Y)).astype(float)
TRAIN, TEST = slice(0, 2000), slice(2000, 4000)
BINARY = {"objective": "binary", "verbose": -1, "num_threads": 1}


def test_raw_scores_are_logits():
    """`raw_score=True` read as logits and the probabilities give the same errors and maps."""
    booster = lightgbm.train(BINARY, lightgbm.Dataset(X[TRAIN], Y[TRAIN]), 20)
    p, raw = booster.predict(X[TEST]), booster.predict(X[TEST], raw_score=True)
    as_logits = believable.Predictions(raw, Y[TEST], from_logits=True)
    assert believable.expected_calibration_error(as_logits) == pytest.approx(
        believable.expected_calibration_error(p, Y[TEST]), rel=1e-9
    )
    by_raw = PlattScaling(input="logits").fit(raw, Y[TEST]).transform(raw)
    assert np.allclose(by_raw, PlattScaling().fit(p, Y[TEST]).transform(p), atol=1e-9)


@pytest.mark.parametrize("weight", [None, W])
def test_metrics_during_native_training(weight):
    """The value of every round is that of the metric on the predictions of so many trees, with the weights."""
    train = lightgbm.Dataset(X[TRAIN], Y[TRAIN])
    test = lightgbm.Dataset(X[TEST], Y[TEST], weight=None if weight is None else weight[TEST], reference=train)
    seen = {}
    booster = lightgbm.train(
        BINARY,
        train,
        6,
        valid_sets=[test],
        valid_names=["test"],
        feval=[eval_metric("ece", n_bins=7), eval_metric("auc")],
        callbacks=[lightgbm.record_evaluation(seen)],
    )
    for k in range(6):
        p = booster.predict(X[TEST], num_iteration=k + 1)
        own = None if weight is None else weight[TEST]
        expected = believable.expected_calibration_error(p, Y[TEST], 7, sample_weight=own)
        assert seen["test"]["expected_calibration_error"][k] == pytest.approx(expected, rel=1e-9)
        assert seen["test"]["auc"][k] == pytest.approx(believable.auc(p, Y[TEST], sample_weight=own), rel=1e-9)


def test_metrics_of_several_classes():
    """Predictions of "multiclass" are a matrix, one column per class."""
    features, species = load_iris(return_X_y=True)
    data, seen = lightgbm.Dataset(features, species), {}
    params = {"objective": "multiclass", "num_class": 3, "verbose": -1, "num_threads": 1}
    booster = lightgbm.train(
        params, data, 3, valid_sets=[data], feval=eval_metric("sce"), callbacks=[lightgbm.record_evaluation(seen)]
    )
    expected = believable.static_calibration_error(booster.predict(features), species)
    assert seen["training"]["static_calibration_error"][-1] == pytest.approx(expected, rel=1e-9)


def test_one_versus_all_is_refused():
    """The probabilities of "multiclassova" do not sum to 1, so that no metric of several classes is defined."""
    features, species = load_iris(return_X_y=True)
    data = lightgbm.Dataset(features, species)
    params = {"objective": "multiclassova", "num_class": 3, "verbose": -1, "num_threads": 1}
    with pytest.raises(InputError, match="rows of predictions must sum to 1"):
        lightgbm.train(params, data, 3, valid_sets=[data], feval=eval_metric("sce"))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names", "ignore:The argument 'eval_set'")
def test_metrics_of_the_classifier():
    """`eval_metric` of the scikit-learn interface, with weights, stops training early on a proper score."""
    model = lightgbm.LGBMClassifier(n_estimators=200, n_jobs=1, verbose=-1, metric="None")
    model.fit(
        X[TRAIN],
        Y[TRAIN],
        eval_set=[(X[TEST], Y[TEST])],
        eval_sample_weight=[W[TEST]],
        eval_metric=eval_metric("log_loss"),
        callbacks=[lightgbm.early_stopping(5, verbose=False)],
    )
    found = model.evals_result_["valid_0"]["negative_log_likelihood"]
    assert model.best_iteration_ == np.argmin(found) + 1 < 200
    p = model.predict_proba(X[TEST])[:, 1]
    expected = believable.negative_log_likelihood(p, Y[TEST], sample_weight=W[TEST])
    assert min(found) == pytest.approx(expected, rel=1e-9)
    fixed = Recalibrated(lightgbm.LGBMClassifier(n_estimators=20, n_jobs=1, verbose=-1), "platt", cv=3)
    assert fixed.fit(X[TRAIN], Y[TRAIN]).predict_proba(X[TEST]).shape == (2000, 2)


def test_wrong_uses_are_named():
    """Unknown metrics and options."""
    with pytest.raises(InputError, match="there is no metric"):
        eval_metric("f1")
    with pytest.raises(InputError, match="has no option 'bins'"):
        eval_metric("ece", bins=3)
