"""The fix that an audit recommends, and what it promises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import believable
from believable import Predictions, Summary, audit
from believable.auditing import fix
from believable.recalibrate import TemperatureScaling
from tests.auditing.data import few_metrics, over_confident, too_sure

RNG = np.random.default_rng(0)


@pytest.mark.slow
def test_the_fix_helps_rows_it_has_not_seen(binary):
    """Over-confident scores get a map; what is promised is what fresh rows of the same kind gain."""
    found = binary[-1]
    assert found.fix.chosen != "nothing"
    assert sum(one.chosen for one in found.fix.tried) == 1
    mapped = believable.load_recalibrator(found.fix.map)
    p, y = over_confident(20_000, rng=np.random.default_rng(1))
    gain = believable.negative_log_likelihood(p, y) - believable.negative_log_likelihood(mapped.transform(p), y)
    (change,) = (one for one in found.fix.changes if one.name == "log loss")
    assert change.gain_low - 0.05 < gain < change.gain_high + 0.05  # the interval is of these rows, this is of others
    assert change.gain == pytest.approx(change.before - change.after, rel=1e-9)
    assert found.advice[0].startswith("Use ")


@pytest.mark.slow
def test_calibrated_scores_are_left_alone():
    """Nothing is recommended for scores that are fine, and no place or direction is named."""
    rng = np.random.default_rng(3)
    p = rng.beta(1, 1, 5000)
    found = audit(p, rng.random(5000) < p)
    assert found.verdict.answer == "yes"
    assert found.fix.chosen == "nothing"
    assert found.fix.map is None
    assert not found.verdict.ranges
    assert any("Leave the scores alone" in sentence for sentence in found.advice)
    assert {one.stage for one in found.slices} == {"before"}


@pytest.mark.slow
def test_large_data_are_compared_on_some_rows(monkeypatch):
    """Methods are compared on some rows, whole clusters of them, and the chosen one is judged on all."""
    few_metrics(monkeypatch)
    monkeypatch.setattr("believable.auditing.fix.MAX_ROWS_TO_COMPARE_ON", 500)
    p, y = over_confident(3000, rng=RNG)
    found = audit(p, y)
    assert found.fix.rows.startswith("500 rows")
    assert "log loss" in {one.name for one in found.fix.changes}
    (after,) = (one for one in found.slices if one.stage == "after")
    assert after.cells.cells().n.sum() == 3000
    grouped = audit(p, y, clusters=np.arange(3000) // 10)
    assert "clusters" in grouped.fix.rows


@pytest.mark.slow
def test_names_that_are_numbers_and_text():
    """Classes called 1, "1" and "b" are three classes, and what mends their probabilities does not mix them up."""
    q, y = over_confident(400, 3, rng=RNG)
    plain = audit(q, y)
    names = [1, "1", "b"]
    named = audit(Predictions(q, np.array(names, object)[y], classes=names))
    assert named.fix.chosen == plain.fix.chosen != "nothing"
    assert named.fix.changes == plain.fix.changes


@pytest.mark.slow
def test_a_rare_class_is_among_the_rows_compared(monkeypatch):
    """Of many rows with few events enough events are compared on; the gain is that of all rows, not of the mixture."""
    monkeypatch.setattr("believable.auditing.fix.MAX_ROWS_TO_COMPARE_ON", 1000)
    few_metrics(monkeypatch)
    rng = np.random.default_rng(2)
    p = rng.beta(1, 400, 20_000)
    y = rng.random(20_000) < np.minimum(8 * p, 1)
    assert 300 < y.sum() < 500
    found = audit(p, y)
    assert found.fix.chosen != "nothing"
    assert not any("rarest class" in sentence for sentence in found.caveats)
    tried = next(one for one in found.fix.tried if one.name == "nothing")
    # Measured on drawn rows that hold all 300 to 500 events: two standard errors of their part of the loss.
    assert tried.log_loss == pytest.approx(found["nll"].value, rel=0.15)
    grouped = audit(p, y, clusters=np.arange(20_000) // 4)
    assert grouped.fix.chosen != "nothing"


def test_one_lonely_row_of_a_class_does_not_stop_the_others():
    """A class seen once cannot be put into folds by itself; the probabilities can still be mended."""
    q, y = over_confident(300, 4, rng=RNG)
    y[y == 3] = 2
    y[0] = 3
    assert audit(q, y).fix.chosen != "nothing"


def test_a_method_of_matrices_learns_from_cells_too():
    """Temperature scaling has no `fit_from_cells`: cells are its rows, with weights, under the names of the classes."""
    p, y = too_sure(3000, np.random.default_rng(7))
    summary = Summary.of(Predictions(p, np.array(["no", "yes"])[y], pos_label="yes"))
    learnt = fix._fitted("temperature", replace(summary, classes=("no", "yes")))
    direct = TemperatureScaling().fit(p, y)
    assert learnt.transform([0.1, 0.6]) == pytest.approx(direct.transform([0.1, 0.6]), abs=1e-5)
    assert learnt.classes_.tolist() == ["no", "yes"]
