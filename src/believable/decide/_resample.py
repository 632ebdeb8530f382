"""Sums in cells, as rows (or clusters) drawn again would give them."""

from __future__ import annotations

import numpy as np

from believable._types import Array, Float64s, Ints
from believable.inference._units import drawn_counts, unit_of_rows


def resampled_sums(
    columns: list[Float64s], cell: Ints, n_cells: int, cluster: Ints | None, n_draws: int, rng: np.random.Generator
) -> list[Float64s]:
    """For each column of rows, its sums in every cell: an (n_draws, n_cells) array.

    Rows, or clusters, are drawn with replacement. More than 2,000 of them are put together at random, which keeps the
    variance of every sum.
    """
    from scipy.sparse import coo_array

    unit, n_units = unit_of_rows(cluster, len(cell), rng)
    counts = drawn_counts(n_units, n_draws, rng)
    found = []
    for values in columns:
        sums = coo_array((values, (unit, cell)), shape=(n_units, n_cells)).tocsr()
        found.append(np.asarray(counts @ sums, np.float64))
    return found


def central(replicates: Array, level: float) -> tuple[Float64s, Float64s]:
    """The ends of the central share of the replicates, column by column."""
    low, high = np.quantile(replicates, [(1 - level) / 2, (1 + level) / 2], axis=0, method="inverted_cdf")
    return low, high
