"""What the metrics of logistic recalibration share: rows of equal weight, and ends of profile-likelihood intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from statistics import NormalDist
from typing import Literal

import numpy as np

from believable.errors import InputError
from believable.stats.source import Points

Interval = Literal["wald", "profile"]
INTERVALS = ("wald", "profile")
EXCESS_OF_EQUAL_WEIGHTS = 1e-12  # n sum w^2 / (sum w)^2 exceeds 1 by no more: the weights are equal
ROUNDING_OF_COUNTS = 1e-9  # share of a count by which it may miss a whole number
MAX_PROFILE_STEPS = 100
FURTHEST_PROFILE_END = 1e30  # an end beyond this is none
# The root of the deviance is within this share of its goal, and so within its square after one more step.
PROFILE_TOLERANCE = 1e-7


def normal_quantile(level: float) -> float:
    """z, so that a share `level` of the normal distribution is within -z and z."""
    return -NormalDist().inv_cdf((1 - level) / 2)


def as_counts(points: Points) -> Points | None:
    """The points with every row counted once, where all rows weigh the same and outcomes are 0 or 1; None otherwise."""
    rows, n, w = points.n.astype(np.float64), int(points.n.sum()), float(points.w.sum())
    counts, happened = points.w * (n / w), points.wy * (n / w)
    whole = np.rint(happened)
    if float(points.w2.sum()) * n > w * w * (1 + EXCESS_OF_EQUAL_WEIGHTS) or np.any(
        np.abs(counts - rows) > ROUNDING_OF_COUNTS * rows
    ):
        return None
    if np.any(np.abs(happened - whole) > ROUNDING_OF_COUNTS * rows):
        return None
    both = (points.wy > 0) & (points.wy < points.w)
    if np.any(both & ((whole <= 0) | (whole >= rows))):  # a share next to 0 or 1 is not one of them
        return None
    return replace(points, w=rows, wy=whole, w2=rows, w2y=whole)


def counts_for_profile(points: Points) -> Points:
    """`as_counts`, or an error that says what a likelihood needs."""
    counts = as_counts(points)
    if counts is None:
        raise InputError(
            "interval='profile' needs a likelihood: rows of equal weight and outcomes of 0 and 1; use interval='wald', "
            "whose standard errors allow for weights"
        )
    return counts


def profile_end(
    deviance: Callable[[float], tuple[float, float]], best: float, start: float, side: int, level: float
) -> float:
    """Where a convex deviance reaches the quantile of its limit, chi-squared with one degree of freedom.

    `deviance` gives value and derivative and is least at `best`; `side` is 1 for the end above that, -1 for the one
    below. Newton's method on the root of the deviance, which is nearly a straight line, within a bracket. Infinite
    where the deviance stays below the quantile as far as numbers mean anything.
    """
    goal = normal_quantile(level)
    inner, outer, here = best, side * math.inf, start
    for _ in range(MAX_PROFILE_STEPS):
        value, derivative = deviance(here)
        root = math.sqrt(max(value, 0.0))
        inner, outer = (here, outer) if root < goal else (inner, here)
        furthest = 2 * (1 + abs(here)) * (1 if root < goal else -1)
        rise = derivative * side  # positive, but for rounding near the least deviance
        step = (goal - root) * 2 * root / rise if rise > 0 else furthest
        there = here + side * min(step, furthest, key=abs)
        if abs(root - goal) < PROFILE_TOLERANCE * goal:
            return there
        if not min(inner, outer) < there < max(inner, outer):
            there = (inner + outer) / 2
        if there in (inner, outer):  # the bracket has closed
            break
        if abs(there) > FURTHEST_PROFILE_END:
            return side * math.inf
        here = there
    return here
