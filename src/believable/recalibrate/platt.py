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

SMALLEST_SPREAD = 1e-280  # of scores that have a slope: that of closer ones may be too large to be written down


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
    """Platt scaling: p' = sigmoid(a z + b), with z the logit of p, or a score as it is.

    a and b maximise the likelihood. With z the logit, a = 1 and b = 0 change nothing: a < 1 says the scores were too
    extreme, b < 0 that they were too high. K > 2 classes are taken one against the rest.

    Parameters
    ----------
    input : {"probabilities", "logits", "scores"}
        What X holds.
    targets : {"labels", "smoothed"}
        "smoothed" replaces 1 by (n1 + 1) / (n1 + 2) and 0 by 1 / (n0 + 2), n1 and n0 the weights of the classes, as
        Platt did.
    classes : sequence, optional
        The labels in the order of the columns.

    Attributes
    ----------
    slope_, intercept_ : float, or ndarray of shape (K,) for K > 2

    Notes
    -----
    Where the data do not determine the map, a `LimitWarning` says what was done. If a threshold separates the classes
    the likelihood of the labels has no maximum, and smoothed targets are taken. If all scores are equal, or within
    1e-280 of each other, the slope is 0 and everyone gets the base rate. Scores may be of any size, and anywhere, but
    where a z is above 1e10 or so for every z, while all a z + b are moderate, b cancels digits that p' would need:
    subtract a constant from such scores first. A score that is 1e100 times as large as others, if it is beyond 1e100
    itself, is taken as just that. Differences below 1e-150 are not seen beside others that are above 1e-100.

    `fit_from_cells` gives the probabilities that the rows give, here and for `BetaCalibration` and
    `BetaCDFCalibration`, if there are tens of thousands of rows,

    - to 1e-5 from 50,400 uniform cells, if the scores are spread (logits with a standard deviation of 1 to 3 about 0);
    - to 1e-4, and to 5e-4 of the smaller of p' and 1 - p', from 50,400 cells with `spacing="logit"`, wherever scores
      lie, 1e-6 from 0 or 1 included: that is about a thousandth of their standard error, and shrinks with it;
    - from uniform cells to 0.5 % of p' for scores around 1e-3, 2 % for 1e-4, 10 % for 1e-5, and not at all for 1e-6,
      which are all in one cell. Where more than 5 % are in the outermost cells a `LimitWarning` says so.

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
            warn(f"all scores are {near} and tell nothing: everyone gets the base rate", LimitWarning)
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

    def _apply_map(self, learnt: Map, scores: Scores) -> Float64s:
        return _kernels.sigmoid(_predictor(learnt, scores))

    def _apply_opposite(self, learnt: Map, scores: Scores) -> Float64s:
        return _kernels.sigmoid(-_predictor(learnt, scores))


def _predictor(learnt: Map, scores: Scores) -> Float64s:
    with np.errstate(over="ignore"):  # a slope that was learnt from tiny scores may meet large ones
        return np.asarray(learnt["slope"] * scores.logit() + learnt["intercept"])
