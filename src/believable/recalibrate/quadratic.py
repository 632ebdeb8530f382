"""Quadratic scaling: a parabola of the logit, shrunk to the identity and kept from turning round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, final

import numpy as np

from believable import _check, _kernels
from believable._types import Float64s
from believable.errors import SchemaError
from believable.recalibrate.base import BinaryRecalibrator
from believable.recalibrate.facts import Field, Map, Number, recalibrator
from believable.recalibrate.inputs import Input, MixedPoints, Scores

MOST_POINTS = 2000
SMALLEST_PENALTY = 1e-6  # with less, rows that a threshold separates would have no best map in floats
STRENGTH = 2.0  # of each square: the parameters have normal priors with a standard deviation of 1/2
COEFFICIENTS = Number(-1e100, 1e100)  # so that no product overflows
SLOPE_ROUNDING = 1e-6  # a slope as little below 0 as this is rounding


@final
@recalibrator(
    alias="quadratic",
    ranking="weak",
    fewest=10,
    simplicity=3,
    cells=True,
    reads_logits=True,
    reference="Berta, Holzmüller, Jordan, Bach (2025)",
)
class QuadraticScaling(BinaryRecalibrator):
    """Quadratic scaling: p' = sigmoid(f(z)), with f(z) = a + b z + c z^2, shrunk to the identity and never decreasing.

    z is the logit of (1 - e) p + e / 2, with e = 1 / (n + 1) and n the number of rows, or the sum of their weights w if
    that is larger. So scores of 0 and 1 have finite logits, and no map is fitted to odds above 2 n + 1, which n rows
    cannot confirm. Between `low` and `high`, the lowest and the highest z fitted, f is the parabola; beyond, it
    continues along its tangents, because a parabola would turn round somewhere. f has three parameters: f(0), and the
    slopes at the two ends, f'(low) = b + 2 c low and f'(high) = b + 2 c high. They minimise

        sum_i w_i (-log p'_i[label]) + 2 penalty (f(0)^2 + (f'(low) - 1)^2 + (f'(high) - 1)^2)

    subject to f'(low) >= 0 and f'(high) >= 0. Since the slope of a parabola is linear, p' then never decreases: the
    ranking is preserved up to ties. With enough rows in which higher scores go with fewer events, f is constant.

    a < 0 means that scores were too high, b < 1 that they were too extreme, and c != 0 that they were more so at one
    end. The penalty is a normal prior of standard deviation 1/2 around f(z) = z for each parameter. It does not grow
    with the rows, so it fades: few rows leave the scores nearly as they are, many determine f freely. The minimum
    exists for any data, also where a threshold separates the classes.

    The penalty was chosen on predictions of everyday models for public tables, and its exact size matters little.

    K > 2 classes are recalibrated one against the rest. Multiplying all weights by a number changes the map.
    More than 2,000 distinct scores are merged into about as many cells of neighbours, each at its mean, which moves the
    map by less than a hundredth of its standard error. If all z are within 1 of each other, `low` and `high` are 1/2
    from their middle.

    Parameters
    ----------
    input : {"probabilities", "logits"}
        The scale of X.
    penalty : float
        The strength, relative to the formula above; at least 1e-6.
    classes : sequence, optional
        The labels in the order of the columns.

    Attributes
    ----------
    a_, b_, c_ : float, or ndarray of shape (K,) for K > 2
        The coefficients of the parabola; NaN for a class that was left as it is.

    References
    ----------
    Berta, Holzmüller, Jordan, Bach (2025), Structured matrix scaling for multi-class calibration, arXiv:2511.03685,
    without the penalty and the constraint.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = 2 * rng.normal(size=5000)
    >>> y = rng.random(5000) < 1 / (1 + np.exp(-z / 2 - z**2 / 50))
    >>> model = QuadraticScaling(input="logits").fit(z, y)
    >>> round(model.b_, 1), round(model.c_, 2)
    (0.5, 0.02)
    >>> bool((np.diff(model.transform(np.linspace(-9, 9, 99))) >= 0).all())
    True
    """

    fields: ClassVar[dict[str, Field]] = {
        "mixing": Number(0, 1),
        "low": COEFFICIENTS,
        "high": COEFFICIENTS,
        "a": COEFFICIENTS,
        "b": COEFFICIENTS,
        "c": COEFFICIENTS,
    }

    def __init__(
        self,
        *,
        input: Input = "probabilities",
        penalty: float = 1.0,
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.input = input
        self.penalty = penalty
        self.classes = classes

    @property
    def a_(self) -> Any:
        return self._parameter("a")

    @property
    def b_(self) -> Any:
        return self._parameter("b")

    @property
    def c_(self) -> Any:
        return self._parameter("c")

    def _check_settings(self) -> None:
        super()._check_settings()
        _check.number(self.penalty, "penalty", SMALLEST_PENALTY)

    def _check_map(self, fitted: Map, n_classes: int) -> None:
        if fitted["low"] > fitted["high"]:
            raise SchemaError("the saved low must not exceed high")
        with np.errstate(over="ignore"):
            slopes = fitted["b"] + 2 * fitted["c"] * np.array([fitted["low"], fitted["high"]])
        if not (slopes >= -SLOPE_ROUNDING * (1 + abs(fitted["b"]))).all():
            raise SchemaError("the saved b and c must not let the map decrease between low and high")

    def _learn_map(self, scores: Scores, w: Float64s, wy: Float64s) -> Map:
        points = MixedPoints.of(scores, w, wy, MOST_POINTS)
        ends = np.array([points.low, points.high])
        columns = _kernels.slope_columns(points.z, ends)
        fit = _kernels.fit_rising(columns, points.w, points.wy, STRENGTH * self.penalty * np.eye(3))
        return {"mixing": points.mixing, "low": points.low, "high": points.high} | _parabola(ends, fit)

    def _apply_map(self, fitted: Map, scores: Scores) -> Float64s:
        return _kernels.sigmoid(_predictor(fitted, scores))

    def _apply_opposite(self, fitted: Map, scores: Scores) -> Float64s:
        return _kernels.sigmoid(-_predictor(fitted, scores))


def _parabola(ends: Float64s, fit: _kernels.RisingFit) -> Map:
    """Return the coefficients of the parabola between the ends, from f(0) and its slopes there."""
    (low, high), (first, last) = ends.tolist(), fit.slopes.tolist()
    c = (last - first) / (high - low) / 2
    b = first - 2 * c * low
    value = fit.intercept + float(fit.slopes @ _kernels.slope_columns(ends[:1], ends)[:, 0])
    return {"a": value - b * low - c * low**2, "b": b, "c": c}


def _predictor(fitted: Map, scores: Scores) -> Float64s:
    z = scores.mixed_logit(fitted["mixing"])
    inside = np.clip(z, fitted["low"], fitted["high"])
    a, b, c = fitted["a"], fitted["b"], fitted["c"]
    return np.asarray(a + (b + c * inside) * inside + (b + 2 * c * inside) * (z - inside))
