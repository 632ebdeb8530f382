"""Platt scaling: a logistic regression on the logit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, final

import numpy as np

from believable import _check, _kernels
from believable._types import Float64s
from believable.errors import LimitWarning
from believable.recalibrate.base import BinaryRecalibrator
from believable.recalibrate.facts import Field, Map, Number, recalibrator
from believable.recalibrate.inputs import Input, Scores, base_log_odds, by_class, warn, warn_of_limit

Targets = Literal["labels", "smoothed"]

SMALLEST_SPREAD = 1e-280  # closer scores count as equal: their slope could overflow


@final
@recalibrator(
    alias="platt",
    ranking="by slope",
    identity=True,
    fewest=20,
    simplicity=2,
    cells=True,
    reads_logits=True,
    reference="Platt (1999)",
)
class PlattScaling(BinaryRecalibrator):
    """Platt scaling: p' = sigmoid(a z + b), with z the logit of p, or the raw score.

    a and b maximise the likelihood. With z the logit, a = 1 and b = 0 change nothing: a < 1 means that the scores were
    too extreme, b < 0 that they were too high. K > 2 classes are recalibrated one against the rest.

    Parameters
    ----------
    input : {"probabilities", "logits", "scores"}
        The scale of X.
    targets : {"labels", "smoothed"}
        "smoothed" replaces 1 by (n1 + 1) / (n1 + 2) and 0 by 1 / (n0 + 2), n1 and n0 the weights of the classes, as
        Platt did.
    classes : sequence, optional
        The labels in the order of the columns.

    Attributes
    ----------
    slope_, intercept_ : float, or ndarray of shape (K,) for K > 2
        The fitted a and b; NaN for a class that was left as it is.

    Notes
    -----
    Where the data do not determine the map, a `LimitWarning` says which limit was used. If a threshold separates the
    classes the likelihood of the labels has no maximum, and smoothed targets are used. If all scores are equal, or
    within 1e-280 of each other, the slope is 0 and every row gets the base rate. Scores may have any size, but where
    a z is above about 1e10 for every z while all a z + b are moderate, p' loses digits to cancellation: subtract a
    constant from such scores first. A score that is more than 1e100, and more than 1e100 times as large as others, is
    limited to that. Differences below 1e-150 are ignored beside others above 1e-100.

    With 50,000 rows, `fit_from_cells` agrees with the probabilities from the rows, here and for `BetaCalibration` and
    `BetaCDFCalibration` (`python -m benchmarks.figures cells`),

    - to 1e-5 from 50,400 uniform cells, if the scores are spread (logits with a standard deviation of 1 to 3 about 0);
    - to 1e-4, and to 5e-4 of the smaller of p' and 1 - p', from 50,400 cells with `spacing="logit"`, wherever scores
      lie, even 1e-6 from 0 or 1: that is about a thousandth of their standard error, and shrinks with it;
    - to 0.5 % of p' from uniform cells for scores around 1e-3, 2 % for 1e-4, and not at all for 1e-5 and below, because
      those are nearly all in one cell. A `LimitWarning` appears if more than 5 % are in the outermost cells.

    References
    ----------
    Platt (1999), Advances in Large Margin Classifiers.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=5000)
    >>> y = rng.random(5000) < 1 / (1 + np.exp(-z))
    >>> over_confident = PlattScaling(input="logits").fit(2 * z, y)
    >>> round(over_confident.slope_, 1)
    0.5
    """

    inputs: ClassVar[tuple[Input, ...]] = ("probabilities", "logits", "scores")
    fields: ClassVar[dict[str, Field]] = {"slope": Number(), "intercept": Number()}

    def __init__(
        self,
        *,
        input: Input = "probabilities",
        targets: Targets = "labels",
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.input = input
        self.targets = targets
        self.classes = classes

    @property
    def slope_(self) -> Any:
        return self._parameter("slope")

    @property
    def intercept_(self) -> Any:
        return self._parameter("intercept")

    def _check_settings(self) -> None:
        super()._check_settings()
        _check.choice(self.targets, ("labels", "smoothed"), "targets")

    def _learn_map(self, scores: Scores, w: Float64s, wy: Float64s) -> Map:
        positive, negative = by_class(scores, w, wy)
        above, below = positive.scores.logit(), negative.scores.logit()
        lowest, highest = min(above.min(), below.min()), max(above.max(), below.max())
        spread = highest / 2 - lowest / 2 > SMALLEST_SPREAD / 2
        separated = spread and (above.min() >= below.max() or above.max() <= below.min())
        if self.targets == "smoothed" or separated:
            positive, negative = positive.smoothed(), negative.smoothed()
        if not spread:
            near = "equal" if lowest == highest else f"within {SMALLEST_SPREAD:g} of each other"
            warn(f"all scores are {near} and carry no information: every row gets the base rate", LimitWarning)
            return {"slope": 0.0, "intercept": base_log_odds(positive, negative)}
        if separated and self.targets != "smoothed":
            warn(
                "a threshold on the scores separates the classes, so the likelihood has no maximum: smoothed targets "
                "were used",
                LimitWarning,
            )
        fit = _kernels.fit_logistic_classes(positive.rows(above), negative.rows(below))
        warn_of_limit(fit.limit)
        slope, intercept = fit.coefficients.tolist()
        return {"slope": slope, "intercept": intercept}

    def _apply_map(self, fitted: Map, scores: Scores) -> Float64s:
        return _kernels.sigmoid(_predictor(fitted, scores))

    def _apply_opposite(self, fitted: Map, scores: Scores) -> Float64s:
        return _kernels.sigmoid(-_predictor(fitted, scores))


def _predictor(fitted: Map, scores: Scores) -> Float64s:
    with np.errstate(over="ignore"):  # a slope fitted to tiny scores may be applied to large ones
        return np.asarray(fitted["slope"] * scores.logit() + fitted["intercept"])
