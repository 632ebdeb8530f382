"""Intervals for the true rate at a score, which any calibration map estimates."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from believable import _check
from believable._arrays import as_numpy
from believable._types import Float64s, Floats
from believable.errors import InputError
from believable.recalibrate.inputs import Input, Scores
from believable.recalibrate.platt import PlattScaling


def rate_interval(scores: Any, y: Any, at: Any, *, input: Input = "probabilities", level: float = 0.95) -> Float64s:
    """Return an interval for the true rate of the event at each of some scores, assuming that it rises with the score.

    A calibration map estimates the rate r(s) = P(event | score s). Its interval is made from the rows on both sides of
    s. Among m rows with scores up to s, each event has a rate of at most r(s), so their number is stochastically no
    larger than a binomial one with the rate r(s), and the lower Clopper–Pearson limit of level (1 + level) / 2 is a
    limit for r(s). Likewise m' rows with scores from s on give the upper limit. So the interval holds r(s) with at
    least the given probability, for each score by itself, whatever the shape of r, the number of rows and the
    recalibrator that is used.

    m and m' are the numbers that make the limits tightest according to a Platt scaling of the rows: the limit is
    expected at the mean of its predictions in the window, less (plus) the normal quantile times the standard error.
    Only the choice of the windows depends on this map. As it is fitted to the same rows, the guarantee is not exact: in
    simulations (`python -m benchmarks.rate_interval`), intervals of 95 % hold the rate in 95 to 99.9 % of cases, by
    shape of r and number of rows, and in 93 % at the worst single score. Where r rises they are wide, because the rows
    on one side have other rates: 0.27 on average with 1,000 calibrated scores, and 0.09 where r is constant.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Scores of one event; for a class of several, its column, with y == the class.
    y : array-like of shape (n,)
        Labels of two classes; the second is the event.
    at : array-like of shape (m,)
        The scores at which the interval is wanted.
    input : {"probabilities", "logits", "scores"}
        The scale of the scores.
    level : float
        Confidence level.

    Returns
    -------
    ndarray of shape (m, 2)
        The lower and the upper limit. Below all scores the first is 0, above all the second is 1.

    Notes
    -----
    If the rate does not rise with the score somewhere, the interval is too narrow or at the wrong place there.

    References
    ----------
    Dimitriadis, Dümbgen, Henzi, Puke, Ziegel (2023), Honest calibration assessment for binary outcome predictions,
    Biometrika, who derive bands for all scores at once from the same inequality.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p**2
    >>> rate_interval(p, y, [0.3, 0.9]).round(2)
    array([[0.03, 0.14],
           [0.65, 0.91]])
    """
    from scipy.special import betaincinv, ndtri

    one_event = {"scores": np.asarray(as_numpy(scores, "scores")), "at": np.asarray(as_numpy(at, "at"))}
    for name, values in one_event.items():
        if values.ndim != 1:
            raise InputError(
                "{argument} must be 1-D: the scores of one event, got shape {got}", argument=name, got=values.shape
            )
    rows, new = (Scores.of(values, input) for values in one_event.values())
    side = (1 + _check.level(level)) / 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # equal or separated scores are no trouble here
        platt = PlattScaling(input=input, targets="smoothed").fit(rows.values, y)
    happened = np.asarray(y) == platt.classes_[1]
    order = np.argsort(rows.values, kind="stable")
    score, happened, expected = rows.values[order], happened[order], platt.transform(rows.values)[order]
    deviations = float(ndtri(side))
    distinct, place = np.unique(new.values, return_inverse=True)
    result = np.empty((len(distinct), 2))
    for i, x in enumerate(distinct):
        end, start = np.searchsorted(score, x, side="right"), np.searchsorted(score, x, side="left")
        m = _tightest(score[:end][::-1], expected[:end][::-1], deviations)
        events = np.count_nonzero(happened[end - m : end])
        result[i, 0] = betaincinv(events, m - events + 1, 1 - side) if events else 0
        m = _tightest(score[start:], 1 - expected[start:], deviations)
        others = m - np.count_nonzero(happened[start : start + m])
        result[i, 1] = 1 - betaincinv(others, m - others + 1, 1 - side) if others else 1
    return np.asarray(np.sort(result, axis=1)[place])


def _tightest(score: Floats, expected: Float64s, deviations: float) -> int:
    """Return how many of the nearest rows are expected to give the highest lower limit; equal scores stay together."""
    if not len(score):
        return 0
    m = np.arange(1, len(score) + 1)
    mean = np.cumsum(expected) / m
    limit = mean - deviations * np.sqrt(mean * (1 - mean) / m)
    limit[np.flatnonzero(score[1:] == score[:-1])] = -np.inf
    return int(limit.argmax()) + 1
