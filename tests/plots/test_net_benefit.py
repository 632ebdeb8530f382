"""The picture of a decision curve."""

from __future__ import annotations

import numpy as np
import pytest

import believable
from believable.errors import InputError
from tests.plots.data import DIFFICULT, P, Y
from tests.plots.drawn import band, legend, line, nothing_is_cut, title

QUICK = {"n_resamples": 100, "random_state": 0}
ONE_EVENT = [name for name, data in DIFFICULT.items() if data.kind == "binary"]


def test_the_lines_are_the_curve():
    """The model with its interval, treating everyone, treating no one, and a bar where it is surely of use."""
    found = believable.net_benefit(P, Y, **QUICK)
    figure = believable.plot_net_benefit(P, Y, **QUICK)
    ax = figure.axes[0]
    assert np.allclose(line(ax, "Treat where"), [found.threshold, found.net_benefit])
    assert np.allclose(line(ax, "Treat everyone"), [found.threshold, found.treat_all])
    _, low, high = band(ax, "interval at each threshold")
    assert np.allclose([low, high], [found.low, found.high])
    assert line(ax, "Better than both")[0].tolist() == list(found.surely_useful[0])
    first, last = max(found.useful, key=lambda ends: ends[1] - ends[0])
    assert title(figure).startswith(f"Better than treating all or none at thresholds {first:g} … {last:g}\nn = 400")


def test_several_models(tmp_path):
    """Each by its name; thresholds are those asked for; saved where asked."""
    models = {"one": P, "other": np.clip(P + 0.1, 0, 1)}
    figure = believable.plot_net_benefit(
        models, Y, thresholds=[0.1, 0.2, 0.3], title="both", save_path=tmp_path / "a.png", **QUICK
    )
    assert legend(figure.axes[0]) == ["Treat everyone", "Treat no one", "one", "other"]
    assert line(figure.axes[0], "other")[0].tolist() == [0.1, 0.2, 0.3]
    assert nothing_is_cut(figure)
    assert (tmp_path / "a.png").stat().st_size > 5000


@pytest.mark.parametrize("name", ONE_EVENT)
def test_difficult_data_are_drawn(name):
    """Few rows, heaped, rare and certain scores give a picture with no words cut."""
    assert nothing_is_cut(believable.plot_net_benefit(DIFFICULT[name], **QUICK))


def test_refusals():
    """One event only."""
    with pytest.raises(InputError, match="net_benefit is about one event"):
        believable.plot_net_benefit(DIFFICULT["matrix"])
