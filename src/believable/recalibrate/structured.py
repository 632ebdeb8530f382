"""Structured scaling: a linear function of all log-probabilities, shrunk towards temperature scaling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, final

import numpy as np

from believable import _check, _kernels
from believable._types import Float64s, Floats, Ints
from believable.errors import LimitWarning
from believable.recalibrate._estimators import check_is_fitted
from believable.recalibrate.base import MatrixRecalibrator
from believable.recalibrate.facts import Field, Map, Matrix, Number, Vector, recalibrator
from believable.recalibrate.inputs import Input, mixing_of, warn
from believable.recalibrate.linear import (
    COEFFICIENT_RANGE,
    LOWEST_LOG_PROBABILITY,
    best_coefficients,
    check_shapes,
    log_probabilities,
    side_by_side,
)
from believable.recalibrate.temperature import SMALLEST_TEMPERATURE

Structure = Literal["matrix", "vector"]


@final
@recalibrator(
    alias="structured",
    fewest=10,
    simplicity=5,
    reference="Berta, Holzmüller, Jordan, Bach (2025)",
)
class StructuredScaling(MatrixRecalibrator):
    """Structured scaling: p' = softmax(M log q + b), with q = softmax(log p / T) mixed with 1/K, shrunk to p' = q.

    First T is the best temperature for log p. Then q = (1 - e) softmax(log p / T) + e / K, with e = 1 / (N + 1) and N
    the number of rows, or n, the sum of their weights w, if that is larger. This bounds log q from below, so that a few
    rows whose label has a probability near 0 do not determine M. Last, M and b minimise

        sum_i w_i (-log p'_i[label]) / n
            + penalty / n * (K sum_k (M_kk - 1)^2 + K sum_k b_k^2 + K (K - 1) sum_{k != j} M_kj^2).

    So a diagonal entry or intercept has a normal prior of variance 1 / (2 K), any other entry one of 1 / (2 K (K - 1)):
    the squares of each of the three groups are expected to sum to 1/2, whatever K is. Divided by n, the penalty fades
    as rows are added: with few rows p' is close to temperature scaling, with many to matrix scaling, and no folds are
    needed to choose.

    Rows of p are divided by their sums (of two columns the second is used alone), and log p of logits is log
    softmax(z), so a constant added to all logits of a row changes nothing. Logits more than 1e5 below the largest of
    their row, as masked ones are, count as 1e5 below it, both when fitting and when applying. Neither the most probable
    class nor any order is preserved. Multiplying all weights by a number changes n, and so the map.

    M and b always exist, even where classes are separated or do not occur in y (their probabilities become small).
    Where no T is best (no label has a smaller logit than another class, or the likelihood rises with T), T = 1 is
    used, with a `LimitWarning`. Without penalty the limits are those of `DirichletCalibration`.

    Parameters
    ----------
    input : {"probabilities", "logits"}
        The scale of X.
    structure : {"matrix", "vector"}
        "matrix" fits all of M; "vector" keeps its off-diagonal entries at zero.
    penalty : float
        The strength, relative to the formula above; 0 for none.
    classes : sequence, optional
        The labels in the order of the columns.

    Attributes
    ----------
    temperature_ : float
        The temperature T.
    weights_ : ndarray of shape (K, K)
        M; row k gives the logit of class k.
    intercepts_ : ndarray of shape (K,)
        The intercepts b.

    References
    ----------
    Berta, Holzmüller, Jordan, Bach (2025), Structured matrix scaling for multi-class calibration, arXiv:2511.03685.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(5000, 3))
    >>> y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    >>> over_confident = StructuredScaling(input="logits").fit(2 * z, y)
    >>> round(over_confident.temperature_, 1)
    2.0
    >>> bool(np.abs(over_confident.weights_ - np.eye(3)).max() < 0.2)
    True
    """

    # A map without the first two fields, as saved before there was mixing, has T = 1, e = 0 and the weights M / T.
    fields: ClassVar[dict[str, Field]] = {
        "temperature": Number(low=SMALLEST_TEMPERATURE, optional=True),
        "mixing": Number(0, 1, optional=True),
        "weights": Matrix(*COEFFICIENT_RANGE),
        "intercepts": Vector(*COEFFICIENT_RANGE),
    }

    def __init__(
        self,
        *,
        input: Input = "probabilities",
        structure: Structure = "matrix",
        penalty: float = 1.0,
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.input = input
        self.structure = structure
        self.penalty = penalty
        self.classes = classes

    @property
    def temperature_(self) -> Any:
        check_is_fitted(self, "maps_")
        (fitted,) = self.maps_
        assert fitted is not None
        return fitted.get("temperature", 1.0)

    @property
    def weights_(self) -> Any:
        return self._parameter("weights")

    @property
    def intercepts_(self) -> Any:
        return self._parameter("intercepts")

    def _check_settings(self) -> None:
        super()._check_settings()
        _check.choice(self.structure, ("matrix", "vector"), "structure")
        _check.number(self.penalty, "penalty", 0)

    def _check_map(self, fitted: Map, n_classes: int) -> None:
        check_shapes({name: fitted[name] for name in ("weights", "intercepts")}, n_classes)

    def _learn_map(self, logits: Floats, labels: Ints, weights: Float64s | None) -> Map:
        z = _masked(logits)
        temperature, limit = _kernels.fit_temperature(_kernels.logit_rows(z, labels, weights))
        if limit:
            warn("no temperature is best, so T = 1 was used", LimitWarning)
            temperature = 1.0
        n = len(z) if weights is None else float(weights.sum())
        mixing = mixing_of(len(z), weights)
        c = best_coefficients(_mixed_logs(z, temperature, mixing), labels, weights, self._ridge(z.shape[1]) / n)
        scales = np.diag(c[:, 0]) if self.structure == "vector" else c[:, :-1]
        return {"temperature": temperature, "mixing": mixing, "weights": scales, "intercepts": c[:, -1]}

    def _ridge(self, n_classes: int) -> Float64s:
        """Return the penalties, relative to the sum of the costs of the rows."""
        if self.structure == "vector":
            return np.full((n_classes, 2), self.penalty * n_classes)
        ridge = np.full((n_classes, n_classes + 1), self.penalty * n_classes * (n_classes - 1))
        ridge[:, -1] = ridge[np.arange(n_classes), np.arange(n_classes)] = self.penalty * n_classes
        return ridge

    def _apply_map(self, fitted: Map, logits: Floats) -> Float64s:
        temperature, mixing = fitted.get("temperature", 1.0), fitted.get("mixing", 0.0)
        c = side_by_side(fitted["weights"], fitted["intercepts"])
        if mixing == 0:
            return _kernels.mapped_softmax(log_probabilities(logits / temperature), c)
        return _kernels.mapped_softmax(_mixed_logs(_masked(logits), temperature, mixing), c)


def _masked(logits: Floats) -> Float64s:
    """Return logits relative to the largest of their row, none lower than -1e5."""
    with np.errstate(over="ignore"):
        z: Float64s = np.subtract(logits, logits.max(axis=1, keepdims=True), dtype=np.float64)
    np.maximum(z, LOWEST_LOG_PROBABILITY, out=z)
    return z


def _mixed_logs(z: Float64s, temperature: float, mixing: float) -> Float64s:
    """Return the logarithms of softmax(z / T), mixed with the uniform distribution at a rate."""
    q = _kernels.tempered(z, temperature)
    q *= 1 - mixing
    q += mixing / q.shape[1]
    return np.log(q, out=q)
