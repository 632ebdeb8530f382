"""Scaling-binning: Platt scaling, turned into steps so that its calibration can be measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, final

import numpy as np

from believable import _check, _kernels
from believable._types import Array, Float64s
from believable.binning import MAX_BINS
from believable.errors import SchemaError
from believable.recalibrate.base import BinaryRecalibrator
from believable.recalibrate.facts import Field, Map, Vector, recalibrator
from believable.recalibrate.histogram import inner_quantiles
from believable.recalibrate.inputs import Input, Scores
from believable.recalibrate.platt import PlattScaling

NEGLIGIBLE_WEIGHT_SHARE = 1e-8  # a smaller share of a row's weight may be rounding in a sum of 10^7 weights


@final
@recalibrator(
    alias="scaling_binning",
    fewest=40,
    simplicity=4,
    reference="Kumar, Liang & Ma (2019)",
)
class ScalingBinning(BinaryRecalibrator):
    """Scaling-binning: Platt scaling fitted on one half of the rows, then averaged in bins of the other half.

    Bins hold equal weights of the second half, and are right-closed; a score becomes the mean of g, the fitted Platt
    scaling, over the scores of the second half in its bin. The outermost bins have no end. Means of g vary less than
    observed frequencies, and, unlike g alone, there are few enough outputs to check against outcomes. Outcomes of the
    second half are not used.

    The halves: within each class, rows are sorted by score and assigned to the two halves alternately, starting with
    that of g. So nothing is random, and the order of rows does not matter. Weights are laid end to end and cut into
    sections of length 1 (or of the mean weight, if that is less), which belong to the halves alternately; a row that
    crosses a cut is divided. So a row of weight 2 counts as two rows, but scaling all weights changes the halves, and
    rows of large weight are in both. If the second half is empty, with one row of each class, the first is used for
    both.

    The paper uses a third part for the means; the authors' package uses all rows for all steps, and edges halfway
    between scores.

    The ranking is preserved up to ties if the slope of g is positive (and reversed if negative), the mean nearly.
    Limits are those of `PlattScaling`: separated classes give smoothed targets and a `LimitWarning`, and if all scores
    are equal they become the base rate of the first half.

    The calibration map is `edges`, the inner ones on the scale of X, and `means`: p' = means[b], where b is the number
    of edges below the score. Because g is monotone, bins of g are bins of the score, and g itself is not needed.

    Parameters
    ----------
    input : {"probabilities", "logits", "scores"}
        The scale of X. g takes the logit, or a raw score.
    n_bins : int
        The number of bins; fewer where boundaries coincide.
    classes : sequence, optional
        The labels in the order of the columns. K > 2 classes are recalibrated one against the rest, and rows are then
        divided by their sums (so that they take more values than there are bins).

    References
    ----------
    Kumar, Liang and Ma (2019), Verified uncertainty calibration, NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=5000)
    >>> y = rng.random(5000) < 1 / (1 + np.exp(-z))
    >>> thirds = ScalingBinning(input="logits", n_bins=3).fit(2 * z, y)
    >>> thirds.transform([-9.0, -1.5, 0.0, 1.5, 9.0]).round(1)
    array([0.3, 0.3, 0.5, 0.7, 0.7])
    """

    inputs: ClassVar[tuple[Input, ...]] = ("probabilities", "logits", "scores")
    fields: ClassVar[dict[str, Field]] = {"edges": Vector(order=2, fewest=0), "means": Vector(0, 1)}

    def __init__(
        self,
        *,
        input: Input = "probabilities",
        n_bins: int = 10,
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.input = input
        self.n_bins = n_bins
        self.classes = classes

    def _check_settings(self) -> None:
        super()._check_settings()
        _check.positive_integer(self.n_bins, "n_bins", 1, MAX_BINS)

    def _learn_map(self, scores: Scores, w: Float64s, wy: Float64s) -> Map:
        order = np.argsort(scores.values)
        unit = min(1.0, float(w.mean()))
        positive = _by_turns(wy[order], unit)
        negative = _by_turns((w - wy)[order], unit)
        first, second = positive + negative, w[order] - positive - negative

        rows = np.flatnonzero(first)
        platt = PlattScaling(input=self.input)
        g = platt._learn_map(scores.take(order[rows]), first[rows], positive[rows])

        rest = second if (second > 0).any() else first
        rows = np.flatnonzero(rest > 0)
        there, weight = scores.take(order[rows]), rest[rows]
        edges = inner_quantiles(there.values, weight, self.n_bins)
        index = _kernels.edges_below(there.values, edges)
        scaled = platt._apply_map(g, there)
        means = np.bincount(index, weight * scaled) / np.bincount(index, weight)
        starts = np.flatnonzero(np.append(True, index[1:] != index[:-1]))
        lowest, highest = np.minimum.reduceat(scaled, starts), np.maximum.reduceat(scaled, starts)
        return {
            "edges": edges,
            "means": np.clip(means, lowest, highest),
        }  # rounding may move the mean of equal numbers outside them

    def _apply_map(self, fitted: Map, scores: Scores) -> Float64s:
        means: Array = fitted["means"]
        return np.asarray(means[_kernels.edges_below(scores.values, fitted["edges"])])

    def _check_map(self, fitted: Map, n_classes: int) -> None:
        if len(fitted["edges"]) + 1 != len(fitted["means"]):
            raise SchemaError("there must be one more of the saved means than of the edges")


def _by_turns(weights: Float64s, unit: float) -> Float64s:
    """Return how much of each weight falls into the even sections of length `unit`, laid end to end."""
    reached = np.append(0, _kernels.running_sum(weights)).astype(np.float64)
    pairs = np.floor(reached / (2 * unit))
    even = pairs * unit + np.minimum(reached - pairs * 2 * unit, unit)
    part = np.clip(np.diff(even), 0, weights)
    # A row that ends where its section ends may cross it by rounding; such a sliver must not count.
    part[part < NEGLIGIBLE_WEIGHT_SHARE * weights] = 0.0
    whole = part > (1 - NEGLIGIBLE_WEIGHT_SHARE) * weights
    part[whole] = weights[whole]
    return part
