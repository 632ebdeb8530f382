"""CatBoost: its predictions in audits and recalibrators, and metrics during its training."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification

import believable
from believable import ReliabilityDisplay
from believable.errors import InputError
from believable.recalibrate import PlattScaling, Recalibrated, TemperatureScaling
from tests.needs import need

catboost = need("catboost")

from believable.integrations.catboost import EvalMetric  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Failed to import numba")

X, Y = make_classification(4000, 10, n_informative=4, weights=[0.85], flip_y=0.1, random_state=0)
W = np.random.default_rng(0).integers(1, 4, len(Y)).astype(float)
TRAIN, TEST = slice(0, 2000), slice(2000, 4000)
QUIET = {"verbose": False, "allow_writing_files": False, "thread_count": 1, "random_seed": 0}


def test_raw_values_are_logits():
    """`RawFormulaVal` read as logits and the probabilities give the same errors and maps."""
    model = catboost.CatBoostClassifier(iterations=20, **QUIET).fit(X[TRAIN], Y[TRAIN])
    p, raw = model.predict_proba(X[TEST])[:, 1], model.predict(X[TEST], prediction_type="RawFormulaVal")
    as_logits = believable.Predictions(raw, Y[TEST], from_logits=True)
    assert believable.expected_calibration_error(as_logits) == pytest.approx(
        believable.expected_calibration_error(p, Y[TEST]), rel=1e-9
    )
    by_raw = PlattScaling(input="logits").fit(raw, Y[TEST]).transform(raw)
    assert np.allclose(by_raw, PlattScaling().fit(p, Y[TEST]).transform(p), atol=1e-9)


@pytest.mark.parametrize("weight", [None, W])
def test_metrics_during_training(weight):
    """The value of every round is that of the metric on the predictions of so many trees, with the weights."""
    model = catboost.CatBoostClassifier(
        iterations=6, eval_metric=EvalMetric("ece", n_bins=7), use_best_model=False, **QUIET
    )
    test = catboost.Pool(X[TEST], Y[TEST], weight=None if weight is None else weight[TEST])
    model.fit(X[TRAIN], Y[TRAIN], eval_set=test)
    for k, value in enumerate(model.evals_result_["validation"]["EvalMetric"]):
        p = model.predict_proba(X[TEST], ntree_end=k + 1)[:, 1]
        own = None if weight is None else weight[TEST]
        assert value == pytest.approx(believable.expected_calibration_error(p, Y[TEST], 7, sample_weight=own), rel=1e-6)


def test_metrics_of_several_classes():
    """With "MultiClass", the margins of all classes are read, and training stops at the best round."""
    features, species = load_iris(return_X_y=True)
    model = catboost.CatBoostClassifier(
        iterations=5, loss_function="MultiClass", eval_metric=EvalMetric("nll"), **QUIET
    )
    model.fit(features[::2], species[::2], eval_set=(features[1::2], species[1::2]))
    expected = believable.negative_log_likelihood(model.predict_proba(features[1::2]), species[1::2])
    assert min(model.evals_result_["validation"]["EvalMetric"]) == pytest.approx(expected, rel=1e-6)
    raw = model.predict(features[1::2], prediction_type="RawFormulaVal")
    assert TemperatureScaling(input="logits").fit(raw, species[1::2]).transform(raw).shape == (75, 3)


def test_higher_is_better_where_it_is():
    """The best model by AUC is that of the round with the highest AUC."""
    model = catboost.CatBoostClassifier(iterations=15, eval_metric=EvalMetric("auc"), **QUIET)
    model.fit(X[TRAIN], Y[TRAIN], eval_set=(X[TEST], Y[TEST]))
    assert model.best_iteration_ == np.argmax(model.evals_result_["validation"]["EvalMetric"])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_classifier_in_displays_and_cross_fitting():
    """Diagrams and out-of-fold recalibration take a CatBoostClassifier."""
    model = catboost.CatBoostClassifier(iterations=20, **QUIET)
    display = ReliabilityDisplay.from_estimator(model.fit(X[TRAIN], Y[TRAIN]), X[TEST], Y[TEST])
    assert display.name == "CatBoostClassifier"
    fixed = Recalibrated(catboost.CatBoostClassifier(iterations=20, **QUIET), "platt", cv=3).fit(X[TRAIN], Y[TRAIN])
    assert fixed.predict_proba(X[TEST]).shape == (2000, 2)


def test_wrong_uses_are_named():
    """Unknown metrics and options."""
    with pytest.raises(InputError, match="there is no metric"):
        EvalMetric("f1")
    with pytest.raises(InputError, match="has no option 'bins'"):
        EvalMetric("ece", bins=3)
