"""Histograms: of the scores, below a diagram, and of the confidences."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from believable import _kernels
from believable._types import Float64s
from believable.binning import Edges
from believable.curves import ReliabilityTable
from believable.decide.confidence import confidence
from believable.errors import InputError
from believable.plots.frame import Drawing
from believable.plots.models import style_of
from believable.plots.room import scale_of
from believable.plots.style import BAR, INK, TOO_HIGH, TOO_LOW, plain, thousands
from believable.predictions import Predictions, as_predictions
from believable.stats import ScoreSums
from believable.stats.source import Points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HISTOGRAM_BINS = 25


@dataclass(frozen=True, slots=True, eq=False)
class ScoreHistogram:
    """How the weight is spread over the scores.

    Attributes
    ----------
    edges : ndarray of shape (bins, 2)
        Lower (open) and upper (closed) end of each bin; the first also owns 0.
    weight : ndarray
        The weight in each bin.
    total : float
        The weight of all scores; more than that of the bins if they end before the largest score.
    """

    edges: Float64s
    weight: Float64s
    total: float

    @classmethod
    def of(cls, points: Points, dtype: Any, limit: float = 1.0) -> ScoreHistogram:
        """Count 25 bins of equal width from 0 to a limit, with edges rounded to the type of the scores."""
        edges = (
            (np.arange(HISTOGRAM_BINS + 1, dtype=np.float64) * limit / HISTOGRAM_BINS).astype(dtype).astype(np.float64)
        )
        index = np.searchsorted(edges[1:], points.score, side="left")
        weight = np.bincount(index, points.w, HISTOGRAM_BINS + 1).astype(np.float64)
        return cls(np.column_stack([edges[:-1], edges[1:]]), weight[:HISTOGRAM_BINS], float(points.total))


def draw_score_histogram(
    table: ReliabilityTable | ScoreHistogram | Sequence[ReliabilityTable | ScoreHistogram], ax: Axes
) -> Axes:
    """Draw how the weight is spread over the scores: shares for bins of equal width, density otherwise.

    Those of several models are outlines, in the colours of the models.
    """
    tables = [table] if isinstance(table, (ReliabilityTable, ScoreHistogram)) else list(table)
    widths = [np.diff(one.edges, axis=1).ravel() for one in tables]
    shares = [one.weight / (one.total if isinstance(one, ScoreHistogram) else one.weight.sum()) for one in tables]
    equal = all(bool(np.allclose(width, widths[0][0], atol=0, rtol=1e-4)) for width in widths)
    for i, (one, width, share) in enumerate(zip(tables, widths, shares, strict=True)):
        height = 100 * share if equal else share / np.where(width > 0, width, np.inf)
        if len(tables) == 1:
            ax.bar(one.edges[:, 0], height, width, align="edge", color=BAR, edgecolor="white", lw=0.5)
        else:
            style = style_of(i)
            ends = np.append(one.edges[:, 0], one.edges[-1, 1])
            ax.stairs(height, ends, baseline=None, color=style.colour, lw=1.1, ls=style.dashes, zorder=3 - 0.05 * i)
    ax.set_ylim(bottom=0)
    ax.set(xlim=(0, max(one.edges[-1, 1] for one in tables)), ylabel="% of rows" if equal else "Density")
    plain(ax)
    return ax


def hang_histogram(
    table: ReliabilityTable | ScoreHistogram | Sequence[ReliabilityTable | ScoreHistogram],
    ax: Axes,
    *,
    drop: float = 0.29,
) -> Axes:
    """Draw the histogram below an ax, on the same scores; the label of the scores moves down to it."""
    limits = ax.get_xlim()
    tables = [table] if isinstance(table, (ReliabilityTable, ScoreHistogram)) else list(table)
    below = ax.inset_axes((0, -drop, 1, drop - 0.07), sharex=ax)  # as wide as the diagram, whatever its aspect
    draw_score_histogram(tables, below)
    ax.set_xlim(limits)
    scale = scale_of(ax)
    below.tick_params(labelsize=9 * scale)
    below.set_xlabel(ax.get_xlabel(), fontsize=10 * scale)
    below.set_ylabel(below.get_ylabel() if scale == 1 else "%", fontsize=10 * scale)
    below.locator_params(axis="y", nbins=3 if scale == 1 else 2)
    ax.set_xlabel("")
    ax.tick_params(labelbottom=False)
    return below


# --- confidences, with the accuracy that they should agree with -------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class ConfidenceHistogram:
    """The spread of confidences, with the two numbers they should agree with.

    Attributes
    ----------
    edges, share : ndarray
        Bins of equal width and the share of the weight in each.
    accuracy, mean_confidence : float
        The two numbers, which calibration makes equal.
    n : int
        The number of rows.
    """

    edges: Float64s
    share: Float64s
    accuracy: float
    mean_confidence: float
    n: int

    @classmethod
    def of(cls, predictions: Predictions, n_bins: int = 20) -> ConfidenceHistogram:
        """Count the probability of the predicted class: of 1-D scores max(p, 1 - p), but p where they are pairs."""
        if predictions.kind == "multilabel":
            raise InputError("a confidence histogram needs one predicted class per row, not multilabel predictions")
        edges = Edges.uniform(n_bins, predictions.scores.dtype)
        weight = np.zeros(n_bins)
        scores = predictions.scores
        for rows in _kernels.row_blocks(len(predictions), 1 if scores.ndim == 1 else scores.shape[1]):
            block = scores[rows]
            top = confidence(block, predictions.are_pairs)
            part = None if predictions.weights is None else predictions.weights[rows]
            weight += np.bincount(edges.assign(top), part, n_bins)
        sums = ScoreSums.of(predictions)
        return cls(
            np.array(edges.values), weight / weight.sum(), sums.correct / sums.w, sums.confidence / sums.w, sums.n
        )


def draw_confidence_histogram(value: ConfidenceHistogram, ax: Axes) -> Axes:
    """Draw the histogram, and lines at the accuracy and the mean confidence."""
    ax.bar(
        value.edges[:-1], 100 * value.share, np.diff(value.edges), align="edge", color=BAR, edgecolor="white", lw=0.5
    )
    over = value.mean_confidence > value.accuracy
    ax.axvline(value.accuracy, color=INK, lw=2, label=f"Accuracy {value.accuracy:.3f}")
    ax.axvline(
        value.mean_confidence,
        color=TOO_HIGH if over else TOO_LOW,
        lw=2,
        ls=(0, (4, 2)),
        label=f"Mean confidence {value.mean_confidence:.3f}",
    )
    ax.set(xlim=(0, 1), xlabel="Confidence (probability of the predicted class)", ylabel="% of rows")
    plain(ax)
    return ax


def plot_confidence_histogram(
    predictions: Any,
    actuals: Any = None,
    n_bins: int = 20,
    save_path: str | os.PathLike[str] | None = None,
    *,
    ax: Axes | None = None,
    sample_weight: Any = None,
    title: str | None = None,
) -> Figure:
    """Draw a histogram of confidences, with the accuracy and the mean confidence, which calibration makes equal.

    Parameters
    ----------
    predictions, actuals, sample_weight
        As in `expected_calibration_error`.
    n_bins : int
        Bars of equal width between 0 and 1.
    save_path : path, optional
        Where to save the plot; the ending (.png, .svg or .pdf) decides the format.
    ax : matplotlib Axes, optional
        Draw here instead of on a new figure.
    title : str, optional
        A first line for the title.

    Returns
    -------
    matplotlib Figure

    References
    ----------
    Guo, Pleiss, Sun, Weinberger (2017), ICML, figure 1.

    Examples
    --------
    >>> figure = plot_confidence_histogram([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 0])
    >>> print(figure.axes[0].get_title("left"))
    Over-confident by 0.100, n = 4
    """
    value = ConfidenceHistogram.of(as_predictions(predictions, actuals, sample_weight), n_bins)
    drawing = Drawing.on(ax, title, save_path, size=(5.2, 3.7))
    draw_confidence_histogram(value, drawing.ax)
    gap = value.mean_confidence - value.accuracy
    words = f"{'Over' if gap > 0 else 'Under'}-confident by {abs(gap):.3f}, n = {thousands(value.n)}"
    return drawing.finished(words)
