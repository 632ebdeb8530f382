"""Recorded values of other libraries and of R for what needs no bins: curves, errors, decompositions, fits and tests."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest

import believable
from believable import Predictions, _kernels
from tests.oracle.inputs import beyond, digest, inputs

INPUTS, BINNED = beyond(), inputs()
VALUES = Path(__file__).parent / "values"
PEERS = """calibre_corp calzone mapie mcgrad model_diagnostics netcal_mmce r rms scikit_learn_isotonic statsmodels""".split()
EXACT = {"rel": 1e-12, "abs": 1e-14}
SOLVED = {"rel": 1e-11, "abs": 1e-12}  # ends of iterations and solved systems, theirs or ours


def load(peer):
    return json.loads((VALUES / f"{peer}.json").read_text())


def records(peer, *quantities, without=(), only=None):
    """The recorded numbers of a peer as test cases."""
    return [
        pytest.param(record, id="-".join([record["input"], record["quantity"], *map(str, record["args"].values())]))
        for record in load(peer)["records"]
        if record["quantity"] in quantities
        and record["input"] not in without
        and (only is None or record["input"] in only)
    ]


def recorded(peer, quantity, name):
    """One value of a peer."""
    return next(r["value"] for r in load(peer)["records"] if (r["quantity"], r["input"]) == (quantity, name))


def number(value):
    """JSON knows no NaN or infinity."""
    return float(value) if isinstance(value, str) else value


def given(record):
    """The input as predictions, with its weights."""
    p, y, w = INPUTS[record["input"]]
    return Predictions(p, y, sample_weight=w)


@pytest.fixture
def clipping():
    """Scores of exactly 0 and 1 have no logit; that they are moved is said once, and is not what is tested here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_the_inputs_are_those_recorded():
    """Every file was recorded on these very inputs."""
    for peer in PEERS:
        assert load(peer)["inputs_sha256"] == digest(INPUTS), peer


# --- cumulative errors and tests, MMCE ---


@pytest.mark.parametrize("record", records("mapie", "kolmogorov_smirnov_error"))
def test_kolmogorov_smirnov_error_is_mapies(record):
    """Its cumulative sum without noise has our largest gap."""
    assert believable.kolmogorov_smirnov_calibration_error(given(record)) == pytest.approx(record["value"], **EXACT)


@pytest.mark.parametrize("record", records("mapie", "kuiper_error", without=("too_high",)))
def test_kuiper_error_is_mapies(record):
    """Its range is ours, where the sum is not of one sign."""
    assert believable.kuiper_calibration_error(given(record)) == pytest.approx(record["value"], **EXACT)


@pytest.mark.parametrize("record", records("mcgrad", "ecce"))
def test_kuiper_error_is_mcgrads(record):
    """With weights, and with the start of the sum."""
    assert believable.kuiper_calibration_error(given(record)) == pytest.approx(record["value"], **EXACT)


@pytest.mark.parametrize("record", records("netcal_mmce", "MMCE 2-D"))
def test_mmce_is_netcals(record):
    """Of confidences, as the paper has it."""
    assert believable.maximum_mean_calibration_error(given(record)) == pytest.approx(record["value"], **EXACT)


# --- smECE ---

AWAY_FROM_THE_ENDS = ("smooth", "smooth_float32", "ties", "fewer_than_bins", "two_column", "multi3", "multi10")


def of_bins(record):
    """The data of a file recorded on the inputs with bins."""
    p, y, _ = BINNED[record["input"]]
    return Predictions(p, y)


@pytest.mark.parametrize("record", records("relplot", "smECE (value, sigma)", only=AWAY_FROM_THE_ENDS))
def test_smooth_error_is_near_relplots(record):
    """Its bisection ends 1/1024 or less above the fixed point, on a grid good to 1 %; rows at 0 and 1 it counts half."""
    value, sigma = record["value"]
    found = believable.smooth_calibration_error(of_bins(record))
    assert found == pytest.approx(value, rel=0.02, abs=1 / 1024)
    assert sigma - 1 / 1024 - 0.01 * sigma < found < sigma * 1.01


@pytest.mark.parametrize("record", records("relplot", "smECE_sigma", only=AWAY_FROM_THE_ENDS))
def test_smooth_error_at_a_bandwidth_is_near_relplots(record):
    """Within 1 %, where its kernel is not yet cut off."""
    sigma = record["args"]["sigma"]
    if sigma < 0.2:
        found = believable.smooth_calibration_error(of_bins(record), bandwidth=sigma)
        assert found == pytest.approx(record["value"], rel=0.01)


