"""Temperature scaling: all logits divided by one number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, final

import numpy as np

from believable import _check, _kernels
from believable._kernels import LogitRows, TemperatureFit
from believable._types import Float64s, Floats, Ints
from believable.errors import LimitWarning
from believable.metrics.expected_calibration_error import expected_calibration_error
from believable.recalibrate.base import MatrixRecalibrator
from believable.recalibrate.facts import Field, Map, Number, recalibrator
from believable.recalibrate.inputs import Input, warn

Objective = Literal["nll", "ece"]

N_ECE_BINS = 15
WIDEST_ECE_FACTOR, N_ECE_PLACES, N_ECE_REFINEMENTS = 4.0, 41, 2  # the search for the least calibration error
SMALLEST_TEMPERATURE = float(np.finfo(np.float64).tiny)


@final
@recalibrator(
    alias="temperature",
    argmax=True,
    ranking="strict",
    identity=True,
    fewest=5,
    simplicity=1,
    cells=True,
    reads_logits=True,
    reference="Guo et al. (2017)",
)
class TemperatureScaling(MatrixRecalibrator):
    """Temperature scaling: p' = softmax(z / T), with z the logits, or log p, and T > 0.

    T minimises the mean of -log p'[label], which is convex in 1/T, to a relative precision of 1e-8. T > 1 means that
    the probabilities were too extreme. The order of the classes in a row is preserved, and for one event the ranking of
    the rows. A constant added to all logits of a row changes nothing; logits times c give T times c.

    Where the data do not determine T, a limit is used, with a `LimitWarning`:

    - no label has a smaller logit than another class, so the smaller T the better: T is where the mean of
      -log p'[label] is 1e-6 above its infimum;
    - the likelihood rises with T (the logits do not distinguish the classes, or rank them wrongly): T is 1e6 times the
      largest difference within a row, and p' is nearly uniform;
    - all logits of every row are equal: T = 1.

    For one event, `fit_from_cells` agrees with the rows to a relative 1e-5; several classes need the rows.

    A class that does not occur in y stays in the softmax. T lies between 1e-306 and 1e306, whatever the logits.

    Parameters
    ----------
    input : {"probabilities", "logits"}
        The scale of X.
    objective : {"nll", "ece"}
        "ece" minimises the expected calibration error in 15 uniform bins instead: of the event's probability, or for
        K > 2 of the confidence. It is searched from T/4 to 4T around the T above, at 41 points in equal ratios, and
        twice more at 41 points between the neighbours of the best. This error is noisy in T and has many minima: a
        slightly different sample can give a very different T, which is rarely better on new data. Where T above is a
        limit, so is this one.
    classes : sequence, optional
        The labels in the order of the columns.

    Attributes
    ----------
    temperature_ : float
        The temperature T.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger (2017), ICML.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(5000, 3))
    >>> y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    >>> over_confident = TemperatureScaling(input="logits").fit(2 * z, y)
    >>> round(over_confident.temperature_, 1)
    2.0
    """

    fields: ClassVar[dict[str, Field]] = {"temperature": Number(low=SMALLEST_TEMPERATURE)}

    def __init__(
        self,
        *,
        input: Input = "probabilities",
        objective: Objective = "nll",
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.input = input
        self.objective = objective
        self.classes = classes

    @property
    def temperature_(self) -> Any:
        return self._parameter("temperature")

    def _check_settings(self) -> None:
        super()._check_settings()
        _check.choice(self.objective, ("nll", "ece"), "objective")

    def _learn_map(self, logits: Floats, labels: Ints, weights: Float64s | None) -> Map:
        rows = _kernels.logit_rows(logits, labels, weights)
        fit = _kernels.fit_temperature(rows)
        if fit.limit:
            warn_of(fit)
        elif self.objective == "ece":
            return {"temperature": _least_error(rows, labels, fit.temperature)}
        return {"temperature": fit.temperature}

    def _apply_map(self, fitted: Map, logits: Floats) -> Float64s:
        return _kernels.tempered(logits, fitted["temperature"])


def warn_of(fit: TemperatureFit) -> None:
    """Warn which limit was used."""
    what = {
        "right": "the logits are right in every row, so the likelihood rises as T falls to 0: T was set",
        "useless": "the logits do not distinguish the classes, so the likelihood rises with T: T was set",
        "equal": "the logits of every row are equal, so they say nothing about T: it was set",
    }
    how = {
        "right": "where the mean log loss is 1e-6 above its infimum",
        "useless": "to 1e6 times the largest difference within a row",
        "equal": "to 1",
    }
    warn(f"{what[fit.limit]} {how[fit.limit]} (T = {fit.temperature:.3g})", LimitWarning)


def _least_error(rows: LogitRows, labels: Ints, temperature: float) -> float:
    """Return the temperature with the lowest expected calibration error among those tried."""
    binary = rows.logits.shape[1] == 2
    column = rows.logits.argmax(axis=1)
    outcome = labels == 1 if binary else labels == column

    def error(place: float) -> float:
        p = _kernels.top_probability(rows, float(np.exp(-place)))
        score = np.where(column == 1, p, 1 - p) if binary else p
        return expected_calibration_error(score, outcome, N_ECE_BINS, sample_weight=rows.weights)

    best, reach = float(np.log(temperature)), float(np.log(WIDEST_ECE_FACTOR))
    for _ in range(1 + N_ECE_REFINEMENTS):
        places = best + np.linspace(-reach, reach, N_ECE_PLACES)
        best = float(places[np.argmin([error(place) for place in places])])
        reach /= (N_ECE_PLACES - 1) / 2
    return float(np.exp(best))
