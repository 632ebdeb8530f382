"""Matrix scaling: a linear map of all logits."""

from __future__ import annotations

from typing import Any, ClassVar, final

from believable import _kernels
from believable._types import Float64s, Floats, Ints
from believable.recalibrate.facts import Field, Map, Matrix, Vector, recalibrator
from believable.recalibrate.linear import COEFFICIENT_RANGE, PenalisedRecalibrator, odir, side_by_side


@final
@recalibrator(
    alias="matrix",
    identity=True,
    fewest=50,
    simplicity=7,
    reference="Guo et al. (2017); penalty: Kull et al. (2019)",
)
class MatrixScaling(PenalisedRecalibrator):
    """Matrix scaling: p' = softmax(W z + b), with z the logits as they came, or log p.

    W (K, K) and b (K,) minimise, with w the weights of the rows,

        sum_i w_i (-log p'_i[label]) / sum_i w_i
            + penalty * (sum_{k != j} W_kj^2 / (K (K - 1)) + sum_k b_k^2 / K),

    the off-diagonal and intercept regularisation (ODIR) of Kull et al. with one strength for both. Strong penalties
    leave a diagonal W. Neither the most probable class nor any order is kept, and a constant added to all logits of a
    row may change p'.

    Where several W and b give the same p' at the same cost, the nearest to the identity is taken (entries in units of
    the logits' root mean square): without penalty the columns of W sum to one and b to zero. For one event z is the
    pair log(1 - p), log p, or -z/2, z/2.

    Where the classes are separated by the scores, or one does not occur in y, no W is best: then a standard normal
    prior around the identity, sum (W - I)^2 / (2 n) + sum b^2 / (2 n) with n the sum of the weights, is added, with a
    `LimitWarning`. A class that does not occur gets small probabilities, of the order of 1/n: simulated with three
    classes, 3/n on average at n = 400 and 4/n at n = 10,000, and more in single rows.

    Logits may be masked, -1e9 for a class that cannot be, in some of the rows. W is found all the same; beyond -1e9 it
    may not be the very best, but is no worse than the best temperature, and columns need not sum to one. But other
    classes see a masked logit too: mask those that W will be applied to with the same number.

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
    Guo, Pleiss, Sun, Weinberger (2017), ICML. Kull, Perello-Nieto, Kängsepp, Silva Filho, Song, Flach (2019), NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(5000, 3))
    >>> y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    >>> first_too_high = MatrixScaling(input="logits", penalty=0.001).fit(2 * z + [1, 0, 0], y)
    >>> first_too_high.weights_.diagonal().round(1)
    array([0.5, 0.5, 0.5])
    >>> first_too_high.intercepts_.round(1)
    array([-0.4,  0.2,  0.2])
    """

    fields: ClassVar[dict[str, Field]] = {
        "weights": Matrix(*COEFFICIENT_RANGE),
        "intercepts": Vector(*COEFFICIENT_RANGE),
    }

    @property
    def weights_(self) -> Any:
        return self._parameter("weights")

    def _learn_map(self, logits: Floats, labels: Ints, weights: Float64s | None) -> Map:
        c = self._coefficients(logits, labels, weights, odir)
        return {"weights": c[:, :-1], "intercepts": c[:, -1]}

    def _apply_map(self, learnt: Map, logits: Floats) -> Float64s:
        return _kernels.mapped_softmax(logits, side_by_side(learnt["weights"], learnt["intercepts"]))
