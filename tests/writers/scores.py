"""Scores that maps are fitted to and applied to."""

from __future__ import annotations

import numpy as np

N = 500


def scores(n=N, k=3, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n) * 3
    y = rng.random(n) < 1 / (1 + np.exp(-z / 3))
    logits = rng.normal(size=(n, k)) * 3
    return z, y, logits, rng.integers(0, k, n)


def softmax(logits):
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
