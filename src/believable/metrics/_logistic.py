"""Helpers of the logistic metrics: weights as counts of rows, and ends of profile-likelihood intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np

from believable import _kernels
from believable._kernels import RootLook, RootSettings, find_root
from believable._types import Float64s, Ints, Notion
from believable.errors import InputError
from believable.predictions import Predictions
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


def scaled_profile(
    deviance: Callable[[float], tuple[float, float]],
    best: float,
    variance: float,
    assumed: float,
    level: float,
    n_units: float = math.inf,
) -> tuple[float, float]:
    """Return the ends of a profile-likelihood interval, widened where the coefficient varies more than assumed.

    The deviance is divided by how many times its variance exceeds that of independent rows with the fitted rates (Rao
    and Scott 1984), and compared with the square of Student's t.

    Parameters
    ----------
    deviance : callable
        The deviance of a coefficient and its derivative.
    best : float
        The fitted coefficient.
    variance, assumed : float
        Its variance, and that of the likelihood: the inverse of its information.
    level : float
        Confidence level.
    n_units : float
        Number of clusters; infinite for rows.
    """
    z = normal_quantile(level)
    t = z if math.isinf(n_units) else _kernels.t_quantile(level, n_units - 1)
    by = (z / t) ** 2 / max(variance / assumed, 1.0)

    def scaled(value: float) -> tuple[float, float]:
        found, derivative = deviance(value)
        return found * by, derivative * by

    half = z * math.sqrt(assumed / by)
    low, high = (profile_end(scaled, best, best + side * half, side, level) for side in (-1, 1))
    return low, high


def without_each_cluster(
    columns: Float64s, coefficients: Float64s, rows: Rows, cluster: Ints, offset: Float64s | float = 0.0
) -> Float64s:
    """Return the jackknife's covariance of logistic coefficients, with one Newton step for each cluster left out.

    Without cluster g, the coefficients change by about -(A - A_g)^-1 s_g, where A is the information, A_g the cluster's
    part of it, and s_g its gradient: the sandwich CR3 (Bell and McCaffrey 2002).

    Parameters
    ----------
    columns, coefficients : ndarray
        Columns (k, n) of the linear predictor, and their coefficients.
    rows : Rows
        Weights and outcomes.
    cluster : ndarray
        The cluster of each row, numbered from 0.
    offset : ndarray or float
        Added to the linear predictor.
    """
    mu = _kernels.sigmoid(coefficients @ columns + offset)
    residual, spread = rows.weight * (rows.outcome - mu), rows.weight * mu * (1 - mu)
    n = int(cluster.max()) + 1

    def sums(values: Float64s) -> Float64s:
        return np.bincount(cluster, values, n).astype(np.float64)

    gradient = np.stack([sums(residual * column) for column in columns], axis=1)
    part = np.array([[sums(spread * a * b) for a in columns] for b in columns]).transpose(2, 0, 1)
    rest = np.linalg.pinv(part.sum(axis=0) - part, hermitian=True)
    moved = np.einsum("gij,gj->gi", rest, gradient)
    moved -= moved.mean(axis=0)
    return np.asarray(moved.T @ moved * (n - 1) / n)


class Rows(NamedTuple):
    """The pairs of a view with one pair per row, in the order of the rows."""

    logit: Float64s
    weight: Float64s
    outcome: Float64s

    @classmethod
    def of(cls, source: Predictions, notion: Notion | None, r: int | None) -> Rows:
        """Return the pairs of predictions."""
        pairs = source.all_pairs(source.view(notion, r=r))
        weight = np.ones(len(pairs.score)) if pairs.weight is None else pairs.weight.astype(np.float64)
        return cls(_kernels.clipped_logit(pairs.score.astype(np.float64)), weight, pairs.outcome.astype(np.float64))


def as_effective_rows(points: Points) -> tuple[Points, float]:
    """Return points whose weights add up to the effective number of rows, (sum w)^2 / sum w^2, and their factor."""
    by = float(points.w.sum()) / float(points.w2.sum())
    return replace(points, w=points.w * by, wy=points.wy * by, w2=points.w2 * by**2, w2y=points.w2y * by**2), by
