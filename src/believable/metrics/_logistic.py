"""Helpers of the logistic metrics: weights as counts of rows, and ends of profile-likelihood intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from statistics import NormalDist
from typing import Literal

import numpy as np

from believable._kernels import RootLook, RootSettings, find_root
from believable.errors import InputError
from believable.stats.source import Points

Interval = Literal["wald", "profile"]
INTERVALS = ("wald", "profile")
EXCESS_OF_EQUAL_WEIGHTS = 1e-12  # weights are equal if n sum w^2 / (sum w)^2 exceeds 1 by no more than this
ROUNDING_OF_COUNTS = 1e-9  # relative distance from a whole number that rounding explains
MAX_PROFILE_STEPS = 100
FURTHEST_PROFILE_END = 1e30  # an end beyond this counts as infinite
# The search stops when the root of the deviance is this close to its goal, relatively; one more step squares that.
PROFILE_TOLERANCE = 1e-7


def normal_quantile(level: float) -> float:
    """Return the z for which a share `level` of the normal distribution lies between -z and z."""
    return -NormalDist().inv_cdf((1 - level) / 2)


def as_counts(points: Points) -> Points | None:
    """Count every row once; None unless all rows have the same weight and outcomes are 0 or 1."""
    rows, n, w = points.n.astype(np.float64), int(points.n.sum()), float(points.w.sum())
    counts, occurred = points.w * (n / w), points.wy * (n / w)
    whole = np.rint(occurred)
    if float(points.w2.sum()) * n > w * w * (1 + EXCESS_OF_EQUAL_WEIGHTS) or np.any(
        np.abs(counts - rows) > ROUNDING_OF_COUNTS * rows
    ):
        return None
    if np.any(np.abs(occurred - whole) > ROUNDING_OF_COUNTS * rows):
        return None
    both = (points.wy > 0) & (points.wy < points.w)
    if np.any(both & ((whole <= 0) | (whole >= rows))):  # a rate close to 0 or 1 must not be rounded to it
        return None
    return replace(points, w=rows, wy=whole, w2=rows, w2y=whole)


def counts_for_profile(points: Points) -> Points:
    """Return `as_counts(points)`, or raise an error that says what a likelihood needs."""
    counts = as_counts(points)
    if counts is None:
        raise InputError(
            "{interval='profile'} needs a likelihood: rows of equal weight and outcomes of 0 and 1; use "
            "{interval='wald'}, whose standard errors allow for weights",
            argument="interval",
        )
    return counts


def profile_end(
    deviance: Callable[[float], tuple[float, float]], best: float, start: float, side: int, level: float
) -> float:
    """Return where a convex deviance reaches the quantile of its limit, chi-squared with one degree of freedom.

    `deviance` returns value and derivative and is least at `best`; `side` is 1 for the end above `best`, -1 for the one
    below. The search is Newton's method, within a bracket, on the root of the deviance, which is nearly a straight
    line. The end is infinite if the deviance is still below the quantile at `FURTHEST_PROFILE_END`.
    """
    goal = normal_quantile(level)

    def look(place: float) -> RootLook:
        if place >= FURTHEST_PROFILE_END:
            return RootLook(0.0, place)
        value, derivative = deviance(side * place)
        root = math.sqrt(max(value, 0.0))
        furthest = 2 * (1 + abs(place)) * (1 if root < goal else -1)
        rise = derivative * side  # positive, except for rounding near the minimum
        step = (goal - root) * 2 * root / rise if rise > 0 else furthest
        return RootLook(root - goal, place + min(step, furthest, key=abs))

    settings = RootSettings(
        close_value=PROFILE_TOLERANCE * goal, most_steps=MAX_PROFILE_STEPS, high=FURTHEST_PROFILE_END
    )
    end = find_root(look, side * start, settings, bracket=(side * best, math.inf))
    return side * (math.inf if end >= FURTHEST_PROFILE_END else end)
