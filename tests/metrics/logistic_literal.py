"""Logistic recalibration as textbook loops over (logit, outcome, weight)."""

from __future__ import annotations

import math
from math import fsum

from tests.metrics.literal import Data, pairs

SMALLEST = 1e-12
LARGEST = math.log((1 - SMALLEST) / SMALLEST)


def logit(p):
    """log(p / (1 - p)); the ends of [1e-12, 1 - 1e-12] beyond it."""
    if p <= SMALLEST:
        return -LARGEST
    return LARGEST if p >= 1 - SMALLEST else math.log(p) - math.log1p(-p)


def sigmoid(z):
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


def triples(data: Data, **view):
    """(logit, outcome, weight) of the one group there is."""
    (group,) = pairs(data, **view)
    return [(logit(p), y, w) for p, y, w in group]


def scores(rows, a, b):
    """The two score equations: both are 0 at the maximum of the likelihood."""
    residual = [w * y * sigmoid(-(a + b * x)) - w * (1 - y) * sigmoid(a + b * x) for x, y, w in rows]
    return fsum(residual), fsum(r * x for r, (x, _, _) in zip(residual, rows, strict=True))


def log_likelihood(rows, a, b):
    return fsum(w * math.log(sigmoid((2 * y - 1) * (a + b * x))) for x, y, w in rows)


def root(function, low, high):
    """Where a decreasing function is 0, by halving."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) > 0 else (low, middle)
    return (low + high) / 2


def best_shift(rows, b=1.0):
    """The best a at a slope."""
    return root(lambda a: scores(rows, a, b)[0], -1e4, 1e4)


def profile(rows, b):
    """The log-likelihood at a slope and the best a."""
    return log_likelihood(rows, best_shift(rows, b), b)


def separated(rows):
    """1 where no negative is above a positive, -1 where no positive is above a negative, None without both."""
    positive = [x for x, y, _ in rows if y == 1]
    negative = [x for x, y, _ in rows if y == 0]
    if not positive or not negative or len({x for x, _, _ in rows}) == 1:
        return None
    if all(n <= p for n in negative for p in positive):
        return 1
    return -1 if all(p <= n for n in negative for p in positive) else 0
