"""Recorded values of other libraries and of R for recalibrators: parameters, maps at fixed scores, wrapped classifiers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB

from believable import _kernels
from believable._kernels.mixed_logistic import fit_mixed_logistic
from believable.recalibrate import (
    BBQ,
    BetaCalibration,
    BetaCDFCalibration,
    DirichletCalibration,
    HistogramBinning,
    IsotonicCalibration,
    LocalRegressionCalibration,
    MatrixScaling,
    OneVsRest,
    PlattScaling,
    PriorShift,
    Recalibrated,
    ScalingBinning,
    TemperatureScaling,
    VectorScaling,
    VennAbers,
)
from tests.oracle.inputs import by_level, digest, recalibrating

INPUTS = recalibrating()
VALUES = Path(__file__).parent / "values"
PEERS = """abstention betacal netcal_recalibrators r_recalibrators scikit_learn_recalibrators
    uncertainty_calibration_recalibrators venn_abers""".split()
EXACT = {"rel": 1e-12, "abs": 1e-14}
FITTED = {"rel": 0, "abs": 1e-10}  # both iterate to the end; ours ends where linear predictors move by 1e-9 or less
AT_ENDS = ("heaped_tenths", "heaped_tenths_weighted")  # scores of exactly 0 and 1, which peers clip at 2e-16, not 1e-12
ON_EDGES = (*AT_ENDS, "ties")  # scores k/10
WRONG_WAY = ("sinking", "falling")  # higher scores go with fewer events
GRID, FINE = np.arange(1, 40) / 40, np.arange(81) / 80

pytestmark = [  # the inputs are small, and some are limits on purpose
    pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning"),
    pytest.mark.filterwarnings("ignore::believable.errors.LimitWarning"),
]


def load(peer):
    return json.loads((VALUES / f"{peer}.json").read_text())


def records(peer, *quantities, without=(), only=None, **args):
    """The recorded numbers of a peer as test cases."""
    return [
        pytest.param(record, id="-".join([record["input"], record["quantity"], *map(str, record["args"].values())]))
        for record in load(peer)["records"]
        if record["quantity"] in quantities
        and record["input"] not in without
        and (only is None or record["input"] in only)
        and args.items() <= record["args"].items()
    ]


def recorded(peer, quantity, name, **args):
    """One value of a peer."""
    (case,) = records(peer, quantity, only=(name,), **args)
    return case.values[0]["value"]


def fitted(method, record):
    """A recalibrator learnt from the input of a record, with its weights."""
    p, y, w = INPUTS[record["input"]]
    return method.fit(p, y, sample_weight=w)


def first_rows(record, n=30):
    return INPUTS[record["input"]].p[:n]


def second(p):
    """Of two columns the second, as most peers say it."""
    return p[:, 1] if p.ndim == 2 and p.shape[1] == 2 else p


def log_likelihood(record, a, b, c):
    """Of p' = sigmoid(a log p - b log(1 - p) + c)."""
    p, y, w = INPUTS[record["input"]]
    p = np.clip(p, 1e-12, 1 - 1e-12)
    z = a * np.log(p) - b * np.log1p(-p) + c
    return -np.sum((1 if w is None else w) * np.logaddexp(0, np.where(y == 1, -z, z)))


def test_the_inputs_are_those_recorded():
    """Every file was recorded on these very inputs."""
    for peer in PEERS:
        assert load(peer)["inputs_sha256"] == digest(INPUTS), peer


# --- Platt ---


@pytest.mark.parametrize(
    "record",
    [
        *records("r_recalibrators", "platt"),
        *records("scikit_learn_recalibrators", "logistic regression on the logit"),
    ],
)
def test_platt_is_logistic_regression(record):
    """R's glm and scikit-learn's regression without penalty, with weights, slopes of either sign."""
    assert fitted(PlattScaling(), record).transform(GRID) == pytest.approx(record["value"], **FITTED)


@pytest.mark.parametrize("record", records("r_recalibrators", "platt, smoothed targets"))
def test_smoothed_platt_is_glm_of_smoothed_targets(record):
    """A quasi-binomial regression of Platt's targets, n1 and n0 being sums of weights."""
    assert fitted(PlattScaling(targets="smoothed"), record).transform(GRID) == pytest.approx(record["value"], **FITTED)


@pytest.mark.parametrize("record", records("scikit_learn_recalibrators", "sigmoid of scores"))
def test_smoothed_platt_of_scores_is_that_of_scikit_learn(record):
    """It ends where its gradient is 1e-6, ours is the maximum."""
    method = PlattScaling(input="scores", targets="smoothed")
    assert fitted(method, record).transform(FINE) == pytest.approx(record["value"], rel=0, abs=1e-7)


