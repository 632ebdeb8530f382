"""Isotonic calibration: the best map that does not decrease."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, final

import numpy as np

from believable import _check, _kernels
from believable._types import Float64s
from believable.errors import InputError, SchemaError
from believable.recalibrate.base import BinaryRecalibrator
from believable.recalibrate.facts import Field, Map, Vector, Word, recalibrator
from believable.recalibrate.inputs import Input, Scores

Between = Literal["linear", "steps"]


@final
@recalibrator(
    alias="isotonic",
    ranking="weak",
    fewest=100,
    simplicity=6,
    cells=True,
    reference="Zadrozny & Elkan (2002)",
)
class IsotonicCalibration(BinaryRecalibrator):
    """Isotonic calibration: the non-decreasing function of the score nearest to the outcomes, in weighted squares.

    At the i-th smallest score it is max over a <= i of min over b >= i of the mean outcome of scores a..b, found by
    pooling adjacent violators. Equal scores are one point; scores that differ, however little, are two (scikit-learn
    merges those within 1e-15). It minimises the log loss too, whatever the scale of the scores, so with logits
    nothing saturates: the map is of the log-odds themselves.

    What is kept: the ranking up to ties, and the mean: on the calibration set the mean of the output is that of the
    outcomes. Fitting it again to its own output changes nothing. Neither holds for `centred`.

    Limits: the lowest scores become exactly 0 when no event happened among them and the highest exactly 1 when all
    did, so one surprise costs an infinite log loss. Scores that rank outcomes the wrong way, and constant ones, get the
    base rate.

    The map is `scores`, increasing, `values` at them, and `between`: only the ends of its flat pieces, hence short.

    Parameters
    ----------
    input : {"probabilities", "logits", "scores"}
        What X holds. Lines are drawn on this scale.
    between : {"linear", "steps"}
        Between calibration scores: the straight line between their values, or the value of the nearest calibration
        score that is not above (so it is continuous from the right). Beyond all of them: the value of the nearest.
    centred : bool
        Centred isotonic regression: every flat piece whose value is not 0 or 1 becomes one point, at its weighted mean
        score, and straight lines join the points. The map then increases strictly from the first point to the last,
        but for pieces at 0 and 1, which stay as long as they are; beyond the first and the last point it is level.
    classes : sequence, optional
        The labels in the order of the columns. K > 2 classes are taken one against the rest, and rows divided by their
        sums.

    References
    ----------
    Zadrozny and Elkan (2002), KDD. Oron and Flournoy (2017), Statistics in Biopharmaceutical Research 9(3), for
    `centred`.

    Examples
    --------
    >>> scores, happened = [0.1, 0.2, 0.3, 0.4, 0.5] * 100, [0, 1, 0, 1, 1] * 100
    >>> IsotonicCalibration().fit(scores, happened).transform([0.0, 0.15, 0.25, 0.35, 0.9])
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    >>> IsotonicCalibration(between="steps").fit(scores, happened).transform([0.0, 0.15, 0.25, 0.35, 0.9])
    array([0. , 0. , 0.5, 0.5, 1. ])
    >>> IsotonicCalibration(centred=True).fit(scores, happened).transform([0.1, 0.2, 0.25, 0.3, 0.4])
    array([0.        , 0.33333333, 0.5       , 0.66666667, 1.        ])
    """

    inputs: ClassVar[tuple[Input, ...]] = ("probabilities", "logits", "scores")
    fields: ClassVar[dict[str, Field]] = {
        "scores": Vector(order=2),
        "values": Vector(0, 1, order=1),
        "between": Word(("linear", "steps")),
    }

    def __init__(
        self,
        *,
        input: Input = "probabilities",
        between: Between = "linear",
        centred: bool = False,
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.input = input
        self.between = between
        self.centred = centred
        self.classes = classes

    def _check_settings(self) -> None:
        super()._check_settings()
        _check.choice(self.between, ("linear", "steps"), "between")
        _check.choice(self.centred, (False, True), "centred")
        if self.centred and self.between == "steps":
            raise InputError(
                "{centred=True} draws lines between the centres: leave {between='linear'}", argument="centred"
            )

    def _learn_map(self, scores: Scores, w: Float64s, wy: Float64s) -> Map:
        pieces = _kernels.flat_pieces(scores.lowest() if self.between == "steps" else scores.raw(), w, wy)
        if self.between == "steps":
            return {"scores": pieces.first, "values": pieces.value, "between": "steps"}
        low, high = pieces.first, pieces.last
        if self.centred:
            sure = (pieces.value == 0) | (pieces.value == 1)
            low, high = np.where(sure, low, pieces.middle), np.where(sure, high, pieces.middle)
        ends, values = np.column_stack([low, high]).ravel(), np.repeat(pieces.value, 2)
        kept = np.append(True, ends[1:] != ends[:-1])
        return {"scores": ends[kept], "values": values[kept], "between": "linear"}

    def _apply_map(self, learnt: Map, scores: Scores) -> Float64s:
        apply = _kernels.lines_between if learnt["between"] == "linear" else _kernels.last_step
        return apply(scores.raw(), learnt["scores"], learnt["values"])

    def _check_map(self, learnt: Map, n_classes: int) -> None:
        if len(learnt["scores"]) != len(learnt["values"]):
            raise SchemaError("the saved scores and values must be as many")
