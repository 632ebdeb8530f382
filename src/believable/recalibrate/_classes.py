"""The rows of the two classes apart, as likelihoods want them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from believable import kernels
from believable._types import Array, Float64s
from believable.errors import LimitWarning
from believable.recalibrate._scores import Scores
from believable.recalibrate._warn import warn


@dataclass(frozen=True, slots=True, eq=False)
class ClassScores:
    """The scores of one class.

    Attributes
    ----------
    scores : Scores
    weight : ndarray, or float
        One for each score, or one for all.
    noise : float
        The share of each that counts as the other class.
    """

    scores: Scores
    weight: Float64s | float
    noise: float = 0.0

    def smoothed(self) -> ClassScores:
        """Outcomes moved inwards as Platt did: of n rows each counts (n + 1) / (n + 2), and the rest to the others."""
        return replace(self, noise=1 / (self.total + 2))

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return self.weight * len(self.scores) if isinstance(self.weight, float) else float(self.weight.sum())

    def rows(self, *columns: Float64s) -> kernels.ClassRows:
        """The rows with these functions of the score."""
        return kernels.ClassRows(columns, self.weight, self.noise)


def by_class(scores: Scores, w: Float64s, wy: Float64s) -> tuple[ClassScores, ClassScores]:
    """Positives and negatives; a point that holds some of both is in both."""
    happened = wy > 0
    one = float(w[0])
    if w.strides == (0,) and wy.sum() == one * np.count_nonzero(happened):  # whole rows, all of one weight
        return ClassScores(_where(scores, happened), one), ClassScores(_where(scores, ~happened), one)
    not_happened = wy < w
    return (
        ClassScores(_where(scores, happened), np.compress(happened, wy)),
        ClassScores(_where(scores, not_happened), np.compress(not_happened, w - wy)),
    )


def base_log_odds(positive: ClassScores, negative: ClassScores) -> float:
    """The log-odds of the event, whatever the score."""
    happened = positive.total * (1 - positive.noise) + negative.total * negative.noise
    return float(np.log(happened) - np.log(positive.total + negative.total - happened))


def warn_of_limit(limit: kernels.ClassesLimit) -> None:
    """Say where coefficients are not exact, or not when they are applied; called from `_learn_map`."""
    what = {
        "rounded": "the scores differ so little, for their size, that rounding changes log-odds by more than 1e-5: "
        "subtract a constant from scores or logits before they are given",
        "cut": "some scores are 1e100 times as large as others, and were taken as just that",
    }
    if limit:
        warn(what[limit], LimitWarning)


def _where(scores: Scores, rows: Array) -> Scores:
    return Scores(np.compress(rows, scores.values), scores.input)