@pytest.mark.parametrize("record", records("uncertainty_calibration_recalibrators", "platt"))
def test_platt_is_near_that_of_uncertainty_calibration(record):
    """It ends where its gradient is 1e-4."""
    assert fitted(PlattScaling(), record).transform(GRID) == pytest.approx(record["value"], rel=0, abs=2e-4)


@pytest.mark.parametrize("record", records("netcal_recalibrators", "logistic", without=AT_ENDS))
def test_platt_and_vector_scaling_are_near_those_of_netcal(record):
    """One event has a slope, more classes a vector; it follows differences of the loss, which end at about 1e-5."""
    p = INPUTS[record["input"]].p
    method = VectorScaling(penalty=0) if p.ndim == 2 and p.shape[1] > 2 else PlattScaling()
    at = GRID if p.ndim == 1 else first_rows(record)
    assert second(fitted(method, record).transform(at)) == pytest.approx(np.array(record["value"]), rel=0, abs=1e-4)


# --- beta ---

FACES = {"abm": lambda c, a, b: (a, -b, c), "a": lambda c, a: (a, 0, c), "b": lambda c, b: (0, -b, c)}


@pytest.mark.parametrize("record", records("r_recalibrators", "beta: coefficients", columns="abm"))
def test_beta_is_the_best_of_the_regressions_that_rise(record):
    """With a, b >= 0 the maximum is that of glm with both columns, one or none, whichever is allowed and best."""
    y, w = INPUTS[record["input"]][1:]
    base = np.average(y, weights=w)
    allowed = [(0, 0, np.log(base / (1 - base)))]
    for columns, read in FACES.items():
        found = read(*recorded("r_recalibrators", "beta: coefficients", record["input"], columns=columns))
        if min(found[:2]) >= 0:
            allowed.append(found)
    best = max(allowed, key=lambda found: log_likelihood(record, *found))
    ours = fitted(BetaCalibration(), record)
    assert log_likelihood(record, ours.a_, ours.b_, ours.c_) >= log_likelihood(record, *best) - 1e-9
    assert [ours.a_, ours.b_, ours.c_] == pytest.approx(best, rel=0, abs=1e-8)  # nearly collinear, so less determined


@pytest.mark.parametrize("record", records("r_recalibrators", "beta ab"))
def test_beta_that_keeps_a_half_is_glm_where_it_rises(record):
    """Without intercept, on log 2p and log 2(1 - p)."""
    a, minus_b = recorded("r_recalibrators", "beta ab: coefficients", record["input"])
    ours = fitted(BetaCalibration(parameters="ab"), record)
    if a >= 0 >= minus_b:
        assert ours.transform(GRID) == pytest.approx(record["value"], **FITTED)
    else:
        assert min(ours.a_, ours.b_) == 0


@pytest.mark.parametrize("record", records("betacal", "beta (a, b, c)"))
def test_beta_is_at_least_as_likely_as_that_of_betacal(record):
    """Where it keeps to a, b >= 0; where scores are exactly 0 or 1 it clips elsewhere, and still is not better."""
    ours = fitted(BetaCalibration(parameters=record["args"]["parameters"]), record)
    theirs = record["value"]
    if min(theirs[:2]) >= 0:
        assert log_likelihood(record, ours.a_, ours.b_, ours.c_) >= log_likelihood(record, *theirs)
    else:
        assert min(ours.a_, ours.b_) == 0


@pytest.mark.parametrize("record", records("betacal", "beta", without=AT_ENDS))
def test_beta_is_near_that_of_betacal(record):
    """Where it keeps to a, b >= 0, also where it drops a column; it ends where its gradient is 1e-4."""
    a, b, _ = recorded("betacal", "beta (a, b, c)", record["input"], **record["args"])
    if min(a, b) >= 0:
        ours = fitted(BetaCalibration(**record["args"]), record).transform(GRID)
        assert ours == pytest.approx(record["value"], rel=0, abs=3e-3)


@pytest.mark.parametrize("record", records("betacal", "beta", only=WRONG_WAY, parameters="abm"))
def test_betacal_falls_where_we_stay_level(record):
    """Its second fit, with one column left, is not constrained: the map turns scores round."""
    y = INPUTS[record["input"]].y
    assert (np.diff(record["value"]) < 0).all()
    assert fitted(BetaCalibration(), record).transform(GRID) == pytest.approx(np.full(39, y.mean()), **EXACT)


