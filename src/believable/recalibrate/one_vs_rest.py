"""One-vs-rest: one calibration map for each of several classes or labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, cast, final

from believable import _check
from believable._types import Float64s
from believable.errors import InputError
from believable.recalibrate._estimators import clone
from believable.recalibrate.base import BinaryRecalibrator
from believable.recalibrate.facts import Facts, Field, Map, as_method, recalibrator
from believable.recalibrate.inputs import Input, Scores
from believable.recalibrate.platt import PlattScaling


@final
@recalibrator(
    alias="one_vs_rest",
    fewest=20,
    simplicity=2,
    cells=True,
    reference="Zadrozny & Elkan (2002)",
)
class OneVsRest(BinaryRecalibrator):
    """One-vs-rest: one calibration map per class, fitted to the scores and outcomes of that class.

    p'_k = m_k(p_k), and then rows are divided by their sums (a row of zeros becomes 1/K each). Recalibrators of one
    event do this by themselves with K > 2 classes. This class adds two options: to leave rows undivided, and labels
    that do not exclude each other. Neither the ranking nor the most probable class is preserved. With one event it is
    the method itself. A class that does not occur in y is left as it is.

    The logit of a class becomes its log-odds against the rest, z_k - log(sum of exp(z_j), j != k); that of an
    independent label is its log-odds already.

    The number of rows needed, and whether cells are enough, are those of the method.

    Parameters
    ----------
    method : BinaryRecalibrator or str, optional
        What is fitted to each class: a recalibrator of one event, or the name or alias of one with its default
        settings, such as "beta"; by default PlattScaling(). Its own `input` and `classes` are ignored. In JSON, a name
        is replaced by the recalibrator.
    normalise : bool
        Divide rows by their sums. Otherwise rows of K > 2 classes need not sum to one.
    multilabel : bool
        Labels do not exclude each other: X has one column per label, two or more, whose rows need not sum to one. y is
        a matrix (n, K) of zeros and ones. Rows are never divided, and `predict` returns a matrix that is 1 where
        p' > 1/2. A label that is in all rows, or in none, is left as it is.
    input : {"probabilities", "logits", "scores"}
        The scale of X; the method must support it.
    classes : sequence, optional
        The labels in the order of the columns.

    References
    ----------
    Zadrozny & Elkan (2002), Transforming classifier scores into accurate multiclass probability estimates, KDD.

    Examples
    --------
    Photographs may show a cat, a dog, or both:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random((5000, 2))
    >>> shows = rng.random((5000, 2)) < p ** [1, 2]
    >>> model = OneVsRest(multilabel=True, classes=["cat", "dog"]).fit(p, shows)
    >>> model.transform([[0.5, 0.5]]).round(1)
    array([[0.5, 0.2]])
    """

    inputs: ClassVar[tuple[Input, ...]] = ("probabilities", "logits", "scores")

    def __init__(
        self,
        method: BinaryRecalibrator | str | None = None,
        *,
        normalise: bool = True,
        multilabel: bool = False,
        input: Input = "probabilities",
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.method = method
        self.normalise = normalise
        self.multilabel = multilabel
        self.input = input
        self.classes = classes

    def _check_settings(self) -> None:
        super()._check_settings()
        _check.flag(self.normalise, "normalise")
        _check.flag(self.multilabel, "multilabel")
        method = self._method()
        is_of_one_event = isinstance(method, BinaryRecalibrator) and method.multi_class == "ovr"
        if not is_of_one_event or isinstance(method, OneVsRest):
            raise InputError(
                "{argument} must be a recalibrator of one event, such as PlattScaling(), got {got!r}",
                argument="method",
                got=self.method,
            )
        self._for_one()._check_settings()

    def _facts(self) -> Facts:
        facts = self._method().facts
        return replace(facts, alias=self.facts.alias, argmax=False, ranking="none", identity=False)

    def _fields(self) -> dict[str, Field]:
        return self._method()._fields()

    def _check_map(self, fitted: Map, n_classes: int) -> None:
        self._method()._check_map(fitted, 2)

    def _learn_map(self, scores: Scores, w: Float64s, wy: Float64s) -> Map:
        return self._for_one()._learn_map(scores, w, wy)

    def _apply_map(self, fitted: Map, scores: Scores) -> Float64s:
        return self._method()._apply_map(fitted, scores)

    def _apply_opposite(self, fitted: Map, scores: Scores) -> Float64s:
        return self._method()._apply_opposite(fitted, scores)

    def _method(self) -> BinaryRecalibrator:
        if self.method is None:
            return PlattScaling()
        return cast(BinaryRecalibrator, as_method(self.method))  # which `_check_settings` has checked

    def _for_one(self) -> BinaryRecalibrator:
        """Return the method, set up to be fitted to one class."""
        method: BinaryRecalibrator = clone(self._method()).set_params(input=self.input, classes=None)
        return method

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = tags.target_tags.multi_output = self.multilabel
        return tags
