"""Rows drawn from the cells of a summary are like those that were counted."""

from __future__ import annotations

import numpy as np
import pytest

from believable import Predictions, Summary, audit
from believable.auditing import drawn_rows as module
from believable.auditing.drawn_rows import drawn_rows
from believable.stats import ScoreSums
from tests.auditing.data import too_sure


def test_drawn_rows_are_the_cells():
    """Where there are few rows, those that come back have the counts, scores and outcomes of the cells."""
    p, y = too_sure(5000, np.random.default_rng(4))
    rows = drawn_rows(Summary.of(Predictions(p, y)), 0)
    assert rows.weights is None
    assert (len(rows), int(rows.labels.sum())) == (5000, int(y.sum()))
    assert np.sort(rows.scores) == pytest.approx(np.sort(p), rel=2e-3)  # a logit-spaced cell is 0.16 % wide


def test_rows_are_drawn_without_replacement(monkeypatch):
    """No cell gives more rows than it has, and the share of outcomes stays, also where the event is rare."""
    monkeypatch.setattr(module, "MAX_DRAWN_ROWS", 2000)
    monkeypatch.setattr(module, "FEWEST_DRAWN_OF_OUTCOME", 300)
    rng = np.random.default_rng(5)
    p = np.round(rng.beta(1, 20, 20_000), 2)
    y = rng.random(20_000) < p / 4
    for monkeypatched in (10**9 - 1, 1000):  # and with replacement, where the counts are beyond what can be drawn so
        monkeypatch.setattr(module, "MAX_DRAWN_WITHOUT_REPLACEMENT", monkeypatched)
        rows = drawn_rows(Summary.of(Predictions(p, y)), 0)
        rate = np.average(rows.labels, weights=rows.weights)
        assert rate == pytest.approx(y.mean(), rel=2e-3)
        assert rows.labels.sum() == min(300, y.sum())
        assert 1900 <= len(rows) <= 2300
        # A mean of about 2,000 drawn scores that vary as much as they measure: four standard errors.
        assert np.average(rows.scores, weights=rows.weights) == pytest.approx(p.mean(), rel=0.1)
        if monkeypatched > 1000:
            for value in np.unique(p):
                counted = np.isclose(rows.scores, value, rtol=1e-9)
                assert np.sum(counted & (rows.labels == 1)) <= np.sum((p == value) & y)


def test_weights_are_kept_in_drawn_rows():
    """The sum of weights is kept exactly, and that of their squares but for rounding."""
    rng = np.random.default_rng(6)
    p, w = np.round(rng.random(4000), 1), rng.exponential(size=4000)
    predictions = Predictions(p, rng.random(4000) < p, sample_weight=w)
    rows, sums = drawn_rows(Summary.of(predictions), 0), ScoreSums.of(predictions)
    mine = ScoreSums.of(rows)
    assert (mine.w, mine.wp[0], mine.wy[0]) == pytest.approx((sums.w, sums.wp[0], sums.wy[0]), rel=1e-9)
    # Rows of equal weight stand for each cell, and their number is rounded: by half a row of some twenty.
    assert mine.w2 == pytest.approx(sums.w2, rel=0.02)


def test_what_cannot_be_drawn():
    """Shares of annotators are no labels, and one outcome alone teaches nothing; the report says so."""
    soft = Summary.of(Predictions([0.2, 0.7, 0.6], [0.1, 0.5, 1.0], soft_labels=True))
    assert "not soft labels" in audit(soft).no_fix
    assert "two classes" in audit(Summary.of(Predictions([0.2, 0.7], [1, 1]))).no_fix
