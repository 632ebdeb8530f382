"""The picture of risk against coverage."""

from __future__ import annotations

import numpy as np
import pytest

import believable
from believable.errors import InputError
from tests.plots.data import DIFFICULT, P, Y
from tests.plots.drawn import band, legend, line, nothing_is_cut, title

QUICK = {"n_resamples": 100, "random_state": 0}


def test_the_line_is_the_curve():
    """In percent, with the best possible order below it."""
    found = believable.selective(P, Y, **QUICK)
    figure = believable.plot_risk_coverage(P, Y, **QUICK)
    ax = figure.axes[0]
    drawn = line(ax, "Risk of the answers")
    assert np.allclose(drawn[:, 1:], [100 * found.coverage, 100 * found.risk])
    assert np.allclose(drawn[:, 0], [0, 100 * found.risk[0]])
    x, best = line(ax, "Best possible order")
    assert best[-1] == pytest.approx(100 * found.risk[-1])
    assert (best[x < 100 * (1 - found.risk[-1]) - 1e-9] == 0).all()
    assert f"AURC {found.area:.4f}" in title(figure)
    assert f"Best possible order: area {found.best:.4f}" in legend(ax)


def area_below(x, y):
    """Of a line between points, in shares."""
    return float(np.diff(x) @ (y[1:] + y[:-1]) / 2) / 1e4


@pytest.mark.parametrize("heaped", [False, True])
def test_areas_are_those_of_the_title(heaped):
    """The shaded area is the excess, and the dashed line bounds the best area, for soft labels and few scores too."""
    rng = np.random.default_rng(0)
    p = rng.random(600)
    p, shares = (p.round(1), rng.random(600) < p) if heaped else (p, np.clip(p + rng.normal(0, 0.2, 600), 0, 1))
    source = believable.Predictions(p, shares.astype(float), soft_labels=True)
    found = believable.selective(source, **QUICK)
    ax = believable.plot_risk_coverage(source, **QUICK).axes[0]
    assert area_below(*line(ax, "Best possible order")) == pytest.approx(found.best, abs=0.003)
    x, low, high = band(ax, "Excess")
    assert area_below(x, high) - area_below(x, low) == pytest.approx(found.excess, abs=0.003)


def test_one_confidence_is_a_line():
    """Scores that are all the same are answered together, at one risk."""
    figure = believable.plot_risk_coverage(np.full(10, 0.7), [1] * 6 + [0] * 4, **QUICK)
    assert np.allclose(line(figure.axes[0], "Risk of the answers"), [[0, 100], [40, 40]])


def test_several_models(tmp_path):
    """Each by its name with its area; computed curves are taken as they are; saved where asked."""
    other = believable.selective(np.clip(P + 0.1, 0, 1), Y, **QUICK)
    figure = believable.plot_risk_coverage({"one": P, "other": other}, Y, tmp_path / "a.png", title="both", **QUICK)
    words = legend(figure.axes[0])
    assert [text.split(":")[0] for text in words] == ["one", "other"]
    assert f"{other.area:.4f}" in words[1]
    assert title(figure) == "both\nRisk–coverage curves, 95 % intervals"
    assert nothing_is_cut(figure)
    assert (tmp_path / "a.png").stat().st_size > 5000


@pytest.mark.parametrize("name", DIFFICULT)
def test_difficult_data_are_drawn(name):
    """Few rows, heaped, rare and certain scores give a picture with no words cut."""
    assert nothing_is_cut(believable.plot_risk_coverage(DIFFICULT[name], **QUICK))


def test_refusals():
    """No models, and more than can be told apart."""
    with pytest.raises(InputError, match="the dict is empty"):
        believable.plot_risk_coverage({}, Y)
    with pytest.raises(InputError, match="at most 8 models can be distinguished in one picture, got 9"):
        believable.plot_risk_coverage({str(i): P for i in range(9)}, Y)
