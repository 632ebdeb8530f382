"""Logit-spline calibration: a smooth rising function of the logit, shrunk to the identity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, final

import numpy as np

from believable import _check, _kernels
from believable._types import Float64s
from believable.errors import SchemaError
from believable.recalibrate.base import BinaryRecalibrator
from believable.recalibrate.facts import Field, Map, Number, Vector, recalibrator
from believable.recalibrate.inputs import Input, MixedPoints, Scores
from believable.recalibrate.quadratic import MOST_POINTS, SMALLEST_PENALTY, STRENGTH

Smoothing = float | Literal["auto"]
SMOOTHINGS = (1000.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1)
MOST_KNOTS = 50
RISE_ROUNDING = 1e-6  # a difference between values and slopes as small as this is rounding
FLATTEST = 1e-9  # a gain in cross-validation below this share counts as none


@final
@recalibrator(
    alias="logit_spline",
    ranking="weak",
    fewest=20,
    simplicity=5,
    cells=True,
    reads_logits=True,
    reference="Lucena (2018)",
)
class LogitSplineCalibration(BinaryRecalibrator):
    """Logit-spline calibration: p' = sigmoid(f(z)), with f a smooth spline that never decreases, shrunk to f(z) = z.

    z is the logit of p mixed with 1/2, as for `QuadraticScaling`: of (1 - e) p + e / 2, with e = 1 / (n + 1) and n the
    number of rows, or the sum of their weights w if that is larger. The slope of f is linear between `n_knots` equally
    spaced knots t_1 to t_k, which span the z fitted, and constant beyond, so f is a quadratic spline that continues
    linearly. With R = t_k - t_1, f(0) and the slopes f'(t_j) >= 0 minimise

        sum_i w_i (-log p'_i[label])
            + 2 penalty (f(0)^2 + 2 / k sum_j (f'(t_j) - 1)^2) + smoothing R * integral of f''(z)^2 dz.

    The slopes at the knots are not negative, so f never decreases: the ranking is preserved up to ties. p' is neither 0
    nor 1 unless f(z) is beyond -36 or 36, where floats end. With two knots and no smoothing this is `QuadraticScaling`.

    The penalty keeps f close to the identity when rows are few, and fades as they are added. The smoothing is chosen
    from 0.1, 0.3, 1, 3, 10, 30, 100 and 1,000: it is the one with the least log loss by leave-one-out cross-validation.
    This takes a single fit each, because to first order leaving out a row moves its linear predictor by
    (p' - y) h / (1 - p' (1 - p') h), with h its leverage.

    Penalty, smoothing and knots were chosen on predictions of everyday models for public tables. Where a model has many
    scores within 1 / n of 0 and 1, and these are often wrong, as with naive Bayes, `VennAbers` does better: it
    distinguishes these scores.

    K > 2 classes are recalibrated one against the rest. Multiplying all weights by a number changes the map.
    More than 2,000 distinct scores are merged into about as many cells of neighbours, each at its mean, which moves the
    map by less than a hundredth of its standard error. If all z are within 1 of each other, the knots span 1 about
    their middle.

    Parameters
    ----------
    input : {"probabilities", "logits"}
        The scale of X.
    n_knots : int
        The number of knots, from 2 to 50.
    smoothing : float or "auto"
        The strength of the penalty on changes of the slope.
    penalty : float
        The strength of the shrinkage to the identity, relative to the formula above; at least 1e-6.
    classes : sequence, optional
        The labels in the order of the columns.

    References
    ----------
    Lucena (2018), Spline-based probability calibration, arXiv:1809.07751, for a smoothing spline of the logit;
    Ramsay (1988), Monotone regression splines in action, Statistical Science, for splines that rise.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=5000) * 2
    >>> y = rng.random(5000) < 1 / (1 + np.exp(-2 * np.tanh(z)))
    >>> model = LogitSplineCalibration(input="logits").fit(z, y)
    >>> model.transform([-4, -1, 0, 1, 4]).round(1)
    array([0.1, 0.2, 0.5, 0.8, 0.9])
    """

    fields: ClassVar[dict[str, Field]] = {
        "mixing": Number(0, 1),
        "knots": Vector(-1e100, 1e100, order=2, fewest=2),
        "values": Vector(-1e100, 1e100, order=1, fewest=2),
        "slopes": Vector(0, 1e100, fewest=2),
    }

    def __init__(
        self,
        *,
        input: Input = "probabilities",
        n_knots: int = 16,
        smoothing: Smoothing = "auto",
        penalty: float = 1.0,
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.input = input
        self.n_knots = n_knots
        self.smoothing = smoothing
        self.penalty = penalty
        self.classes = classes

    def _check_settings(self) -> None:
        super()._check_settings()
        _check.positive_integer(self.n_knots, "n_knots", 2, MOST_KNOTS)
        _check.number(self.penalty, "penalty", SMALLEST_PENALTY)
        if not (isinstance(self.smoothing, str) and self.smoothing == "auto"):
            _check.number(self.smoothing, "smoothing, unless it is 'auto',", 0)

    def _check_map(self, fitted: Map, n_classes: int) -> None:
        if not len(fitted["knots"]) == len(fitted["values"]) == len(fitted["slopes"]):
            raise SchemaError("the saved knots, values and slopes must have the same length")
        knots, values, slopes = fitted["knots"], fitted["values"], fitted["slopes"]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            rises = np.diff(knots) * (slopes[1:] + slopes[:-1]) / 2
            bends = np.diff(slopes) / np.diff(knots)
            fits = np.abs(np.diff(values) - rises) <= RISE_ROUNDING * (1 + np.abs(values).max())
        if not (fits.all() and np.isfinite(bends).all()):
            raise SchemaError("the saved values must rise from knot to knot as the slopes say")

    def _learn_map(self, scores: Scores, w: Float64s, wy: Float64s) -> Map:
        points = MixedPoints.of(scores, w, wy, MOST_POINTS)
        knots = np.linspace(points.low, points.high, self.n_knots)
        fit = self._fit_smooth(points, knots)
        first = fit.intercept + float(fit.slopes @ _kernels.slope_columns(knots[:1], knots)[:, 0])
        rises = np.diff(knots) * (fit.slopes[1:] + fit.slopes[:-1]) / 2
        values = first + np.append(0, np.cumsum(rises))
        return {"mixing": points.mixing, "knots": knots, "values": values, "slopes": fit.slopes}

    def _fit_smooth(self, points: MixedPoints, knots: Float64s) -> _kernels.RisingFit:
        """Return the fit of the smoothing asked for, or of the one that predicts left-out rows best."""
        columns = _kernels.slope_columns(points.z, knots)
        tried = SMOOTHINGS if self.smoothing == "auto" else (float(self.smoothing),)
        fits = [_kernels.fit_rising(columns, points.w, points.wy, self._ridge(one)) for one in tried]
        least = min(fit.held_out for fit in fits) * (1 + FLATTEST)
        return next(fit for fit in fits if fit.held_out <= least)

    def _ridge(self, smoothing: float) -> Float64s:
        """Return the penalty as a quadratic form of the slopes and f(0).

        The slope is linear between equally spaced knots, so R times the integral of f''^2 is (k - 1) times the sum of
        the squared differences of slopes.
        """
        k = self.n_knots
        ridge = STRENGTH * self.penalty * np.diag(np.append(np.full(k, 2 / k), 1.0))
        steps = np.diff(np.eye(k), axis=0)
        ridge[:k, :k] += smoothing * (k - 1) * steps.T @ steps
        return ridge

    def _apply_map(self, fitted: Map, scores: Scores) -> Float64s:
        return _kernels.sigmoid(_predictor(fitted, scores))

    def _apply_opposite(self, fitted: Map, scores: Scores) -> Float64s:
        return _kernels.sigmoid(-_predictor(fitted, scores))


def _predictor(fitted: Map, scores: Scores) -> Float64s:
    """Return f: a parabola from each knot to the next, and a line before the first and after the last."""
    knots, slopes = fitted["knots"], fitted["slopes"]
    bends = np.concatenate([[0], np.diff(slopes) / np.diff(knots) / 2, [0]])
    z = scores.mixed_logit(fitted["mixing"])
    passed = np.searchsorted(knots, z, side="right")
    last = np.maximum(passed - 1, 0)
    beyond = z - knots[last]
    return np.asarray(fitted["values"][last] + (slopes[last] + bends[passed] * beyond) * beyond)
