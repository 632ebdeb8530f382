"""Dirichlet calibration: a linear function of all log-probabilities."""

from __future__ import annotations

from typing import Any, ClassVar, final

from believable import _kernels
from believable._types import Float64s, Floats, Ints
from believable.recalibrate.facts import Field, Map, Matrix, Vector, recalibrator
from believable.recalibrate.linear import (
    COEFFICIENT_RANGE,
    PenalisedRecalibrator,
    log_probabilities,
    odir,
    side_by_side,
)


@final
@recalibrator(
    alias="dirichlet",
    identity=True,
    fewest=50,
    simplicity=7,
    reference="Kull et al. (2019)",
)
class DirichletCalibration(PenalisedRecalibrator):
    """Dirichlet calibration: p' = softmax(W log p + b).

    Bayes' rule gives this form where the scores of each class have a Dirichlet distribution. W (K, K) and b (K,)
    minimise, with w the weights of the rows,

        sum_i w_i (-log p'_i[label]) / sum_i w_i
            + penalty * (sum_{k != j} W_kj^2 / (K (K - 1)) + sum_k b_k^2 / K),

    the off-diagonal and intercept regularisation (ODIR) of Kull et al. with one strength for both. Rows of p are
    divided by their sums (of two columns the second is used alone), and log p of logits is log softmax(z), so a
    constant added to all logits of a row changes nothing. log p below -1e5, as for masked logits, counts as -1e5, both
    when fitting and when applying. Neither the most probable class nor any order is preserved. For one event
    and without penalty it is beta calibration with slopes of any sign.

    Where several W and b give the same p' at the same cost, the one nearest to the identity is used (entries in units
    of the root mean square of log p): without penalty the columns of W sum to one and b to zero.

    Where the classes are separated by the scores, or one does not occur in y, no W is best. Then a standard normal
    prior around the identity, sum (W - I)^2 / (2 n) + sum b^2 / (2 n) with n the sum of the weights, is added, with a
    `LimitWarning`. A class that does not occur gets small probabilities, of the order of 1/n: in simulations with three
    classes (`python -m benchmarks.figures absent`), 3/n on average at n = 400 and 1/n at n = 10,000, and much more in
    individual rows.

    Parameters
    ----------
    input : {"probabilities", "logits"}
        The scale of X.
    penalty : "auto" or float
        The strength of the penalty; 0 for none. "auto" chooses the one of 10^4, 10^3, ..., 10^-4 with the lowest log
        loss in five folds. It goes from strong to weak and stops after two in a row that gain less than 1e-5 nats (as
        long as nothing has been gained, after two that are worse: strong penalties are often alike). Within each class,
        rows are assigned to folds in the order of the probability of that class, so that the choice does not depend on
        the order of the rows.
    classes : sequence, optional
        The labels in the order of the columns.

    Attributes
    ----------
    weights_ : ndarray of shape (K, K)
        Row k gives the logit of class k.
    intercepts_ : ndarray of shape (K,)
        The intercepts b.
    penalty_ : float
        The strength that was used; it is not saved.

    References
    ----------
    Kull, Perello-Nieto, Kängsepp, Silva Filho, Song, Flach (2019), NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 1, 1], size=5000)
    >>> y = (2 * np.log(p) + rng.gumbel(size=p.shape)).argmax(axis=1)
    >>> under_confident = DirichletCalibration(penalty=1).fit(p, y)
    >>> under_confident.weights_.diagonal().round()
    array([2., 2., 2.])
    """

    fields: ClassVar[dict[str, Field]] = {
        "weights": Matrix(*COEFFICIENT_RANGE),
        "intercepts": Vector(*COEFFICIENT_RANGE),
    }

    @property
    def weights_(self) -> Any:
        return self._parameter("weights")

    def _learn_map(self, logits: Floats, labels: Ints, weights: Float64s | None) -> Map:
        logs = log_probabilities(logits, in_place=self.input == "probabilities")  # the logarithms are a copy already
        c = self._coefficients(logs, labels, weights, odir)
        return {"weights": c[:, :-1], "intercepts": c[:, -1]}

    def _apply_map(self, fitted: Map, logits: Floats) -> Float64s:
        c = side_by_side(fitted["weights"], fitted["intercepts"])
        return _kernels.mapped_softmax(log_probabilities(logits), c)
