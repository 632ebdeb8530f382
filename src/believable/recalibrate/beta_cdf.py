"""Beta-CDF calibration: the distribution function of a beta distribution as the calibration map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, final

import numpy as np

from believable import _kernels
from believable._kernels.probabilities import LARGEST_LOGIT
from believable._types import Float64s
from believable.errors import LimitWarning
from believable.recalibrate.base import BinaryRecalibrator
from believable.recalibrate.facts import Field, Map, Number, recalibrator
from believable.recalibrate.inputs import ClassScores, Input, Scores, by_class, warn

SMALLEST_PARAMETER, LARGEST_PARAMETER = _kernels.BETA_CDF_RANGE


@final
@recalibrator(
    alias="beta_cdf",
    ranking="strict",
    identity=True,
    fewest=30,
    simplicity=3,
    cells=True,
    reads_logits=True,
    reference="Ranjan & Gneiting (2010)",
)
class BetaCDFCalibration(BinaryRecalibrator):
    """Beta-CDF calibration: p' = I_p(a, b), the regularised incomplete beta function, with a, b > 0.

    I_p(a, b) is the integral of t^(a-1) (1 - t)^(b-1) from 0 to p, over that from 0 to 1: the distribution function of
    a beta distribution. It maps 0 to 0 and 1 to 1 and is strictly increasing; a = b = 1 changes nothing. Near 0 it goes
    as p^a, near 1 as 1 - (1 - p)^b. a and b maximise the likelihood, starting from a = b = 1. K > 2 classes are
    recalibrated one against the rest.

    Parameters
    ----------
    input : {"probabilities", "logits"}
        The scale of X. Probabilities are clipped to [1e-12, 1 - 1e-12], and logits accordingly.
    classes : sequence, optional
        The labels in the order of the columns.

    Attributes
    ----------
    a_, b_ : float, or ndarray of shape (K,) for K > 2
        The parameters, in [1e-4, 1e4].

    Notes
    -----
    Where the data do not determine the map, a `LimitWarning` says which limit was used. If no positive has a lower
    score than any negative the likelihood has no maximum, and outcomes are smoothed as
    `PlattScaling(targets="smoothed")` does. Where the likelihood still rises at the limit 1e-4 or 1e4 of a or b, the
    limit is used: towards 0 the map becomes constant, which is best where higher scores do not go with more events. If
    all scores equal one p, the map takes it to the base rate, with b = 1 if p < 1/2 and a = 1 otherwise.

    More than 20,000 distinct scores are grouped into cells of 1/256 of a logit or finer, each at the mean of its
    logits, which changes probabilities by less than 1e-6.

    References
    ----------
    Ranjan, Gneiting (2010), Journal of the Royal Statistical Society B, who recalibrate forecasts with it.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> y = rng.random(5000) < 3 * p**2 - 2 * p**3
    >>> bent = BetaCDFCalibration().fit(p, y)
    >>> round(bent.a_), round(bent.b_)
    (2, 2)
    """

    fields: ClassVar[dict[str, Field]] = dict.fromkeys(("a", "b"), Number(SMALLEST_PARAMETER, LARGEST_PARAMETER))

    def __init__(self, *, input: Input = "probabilities", classes: Sequence[Any] | None = None) -> None:
        self.input = input
        self.classes = classes

    @property
    def a_(self) -> Any:
        return self._parameter("a")

    @property
    def b_(self) -> Any:
        return self._parameter("b")

    def _learn_map(self, scores: Scores, w: Float64s, wy: Float64s) -> Map:
        positive, negative = by_class(scores, w, wy)
        above, below = _logit(positive.scores), _logit(negative.scores)
        if above.min() == above.max() == below.min() == below.max():
            warn(
                "all scores are equal: the map takes them to the base rate, and is arbitrary elsewhere",
                LimitWarning,
            )
            return _through(float(above[0]), float(wy.sum() / w.sum()))
        if above.min() >= below.max():
            warn(
                "a threshold on the scores separates the classes, so the likelihood has no maximum: smoothed targets "
                "were used",
                LimitWarning,
            )
            positive, negative = positive.smoothed(), negative.smoothed()
        sides = _side(above, below, positive, negative), _side(below, above, negative, positive)
        a, b = _kernels.fit_beta_cdf(*sides)
        if not (SMALLEST_PARAMETER < a < LARGEST_PARAMETER and SMALLEST_PARAMETER < b < LARGEST_PARAMETER):
            warn(
                f"the likelihood still rises at a = {a:.3g}, b = {b:.3g}, a limit of [1e-4, 1e4], which was used",
                LimitWarning,
            )
        return {"a": a, "b": b}

    def _apply_map(self, fitted: Map, scores: Scores) -> Float64s:
        return _kernels.beta_cdf(_logit(scores), fitted["a"], fitted["b"])


def _logit(scores: Scores) -> Float64s:
    return np.clip(scores.logit(), -LARGEST_LOGIT, LARGEST_LOGIT)


def _side(own: Float64s, others: Float64s, one: ClassScores, other: ClassScores) -> _kernels.WeightedLogits:
    """Return the logits that count as one class, including a share of the other class if outcomes are smoothed."""
    weight = np.broadcast_to(one.weight, len(own)) * (1 - one.noise)
    if not other.noise:
        return _kernels.WeightedLogits(own, weight)
    more = np.broadcast_to(other.weight, len(others)) * other.noise
    return _kernels.WeightedLogits(np.concatenate([own, others]), np.concatenate([weight, more]))


def _through(logit: float, rate: float) -> Map:
    """Return the map p^a or 1 - (1 - p)^b that takes one score to a given rate."""
    log_smaller = -float(np.logaddexp(0, abs(logit)))  # the logarithm of p or 1 - p, whichever is smaller
    power = np.log(rate if logit < 0 else 1 - rate) / log_smaller
    power = float(np.clip(power, SMALLEST_PARAMETER, LARGEST_PARAMETER))
    return {"a": power, "b": 1.0} if logit < 0 else {"a": 1.0, "b": power}
