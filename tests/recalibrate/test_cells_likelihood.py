"""Maps learnt from cells against maps learnt from rows, per population: what the documentation states."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from believable import CellStats, Predictions
from believable.errors import LimitWarning
from believable.recalibrate import BetaCalibration, BetaCDFCalibration, IsotonicCalibration, PlattScaling

METHODS = pytest.mark.parametrize("cls", [PlattScaling, BetaCalibration, BetaCDFCalibration])
N = 60_000


def population(location, spread, slope, n=N):
    """Scores whose logits are normal, and outcomes whose logits are a multiple of those."""
    rng = np.random.default_rng(0)
    z = location + spread * rng.normal(size=n)
    y = (rng.random(n) < 1 / (1 + np.exp(-slope * z))).astype(int)
    return 1 / (1 + np.exp(-z)), y


def gaps(cls, p, y, spacing, cells=50_400):
    """Largest gap of the probabilities, absolute and relative to the smaller of p' and 1 - p'."""
    rows = cls().fit(p, y).transform(p)
    found = cls().fit_from_cells(CellStats.of(Predictions(p, y), cells=cells, spacing=spacing)).transform(p)
    gap = np.abs(found - rows)
    return gap.max(), (gap / np.minimum(rows, 1 - rows)).max()


@METHODS
@pytest.mark.parametrize(("location", "spread"), [(0, 1), (0, 2), (0, 3), (-1, 1.5)])
@pytest.mark.parametrize("spacing", ["uniform", "logit"])
def test_spread_scores(cls, location, spread, spacing):
    """50,400 cells of either spacing give the probabilities to 1e-5 where scores are spread."""
    absolute, _ = gaps(cls, *population(location, spread, 0.6), spacing)
    assert absolute < 1e-5


@METHODS
@pytest.mark.parametrize(("location", "slope"), [(-5, 0.7), (-7, 0.7), (-9, 0.6), (-11, 0.5), (11, 0.5), (-14, 0.4)])
def test_scores_in_the_tails(cls, location, slope):
    """Logit-spaced cells give the probabilities to 1e-4, and relatively to 5e-4, wherever the scores lie."""
    absolute, relative = gaps(cls, *population(location, 1, slope), "logit")
    assert absolute < 1e-4
    assert relative < 5e-4


@METHODS
@pytest.mark.parametrize(("location", "slope", "tolerance"), [(-7, 0.7, 5e-3), (-9, 0.6, 2e-2)])
def test_uniform_cells_for_small_scores(cls, location, slope, tolerance):
    """Around 1e-3 and 1e-4 uniform cells are right to a relative 0.5 and 2 per cent."""
    _, relative = gaps(cls, *population(location, 1, slope), "uniform")
    assert relative < tolerance


@METHODS
@pytest.mark.parametrize(("location", "slope"), [(-11, 0.5), (11, 0.5), (-14, 0.4)])
def test_uniform_cells_too_wide(cls, location, slope):
    """Where many scores share the outermost uniform cell a warning says so and what to do."""
    p, y = population(location, 1, slope)
    sentence = (
        r"[0-9]+% of the weight lies in the outermost of 50400 uniform cells, where all scores of a cell count as "
        r"their mean; to keep them apart, count with CellStats.of\(..., spacing='logit'\)"
    )
    with pytest.warns(LimitWarning, match=sentence):
        cls().fit_from_cells(CellStats.of(Predictions(p, y)))


@METHODS
def test_scores_of_exactly_zero_and_one(cls):
    """Exact zeros and ones have cells of their own: they do no harm, and no warning is given."""
    p, y = population(0, 1.5, 0.6)
    p[:20_000], p[20_000:25_000] = 0, 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        absolute, _ = gaps(cls, p, y, "uniform")
    assert absolute < 1e-5


def test_maps_that_do_not_read_logits_are_not_warned_of():
    """Where in the outermost cell a score lies is nothing to isotonic regression's steps."""
    p, y = population(-11, 1, 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        IsotonicCalibration().fit_from_cells(CellStats.of(Predictions(p, y)))


@METHODS
def test_few_cells(cls):
    """4,096 cells give the probabilities of spread scores to 1e-4."""
    absolute, _ = gaps(cls, *population(0, 1.5, 0.6), "uniform", cells=4096)
    assert absolute < 1e-4


@METHODS
def test_weights_and_shards(cls):
    """Cells of two shards, added, with weights, give the map of all weighted rows."""
    p, y = population(0, 1.5, 0.6)
    w = np.random.default_rng(1).integers(1, 4, len(y))
    first, second = (
        CellStats.of(Predictions(p[half], y[half], sample_weight=w[half]))
        for half in (slice(0, 9000), slice(9000, None))
    )
    found = cls().fit_from_cells(first + second).transform(p)
    np.testing.assert_allclose(found, cls().fit(p, y, sample_weight=w).transform(p), atol=1e-5)


def test_separated_in_cells():
    """Cells whose classes are separated have the limit that rows have."""
    p, y = np.linspace(0.01, 0.99, 40), np.arange(40) >= 20
    with pytest.warns(LimitWarning, match="separates the classes"):
        cells = PlattScaling().fit_from_cells(CellStats.of(Predictions(p, y.astype(int))))
    with pytest.warns(LimitWarning, match="separates the classes"):
        rows = PlattScaling().fit(p, y.astype(int))
    assert cells.slope_ == pytest.approx(rows.slope_, rel=1e-6)
