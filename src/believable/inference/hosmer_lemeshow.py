"""The Hosmer–Lemeshow test."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from believable import _check, _kernels
from believable._types import Ints, Notion
from believable.errors import UndefinedError
from believable.inference.null import TestResult, refuse_weights
from believable.stats.source import Points, count_points, one_stratum, source_of, warn_if_crowded

HOSMER_LEMESHOW = "the Hosmer–Lemeshow test"


class Group(NamedTuple):
    """Number of rows, events and expected events of a group."""

    n: float
    observed: float
    expected: float


def hosmer_lemeshow(
    predictions: Any,
    actuals: Any = None,
    *,
    n_groups: int = 10,
    in_sample: bool = False,
    groups: Literal["quantile", "type7"] = "quantile",
    notion: Notion | None = None,
    r: int | None = None,
    sample_weight: Any = None,
) -> TestResult:
    r"""Test whether groups of similar scores have as many events as the scores predict.

    .. math:: \sum_g \frac{(O_g - E_g)^2}{E_g (1 - E_g / n_g)}

    over groups g of about equal size, in order of the scores, with O_g events, E_g the sum of the scores and n_g rows.
    If the scores are calibrated, the limit is chi-squared with as many degrees of freedom as there are groups. This
    applies to predictions made without seeing these outcomes; for predictions fitted to them, `in_sample=True`
    subtracts two. (Textbooks and R always subtract two, which rejects external predictions too often: 10 to 12 %
    instead of 5 % with ten groups of well spread scores, as `python -m benchmarks.tests_level` prints.)

    Groups without variance (E = 0 or E = n) are merged with a neighbour. If only one such group is left, the statistic
    is 0 with p-value 1 if the scores were right, and infinite with p-value 0 otherwise.

    Parameters
    ----------
    n_groups : int
        Number of groups. Ties may leave fewer; the degrees of freedom count the groups that were used.
    in_sample : bool
        Whether the predictions were fitted to these outcomes.
    groups : {"quantile", "type7"}
        How the groups are made. "quantile" makes the quantile bins used everywhere in this package: equal scores stay
        together, and boundaries are scores. "type7" cuts at interpolated quantiles, as R's `hoslem.test` does; R keeps
        `n_groups` - 2 degrees of freedom even if ties leave fewer groups.
    notion, r
        For a matrix: which pairs of score and outcome to use, "confidence" by default. Notions that keep classes or
        ranks apart are refused.
    sample_weight
        The test counts rows, so weights other than 1 raise an error.

    References
    ----------
    Hosmer, Lemeshow (1980), Communications in Statistics.

    Examples
    --------
    >>> result = hosmer_lemeshow([0.1, 0.3, 0.4, 0.6, 0.7, 0.9], [0, 0, 1, 0, 1, 1], n_groups=3)
    >>> round(result.statistic, 4), result.df, round(result.p_value, 4)
    (1.0, 3, 0.8013)
    """
    from scipy.special import chdtrc

    n_groups = _check.positive_integer(n_groups, "n_groups")
    _check.flag(in_sample, "in_sample")
    _check.choice(groups, ("quantile", "type7"), "groups")
    source = source_of(predictions, actuals, sample_weight)
    points = one_stratum(count_points(source, notion=notion, r=r), HOSMER_LEMESHOW)
    warn_if_crowded(source, n_groups)
    refuse_weights(points, HOSMER_LEMESHOW)
    last = _by_quantile(points, n_groups) if groups == "quantile" else _by_type7(points, n_groups)
    found = _merged(_groups(points, last))
    df = len(found) - 2 * in_sample
    if df < 1:
        raise UndefinedError(
            f"the Hosmer–Lemeshow test needs more than 2 groups with in_sample=True, but these scores make {len(found)}"
        )
    statistic = sum(map(_term, found))
    return TestResult(statistic, float(chdtrc(df, statistic)), df, int(points.n.sum()), "chi-squared")


def _by_quantile(points: Points, n_groups: int) -> Ints:
    """Return the last point of each group except the last: where the count first reaches j/G of all rows."""
    return _kernels.quantile_positions(_kernels.running_sum(points.n), n_groups)


def _by_type7(points: Points, n_groups: int) -> Ints:
    """Return the same for R's `cut(p, unique(quantile(p, seq(0, 1, 1 / G))), include.lowest = TRUE)`."""
    reached = np.cumsum(points.n)
    place = 1 + (reached[-1] - 1) * (
        np.arange(1, n_groups, dtype=np.float64) * (1 / n_groups)
    )  # position among the sorted rows, from 1
    lower, upper = (
        points.score[np.searchsorted(reached, whole, side="left")] for whole in (np.floor(place), np.ceil(place))
    )
    part = place - np.floor(place)
    boundary = np.where(lower == upper, lower, (1 - part) * lower + part * upper)
    boundary = boundary[boundary > points.score[0]]  # R includes the smallest score in the first group
    return np.asarray(np.searchsorted(points.score, boundary, side="right") - 1)


def _groups(points: Points, last: Ints) -> list[Group]:
    starts = np.append(0, np.unique(last) + 1)
    starts = starts[starts < len(points.score)]
    sums = (np.add.reduceat(values, starts).tolist() for values in (points.n, points.wy, points.w * points.score))
    return [Group(*group) for group in zip(*sums, strict=True)]


def _merged(groups: list[Group]) -> list[Group]:
    """Merge groups without variance: those with E = 0 into the next group, those with E = n into the one before."""
    groups = list(groups)
    while len(groups) > 1:
        fixed = [i for i, group in enumerate(groups) if not 0 < group.expected < group.n]
        if not fixed:
            break
        i = fixed[0]
        upwards = i == 0 or (groups[i].expected <= 0 and i + 1 < len(groups))
        i = i if upwards else i - 1
        groups[i : i + 2] = [Group(*map(sum, zip(groups[i], groups[i + 1], strict=True)))]
    return groups


def _term(group: Group) -> float:
    off, variance = group.observed - group.expected, group.expected * (1 - group.expected / group.n)
    if variance <= 0:
        return math.inf if off else 0.0
    return off * off / variance
