"""Arrays to measure on: an overconfident model, made block by block so that making them leaves no trace in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Data = tuple[Array, Array]

BLOCK = 65_536  # numbers made at a time
COOLING = 0.7  # the truth has logits this much smaller than the model's


def binary(n: int, scores: str = "float64", labels: str = "int64") -> Data:
    """Scores P(y = 1) and 0/1 labels, of the types asked for."""
    rng = np.random.default_rng(2024)
    p, y = np.empty(n, scores), np.empty(n, labels)
    for start in range(0, n, BLOCK):
        rows = slice(start, min(start + BLOCK, n))
        logits = 2 * rng.standard_normal(rows.stop - start)
        p[rows] = 1 / (1 + np.exp(-logits))
        y[rows] = rng.random(len(logits)) < 1 / (1 + np.exp(-COOLING * logits))
    return p, y


def multiclass(n: int, n_classes: int) -> Data:
    """A float32 matrix of probabilities with a favourite class in each row, and int64 labels."""
    rng = np.random.default_rng(2024)
    p, y = np.empty((n, n_classes), np.float32), np.empty(n, np.int64)
    step = max(1, BLOCK // n_classes)
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        size = rows.stop - start
        logits = rng.standard_normal((size, n_classes), dtype=np.float32)
        favourite = rng.integers(n_classes, size=size)
        logits[np.arange(size), favourite] += rng.uniform(0, np.log(n_classes) + 4, size)
        waiting = np.maximum(rng.standard_exponential(logits.shape, dtype=np.float32), 1e-30)  # a zero has no logarithm
        noise = -np.log(waiting)  # Gumbel: the argmax is a draw from the softmax
        y[rows] = np.argmax(COOLING * logits + noise, axis=1)
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        p[rows] = odds / odds.sum(axis=1, keepdims=True)
    return p, y
