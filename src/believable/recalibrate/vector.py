"""Vector scaling: each logit times a number of its own."""

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
    """Vector scaling: p' = softmax(v * z + b), with z the logits as they came, or log p.

    v and b, a number for each class, minimise, with w the weights of the rows,

        sum_i w_i (-log p'_i[label]) / sum_i w_i + penalty * sum_k b_k^2 / K.

    The most probable class need not stay so, and a constant added to all logits of a row may change p'. For one event z
    is the pair log(1 - p), log p, or -z/2, z/2, and the order of rows is kept if v > 0. Refitting on the logits
    v * z + b gives v = 1 and b = 0 if there is no penalty.

    Where several v and b give the same p' at the same cost, the nearest to v = 1, b = 0 is taken (entries in units of
    the logits' root mean square): without penalty b sums to zero, and logits of one event have two equal v.

    Where the classes are separated by the scores, or one does not occur in y, no v is best: then a standard normal
    prior around the identity, sum (v - 1)^2 / (2 n) + sum b^2 / (2 n) with n the sum of the weights, is added, with a
    `LimitWarning`. A class that does not occur gets small probabilities, of the order of 1/n: simulated with three
    classes, 3/n on average at n = 400 and 5/n at n = 10,000, and more in single rows.

    Logits may be masked, -1e9 for a class that cannot be, in some of the rows: there p' is zero for every v > 0. Only
    labels that are masked draw v to zero.

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
    scales_, intercepts_ : ndarray of shape (K,)
        v and b.
    penalty_ : float
        The strength that was used; not saved.

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

    def _apply_map(self, learnt: Map, logits: Floats) -> Float64s:
        return _kernels.mapped_softmax(logits, side_by_side(learnt["scales"], learnt["intercepts"]))