@pytest.mark.parametrize("record", records("netcal_recalibrators", "beta", without=AT_ENDS))
def test_beta_is_near_that_of_netcal(record):
    """Which keeps a, b >= 0 in its search, also where scores are the wrong way round; it ends at about 1e-4."""
    assert fitted(BetaCalibration(), record).transform(GRID) == pytest.approx(record["value"], rel=0, abs=3e-4)


@pytest.mark.parametrize("record", records("r_recalibrators", "beta_cdf"))
def test_beta_cdf_is_the_best_pbeta_of_r(record):
    """R's optim looks at values only, so it knows a and b to the root of the rounding of the likelihood."""
    assert fitted(BetaCDFCalibration(), record).transform(GRID) == pytest.approx(record["value"], rel=0, abs=1e-7)


# --- isotonic regression, Venn-Abers, loess ---


@pytest.mark.parametrize(
    "record", [*records("scikit_learn_recalibrators", "isotonic"), *records("r_recalibrators", "isotonic")]
)
def test_isotonic_is_that_of_scikit_learn_and_r(record):
    """Lines between calibration scores, level outside of them; rows without weight leave no trace."""
    assert fitted(IsotonicCalibration(), record).transform(FINE) == pytest.approx(record["value"], **EXACT)


@pytest.mark.parametrize("record", records("r_recalibrators", "isotonic, steps"))
def test_steps_of_isoreg_are_those_of_the_next_score(record):
    """Between calibration scores R takes the value of the next one, we that of the last one."""
    scores = np.unique(INPUTS[record["input"]].p)
    following = scores[np.minimum(np.searchsorted(scores, FINE), len(scores) - 1)]
    ours = fitted(IsotonicCalibration(between="steps"), record)
    assert ours.transform(following) == pytest.approx(record["value"], **EXACT)


@pytest.mark.parametrize("record", records("venn_abers", "venn_abers"))
def test_venn_abers_is_that_of_venn_abers(record):
    """For one event and one against the rest, also just at calibration scores."""
    p = INPUTS[record["input"]].p
    at = {1: FINE, 2: np.column_stack([1 - FINE, FINE])}.get(p.ndim if p.ndim == 1 else p.shape[1], first_rows(record))
    found = fitted(VennAbers(), record).transform(at)
    assert second(found) == pytest.approx(np.array(record["value"]), **EXACT)


@pytest.mark.parametrize("record", records("venn_abers", "venn_abers, one against one"))
def test_one_against_one_is_that_of_venn_abers(record):
    """A map for each pair of classes, and probabilities of pairs coupled as Price et al. did."""
    found = fitted(VennAbers(multi_class="ovo"), record).transform(first_rows(record))
    assert found == pytest.approx(np.array(record["value"]), **EXACT)


@pytest.mark.parametrize("record", records("venn_abers", "venn_abers (p0, p1)"))
def test_intervals_are_those_of_venn_abers(record):
    """Both ends, of each class for more than two."""
    p, expected = INPUTS[record["input"]].p, np.array(record["value"])
    if expected.ndim == 3:
        at, expected = first_rows(record), expected.transpose(1, 0, 2)  # it has classes first
    else:
        at = FINE if p.ndim == 1 else np.column_stack([1 - FINE, FINE])
    assert fitted(VennAbers(), record).predict_interval(at) == pytest.approx(expected, **EXACT)


@pytest.mark.parametrize("record", records("venn_abers", "cross venn_abers of GaussianNB"))
def test_an_ensemble_of_venn_abers_is_its_cross_prediction(record):
    """Five folds in the order of the rows, each with its own model, combined by geometric means."""
    p, y, _ = INPUTS[record["input"]]
    model = Recalibrated(GaussianNB(), VennAbers(), cv=5, ensemble=True).fit(p[:, None], y)
    assert model.predict_proba(p[:60, None])[:, 1] == pytest.approx(record["value"], **EXACT)


@pytest.mark.parametrize("record", records("r_recalibrators", "loess at rows"))
def test_local_regression_is_loess(record):
    """At the rows, which are its knots; theirs is not clipped."""
    found = fitted(LocalRegressionCalibration(**record["args"]), record).transform(first_rows(record, 60))
    assert found == pytest.approx(np.clip(record["value"], 0, 1), rel=1e-11, abs=1e-12)  # solved systems


# --- bins ---


