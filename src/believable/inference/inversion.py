"""Intervals by inverting a test: for which true errors is the observed value plausible?

The plug-in value of an error is biased upwards near 0, because noise adds gaps, and no bootstrap of it covers the true
error there. So candidates for the true error are tested: data are simulated whose true gaps have that size and a
plausible shape, and the candidate is kept unless the observed value lies in either tail of the simulated errors.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from believable._types import Array, Float64s
from believable.errors import UndefinedError
from believable.inference.cells import Cells, pooled_variance
from believable.inference.question import Question
from believable.inference.shapes import draw_patterns

# Shares of the nominal tails, below and above, that are cut: estimating the shape of the gaps costs some coverage.
SHARES_OF_TAILS = (0.8, 0.9)
ANCHORS_OF_SHAPES = 30  # number of cells in which shapes are drawn if there are many points
CANDIDATES_BETWEEN_ENDS = 7  # true errors tested between the ends in the first round
SHARE_TO_REACH = 0.95  # share of a candidate error that a shape must reach although rates stop at 0 and 1
MAX_ROUNDS_TO_REACH, MAX_STRETCH = 6, 10.0  # attempts to reach it, and the largest factor of each
STEP_IF_NOT_PROPORTIONAL = 2 / 3  # power of the factor: overshoots by as much as it falls short, for powers 1 and 2
MIN_SHARE_OF_SHAPES = 0.02  # a candidate is rejected if fewer of the shapes can reach it
LUCKY_SHARE = 0.1  # for upper ends, observed values are raised to this quantile of the errors under perfect calibration
NARROWEST_SHAPE_BANDWIDTH = 1e-3  # narrower bandwidths are slow and make no difference
NO_ERROR = 1e-300  # smaller errors count as 0
TIED_ERROR = 1e-9  # errors of a smaller relative difference count as equal
INFINITE_AT_0 = (
    "this error is infinite if an event occurs where all scores are 0, so it has no interval; leave out rows with a "
    "score of 0"
)
# Draws outcomes (and weights) of data with these rates; None stands for the scores as rates.
Noise = Callable[[Float64s | None, np.random.Generator], tuple[Float64s, Float64s | None]]


@dataclass(frozen=True, slots=True)
class Inverted:
    """Ends of the interval, the median-unbiased estimate, and a note."""

    low: float
    high: float
    estimate: float
    note: str


class Tails:
    """Probabilities of an error at least, and at most, as large as the observed one, for any true error."""

    def __init__(
        self,
        question: Question,
        cells: Cells,
        variance: Float64s,
        noise: Noise,
        n_draws: int,
        rng: np.random.Generator,
        widened: float = 1.0,
    ) -> None:
        assert question.row is not None
        assert question.power is not None
        self.question, self.cells, self.noise, self.widened = question, cells, noise, widened
        self.power, self.most = question.power, question.row.high
        self.observed = self.plain = float(question.replicates(cells.with_outcomes(cells.wy))[0])
        if question.is_fixed_point and self.observed < NARROWEST_SHAPE_BANDWIDTH:
            # Test the norm at the narrowest bandwidth instead.
            self.observed = float(question.replicates(cells.with_outcomes(cells.wy), NARROWEST_SHAPE_BANDWIDTH)[0])
        if not np.isfinite(self.observed):
            raise UndefinedError(INFINITE_AT_0)
        drawn = shapes_of_gaps(cells, variance, n_draws, rng)
        self.shapes = np.clip(cells.conf + drawn, 0, 1) - cells.conf  # rates have to stay within [0, 1]
        self.seed = int(rng.integers(2**62))
        self.tried: dict[float, tuple[float, float]] = {}
        self.sizes: dict[float, Float64s] = {}
        self.above: Tails | None = None
        self.spread = self._spread_at_zero()

    def at(self, error: float) -> tuple[float, float]:
        """Return the probabilities of a value at least, and at most, the observed one, given this true error."""
        if error not in self.tried:
            shown = self._shown(error)
            tiny = TIED_ERROR * self.observed  # equal except for rounding counts as equal
            at_least = np.count_nonzero(shown >= self.observed - tiny)
            at_most = np.count_nonzero(shown <= self.observed + tiny)
            n = 1 + len(shown)
            self.tried[error] = ((1 + at_least) / n, (1 + at_most) / n) if len(shown) else (1.0, 0.0)
        return self.tried[error]

    def _shown(self, error: float) -> Float64s:
        """Simulate the errors of data with this true error, for the shapes that can reach it; empty if too few can."""
        cells, again = self.cells, np.random.default_rng(self.seed)  # all candidates share the same random numbers
        rate = None
        if error > 0:
            rate, reached = self._stretched(error)
            able = np.flatnonzero(reached)
            if len(able) < MIN_SHARE_OF_SHAPES * len(rate):
                return np.empty(0)
            rate = rate[np.resize(able, len(rate))]  # shapes that reach it replace those that do not
        wy, w = self.noise(rate, again)
        shown = self.question.replicates(cells.with_outcomes(wy, w), max(self.observed, NARROWEST_SHAPE_BANDWIDTH))
        if self.widened == 1:
            return shown
        middle = np.median(shown)
        return np.maximum(middle + self.widened * (shown - middle), 0)

    def _stretched(self, error: float) -> tuple[Float64s, Array]:
        """Return the rates at which the shapes have this error, and whether they reach it: rates stop at 0 and 1."""
        cells, size = self.cells, self._size(error)
        reached = size > NO_ERROR  # stretching a shape without gaps gives no error
        by = (error / size) ** (1 / self.power)
        exact = self.question.row is None or self.question.row.proportional
        for k in range(MAX_ROUNDS_TO_REACH if cells.are_bins else 1):
            meant = cells.conf + by[:, None] * self.shapes
            rate = np.clip(meant, 0, 1)
            if k == 0 and exact and np.array_equal(rate, meant):
                return rate, reached
            # Gaps cut off at rates of 0 and 1 make the error too small, so the other gaps have to compensate.
            found = self.question.replicates(cells.with_outcomes(cells.w * rate), self._width(error))
            reached = found > SHARE_TO_REACH * error
            more = np.minimum(error / np.maximum(found, NO_ERROR), MAX_STRETCH)
            if not exact:  # the error may grow as fast as the square of the gaps, so the step is shorter
                reached, more = reached & (found * SHARE_TO_REACH < error), more**STEP_IF_NOT_PROPORTIONAL
            by = by * np.where(reached, 1.0, more)
            if reached.all():
                break
        return rate, reached

    def _size(self, error: float) -> Float64s:
        """Return the error of the unstretched shapes; it depends on the candidate only if the norm does."""
        key = error if self.question.is_fixed_point else 0.0
        if key not in self.sizes:
            outcomes = self.cells.w * (self.cells.conf + self.shapes)
            found = self.question.replicates(self.cells.with_outcomes(outcomes), self._width(error))
            if not np.isfinite(found).all():
                raise UndefinedError(INFINITE_AT_0)
            self.sizes = {key: np.maximum(found, NO_ERROR)}
        return self.sizes[key]

    def _width(self, error: float) -> float:
        """Return the bandwidth of a norm that has one: the candidate, unless it is so narrow that it is slow."""
        return max(error, self.observed / 20, NARROWEST_SHAPE_BANDWIDTH)

    def _spread_at_zero(self) -> float:
        low, self.lucky, high = map(float, np.quantile(self._shown(0.0), [0.025, LUCKY_SHARE, 0.975]))
        return high - low or max(self.observed, 1e-3)

    def for_sure(self, tail: float) -> float:
        """Return a lower bound of the largest true gap: the largest of the lower bounds of the bins.

        A test of the largest observed gap has almost no power, because a bin with five rows can show a large gap due to
        noise. But each bin has a lower bound (exact for binomial counts, with the tail divided by the number of bins),
        and the largest true gap is no smaller than any of them.
        """
        from scipy.special import betaincinv

        cells, each = self.cells, tail / len(self.cells)
        rate = np.clip(cells.wy / cells.w, 0, 1)
        yes, no = rate * cells.size, (1 - rate) * cells.size
        least = np.where(yes > 0, betaincinv(np.maximum(yes, NO_ERROR), no + 1, each), 0.0)
        most = 1 - np.where(no > 0, betaincinv(np.maximum(no, NO_ERROR), yes + 1, each), 0.0)
        return float(np.max(np.maximum(least - cells.conf, cells.conf - most), initial=0.0))

    def lifted(self) -> Tails:
        """Return the tails for upper ends, where values in the lowest tenth under perfect calibration are raised."""
        if self.observed >= self.lucky:
            return self
        if self.above is None:
            self.above = copy(self)
            self.above.observed, self.above.tried, self.above.sizes = self.lucky, {}, {}
        return self.above


def invert(tails: Tails, level: float, refine: bool = True) -> Inverted:
    """Return the interval of candidates that are not rejected; without `refine`, from those tested before only."""
    tail, upper_tail = (share * (1 - level) / 2 for share in SHARES_OF_TAILS)
    note = ""
    if tails.at(0.0)[1] < upper_tail:
        note = "the observed value is smaller than expected even under perfect calibration"
    above = tails.lifted()
    zero_may_be = tails.at(0.0)[0] >= tail
    if refine:
        top = _step_until(above, +1, 1, upper_tail)
        if above is not tails:
            for error in np.linspace(0.0, top, CANDIDATES_BETWEEN_ENDS + 2):
                above.at(float(error))
        bottom = 0.0 if zero_may_be else _step_until(tails, -1, 0, tail)
        for error in np.linspace(bottom, top, CANDIDATES_BETWEEN_ENDS + 2)[1:-1]:
            tails.at(float(error))
    high = _crossing(above, 1, upper_tail, refine)
    low = 0.0 if zero_may_be else _crossing(tails, 0, tail, refine)
    if tails.question.is_largest:
        low = tails.for_sure(tail)
    estimate = 0.0 if tails.at(0.0)[0] >= 0.5 else _crossing(tails, 0, 0.5, refine)
    return Inverted(low, max(high, low), min(max(estimate, low), max(high, low)), note)


def _step_until(tails: Tails, direction: int, side: int, tail: float) -> float:
    """Move away from the observed value, in growing steps, until a candidate is rejected."""
    error = tails.observed
    for k in range(50):
        error = max(error + direction * tails.spread * 1.5**k / 2, 0.0)
        rejected = tails.at(error)[side] < tail
        if rejected or error == 0:
            break
    return error


def _crossing(tails: Tails, side: int, tail: float, refine: bool) -> float:
    """Return where a tail has this probability, interpolated between candidates on the scale of normal quantiles."""
    quantile = NormalDist().inv_cdf
    crossing = 0.0
    for _ in range(2 if refine else 1):
        tried = sorted(tails.tried)
        chance = np.array([tails.tried[error][side] for error in tried])
        monotone = np.maximum.accumulate(chance) if side == 0 else np.minimum.accumulate(chance)
        z = np.array([quantile(min(max(p, 1e-6), 1 - 1e-6)) for p in monotone])
        if side == 1:
            z = -z
        goal = quantile(tail) if side == 0 else -quantile(tail)
        crossing = min(float(np.interp(goal, z, tried)), tails.most)
        if refine:
            tails.at(crossing)
    return crossing


def shapes_of_gaps(cells: Cells, variance: Float64s, n_draws: int, rng: np.random.Generator) -> Float64s:
    """Draw shapes of the true gaps, one per replicate; points are grouped into a few cells that move together."""
    if cells.are_bins:
        pooled = pooled_variance(cells.as_observed()) if cells.stratum[0] != cells.stratum[-1] else None
        return draw_patterns(
            cells.gap, variance, cells.conf, cells.stratum, n_draws, rng, rough=True, pooled_variance=pooled
        )
    anchor = np.floor(ANCHORS_OF_SHAPES / 2 * cells.conf + TIED_ERROR)
    for g in np.unique(cells.stratum):
        here = cells.stratum == g
        reached = np.cumsum(cells.w[here]) - cells.w[here] / 2
        anchor[here] += np.floor(ANCHORS_OF_SHAPES / 2 * reached / cells.w[here].sum() + TIED_ERROR)
    _, anchor = np.unique(anchor + (2 * ANCHORS_OF_SHAPES) * cells.stratum, return_inverse=True)
    w = np.bincount(anchor, cells.w)

    def mean(values: Float64s) -> Float64s:
        return np.asarray(np.bincount(anchor, values) / w)

    gap, score = mean(cells.wy - cells.w * cells.conf), mean(cells.w * cells.conf)
    stratum = np.rint(mean(cells.w * cells.stratum)).astype(np.int64)
    shapes = draw_patterns(gap, mean(cells.w**2 * variance) / w, score, stratum, n_draws, rng, rough=False)
    return np.asarray(shapes[:, anchor])
