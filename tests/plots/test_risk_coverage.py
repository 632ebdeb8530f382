"""The picture of risk against coverage."""

from __future__ import annotations

import numpy as np
import pytest

import believable
from believable.errors import InputError
from tests.plots.data import DIFFICULT, P, Y
from tests.plots.drawn import legend, line, nothing_is_cut, title

QUICK = {"n_resamples": 100, "random_state": 0}


def test_the_line_is_the_curve():
    """In percent, with the best possible order below it."""
    found = believable.selective(P, Y, **QUICK)
    figure = believable.plot_risk_coverage(P, Y, **QUICK)
    ax = figure.axes[0]
    assert np.allclose(line(ax, "risk of what"), [100 * found.coverage, 100 * found.risk])
    x, best = line(ax, "best possible order")
    assert best[-1] == pytest.approx(100 * found.risk[-1])
    assert (best[x < 100 * (1 - found.risk[-1]) - 1e-9] == 0).all()
    assert f"AURC {found.area:.4f}" in title(figure)
    assert f"best possible order: area {found.best:.4f}" in legend(ax)


def test_several_models():
    """Each by its name with its area; computed curves are taken as they are."""
    other = believable.selective(np.clip(P + 0.1, 0, 1), Y, **QUICK)
    figure = believable.plot_risk_coverage({"one": P, "other": other}, Y, title="both", **QUICK)
    words = legend(figure.axes[0])
    assert [text.split(":")[0] for text in words] == ["one", "other"]
    assert f"{other.area:.4f}" in words[1]
    assert title(figure) == "both\nrisk–coverage curves, 95 % intervals"
    assert nothing_is_cut(figure)


@pytest.mark.parametrize("name", DIFFICULT)
def test_difficult_data_are_drawn(name, tmp_path):
    """Few rows, heaped, rare and certain scores give a picture with no words cut, saved where asked."""
    figure = believable.plot_risk_coverage(DIFFICULT[name], save_path=tmp_path / "a.png", **QUICK)
    assert nothing_is_cut(figure)
    assert (tmp_path / "a.png").stat().st_size > 5000


def test_refusals():
    """No models, and more than can be told apart."""
    with pytest.raises(InputError, match="the dict is empty"):
        believable.plot_risk_coverage({}, Y)
    with pytest.raises(InputError, match="at most 6 models can be told apart in one picture, got 7"):
        believable.plot_risk_coverage({str(i): P for i in range(7)}, Y)
