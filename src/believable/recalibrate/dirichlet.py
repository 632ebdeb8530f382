"""Dirichlet calibration: a linear map of all log-probabilities."""

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

    It is what Bayes' rule gives where the scores of each class have a Dirichlet distribution. W (K, K) and b (K,)
    minimise, with w the weights of the rows,

        sum_i w_i (-log p'_i[label]) / sum_i w_i
            + penalty * (sum_{k != j} W_kj^2 / (K (K - 1)) + sum_k b_k^2 / K),

    the off-diagonal and intercept regularisation (ODIR) of Kull et al. with one strength for both. Rows of p are
    divided by their sums (of two columns the second is used alone), and log p of logits is log softmax(z), so a
    constant added to all logits of a row changes nothing. Where log p is below -1e5, as that of masked logits, it
    counts as -1e5, when fitting and when applying. Neither the most probable class nor any order is kept. For one event
    and without penalty it is beta calibration with slopes of any sign.

    Where several W and b give the same p' at the same cost, the nearest to the identity is taken (entries in units of
    the root mean square of log p): without penalty the columns of W sum to one and b to zero.

    Where the classes are separated by the scores, or one does not occur in y, no W is best: then a standard normal
    prior around the identity, sum (W - I)^2 / (2 n) + sum b^2 / (2 n) with n the sum of the weights, is added, with a
    `LimitWarning`. A class that does not occur gets small probabilities, of the order of 1/n: simulated with three
    classes, 0.6/n on average at n = 400 and 1/n at n = 10,000, and more in single rows.

    Parameters
    ----------
    input : {"probabilities", "logits"}
        What X holds.
    penalty : "auto" or float
        The strength; 0 is none. "auto" takes the one of 10^4, 10^3, ..., 10^-4 with the least log loss in five folds,
        from strong to weak until two in a row are no better, by 1e-5 nats (or worse, as long as nothing was gained:
        strong ones are often alike). In each class, rows are dealt to the folds in the order of the probability of that
        class, so that the choice does not depend on the order of the rows.
    classes : sequence, optional
        The labels in the order of the columns.

    Attributes
    ----------
    weights_ : ndarray of shape (K, K)
        Row k makes the logit of class k.
    intercepts_ : ndarray of shape (K,)
    penalty_ : float
        The strength that was used; not saved.

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
        logs = log_probabilities(logits, in_place=self.input == "probabilities")  # those are a copy already
        c = self._coefficients(logs, labels, weights, odir)
        return {"weights": c[:, :-1], "intercepts": c[:, -1]}

    def _apply_map(self, learnt: Map, logits: Floats) -> Float64s:
        c = side_by_side(learnt["weights"], learnt["intercepts"])
        return _kernels.mapped_softmax(log_probabilities(logits), c)
