"""Pictures of scores next to 0 and 1, where powers of ten, logits and squares end."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pytest
from matplotlib import pyplot

from believable import Predictions, plots
from believable.errors import LimitWarning, SmallSampleWarning

TINY = np.tile([5e-324, 1e-310, 2.3e-308, 1e-200, 0.0], 8)
Y = np.tile([0, 0, 0, 1, 0, 0, 0, 0, 0, 0], 4)
SOFTMAX = np.tile([[1, 0, 5e-324], [1 - 2**-53, 2**-53, 0], [1e-200, 0.25, 0.75]], (12, 1))
ROWS = {
    "tiny": Predictions(TINY, Y),
    "one": Predictions(np.full(40, 5e-324), Y, sample_weight=np.geomspace(1e-30, 1e30, 40)),
    "both ends": Predictions(np.concatenate([TINY, 1 - TINY[:10], np.full(10, 1 - 2**-53)]), np.tile([0, 1], 30)),
    "pairs": Predictions(TINY, Y, pairs=True),
    "softmax": Predictions(SOFTMAX, np.tile([0, 1, 2, 2], 9)),
}
PICTURES = {
    "cascade": lambda rows: plots.plot_cascade(rows, cost_fast=0.01, cost_slow=0.2),
    "confidence": plots.plot_confidence_histogram,
    "corp": lambda rows: plots.plot_corp_diagram(rows, n_resamples=20, random_state=0),
    "cumulative": lambda rows: plots.plot_cumulative_differences(rows, n_resamples=20, random_state=0),
    "miscalibration": plots.plot_miscalibration,
    "reliability": plots.plot_reliability_diagram,
    "risk": lambda rows: plots.plot_risk_coverage(rows, n_resamples=100, random_state=0),
    "sampling": lambda rows: plots.plot_uncertainty_sample(rows, 5, random_state=0),
    "smoothed": plots.plot_smoothed_calibration,
    "threshold": plots.plot_threshold,
}


@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.parametrize(
    "rows", ["one", "softmax", *(pytest.param(name, marks=pytest.mark.slow) for name in ("tiny", "both ends", "pairs"))]
)
def test_pictures_of_extreme_scores(rows, name):
    """They are drawn and written without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", LimitWarning)
        warnings.simplefilter("ignore", SmallSampleWarning)
        PICTURES[name](ROWS[rows]).savefig(io.BytesIO(), dpi=20)
    pyplot.close("all")


@pytest.mark.parametrize("value", [5e-324, 1e-310, 1e-300, 1.3e-5, 0.02, 0.9, 7.2])
def test_axes_end_above_what_they_show(value):
    """Also where a power of ten is not a float any more."""
    from believable.plots.frame import next_round_number as of_plots
    from believable.report.html.svg import next_round_number as of_pages

    assert of_plots(value) == of_pages(value)
    assert value <= of_plots(value) <= max(1.6 * value, 1e-300)
