"""Scaling-binning: Platt scaling, made of steps so that its calibration can be measured."""

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

NEGLIGIBLE_WEIGHT_SHARE = 1e-8  # of a row's weight: what sums of 10^7 weights may be wrong by


@final
@recalibrator(
    alias="scaling_binning",
    fewest=40,
    simplicity=4,
    reference="Kumar, Liang & Ma (2019)",
)
class ScalingBinning(BinaryRecalibrator):
    """Scaling-binning: Platt scaling g learnt from one half of the rows, then its mean in bins of the other half.

    Bins hold equal weights of the second half, and are right-closed; a score becomes the mean of g over the scores of
    the second half in its bin. The outermost bins have no end. Unlike frequencies the means of g vary little, and
    unlike those of g alone the few outputs can be checked against outcomes. Outcomes of the second half are not used.

    The halves: each class is put in order of its scores, and its rows go to the two halves by turns, the first to
    that of g. So nothing is left to chance and the order of rows does not matter. Weights lie end to end on a line
    whose sections of length 1 (of the mean weight, if that is less) belong to the halves by turns, and a row that
    reaches across is divided: hence weight 2 is the row twice, but a common factor of the weights moves the halves, and
    rows of large weights are in both. Where the second half is empty, with one row of each class, the first is taken
    for both.

    The paper has a third part for the means; the authors' package uses all rows for all steps, and edges halfway
    between scores.

    What is kept: the ranking up to ties where the slope of g is positive (it is reversed where that is negative), the
    mean nearly. Limits are those of `PlattScaling`: separated classes give smoothed targets and a `LimitWarning`, and
    one score for all gives the base rate of the first half.

    The map is `edges`, the inner ones on the scale of X, and `means`: p' = means[b], where b is the number of edges
    below the score. Bins of g are bins of the score, as g is monotone, so g itself is not needed any more.

    Parameters
    ----------
    input : {"probabilities", "logits", "scores"}
        What X holds. g is of the logit, or of a score as it is.
    n_bins : int
        Bins; fewer where boundaries coincide.
    classes : sequence, optional
        The labels in the order of the columns. K > 2 classes are taken one against the rest, and rows divided by their
        sums (which makes them take more values than there are bins).

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
        return {"edges": edges, "means": np.clip(means, lowest, highest)}  # a mean of equal numbers may round off them

    def _apply_map(self, learnt: Map, scores: Scores) -> Float64s:
        means: Array = learnt["means"]
        return np.asarray(means[_kernels.edges_below(scores.values, learnt["edges"])])

    def _check_map(self, learnt: Map, n_classes: int) -> None:
        if len(learnt["edges"]) + 1 != len(learnt["means"]):
            raise SchemaError("the saved means must be one more than the edges")


def _by_turns(weights: Float64s, unit: float) -> Float64s:
    """How much of each weight falls into the even sections of length `unit` when they lie end to end."""
    reached = np.append(0, _kernels.running_sum(weights)).astype(np.float64)
    pairs = np.floor(reached / (2 * unit))
    even = pairs * unit + np.minimum(reached - pairs * 2 * unit, unit)
    part = np.clip(np.diff(even), 0, weights)
    # A row that ends where its section does may reach beyond it by rounding, and such a sliver is not a row.
    part[part < NEGLIGIBLE_WEIGHT_SHARE * weights] = 0.0
    whole = part > (1 - NEGLIGIBLE_WEIGHT_SHARE) * weights
    part[whole] = weights[whole]
    return part
