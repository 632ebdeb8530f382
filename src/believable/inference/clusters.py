"""Units of resampling: rows, or clusters of rows that belong together."""

from __future__ import annotations

from typing import Any

import numpy as np

from believable import _check
from believable._arrays import as_values
from believable._types import Array, Float64s, Ints
from believable.errors import InputError
from believable.inference.cells import Cells
from believable.predictions import Predictions
from believable.predictions.view import View
from believable.stats.values import OTHER_LENGTH, WITHOUT_WEIGHT

MAX_UNITS = 2000  # more units are merged at random, which preserves the variance of every sum


def cluster_of_rows(clusters: Any, predictions: Any, source: Predictions, sample_weight: Any) -> Ints | None:
    """Return the cluster of each row, numbered from 0, without rows of weight 0; None if rows are independent."""
    if clusters is None:
        return None
    return numbered_clusters(rows_that_count(clusters, "clusters", predictions, source, sample_weight))


def numbered_clusters(array: Array) -> Ints:
    """Return the cluster of each row, numbered from 0, or raise if one is missing or all are the same."""
    missing = [i for i, value in enumerate(array.tolist()) if _check.is_missing(value)]
    if missing:
        raise InputError(
            "{argument} must name a cluster in every row; it is missing at {row}", argument="clusters", row=missing[0]
        )
    if array.dtype == object:
        texts: dict[str, int] = {}
        codes = [texts.setdefault(str(value), len(texts)) for value in array.tolist()]
        cluster = np.argsort(np.argsort(np.array(list(texts), object)))[codes]  # in the order of the alphabet
    else:
        cluster = np.unique(array, return_inverse=True)[1]
    if cluster.max() == 0:
        raise InputError(
            "{argument} holds only one cluster: the variation between clusters needs at least two", argument="clusters"
        )
    return np.asarray(cluster)


def rows_that_count(values: Any, name: str, predictions: Any, source: Predictions, sample_weight: Any) -> Array:
    """Return a column with one entry for each row of positive weight."""
    index = _check.index_of(values)
    if index is not None and source.given_index is not None:
        _check.refuse_other_index(source.given_index, index, "predictions", name)
    array = as_values(values, name)
    if array.ndim != 1:
        raise InputError("{argument} must be 1-D, one entry per row, got shape {got}", argument=name, got=array.shape)
    if not isinstance(predictions, Predictions) and sample_weight is not None and len(array) != len(source):
        kept = np.asarray(sample_weight) > 0
        array = array[kept] if len(kept) == len(array) else array
    if len(array) != len(source):
        raise InputError(
            OTHER_LENGTH + (WITHOUT_WEIGHT if source.weights is not None or sample_weight is not None else ""),
            argument=name,
            got=len(array),
            needed=len(source),
        )
    return array


def unit_of_rows(cluster: Ints | None, n: int, rng: np.random.Generator) -> tuple[Ints, int]:
    """Return the unit of each row and the number of units: clusters or rows, merged at random if there are many."""
    unit = np.arange(n) if cluster is None else cluster
    n_units = int(unit.max()) + 1
    if n_units <= MAX_UNITS:
        return unit, n_units
    return rng.permutation(n_units)[unit] % MAX_UNITS, MAX_UNITS


def drawn_counts(n_units: int, n_draws: int, rng: np.random.Generator) -> Float64s:
    """Draw how often each unit is in each replicate, with replacement."""
    return rng.multinomial(n_units, np.full(n_units, 1 / n_units), n_draws).astype(np.float64)


def residuals_by_unit(source: Predictions, cells: Cells, unit: Ints, n_units: int) -> Any:
    """Return the sums of w (y - p) by (unit, cell), as a sparse matrix."""
    from scipy.sparse import coo_array

    row, cell, weight, residual = _pairs(source, cells)
    return coo_array((weight * residual, (unit[row], cell)), shape=(n_units, len(cells))).tocsr()


def residuals_of_clusters(source: Predictions, view: View, cluster: Ints, last_scores: Float64s) -> Any:
    """Return the sums of w (y - p) by (cluster, group of scores), as a sparse matrix; groups end at `last_score`."""
    from scipy.sparse import coo_array

    score, outcome, weight, _, _ = source.all_pairs(view)
    w = np.ones(len(score)) if weight is None else weight.astype(np.float64)
    unit = np.repeat(cluster, len(score) // len(cluster))
    group = np.minimum(np.searchsorted(last_scores, score), len(last_scores) - 1)
    shape = (int(cluster.max()) + 1, len(last_scores))
    return coo_array((w * (outcome.astype(np.float64) - score), (unit, group)), shape=shape).tocsr()


def weights_by_unit(source: Predictions, cells: Cells, unit: Ints, n_units: int) -> Any:
    """Return the sums of w by (unit, cell), as a sparse matrix."""
    from scipy.sparse import coo_array

    row, cell, weight, _ = _pairs(source, cells)
    return coo_array((weight, (unit[row], cell)), shape=(n_units, len(cells))).tocsr()


def clustering(source: Predictions, cells: Cells, cluster: Ints | None) -> float:
    """Return the design effect: the factor by which clusters raise the variance of outcomes; at least 1."""
    if cluster is None:
        return 1.0
    from scipy.sparse import coo_array

    row, cell, weight, residual = _pairs(source, cells)
    excess = weight * (residual - cells.gap[cell])
    added = coo_array((excess, (cluster[row], cell)), shape=(int(cluster.max()) + 1, len(cells))).tocsr()
    return max(1.0, float(added.multiply(added).sum()) / max(float(excess @ excess), 1e-300))


def _pairs(source: Predictions, cells: Cells) -> tuple[Ints, Ints, Float64s, Float64s]:
    """Return the row, cell, weight, and outcome minus score of every pair."""
    parts = []
    for pairs in source.pairs(cells.statistic.view, numbered=True):
        weight = np.ones(len(pairs.score)) if pairs.weight is None else pairs.weight.astype(np.float64)
        residual = pairs.outcome.astype(np.float64) - pairs.score
        parts.append((pairs.row, cells.locate(pairs.score, pairs.stratum), weight, residual))
    row, cell, weight, residual = (np.concatenate(column) for column in zip(*parts, strict=True))
    return row, cell, weight, residual


def has_several_pairs_per_row(view: View) -> bool:
    """Return whether a row has several, dependent outcomes: the classes or ranks of one label."""
    return view.pairs_per_row > 1
