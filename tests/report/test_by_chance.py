"""The normal approximation of what the ECE shows by chance."""

from __future__ import annotations

import math

import numpy as np
import pytest

from believable import CellStats, Predictions
from believable.errors import InputError
from believable.inference import noise_floor
from believable.report.by_chance import expected_by_chance


def literal(p, w, groups):
    """The formula over rows, for scores that are equal within a cell."""
    total = 0.0
    for group in sorted(set(groups)):
        variance = sum(w[i] ** 2 * p[i] * (1 - p[i]) for i in range(len(p)) if groups[i] == group)
        total += math.sqrt(2 / math.pi) * math.sqrt(variance)
    return total / sum(w)


@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_formula(weighted):
    """On heaped scores, where the mean of a cell is the score of its rows, it is the textbook sum."""
    rng = np.random.default_rng(0)
    p = rng.integers(0, 11, 300) / 10
    w = rng.random(300) if weighted else np.ones(300)
    cells = CellStats.of(Predictions(p, rng.integers(0, 2, 300), sample_weight=w if weighted else None), cells=840)
    found = expected_by_chance(cells, cells.coarsen(5))
    assert found == pytest.approx(literal(p, w, [max(math.ceil(x * 5 - 1e-9), 1) for x in p]), rel=1e-12)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [300, 5000])
def test_it_is_near_the_noise_floor(strategy, weighted, n):
    """Within three per cent of the simulated mean (whose own error is one), with some events in every bin."""
    rng = np.random.default_rng(1)
    p = rng.random(n)
    w = rng.exponential(size=n) if weighted else None
    cells = CellStats.of(Predictions(p, (rng.random(n) < p).astype(int), sample_weight=w), cells=840)
    bins = cells.coarsen(10 if strategy == "uniform" else cells.quantile_edges(10))
    options = {"n_bins": 10, "strategy": strategy}
    floor = noise_floor("ece", cells, options=options, n_resamples=4000, random_state=0)
    assert expected_by_chance(cells, bins) == pytest.approx(floor.mean, rel=0.03)


def test_classes_apart():
    """The weight is that of all groups, as for the ECE of classes."""
    p = np.random.default_rng(2).dirichlet([1.0] * 3, 400)
    data = Predictions(p, np.arange(400) % 3)
    cells = CellStats.of(data, data.view("classwise"), cells=840)
    parts = [cells.only_stratum(k) for k in range(3)]
    mean = np.mean([expected_by_chance(part, part.coarsen(10)) for part in parts])
    assert expected_by_chance(cells, cells.coarsen(10)) == pytest.approx(mean, rel=1e-12)


def test_certain_scores_leave_nothing_to_chance():
    """Scores of 0 and 1 show no error by chance."""
    cells = CellStats.of(Predictions([0, 1, 1], [0, 1, 0]), cells=840)
    assert expected_by_chance(cells, cells.coarsen(2)) == 0


def test_bins_of_other_cells_are_refused():
    """Bins that do not hold these cells are an error."""
    one, two = (CellStats.of(Predictions(p, [0, 1]), cells=840) for p in ([0.1, 0.2], [0.1, 0.8]))
    with pytest.raises(InputError, match="not made from these cells"):
        expected_by_chance(one, two.coarsen(2))
