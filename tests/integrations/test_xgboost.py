"""XGBoost: its predictions in audits and recalibrators, and metrics during its training."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification

import believable
from believable import ReliabilityDisplay
from believable.errors import InputError
from believable.recalibrate import PlattScaling, PriorShift, Recalibrated, TemperatureScaling
from tests.needs import need

xgboost = need("xgboost")

from believable.integrations.xgboost import custom_metric, eval_metric  # noqa: E402

X, Y = make_classification(4000, 10, n_informative=4, weights=[0.85], flip_y=0.1, random_state=0)
W = np.random.default_rng(0).integers(1, 4, len(Y)).astype(float)
TRAIN, TEST = slice(0, 2000), slice(2000, 4000)
BINARY = {"objective": "binary:logistic", "nthread": 1, "max_depth": 4}


def matrix(rows, **more):
    return xgboost.DMatrix(X[rows], label=Y[rows], nthread=1, **more)


def test_margins_are_logits():
    """`output_margin=True` read as logits and the probabilities give the same errors."""
    booster = xgboost.train(BINARY, matrix(TRAIN), 20)
    p, margin = booster.predict(matrix(TEST)), booster.predict(matrix(TEST), output_margin=True)
    as_logits = believable.Predictions(margin, Y[TEST], from_logits=True)
    assert believable.expected_calibration_error(as_logits) == pytest.approx(
        believable.expected_calibration_error(p, Y[TEST]), abs=1e-6
    )
    by_margin = PlattScaling(input="logits").fit(margin, Y[TEST]).transform(margin)
    by_probability = PlattScaling().fit(p, Y[TEST]).transform(p)
    assert np.allclose(by_margin, by_probability, atol=1e-4)


@pytest.mark.parametrize("weight", [None, W])
def test_metrics_during_native_training(weight):
    """The value of every round is that of the metric on the predictions of so many trees, with the weights."""
    seen = {}
    train, test = (matrix(rows, weight=None if weight is None else weight[rows]) for rows in (TRAIN, TEST))
    booster = xgboost.train(
        BINARY,
        train,
        6,
        evals=[(test, "test")],
        custom_metric=custom_metric("ece", n_bins=7),
        evals_result=seen,
        verbose_eval=False,
    )
    for k, value in enumerate(seen["test"]["expected_calibration_error"]):
        p = booster.predict(test, iteration_range=(0, k + 1))
        own = None if weight is None else weight[TEST].astype(np.float32)
        assert value == pytest.approx(believable.expected_calibration_error(p, Y[TEST], 7, sample_weight=own), rel=1e-5)


def test_metrics_of_several_classes():
    """Probabilities of "multi:softprob" are a matrix; cross-validation reports the metric too."""
    features, species = load_iris(return_X_y=True)
    data = xgboost.DMatrix(features, label=species, nthread=1)
    params = {"objective": "multi:softprob", "num_class": 3, "nthread": 1}
    seen = {}
    booster = xgboost.train(
        params,
        data,
        3,
        evals=[(data, "all")],
        custom_metric=custom_metric("sce"),
        evals_result=seen,
        verbose_eval=False,
    )
    expected = believable.static_calibration_error(booster.predict(data), species)
    assert seen["all"]["static_calibration_error"][-1] == pytest.approx(expected, rel=1e-5)
    table = xgboost.cv(params, data, 3, nfold=3, custom_metric=custom_metric("log_loss"), seed=0, as_pandas=False)
    assert "test-negative_log_likelihood-mean" in table


def test_metrics_of_the_classifier():
    """`eval_metric` of the scikit-learn interface, with weights; a metric that should rise is negated."""
    for name, sign in (("brier", 1), ("auc", -1)):
        metric = eval_metric(name)
        model = xgboost.XGBClassifier(n_estimators=4, eval_metric=metric, n_jobs=1)
        model.fit(X[TRAIN], Y[TRAIN], eval_set=[(X[TEST], Y[TEST])], sample_weight_eval_set=[W[TEST]], verbose=False)
        p = model.predict_proba(X[TEST])[:, 1]
        found = model.evals_result()["validation_0"][metric.__name__][-1]
        expected = believable.evaluate(p, Y[TEST], [name], sample_weight=W[TEST])
        assert found == pytest.approx(sign * next(iter(expected.values())), rel=1e-5)


def test_early_stopping_keeps_the_best_round():
    """XGBoost maximises metrics by their names ("auc", "map", ...), so a negated one must not have such a name."""
    from believable.metrics.table import METRICS

    for row in METRICS.values():
        if row.direction is not None:
            name = eval_metric(row.name).__name__
            assert not name.startswith(("auc", "pre", "map", "ndcg")), name
    options = {"n_estimators": 40, "learning_rate": 0.2, "max_depth": 2, "n_jobs": 1}
    model = xgboost.XGBClassifier(**options, eval_metric=eval_metric("auc"), early_stopping_rounds=40)
    model.fit(X[TRAIN], Y[TRAIN], eval_set=[(X[TEST], Y[TEST])], verbose=False)
    history = model.evals_result()["validation_0"]["negative_auc"]
    assert model.best_iteration == int(np.argmin(history)) > 0


def test_wrong_uses_are_named():
    """Unknown metrics and options, and margins in place of probabilities."""
    with pytest.raises(InputError, match="there is no metric"):
        custom_metric("f1")
    with pytest.raises(InputError, match="has no option 'bins'"):
        eval_metric("ece", bins=3)
    with pytest.raises(InputError, match=r"must lie in \[0, 1\]"):
        xgboost.train(
            {**BINARY, "objective": "binary:logitraw"},
            matrix(TRAIN),
            3,
            evals=[(matrix(TEST), "test")],
            custom_metric=custom_metric("ece"),
            verbose_eval=False,
        )


def test_scale_pos_weight_multiplies_the_odds():
    """A weight of w on the positives raises the average prediction; prior shift undoes most of it."""
    params = {**BINARY, "eta": 0.1, "max_depth": 3}
    plain = xgboost.train(params, matrix(TRAIN), 60).predict(matrix(TEST))
    ratio = float((Y[TRAIN] == 0).sum() / (Y[TRAIN] == 1).sum())
    heavy = xgboost.train({**params, "scale_pos_weight": ratio}, matrix(TRAIN), 60).predict(matrix(TEST))
    rate = Y[TRAIN].mean()
    repaired = PriorShift(source=ratio * rate / (ratio * rate + 1 - rate), target=rate).fit(heavy, Y[TEST])
    errors = [believable.expected_calibration_error(p, Y[TEST]) for p in (plain, heavy, repaired.transform(heavy))]
    assert errors[1] > 3 * errors[0]
    assert errors[2] < 0.5 * errors[1]


def test_the_classifier_in_displays_and_cross_fitting():
    """XGBClassifier is a scikit-learn classifier: diagrams, scorers and out-of-fold recalibration take it."""
    model = xgboost.XGBClassifier(n_estimators=20, n_jobs=1)
    display = ReliabilityDisplay.from_estimator(model.fit(X[TRAIN], Y[TRAIN]), X[TEST], Y[TEST])
    assert display.name == "XGBClassifier"
    fixed = Recalibrated(model, "platt", cv=3).fit(X[TRAIN], Y[TRAIN])
    before, after = (
        believable.negative_log_likelihood(one.predict_proba(X[TEST])[:, 1], Y[TEST]) for one in (model, fixed)
    )
    assert after < before
    features, species = load_iris(return_X_y=True)
    three = xgboost.XGBClassifier(n_estimators=20, n_jobs=1).fit(features[::2], species[::2])
    margins = three.predict(features[1::2], output_margin=True)
    fitted = TemperatureScaling(input="logits").fit(margins, species[1::2])
    assert fitted.transform(margins).shape == (75, 3)
