"""Vector scaling: each logit times its own scale."""

from __future__ import annotations

from typing import Any, ClassVar, final

from believable import _kernels
from believable._types import Float64s, Floats, Ints
from believable.recalibrate.facts import Field, Map, Vector, recalibrator
from believable.recalibrate.linear import COEFFICIENT_RANGE, PenalisedRecalibrator, intercepts_only, side_by_side


@final
@recalibrator(
    alias="vector",
    ranking="by slope",
    identity=True,
    fewest=20,
    simplicity=4,
    reference="Guo et al. (2017); penalty: Kull et al. (2019)",
)
class VectorScaling(PenalisedRecalibrator):
    """Vector scaling: p' = softmax(v * z + b), with z the logits, or log p.

    v and b, a number for each class, minimise, with w the weights of the rows,

        sum_i w_i (-log p'_i[label]) / sum_i w_i + penalty * sum_k b_k^2 / K.

    The most probable class may change, and so may p' when a constant is added to all logits of a row. For one event z
    is the pair log(1 - p), log p, or -z/2, z/2, and the ranking is preserved if v > 0. Refitting on the logits
    v * z + b gives v = 1 and b = 0 if there is no penalty.

    Where several v and b give the same p' at the same cost, the one nearest to v = 1, b = 0 is used (entries in units
    of the logits' root mean square): without penalty b sums to zero, and logits of one event have two equal v.

    Where the classes are separated by the scores, or one does not occur in y, no v is best. Then a standard normal
    prior around the identity, sum (v - 1)^2 / (2 n) + sum b^2 / (2 n) with n the sum of the weights, is added, with a
    `LimitWarning`. A class that does not occur gets small probabilities, of the order of 1/n: in simulations with three
    classes (`python -m benchmarks.figures absent`), 8/n on average at n = 400 and at n = 10,000, and
    much more in individual rows.

    Logits may be masked in some rows, for example with -1e9 for a class that is impossible: p' is then zero there for
    every v > 0. Only masked labels pull v to zero.

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
    scales_, intercepts_ : ndarray of shape (K,)
        The scales v and the intercepts b.
    penalty_ : float
        The strength that was used; it is not saved.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger (2017), ICML. Kull, Perello-Nieto, Kängsepp, Silva Filho, Song, Flach (2019), NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(5000, 3))
    >>> y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    >>> first_too_spread = VectorScaling(input="logits", penalty=0).fit(z * [2, 1, 1], y)
    >>> first_too_spread.scales_.round(1)
    array([0.5, 1. , 1. ])
    """

    fields: ClassVar[dict[str, Field]] = {
        "scales": Vector(*COEFFICIENT_RANGE),
        "intercepts": Vector(*COEFFICIENT_RANGE),
    }

    @property
    def scales_(self) -> Any:
        return self._parameter("scales")

    def _learn_map(self, logits: Floats, labels: Ints, weights: Float64s | None) -> Map:
        c = self._coefficients(logits, labels, weights, intercepts_only)
        return {"scales": c[:, 0], "intercepts": c[:, 1]}

    def _apply_map(self, fitted: Map, logits: Floats) -> Float64s:
        return _kernels.mapped_softmax(logits, side_by_side(fitted["scales"], fitted["intercepts"]))
