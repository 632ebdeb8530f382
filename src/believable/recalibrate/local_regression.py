"""Local regression: the smoothed calibration curve as the calibration map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, final

import numpy as np

from believable._types import Float64s
from believable.curves.smoothed import Degree, Smoother
from believable.errors import SchemaError
from believable.recalibrate.base import BinaryRecalibrator
from believable.recalibrate.facts import Field, Map, Vector, recalibrator
from believable.recalibrate.inputs import Input, Scores, points_of


@final
@recalibrator(
    alias="local",
    ranking="none",
    fewest=50,
    simplicity=7,
    cells=True,
    reference="Cleveland (1979)",
)
class LocalRegressionCalibration(BinaryRecalibrator):
    """Local regression: p' is the smoothed calibration curve (loess) at p.

    At a score x a polynomial is fitted to the outcomes by least squares with weights `w_i (1 - |u_i|^3)^3`,
    u_i = (p_i - x) / h, and read off at x, within [0, 1]; h is the distance to the last of the nearest neighbours that
    together hold `span` of the weight, or `bandwidth`. See `smoothed_calibration_curve` for windows with too few
    neighbours; its default is a parabola, here it is a line.

    The curve is computed at the scores it was fitted on, with straight lines between them, constant outside. With more
    than 2,000 distinct scores (and more than 750 per window), 2,000 knots are used, half of them at equal distances and
    half at equal weights, and in a window of more than about 4,000, neighbours are merged. This moves the map by about
    a hundredth of its standard error. `fit_from_cells` agrees with the rows to 1e-4, from uniform or logit-spaced
    cells.

    Neither the ranking nor the argmax is preserved, because the curve may decrease. If all scores are equal, they
    become the base rate. K > 2 classes are recalibrated one against the rest.

    Parameters
    ----------
    input : {"probabilities", "logits"}
        The scale of X; the curve is fitted to probabilities in both cases.
    span : float
        The share of the weight in each window, from 0 to 1.
    bandwidth : float, optional
        The half-width of the windows; replaces `span`.
    degree : {0, 1, 2}
        Local mean, line or parabola.
    classes : sequence, optional
        The labels in the order of the columns.

    References
    ----------
    Cleveland (1979), Journal of the American Statistical Association; Austin, Steyerberg (2014), Statistics in
    Medicine.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> y = rng.random(5000) < p**2
    >>> LocalRegressionCalibration(span=0.3).fit(p, y).transform([0.3, 0.6, 0.9]).round(2)
    array([0.09, 0.39, 0.81])
    """

    fields: ClassVar[dict[str, Field]] = {"scores": Vector(0, 1, order=2), "values": Vector(0, 1)}

    def __init__(
        self,
        *,
        input: Input = "probabilities",
        span: float = 0.75,
        bandwidth: float | None = None,
        degree: Degree = 1,
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.input = input
        self.span = span
        self.bandwidth = bandwidth
        self.degree = degree
        self.classes = classes

    def _check_settings(self) -> None:
        super()._check_settings()
        Smoother.of(self.span, self.bandwidth, self.degree)

    def _check_map(self, fitted: Map, n_classes: int) -> None:
        if len(fitted["scores"]) != len(fitted["values"]):
            raise SchemaError("the saved scores and values must have the same length")

    def _learn_map(self, scores: Scores, w: Float64s, wy: Float64s) -> Map:
        smoother = Smoother.of(self.span, self.bandwidth, self.degree)
        points = points_of(scores.probability(), w, wy)
        knots = smoother.knots(points)
        return {"scores": knots, "values": smoother.rates(points, knots)}

    def _apply_map(self, fitted: Map, scores: Scores) -> Float64s:
        return np.interp(scores.probability(), fitted["scores"], fitted["values"])
