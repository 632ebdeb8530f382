"""Beta calibration: the probability of a class when the scores of each class have a beta distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, final, get_args

import numpy as np

from believable import _check, _kernels
from believable._kernels.probabilities import SMALLEST_PROBABILITY
from believable._types import Float64s
from believable.errors import LimitWarning
from believable.recalibrate.base import BinaryRecalibrator
from believable.recalibrate.facts import Field, Map, Number, recalibrator
from believable.recalibrate.inputs import (
    Input,
    Scores,
    base_log_odds,
    by_class,
    warn,
    warn_of_limit,
)

Parameters = Literal["abm", "am", "ab", "a"]
LOG_2 = float(np.log(2))
LARGEST_PRODUCT = 1e-5 / float(np.finfo(np.float64).eps)  # a larger product loses more than 1e-5 to rounding
TINIEST_LOGIT = 1e-14  # a smaller logit counts as 0: as a probability near 1/2 it keeps no more than a few digits


@final
@recalibrator(
    alias="beta",
    ranking="weak",
    identity=True,
    fewest=30,
    simplicity=3,
    cells=True,
    reads_logits=True,
    reference="Kull, Silva Filho & Flach (2017)",
)
class BetaCalibration(BinaryRecalibrator):
    """Beta calibration: p' = sigmoid(a log p - b log(1 - p) + c), with a, b >= 0.

    If the scores of each class follow a beta distribution, this is the probability of the class given the score. It
    corrects both ends separately: a < 1 means that scores near 0 were too low, b < 1 that scores near 1 were too high.
    a = b = 1 and c = 0 change nothing.

    a, b and c maximise the likelihood subject to a, b >= 0. This concave problem is solved directly. Fitting without
    the constraint, and again without the coefficients that came out negative, as other implementations do, can give a
    decreasing map. Where a or b is positive the map is strictly increasing. Where higher scores do not go with more
    events, a = b = 0, and every row gets the base rate. K > 2 classes are recalibrated one against the rest.

    Parameters
    ----------
    input : {"probabilities", "logits"}
        The scale of X. Probabilities are clipped to [1e-12, 1 - 1e-12]; logits are exact.
    parameters : {"abm", "am", "ab", "a"}
        "abm" fits all three, "am" has a = b (Platt scaling whose slope is not negative), "ab" has c = (a - b) log 2, so
        that 1/2 stays 1/2, and "a" has both: p' = sigmoid(a logit p), temperature scaling with T = 1 / a.
    classes : sequence, optional
        The labels in the order of the columns.

    Attributes
    ----------
    a_, b_, c_ : float, or ndarray of shape (K,) for K > 2
        The fitted parameters; NaN for a class that was left as it is.

    Notes
    -----
    Where the data do not determine the map, a `LimitWarning` says which limit was used. If no positive has a lower
    score than any negative (for "ab" and "a": if 1/2 separates them) the likelihood has no maximum, and outcomes are
    smoothed as `PlattScaling(targets="smoothed")` does. Two distinct scores are too few for three parameters: then
    a = b. One distinct score carries no information: then a = b = 0, and every row gets the base rate. For "ab" and
    "a", scores of exactly 1/2 do not count: with one other distinct score a = b, with none a = b = 1. Logits within
    1e-14 of 0 count as equal. Where scores differ by less than about 1e-11 of their size, p' loses digits to
    cancellation. A logit that is more than 1e100, and more than 1e100 times as large as others, is limited to that.

    References
    ----------
    Kull, Silva Filho & Flach (2017), Beta calibration: a well-founded and easily implemented improvement on logistic
    calibration for binary classifiers, AISTATS.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> y = rng.random(5000) < p**2 / (p**2 + (1 - p))
    >>> bent = BetaCalibration().fit(p, y)
    >>> round(bent.a_), round(bent.b_), round(bent.c_)
    (2, 1, 0)
    """

    fields: ClassVar[dict[str, Field]] = {"a": Number(low=0), "b": Number(low=0), "c": Number()}

    def __init__(
        self,
        *,
        input: Input = "probabilities",
        parameters: Parameters = "abm",
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.input = input
        self.parameters = parameters
        self.classes = classes

    @property
    def a_(self) -> Any:
        return self._parameter("a")

    @property
    def b_(self) -> Any:
        return self._parameter("b")

    @property
    def c_(self) -> Any:
        return self._parameter("c")

    def _check_settings(self) -> None:
        super()._check_settings()
        _check.choice(self.parameters, get_args(Parameters), "parameters")

    def _learn_map(self, scores: Scores, w: Float64s, wy: Float64s) -> Map:
        keeps_half = self.parameters in ("ab", "a")
        half = 0.5 if scores.input == "probabilities" else 0.0  # the score of 1/2 on the scale of `_clipped`
        positive, negative = by_class(scores, w, wy)
        found = _some_distinct(scores)
        n_found = len(found[found != half] if keeps_half else found)
        if keeps_half and n_found == 0:
            warn("all scores are 1/2 and stay 1/2: they say nothing about a and b, which were left at 1", LimitWarning)
            return {"a": 1.0, "b": 1.0, "c": 0.0}
        if not keeps_half and n_found == 1:
            warn("all scores are equal and carry no information: every row gets the base rate", LimitWarning)
            return {"a": 0.0, "b": 0.0, "c": base_log_odds(positive, negative)}
        one_slope = self.parameters in ("am", "a")
        equal = one_slope or n_found < (2 if keeps_half else 3)
        if equal and not one_slope:
            warn(f"there are too few distinct scores for parameters={self.parameters!r}: a = b was taken", LimitWarning)
        low, high = _clipped(scores, positive.scores.values.min()), _clipped(scores, negative.scores.values.max())
        if low >= half >= high if keeps_half else low >= high:
            what = "1/2" if keeps_half else "a threshold on the scores"
            warn(
                f"{what} separates the classes, so the likelihood has no maximum: smoothed targets were used",
                LimitWarning,
            )
            positive, negative = positive.smoothed(), negative.smoothed()
        rows = (part.rows(*_columns(part.scores, equal, keeps_half)) for part in (positive, negative))
        fit = _kernels.fit_logistic_classes(*rows, intercept=not keeps_half, rising=True)
        *slopes, c = fit.coefficients.tolist()
        a, b = slopes[0], slopes[-1]
        warn_of_limit("rounded" if _typical_size(scores, a, b) > LARGEST_PRODUCT else fit.limit)
        return {"a": a, "b": b, "c": (a - b) * LOG_2 if keeps_half else c}

    def _apply_map(self, fitted: Map, scores: Scores) -> Float64s:
        return _kernels.sigmoid(_predictor(fitted, scores))

    def _apply_opposite(self, fitted: Map, scores: Scores) -> Float64s:
        return _kernels.sigmoid(-_predictor(fitted, scores))


def _predictor(fitted: Map, scores: Scores) -> Float64s:
    log_not, log_p = scores.logs()
    with np.errstate(over="ignore"):  # if one overflows the other is about 0, so there is no infinity minus infinity
        log_p *= fitted["a"]
        log_not *= -fitted["b"]
        log_p += log_not
    log_p += fitted["c"]
    return log_p


def _columns(scores: Scores, equal: bool, keeps_half: bool) -> list[Float64s]:
    """Return the functions of the score that a and b multiply, or the one for both if a = b."""
    if equal and scores.input == "logits":
        return [scores.logit()]
    log_not, log_p = scores.logs()
    if equal:
        log_p -= log_not
        return [log_p]
    np.negative(log_not, out=log_not)
    if keeps_half:
        log_p += LOG_2
        log_not -= LOG_2
    return [log_p, log_not]


def _typical_size(scores: Scores, a: float, b: float) -> float:
    """Return the size of the terms that are summed for a typical score, ignoring signs."""
    log_not, log_p = scores.take(np.arange(min(len(scores), 1000))).logs()
    with np.errstate(over="ignore"):
        return float(-np.median(a * log_p + b * log_not))


def _clipped(scores: Scores, values: Any) -> Any:
    """Clip scores so that distinct ones have distinct logarithms; tiny logits have not, and become 0."""
    if scores.input == "probabilities":
        return np.clip(values, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
    return np.where(np.abs(values) < TINIEST_LOGIT, 0.0, values)


def _some_distinct(scores: Scores) -> Float64s:
    """Return distinct scores: all of them, or at least four."""
    found = np.unique(_clipped(scores, scores.values[:1000]))
    return found if len(found) > 3 else np.unique(_clipped(scores, scores.values))
