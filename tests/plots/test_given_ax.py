"""Every picture goes where it is asked to go, and leaves everything else alone."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

import believable
from tests.plots.data import P, Y

SITE = np.repeat(["north", "south"], 200)
PICTURES = {
    "corp": lambda ax: believable.plot_corp_diagram(P, Y, ax=ax, n_resamples=20),
    "display": lambda ax: believable.ReliabilityDisplay.from_predictions(Y, P, ax=ax).figure_,
    "smoothed": lambda ax: believable.plot_smoothed_calibration(P, Y, ax=ax),
    "miscalibration": lambda ax: believable.plot_miscalibration(P, Y, ax=ax),
    "cumulative": lambda ax: believable.plot_cumulative_differences(P, Y, ax=ax),
    "forest": lambda ax: believable.plot_subgroup_forest(P, Y, SITE, ax=ax, n_resamples=100),
    "segments": lambda ax: believable.plot_segments(P, Y, SITE, ax=ax),
    "threshold": lambda ax: believable.plot_threshold(P, Y, ax=ax, precision=0.7),
    "risk coverage": lambda ax: believable.plot_risk_coverage(P, Y, ax=ax, n_resamples=100),
    "net benefit": lambda ax: believable.plot_net_benefit(P, Y, ax=ax, n_resamples=100),
    "cascade": lambda ax: believable.plot_cascade(P, Y, cost_fast=0.01, cost_slow=0.1, ax=ax),
    "ranking": lambda ax: believable.plot_ranking(P, variance=P / 50, ax=ax),
    "sample": lambda ax: believable.plot_uncertainty_sample(P, 20, random_state=0, ax=ax),
    "words": lambda ax: believable.plot_confidence_words(P[:3], ax=ax, title="words"),
    "metrics": lambda ax: believable.plot_metrics(P, Y, ["ece"], ax=ax, n_resamples=100),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_given_ax_is_used(name):
    """Its figure comes back, the ax beside it stays empty, rcParams stay as they were."""
    before = dict(matplotlib.rcParams)
    figure = Figure(layout="constrained")
    left, right = figure.subplots(1, 2)
    assert PICTURES[name](left) is figure
    assert left.get_title("left")
    assert not right.has_data()
    assert len(figure.axes) == 2
    assert dict(matplotlib.rcParams) == before
