"""scikit-learn's own checks of estimators, on all of ours."""

from __future__ import annotations

import pytest
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from believable.recalibrate import RECALIBRATORS, PlattScaling, Recalibrated, VennAbers

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning"),  # the checks have few rows
    pytest.mark.filterwarnings("ignore::believable.errors.LimitWarning"),  # and classes far apart
    pytest.mark.filterwarnings("ignore:.*:sklearn.exceptions.SkipTestWarning"),
    pytest.mark.filterwarnings("ignore:The least populated class"),  # older scikit-learn checks with ten rows
]

FEWER = "three classes with two columns of features: to a recalibrator a column is a class"
MORE = "columns of classes that do not occur in y, of which it must know all: they are not left as they are"
ALWAYS = {
    "check_classifiers_classes": FEWER,
    "check_classifiers_train": FEWER,
    "check_estimators_fit_returns_self": FEWER,
    "check_estimators_overwrite_params": FEWER,
    "check_readonly_memmap_input": FEWER,
}
FOLDS = "a row of weight 2 is in one fold, but a repeated row may be in two, so the weights of the maps differ"
WHERE_FOLDS_DECIDE = {"check_sample_weight_equivalence_on_dense_data": FOLDS}
WHERE_EVERY_CLASS_MUST_OCCUR = {
    "check_dtype_object": MORE,
    "check_estimators_dtypes": MORE,
    "check_estimators_nan_inf": MORE,
    "check_estimators_pickle": MORE,
    "check_n_features_in_after_fitting": MORE,
    "check_pipeline_consistency": MORE,
    "check_positive_only_tag_during_fit": MORE,
    "check_sample_weight_equivalence_on_dense_data": MORE,
    "check_transformer_data_not_an_array": MORE,
    "check_transformer_general": MORE,
    "check_transformer_preserve_dtypes": MORE,
}

MAPS = [cls(input="logits") for cls in RECALIBRATORS.values()]
MAPS += [cls(input="scores") for cls in RECALIBRATORS.values() if "scores" in cls.inputs]
MAPS += [VennAbers(multi_class="ovo", input="logits")]
CLASSIFIERS = [
    Recalibrated(GaussianNB()),
    Recalibrated(GaussianNB(), "auto"),
    Recalibrated(GaussianNB(), ensemble=True),
    Recalibrated(RidgeClassifier(), PlattScaling(input="scores"), cv=3, ensemble=True),
]


def expected(recalibrator):
    """Names of the checks that must fail, each with the reason."""
    every_class = recalibrator.input == "scores" or type(recalibrator).__name__ == "PriorShift"
    by_folds = type(recalibrator).__name__ == "AveragedCalibration"
    return ALWAYS | (WHERE_FOLDS_DECIDE if by_folds else {}) | (WHERE_EVERY_CLASS_MUST_OCCUR if every_class else {})


@parametrize_with_checks(MAPS, expected_failed_checks=expected)
def test_recalibrators(estimator, check, request):
    """A recalibrator of logits or scores is an estimator of scikit-learn, except where X is not one column per class."""
    try:
        check(estimator)
    except (AssertionError, ValueError) as error:
        if request.node.get_closest_marker("xfail") is None:
            raise
        raise error.with_traceback(None) from None  # pytest would take longer to write it down than the checks take


def expected_of_classifier(classifier):
    """Names of the checks that must fail, each with the reason."""
    return WHERE_FOLDS_DECIDE if classifier.method == "auto" else {}


@parametrize_with_checks(CLASSIFIERS, expected_failed_checks=expected_of_classifier)
def test_recalibrated(estimator, check):
    """`Recalibrated` is a classifier of scikit-learn."""
    check(estimator)
