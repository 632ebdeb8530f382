"""Rows drawn from the cells of a summary, for methods that need rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from believable._check import generator
from believable._types import Float64s, Int64s
from believable.errors import InputError
from believable.predictions import Predictions
from believable.stats import CellStats, Summary

MAX_DRAWN_ROWS = 1_000_000
FEWEST_DRAWN_OF_OUTCOME = 20_000  # of each outcome, or all rows if there are fewer
MAX_DRAWN_WITHOUT_REPLACEMENT = 10**9 - 1  # NumPy's limit; beyond it, drawing with replacement makes no difference


def drawn_rows(summary: Summary, random_state: Any) -> Predictions:
    """Draw at most a million rows of one event, without replacement, from those that were counted.

    Each row gets the mean score of its cell (of a logit-spaced cell, if those were counted). If an outcome is so rare
    that fewer than 20,000 of its rows would be drawn, 20,000 are drawn, or all there are, with smaller weights. Rows of
    unequal weight that share a cell and an outcome become (sum w)^2 / sum w^2 rows of equal weight, rounded, so that
    both sums are kept.
    """
    if summary.kind != "binary":
        raise InputError(
            "a summary does not hold the rows of a matrix, only its classes one by one: run `believable fit` on a "
            "sample of rows, or audit(rows)"
        )
    cells = summary.cells_of("binary", spacing="logit")
    if not np.array_equal(cells.ny, np.rint(cells.ny)):
        raise InputError("recalibration needs one label per row, not soft labels")
    rng = generator(random_state)
    counts = [_as_rows(*of_outcome) for of_outcome in _by_outcome(cells)]
    total = sum(int(n.sum()) for n, _ in counts)
    scores, labels, weights = [], [], []
    for outcome, (n, weight) in enumerate(counts):
        counted = int(n.sum())
        wanted = (
            min(counted, max(counted * MAX_DRAWN_ROWS // total, FEWEST_DRAWN_OF_OUTCOME))
            if total > MAX_DRAWN_ROWS
            else counted
        )
        taken = n if wanted == counted else _spread_counts(n, wanted, rng)
        at = np.repeat(np.arange(len(n)), taken)
        scores.append(np.clip(cells.conf, 0, 1)[at])
        labels.append(np.full(len(at), outcome))
        weights.append(weight[at] * (counted / max(wanted, 1)) * (min(MAX_DRAWN_ROWS, total) / total))
    order = rng.permutation(sum(map(len, scores)))
    p, y, w = (np.concatenate(parts)[order] for parts in (scores, labels, weights))
    alike = bool(np.all(np.abs(w / w[0] - 1) < 1e-5)) if len(w) else True  # up to counts that were rounded down
    return Predictions(p, y, sample_weight=None if alike else w, pairs=summary.are_pairs)


def _by_outcome(cells: CellStats) -> list[tuple[Float64s, Float64s, Float64s]]:
    """Return counts, weights and squared weights, of the non-events and of the events."""
    no = (cells.n - cells.ny, np.maximum(cells.w - cells.wy, 0), np.maximum(cells.w2 - cells.w2y, 0))
    return [no, (cells.ny, cells.wy, cells.w2y)]


def _as_rows(n: Float64s, w: Float64s, w2: Float64s) -> tuple[Int64s, Float64s]:
    """Return how many rows of equal weight each cell is worth, and that weight."""
    some = n > 0
    size = np.divide(w**2, w2, out=np.zeros(len(n)), where=some & (w2 > 0))
    size = np.where(some, np.clip(np.rint(size), 1, n), 0)
    return size.astype(np.int64), np.divide(w, size, out=np.zeros(len(n)), where=some)


def _spread_counts(n: Int64s, wanted: int, rng: np.random.Generator) -> Int64s:
    if int(n.sum()) <= MAX_DRAWN_WITHOUT_REPLACEMENT:
        return rng.multivariate_hypergeometric(n, wanted)
    return rng.multinomial(wanted, n / n.sum())
