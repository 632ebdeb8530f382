"""Labels drawn from the scores themselves: what calibrated scores would show."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from believable._types import Array, Float64s

AT_ONCE = 1 << 22  # numbers drawn at a time


def batches(n_resamples: int, width: int) -> Iterator[int]:
    """Sizes of batches of replicates, each of `width` numbers, that fit in memory."""
    step = max(1, AT_ONCE // width)
    for start in range(0, n_resamples, step):
        yield min(step, n_resamples - start)


def drawn_at_scores(score: Float64s, n: Array, size: int, rng: np.random.Generator) -> Float64s:
    """How many of the n rows at each score happen, `size` times over."""
    if n.max() == 1:
        return (rng.random((size, len(score))) < score).astype(np.float64)
    return rng.binomial(n, score, (size, len(score))).astype(np.float64)


def resampling_p_value(observed: float, replicates: Array, noise: float = 0.0) -> float:
    """(1 + how many are at least as large) / (1 + how many there are); as large but for rounding counts too."""
    largest = float(np.abs(replicates).max(initial=0)) or 1.0
    short = 1e-12 * abs(observed) + 1e-9 * largest * float(np.std(replicates / largest)) + noise
    return float((1 + np.count_nonzero(replicates >= observed - short)) / (1 + len(replicates)))
