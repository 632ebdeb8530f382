"""Cells on a coarser grid are those that would have been counted there."""

from __future__ import annotations

import numpy as np
import pytest

from believable import CellStats, Predictions
from believable.errors import InputError
from believable.stats.counts import SUMS


def scores(dtype):
    """Anywhere, heaped, at both ends, on edges of both grids and beside them."""
    rng = np.random.default_rng(0)
    edges = np.concatenate([np.arange(841) / 840, np.arange(0, 50_401, 37) / 50_400]).astype(dtype)
    near = [np.nextafter(edges, dtype(0)), edges, np.nextafter(edges, dtype(1))]
    return np.concatenate([*near, rng.random(5000).astype(dtype), np.repeat(dtype(0.3), 50)])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("cells", [840, 2, 7, 10, 25_200, 50_400])
@pytest.mark.parametrize("spacing", ["uniform", "logit"])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_equals_counting_there(dtype, cells, spacing, weighted):
    """Keys and counts are the same exactly, sums but for the order of additions."""
    p = scores(dtype)
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, len(p))
    data = Predictions(p, y, sample_weight=rng.random(len(p)) if weighted else None)
    made = CellStats.of(data, spacing=spacing).regrid(cells)
    counted = CellStats.of(data, cells=cells, spacing=spacing)
    assert made.grid == counted.grid
    for name in ("key", "n", "ny"):
        assert np.array_equal(getattr(made, name), getattr(counted, name))
    for name in SUMS:
        assert getattr(made, name) == pytest.approx(getattr(counted, name), rel=1e-12)


def test_groups_stay_apart():
    """Every class is put on the coarser grid by itself."""
    p = np.random.default_rng(2).dirichlet([0.5] * 4, 500)
    data = Predictions(p, np.arange(500) % 4)
    view = data.view("classwise")
    made, counted = CellStats.of(data, view).regrid(840), CellStats.of(data, view, cells=840)
    assert np.array_equal(made.key, counted.key)
    assert np.array_equal(made.n, counted.n)
    assert np.array_equal(made.only_stratum(3).n, CellStats.of(data, view).only_stratum(3).regrid(840).n)


@pytest.mark.parametrize("cells", [841, 50_401, 1])
def test_only_whole_cells(cells):
    """A grid that is finer, or does not nest, is refused."""
    with pytest.raises(InputError, match="cells"):
        CellStats.of(Predictions([0.1], [0])).regrid(cells)