# --- logistic recalibration ---


def ends(estimate):
    return [estimate.value, estimate.low, estimate.high]


def coefficients(data, **options):
    """Intercept, then slope, as R orders them."""
    line = believable.calibration_slope_intercept(data, **options)
    return line.intercept, line.slope


@pytest.mark.usefixtures("clipping")
@pytest.mark.parametrize(
    "record", records("r", "in the large: root of the score", "weighted in the large: root of the score")
)
def test_in_the_large_is_the_root_of_the_score(record):
    """Also where scores of 0 and 1 make R's glm run away."""
    assert believable.calibration_in_the_large(given(record)).value == pytest.approx(record["value"], **SOLVED)


@pytest.mark.parametrize("record", records("r", "in the large"))
def test_in_the_large_is_that_of_glm(record):
    """An intercept beside an offset."""
    value = believable.calibration_in_the_large(given(record)).value
    assert value == pytest.approx(record["value"]["estimate"], **SOLVED)


@pytest.mark.usefixtures("clipping")
@pytest.mark.parametrize("record", records("r", "slope and intercept", without=("constant",)))
def test_slope_and_intercept_are_those_of_glm(record):
    """Unpenalised maximum likelihood."""
    intercept, slope = coefficients(given(record))
    assert [intercept.value, slope.value] == pytest.approx(record["value"]["estimate"], **SOLVED)


@pytest.mark.usefixtures("clipping")
@pytest.mark.parametrize("record", records("r", "weighted in the large", "weighted slope and intercept"))
def test_weighted_fits_are_those_of_glm(record):
    """Weights of the likelihood."""
    if "large" in record["quantity"]:
        found = believable.calibration_in_the_large(given(record)).value
    else:
        found = [estimate.value for estimate in coefficients(given(record))]
    assert found == pytest.approx(record["value"], **SOLVED)


SANDWICH = ("in the large: sandwich se", "slope and intercept: sandwich se")


@pytest.mark.usefixtures("clipping")
@pytest.mark.parametrize("record", records("r", *SANDWICH, *(f"weighted {quantity}" for quantity in SANDWICH)))
def test_wald_intervals_have_the_sandwich_of_r(record):
    """Half the interval over the normal quantile is the robust standard error, with weights and without."""
    if "large" in record["quantity"]:
        found, expected = [believable.calibration_in_the_large(given(record))], [record["value"]]
    else:
        found, expected = coefficients(given(record)), record["value"]
    half = [(estimate.high - estimate.low) / 2 / 1.959963984540054 for estimate in found]
    assert half == pytest.approx(expected, **SOLVED)


@pytest.mark.parametrize(
    "record",
    [
        case
        for kind in ("", " var_weights")
        for quantity in ("in the large", "slope and intercept")
        for case in records("statsmodels", f"{quantity} (estimate, se, [low, high]){kind}")
        if case.values[0]["args"]["cov_type"] == "HC0"
    ],
)
def test_wald_intervals_are_those_of_statsmodels(record):
    """Estimates and limits with its HC0 covariance; importance weights are its var_weights."""
    estimates, _, (low, high) = record["value"]
    large = record["quantity"].startswith("in the large")
    found = [believable.calibration_in_the_large(given(record))] if large else coefficients(given(record))
    for estimate, *expected in zip(found, estimates, low, high, strict=True):
        assert ends(estimate) == pytest.approx(expected, **SOLVED)


@pytest.mark.usefixtures("clipping")
@pytest.mark.parametrize("record", records("r", "in the large: profile", "slope: profile", "intercept: profile"))
def test_profile_intervals_are_those_of_r(record):
    """Where the deviance has risen by 3.84, the other coefficient fitted anew."""
    if record["quantity"].startswith("in the large"):
        found = believable.calibration_in_the_large(given(record), interval="profile")
    else:
        intercept, slope = coefficients(given(record), interval="profile")
        found = slope if record["quantity"].startswith("slope") else intercept
    assert [found.low, found.high] == pytest.approx(record["value"], **SOLVED)


