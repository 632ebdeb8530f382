"""Small data sets that recalibrators are tried on, and the estimators themselves."""

from __future__ import annotations

from functools import lru_cache

import numpy as np


@lru_cache
def binary(n=300, seed=0):
    """Over-confident probabilities of one event, spread over (0, 1), and what happened."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n) * 1.5
    y = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)
    return _frozen(1 / (1 + np.exp(-2 * z - 0.3)), y)


@lru_cache
def multiclass(n=400, n_classes=4, seed=0):
    """Over-confident probabilities of several classes, and what happened."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, n_classes))
    z[:, 0] += 0.5
    p = softmax(z)
    labels = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return _frozen(softmax(1.8 * z + 0.2 * np.arange(n_classes)), labels)


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def logit(p):
    return np.log(p) - np.log1p(-p)


def _frozen(*arrays):
    for array in arrays:
        array.flags.writeable = False
    return arrays
