"""Many sets of predictions against one baseline on the same rows: what they share is worked out once."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from believable._types import Float64s, Ints
from believable.inference._inversion import Inverted, Tails, invert
from believable.inference._question import ask
from believable.inference.compare import correlation, square_and_add
from believable.inference.interval import Interval, tails_of
from believable.predictions import Predictions


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """An error of one model, with the test that its interval came from."""

    interval: Interval
    inverted: Inverted
    tails: Tails


@dataclass(frozen=True, slots=True)
class ErrorContest:
    """Intervals of one calibration error, and of differences in it, for models on the same rows.

    The noise of all models is drawn with one seed, so that what they share cancels.
    """

    metric: str
    cluster: Ints | None
    level: float
    n_draws: int
    seed: int

    def measure(self, predictions: Predictions) -> Measured:
        """The error of one model."""
        question = ask(self.metric, predictions)
        tails = tails_of(question, self.cluster, self.n_draws, np.random.default_rng(self.seed))
        found = invert(tails, self.level)
        value = question.value()
        return Measured(
            Interval(found.low, found.high, self.level, value, found.estimate, "inversion", found.note), found, tails
        )

    def difference(self, first: Measured, second: Measured) -> tuple[float, float]:
        """The ends of the interval for the first error less the second."""
        rng = np.random.default_rng(self.seed)
        together = correlation([first.tails, second.tails], self.cluster, self.n_draws, rng)
        return square_and_add(first.inverted, second.inverted, together)


def mean_of_rows(values: Float64s, weights: Float64s | None, cluster: Ints | None) -> tuple[float, float, int]:
    """A weighted mean over rows, its standard error between clusters, and the degrees of freedom of that.

    The error is that of the jackknife, which a few heavy clusters do not make too small: what a cluster adds to the
    mean is divided by the share of the weight that is left without it. Where a value is infinite, so is all.
    """
    w = np.ones(len(values)) if weights is None else weights
    mean = float(np.average(values, weights=w))
    if not math.isfinite(mean):
        return mean, math.inf, 1
    share, off = w / w.sum(), w * (values - mean) / w.sum()
    if cluster is not None:
        share, off = (np.bincount(cluster, each).astype(np.float64) for each in (share, off))
    n = len(off)
    jackknife = off / np.maximum(1 - share, 1e-12)
    return mean, float(np.sqrt(np.sum(jackknife**2) * (n - 1) / n)), max(n - 1, 1)