@pytest.mark.usefixtures("clipping")
@pytest.mark.parametrize(
    "record",
    records("r", "in the large: profile by confint", "slope and intercept: profile by confint"),
)
def test_profile_intervals_are_near_confint(record):
    """Which draws a spline through a few points of the profile."""
    if record["quantity"].startswith("in the large"):
        found = [believable.calibration_in_the_large(given(record), interval="profile")]
    else:
        found = coefficients(given(record), interval="profile")
    ends = [estimate.low for estimate in found] + [estimate.high for estimate in found]
    assert ends == pytest.approx(record["value"], abs=0.005)


@pytest.mark.parametrize("record", records("rms", "val.prob", without=("heaped_tenths", "half_saturated")))
def test_slope_and_intercept_are_those_of_val_prob(record):
    """Where it drops no rows; it iterates to about 1e-5."""
    intercept, slope = coefficients(given(record))
    assert intercept.value == pytest.approx(record["value"]["Intercept"], rel=3e-5)
    assert slope.value == pytest.approx(record["value"]["Slope"], rel=3e-5)


@pytest.mark.parametrize(
    "record",
    records(
        "calzone",
        "cox (slope, intercept, intervals)",
        "cox (slope, intercept, intervals), fix_slope=True",
        without=("heaped_tenths", "half_saturated", "constant"),
    ),
)
def test_slope_and_intercept_are_those_of_calzone(record):
    """Away from 0 and 1, which it clips elsewhere."""
    if "fix_slope" in record["quantity"]:
        found = believable.calibration_in_the_large(given(record)).value
        assert found == pytest.approx(record["value"][1], **SOLVED)
    else:
        intercept, slope = coefficients(given(record))
        assert [slope.value, intercept.value] == pytest.approx(record["value"][:2], **SOLVED)


@pytest.mark.parametrize(
    "record",
    records("r", "observed_expected (ratio, low, high)", "weighted observed_expected (ratio, low, high)"),
)
def test_observed_over_expected_is_that_of_r(record):
    """With its interval on the log scale."""
    assert ends(believable.observed_expected_ratio(given(record))) == pytest.approx(record["value"], **EXACT)


# --- isotonic regression and CORP ---


def at_rows(record):
    """The CORP curve at every row that has weight."""
    p, _, w = INPUTS[record["input"]]
    curve = believable.corp_curve(given(record))
    return curve.y[np.searchsorted(curve.x, p if w is None else p[w > 0])]


@pytest.mark.parametrize("record", [*records("r", "isotonic"), *records("scikit_learn_isotonic", "isotonic")])
def test_corp_curve_is_isotonic_regression(record):
    """R's isoreg and scikit-learn's, at every row."""
    w = INPUTS[record["input"]].w
    expected = np.array(record["value"])[slice(None) if w is None else w > 0]
    assert at_rows(record) == pytest.approx(expected, **EXACT)


@pytest.mark.parametrize("record", records("r", "weighted isotonic, rows of weight"))
def test_weights_are_rows_repeated(record):
    """isoreg of the rows repeated is the weighted curve."""
    assert at_rows(record) == pytest.approx(record["value"], **EXACT)


@pytest.mark.parametrize("record", records("calibre_corp", "corp_reliability at the distinct scores"))
def test_corp_curve_is_calibres(record):
    """At the distinct scores that have weight."""
    assert believable.corp_curve(given(record)).y == pytest.approx(record["value"], **EXACT)


def decomposed(record, score):
    found = believable.corp_decomposition(given(record), score=score)
    return [found.mcb, found.dsc, found.unc, found.score]


@pytest.mark.parametrize("record", records("r", "corp", "weighted corp"))
def test_corp_decomposition_is_that_of_r(record):
    """From isoreg; a certain mistake makes the log score infinite."""
    expected = [number(record["value"][name]) for name in ("mcb", "dsc", "unc", "score")]
    score = "brier" if record["args"]["score"] == "brier" else "log"
    assert decomposed(record, score) == pytest.approx(expected, **EXACT)


@pytest.mark.parametrize(
    "record",
    records(
        "model_diagnostics",
        *(f"decompose {score} (mcb, dsc, unc, score)" for score in ("SquaredError", "LogLoss")),
    ),
)
def test_corp_decomposition_is_that_of_model_diagnostics(record):
    """With weights; where its weightless rows are 0 times infinity, it has no answer."""
    expected = list(map(number, record["value"]))
    if not any(map(math.isnan, expected)):
        score = "brier" if "Squared" in record["quantity"] else "log"
        assert decomposed(record, score) == pytest.approx(expected, **EXACT)


