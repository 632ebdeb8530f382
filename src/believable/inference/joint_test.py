"""A joint test of perfect calibration, made of several tests with one level for all of them together.

Each test misses something: the ECE a small error in the same direction everywhere, the average errors that cancel, bins
whatever averages out within them. So every test is applied to the same simulated outcomes, and the smallest p-value is
compared with the smallest p-values of the simulations (Westfall and Young).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from believable._types import Array, Float64s, Ints
from believable.inference.cells import matched
from believable.stats.source import Points

GROUPS_OF_SCORES = 200  # neighbouring scores are merged into at most this many
BINS_OF_TEST = 10  # bins of equal weight
NEAREST_TO_CERTAIN = 1e-6  # scores closer to 0 or 1 are clipped to this before the logit is taken
WAYS_OF_LOOKING = ("average", "slope and intercept", "Kuiper", "bins", "worst bin")


@dataclass(frozen=True, slots=True)
class JointTest:
    """The result of a joint test of perfect calibration.

    Attributes
    ----------
    p_value : float
        The probability that a perfectly calibrated model shows a p-value as small in any of the tests.
    strongest : str
        The test with the strongest evidence.
    at_least : float
        A lower bound of the calibration error, the mean of |observed - predicted|: how far the tests exceed what they
        need to reject. 0 if perfect calibration is not rejected.
    """

    p_value: float
    strongest: str
    at_least: float


@dataclass(frozen=True, slots=True, eq=False)
class ScoreGroups:
    """Neighbouring scores merged into groups, so that outcomes can be drawn for them.

    Attributes
    ----------
    score, last_score : ndarray
        The mean and the largest score of each group.
    w, size, wy : ndarray
        The weight, the effective number of rows, and the weighted outcomes of each group.
    variance : ndarray
        The variance of the weighted outcomes of each group if the scores are calibrated.
    """

    score: Float64s
    last_score: Float64s
    w: Float64s
    size: Float64s
    wy: Float64s
    variance: Float64s

    @classmethod
    def of(cls, points: Points, most: int = GROUPS_OF_SCORES) -> ScoreGroups:
        """Merge the points of one curve into at most `most` groups."""
        merged, last = points.merged(most)
        ends = np.searchsorted(points.score, last, side="right")
        variance = np.diff(np.concatenate([[0.0], np.cumsum(points.variance)])[np.append(0, ends)])
        score = np.clip(merged.score, 0, 1)
        return cls(score, last, merged.w, merged.w**2 / merged.w2, merged.wy, np.maximum(variance, 0))

    @property
    def excess(self) -> Float64s:
        """Observed minus predicted outcomes of each group, rounded like drawn ones so that equal ones are ties."""
        return np.asarray(self.w * (self.wy / self.w - self.score))

    @property
    def logit(self) -> Float64s:
        """The logit of the mean score of each group, with scores of 0 and 1 clipped."""
        p = np.clip(self.score, NEAREST_TO_CERTAIN, 1 - NEAREST_TO_CERTAIN)
        return np.asarray(np.log(p) - np.log1p(-p))

    def drawn_excess(self, n_draws: int, design: float, rng: np.random.Generator) -> Float64s:
        """Draw outcomes with the scores as rates, and return observed minus predicted for each draw and group.

        `design` is the factor by which their variance exceeds that of independent rows: so many rows share an outcome.
        """
        rate = np.broadcast_to(self.score, (n_draws, len(self.score)))
        size = np.maximum(self.size / design, 1.0)
        of_one = self.variance * self.size / self.w**2
        drawn = matched(rng, np.broadcast_to(size, rate.shape), rate, np.broadcast_to(of_one, rate.shape))
        return np.asarray(self.w * (drawn / size - rate))


def joint_test(points: Points, alpha: float, n_draws: int, rng: np.random.Generator, added: Any = None) -> JointTest:
    """Test perfect calibration of one curve by its average, its slope, its cumulative gaps and its bins together.

    Parameters
    ----------
    points : Points
        The points of the curve.
    alpha : float
        The level at which perfect calibration is rejected, for the lower bound.
    n_draws : int
        The number of simulated data sets.
    rng : numpy Generator
        The source of randomness.
    added : sparse matrix of shape (clusters, groups), optional
        What each cluster contributes to the excess of each group of scores, if rows come in clusters. The test is then
        repeated with random signs of these contributions, and the larger p-value counts.
    """
    unit = float(points.total / points.n.sum())  # so that a common factor of all weights changes nothing
    points = replace(points, w=points.w / unit, wy=points.wy / unit, w2=points.w2 / unit**2, w2y=points.w2y / unit**2)
    added = None if added is None else added / unit
    groups = ScoreGroups.of(points)
    design = _design(points, groups, added)
    found = _compared(groups, groups.drawn_excess(n_draws, design, rng), np.diag(groups.variance * design), alpha)
    refuted = float(np.abs(points.excess[(points.score <= 0) | (points.score >= 1)]).sum() / points.total)
    if refuted > 0:  # a probability of exactly 0 or 1 was wrong, which no calibrated model shows
        found = JointTest(1 / (1 + n_draws), "certain scores", max(found.at_least, refuted))
    if added is None or refuted > 0:
        return found
    tossed = np.asarray((2.0 * rng.integers(0, 2, (n_draws, added.shape[0])) - 1) @ added)
    clustered = _compared(groups, tossed, np.asarray((added.T @ added).todense()), alpha)
    return max(found, clustered, key=lambda test: (test.p_value, -test.at_least))


def _design(points: Points, groups: ScoreGroups, added: Any) -> float:
    """Return the factor by which the variance of outcomes exceeds that of independent rows of equal weight; at least 1.

    Rows of a cluster in one group of scores may share their outcome, and weights may depend on it.
    """
    alone = float(groups.variance.sum())
    if alone <= 0:
        return 1.0
    if added is not None:
        return max(float(added.multiply(added).sum()) / alone, 1.0)
    if np.allclose(points.w2 * points.n, points.w**2, rtol=1e-9, atol=0) and np.ptp(points.w / points.n) < 1e-9:
        return 1.0
    p = points.score
    seen = float((points.w2y * (1 - p) ** 2 + (points.w2 - points.w2y) * p**2).sum())
    return max(seen / alone, 1.0)


def _compared(groups: ScoreGroups, drawn: Float64s, covariance: Array, alpha: float) -> JointTest:
    looks, units = _looks(groups, np.vstack([groups.excess, drawn]), covariance)  # the first column is the observed one
    ascending = np.sort(looks, axis=1)
    at_least_as_far = looks.shape[1] - np.array(
        [np.searchsorted(row, one * (1 - 1e-9), side="left") for row, one in zip(ascending, looks, strict=True)]
    )
    chance = at_least_as_far / looks.shape[1]
    smallest = chance.min(axis=0)
    p_value = np.count_nonzero(smallest <= smallest[0] * (1 + 1e-9)) / len(smallest)
    strongest = WAYS_OF_LOOKING[int(chance[:, 0].argmin())]
    if p_value > alpha:
        return JointTest(float(p_value), strongest, 0.0)
    # Each test rejects p-values up to this one, so that all tests together have the level alpha.
    each = np.quantile(smallest, alpha, method="lower")
    needed = np.array([np.quantile(row, 1 - each, method="higher") for row in looks])
    with np.errstate(invalid="ignore"):
        beyond = np.nan_to_num(units * (looks[:, 0] - needed), nan=0.0, posinf=0.0)
    return JointTest(float(p_value), strongest, float(max(beyond.max(), 0.0)))


def _looks(groups: ScoreGroups, excess: Float64s, covariance: Array) -> tuple[Float64s, Float64s]:
    """Return the statistic of each test for each row of `excess`, and the mean gap that one unit of it implies.

    All statistics except that of the line are sums of gaps, and the mean gap cannot be smaller than these. The
    statistic of slope and intercept is the largest ratio of a weighted sum of gaps to its standard error; the mean gap
    times the largest weight is at least that.
    """
    by = np.stack([np.ones_like(groups.logit), groups.logit])
    line, spread = excess @ by.T, by @ covariance @ by.T
    size = 4.0 ** (np.frexp(np.abs(spread).max())[1] // 2)  # scores of 1e-320 have variances whose inverse overflows
    inverse = np.linalg.pinv(spread / size, hermitian=True)
    cox = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", line, inverse, line), 0)) / np.sqrt(size)
    weight = np.abs(line[0] @ inverse @ by)
    running = np.cumsum(excess, axis=1)
    kuiper = np.maximum(running.max(axis=1), 0) - np.minimum(running.min(axis=1), 0)
    bins = _bins(groups)
    summed = np.abs(np.add.reduceat(excess, bins, axis=1))
    error = np.sqrt(np.add.reduceat(np.add.reduceat(covariance, bins, axis=0), bins, axis=1).diagonal())
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        worst = np.where(error > 0, summed / error, np.where(summed > 1e-9, np.inf, 0))
        units = np.array([1.0, cox[0] * size / weight.max(), 1.0, 1.0, error[worst[0].argmax()]]) / groups.w.sum()
    return np.stack([np.abs(line[:, 0]), cox, kuiper, summed.sum(axis=1), worst.max(axis=1)]), units


def _bins(groups: ScoreGroups) -> Ints:
    """Return the first group of each bin, with bins of about equal weight."""
    share = (np.cumsum(groups.w) - groups.w / 2) / groups.w.sum()
    return np.unique(np.searchsorted(share, np.arange(BINS_OF_TEST) / BINS_OF_TEST).clip(max=len(share) - 1))
