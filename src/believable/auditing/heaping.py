"""Heaped scores: many rows on a few values, as with confidences that a language model or a person states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from believable import _check
from believable._types import Array, Float64s, Int64s
from believable.stats import CellStats

HEAP_SHARE = 0.02  # a value with at least this share of the weight is a heap
FEWEST_ROWS_ON_HEAP = 3
HEAPED_SHARE = 0.5  # with at least this share of the weight on heaps, or on round numbers, the report says so
FEWEST_ROWS_FOR_HEAPS = 20
MAX_HEAPS_NAMED = 8
ROUND_STEP = 0.05
FLOAT32_CLOSENESS = 1e-6  # the largest difference between a float32 and the decimal that it rounds
LOGIT_CELL_WIDTH = 0.0016
ONE_SCORE_VARIANCE = 1e-13  # of the squared mean: rounding explains a smaller variance, even after very many additions


@dataclass(frozen=True, slots=True)
class Heaping:
    """How much of the data lies on a few values, the heaps.

    Attributes
    ----------
    n : int
        The number of rows.
    distinct : int
        The number of different values.
    values : tuple of float
        The heaps, in ascending order: values that hold 2 % of the weight or more, in three rows or more.
    shares : tuple of float
        The share of the weight on each heap.
    share : float
        The share of the weight on all heaps together.
    round_share : float
        The share of the weight on multiples of 0.05.
    """

    n: int
    distinct: int
    values: tuple[float, ...]
    shares: tuple[float, ...]
    share: float
    round_share: float

    def __str__(self) -> str:
        if self.share < HEAPED_SHARE:
            return (
                f"{_percent(self.round_share)} of the scores are multiples of 0.05: they are rounded, so bins narrower "
                "than 0.05 add nothing."
            )
        order = sorted(range(len(self.values)), key=lambda k: (-self.shares[k], self.values[k]))[:MAX_HEAPS_NAMED]
        listed = ", ".join(f"{self.values[k]:.4g}" for k in sorted(order))
        more = "" if len(self.values) <= MAX_HEAPS_NAMED else f" and {len(self.values) - MAX_HEAPS_NAMED} more"
        several = f"one of {len(self.values)} values" if len(self.values) > 1 else "one value"
        return (
            f"{_percent(self.share)} of the scores are {several}: {listed}{more}. Calibration is known only at "
            "these values: there are few rows between them, and bins cannot hold equally many rows."
        )


def heaping(scores: Any, sample_weight: Any = None) -> Heaping | None:
    """Describe the heaps that scores lie on; return None if they do not, or if there are fewer than 20 scores.

    A heap is a value that holds 2 % of the weight or more, in at least three rows. Scores are heaped if half of the
    weight or more is on heaps, or on multiples of 0.05.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Probabilities of one event, or confidences.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    Returns
    -------
    Heaping or None
        `print` it for a sentence.

    Examples
    --------
    >>> print(heaping([0.8] * 30 + [0.9] * 50 + [1.0] * 15 + [0.813, 0.77, 0.642, 0.31, 0.5]))
    95 % of the scores are one of 3 values: 0.8, 0.9, 1. Calibration is known only at these values: there are few rows
    between them, and bins cannot hold equally many rows.
    """
    values = _check.numeric(scores, "scores").ravel()
    weights = np.ones(len(values)) if sample_weight is None else _check.weights(sample_weight, len(values))
    values, weights = values[weights > 0], weights[weights > 0]
    if len(values) < FEWEST_ROWS_FOR_HEAPS:
        return None
    found, inverse, times = np.unique(values, return_inverse=True, return_counts=True)
    return _heaping(found.astype(np.float64), times, np.bincount(inverse.reshape(-1), weights).astype(np.float64))


def heaping_of_cells(cells: CellStats) -> Heaping | None:
    """Describe the heaps from cells: a cell whose scores are nearly all the same is one value, any other is no heap.

    Scores are nearly the same if their variance is less than a fiftieth of the squared width of the cell, so that about
    one row in twenty may lie elsewhere in it. Near 0 and 1 that width is taken as 0.0016 p (1 - p), that of a
    logit-spaced cell. `distinct` counts cells.
    """
    if int(cells.n.sum()) < FEWEST_ROWS_FOR_HEAPS:
        return None
    width = np.minimum(1 / cells.grid.n_cells, LOGIT_CELL_WIDTH * cells.conf * (1 - cells.conf))
    alike = holds_one_score(cells) | (_variance(cells) <= width**2 / 50)
    return _heaping(cells.conf, cells.n, cells.w, alike, near=max(0.1 / cells.grid.n_cells, FLOAT32_CLOSENESS))


def holds_one_score(cells: CellStats) -> Array:
    """Return for each cell whether all its scores are the same, to about three parts in ten million."""
    return np.asarray(_variance(cells) <= ONE_SCORE_VARIANCE * cells.conf**2)


def _variance(cells: CellStats) -> Float64s:
    return np.asarray(cells.wpp / cells.w - cells.conf**2)


def _heaping(
    values: Float64s, times: Int64s, weights: Float64s, one_score: Array | bool = True, near: float = FLOAT32_CLOSENESS
) -> Heaping | None:
    shares = weights / weights.sum()
    heaps = np.flatnonzero((shares >= HEAP_SHARE) & (times >= FEWEST_ROWS_ON_HEAP) & one_score)
    steps = values / ROUND_STEP
    on_steps = (np.abs(steps - np.rint(steps)) < near / ROUND_STEP) & one_score
    result = Heaping(
        n=int(times.sum()),
        distinct=len(values),
        values=tuple(float(value) for value in values[heaps]),
        shares=tuple(float(share) for share in shares[heaps]),
        share=float(shares[heaps].sum()),
        round_share=float(shares[on_steps].sum()),
    )
    return result if max(result.share, result.round_share) >= HEAPED_SHARE else None


def _percent(share: float) -> str:
    """Write a share in per cent, and "All" only for exactly all."""
    return "All" if share > 1 - 1e-12 else f"{min(100 * share, 99.9):.3g} %" if share > 0.99 else f"{100 * share:.2g} %"
