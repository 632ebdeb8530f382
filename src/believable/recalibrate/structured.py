"""Structured scaling: a linear function of all log-probabilities, shrunk towards temperature scaling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, final

import numpy as np

from believable import _check, _kernels
from believable._types import Float64s, Floats, Ints
from believable.errors import LimitWarning
from believable.recalibrate.base import MatrixRecalibrator
from believable.recalibrate.facts import Field, Map, Matrix, Vector, recalibrator
from believable.recalibrate.inputs import Input, warn
from believable.recalibrate.linear import (
    COEFFICIENT_RANGE,
    best_coefficients,
    check_shapes,
    log_probabilities,
    side_by_side,
)

Structure = Literal["matrix", "vector"]


@final
@recalibrator(
    alias="structured",
    identity=True,
    fewest=10,
    simplicity=5,
    reference="Berta, Holzmüller, Jordan, Bach (2025)",
)
class StructuredScaling(MatrixRecalibrator):
    """Structured scaling: p' = softmax(W log p + b), with W = M / T, M shrunk to the identity, b to zero.

    First T is the best temperature for log p. Then M and b minimise, with w the weights of the rows and n their sum,

        sum_i w_i (-log p'_i[label]) / n
            + penalty / n * (K sum_k (M_kk - 1)^2 + K sum_k b_k^2 + K (K - 1) sum_{k != j} M_kj^2).

    So a diagonal entry or intercept has a normal prior of variance 1 / (2 K), any other entry one of 1 / (2 K (K - 1)):
    the squares of each of the three groups are expected to sum to 1/2, whatever K is. Divided by n, the penalty fades
    as rows are added: with few rows p' is close to temperature scaling, with many to matrix scaling, and no folds are
    needed to choose. In simulations with K = 10 where only the temperature is wrong, it costs about 0.02 nats more than
    temperature scaling at n = 200 and 0.01 at n = 500, where no penalty costs 0.1. Where scales, intercepts and
    off-diagonal entries of M are wrong too, the latter by 0.16 (standard deviation), it gains about 0.3 over
    temperature scaling at n = 200 and is within 0.001 of no penalty at n = 20,000; entries of 0.5 are fitted more
    slowly, within 0.03. Half or twice the penalty changes the first two cases by at most 0.025.

    Rows of p are divided by their sums (of two columns the second is used alone), and log p of logits is log
    softmax(z), so a constant added to all logits of a row changes nothing. log p below -1e5, as for masked logits,
    counts as -1e5, both when fitting and when applying. Neither the most probable class nor any order is preserved.
    Multiplying all weights by a number changes n, and so the map.

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
    weights_ : ndarray of shape (K, K)
        W = M / T; row k gives the logit of class k.
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
    >>> over_confident.weights_.diagonal().round(1)
    array([0.5, 0.5, 0.5])
    """

    fields: ClassVar[dict[str, Field]] = {
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
        check_shapes(fitted, n_classes)

    def _learn_map(self, logits: Floats, labels: Ints, weights: Float64s | None) -> Map:
        logs = log_probabilities(logits, in_place=self.input == "probabilities")  # the logarithms are a copy already
        temperature, limit = _kernels.fit_temperature(_kernels.logit_rows(logs, labels, weights))
        if limit:
            warn("no temperature is best, so T = 1 was used", LimitWarning)
            temperature = 1.0
        logs /= temperature
        n = len(logs) if weights is None else float(weights.sum())
        c = best_coefficients(logs, labels, weights, self._ridge(logs.shape[1]) / n)
        scales = np.diag(c[:, 0]) if self.structure == "vector" else c[:, :-1]
        return {"weights": np.clip(scales / temperature, *COEFFICIENT_RANGE), "intercepts": c[:, -1]}

    def _ridge(self, n_classes: int) -> Float64s:
        """Return the penalties, relative to the sum of the costs of the rows."""
        if self.structure == "vector":
            return np.full((n_classes, 2), self.penalty * n_classes)
        ridge = np.full((n_classes, n_classes + 1), self.penalty * n_classes * (n_classes - 1))
        ridge[:, -1] = ridge[np.arange(n_classes), np.arange(n_classes)] = self.penalty * n_classes
        return ridge

    def _apply_map(self, fitted: Map, logits: Floats) -> Float64s:
        c = side_by_side(fitted["weights"], fitted["intercepts"])
        return _kernels.mapped_softmax(log_probabilities(logits), c)
