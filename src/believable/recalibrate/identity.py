"""No recalibration: the baseline that the other methods have to beat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, final

from believable._types import Float64s
from believable.recalibrate.base import BinaryRecalibrator
from believable.recalibrate.facts import Field, Map, recalibrator
from believable.recalibrate.inputs import Input, Scores


@final
@recalibrator(
    alias="identity",
    argmax=True,
    ranking="strict",
    identity=True,
    fewest=1,
    simplicity=0,
    cells=True,
    reference="—",
)
class Identity(BinaryRecalibrator):
    """Identity: the scores stay unchanged. `calibrate` returns it when no recalibrator helps.

    Probabilities stay as they are; logits become probabilities by the sigmoid or softmax. Rows of K > 2 columns that do
    not quite sum to one are divided by their sums; of two columns the second is used.

    Parameters
    ----------
    input : {"probabilities", "logits"}
        The scale of X.
    classes : sequence, optional
        The labels in the order of the columns.

    References
    ----------
    None: it is the baseline.

    Examples
    --------
    >>> Identity().fit([0.2, 0.7], [0, 1]).transform([0.1, 0.6])
    array([0.1, 0.6])
    """

    fields: ClassVar[dict[str, Field]] = {}

    def __init__(self, *, input: Input = "probabilities", classes: Sequence[Any] | None = None) -> None:
        self.input = input
        self.classes = classes

    def _learn_map(self, scores: Scores, w: Float64s, wy: Float64s) -> Map:
        return {}

    def _apply_map(self, fitted: Map, scores: Scores) -> Float64s:
        return scores.probability()

    def _apply_opposite(self, fitted: Map, scores: Scores) -> Float64s:
        return Scores(-scores.values, "logits").probability() if scores.input == "logits" else 1 - scores.probability()
