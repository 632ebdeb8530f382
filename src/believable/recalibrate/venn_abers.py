"""Venn–Abers prediction: isotonic regression with a pair of probabilities for each score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, final, get_args

import numpy as np

from believable import _check, _kernels
from believable._types import Array, Float64s, MultiClass
from believable.errors import InputError, SchemaError, UndefinedError
from believable.recalibrate.base import BinaryRecalibrator
from believable.recalibrate.facts import Field, Map, Vector, recalibrator
from believable.recalibrate.inputs import Input, Scores


@final
@recalibrator(
    alias="venn_abers",
    ranking="weak",
    fewest=20,
    simplicity=6,
    cells=True,
    reference="Vovk, Petej & Fedorova (2015)",
)
class VennAbers(BinaryRecalibrator):
    """Inductive Venn–Abers prediction: a pair p0 <= p1 of probabilities, and p' = p1 / (1 - p0 + p1) between them.

    p0(s) is the isotonic fit at s of the calibration set and one more row (s, 0), p1(s) that with one more row (s, 1).
    One of these two rows will be the true one, so if new rows are exchangeable with the calibration rows, one of p0 and
    p1 is calibrated, whatever the scale of the scores. This validity belongs to the pair as a whole, on average over
    rows. **[p0, p1] is not a confidence interval**: its width is the influence of one row, not the sampling error of
    the fit, and it holds the true rate for a small part of the scores only (3 to 62 % of them in
    `python -m benchmarks.rate_interval`, fewer the more rows there are). For an interval that holds the true rate, see
    `rate_interval`.

    The log loss of p' exceeds that of p1 by log(p1 / p') if the event occurs, and that of p0 by
    log((1 - p0) / (1 - p')) if not. The two are equal, so p' has the smallest worst-case excess.

    Both ends are exact step functions of s: p0 jumps at calibration scores and has the upper value there, p1 jumps just
    above them. Below all calibration scores p0 = 0, above all p1 = 1. Neither the ends nor p' decrease: the ranking is
    preserved up to ties. Only the order of the scores matters, so they may be on any scale. p' is neither 0 nor 1 as
    long as the weights before a step sum to less than about 1e15; beyond that it may be rounded to 0 or 1.

    Sample weights count rows; the added row has weight 1, so scaling all weights changes the map: smaller weights make
    the interval wider.

    K > 2 classes are recalibrated one against the rest, or, with `multi_class="ovo"`, one against one. For each pair of
    classes i, j a map is then fitted to the rows of these two classes, with the score p_j / (p_i + p_j) (for logits and
    scores, the difference of the two). It gives r_ji, the probability of j if the class is i or j, and r_ij = 1 - r_ji.
    The probabilities of classes are p'_i = 1 / (sum of 1 / r_ij over j != i, minus K - 2), divided by their sum. The
    score is 1/2 if p_i = p_j = 0, and p_j / (p_i + p_j) is rounded to 12 decimals: equal ratios are ties, and so are
    scores within 5e-13 of 0 or 1, which logits keep apart. A pair with a class that did not occur in y keeps
    r_ij = p_i / (p_i + p_j).

    Parameters
    ----------
    multi_class : {"ovr", "ovo"}
        Recalibrate K > 2 classes one against the rest, or one against one: K (K - 1) / 2 maps, which cannot be fitted
        from cells.
    input : {"probabilities", "logits", "scores"}
        The scale of X.
    classes : sequence, optional
        The labels in the order of the columns.

    References
    ----------
    Vovk, Petej & Fedorova (2015), Large-scale probabilistic predictors with and without guarantees of validity, NIPS.
    Manokhin (2017), Multi-class probabilistic classification using inductive and cross Venn–Abers predictors, COPA.
    Price, Knerr, Personnaz & Dreyfus (1995), Pairwise neural network classifiers with probabilistic outputs, NIPS.

    Examples
    --------
    >>> scores, outcomes = [0.1, 0.2, 0.4, 0.6, 0.8, 0.9] * 5, [0, 0, 1, 0, 1, 1] * 5
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # thirty rows are few, and cause a warning
    ...     model = VennAbers().fit(scores, outcomes)
    >>> model.predict_interval([0.15, 0.5, 0.95]).round(3)
    array([[0.   , 0.167],
           [0.455, 0.545],
           [0.909, 1.   ]])
    >>> model.transform([0.15, 0.5, 0.95]).round(3)
    array([0.143, 0.5  , 0.917])
    """

    inputs: ClassVar[tuple[Input, ...]] = ("probabilities", "logits", "scores")
    fields: ClassVar[dict[str, Field]] = {
        "low_from": Vector(order=2, fewest=0),
        "low": Vector(0, 1, order=1),
        "high_after": Vector(order=2, fewest=0),
        "high": Vector(0, 1, order=1),
    }

    later_settings: ClassVar[frozenset[str]] = frozenset({"multi_class"})

    def __init__(
        self,
        *,
        multi_class: MultiClass = "ovr",
        input: Input = "probabilities",
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.multi_class = multi_class
        self.input = input
        self.classes = classes

    def predict_interval(self, X: Any) -> Float64s:
        """Return the pair p0 and p1 of each score, which is not a confidence interval for the true rate.

        Parameters
        ----------
        X : array-like of shape (n,), (n, 1) or (n, K)
            Scores on the scale of the fit.

        Returns
        -------
        ndarray of shape (n, 2), or (n, K, 2) for K > 2
            For one event, the interval of its probability; two columns are one event, the second class. For K > 2,
            separate intervals for each class against the rest, which are not normalised. A class that did not occur in
            y is left as it is: both ends are its score. With `multi_class="ovo"` and K > 2 this is an error.
        """
        scores = self._scores_to_map(X)
        if self._is_pairwise(scores.n_classes):
            raise UndefinedError(
                "VennAbers(multi_class='ovo') has a pair p0, p1 for each two classes, and none for a class against the "
                "rest: use multi_class='ovr'"
            )
        if scores.values.ndim == 1:
            return _interval(self.maps_[0], scores)
        return np.stack([_interval(fitted, scores.of_class(k)) for k, fitted in enumerate(self.maps_)], axis=1)

    def _check_settings(self) -> None:
        super()._check_settings()
        _check.choice(self.multi_class, get_args(MultiClass), "multi_class")

    def _learn_map(self, scores: Scores, w: Float64s, wy: Float64s) -> Map:
        steps = _kernels.venn_abers_steps(scores.lowest(), w, wy)
        if scores.ends is not None:  # p0 jumps where a cell begins, p1 where it ends
            above = _kernels.venn_abers_steps(scores.highest(), w, wy)
            steps = steps._replace(high_after=above.high_after, high=above.high)
        return steps._asdict()

    def _apply_map(self, fitted: Map, scores: Scores) -> Float64s:
        low, high = _interval(fitted, scores).T
        return np.asarray(high / (1 - low + high))

    def _check_map(self, fitted: Map, n_classes: int) -> None:
        for place, value in (("low_from", "low"), ("high_after", "high")):
            if len(fitted[value]) != len(fitted[place]) + 1:
                raise SchemaError(f"the saved {value} must hold one more number than {place}")
        if fitted["high"][0] == 0:
            raise SchemaError("the saved high must be above 0")


def combine_intervals(low: Any, high: Any) -> Float64s:
    """Combine several intervals for the same event into one probability, as cross Venn–Abers prediction does.

    p = GM(p1) / (GM(1 - p0) + GM(p1)), with GM the geometric mean over the first axis. With one interval it is the
    point prediction of `VennAbers`. It is 1/2 where one interval is [0, 0] and another [1, 1], which never happens with
    those of `VennAbers`.

    Parameters
    ----------
    low, high : array-like of shape (m, ...)
        The ends p0 and p1 of m intervals.

    Returns
    -------
    ndarray of shape (...)

    References
    ----------
    Vovk, Petej & Fedorova (2015), section 4.

    Examples
    --------
    >>> combine_intervals([[0.2], [0.4]], [[0.3], [0.5]]).round(4)
    array([0.3586])
    """
    low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
    if low.shape != high.shape or low.ndim == 0 or len(low) == 0:
        raise InputError(
            f"low and high must have the same shape, with intervals on the first axis, got {low.shape} and {high.shape}"
        )
    if not ((low >= 0) & (low <= high) & (high <= 1)).all():
        raise InputError("intervals must have 0 <= low <= high <= 1")
    with np.errstate(divide="ignore"):
        above, below = np.log(high).mean(axis=0), np.log1p(-low).mean(axis=0)
    undecided = np.isneginf(above) & np.isneginf(below)
    return _kernels.sigmoid(np.where(undecided, 0, above) - np.where(undecided, 0, below))


def _interval(fitted: Map | None, scores: Scores) -> Float64s:
    """Return the ends p0 and p1, of shape (n, 2)."""
    if fitted is None:
        return np.repeat(scores.probability()[:, None], 2, axis=1)
    s: Array = scores.raw()
    low = fitted["low"][np.searchsorted(fitted["low_from"], s, side="right")]
    high = fitted["high"][np.searchsorted(fitted["high_after"], s, side="left")]
    return np.column_stack([np.minimum(low, high), high])  # with huge weights they are equal up to rounding
