"""Local polynomial regression as in a textbook, in exact fractions: neighbours sorted by distance, normal equations."""

from __future__ import annotations

from fractions import Fraction
from math import fsum

from tests.metrics.literal import Pair

TIE = Fraction(1, 10**6)
DISTINCT = Fraction(1, 10**4)


def places(group: list[Pair]) -> list[float]:
    """101 places from the smallest score to the largest; one, if they coincide."""
    low, high = min(group)[0], max(group)[0]
    return [low] if low == high else [low + (high - low) * k / 100 for k in range(100)] + [high]


def half_width(group: list[Pair], x: float, span: float) -> Fraction:
    """The distance to the last of the nearest neighbours whose weight reaches the span."""
    total, reached = sum(Fraction(w) for _, _, w in group), Fraction(0)
    for distance, w in sorted((abs(Fraction(p) - Fraction(x)), Fraction(w)) for p, _, w in group):
        reached += w
        if reached >= Fraction(span) * total - total / 10**9:
            return distance
    raise AssertionError


def local_rate(
    group: list[Pair],
    x: float,
    span: float = 0.75,
    bandwidth: float | None = None,
    degree: int = 2,
    neighbours: int | None = None,
) -> float:
    """The fitted value at x, within [0, 1]."""
    if neighbours is not None:
        h = sorted(abs(Fraction(p) - Fraction(x)) for p, _, _ in group)[min(neighbours, len(group)) - 1]
    else:
        h = half_width(group, x, span) if bandwidth is None else Fraction(bandwidth)
    exact = [(Fraction(p) - Fraction(x), Fraction(y), Fraction(w)) for p, y, w in group]
    inside = [(d / h, y, w) for d, y, w in exact if abs(d) < h * (1 - TIE)]
    if not inside:
        nearest = min(abs(d) for d, _, _ in exact) * (1 + TIE)
        chosen = [(y, w) for d, y, w in exact if abs(d) <= nearest]
        return float(sum(w * y for y, w in chosen) / sum(w for _, w in chosen))
    terms = [(u, y, w * (1 - abs(u) ** 3) ** 3) for u, y, w in inside]
    low, high = min(u for u, _, _ in terms), max(u for u, _, _ in terms)
    if high - low <= DISTINCT:
        degree = 0
    elif not any(low + DISTINCT < u < high - DISTINCT for u, _, _ in terms):
        degree = min(degree, 1)
    rows = [
        [sum(k * u ** (i + j) for u, _, k in terms) for j in range(degree + 1)]
        + [sum(k * u**i * y for u, y, k in terms)]
        for i in range(degree + 1)
    ]
    return float(min(max(first_unknown(rows), Fraction(0)), Fraction(1)))


def first_unknown(rows: list[list[Fraction]]) -> Fraction:
    """The first unknown of linear equations, by elimination from the last."""
    while len(rows) > 1:
        last, rest = rows[-1], rows[:-1]
        rows = [
            [a - row[-2] / last[-2] * b for a, b in zip(row[:-2] + row[-1:], last[:-2] + last[-1:], strict=True)]
            for row in rest
        ]
    return rows[0][1] / rows[0][0]


def shares_near(group: list[Pair], at: list[float]) -> list[float]:
    """The share of the weight whose scores are nearest to each place, halves to the lower."""
    near: list[list[float]] = [[] for _ in at]
    step = Fraction(at[-1]) - Fraction(at[0])
    for p, _, w in group:
        steps = (Fraction(p) - Fraction(at[0])) / step * (len(at) - 1) if step else Fraction(0)
        whole = steps.numerator // steps.denominator
        near[whole + (steps - whole > Fraction(1, 2) + TIE)].append(w)
    total = fsum(w for _, _, w in group)
    return [fsum(weights) / total for weights in near]
