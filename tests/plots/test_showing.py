"""Figures that `plt.show()` finds, and those that nobody has to close."""

from __future__ import annotations

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest

import believable
from tests.plots.data import LABELS, MATRIX, P, Y

SCRIPT = """
import warnings
warnings.simplefilter("error")
import matplotlib
matplotlib.use("agg")
matplotlib.rcParams["figure.max_open_warning"] = 1
{before}
import sys
import believable

scores, outcomes = [0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]
figure = believable.plot_reliability_diagram(scores, outcomes)
for i in range(2):
    believable.plot_confidence_histogram(scores, outcomes, save_path="picture.svg")
{after}
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import matplotlib.pyplot as plt", "assert plt.get_fignums() == [1] and plt.figure(1) is figure; plt.show()"),
        ("", "assert 'matplotlib.pyplot' not in sys.modules"),
    ],
    ids=["pyplot", "without"],
)
def test_a_script_can_show_its_figures(tmp_path, before, after):
    """Where pyplot is in use it knows what was drawn, but for what was saved; elsewhere it is not even imported."""
    code = SCRIPT.format(before=before, after=after)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_every_new_figure_is_known_to_pyplot(tmp_path):
    """Those of several panels too; those that are saved, or drawn on a given ax, add none."""
    plt.close("all")
    calibrated = believable.calibrate(P, Y, "platt", n_resamples=100, random_state=0)
    believable.plot_classwise_reliability(MATRIX, LABELS)
    believable.plot_improvement(calibrated)
    assert len(plt.get_fignums()) == 2
    believable.plot_confidence_histogram(MATRIX, LABELS, save_path=tmp_path / "a.svg")
    assert len(plt.get_fignums()) == 2
    _, ax = plt.subplots()
    believable.plot_reliability_diagram(P, Y, ax=ax)
    assert len(plt.get_fignums()) == 3


def test_a_notebook_shows_a_figure_once(monkeypatch):
    """What a notebook displays as a result is not shown again with the open figures of the cell."""
    figure = believable.plot_reliability_diagram(P, Y)
    number = figure.number
    assert figure._repr_mimebundle_() == {}
    assert number in plt.get_fignums()  # in a window it stays
    monkeypatch.setattr(plt, "get_backend", lambda: "module://matplotlib_inline.backend_inline")
    assert figure._repr_mimebundle_(include=None, exclude=None) == {}
    assert number not in plt.get_fignums()
    assert figure._repr_png_()[:4] == b"\x89PNG"
    assert np.isfinite(figure.get_size_inches()).all()
