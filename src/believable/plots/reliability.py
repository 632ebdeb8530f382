"""The reliability diagram: what was predicted against what happened."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from believable import _check
from believable._types import Float64s, Notion, Strategy
from believable.curves import ReliabilityTable
from believable.curves.binned import table_of
from believable.errors import InputError
from believable.metrics.binned_error import binned_error
from believable.metrics.scorer import predictions_of
from believable.plots.frame import Drawing, Gathered, frame_end
from believable.plots.histogram import HISTOGRAM_BINS, ScoreHistogram, hang_histogram
from believable.plots.style import (
    GREY,
    INK,
    TOO_HIGH,
    TOO_LOW,
    axis_labels,
    plain,
    thousands,
)
from believable.stats import BinStats
from believable.stats.source import (
    TEN,
    UNIFORM,
    BinsAsked,
    Source,
    count_asked,
    has_bins,
    not_empty,
    rows_in,
    source_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Corner = Literal["upper left", "lower right"]


@dataclass(frozen=True, slots=True, eq=False)
class Reliability:
    """What a reliability diagram shows.

    Attributes
    ----------
    table : ReliabilityTable
    ece, mce : float
        The errors of the same bins.
    notion, strategy : str
    histogram : ReliabilityTable
        Bins of equal width for the histogram of scores; the table itself where only a statistic was given.
    """

    table: ReliabilityTable
    ece: float
    mce: float
    notion: str
    strategy: str
    histogram: ReliabilityTable

    @classmethod
    def of(cls, stats: BinStats, histogram: BinStats | None = None, level: float = 0.95) -> Reliability:
        """Read it off a statistic with one stratum."""
        not_empty(stats)
        table = table_of(stats, level)
        return cls(
            table=table,
            ece=binned_error(stats),
            mce=binned_error(stats, "max"),
            notion=stats.view.notion,
            strategy=stats.strategy,
            histogram=table if histogram is None else table_of(histogram, level),
        )


def draw_reliability(value: Reliability, ax: Axes, *, legend: bool = True, limit: float = 1.0) -> Axes:
    """Draw the diagonal, the bins at their mean score with interval, and the gaps between them and the diagonal."""
    table = value.table
    full = table.n > 0
    x, y = table.conf[full], table.acc[full]
    ax.plot([0, 1], [0, 1], ls=(0, (4, 3)), lw=1, color=GREY, zorder=1, label="perfect calibration")
    for colour, words, here in ((TOO_HIGH, "scores too high", y < x), (TOO_LOW, "scores too low", y > x)):
        if here.any():
            ax.vlines(x[here], x[here], y[here], color=colour, alpha=0.45, lw=5, zorder=2, label=words)
    reach = np.abs(np.stack([y - table.low[full], table.high[full] - y]))
    ax.errorbar(
        x,
        y,
        yerr=reach,
        fmt="o-",
        ms=4.5,
        lw=1.2,
        elinewidth=1,
        capsize=2.5,
        color=INK,
        ecolor=INK,
        zorder=3,
        clip_on=limit < 1,  # rates of 0 and 1 lie on the frame
        label=f"mean of bin, {100 * table.level:.0f} % interval",
    )
    x_label, y_label = axis_labels(value.notion)
    ax.set(xlim=(0, limit), ylim=(0, limit), xlabel=x_label, ylabel=y_label)
    ax.set_aspect("equal", adjustable="box", anchor="N")  # what hangs below has the room
    plain(ax)
    if legend:
        corner = _free_corner(x, y, table.low[full], table.high[full], limit)
        ax.legend(loc=corner or "upper left", fontsize=8, frameon=corner is None, framealpha=0.85, edgecolor="none")
    return ax


def _free_corner(x: Float64s, y: Float64s, low: Float64s, high: Float64s, limit: float) -> Corner | None:
    """Where the legend hides nothing: above the diagonal at the left, below it at the right, or None."""
    at = np.linspace(0, limit, 101)
    line = np.interp(at, x, y, left=np.nan, right=np.nan)
    left, right = (at < 0.58 * limit, x < 0.58 * limit), (at > 0.42 * limit, x > 0.42 * limit)
    if not (line[left[0]] > 0.74 * limit).any() and not (high[left[1]] > 0.74 * limit).any():
        return "upper left"
    if not (line[right[0]] < 0.26 * limit).any() and not (low[right[1]] < 0.26 * limit).any():
        return "lower right"
    return None


def title_of(value: Reliability) -> str:
    """The errors, then what they were computed from."""
    bins = f"{len(value.table)} {value.strategy} bins"
    empty = int((value.table.n == 0).sum())
    occupied = f", {empty} empty" if empty else ""
    return f"ECE {value.ece:.3f}   MCE {value.mce:.3f}\nn = {thousands(int(value.table.n.sum()))}, {bins}{occupied}"


def plot_reliability_diagram(
    predictions: Any,
    actuals: Any = None,
    n_bins: int = TEN,
    strategy: Strategy = UNIFORM,
    save_path: str | os.PathLike[str] | None = None,
    show_histogram: bool = True,
    *,
    ax: Axes | None = None,
    notion: Notion | None = None,
    r: int | None = None,
    threshold: float | None = None,
    pooled: bool = False,
    level: float = 0.95,
    sample_weight: Any = None,
    edges: Any = None,
    limit: float | None = None,
    title: str | None = None,
) -> Figure:
    """Reliability diagram with the interval of every bin and a histogram of the scores below.

    Points below the diagonal are scores that are too high. A bin whose interval crosses the diagonal may owe its gap to
    chance.

    Parameters
    ----------
    predictions, actuals, n_bins, strategy, notion, r, threshold, pooled, sample_weight, edges
        As in `expected_calibration_error`; the notion must have one curve (see `plot_classwise_reliability`).
    save_path : path, optional
        Where to save the picture: PNG, SVG, PDF, by its ending.
    show_histogram : bool
        Whether the spread of the scores hangs below.
    ax : matplotlib Axes, optional
        Draw here instead of on a new figure; the histogram hangs below it, so leave room or use a layout engine.
    level : float
        Of the intervals.
    limit : float, optional
        Where the axes end. Left out: at 1, or at a round number above the bins where all scores are small.
    title : str, optional
        A first line for the title.

    Returns
    -------
    matplotlib Figure
        Made outside pyplot, so nothing has to be closed; show it in a notebook or save it.

    Notes
    -----
    `plot_reliability_diagram.from_estimator` draws that of a fitted scikit-learn classifier.

    Examples
    --------
    >>> figure = plot_reliability_diagram([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], n_bins=5)
    >>> print(figure.axes[0].get_title("left"))
    ECE 0.150   MCE 0.200
    n = 4, 5 uniform bins, 2 empty
    """
    _check.choice(show_histogram, (True, False), "show_histogram")
    source = source_of(predictions, actuals, sample_weight)
    asked = BinsAsked(n_bins, strategy, notion, r, threshold, pooled, edges)
    stats = count_asked(source, asked)
    one_curve(stats)
    histogram = None
    rows = rows_in(source)
    if show_histogram and has_bins(source, HISTOGRAM_BINS):
        histogram = count_asked(source, asked._replace(n_bins=HISTOGRAM_BINS, strategy=UNIFORM, edges=None))
    value = Reliability.of(stats, histogram, level)

    full = value.table.n > 0
    end = frame_end(limit, value.table.conf[full], value.table.acc[full], value.table.weight[full])
    drawing = Drawing.on(ax, title, save_path, size=(4.8, 6.0 if show_histogram else 4.9))
    draw_reliability(value, drawing.ax, limit=end)
    if show_histogram:
        finer = end < 1 and rows is not None and threshold is None and not pooled
        hang_histogram(_up_to(end, source, notion, r) if finer else value.histogram, drawing.ax)
    return drawing.finished(title_of(value), legend=False)


def _up_to(end: float, source: Source, notion: Notion | None, r: int | None) -> ScoreHistogram:
    """A histogram of the scores that are shown, where the axes end before 1."""
    gathered = Gathered.of(source, notion=notion, r=r)
    return ScoreHistogram.of(gathered.points, gathered.dtype, end)


def one_curve(stats: BinStats) -> None:
    """Raise for a notion with several curves."""
    if stats.view.n_strata > 1:
        raise InputError(
            "{notion=} has {n_strata} curves: use plot_classwise_reliability, or pooled=True for a common one",
            notion=stats.view.notion,
            argument="notion",
            n_strata=stats.view.n_strata,
        )


def from_estimator(estimator: Any, X: Any, y: Any, *, sample_weight: Any = None, **options: Any) -> Figure:
    """The diagram of a fitted scikit-learn classifier on data X, y; options are those of `plot_reliability_diagram`."""
    return plot_reliability_diagram(predictions_of(estimator, X, y, sample_weight), **options)


plot_reliability_diagram.from_estimator = from_estimator  # type: ignore[attr-defined]
