"""Heaped scores: many rows on a few values, as with confidences that a language model or a person states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from believable import _check

HEAP = 0.02  # of the weight: a value that holds so much is a heap
FEWEST_TIMES = 3  # rows on a heap
MOST_HEAPED = 0.5  # of the weight on heaps, or on round numbers: from here it is worth a sentence
FEWEST_ROWS = 20
SHOWN = 8
STEP = 0.05
ROUND = 1e-6  # a float32 is that close to the number it stands for


@dataclass(frozen=True, slots=True)
class Heaping:
    """How much of the data lies on how few values.

    Attributes
    ----------
    n : int
        Rows.
    distinct : int
        Different values.
    values : tuple of float
        The heaps, in ascending order: values that hold 2 % of the weight or more, in three rows or more.
    shares : tuple of float
        Of the weight, for each of them.
    share : float
        Of the weight, on all of them together.
    round_share : float
        Of the weight, on multiples of 0.05.
    """

    n: int
    distinct: int
    values: tuple[float, ...]
    shares: tuple[float, ...]
    share: float
    round_share: float

    def __str__(self) -> str:
        if self.share < MOST_HEAPED:
            return (
                f"{_percent(self.round_share)} of the scores are multiples of 0.05: such numbers are rounded, so bins "
                "finer than 0.05 tell nothing more."
            )
        order = sorted(range(len(self.values)), key=lambda k: (-self.shares[k], self.values[k]))[:SHOWN]
        listed = ", ".join(f"{self.values[k]:.4g}" for k in sorted(order))
        more = "" if len(self.values) <= SHOWN else f" and {len(self.values) - SHOWN} more"
        several = f"one of {len(self.values)} values" if len(self.values) > 1 else "one value"
        return (
            f"{_percent(self.share)} of the scores are {several}: {listed}{more}. What is known of calibration is "
            "known at these values; between them there is little data, and equal bins cannot hold equally many rows."
        )


def heaping(scores: Any, sample_weight: Any = None) -> Heaping | None:
    """Whether scores lie in heaps; None where that is not so, or there are fewer than 20.

    A heap is a value that holds 2 % of the weight or more, in at least three rows. Scores are heaped if half of the
    weight or more is on heaps, or on multiples of 0.05.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Probabilities of one event, or confidences.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    Heaping or None
        `print` it for a sentence.

    Examples
    --------
    >>> print(heaping([0.8] * 30 + [0.9] * 50 + [1.0] * 15 + [0.813, 0.77, 0.642, 0.31, 0.5]))
    95 % of the scores are one of 3 values: 0.8, 0.9, 1. What is known of calibration is known at these values; between
    them there is little data, and equal bins cannot hold equally many rows.
    """
    values = _check.numeric(scores, "scores").ravel()
    weights = np.ones(len(values)) if sample_weight is None else _check.weights(sample_weight, len(values))
    values, weights = values[weights > 0], weights[weights > 0]
    if len(values) < FEWEST_ROWS:
        return None
    found, inverse, times = np.unique(values, return_inverse=True, return_counts=True)
    shares = np.bincount(inverse.reshape(-1), weights) / weights.sum()
    heaps = np.flatnonzero((shares >= HEAP) & (times >= FEWEST_TIMES))
    steps = found.astype(np.float64) / STEP
    result = Heaping(
        n=len(values),
        distinct=len(found),
        values=tuple(float(value) for value in found[heaps]),
        shares=tuple(float(share) for share in shares[heaps]),
        share=float(shares[heaps].sum()),
        round_share=float(shares[np.abs(steps - np.rint(steps)) < ROUND / STEP].sum()),
    )
    return result if max(result.share, result.round_share) >= MOST_HEAPED else None


def _percent(share: float) -> str:
    """Whole per cent, and "all" only of all."""
    return "All" if share > 1 - 1e-12 else f"{min(100 * share, 99.9):.3g} %" if share > 0.99 else f"{100 * share:.2g} %"
