"""The CORP curve: isotonic recalibration of the scores, with resampled bands."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from believable import _check, _kernels
from believable._check import generator
from believable._types import Float64s, Notion
from believable.curves.band import isotonic_band, starts_of_groups
from believable.curves.curve import Curve
from believable.stats.source import Points, count_points, one_stratum, source_of

Band = Literal["consistency", "confidence", "simultaneous"]


def corp_curve(
    predictions: Any,
    actuals: Any = None,
    *,
    band: Band | None = None,
    level: float = 0.95,
    n_resamples: int = 1000,
    random_state: Any = None,
    notion: Notion | None = None,
    r: int | None = None,
    sample_weight: Any = None,
) -> Curve:
    """Fit the event rate as a non-decreasing function of the score.

    This is the isotonic regression of the outcomes on the scores, by the pool-adjacent-violators algorithm: consistent,
    optimally binned, reproducible, and without parameters. The curve has one point for each distinct score.

    Parameters
    ----------
    band : {"consistency", "confidence", "simultaneous"}, optional
        "consistency" is a band around the diagonal: where the curve would lie if the scores were calibrated. Outcomes
        are drawn with the scores as rates. "confidence" is a band around the curve: where the true rates may lie. Rows
        are drawn with replacement, and outcomes with the rates of the curve. The curve is refitted to each draw, and
        the band contains a share `level` of the refitted curves at each score (pointwise, not whole curves). Where the
        curve is 0 or 1, a confidence band has no width. "simultaneous" contains the whole curve of true rates with a
        probability of at least `level`, in any sample however small, if these never decrease and rows are independent
        (Dimitriadis et al. 2023). So a score is certainly miscalibrated where the diagonal lies outside the band,
        wherever you look. It draws nothing, and is wider.
    level : float
        Confidence level of the band.
    n_resamples : int
        Number of draws.
    random_state : None, int or Generator
        Random seed, for reproducible results.
    notion, r
        For a matrix: which pairs of score and outcome to use, "confidence" by default. Notions that keep classes or
        ranks apart are refused.

    Notes
    -----
    With more than 500 distinct scores, the band is computed for at most 500 groups of neighbouring scores of equal
    weight, each at its mean score, and interpolated linearly; `settings["band_points"]` is their number. If rows of
    unequal weight share a score or group, their mean outcome is drawn as that of (sum w)^2 / sum w^2 rows, rounded.

    The simultaneous band is the best of the exact bounds of all ranges of scores: the rate at a score is at least the
    mean rate of any range up to it, and at most that of any range from it on. With m distinct scores there are
    m (m + 1) / 2 ranges, each with two bounds at the level (1 - level) / (m (m + 1)). With more than 500 distinct
    scores, groups of neighbours of nearly equal weight take their place, which keeps the guarantee. Where the bounds
    would exclude the fitted curve, rates are not isotonic; they are then moved so that the band contains the curve.

    References
    ----------
    Dimitriadis, Gneiting, Jordan (2021), PNAS; Dimitriadis, Dümbgen, Henzi, Puke, Ziegel (2023), Biometrika, for the
    simultaneous band.

    Examples
    --------
    >>> curve = corp_curve([0.1, 0.2, 0.3, 0.4, 0.9], [0, 1, 0, 1, 1])
    >>> curve.y
    array([0. , 0.5, 0.5, 1. , 1. ])
    >>> curve = corp_curve([0.1, 0.2, 0.3, 0.4, 0.9], [0, 1, 0, 1, 1], band="consistency", random_state=0)
    >>> bool((curve.low <= curve.high).all())
    True
    """
    _check.choice(band, (None, "consistency", "confidence", "simultaneous"), "band")
    _check.level(level)
    n_resamples = _check.positive_integer(n_resamples, "n_resamples")
    rng = generator(random_state)
    source = source_of(predictions, actuals, sample_weight)
    points = one_stratum(count_points(source, notion=notion, r=r), "the CORP curve")
    x, y, weight = points.score.copy(), _kernels.pav(points.w, points.wy), points.w.copy()
    if band is None:
        return Curve(x, y, weight, None, None, "corp", {"band": None})
    if band == "simultaneous":
        low, high = isotonic_band(points, x, level)
        low, high = np.minimum(low, y), np.maximum(high, y)
        return Curve(x, y, weight, low, high, "corp", {"band": band, "level": level})

    few, rate = _grouped(points, x if band == "consistency" else y)
    draw = _outcomes if band == "consistency" else _rows_and_outcomes
    curves = _kernels.pav_rows(few.score, *draw(few, rate, n_resamples, rng))
    ends = np.quantile(curves, [(1 - level) / 2, (1 + level) / 2], axis=0)
    low, high = (np.interp(x, few.score, end) for end in ends)
    settings = {"band": band, "level": level, "n_resamples": n_resamples, "band_points": len(few.score)}
    return Curve(x, y, weight, low, high, "corp", settings)


def _grouped(points: Points, rate: Float64s) -> tuple[Points, Float64s]:
    """Merge neighbours into at most 500 points of nearly equal weight, and return the mean rate of each."""
    starts = starts_of_groups(points)
    if len(starts) == len(points.score):
        return points, rate

    def together(values: Any) -> Any:
        return np.add.reduceat(values, starts)

    sums = {name: together(getattr(points, name)) for name in ("n", "w", "wy", "w2", "w2y")}
    score, mean = together(points.w * points.score) / sums["w"], together(points.w * rate) / sums["w"]
    return replace(points, score=score, **sums), np.clip(mean, 0, 1)


def _sizes(points: Points) -> Float64s:
    """Return the effective number of rows of each point, rounded."""
    return np.maximum(np.rint(points.w**2 / points.w2), 1)


def _outcomes(points: Points, rate: Float64s, n: int, rng: np.random.Generator) -> tuple[Float64s, Float64s]:
    """Return the weights, and sums of w y with outcomes drawn at the given rates."""
    size = _sizes(points)
    occurred = rng.binomial(size.astype(np.int64), rate, (n, len(rate)))
    return points.w, points.w * (occurred / size)


def _rows_and_outcomes(points: Points, rate: Float64s, n: int, rng: np.random.Generator) -> tuple[Float64s, Float64s]:
    """Return the weights of rows drawn with replacement, and sums of w y with new outcomes for them."""
    size = _sizes(points)
    drawn = rng.multinomial(int(size.sum()), size / size.sum(), n)
    occurred = rng.binomial(drawn, rate)
    each = points.w / size
    return each * drawn, each * occurred
