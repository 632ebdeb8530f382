"""Bayesian binning into quantiles: a weighted average of many histogram binnings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, final

import numpy as np

from believable import _check, _kernels
from believable._kernels.probabilities import SMALLEST_PROBABILITY
from believable._types import Float64s
from believable.errors import SchemaError
from believable.recalibrate.base import BinaryRecalibrator
from believable.recalibrate.facts import Field, Map, Vector, recalibrator
from believable.recalibrate.inputs import Input, Scores, points_of

Prior = Literal["per_bin", "shared"]

BIN_RANGE = 10  # the number of bins goes from n^(1/3) / 10 to 10 n^(1/3)
MOST_BINS = 2000
NEGLIGIBLE_WEIGHT = 1e-15  # binnings with less than this share of the weight of the best one are dropped


@final
@recalibrator(
    alias="bbq",
    ranking="none",
    fewest=50,
    simplicity=8,
    cells=True,
    reference="Naeini, Cooper, Hauskrecht (2015)",
)
class BBQ(BinaryRecalibrator):
    """Bayesian binning into quantiles: a mean of histogram binnings, weighted by how well each explains the rows.

    The binnings have B bins of equal weight, B from n^(1/3) / 10 (rounded down, at least 1) to 10 n^(1/3) (rounded up),
    n the weight of all rows; more than 2,000 bins are not tried. The rate in a bin has a Beta(alpha_b, beta_b) prior,
    alpha_b = c p_b, beta_b = c (1 - p_b), with p_b the middle of the bin. With m_b positives among n_b rows in each
    bin, the weight of a binning is

        P(rows | binning) = prod_b Beta(alpha_b + m_b, beta_b + n_b - m_b) / Beta(alpha_b, beta_b),

    Beta(., .) the beta function, and its value in a bin is (m_b + alpha_b) / (n_b + c). The weighted mean of these
    steps is again a step function: this is the calibration map.

    Conventions. Rows fall into bins by the quantile rule: equal scores are never split, boundaries that coincide are
    merged, and no bin is empty. Where two numbers of bins give the same bins they count once: the prior is uniform over
    binnings. A bin ends halfway between its last score and the next one (the first begins at 0, the last ends at 1). A
    new score exactly there belongs to the lower bin. p_b is clipped to [1e-12, 1 - 1e-12].

    Fitted from cells the map is as good, but not the same: bins end between cells, so a row may fall into a
    neighbouring bin, which changes the weight of a binning severalfold, and all steps with it. In simulations with 200
    to 20,000 rows (`python -m benchmarks.bbq_cells`), the map moves by 0.0002 to 0.006 on average over the scores, at
    most a fifth of its error, but by up to 0.07 to 0.36 at single scores beside a step.

    Neither the ranking nor the argmax is preserved, because neighbouring bins may decrease. Scores outside the range of
    those fitted belong to the first and last bin. If all scores are equal there is one bin: the base rate, shrunk
    towards 1/2 by c rows. K > 2 classes are recalibrated one against the rest. Weights count as numbers of rows: with
    twice the weights the prior counts for less, and there are more bins.

    Parameters
    ----------
    input : {"probabilities", "logits"}
        The scale of X.
    prior : {"per_bin", "shared"}
        c is `prior_weight` in every bin (an equivalent sample size N' of 2 B, as in the authors' program), or
        `prior_weight` / B, so that all bins share it (N' = 2, whatever B).
    prior_weight : float
        The number of rows that the prior counts as, from 1e-6 to 1e6.
    classes : sequence, optional
        The labels in the order of the columns.

    References
    ----------
    Naeini, Cooper, Hauskrecht (2015), Obtaining well calibrated probabilities using Bayesian binning, AAAI.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> y = rng.random(5000) < p**2
    >>> BBQ().fit(p, y).transform([0.3, 0.6, 0.9]).round(2)
    array([0.08, 0.4 , 0.79])
    """

    fields: ClassVar[dict[str, Field]] = {
        "edges": Vector(0, 1, order=2, fewest=0),
        "values": Vector(0, 1),
    }

    def __init__(
        self,
        *,
        input: Input = "probabilities",
        prior: Prior = "per_bin",
        prior_weight: float = 2.0,
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.input = input
        self.prior = prior
        self.prior_weight = prior_weight
        self.classes = classes

    def _check_settings(self) -> None:
        super()._check_settings()
        _check.choice(self.prior, ("per_bin", "shared"), "prior")
        _check.number(self.prior_weight, "prior_weight", 1e-6, 1e6)

    def _check_map(self, fitted: Map, n_classes: int) -> None:
        if len(fitted["values"]) != len(fitted["edges"]) + 1:
            raise SchemaError("there must be one more of the saved values than of the saved edges")

    def _learn_map(self, scores: Scores, w: Float64s, wy: Float64s) -> Map:
        points = points_of(scores.probability(), w, wy)
        reached = _kernels.running_sum(points.w)
        root = float(np.cbrt(np.float64(reached[-1])))
        fewest, most = int(min(root / BIN_RANGE, MOST_BINS)), int(np.ceil(min(root * BIN_RANGE, MOST_BINS)))
        binnings = _kernels.quantile_binnings(reached, max(fewest, 1), most)

        weight = _kernels.binned_sums(reached, binnings)
        positive = np.minimum(_kernels.binned_sums(_kernels.running_sum(points.wy), binnings), weight)
        edge = _halfway(points.score) if scores.ends is None else _between(*scores.ends)
        upper = np.append(edge, 1)[binnings.last]
        lower = np.append(0, upper[:-1])
        lower[binnings.starts] = 0
        middle = np.clip((lower + upper) / 2, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
        sharing = binnings.n_bins if self.prior == "shared" else np.ones_like(binnings.n_bins)
        worth = np.repeat(self.prior_weight / sharing, binnings.n_bins)
        alpha, beta = worth * middle, worth * (1 - middle)

        evidence = _kernels.log_evidence(positive, weight - positive, alpha, beta, binnings.starts)
        shares = np.exp(evidence - evidence.max())
        shares[shares < NEGLIGIBLE_WEIGHT] = 0
        values = (positive + alpha) / (weight + worth)
        last, mean = _kernels.mixed_steps(binnings, values, shares / shares.sum())
        return {"edges": edge[last], "values": np.clip(mean, 0, 1)}

    def _apply_map(self, fitted: Map, scores: Scores) -> Float64s:
        bin_of = np.searchsorted(fitted["edges"], scores.probability(), side="left")
        return np.asarray(fitted["values"][bin_of])


def _between(lowest: Float64s, highest: Float64s) -> Float64s:
    """Return the boundaries between cells: halfway from the end of each to the start of the next."""
    end, begin = highest[:-1], lowest[1:]
    return np.where(begin > end, (end + begin) / 2, end)


def _halfway(score: Float64s) -> Float64s:
    """Return the boundaries between scores: halfway, or the lower one where no float lies between them."""
    low, high = score[:-1], score[1:]
    middle = (low + high) / 2
    return np.where(middle < high, middle, low)
