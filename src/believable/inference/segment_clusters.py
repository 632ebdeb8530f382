"""Segments of rows that come in clusters: how much less they tell than independent rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from believable._types import Array, Float64s, Int64s, Ints
from believable.inference.segment_search import ranges_of_scores
from believable.predictions import Predictions
from believable.stats import SegmentStats


def allowing_for_clusters(
    stats: SegmentStats, source: Predictions, columns: Mapping[str, Array], cluster: Ints
) -> SegmentStats:
    """Return the statistic of the same rows, in which the squares of their weights count what clusters share.

    The outcomes of two rows of a cluster, given their scores, have the same correlation r in all clusters. The variance
    of the sum over a segment, which keeps its clusters whole, is then that of independent rows times
    1 + (m - 1) r in clusters of m rows, and the square of a row's weight is multiplied by that. In segments that divide
    clusters, this counts too much.
    """
    pairs = list(source.pairs(stats.view))
    score = np.concatenate([one.score for one in pairs])
    y = np.concatenate([np.asarray(one.outcome, np.float64) for one in pairs])
    w = np.ones(len(y)) if source.weights is None else np.asarray(source.weights, np.float64)
    cell = stats.grid.assign(score)
    inflation = _inflation(w, y, ranges_of_scores(stats)[cell], cluster)
    rows = {
        "codes": np.stack([one.codes(columns[one.column]) for one in stats.columns]),
        "cell": cell,
        "n": np.ones(len(y), np.int64),
        "ny": y,
        "w": w,
        "wp": w * score,
        "wy": w * y,
        "w2": w * w * inflation,
    }
    return replace(SegmentStats.from_columns(stats.columns, stats.view, stats.grid, rows), notes=stats.notes)


def _inflation(w: Float64s, y: Float64s, place: Int64s, cluster: Ints) -> Float64s:
    """Return by how much each row's cluster multiplies variances, with the rate of its range of scores as its mean."""
    n_ranges = int(place.max()) + 1
    rate = np.bincount(place, w * y, n_ranges) / np.maximum(np.bincount(place, w, n_ranges), 1e-300)
    residual, deviation = w * (y - rate[place]), w * np.sqrt(rate * (1 - rate))[place]
    together = [np.bincount(cluster, values) for values in (residual, deviation)]
    shared, most = (
        float(sums @ sums - values @ values) for sums, values in zip(together, (residual, deviation), strict=True)
    )
    correlation = min(max(shared / most, 0.0), 1.0) if most > 0 else 0.0
    size = np.bincount(cluster, w)[cluster] / w  # in rows of this row's weight
    return np.asarray(1 + np.maximum(size - 1, 0) * correlation)
