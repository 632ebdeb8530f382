"""Isotonic calibration: the best non-decreasing calibration map."""

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
    """Isotonic calibration: the non-decreasing function of the score that fits the outcomes best in least squares.

    At the i-th smallest score it is max over a <= i of min over b >= i of the weighted mean outcome of scores a..b,
    found by pooling adjacent violators. Equal scores are one point; scores that differ, however little, are two
    (scikit-learn merges those within 1e-15). It also minimises the log loss. Logits are used directly, so large
    ones do not saturate.

    The ranking is preserved up to ties, and on the calibration set the mean prediction is the observed rate. Fitting it
    again to its own output changes nothing. With `centred` only the ranking is preserved.

    Limits: the lowest scores become exactly 0 if the event never occurred among them, and the highest exactly 1 if it
    always did, so one exception makes the log loss infinite. Scores that rank outcomes the wrong way round, or that are
    all equal, become the base rate.

    The calibration map is `scores`, increasing, the `values` at them, and `between`. It keeps only the ends of flat
    pieces, so it is short.

    Parameters
    ----------
    input : {"probabilities", "logits", "scores"}
        The scale of X. Interpolation is on this scale.
    between : {"linear", "steps"}
        Between calibration scores, interpolate linearly, or use the value of the nearest calibration score that is not
        above (a step function, continuous from the right). Beyond all of them, use the value of the nearest.
    centred : bool
        Centred isotonic regression: every flat piece whose value is not 0 or 1 becomes one point, at its weighted mean
        score, and straight lines join the points. The map then increases strictly from the first point to the last,
        except on pieces at 0 and 1, which stay; it is constant beyond the first and the last point.
    classes : sequence, optional
        The labels in the order of the columns. K > 2 classes are recalibrated one against the rest, and rows are then
        divided by their sums.

    References
    ----------
    Zadrozny and Elkan (2002), KDD. Oron and Flournoy (2017), Statistics in Biopharmaceutical Research 9(3), for
    `centred`.

    Examples
    --------
    >>> scores, outcomes = [0.1, 0.2, 0.3, 0.4, 0.5] * 100, [0, 1, 0, 1, 1] * 100
    >>> IsotonicCalibration().fit(scores, outcomes).transform([0.0, 0.15, 0.25, 0.35, 0.9])
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    >>> IsotonicCalibration(between="steps").fit(scores, outcomes).transform([0.0, 0.15, 0.25, 0.35, 0.9])
    array([0. , 0. , 0.5, 0.5, 1. ])
    >>> IsotonicCalibration(centred=True).fit(scores, outcomes).transform([0.1, 0.2, 0.25, 0.3, 0.4])
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
        _check.flag(self.centred, "centred")
        if self.centred and self.between == "steps":
            raise InputError(
                "{centred=True} joins points with lines: use it with {between='linear'}", argument="centred"
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

    def _apply_map(self, fitted: Map, scores: Scores) -> Float64s:
        apply = _kernels.lines_between if fitted["between"] == "linear" else _kernels.last_step
        return apply(scores.raw(), fitted["scores"], fitted["values"])

    def _check_map(self, fitted: Map, n_classes: int) -> None:
        if len(fitted["scores"]) != len(fitted["values"]):
            raise SchemaError("the saved scores and values must have the same length")
