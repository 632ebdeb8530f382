"""Smoothed calibration curves over the diagonal."""

from __future__ import annotations

import numpy as np
import pytest

import believable
from believable.errors import InputError, UndefinedError
from tests.plots.data import DIFFICULT, LABELS, MATRIX, P, W, Y
from tests.plots.drawn import band, legend, line, nothing_is_cut, title

CURVES = {
    "local": (believable.smoothed_calibration_curve, "Smoothed curve (loess)"),
    "kernel": (believable.kernel_calibration_curve, "Smoothed curve (kernel)"),
    "logistic": (believable.logistic_calibration_curve, "Logistic curve"),
}


@pytest.mark.parametrize("method", CURVES)
def test_curve_and_band_are_those_of_the_method(method):
    """The line and the band are the curve that the method names."""
    ax = believable.plot_smoothed_calibration(P, Y, method=method, level=0.8, sample_weight=W).axes[0]
    make, words = CURVES[method]
    curve = make(P, Y, level=0.8, sample_weight=W)
    assert np.allclose(line(ax, words), [curve.x, curve.y])
    x, low, high = band(ax, "confidence band")
    assert np.allclose([x, low, high], [curve.x, curve.low, curve.high])
    assert legend(ax) == [words, "80 % confidence band", "Perfect calibration"]
    assert np.allclose(line(ax, "Perfect"), [[0, 1], [0, 1]])


def test_titles_tell_the_error_with_its_settings():
    """ICI of the drawn curve, smECE with its bandwidth, or slope and intercept."""
    ici = believable.integrated_calibration_index(P, Y)
    assert title(believable.plot_smoothed_calibration(P, Y)) == f"ICI {ici:.3f}   (span 0.75, degree 2)\nn = 400"
    ici = believable.integrated_calibration_index(P, Y, bandwidth=0.3, degree=1)
    words = title(believable.plot_smoothed_calibration(P, Y, bandwidth=0.3, degree=1))
    assert words.startswith(f"ICI {ici:.3f}   (bandwidth 0.3, degree 1)")
    lcs = believable.local_calibration_score(P, Y)
    words = title(believable.plot_smoothed_calibration(P, Y, error="lcs"))
    assert words.startswith("LCS 0.03")
    assert float(words.split()[1]) == pytest.approx(lcs, rel=1e-2)
    assert words.endswith("(span 0.75, degree 2)\nn = 400")
    ici = believable.integrated_calibration_index(P, Y, neighbours=90)
    words = title(believable.plot_miscalibration(P, Y, neighbours=90))
    assert words.startswith(f"ICI {ici:.3f}   (90 neighbours, degree 2)")
    smece = believable.smooth_calibration_error(P, Y)
    words = title(believable.plot_smoothed_calibration(P, Y, method="kernel"))
    assert words.startswith(f"smECE {smece:.3f}   (bandwidth: its own value)")
    smece = believable.smooth_calibration_error(P, Y, bandwidth=0.02)
    words = title(believable.plot_smoothed_calibration(P, Y, method="kernel", bandwidth=0.02))
    assert words.startswith(f"smECE {smece:.3f}   (bandwidth: 0.02)")
    settings = believable.logistic_calibration_curve(P, Y).settings
    words = title(believable.plot_smoothed_calibration(P, Y, method="logistic", title="mine"))
    assert words.startswith(f"mine\nslope {settings['slope']:.2f}   intercept {settings['intercept']:+.2f}\n")


@pytest.mark.parametrize("name", DIFFICULT)
@pytest.mark.parametrize("method", ["local", "kernel"])
def test_difficult_data_are_drawn(name, method):
    """Few rows, heaped, rare and certain scores give a picture with no words cut."""
    assert nothing_is_cut(believable.plot_smoothed_calibration(DIFFICULT[name], method=method))


def test_the_histogram_holds_all_rows():
    """It hangs below on the same scores, and can be left out."""
    ax = believable.plot_smoothed_calibration(P, Y).axes[0]
    assert sum(bar.get_height() for bar in ax.child_axes[0].patches) == pytest.approx(100)
    assert ax.child_axes[0].get_xlim() == ax.get_xlim()
    assert not believable.plot_smoothed_calibration(P, Y, show_histogram=False).axes[0].child_axes


def test_bad_choices_are_refused():
    """A choice the method does not have is an error, as are several groups."""
    with pytest.raises(InputError, match="method must be one of 'local', 'kernel', 'logistic', got 'spline'"):
        believable.plot_smoothed_calibration(P, Y, method="spline")
    with pytest.raises(InputError, match="method='kernel' has no span: leave it out"):
        believable.plot_smoothed_calibration(P, Y, method="kernel", span=0.5)
    with pytest.raises(InputError, match="method='kernel' has no error: leave it out"):
        believable.plot_smoothed_calibration(P, Y, method="kernel", error="lcs")
    with pytest.raises(InputError, match="error must be one of 'ici', 'lcs', got 'ece'"):
        believable.plot_smoothed_calibration(P, Y, error="ece")
    with pytest.raises(InputError, match="method='logistic' has no bandwidth"):
        believable.plot_smoothed_calibration(P, Y, method="logistic", bandwidth=0.5)
    with pytest.raises(UndefinedError, match="one set of scores, but there are 4"):
        believable.plot_smoothed_calibration(MATRIX, LABELS, notion="classwise")
    with pytest.raises(UndefinedError, match="needs both outcomes"):
        believable.plot_smoothed_calibration(P, np.zeros(400, int), method="logistic")


@pytest.mark.parametrize("method", CURVES)
def test_a_simultaneous_band_is_that_of_isotonic_rates(method):
    """It is the band of `corp_curve` at the positions of the curve, whatever the smoothing."""
    ax = believable.plot_smoothed_calibration(P, Y, method=method, band="simultaneous").axes[0]
    curve = believable.corp_curve(P, Y, band="simultaneous")
    x, low, high = band(ax, "95 % simultaneous confidence band")
    assert np.all((curve.low < curve.y) | (curve.low == 0))  # no bound was moved
    assert np.all((curve.high > curve.y) | (curve.high == 1))
    assert np.allclose(low, np.append(0, curve.low)[np.searchsorted(curve.x, x, side="right")])
    assert np.allclose(high, np.append(curve.high, 1)[np.searchsorted(curve.x, x, side="left")])