@pytest.mark.parametrize("record", records("netcal_recalibrators", "histogram", without=ON_EDGES))
def test_histogram_binning_is_netcals(record):
    """Where calibration scores are in the bin; none is on an edge, as it fits left-closed and applies right-closed bins."""
    n_bins, p = record["args"]["bins"], INPUTS[record["input"]].p
    found = fitted(HistogramBinning(n_bins=n_bins, strategy="uniform"), record)
    at, same = (GRID, np.ones(39, bool)) if p.ndim == 1 else (first_rows(record), np.ones(30, bool))
    if p.ndim == 1:
        same = np.isin(np.ceil(at * n_bins - 1e-9), np.ceil(p * n_bins))
        assert same.sum() > 10
    assert second(found.transform(at))[same] == pytest.approx(np.array(record["value"])[same], **EXACT)


@pytest.mark.parametrize("record", records("uncertainty_calibration_recalibrators", "HistogramCalibrator"))
def test_histogram_binning_is_that_of_uncertainty_calibration(record):
    """At calibration scores; its edges are halfway to the next score, ours are the scores."""
    found = fitted(HistogramBinning(n_bins=record["args"]["bins"]), record).transform(first_rows(record, 60))
    assert found == pytest.approx(record["value"], **EXACT)


@pytest.mark.parametrize("record", records("uncertainty_calibration_recalibrators", "HistogramMarginalCalibrator"))
def test_histogram_binning_class_by_class_is_that_of_uncertainty_calibration(record):
    """Which leaves rows as they come, so they need not sum to one."""
    method = OneVsRest(HistogramBinning(n_bins=record["args"]["bins"]), normalise=False)
    assert fitted(method, record).transform(first_rows(record)) == pytest.approx(np.array(record["value"]), **EXACT)


@pytest.mark.parametrize("record", records("uncertainty_calibration_recalibrators", "PlattBinnerCalibrator"))
def test_scaling_binning_is_near_that_of_uncertainty_calibration(record):
    """It uses all rows for the map and for the bins, ours a half for each: the same up to the noise of a half."""
    found = fitted(ScalingBinning(n_bins=record["args"]["bins"]), record).transform(first_rows(record, 60))
    assert np.abs(found - record["value"]).mean() < 0.03


@pytest.mark.parametrize("record", records("netcal_recalibrators", "bbq: mean over the rows", without=ON_EDGES))
def test_bayesian_binning_keeps_the_mean_as_netcals_does(record):
    """That is all they share: its bins are uniform and weighed by BIC; our prior draws the mean by some rows."""
    p, y, _ = INPUTS[record["input"]]
    assert record["value"] == pytest.approx(y.mean(), rel=0, abs=1e-9)
    assert fitted(BBQ(), record).transform(p).mean() == pytest.approx(y.mean(), rel=0, abs=0.02)  # the prior's rows


# --- temperature, linear maps of logits ---


@pytest.mark.parametrize("record", records("scikit_learn_recalibrators", "temperature", without=WRONG_WAY))
def test_temperature_is_that_of_scikit_learn(record):
    """It looks at values of the loss only, so it knows T to the root of their rounding."""
    at = GRID if INPUTS[record["input"]].p.ndim == 1 else first_rows(record)
    found = fitted(TemperatureScaling(), record)
    assert found.transform(at) == pytest.approx(np.array(record["value"]), rel=0, abs=1e-7)


@pytest.mark.parametrize("record", records("scikit_learn_recalibrators", "temperature (T)"))
def test_fitted_temperature_is_that_of_scikit_learn(record):
    """With weights and without; to the root of the rounding of the loss."""
    assert fitted(TemperatureScaling(), record).temperature_ == pytest.approx(record["value"], rel=1e-7)


@pytest.mark.parametrize("record", records("scikit_learn_recalibrators", "temperature", only=WRONG_WAY))
def test_temperature_goes_further_than_scikit_learns_where_scores_are_wrong(record):
    """Both end near 1/2: it at 1/T = exp(-10), the end of its search, we nearer."""
    ours = np.abs(fitted(TemperatureScaling(), record).transform(GRID) - 0.5).max()
    theirs = np.abs(np.array(record["value"]) - 0.5).max()
    assert ours < 1e-6 < theirs < 1e-4


@pytest.mark.parametrize("record", records("netcal_recalibrators", "temperature", without=(*AT_ENDS, *WRONG_WAY)))
def test_temperature_is_near_that_of_netcal(record):
    """It follows differences of the loss, which end at about 1e-5."""
    at = GRID if INPUTS[record["input"]].p.ndim == 1 else first_rows(record)
    found = second(fitted(TemperatureScaling(), record).transform(at))
    assert found == pytest.approx(np.array(record["value"]), rel=0, abs=3e-5)


