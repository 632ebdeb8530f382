"""How much the rows of a bin tell where they come in clusters."""

from __future__ import annotations

import numpy as np

from believable._types import Float64s, Ints
from believable.inference._cells import Cells
from believable.predictions import Predictions
from believable.stats import BinStats


def effective_rows(predictions: Predictions, stats: BinStats, cluster: Ints) -> Float64s:
    r"""The number of independent rows that tell as much about the rate of each occupied bin.

    .. math:: n_b = \frac{q (1 - q)}{V_b}, \quad
              V_b = \frac{G}{G - 1} \frac{\sum_c (\sum_{i \in c, b} w_i (y_i - q))^2}{(\sum_{i \in b} w_i)^2}

    with q the rate of the bin and G the number of its clusters; at most as many as without clusters, and where all
    outcomes of a bin are the same, or it holds one cluster, the number of its clusters.
    """
    score, outcome, weight, group = predictions.all_pairs(stats.view)
    entry = Cells.of(stats, []).locate(score, group)
    unit = np.repeat(cluster, len(score) // len(cluster))
    w = np.ones(len(score)) if weight is None else weight
    key, at = np.unique(unit * len(stats.n) + entry, return_inverse=True)
    bin_of_key = key % len(stats.n)
    residual = np.bincount(at, w * (outcome - stats.acc[entry]))
    clusters = np.bincount(bin_of_key, minlength=len(stats.n))
    squares = np.bincount(bin_of_key, residual**2, len(stats.n))
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = squares / stats.w**2 * (clusters / (clusters - 1))
        rows = stats.acc * (1 - stats.acc) / variance
    alike = (squares < 1e-12 * stats.w**2) | (clusters < 2)
    return np.asarray(np.clip(np.where(alike, clusters, rows), 1, stats.effective_n))
