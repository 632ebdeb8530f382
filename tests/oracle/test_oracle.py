"""Recorded values of other libraries: directly where they share our convention, by `convention=` where they do not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import believable
from believable import Predictions, expected_calibration_error
from believable.errors import UndefinedError
from tests.oracle.inputs import beyond, by_level, digest, inputs, recalibrating
from tests.oracle.record_multicalibration import digest as digest_of_tables

INPUTS = inputs()
VALUES = Path(__file__).parent / "values"
EXACT = {"rel": 1e-10, "abs": 1e-13}
SINGLE = {"rel": 2e-6, "abs": 1e-7}  # the peer accumulates in float32


def records(peer, *quantities):
    """The recorded numbers of a peer as test cases."""
    saved = json.loads((VALUES / f"{peer}.json").read_text())
    return [
        pytest.param(record, id=f"{record['input']}-{'-'.join(map(str, record['args'].values()))}")
        for record in saved["records"]
        if record["quantity"] in quantities
    ]


def number(value):
    return float(value) if isinstance(value, str) else value


def test_the_inputs_are_those_recorded():
    """Every file was recorded on these very inputs, on those of what needs no bins, or on those of recalibrators."""
    files = sorted(VALUES.glob("*.json"))
    recorded = [json.loads(path.read_text())["inputs_sha256"] for path in files]
    assert recorded.count(digest()) == 7
    assert recorded.count(digest(recalibrating())) == 7
    assert recorded.count(digest(by_level())) == 1
    assert recorded.count(digest_of_tables()) == 1
    assert recorded.count(digest(beyond())) == len(files) - 16


@pytest.mark.parametrize("record", records("torchmetrics", "calibration_error"))
def test_torchmetrics(record):
    """Left-closed bins, 1 in a bin of its own, float32 for matrices."""
    given, args = INPUTS[record["input"]], record["args"]
    norm = {"l1": 1, "l2": 2, "max": "max"}[args["norm"]]
    found = expected_calibration_error(given.p, given.y, args["n_bins"], norm=norm, convention="torchmetrics")
    single = given.p.ndim == 2 or given.p.dtype == np.float32
    assert found == pytest.approx(record["value"], **(SINGLE if single else EXACT))


@pytest.mark.parametrize("record", records("netcal", "ECE", "MCE"))
def test_netcal(record):
    """Left-closed bins after clipping; what it refuses is undefined here too."""
    given, args = INPUTS[record["input"]], record["args"]
    options = {
        "n_bins": args["bins"],
        "strategy": "uniform" if args["equal_intervals"] else "quantile",
        "norm": 1 if record["quantity"] == "ECE" else "max",
        "convention": "netcal",
    }
    if record["value"] is None:
        with pytest.raises(UndefinedError, match="netcal refuses"):
            expected_calibration_error(given.p, given.y, **options)
    else:
        assert expected_calibration_error(given.p, given.y, **options) == pytest.approx(record["value"], **EXACT)


@pytest.mark.parametrize("record", records("relplot", "binnedECE"))
def test_relplot(record):
    """The truncated quotient of score and width."""
    given = INPUTS[record["input"]]
    if record["value"] is None:  # its array of bins is one too short for these
        return
    found = expected_calibration_error(given.p, given.y, record["args"]["nbins"], convention="relplot")
    assert found == pytest.approx(record["value"], **EXACT)


@pytest.mark.parametrize("record", records("uncertainty_calibration", "get_ece", "get_ece_em"))
def test_uncertainty_calibration(record):
    """Division edges in float64, or midpoints between sorted parts."""
    given = INPUTS[record["input"]]
    if record["args"].get("mode") == "marginal":
        return  # below, where it is ours
    strategy = "quantile" if record["quantity"] == "get_ece_em" else "uniform"
    found = expected_calibration_error(
        given.p, given.y, record["args"]["num_bins"], strategy, convention="uncertainty-calibration"
    )
    single = given.p.ndim == 2 and given.p.dtype == np.float32
    assert found == pytest.approx(record["value"], **(SINGLE if single else EXACT))


@pytest.mark.parametrize("record", records("array_split", "array_split_ece"))
def test_array_split(record):
    """The recipe of tutorials, ties split as they come."""
    given = INPUTS[record["input"]]
    found = expected_calibration_error(given.p, given.y, record["args"]["n_bins"], convention="array_split")
    assert found == pytest.approx(record["value"], **EXACT)


# --- the same convention as ours: compared directly ---


def weights_of(record):
    """The weights, where the recorded call used them."""
    return INPUTS[record["input"]].w if "sample_weight=w" in record["call"] else None


@pytest.mark.parametrize("record", records("uncertainty_calibration", "get_ece"))
def test_our_bins_are_those_of_uncertainty_calibration(record):
    """Its uniform bins are ours wherever it computes in float64."""
    given = INPUTS[record["input"]]
    if given.p.dtype == np.float64:
        notion = "classwise" if record["args"].get("mode") == "marginal" else None
        found = expected_calibration_error(given.p, given.y, record["args"]["num_bins"], notion=notion)
        assert found == pytest.approx(record["value"], **EXACT)


@pytest.mark.parametrize("record", records("scikit_learn", "calibration_curve (prob_true, prob_pred)"))
def test_scikit_learn_curve(record):
    """The error of its curve, weighted by counts, is the error by its convention; off edges, its curve is ours."""
    given, args = INPUTS[record["input"]], record["args"]
    prob_true, prob_pred = (np.array(list(map(number, part))) for part in record["value"])
    q = np.linspace(0, 1, args["n_bins"] + 1)
    edges = q if args["strategy"] == "uniform" else np.percentile(given.p, 100 * q)
    counts = np.bincount(np.searchsorted(edges[1:-1], given.p.astype(float)), minlength=args["n_bins"])
    error = np.sum(counts[counts > 0] / len(given.y) * np.abs(prob_true - prob_pred))
    found = expected_calibration_error(given.p, given.y, **args, convention="scikit-learn")
    assert found == pytest.approx(error, rel=1e-9 if given.p.dtype == np.float64 else 2e-6)
    if record["input"] in ("smooth", "fewer_than_bins") and args["strategy"] == "uniform":
        ours = believable.calibration_curve(given.p, given.y, args["n_bins"])
        assert np.allclose(ours[0], prob_pred, rtol=1e-12)
        assert np.allclose(ours[1], prob_true, rtol=1e-12)
        assert np.array_equal(ours[2], counts[counts > 0])


@pytest.mark.parametrize("record", records("scikit_learn", "brier", "log_loss", "auc", "accuracy", "d2_brier"))
def test_scikit_learn_scores(record):
    """Proper scores, AUC and accuracy, with weights; log loss with its clipping."""
    given, quantity = INPUTS[record["input"]], record["quantity"]
    data = Predictions(given.p, given.y, sample_weight=weights_of(record))
    halved = record["args"].get("scale_by_half", "auto")
    found = {
        "brier": lambda: believable.brier_score(
            data, scale_by_half=given.p.shape[1:] == (2,) if halved == "auto" else halved
        ),
        "log_loss": lambda: believable.negative_log_likelihood(data, eps=float(np.finfo(given.p.dtype).eps)),
        "auc": lambda: believable.auc(data),
        "accuracy": lambda: believable.accuracy(data),
        "d2_brier": lambda: believable.brier_skill_score(data),
    }[quantity]()
    single = given.p.dtype == np.float32
    assert found == pytest.approx(number(record["value"]), rel=1e-6 if single else 1e-10, abs=1e-6 if single else 1e-13)


def vectors(peer, *quantities):
    """Records of 1-D float64 scores."""
    cases = records(peer, *quantities)
    return [
        case
        for case in cases
        if INPUTS[case.values[0]["input"]].p.dtype == np.float64 and INPUTS[case.values[0]["input"]].p.ndim == 1
    ]


@pytest.mark.parametrize("record", records("calibre", "expected_calibration_error", "maximum_calibration_error"))
def test_calibre_uniform(record):
    """Left-closed bins, never more than rows."""
    given = INPUTS[record["input"]]
    norm = 1 if record["quantity"].startswith("expected") else "max"
    data = Predictions(given.p, given.y, sample_weight=weights_of(record))
    found = expected_calibration_error(data, n_bins=record["args"]["n_bins"], norm=norm, convention="calibre")
    assert found == pytest.approx(record["value"], **EXACT)


@pytest.mark.parametrize("record", records("calibre", "root_mean_squared_calibration_error"))
def test_calibre_root_mean_squared(record):
    """Both of its strategies, with weights."""
    given = INPUTS[record["input"]]
    data = Predictions(given.p, given.y, sample_weight=weights_of(record))
    found = expected_calibration_error(data, **record["args"], norm=2, convention="calibre")
    assert found == pytest.approx(record["value"], **EXACT)


@pytest.mark.parametrize("record", vectors("calibre", "plugin_calibration_error"))
def test_our_quantile_bins_are_those_of_calibre(record):
    """Its equal-mass bins never split ties either."""
    given, args = INPUTS[record["input"]], record["args"]
    if "sample_weight=w" in record["call"] or args["n_bins"] > len(given.y):
        return  # weights without our slack may fall on the other side; fewer rows than bins it counts otherwise
    found = expected_calibration_error(given.p, given.y, args["n_bins"], "quantile", norm=args["norm"])
    assert found == pytest.approx(record["value"], **EXACT)


@pytest.mark.parametrize("record", vectors("calibre", "debiased_calibration_error"))
def test_debiased_error_is_that_of_calibre(record):
    """The variance of labels, bins of one row adding nothing."""
    given, args = INPUTS[record["input"]], record["args"]
    if "sample_weight=w" in record["call"] or args["n_bins"] > len(given.y):
        return
    found = believable.debiased_calibration_error(given.p, given.y, args["n_bins"], variance="label")
    assert (found.squared if args["squared"] else found.value) == pytest.approx(record["value"], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("record", vectors("calibre", "sweep_calibration_error (value, n_bins)"))
def test_sweep_is_that_of_calibre(record):
    """The same number of bins is chosen, and has the same error."""
    given, norm = INPUTS[record["input"]], record["args"]["norm"]
    if "sample_weight=w" not in record["call"]:
        found = believable.sweep_calibration_error(given.p, given.y, norm=norm)
        assert found == pytest.approx(record["value"][0], **EXACT)


@pytest.mark.parametrize("record", records("netcal", "ACE"))
def test_average_error_is_netcals_ace(record):
    """Off the edges its ACE is the average calibration error."""
    given, args = INPUTS[record["input"]], record["args"]
    if record["input"] in ("smooth", "multi3", "multi10") and args["equal_intervals"]:
        found = believable.average_calibration_error(given.p, given.y, args["bins"])
        assert found == pytest.approx(record["value"], **EXACT)
