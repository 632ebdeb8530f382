"""Ensemble temperature scaling: temperature scaling, mixed with the original and with uniform probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, final

import numpy as np

from believable import _kernels
from believable._types import Float64s, Floats, Ints
from believable.errors import LimitWarning, SchemaError
from believable.recalibrate.base import MatrixRecalibrator
from believable.recalibrate.facts import Field, Map, Number, recalibrator
from believable.recalibrate.inputs import Input, warn
from believable.recalibrate.temperature import SMALLEST_TEMPERATURE, warn_of

FAR_TEMPERATURE = 100.0  # if T is above this, or below its inverse, a second search starts at 1


@final
@recalibrator(
    alias="ensemble_temperature",
    argmax=True,
    ranking="strict",
    identity=True,
    fewest=20,
    simplicity=3,
    reference="Zhang et al. (2020)",
)
class EnsembleTemperature(MatrixRecalibrator):
    """Ensemble temperature scaling: p' = a softmax(z / T) + b softmax(z) + c / K, with a, b, c >= 0 and a + b + c = 1.

    T and the weights minimise the mean of -log p'[label] jointly; in the paper T is that of temperature scaling and
    the weights are fitted afterwards, which is never better. T is searched within a factor 100 of that of temperature
    scaling, and of 1 where that is farther away or a limit. A grid gives the start, because there may be several
    minima. The order of the classes in a row is preserved, and for one event the ranking. Where T has no effect,
    because a = 0, it is set to 1.

    Where the data do not determine the map, a limit is used, with a `LimitWarning`. If no label has a smaller logit
    than another class, or all logits of every row are equal, it is that of temperature scaling, with a = 1. If nothing
    is better than 1/K, it is that of temperature scaling for logits that carry no information, with a = 1, so that the
    order is preserved. If the likelihood still rises at an end of the range of T, that end is used.

    A class that does not occur in y stays in the softmax, and gets at least c / K.

    Parameters
    ----------
    input : {"probabilities", "logits"}
        The scale of X.
    classes : sequence, optional
        The labels in the order of the columns.

    Attributes
    ----------
    temperature_ : float
        The temperature T.
    weights_ : ndarray of shape (3,)
        The weights a, b and c of the scaled, the unscaled and the uniform part.

    References
    ----------
    Zhang, Kailkhura, Han (2020), ICML.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(20000, 3))
    >>> y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    >>> mislabelled = rng.random(20000) < 0.3
    >>> y[mislabelled] = rng.integers(0, 3, mislabelled.sum())
    >>> fitted = EnsembleTemperature(input="logits").fit(3 * z, y)
    >>> round(fitted.temperature_, 1), fitted.weights_.round(1)
    (3.0, array([0.7, 0. , 0.3]))
    """

    fields: ClassVar[dict[str, Field]] = {
        "temperature": Number(low=SMALLEST_TEMPERATURE),
        "scaled": Number(0, 1),
        "unscaled": Number(0, 1),
        "uniform": Number(0, 1),
    }

    def __init__(self, *, input: Input = "probabilities", classes: Sequence[Any] | None = None) -> None:
        self.input = input
        self.classes = classes

    @property
    def temperature_(self) -> Any:
        return self._parameter("temperature")

    @property
    def weights_(self) -> Float64s:
        return np.array([self._parameter(name) for name in ("scaled", "unscaled", "uniform")])

    def _check_map(self, fitted: Map, n_classes: int) -> None:
        if abs(fitted["scaled"] + fitted["unscaled"] + fitted["uniform"] - 1) > 1e-9:
            raise SchemaError("the saved scaled, unscaled and uniform must sum to 1")

    def _learn_map(self, logits: Floats, labels: Ints, weights: Float64s | None) -> Map:
        rows = _kernels.logit_rows(logits, labels, weights)
        alone = _kernels.fit_temperature(rows)
        if alone.limit in ("right", "equal"):
            warn_of(alone)
            return _written(alone.temperature, 1.0, 0.0, 0.0)
        fit = _kernels.fit_ensemble_temperature(rows, 1.0 if alone.limit else 1 / alone.temperature)
        # A few confident and wrong rows may have made the temperature extreme: c / K handles those.
        if not 1 / FAR_TEMPERATURE < alone.temperature < FAR_TEMPERATURE:
            fit = min(fit, _kernels.fit_ensemble_temperature(rows, 1.0), key=lambda one: one.cost)
        scaled, unscaled, uniform = map(float, fit.weights)
        if scaled == unscaled == 0:
            warn_of(alone)
            return _written(alone.temperature, 1.0, 0.0, 0.0)
        if fit.at_end:
            warn(
                f"the likelihood still rises at an end of the range of T, which was used (T = {1 / fit.b:.3g})",
                LimitWarning,
            )
        return _written(1 / fit.b if scaled else 1.0, scaled, unscaled, uniform)

    def _apply_map(self, fitted: Map, logits: Floats) -> Float64s:
        p = _kernels.tempered(logits, fitted["temperature"])
        p *= fitted["scaled"]
        if fitted["unscaled"]:
            for rows in _kernels.row_blocks(*logits.shape):
                p[rows] += fitted["unscaled"] * _kernels.tempered(logits[rows], 1.0)
        p += fitted["uniform"] / logits.shape[1]
        return p


def _written(temperature: float, scaled: float, unscaled: float, uniform: float) -> Map:
    return {"temperature": temperature, "scaled": scaled, "unscaled": unscaled, "uniform": uniform}
