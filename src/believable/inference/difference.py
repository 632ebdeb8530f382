"""Intervals for the difference of two errors on the same rows, by inverting a joint test.

The difference of two plug-in errors is biased, because noise inflates the smaller error more. Adding up the intervals
of the two errors does not help: an error cannot be below 0, so its estimate near 0 can only be too large. Candidates for
the true difference are therefore tested. Each is tested at those two true errors of that difference which fit the
observed values best; the values of both models are simulated there, with the noise that they share.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from believable._types import Float64s, Ints
from believable.inference.clusters import drawn_counts, residuals_by_unit, unit_of_rows
from believable.inference.inversion import Inverted, Tails

SHARE_OF_TAILS = 0.8  # share of the nominal tails that is cut: estimating the shape of the gaps costs some coverage
TRUE_ERRORS_TRIED = 9  # true errors of each model for which values are simulated; others are interpolated
REACH_OF_ERRORS = 2.0  # how far these reach beyond the estimate, in units of its distance from the ends of its interval
DIFFERENCES_TRIED = 41  # candidates for the difference
PAIRS_TRIED = 60  # pairs of errors with one difference, of which the best is taken


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedErrors:
    """Simulated values of one model's error for some true errors; replicate j of two models shares its noise.

    Attributes
    ----------
    errors : ndarray of shape (k,)
        True errors, ascending.
    shown : ndarray of shape (k, draws)
        The simulated values.
    observed : float
        The observed value.
    """

    errors: Float64s
    shown: Float64s
    observed: float

    @classmethod
    def of(cls, tails: Tails, found: Inverted, drift: Float64s) -> SimulatedErrors:
        """Simulate around the interval found; `drift` is resampled noise of the cells, which only couples the models."""
        cells = tails.cells
        low = max(found.estimate - REACH_OF_ERRORS * max(found.estimate - found.low, found.high - found.estimate), 0.0)
        high = min(found.estimate + REACH_OF_ERRORS * (found.high - found.estimate), tails.most)
        errors, shown = [], []
        for error in np.unique(np.linspace(low, high, TRUE_ERRORS_TRIED)):
            alone = tails.shown(float(error))
            if not len(alone):  # no shape is that large
                break
            coupled = tails.shown(
                float(error), lambda rate, _: (cells.w * (cells.conf if rate is None else rate) + drift, None)
            )
            rank = np.argsort(np.argsort(coupled, kind="stable"), kind="stable")
            errors.append(float(error))
            shown.append(np.sort(alone)[rank])
        return cls(np.array(errors), np.array(shown), tails.observed)

    def at(self, error: float) -> Float64s:
        """Return the simulated values at a true error: interpolated, and shifted beyond the ends."""
        inside = float(np.clip(error, self.errors[0], self.errors[-1]))
        k = int(np.clip(np.searchsorted(self.errors, inside), 1, max(len(self.errors) - 1, 1)))
        if len(self.errors) == 1:
            return np.asarray(self.shown[0] + (error - inside))
        share = (inside - self.errors[k - 1]) / (self.errors[k] - self.errors[k - 1])
        return np.asarray((1 - share) * self.shown[k - 1] + share * self.shown[k] + (error - inside))

    def misfit(self, error: Float64s) -> Float64s:
        """Return how far the values at true errors lie above the observed one, in standard deviations."""
        middle, spread = np.median(self.shown, axis=1), np.maximum(np.std(self.shown, axis=1), 1e-12)
        inside = np.clip(error, self.errors[0], self.errors[-1])
        above = np.interp(inside, self.errors, middle) + (error - inside) - self.observed
        return np.asarray(above / np.interp(inside, self.errors, spread))

    def estimates(self, shown: Float64s) -> Float64s:
        """Return the true errors for which these values are the median; 0 for smaller ones."""
        middle = np.maximum.accumulate(np.median(self.shown, axis=1))
        inside = np.interp(shown, middle, self.errors)
        return np.asarray(np.maximum(inside + np.maximum(shown - middle[-1], 0) + np.minimum(shown - middle[0], 0), 0))


def joint_drifts(pair: list[Tails], cluster: Ints | None, n_draws: int, rng: np.random.Generator) -> list[Float64s]:
    """Return resampled noise of the cells of both models: the same units are drawn for both."""
    rows_of = [rows for each in pair if (rows := each.question.rows) is not None]
    unit, n_units = unit_of_rows(cluster, len(rows_of[0]), rng)
    spare = drawn_counts(n_units, n_draws, rng) - 1
    both = zip(pair, rows_of, strict=True)
    return [np.asarray(spare @ residuals_by_unit(rows, each.cells, unit, n_units)) for each, rows in both]


@dataclass(frozen=True, slots=True, eq=False)
class DifferenceOfErrors:
    """Tests of candidates for the difference of two true errors, first minus second.

    Attributes
    ----------
    candidates : ndarray
        Candidates in ascending order; 0 is one of them.
    larger, smaller : ndarray
        The probability of an estimate at least, and at most, as large as the one observed.
    """

    candidates: Float64s
    larger: Float64s
    smaller: Float64s

    @classmethod
    def of(cls, a: SimulatedErrors, b: SimulatedErrors) -> DifferenceOfErrors:
        """Test candidates from the simulated values of two models."""
        estimates = [float(each.estimates(np.array([each.observed]))[0]) for each in (a, b)]
        observed = estimates[0] - estimates[1]
        values = np.stack([each.at(estimate) for each, estimate in zip((a, b), estimates, strict=True)])
        spread = values.std(axis=1)
        correlation = float(np.clip(np.corrcoef(values)[0, 1], -0.95, 0.95)) if spread.min() > 0 else 0.0
        ends = a.errors[0] - b.errors[-1], a.errors[-1] - b.errors[0]
        candidates = np.unique([*np.linspace(*ends, DIFFERENCES_TRIED), 0.0, observed])
        larger, smaller = [], []
        for difference in candidates:
            least = max(difference, 0.0)
            most = max(a.errors[-1], b.errors[-1] + difference, least)
            first = np.linspace(least, most, PAIRS_TRIED)
            off, other = a.misfit(first), b.misfit(first - difference)
            best = float(first[np.argmin(off**2 - 2 * correlation * off * other + other**2)])
            shown = a.estimates(a.at(best)) - b.estimates(b.at(best - difference))
            tiny = 1e-9 * (abs(observed) + max(a.observed, b.observed))  # equal except for rounding counts as equal
            larger.append((1 + np.count_nonzero(shown >= observed - tiny)) / (1 + len(shown)))
            smaller.append((1 + np.count_nonzero(shown <= observed + tiny)) / (1 + len(shown)))
        return cls(candidates, np.maximum.accumulate(larger), np.minimum.accumulate(smaller))

    def interval(self, level: float) -> tuple[float, float]:
        """Return the ends of the candidates that are not rejected."""
        tail = SHARE_OF_TAILS * (1 - level) / 2
        quantile = np.vectorize(NormalDist().inv_cdf)
        goal = NormalDist().inv_cdf(tail)
        low = np.interp(goal, quantile(np.minimum(self.larger, 1 - 1e-9)), self.candidates)
        high = np.interp(-goal, -quantile(np.minimum(self.smaller, 1 - 1e-9)), self.candidates)
        return float(low), float(high)

    @property
    def p_value(self) -> float:
        """The p-value of no difference: twice the smaller tail, and below 1 - level exactly where 0 is left out."""
        k = int(np.flatnonzero(self.candidates == 0)[0])
        return float(min(1.0, 2 * min(self.larger[k], self.smaller[k]) / SHARE_OF_TAILS))


def tested_differences(
    pair: list[Tails], found: list[Inverted], cluster: Ints | None, n_draws: int, rng: np.random.Generator
) -> DifferenceOfErrors:
    """Test candidates for the difference of the errors of two models."""
    drifts = joint_drifts(pair, cluster, n_draws, rng)
    a, b = (SimulatedErrors.of(*each) for each in zip(pair, found, drifts, strict=True))
    return DifferenceOfErrors.of(a, b)
