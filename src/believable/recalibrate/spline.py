"""Spline calibration: the slope of a smooth curve through the cumulative differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, final

import numpy as np

from believable import _check, _kernels
from believable._types import Float64s
from believable.errors import SchemaError
from believable.recalibrate.base import BinaryRecalibrator
from believable.recalibrate.facts import Field, Map, Vector, recalibrator
from believable.recalibrate.inputs import Input, Scores, points_of

MOST_POINTS = 2000
MOST_KNOTS = 100


@final
@recalibrator(
    alias="spline",
    ranking="none",
    identity=True,
    fewest=50,
    simplicity=6,
    cells=True,
    reference="Gupta et al. (2021)",
)
class SplineCalibration(BinaryRecalibrator):
    """Spline calibration: p' is p plus the slope at p of a natural cubic spline through the cumulative difference.

    With rows in the order of their scores, u in [0, 1] the share of the weight passed, C(u) is the cumulative sum of
    w (y - p) / W: its slope is the observed rate minus the prediction there. g is the natural cubic spline with
    `n_knots` equally spaced knots in u that is closest to C in least squares. A score moves by the slope of g at its
    position u among the scores fitted, and the result is clipped to [0, 1].

    Conventions. Squares are integrated over u along the piecewise linear C, which is straight over equal scores, so the
    order of ties does not matter and any number of scores determines g. (The authors sum over the n rows, which is the
    same up to 1/n, and interpolate with the two weights swapped, which is not done here.) A score moves by the mean
    slope of g over its share of u. Between scores the shift is linear, and outside their range it is that of the
    nearest. The authors recalibrate the most probable class alone; here K > 2 classes are recalibrated one against the
    rest.

    More than 2,000 distinct scores are merged into about as many cells of neighbours, half of them of equal width and
    half of equal weight, each at its mean. This moves the map by about a hundredth of its standard error.
    `fit_from_cells` agrees with the rows to 1e-3 where scores are spread over (0, 1), and to 1e-4 where they are around
    0.002, from uniform or logit-spaced cells.

    Neither the ranking nor the argmax is preserved. If all scores are equal, they become the base rate. Scores whose
    cumulative difference is zero throughout are left as they are.

    Parameters
    ----------
    input : {"probabilities", "logits"}
        The scale of X.
    n_knots : int
        The number of knots, from 3 to 100.
    classes : sequence, optional
        The labels in the order of the columns.

    References
    ----------
    Gupta, Rahimi, Ajanthan, Mensink, Sminchisescu, Hartley (2021), Calibration of neural networks using splines, ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> y = rng.random(5000) < p**2
    >>> SplineCalibration().fit(p, y).transform([0.3, 0.6, 0.9]).round(2)
    array([0.08, 0.38, 0.8 ])
    """

    fields: ClassVar[dict[str, Field]] = {"scores": Vector(0, 1, order=2), "shifts": Vector(-1, 1)}

    def __init__(
        self,
        *,
        input: Input = "probabilities",
        n_knots: int = 6,
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.input = input
        self.n_knots = n_knots
        self.classes = classes

    def _check_settings(self) -> None:
        super()._check_settings()
        _check.positive_integer(self.n_knots, "n_knots", 3, MOST_KNOTS)

    def _check_map(self, fitted: Map, n_classes: int) -> None:
        if len(fitted["scores"]) != len(fitted["shifts"]):
            raise SchemaError("the saved scores and shifts must have the same length")

    def _learn_map(self, scores: Scores, w: Float64s, wy: Float64s) -> Map:
        points, _ = points_of(scores.probability(), w, wy).merged(MOST_POINTS)
        shifts = _kernels.spline_slopes(points.w / points.total, points.rate - points.score, self.n_knots)
        apart = np.append(
            True, np.diff(np.maximum.accumulate(points.score)) > 0
        )  # the means of two cells may round to the same number
        return {"scores": points.score[apart], "shifts": np.clip(shifts[apart], -1, 1)}

    def _apply_map(self, fitted: Map, scores: Scores) -> Float64s:
        p = scores.probability()
        return np.clip(p + np.interp(p, fitted["scores"], fitted["shifts"]), 0, 1)
