"""The picture of a cascade: the curve, both models alone, the chosen cut and the theoretical one."""

from __future__ import annotations

import numpy as np
import pytest

import believable
from believable import plot_cascade
from believable.errors import InputError
from tests.plots.data import DIFFICULT, LABELS, MATRIX, P, Y
from tests.plots.drawn import legend, line, nothing_is_cut, title

COSTS = {"cost_fast": 0.02, "cost_slow": 0.15}


def test_the_curve_and_its_points():
    """What is drawn is what was found."""
    found = believable.cascade(P, Y, **COSTS)
    figure = plot_cascade(found, title="mine")
    ax = figure.axes[0]
    x, y = line(ax, "Cost of the cascade")
    assert np.allclose(x, 100 * found.curve.routed)
    assert np.allclose(y, found.curve.cost)
    assert np.allclose(line(ax, "Expected from the scores")[1], found.curve.promised)
    assert line(ax, "Chosen threshold").ravel() == pytest.approx([100 * found.routed, found.cost])
    assert line(ax, "Fast model alone").ravel() == pytest.approx([0, found.cost_fast_only])
    assert line(ax, "Slow model alone").ravel() == pytest.approx([100, found.cost_slow_only])
    assert line(ax, "Theoretical threshold")[1] == pytest.approx([found.theoretical_cost])
    first, second, third = title(figure).splitlines()
    assert first == "mine"
    assert second == f"Routes {100 * found.routed:.3g} % of 400 rows to the slow model"
    assert third.startswith(f"Saves {found.saving.value:+.3g} per row over the {found.cheaper} model, 95 % interval")
    assert len(legend(ax)) == 6


def test_data_are_cascaded_first(tmp_path):
    """Without a `Cascade` it is computed, with the same choices, and saved."""
    figure = plot_cascade(MATRIX, LABELS, tmp_path / "a.svg", slow=LABELS, **COSTS)
    found = believable.cascade(MATRIX, LABELS, slow=LABELS, **COSTS)
    assert line(figure.axes[0], "Chosen")[1] == pytest.approx([found.cost])
    assert (tmp_path / "a.svg").stat().st_size > 1000


@pytest.mark.parametrize("name", [name for name in DIFFICULT if name != "n = 1"])
def test_difficult_data_can_be_drawn(name):
    """Nothing is cut, whatever the scores are."""
    assert nothing_is_cut(plot_cascade(DIFFICULT[name], **COSTS))


def test_bad_choices_are_refused():
    """What was found needs no data; costs are needed otherwise."""
    found = believable.cascade(P, Y, **COSTS)
    with pytest.raises(InputError, match="leave actuals, costs, slow and sample_weight out"):
        plot_cascade(found, Y)
    with pytest.raises(InputError, match="cost_fast and cost_slow are missing"):
        plot_cascade(P, Y)
