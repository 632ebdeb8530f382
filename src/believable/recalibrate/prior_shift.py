"""Prior shift: adjust scores to a population where the classes are more or less frequent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self, final

import numpy as np
from sklearn.utils.validation import check_is_fitted

from believable import _check, _kernels
from believable._types import Float64s, Floats, Ints
from believable.errors import InputError, LimitWarning, SchemaError
from believable.recalibrate.base import MatrixRecalibrator
from believable.recalibrate.facts import Field, Map, Vector, recalibrator
from believable.recalibrate.inputs import Input, warn

Shares = float | Sequence[float]
SHARE_SUM_TOLERANCE = 1e-6  # the sum of shares may differ from 1 by this


@final
@recalibrator(
    alias="prior_shift",
    ranking="weak",
    identity=True,
    fewest=1,
    simplicity=1,
    reference="Elkan (2001); Saerens, Latinne & Decaestecker (2002)",
)
class PriorShift(MatrixRecalibrator):
    """Prior shift: p'_k = p_k t_k / s_k, divided by the sum of the row, for old and new class shares s and t.

    The source s holds the shares in the population where the scores are calibrated, the target t those in the
    population where they will be used. The odds of one event are multiplied by (t1 / t0) / (s1 / s0). This is right if
    each class looks the same in both populations and only the shares differ.

    Labels are used to estimate s alone. If t is not known, `adapt` estimates it from scores of the new population,
    without labels. Until then t = s, and nothing changes. The ranking of one event's scores is preserved (a target of 0
    or 1 makes them all equal); the most probable of several classes may change.

    A class with target 0 gets probability 0. A class with source 0, because it does not occur in y, is an error: pass
    `source`. Probabilities are clipped to at least 1e-12; logits are exact in the tails.

    Parameters
    ----------
    input : {"probabilities", "logits"}
        The scale of X.
    target : float or sequence of shape (K,), optional
        The shares of the classes in the order of the columns; for one event its share is enough.
    source : float or sequence of shape (K,), optional
        Likewise; by default the weighted shares of y.
    classes : sequence, optional
        The labels in the order of the columns.

    Attributes
    ----------
    source_, target_ : ndarray of shape (K,)
        The class shares s and t.

    References
    ----------
    Elkan (2001), The foundations of cost-sensitive learning, IJCAI.
    Saerens, Latinne & Decaestecker (2002), Adjusting the outputs of a classifier to new a priori probabilities,
    Neural Computation 14.

    Examples
    --------
    A test developed where half of the people were ill, used where 1 % are:

    >>> half = [0, 1] * 10
    >>> PriorShift(target=0.01).fit([0.2, 0.9] * 10, half).transform([0.2, 0.5, 0.9]).round(4)
    array([0.0025, 0.01  , 0.0833])

    Where that share is not known:

    >>> new_place = [0.2] * 800 + [0.9] * 200
    >>> PriorShift().fit([0.2, 0.9] * 10, half).adapt(new_place).target_.round(4)
    array([0.8333, 0.1667])
    """

    fields: ClassVar[dict[str, Field]] = {"source": Vector(0, 1, fewest=2), "target": Vector(0, 1, fewest=2)}

    def __init__(
        self,
        *,
        input: Input = "probabilities",
        target: Shares | None = None,
        source: Shares | None = None,
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.input = input
        self.target = target
        self.source = source
        self.classes = classes

    @property
    def source_(self) -> Float64s:
        return self._shares("source")

    @property
    def target_(self) -> Float64s:
        return self._shares("target")

    def adapt(self, X: Any, sample_weight: Any = None) -> Self:
        """Estimate the target from scores of the new population; no labels are needed.

        The target becomes the shares t that make these scores most likely: the maximum of
        sum_i w_i log(sum_k t_k p_ik / s_k), which is the fixed point of the EM algorithm of Saerens et al. It is found
        by ten EM steps and then Newton's method, until an EM step would move no share by more than 1e-12, or after 200
        steps, with a `LimitWarning`. The share of a class may be 0. Where scores do not distinguish two classes there
        are several maxima, and this is one of them; scores without information leave the shares of the source.

        Parameters
        ----------
        X : array-like of shape (n,), (n, 1) or (n, K)
            Scores on the scale of the fit. They must be calibrated in the source population: recalibrate them first if
            they are not.
        sample_weight : array-like of shape (n,), optional
            Importance weights.

        Returns
        -------
        self
        """
        scores = self._scores_to_map(X)
        weights = np.ones(len(scores)) if sample_weight is None else _check.weights(sample_weight, len(scores))
        if not weights.all():
            rows = np.flatnonzero(weights)
            scores, weights = scores.take(rows), weights[rows]
        source = self.source_
        density = _kernels.softmax(scores.logit_matrix() - np.log(source))
        target, found = _kernels.mixture_shares(density, weights, source)
        if not found:
            warn(
                "the likelihood of the shares is too flat to find its maximum: the last step was used",
                LimitWarning,
            )
        self.maps_ = ({"source": source, "target": target},)
        return self

    def _check_settings(self) -> None:
        super()._check_settings()
        for name in ("source", "target"):
            if getattr(self, name) is not None:
                _checked(getattr(self, name), name)

    def _learn_map(self, logits: Floats, labels: Ints, weights: Float64s | None) -> Map:
        n_classes = logits.shape[1]
        if self.source is None:
            counts = np.bincount(labels, weights, minlength=n_classes)
            if not counts.all():
                raise InputError(
                    f"class {counts.argmin()} does not occur in y, so its share in the source population is unknown: "
                    "pass source=[...], one share per class"
                )
            source = counts / counts.sum()
        else:
            source = _per_class(self.source, n_classes, "source")
        target = source if self.target is None else _per_class(self.target, n_classes, "target")
        return {"source": source, "target": target}

    def _apply_map(self, fitted: Map, logits: Floats) -> Float64s:
        source, target = fitted["source"], fitted["target"]
        here = target > 0
        ratio = np.full(len(target), -np.inf)
        ratio[here] = np.log(target[here]) - np.log(source[here])
        return _kernels.softmax(logits + ratio)

    def _check_map(self, fitted: Map, n_classes: int) -> None:
        for name in ("source", "target"):
            if len(fitted[name]) != n_classes or abs(fitted[name].sum() - 1) > SHARE_SUM_TOLERANCE:
                raise SchemaError(f"the saved {name} must hold {n_classes} shares that sum to 1")
        if not fitted["source"].all():
            raise SchemaError("the saved source must be above 0")

    def _shares(self, name: str) -> Float64s:
        check_is_fitted(self, "maps_")
        (fitted,) = self.maps_
        assert fitted is not None
        return np.array(fitted[name])


def _checked(value: Any, name: str) -> Float64s:
    """Return the shares of two or more classes, given all of them or that of one event."""
    if np.ndim(value) == 0:
        share = _check.number(value, name, 0, 1)
        shares = np.array([1 - share, share])
    else:
        shares = np.array([_check.number(one, name, 0, 1) for one in value])
        if abs(shares.sum() - 1) > SHARE_SUM_TOLERANCE:
            raise InputError(
                "{argument} must be shares that sum to 1, got a sum of {got:.8g}", argument=name, got=shares.sum()
            )
    if name == "source" and not shares.all():
        raise InputError(
            "{argument} must be above 0 for every class, got {got!r}",
            argument="source",
            got=value,
        )
    return np.asarray(shares / shares.sum())


def _per_class(value: Any, n_classes: int, name: str) -> Float64s:
    shares = _checked(value, name)
    if len(shares) != n_classes:
        given = "the share of one event" if np.ndim(value) == 0 else f"{len(shares)}"
        raise InputError(
            "{argument} must be {n_classes} shares, one per class, got {got}",
            argument=name,
            n_classes=n_classes,
            got=given,
        )
    return shares
