"""Platt scaling: a logistic regression on the logit."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, final

import numpy as np

from believable import _check, kernels
from believable._types import Float64s
from believable.errors import LimitWarning
from believable.recalibrate._base import BinaryRecalibrator
from believable.recalibrate._facts import recalibrator
from believable.recalibrate._fields import Field, Map, Number
from believable.recalibrate._scores import Input, Scores

Targets = Literal["labels", "smoothed"]


@final
@recalibrator(
    alias="platt",
    ranking="by slope",
    identity=True,
    fewest=20,
    simplicity=2,
    cells=True,
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
        Platt did. Where a threshold separates the classes the likelihood of the labels has no maximum, and smoothed
        targets are taken in any case, with a `LimitWarning`.
    classes : sequence, optional
        The labels in the order of the columns.

    Attributes
    ----------
    slope_, intercept_ : float, or ndarray of shape (K,) for K > 2

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
        z = scores.logit()
        smooth = self.targets == "smoothed"
        if not smooth and separated(z, w, wy):
            warnings.warn(
                "a threshold on the scores separates the classes, so the likelihood has no maximum: smoothed targets "
                "were used",
                LimitWarning,
                stacklevel=5,
            )
            smooth = True
        if smooth:
            wy = smoothed_targets(w, wy)
        if z.min() == z.max():
            rate = wy.sum() / w.sum()  # one score tells nothing: everyone gets the base rate
            return {"slope": 0.0, "intercept": float(np.log(rate) - np.log1p(-rate))}
        slope, intercept = kernels.fit_logistic(np.stack([z, np.ones_like(z)]), w, wy).coefficients
        return {"slope": float(slope), "intercept": float(intercept)}

    def _apply_map(self, learnt: Map, scores: Scores) -> Float64s:
        return kernels.sigmoid(learnt["slope"] * scores.logit() + learnt["intercept"])


def separated(z: Float64s, w: Float64s, wy: Float64s) -> bool:
    """Whether some threshold has all positives on one side and all negatives on the other (it may hold both itself)."""
    positive, negative = z[wy > 0], z[wy < w]
    return bool((positive.min() >= negative.max() or positive.max() <= negative.min()) and z.min() < z.max())


def smoothed_targets(w: Float64s, wy: Float64s) -> Float64s:
    """Weights of positives with outcomes moved inwards as Platt did."""
    positives = wy.sum()
    negatives = w.sum() - positives
    return np.asarray(wy * (positives + 1) / (positives + 2) + (w - wy) / (negatives + 2))
