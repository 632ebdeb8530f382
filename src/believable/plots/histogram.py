"""The confidence histogram: how sure the model is, against how often it is right."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from believable import kernels
from believable._types import Float64s
from believable.binning import Edges
from believable.errors import InputError
from believable.plots._frame import headed
from believable.plots._style import BAR, INK, TOO_HIGH, TOO_LOW, figure_of, new_figure, plain, save, thousands
from believable.predictions import Predictions, as_predictions
from believable.stats import ScoreSums

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, eq=False)
class ConfidenceHistogram:
    """The spread of confidences, with the two numbers they should agree with.

    Attributes
    ----------
    edges, share : ndarray
        Bins of equal width and the share of the weight in each.
    accuracy, mean_confidence : float
    n : int
    """

    edges: Float64s
    share: Float64s
    accuracy: float
    mean_confidence: float
    n: int

    @classmethod
    def of(cls, predictions: Predictions, n_bins: int = 20) -> ConfidenceHistogram:
        """Count the probability of the predicted class: max(p, 1 - p) for 1-D scores."""
        if predictions.kind == "multilabel":
            raise InputError("a confidence histogram needs one predicted class per row, not multilabel predictions")
        edges = Edges.uniform(n_bins, predictions.scores.dtype)
        weight = np.zeros(n_bins)
        scores = predictions.scores
        for rows in kernels.row_blocks(len(predictions), 1 if scores.ndim == 1 else scores.shape[1]):
            block = scores[rows]
            top = np.maximum(block, 1 - block) if block.ndim == 1 else block.max(axis=1)
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
    ax.axvline(value.accuracy, color=INK, lw=2, label=f"accuracy {value.accuracy:.3f}")
    ax.axvline(
        value.mean_confidence,
        color=TOO_HIGH if over else TOO_LOW,
        lw=2,
        ls=(0, (4, 2)),
        label=f"mean confidence {value.mean_confidence:.3f}",
    )
    ax.set(xlim=(0, 1), xlabel="confidence (probability of the predicted class)", ylabel="% of rows")
    ax.legend(loc="upper left", fontsize=9, frameon=False)
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
    """Histogram of confidences with the accuracy and the mean confidence, which calibration makes equal.

    Parameters
    ----------
    predictions, actuals, sample_weight
        As in `expected_calibration_error`.
    n_bins : int
        Bars of equal width between 0 and 1.
    save_path : path, optional
        Where to save the picture: PNG, SVG, PDF, by its ending.
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
    over-confident by 0.100, n = 4
    """
    value = ConfidenceHistogram.of(as_predictions(predictions, actuals, sample_weight), n_bins)
    figure = new_figure(5.2, 3.4) if ax is None else figure_of(ax)
    ax = draw_confidence_histogram(value, figure.subplots() if ax is None else ax)
    gap = value.mean_confidence - value.accuracy
    words = f"{'over' if gap > 0 else 'under'}-confident by {abs(gap):.3f}, n = {thousands(value.n)}"
    headed(ax, title, words)
    save(figure, save_path)
    return figure
