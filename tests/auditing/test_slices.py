"""Everything one can look at is in the page, as far as there is room for it."""

from __future__ import annotations

import numpy as np
import pytest

from believable import Predictions
from believable.auditing import slices
from believable.auditing.parts import by_class
from believable.auditing.settings import AuditSettings
from believable.auditing.slices import slices_of
from believable.auditing.source import RowSource
from believable.report.parts import Part
from believable.stats import CellStats

N = 400


@pytest.fixture(scope="module")
def given():
    """Three classes, two subgroups of which the second is worse, and what `slices_of` takes."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], N)
    predictions = Predictions(p, rng.choice(list("abc"), N), classes=list("abc"))
    site = np.where(rng.random(N) < 0.5, "north", "south")
    numbers = {"n": 200, "mean_score": 0.5, "rate": 0.5, "ece": 0.1, "high": 0.2, "floor": 0.05, "p_value": 0.5}
    subgroups = [
        Part(column="site", name=name, low=low, adjusted=0.5, flagged=False, direction="unclear", **numbers)
        for name, low in (("north", 0.0), ("south", 0.1))
    ]
    source = RowSource(predictions, columns={"site": site})
    parts = by_class(source, AuditSettings(10, "uniform", "confidence", False, False, 0.95, 0))
    return {"before": source}, predictions.view("confidence"), parts, subgroups


def test_all_that_fits_is_there_in_order(given):
    """All rows, classes and subgroups with the worst first, classes within subgroups; each counts its own rows."""
    source, worst = given[0]["before"], [part.name for part in given[2]]
    predictions, site = source.data, source.columns["site"]
    found, left_out = slices_of(*given)
    assert left_out == ""
    groups = ["south", "north"]
    expected = [(None, None), *((name, None) for name in worst), *((None, level) for level in groups)]
    expected += [(name, level) for name in worst for level in groups]
    assert [(one.class_name, one.level) for one in found] == expected
    for one in found:
        rows = np.full(N, True) if one.level is None else site == one.level
        k = None if one.class_name is None else "abc".index(one.class_name)
        score = predictions.scores.max(axis=1) if k is None else predictions.scores[:, k]
        right = predictions.scores.argmax(axis=1) == predictions.labels if k is None else predictions.labels == k
        literal = CellStats.of(Predictions(score[rows], right[rows]), cells=840)
        cells = one.cells.cells()
        assert np.array_equal(cells.key, literal.key)
        assert np.array_equal(cells.n, literal.n)
        assert np.array_equal(cells.ny, literal.ny)


@pytest.mark.parametrize(
    ("room_for", "words"),
    [
        (6, "Left out to keep the page small: 6 classes within subgroups."),
        (11, "Left out to keep the page small: 1 class within a subgroup."),
        (1, "Left out to keep the page small: 3 classes, 1 subgroup, 6 classes within subgroups."),
    ],
)
def test_what_does_not_fit_is_named(given, monkeypatch, room_for, words):
    """Where the page is full, what is missing is said by its kind; a subgroup may use the room twice."""
    everything, _ = slices_of(*given)
    monkeypatch.setattr(slices, "PAGE_BUDGET", sum(len(one.cells.data) for one in everything[:room_for]))
    found, left_out = slices_of(*given)
    assert left_out == words
    assert found[0] == everything[0]