@pytest.mark.parametrize("record", records("calibre_corp", "score_decomposition"))
def test_corp_decomposition_is_that_of_calibre(record):
    """With weights; it clips the log score, which shows only where a certain score fails."""
    p, y, w = INPUTS[record["input"]]
    failed = (np.abs(p - y) == 1) & (True if w is None else w > 0)
    if record["args"]["score"] == "brier" or not failed.any():
        names = ("miscalibration", "discrimination", "uncertainty", "mean_score")
        expected = [record["value"][name] for name in names]
        assert decomposed(record, record["args"]["score"]) == pytest.approx(expected, **EXACT)


@pytest.mark.parametrize("record", records("r", "murphy"))
def test_murphy_decomposition_is_that_of_r(record):
    """Five terms by bins, and their sum."""
    found = believable.murphy_decomposition(given(record), n_bins=record["args"]["m"])
    for name, value in record["value"].items():
        assert getattr(found, name) == pytest.approx(value, **EXACT), name


# --- smoothed curves ---


def smoothing(record):
    """The scores of the largest input are merged into cells, which moves the curve by less than 1e-4."""
    return {"abs": 1e-4} if record["input"] == "many" else SOLVED


@pytest.mark.parametrize("record", records("r", "loess on a grid", "weighted loess on a grid"))
def test_smoothed_curve_is_loess(record):
    """Every fifth point of our grid is one of theirs; weights are rows repeated; theirs is not clipped."""
    curve = believable.smoothed_calibration_curve(given(record), **record["args"])
    assert curve.y[::5] == pytest.approx(np.clip(record["value"], 0, 1), **smoothing(record))


@pytest.mark.parametrize("record", records("r", "loess index"))
def test_calibration_index_is_that_of_loess(record):
    """E50 and E90 are values of the data: R's type 1. The larger type 7 lies between two of them."""
    span, degree = record["args"]["span"], record["args"]["degree"]
    found = believable.calibration_index(given(record), span=span, degree=degree)
    names = ("ici", "e50", "e90", "emax", "eci") if record["args"]["type"] == 1 else ("ici", "emax", "eci")
    for name in names:
        scale = 0.01 if name == "eci" else 1
        assert getattr(found, name) * scale == pytest.approx(record["value"][name] * scale, **smoothing(record)), name


@pytest.mark.parametrize("record", records("statsmodels", "lowess on a grid"))
def test_smoothed_curve_is_statsmodels_lowess(record):
    """Degree 1, on every fifth point of our grid, where it has an answer and the span is a number of rows."""
    n, frac = len(INPUTS[record["input"]].y), record["args"]["frac"]
    if (frac * n).is_integer():
        curve = believable.smoothed_calibration_curve(given(record), span=frac, degree=1)
        expected = np.clip(list(map(number, record["value"])), 0, 1)
        there = np.isfinite(expected)
        assert curve.y[::5][there] == pytest.approx(expected[there], **smoothing(record))


@pytest.mark.parametrize("record", records("r", "lowess at the sorted data"))
def test_index_is_that_of_lowess(record):
    """Its shortcuts at the middle and the ends of the window move it by less than 1e-9."""
    p = np.sort(INPUTS[record["input"]].p)
    gap = np.abs(np.clip(record["value"], 0, 1) - p)
    found = believable.calibration_index(given(record), span=record["args"]["f"], degree=1)
    assert [found.ici, found.emax] == pytest.approx([gap.mean(), gap.max()], abs=1e-9)


@pytest.mark.parametrize(
    "record", records("calzone", "lowess ICI", without=("constant", "fewer_than_bins", "ties", "many"))
)
def test_index_is_that_of_calzone(record):
    """Where the smoother stays in [0, 1], as it clips nothing; interpolating over 0.001 moves it by less than 1e-6."""
    span, delta = record["args"]["span"], record["args"]["delta"]
    smooth = recorded("r", "lowess at the sorted data", record["input"])
    if min(smooth) >= 0 and max(smooth) <= 1:
        found = believable.calibration_index(given(record), span=span, degree=1)
        assert found.ici == pytest.approx(record["value"], **(SOLVED if delta == 0 else {"abs": 1e-6}))


# --- tests ---


@pytest.mark.parametrize("record", records("mapie", "kolmogorov_smirnov_exact", without=("fewer_than_bins",)))
def test_kolmogorov_smirnov_test_is_mapies(record):
    """The statistic; the p-value by its limit, of which it has eight digits."""
    found = believable.kolmogorov_smirnov_test(given(record))
    assert found.statistic == pytest.approx(record["value"], **EXACT)
    p_value = recorded("mapie", "kolmogorov_smirnov_p_value", record["input"])
    assert found.p_value == pytest.approx(p_value, rel=1e-7)


