"""How far Brownian motion on [0, 1] gets: the limits of the cumulative tests.

Each probability has two series, one from reflecting the path at two walls, one from the eigenvalues of the strip
between them. They are equal; the first is quick for large x, the second for small x.
"""

from __future__ import annotations

from math import erfc, exp, pi, sqrt

TERMS = 8  # of either series, on its own side of 1.2 and 2: the ones left out are below 1e-17
TINY = 0.05  # no path stays this close to where it began: 1 to the last digit


def sup_tail(x: float) -> float:
    """P(max |B| > x)."""
    if x < TINY:
        return 1.0
    if x > 1.2:
        return 2 * sum((-1.0) ** k * erfc((2 * k + 1) * x / sqrt(2)) for k in range(TERMS))
    within = sum((-1.0) ** k / (2 * k + 1) * exp(-((pi * (2 * k + 1) / x) ** 2) / 8) for k in range(TERMS))
    return 1 - 4 / pi * within


def range_tail(x: float) -> float:
    """P(max B - min B > x), from Feller's density 8 sum_k (-1)^(k-1) k^2 phi(k x)."""
    if x < TINY:
        return 1.0
    if x > 2:
        return 4 * sum((-1.0) ** (k - 1) * k * erfc(k * x / sqrt(2)) for k in range(1, TERMS + 1))
    odd = [pi * (2 * k + 1) for k in range(TERMS)]
    return 1 - 8 * sum((1 / x**2 + 1 / m**2) * exp(-((m / x) ** 2) / 2) for m in odd)
