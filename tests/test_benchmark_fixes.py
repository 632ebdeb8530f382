"""The benchmark behind docs/which-fix.md runs, means what it says, and gives the figures that are kept."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from benchmarks import fixes
from benchmarks.fix_sources import Rows

from believable.recalibrate import RECALIBRATORS

SOURCES = {source.name: source for source in fixes.sources()}
KEPT = {source["name"]: source for source in json.loads(fixes.KEPT.read_text())["sources"]}


@pytest.mark.parametrize(
    "name", ["steps", "rare", "other prevalence", "raw", "3 over-confident", "odd digits, logistic"]
)
def test_every_method_runs_on_every_kind_of_source(name):
    """A draw of few rows gives every method its figures, all of them numbers or nothing."""
    source = SOURCES[name]
    made = fixes.cell(source, 120, 1, 400)["methods"]
    assert set(made) == set(fixes.methods(source.kind)) - set(source.leave_out)
    shares = [one[key] for one in made.values() for key in ("worse", "worse_brier", "infinite", "failed")]
    assert set(shares) <= {0.0, 1.0}
    assert made["nothing"]["worse"] == 0


def test_every_recalibrator_is_tried():
    """On some kind of source, or it is another's map under a name of its own."""
    tried = {name for kind in ("event", "classes", "scores", "prevalence") for name in fixes.methods(kind)}
    assert {cls.facts.alias for name, cls in RECALIBRATORS.items() if name not in fixes.LEFT_OUT} <= tried
    assert set(fixes.LEFT_OUT.values()) <= tried


@pytest.mark.parametrize("name", [name for name, source in SOURCES.items() if source.draw])
def test_simulations_know_the_truth(name):
    """Events happen as often as their truth says, within four standard errors in tenths of the truth."""
    source = SOURCES[name]
    rows = source.draw(np.random.default_rng(1), 20000)
    t, y = (rows.truth, rows.y) if rows.truth.ndim == 1 else (rows.truth[:, 0], rows.y == 0)
    for part in np.array_split(np.argsort(t), 10):
        error = np.sqrt(np.mean(t[part] * (1 - t[part])) / len(part))
        assert abs(np.mean(y[part]) - np.mean(t[part])) < 4 * error + 1e-3


def test_excess_over_the_truth():
    """The truth itself has none; a probability of 0 for what can happen has an infinite log loss and a finite Brier."""
    truth = np.array([0.2, 0.5])
    best = fixes.judged(truth, Rows(None, np.array([0, 1]), truth))
    assert (best["log_loss"], best["brier"], best["distance"]) == pytest.approx((0, 0, 0))
    off = fixes.judged(np.array([0.0, 0.6]), Rows(None, np.array([0, 1]), truth))
    assert off["log_loss"] == np.inf
    assert (off["brier"], off["distance"]) == pytest.approx((0.025, 0.15))


def test_what_is_kept_is_what_is_measured():
    """A part that is quick to measure again gives the same figures, and every bundled source is there, whole."""
    assert {name for name, source in SOURCES.items() if source.bundled} == {
        n for n, one in KEPT.items() if one["bundled"]
    }
    for name, source in SOURCES.items():
        if name in KEPT:
            assert KEPT[name]["sizes"] == list(source.sizes)
            assert KEPT[name]["draws"] == [fixes.n_draws(source, n) for n in source.sizes]
    for name in ("too high", "raw"):
        kept, source = KEPT[name], SOURCES[name]
        again = fixes.cell(source, 100, fixes.n_draws(source, 100), 20000, only=("nothing", "platt", "isotonic"))
        for method, figures in again["methods"].items():
            for figure, value in figures.items():
                old = kept["methods"][method][figure][kept["sizes"].index(100)]
                assert value == (old if old is None else pytest.approx(old, rel=0.01, abs=1e-5)), (method, figure)


def test_a_run_joins_its_cells():
    """The record of a source has a list over sizes for every figure, and its text is the same JSON."""
    source = replace(SOURCES["steps"], sizes=(60, 90))
    results = fixes.run([source], smoke=True, processes=1)
    assert [len(values) for values in results["sources"][0]["methods"]["platt"].values()] == [2] * 8
    assert json.loads(fixes.lines(results)) == results


def test_some_methods_measured_again_replace_their_figures_only():
    """The others stay as they were kept, in the order of methods; so does the choice, unless calibrate was measured."""
    source = replace(SOURCES["steps"], sizes=(60,))
    kept = fixes.run([source], smoke=True, processes=1, only=("nothing", "platt", "calibrate"))["sources"]
    marked = [kept[0] | {"chosen": ["kept"], "methods": {name: {"kept": [1]} for name in kept[0]["methods"]}}]
    again = fixes.run([source], smoke=True, processes=1, only=("platt", "beta"))["sources"]
    (found,) = fixes.updated(marked, again)
    assert list(found["methods"]) == ["nothing", "calibrate", "platt", "beta"]
    assert found["methods"]["calibrate"] == {"kept": [1]}
    assert found["methods"]["platt"] == kept[0]["methods"]["platt"]
    assert found["chosen"] == ["kept"]
