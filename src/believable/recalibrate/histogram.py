"""Histogram binning: the observed frequency in each bin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, final

import numpy as np

from believable import _check, _kernels
from believable._types import Float64s, Floats
from believable.binning import MAX_BINS, Edges
from believable.errors import InputError, SchemaError, UndefinedError
from believable.recalibrate.base import BinaryRecalibrator
from believable.recalibrate.facts import Field, Map, Vector, recalibrator
from believable.recalibrate.inputs import Input, Scores

Strategy = Literal["quantile", "uniform"]


@final
@recalibrator(
    alias="histogram",
    fewest=50,
    simplicity=5,
    cells=True,
    reference="Zadrozny & Elkan (2001)",
)
class HistogramBinning(BinaryRecalibrator):
    """Histogram binning: a score becomes the observed frequency of the event in its bin.

    Bins are those of `Edges`, right-closed, and the same rule assigns scores to bins when fitting and when applying.
    Edges are compared in the type of the scores, so that 0.3 is on the edge 3/10 in float32 as in float64. The
    frequency of a bin is (sum of w y + a) / (sum of w + 2 a), with a the `smoothing`. A score in an empty bin stays as
    it is (a logit becomes its probability).

    The ranking is not preserved. The mean of the rows it was fitted on is the observed rate, unless `smoothing` is
    used.

    Limits: without smoothing, a bin where the event never or always occurred gives exactly 0 or 1, so one exception
    makes the log loss infinite. If all scores are equal, they become the base rate.

    The calibration map is `edges`, the inner ones in ascending order, `rates` of the bins and `occupied`, 0 for an
    empty bin and 1 otherwise: p' = rates[b] if occupied[b] else p, where b is the number of edges below p. Fitted from
    cells, quantile edges are upper ends of cells; uniform bins must consist of whole cells, which is checked.

    Parameters
    ----------
    input : {"probabilities", "logits", "scores"}
        The scale of X. Logits are binned as probabilities. Scores have quantile bins only, the outermost without end;
        there is no edge at the largest score, because a bin above it would be empty.
    n_bins : int
        The number of bins; there are fewer quantile bins where boundaries coincide.
    strategy : {"quantile", "uniform"}
        Bins of equal weight, or of equal width.
    smoothing : float
        The number of events, and of non-events, added to each bin: 1 is Laplace's rule, 1/2 Jeffreys'. The scale of the
        weights then matters.
    classes : sequence, optional
        The labels in the order of the columns. K > 2 classes are recalibrated one against the rest, and rows are then
        divided by their sums.

    References
    ----------
    Zadrozny and Elkan (2001), ICML.

    Examples
    --------
    >>> scores, outcomes = [0.1, 0.4, 0.35, 0.8] * 50, [0, 0, 1, 1] * 50
    >>> halves = HistogramBinning(n_bins=2).fit(scores, outcomes)
    >>> halves.transform([0.2, 0.35, 0.36, 0.9])
    array([0.5, 0.5, 0.5, 0.5])
    >>> tenths = HistogramBinning(n_bins=10, strategy="uniform").fit(scores, outcomes)
    >>> tenths.transform([0.1, 0.32, 0.6, 0.75])
    array([0. , 0.5, 0.6, 1. ])
    """

    inputs: ClassVar[tuple[Input, ...]] = ("probabilities", "logits", "scores")
    fields: ClassVar[dict[str, Field]] = {
        "edges": Vector(order=2, fewest=0),
        "rates": Vector(0, 1),
        "occupied": Vector(0, 1),
    }

    def __init__(
        self,
        *,
        input: Input = "probabilities",
        n_bins: int = 10,
        strategy: Strategy = "quantile",
        smoothing: float = 0.0,
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.input = input
        self.n_bins = n_bins
        self.strategy = strategy
        self.smoothing = smoothing
        self.classes = classes

    def _check_settings(self) -> None:
        super()._check_settings()
        _check.positive_integer(self.n_bins, "n_bins", 1, MAX_BINS)
        _check.choice(self.strategy, ("quantile", "uniform"), "strategy")
        _check.number(self.smoothing, "smoothing", 0, _check.HEAVIEST_WEIGHT)
        if self.input == "scores" and self.strategy == "uniform":
            raise InputError("scores have no fixed range to divide into uniform bins: use strategy='quantile'")

    def _learn_map(self, scores: Scores, w: Float64s, wy: Float64s) -> Map:
        x = scores.highest() if scores.ends is not None and self.strategy == "quantile" else _binned(scores)
        edges = self._inner_edges(x, None if w.strides == (0,) else w)  # equal weights are the same as none
        if scores.ends is not None and self.strategy == "uniform":
            _refuse_split_cells(scores.ends, edges)
        index = _kernels.edges_below(x, edges)
        weight, events = (np.bincount(index, terms, len(edges) + 1) for terms in (w, wy))
        occupied = weight > 0
        weight = np.where(occupied, weight + 2 * self.smoothing, 1)
        rates = np.where(occupied, np.minimum((events + self.smoothing) / weight, 1), 0)
        return {"edges": edges, "rates": rates, "occupied": occupied.astype(np.float64)}

    def _inner_edges(self, x: Floats, weights: Float64s | None) -> Float64s:
        if self.strategy == "uniform":
            return Edges.uniform(self.n_bins).as_array()[1:-1].astype(np.float64)
        if self.input == "scores":
            return inner_quantiles(x, weights, self.n_bins)
        return Edges.quantile(x, self.n_bins, weights).as_array()[1:-1].astype(np.float64)

    def _apply_map(self, fitted: Map, scores: Scores) -> Float64s:
        x = _binned(scores)
        index = _kernels.edges_below(x, fitted["edges"])
        return np.asarray(np.where(fitted["occupied"][index] == 1, fitted["rates"][index], x))

    def _check_map(self, fitted: Map, n_classes: int) -> None:
        edges, rates, occupied = fitted["edges"], fitted["rates"], fitted["occupied"]
        if not len(edges) + 1 == len(rates) == len(occupied):
            raise SchemaError("there must be one more of the saved rates and occupied than of the edges")
        if not np.isin(occupied, (0, 1)).all() or (self.input == "scores" and not occupied.all()):
            raise SchemaError("the saved occupied must be 0 or 1, and 1 for every bin of scores")


def _refuse_split_cells(ends: tuple[Float64s, Float64s], edges: Float64s) -> None:
    """Raise if an edge lies inside a cell, because its rows would be on both sides."""
    low, high = ends
    inside = 0.01 * (high - low)  # less may be rounding to float32
    if np.any(_kernels.edges_below(low + inside, edges) != _kernels.edges_below(high - inside, edges)):
        raise UndefinedError(
            f"{len(edges) + 1} uniform bins do not consist of whole cells: count in uniform cells whose number is a "
            "multiple of the number of bins, or use strategy='quantile'"
        )


def _binned(scores: Scores) -> Floats:
    """Return what is binned: probabilities for logits, otherwise the scores in their own type."""
    return scores.probability() if scores.input == "logits" else scores.values


def inner_quantiles(x: Floats, weights: Float64s | None, n_bins: int) -> Float64s:
    """Return the boundaries of bins of equal weight, except at the largest number; see `Edges.quantile`."""
    order = np.argsort(x, kind="stable")
    reached = _kernels.running_sum(np.ones(len(x)) if weights is None else weights[order])
    edges = np.unique(x[order[_kernels.quantile_positions(reached, n_bins)]]).astype(np.float64)
    return np.asarray(edges[edges < x[order[-1]]])
