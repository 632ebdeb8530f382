"""The CORP curve: the isotonic recalibration of the scores, with bands by resampling."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from believable import _check, _kernels
from believable._check import generator
from believable._types import Float64s, Notion
from believable.curves.curve import Curve
from believable.stats.source import Points, count_points, one_stratum, source_of

Band = Literal["consistency", "confidence"]
MAX_BAND_POINTS = 500  # of a band; more distinct scores share them


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
    """Event rate as the non-decreasing function of the score that fits the outcomes best.

    The isotonic regression of the outcomes on the scores, by pooling adjacent violators: consistent, optimally binned,
    reproducible, and with nothing to choose. A point of the curve for each distinct score.

    Parameters
    ----------
    band : {"consistency", "confidence"}, optional
        "consistency" lies around the diagonal: where the curve would be if the scores were calibrated. Outcomes are
        drawn at the rates of the scores. "confidence" lies around the curve: where the rates may be. Rows are drawn
        with replacement, and their outcomes at the rates of the curve. Each time the curve is fitted again, and the
        band holds a share `level` of these curves at each score, not of whole curves. Where the curve is 0 or 1 a
        confidence band has no width.
    level : float
    n_resamples : int
    random_state : None, int or Generator
        Of the draws.
    notion, r
        For a matrix; one that keeps no classes or ranks apart. "confidence" if left out.

    Notes
    -----
    With more than 500 distinct scores the band is that of at most 500 groups of neighbours of equal weight, each at its
    mean score, drawn straight from one to the next; `settings["band_points"]` says how many there were. Where rows of
    unequal weight share a score or group, their mean outcome is drawn as that of (sum w)^2 / sum w^2 rows, rounded.

    References
    ----------
    Dimitriadis, Gneiting, Jordan (2021), PNAS.

    Examples
    --------
    >>> curve = corp_curve([0.1, 0.2, 0.3, 0.4, 0.9], [0, 1, 0, 1, 1])
    >>> curve.y
    array([0. , 0.5, 0.5, 1. , 1. ])
    >>> curve = corp_curve([0.1, 0.2, 0.3, 0.4, 0.9], [0, 1, 0, 1, 1], band="consistency", random_state=0)
    >>> bool((curve.low <= curve.high).all())
    True
    """
    _check.choice(band, (None, "consistency", "confidence"), "band")
    _check.level(level)
    n_resamples = _check.positive_integer(n_resamples, "n_resamples")
    rng = generator(random_state)
    source = source_of(predictions, actuals, sample_weight)
    points = one_stratum(count_points(source, notion=notion, r=r), "the CORP curve")
    x, y, weight = points.score.copy(), _kernels.pav(points.w, points.wy), points.w.copy()
    if band is None:
        return Curve(x, y, weight, None, None, "corp", {"band": None})

    few, rate = _grouped(points, x if band == "consistency" else y)
    draw = _outcomes if band == "consistency" else _rows_and_outcomes
    curves = _kernels.pav_rows(few.score, *draw(few, rate, n_resamples, rng))
    ends = np.quantile(curves, [(1 - level) / 2, (1 + level) / 2], axis=0)
    low, high = (np.interp(x, few.score, end) for end in ends)
    settings = {"band": band, "level": level, "n_resamples": n_resamples, "band_points": len(few.score)}
    return Curve(x, y, weight, low, high, "corp", settings)


def _grouped(points: Points, rate: Float64s) -> tuple[Points, Float64s]:
    """At most 500 points of nearly equal weight, at the mean scores of neighbours, and the mean rate of each."""
    if len(points.score) <= MAX_BAND_POINTS:
        return points, rate
    last = np.unique(_kernels.quantile_positions(_kernels.running_sum(points.w), MAX_BAND_POINTS))
    starts = np.append(0, last + 1)
    starts = starts[starts < len(points.score)]

    def together(values: Any) -> Any:
        return np.add.reduceat(values, starts)

    sums = {name: together(getattr(points, name)) for name in ("n", "w", "wy", "w2", "w2y")}
    score, mean = together(points.w * points.score) / sums["w"], together(points.w * rate) / sums["w"]
    return replace(points, score=score, **sums), np.clip(mean, 0, 1)


def _sizes(points: Points) -> Float64s:
    """How many rows of equal weight tell as much as those of each point."""
    return np.maximum(np.rint(points.w**2 / points.w2), 1)


def _outcomes(points: Points, rate: Float64s, n: int, rng: np.random.Generator) -> tuple[Float64s, Float64s]:
    """Weights, and sums of w y with new outcomes at the given rates."""
    size = _sizes(points)
    happened = rng.binomial(size.astype(np.int64), rate, (n, len(rate)))
    return points.w, points.w * (happened / size)


def _rows_and_outcomes(points: Points, rate: Float64s, n: int, rng: np.random.Generator) -> tuple[Float64s, Float64s]:
    """Weights of rows drawn with replacement, and sums of w y with new outcomes for them."""
    size = _sizes(points)
    drawn = rng.multinomial(int(size.sum()), size / size.sum(), n)
    happened = rng.binomial(drawn, rate)
    each = points.w / size
    return each * drawn, each * happened
