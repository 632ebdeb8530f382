"""Which scores a sample of uncertain rows was taken from."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from believable._types import Float64s, Ints
from believable.decide.confidence import checked_scores, given_as_pairs
from believable.decide.sampling import SampleBy, sampled, sureness
from believable.plots.frame import Drawing
from believable.plots.style import BAR, FLAG, INK, plain, thousands

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SAMPLE_HISTOGRAM_BINS = 40
AXIS_LABEL_OF_STRATEGY = {
    "margin": "Margin: largest probability minus the second",
    "entropy": "Entropy, in nats",
    "confidence": "Confidence: largest probability",
}


@dataclass(frozen=True, slots=True, eq=False)
class SampledScores:
    """How many rows there are at each score, and how many of them were sampled.

    Attributes
    ----------
    edges : ndarray
        The edges of 40 bins of equal width; each owns its upper edge, the first also its lower one.
    n, unsure, drawn : ndarray of int
        Rows in each bin: all, those sampled as least sure, and those drawn at random.
    x_label : str
        What the scores are: P(y = 1) for one event; margin, entropy or confidence for classes.
    """

    edges: Float64s
    n: Ints
    unsure: Ints
    drawn: Ints
    x_label: str

    @classmethod
    def of(
        cls,
        predictions: Any,
        n: int,
        strategy: SampleBy = "margin",
        random_share: float = 0.0,
        random_state: Any = None,
    ) -> SampledScores:
        """Sample as `uncertainty_sample` does, and count."""
        scores, pairs = checked_scores(predictions), given_as_pairs(predictions)
        unsure, drawn = sampled(scores, n, strategy, random_share, random_state, pairs)
        if scores.ndim == 1:
            x, top = scores.astype(np.float64), 1.0
            x_label = AXIS_LABEL_OF_STRATEGY["confidence"] if pairs else "Predicted probability"
        else:
            x, top, x_label = sureness(scores, strategy, pairs), 1.0, AXIS_LABEL_OF_STRATEGY[strategy]
        if scores.ndim == 2 and strategy == "entropy":
            x, top = np.maximum(-x, 0.0), float(np.log(scores.shape[1]))
        edges = np.arange(SAMPLE_HISTOGRAM_BINS + 1, dtype=np.float64) * top / SAMPLE_HISTOGRAM_BINS
        bins = np.clip(np.searchsorted(edges, x, side="left") - 1, 0, SAMPLE_HISTOGRAM_BINS - 1)
        everyone, first, second = (
            np.bincount(bins[rows], minlength=SAMPLE_HISTOGRAM_BINS) for rows in (slice(None), unsure, drawn)
        )
        return cls(edges, everyone, first, second, x_label)


def draw_uncertainty_sample(value: SampledScores, ax: Axes) -> Axes:
    """Draw the histogram of all rows, the sampled ones at its foot."""
    width = np.diff(value.edges)
    parts = [(value.unsure, FLAG, "Sampled: least certain"), (value.drawn, INK, "Sampled: at random")]
    left = value.n - value.unsure - value.drawn
    bottom = np.zeros(len(width))
    for count, colour, words in (*parts, (left, BAR, "Not sampled")):
        if count.sum():
            label = f"{words} ({thousands(int(count.sum()))})"
            ax.bar(
                value.edges[:-1],
                count,
                width,
                bottom,
                align="edge",
                color=colour,
                edgecolor="white",
                lw=0.4,
                label=label,
            )
        bottom = bottom + count
    ax.set(xlim=(0, value.edges[-1]), xlabel=value.x_label, ylabel="Rows")
    plain(ax)
    return ax


def plot_uncertainty_sample(
    predictions: Any,
    n: int,
    save_path: str | os.PathLike[str] | None = None,
    *,
    strategy: SampleBy = "margin",
    random_share: float = 0.0,
    random_state: Any = None,
    ax: Axes | None = None,
    title: str | None = None,
) -> Figure:
    """Draw a histogram of the scores, with the rows that `uncertainty_sample` takes marked.

    For one event the scores are P(y = 1), and the sample lies around 1/2; for classes they are the measure of certainty
    that the strategy uses.

    Parameters
    ----------
    predictions, n, strategy, random_share, random_state
        As in `uncertainty_sample`; the same integer random_state gives the same rows.
    save_path : path, optional
        Where to save the plot; the ending (.png, .svg or .pdf) decides the format.
    ax : matplotlib Axes, optional
        Draw here instead of on a new figure.
    title : str, optional
        A first line for the title.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> figure = plot_uncertainty_sample(np.random.default_rng(0).random(500), 50, random_state=0)
    >>> figure.axes[0].get_title("left")
    '50 of 500 rows sampled'
    """
    value = SampledScores.of(predictions, n, strategy, random_share, random_state)
    drawing = Drawing.on(ax, title, save_path, size=(6.0, 4.2))
    draw_uncertainty_sample(value, drawing.ax)
    taken = int(value.unsure.sum() + value.drawn.sum())
    words = f"{thousands(taken)} of {thousands(int(value.n.sum()))} rows sampled"
    return drawing.finished(words)