@pytest.mark.parametrize("record", records("netcal_recalibrators", "temperature, as it says", without=AT_ENDS))
def test_what_netcal_calls_temperature_is_one_over_it(record):
    """And it may be negative, which turns scores round; ours may not."""
    (inverse,) = record["value"]
    if record["input"] in WRONG_WAY:
        assert inverse < 0
    else:
        assert 1 / fitted(TemperatureScaling(), record).temperature_ == pytest.approx(inverse, rel=1e-4)


@pytest.mark.parametrize(
    "method", [DirichletCalibration(penalty=0), MatrixScaling(penalty=0)], ids=["dirichlet", "matrix"]
)
@pytest.mark.parametrize("record", records("scikit_learn_recalibrators", "logistic regression on log p"))
def test_dirichlet_and_matrix_scaling_are_multinomial_regression(record, method):
    """Without penalty, on log p, with weights and without."""
    found = fitted(method, record).transform(first_rows(record))
    assert second(found) == pytest.approx(np.array(record["value"]), **FITTED)


# --- prior shift ---


def moved(record):
    """The most likely shares where two of three rows of class 0 are missing, and the rows that are left."""
    p, y, _ = INPUTS[record["input"]]
    there = p[(y > 0) | (np.arange(len(y)) % 3 == 0)]
    source = PriorShift().fit(p, y).source_
    density = np.maximum(there, 1e-12) / source
    return source, _kernels.mixture_shares(density, np.ones(len(there)), source)[0], there


@pytest.mark.parametrize("record", records("abstention", "prior shift (target / source)"))
def test_shares_are_those_of_abstention(record):
    """Its EM steps go on until they move by 1e-15, ours are Newton's; `adapt` adds half a row of each class."""
    source, target, _ = moved(record)
    assert target / source == pytest.approx(record["value"], **FITTED)


@pytest.mark.parametrize("record", records("abstention", "prior shift"))
def test_shifted_scores_are_those_of_abstention(record):
    """Scores of the new place, with its most likely shares."""
    source, target, there = moved(record)
    p, y, _ = INPUTS[record["input"]]
    shift = PriorShift(source=source, target=target).fit(p, y)
    assert shift.transform(there[:30]) == pytest.approx(np.array(record["value"]), **FITTED)


# --- wrapped classifiers ---

METHODS = {
    "sigmoid": PlattScaling(input="scores", targets="smoothed"),
    "isotonic": IsotonicCalibration(input="scores"),
    "temperature": TemperatureScaling(input="logits"),
}
CLOSE = {"sigmoid": 1e-7, "isotonic": 1e-12, "temperature": 1e-7}  # as the maps themselves, above


@pytest.mark.slow
@pytest.mark.parametrize("record", records("scikit_learn_recalibrators", "CalibratedClassifierCV"))
def test_recalibrated_is_calibrated_classifier_cv(record):
    """Of the decision function, five folds, one map or one per fold, with weights, two classes and more."""
    p, y, w = INPUTS[record["input"]]
    method, ensemble = record["args"]["method"], record["args"]["ensemble"]
    features = np.column_stack([p, p * p]) if p.ndim == 1 else p
    model = Recalibrated(RidgeClassifier(), METHODS[method], cv=5, ensemble=ensemble).fit(features, y, sample_weight=w)
    level = (record["input"], method, ensemble) == ("ties", "temperature", True)  # in a fold it ends at 1/T = exp(-10)
    found = second(model.predict_proba(features[:30]))
    assert found == pytest.approx(np.array(record["value"]), rel=0, abs=1e-5 if level else CLOSE[method])


@pytest.mark.parametrize("record", records("lme4", "one column", "two columns"))
def test_partial_pooling_is_glmer(record):
    """Coefficients, covariances among levels and effects; where `glmer` ends, its likelihood is known to 1e-8."""
    p, y, _ = by_level()[record["input"]]
    row = np.arange(len(p))
    sizes = [6, 4][: 1 + (record["quantity"] == "two columns")]
    codes = [row % 6, row // 6 % 4][: len(sizes)]
    found = fit_mixed_logistic(_kernels.clipped_logit(p), np.ones(len(p)), y.astype(float), codes, sizes)
    value = record["value"]
    assert found.log_likelihood == pytest.approx(value["log_likelihood"], abs=1e-7)
    assert [found.intercept, found.slope] == pytest.approx(value["common"], abs=1e-4)
    for mine, theirs in zip(found.covariances, value["covariances"], strict=True):
        assert mine.ravel() == pytest.approx(np.array(theirs), abs=1e-4)
    for mine, theirs in zip(found.effects, value["effects"], strict=True):
        assert mine.ravel() == pytest.approx(np.array(theirs), abs=1e-4)
