"""The kernel calibration errors as textbook loops over pairs of rows, with nothing of the library."""

from __future__ import annotations

from math import exp, fsum, sqrt

import numpy as np

from tests.metrics.literal import Data, rows


def vectors(data: Data) -> list[tuple[list[float], list[float], float]]:
    """(P, e - P, weight) of every row; 1-D scores are (1 - p, p), a share is a mixture of the two labels.

    For 1-D scores P is given as (p, p), which has the same distances, without rounding 1 - p.
    """
    found = []
    for p, y, w in rows(data):
        if data.scores.ndim == 1:
            found.append(([p, p], [p - y, y - p], w))
        else:
            found.append((p, [float(k == y) - q for k, q in enumerate(p)], w))
    return found


def distance(x: list[float], y: list[float], kernel: str) -> float:
    """Total variation, or Euclidean distance."""
    if kernel == "tv":
        return fsum(abs(a - b) for a, b in zip(x, y, strict=True)) / 2
    return sqrt(fsum((a - b) ** 2 for a, b in zip(x, y, strict=True)))


def bandwidth(data: Data, kernel: str = "tv") -> float:
    """Weighted median distance of all ordered pairs, each row with itself; for few rows."""
    found = vectors(data)
    mean = fsum(w for _, _, w in found) / len(found)
    pairs = sorted((distance(x, y, kernel), v * w / mean**2) for x, _, v in found for y, _, w in found)
    total, reached = fsum(w for _, w in pairs), 0.0
    for apart, w in pairs:
        reached += w
        if reached >= (0.5 - 1e-9) * total:
            return apart or 1.0
    raise AssertionError


def h(one, other, kernel: str, nu: float) -> float:
    """k(P_i, P_j) <e_i - P_i, e_j - P_j>."""
    apart = distance(one[0], other[0], kernel)
    similar = exp(-apart / nu) if kernel == "tv" else exp(-(apart**2) / (2 * nu**2))
    return similar * fsum(a * b for a, b in zip(one[1], other[1], strict=True))


def skce(data: Data, estimator: str = "unbiased", kernel: str = "tv", nu: float | None = None, size: int = 2) -> float:
    """Any of the estimators."""
    found = vectors(data)
    nu = bandwidth(data, kernel) if nu is None else nu
    if estimator in ("biased", "unbiased"):
        blocks = [found]
    else:
        blocks = [found[i : i + size] for i in range(0, len(found) - size + 1, size)]
    total, weight = [], []
    for block in blocks:
        for i, one in enumerate(block):
            for j, other in enumerate(block):
                if i != j or estimator == "biased":
                    total.append(one[2] * other[2] * h(one, other, kernel, nu))
                    weight.append(one[2] * other[2])
    return fsum(total) / fsum(weight)


def multiclass(n: int, n_classes: int, seed: int, weighted: bool = False) -> Data:
    """A problem of more rows than a tile."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(n_classes, 0.5), n)
    y = rng.integers(0, n_classes, n)
    return Data(p, y, rng.random(n) if weighted else None)
