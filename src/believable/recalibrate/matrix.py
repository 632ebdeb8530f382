"""Matrix scaling: a linear function of all logits."""

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
    """Matrix scaling: p' = softmax(W z + b), with z the logits, or log p.

    W (K, K) and b (K,) minimise, with w the weights of the rows,

        sum_i w_i (-log p'_i[label]) / sum_i w_i
            + penalty * (sum_{k != j} W_kj^2 / (K (K - 1)) + sum_k b_k^2 / K),

    the off-diagonal and intercept regularisation (ODIR) of Kull et al. with one strength for both. Strong penalties
    make W diagonal. Neither the most probable class nor any order is preserved, and a constant added to all logits of a
    row may change p'.

    Where several W and b give the same p' at the same cost, the one nearest to the identity is used (entries in units
    of the logits' root mean square): without penalty the columns of W sum to one and b to zero. For one event z is the
    pair log(1 - p), log p, or -z/2, z/2.

    Where the classes are separated by the scores, or one does not occur in y, no W is best. Then a standard normal
    prior around the identity, sum (W - I)^2 / (2 n) + sum b^2 / (2 n) with n the sum of the weights, is added, with a
    `LimitWarning`. A class that does not occur gets small probabilities, of the order of 1/n: in simulations with three
    classes (`python -m benchmarks.figures absent`), 3/n on average at n = 400 and 1/n at n = 10,000,
    and much more in individual rows.

    Logits may be masked in some rows, for example with -1e9 for a class that is impossible. With such a mask or a
    larger one, W may not be optimal and may depend on the order of the rows, but it is no worse than the best
    temperature; its columns need not sum to one. The other classes depend on masked logits too: use the same mask for
    new rows.

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

    def _apply_map(self, fitted: Map, logits: Floats) -> Float64s:
        return _kernels.mapped_softmax(logits, side_by_side(fitted["weights"], fitted["intercepts"]))
