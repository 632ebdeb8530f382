"""What the Kolmogorov–Smirnov and Kuiper tests have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import Any, Literal, get_args

import numpy as np

from believable import _check, kernels
from believable._random import generator
from believable._types import Array, Float64s, Ints, Notion
from believable.counting import Source, source_of
from believable.errors import UndefinedError
from believable.inference._resampling import batches, drawn_at_scores, resampling_p_value
from believable.inference._result import TestResult
from believable.points import Points, count_points, one_group
from believable.predictions import Predictions

Method = Literal["auto", "asymptotic", "resampling"]
FEW_SCORES = 200  # fewer distinct scores are too coarse for the limit


@dataclass(frozen=True, slots=True)
class CumulativeTest:
    """A test by how far the cumulative gap gets, beside its standard deviation at the end.

    Attributes
    ----------
    what : str
        What to call it.
    extreme : callable
        How far the gap of `Points` gets.
    tail : callable
        The probability that Brownian motion on [0, 1] gets further.
    """

    what: str
    extreme: Callable[[Points], Any]
    tail: Callable[[float], float]

    def __call__(
        self,
        source: tuple[Any, Any, Any],
        notion: Notion | None,
        r: int | None,
        method: Method,
        n_resamples: int,
        random_state: Any,
    ) -> TestResult:
        _check.choice(method, get_args(Method), "method")
        n_resamples = _check.positive_integer(n_resamples, "n_resamples")
        rng = generator(random_state)
        given = source_of(*source)
        points = one_group(count_points(given, notion=notion, r=r), self.what)
        rows = _rows(given, points, notion, r)
        if method == "auto":
            coarse = len(points.score) < FEW_SCORES and rows is not None
            method = "resampling" if coarse else "asymptotic"
        n, found = int(points.n.sum()), float(self.extreme(points))
        deviation = sqrt(max(float(points.variance.sum()), 0.0)) / float(points.total)
        if deviation == 0:  # scores of 0 and 1 are certain: right, or refuted
            return TestResult(inf if found else 0.0, 0.0 if found else 1.0, None, n, method)
        if method == "asymptotic":
            return TestResult(found / deviation, self.tail(found / deviation), None, n, method)
        if rows is None:
            raise UndefinedError(
                f"{self.what} cannot draw labels for cells whose rows have different weights: pass the predictions, or "
                "method='asymptotic'"
            )
        drawn = [
            np.atleast_1d(self.extreme(replace(points, wy=rows.draw(size, rng))))
            for size in batches(n_resamples, len(rows.score))
        ]
        return TestResult(found / deviation, resampling_p_value(found, np.concatenate(drawn)), None, n, method)


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Rows of equal score and weight, which labels are drawn for at once, and where each distinct score starts."""

    score: Float64s
    n: Array
    weight: Float64s
    starts: Ints | None

    def draw(self, size: int, rng: np.random.Generator) -> Float64s:
        """Sums of w y at each distinct score for drawn labels, `size` times over."""
        drawn = drawn_at_scores(self.score, self.n, size, rng)
        drawn *= self.weight
        return drawn if self.starts is None else np.add.reduceat(drawn, self.starts, axis=1)


def _rows(source: Source, points: Points, notion: Notion | None, r: int | None) -> _Rows | None:
    """Rows to draw labels for: one for each distinct score where its weights are equal, else the rows themselves."""
    score = np.clip(points.score, 0, 1)  # the mean score of a cell may round beyond
    if np.allclose(points.w2 * points.n, points.w**2, rtol=1e-9, atol=0):
        return _Rows(score, points.n, points.w / points.n, None)
    if not isinstance(source, Predictions):
        return None
    pairs = source.all_pairs(source.view(notion, r=r))
    order = kernels.ascending(pairs.score)
    weight = np.asarray(pairs.weight, np.float64)[order]
    starts = np.append(0, np.cumsum(points.n)[:-1])
    return _Rows(pairs.score[order].astype(np.float64), np.ones(len(order), np.int64), weight, starts)