@pytest.mark.parametrize("record", records("mcgrad", "ecce_sigma", "ecce_pvalue", without=("fewer_than_bins",)))
def test_kuiper_test_is_mcgrads(record):
    """Statistic and p-value, with weights."""
    found = believable.kuiper_test(given(record))
    value = found.statistic if record["quantity"] == "ecce_sigma" else found.p_value
    assert value == pytest.approx(record["value"], rel=1e-10, abs=1e-13)


@pytest.mark.parametrize("record", records("mapie", "kolmogorov_smirnov_cdf", "kuiper_cdf"))
def test_limits_are_mapies(record):
    """Of the largest value and of the range of Brownian motion."""
    tail = _kernels.range_tail if record["quantity"].startswith("kuiper") else _kernels.sup_tail
    assert tail(record["args"]["x"]) == pytest.approx(1 - record["value"], rel=1e-11, abs=1e-14)


@pytest.mark.parametrize("record", records("r", "spiegelhalter (z, p)", "weighted spiegelhalter (z, p)"))
def test_spiegelhalter_is_that_of_r(record):
    """Two-sided, with weights; where nothing can be said z is 0 and p is 1."""
    expected = list(map(number, record["value"]))
    found = believable.spiegelhalter(given(record))
    if math.isnan(expected[0]):
        expected = [0, 1]
    assert found.statistic == pytest.approx(expected[0], **EXACT)
    assert found.p_value == pytest.approx(expected[1], rel=1e-9)


@pytest.mark.parametrize("record", records("rms", "val.prob"))
def test_spiegelhalter_and_brier_are_those_of_val_prob(record):
    """Its S:z, S:p and Brier."""
    assert believable.brier_score(given(record)) == pytest.approx(record["value"]["Brier"], **EXACT)
    found = believable.spiegelhalter(given(record))
    assert found.statistic == pytest.approx(record["value"]["S:z"], **EXACT)
    assert found.p_value == pytest.approx(record["value"]["S:p"], rel=1e-9)


@pytest.mark.parametrize("record", records("rms", "val.prob", without=("heaped_tenths", "half_saturated")))
def test_cox_test_is_that_of_val_prob(record):
    """Its U:Chi-sq and U:p, where it drops no rows; its fit of the line is accurate to about 1e-5, the maximum more."""
    found = believable.cox_test(given(record))
    assert found.statistic == pytest.approx(record["value"]["U:Chi-sq"], rel=1e-7)
    assert found.p_value == pytest.approx(record["value"]["U:p"], rel=1e-6, abs=1e-15)


@pytest.mark.parametrize("record", records("mapie", "spiegelhalter_statistic", without=("constant",)))
def test_spiegelhalter_statistic_is_mapies(record):
    """Its p-value is one-sided; its statistic is ours."""
    assert believable.spiegelhalter(given(record)).statistic == pytest.approx(record["value"], **EXACT)


@pytest.mark.parametrize("record", records("calzone", "spiegelhalter (z, p)", without=("constant",)))
def test_spiegelhalter_is_that_of_calzone(record):
    """Its p-value is a difference from 1."""
    found = believable.spiegelhalter(given(record))
    assert found.statistic == pytest.approx(record["value"][0], **EXACT)
    assert found.p_value == pytest.approx(record["value"][1], rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("record", records("r", "hosmer_lemeshow", without=("constant",)))
def test_hosmer_lemeshow_is_that_of_r(record):
    """Groups at type-7 quantiles, as many degrees of freedom as groups, or two fewer."""
    g, value = record["args"]["g"], record["value"]
    if value["statistic"] == "Infinity":
        return  # a group without doubt that is wrong; ours joins it to a neighbour
    found = believable.hosmer_lemeshow(given(record), n_groups=g, groups="type7")
    assert found.statistic == pytest.approx(value["statistic"], **EXACT)
    assert found.p_value == pytest.approx(value["p_value"], rel=1e-9)
    assert found.df == len(value["n"])
    if found.df > 2:
        found = believable.hosmer_lemeshow(given(record), n_groups=g, groups="type7", in_sample=True)
        assert found.p_value == pytest.approx(value["p_value_in_sample"], rel=1e-9)
        assert found.df == len(value["n"]) - 2
