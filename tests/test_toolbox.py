"""The short names are the long ones, with 15 bins."""

from __future__ import annotations

import numpy as np
import pytest

import believable as b
from believable import toolbox as t
from believable.errors import InputError

RNG = np.random.default_rng(9)
M = RNG.dirichlet(np.full(6, 0.4), 500)
L = RNG.integers(0, 6, 500)
P = RNG.random(500)
Y = (RNG.random(500) < P).astype(int)

SAME = {
    "ECE": lambda: (t.ECE(M, L), b.expected_calibration_error(M, L, 15)),
    "ECE binary": lambda: (t.ECE(P, Y), b.expected_calibration_error(P, Y, 15)),
    "RMSCE": lambda: (t.RMSCE(M, L), b.root_mean_square_calibration_error(M, L, 15)),
    "MCE": lambda: (t.MCE(M, L), b.maximum_calibration_error(M, L, 15)),
    "ACE": lambda: (t.ACE(M, L), b.adaptive_calibration_error(M, L, 15)),
    "ACE binary": lambda: (t.ACE(P, Y), b.adaptive_calibration_error(P, Y, 15)),
    "SCE": lambda: (t.SCE(M, L), b.static_calibration_error(M, L, 15)),
    "TACE": lambda: (t.TACE(M, L), b.thresholded_adaptive_calibration_error(M, L, 15)),
    "ToprCE": lambda: (t.ToprCE(M, L, r=4), b.top_r_calibration_error(M, L, 15, r=4)),
    "ToprCE beyond K": lambda: (t.ToprCE(M, L, r=9), b.top_r_calibration_error(M, L, 15, r=6)),
    "TCE": lambda: (t.TCE(M, L), b.expected_calibration_error(M, L, 15, "quantile", norm=2)),
    "CWCE": lambda: (t.CWCE(M, L), b.marginal_calibration_error(M, L, 15)),
    "KSCE": lambda: (t.KSCE(M, L), b.kolmogorov_smirnov_calibration_error(M, L)),
    "MMCE": lambda: (t.MMCE(P, Y), b.maximum_mean_calibration_error(P, Y)),
    "KCE": lambda: (t.KCE(M, L), b.kernel_calibration_error(M, L)),
    "GCE": lambda: (t.GCE(M, L), t.ECE(M, L)),
    "GCE pooled top 1": lambda: (t.GCE(M, L, class_conditional=False), t.ECE(M, L)),
    "GCE pooled": lambda: (
        t.GCE(M, L, 20, class_conditional=False, top_k_classes="all", norm="inf"),
        b.expected_calibration_error(M, L, 20, notion="classwise", pooled=True, norm="max"),
    ),
    "GCE ranks": lambda: (
        t.GCE(M, L, adaptive_bins=True, top_k_classes=2, norm=2, thresholding=0.1),
        b.expected_calibration_error(M, L, 15, "quantile", notion="top_r", r=2, norm=2, threshold=0.1),
    ),
    "OverUnder": lambda: (t.OverUnder(M, L).total, t.ECE(M, L)),
}


@pytest.mark.parametrize("name", SAME)
def test_short_names(name):
    """Each short name is a choice of notion, bins and norm."""
    one, other = SAME[name]()
    assert one == pytest.approx(other, rel=1e-13)


def test_reliability_diagram_is_the_curve():
    """Two arrays, ten bins by default."""
    predicted, happened = t.reliability_diagram(P, Y)
    curve = b.calibration_curve(P, Y)
    assert np.array_equal(predicted, curve[0])
    assert np.array_equal(happened, curve[1])


def test_a_threshold_of_zero_keeps_zeros():
    """0 means no threshold: probabilities of exactly 0 count."""
    assert t.GCE([0.0, 0.0, 1.0], [1, 0, 1]) == pytest.approx(1 / 3)


def test_a_calibrated_model_is_calibrated():
    """True negatives are not hits: the static error of a calibrated model is near 0."""
    rng = np.random.default_rng(1)
    rows = rng.dirichlet(np.ones(10), 20_000)
    labels = (rows.cumsum(axis=1) < rng.random((20_000, 1))).sum(axis=1)
    assert t.SCE(rows, labels) < 0.01
    assert t.ACE(rows, labels) < 0.01


def test_classes_need_a_matrix():
    """SCE, CWCE and ToprCE of 1-D scores are an error."""
    for function in (t.SCE, t.CWCE, t.ToprCE):
        with pytest.raises(InputError, match="needs a matrix with one column per class"):
            function(P, Y)
    with pytest.raises(InputError, match="top_k_classes must be a number or 'all'"):
        t.GCE(M, L, top_k_classes="some")
    for odd in ("3", None, 2.5):
        with pytest.raises(InputError, match="r must be an integer"):
            t.ToprCE(M, L, r=odd)
    with pytest.raises(InputError, match="top_k_classes must be an integer from 1 to 6"):
        t.GCE(M, L, top_k_classes=7)
    assert t.GCE(M, L, norm=np.inf) == t.MCE(M, L)
