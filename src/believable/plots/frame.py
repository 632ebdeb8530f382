"""Shared code of the plots of curves: the scores, read once, and the frame that a curve is drawn in."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from believable import _check
from believable._types import Float64s, Ints, Notion
from believable.errors import InputError
from believable.plots.room import StayInCell, is_own, legend_outside, scale_of, width_right_of, wrapped
from believable.plots.style import GREY, INK, axis_labels, figure_of, new_figure, plain, save
from believable.stats.points import Points, PointStats
from believable.stats.source import count_points, one_stratum, source_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from believable.curves import Curve

MAX_POINTS_DRAWN = 2000  # points of a line; more would not be visible
MAX_TITLE_LINES_IN_SMALL_PANEL = 3
SMALL_SCORES_END = 0.25  # if no score and hardly any rate is above this, the frame ends before 1
SMALLEST_AXIS = 1e-300  # shorter axes end here, because powers of ten below are not exact, and none is below 1e-323
ROUND_MULTIPLES = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """One stratum of scores at their distinct values: all that the curves of a picture read.

    Attributes
    ----------
    stats : PointStats
        Curves and metrics take it in place of the predictions.
    dtype : str
        The type that the scores came in.
    """

    stats: PointStats
    dtype: str

    @classmethod
    def of(
        cls,
        predictions: Any,
        actuals: Any = None,
        sample_weight: Any = None,
        notion: Notion | None = None,
        r: int | None = None,
        what: str = "this picture",
    ) -> Gathered:
        """Gather what a picture was called with."""
        source = source_of(predictions, actuals, sample_weight)
        stats = count_points(source, notion=notion, r=r)
        return cls(PointStats(stats.view, (one_stratum(stats, what),)), source.score_type.name)

    @property
    def points(self) -> Points:
        """Return the only stratum."""
        return self.stats.strata[0]

    @property
    def notion(self) -> str:
        """Return which pairs of scores and outcomes these are, and "confidence" for confidences in answers."""
        return self.stats.view.about

    @property
    def n(self) -> int:
        """Return the number of pairs."""
        return int(self.points.n.sum())


def frame_end(asked: float | None, score: Float64s, rate: Float64s, weight: Float64s) -> float:
    """Return where the axes end: where asked; else at 1, or at a round number above small scores and 99 % of the rates.

    The rates of the last hundredth may be anything: in rare events an isotonic curve often ends with one lone hit.
    """
    if asked is not None:
        if _check.number(asked, "limit", 0, 1) == 0:
            raise InputError("{argument} must be above 0: it is where the axes end", argument="limit")
        return float(asked)
    order = np.argsort(rate, kind="stable")
    reached = np.cumsum(weight[order])
    common = rate[order][np.searchsorted(reached, 0.99 * reached[-1])]
    top = float(max(score[-1], common))
    return 1.0 if top > SMALL_SCORES_END else next_round_number(1.02 * top)


def next_round_number(value: float) -> float:
    """Return the next round number above a value; 1 for 0."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(max(value, SMALLEST_AXIS)))
    return float(f"{min(m for m in ROUND_MULTIPLES if m * power >= value * (1 - 1e-12)) * power:.3g}")


def decimals(value: float) -> int:
    """Return how many decimals show three digits of a value; at least 3."""
    return 3 if not 0 < value < 0.1 else min(3 - math.ceil(math.log10(value)), 8)


def draw_diagonal(ax: Axes) -> None:
    """Draw the line on which calibrated scores lie."""
    ax.plot([0, 1], [0, 1], ls=(0, (4, 3)), lw=1, color=GREY, zorder=2, label="Perfect calibration")


def square_frame(ax: Axes, notion: str, limit: float, *, binned: bool = False) -> None:
    """Set up equal axes, of scores and of rates."""
    x_label, y_label = axis_labels(notion, binned=binned)
    ax.set(xlim=(0, limit), ylim=(0, limit), xlabel=x_label, ylabel=y_label)
    # Room below is left for the histogram; next to other panels, room to the right is left for title and legend.
    ax.set_aspect("equal", adjustable="box", anchor="N" if is_own(ax) else "NW")
    plain(ax)


def draw_band(ax: Axes, x: Float64s, low: Float64s, high: Float64s, colour: str, label: str, alpha: float) -> None:
    """Draw a band between two lines; a bar where there is one score only."""
    if len(x) == 1:
        ax.vlines(x, low, high, color=colour, alpha=alpha, lw=8, zorder=1, label=label)
        return
    at = spread(len(x))
    ax.fill_between(x[at], low[at], high[at], color=colour, alpha=alpha, lw=0, zorder=1, label=label)


def band_in_words(curve: Curve) -> str:
    """Return the level of a curve's band, and whether it holds for the whole curve."""
    whole = "simultaneous " if curve.settings.get("band") == "simultaneous" else ""
    return f"{100 * curve.settings['level']:.4g} % {whole}confidence band"


def draw_intervals(
    ax: Axes, at: Sequence[float], low: Any, middle: Any, high: Any, colour: str, label: str, ends: tuple[float, float]
) -> None:
    """Draw horizontal intervals with a dot each, cut at the ends of the axis."""
    low, middle, high = (np.clip(np.asarray(part, np.float64), *ends) for part in (low, middle, high))
    ax.hlines(at, low, high, color=colour, lw=1.6, zorder=4)
    ax.plot(middle, at, "o", ms=4.5, color=colour, zorder=5, clip_on=False)  # many lie at 0, on the frame
    ax.plot([], [], "o-", ms=4.5, lw=1.6, color=colour, label=label)


def beside(ax: Axes, y: float, words: str, colour: str, points: float) -> None:
    """Write words to the right of an ax, ending at a distance from it in points."""
    ax.annotate(
        words,
        (1, y),
        xycoords=("axes fraction", "data"),
        xytext=(points * scale_of(ax), 0),
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=9 * scale_of(ax),
        color=colour,
        annotation_clip=False,
    )


def inside(ax: Axes, y: float, words: str) -> None:
    """Write words in place of something that could not be drawn."""
    ax.annotate(
        words,
        (0.02, y),
        xycoords=("axes fraction", "data"),
        va="center",
        fontsize=8 * scale_of(ax),
        color=GREY,
        style="italic",
    )


def axis_above(ax: Axes, at: Any, labels: Sequence[str], name: str) -> None:
    """Put a second axis above an ax, with labels of its own."""
    scale = scale_of(ax)
    above = ax.secondary_xaxis("top")
    above.set_xticks(at, labels)
    above.set_xlabel(name, fontsize=9 * scale, color=INK)
    above.tick_params(colors=INK, labelsize=9 * scale, color=GREY)
    above.spines["top"].set_visible(False)


def spread(n: int, *also: int) -> Ints:
    """Return at most some 2,000 of n positions in order, both ends and `also` among them."""
    evenly = np.linspace(0, n - 1, min(n, MAX_POINTS_DRAWN)).astype(np.int64)
    return np.union1d(evenly, np.array(also, np.int64))


def headed(ax: Axes, *lines: str | None, pad: float | None = None) -> None:
    """Write these lines, but for empty ones, as a title above the left end; one that is too wide goes on below.

    In a small panel the last of them are left out, where they would take too much of its height.
    """
    size, width = 10.5 * scale_of(ax), width_right_of(ax)
    given = "\n".join(filter(None, lines)).split("\n")
    text = wrapped(ax, "\n".join(given), size, width)
    while scale_of(ax) < 1 and len(given) > 1 and text.count("\n") >= MAX_TITLE_LINES_IN_SMALL_PANEL:
        del given[-1]
        text = wrapped(ax, "\n".join(given), size, width)
    ax.set_title(text, fontsize=size, color=INK, loc="left", pad=pad)


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """Where a picture goes: the caller's ax or one on a new figure, a first line for its title, and a file.

    Attributes
    ----------
    ax : matplotlib Axes
        The ax to draw on.
    own : bool
        Whether the figure was made for it.
    title : str or None
        The first line of the title.
    save_path : path or None
        The file to save to.
    """

    ax: Axes
    own: bool
    title: str | None
    save_path: str | os.PathLike[str] | None

    @classmethod
    def on(
        cls,
        ax: Axes | None,
        title: str | None,
        save_path: str | os.PathLike[str] | None,
        *,
        size: tuple[float, float],
    ) -> Drawing:
        """Take the caller's ax, or make a figure of that size in inches; one that is saved need not be shown."""
        if ax is not None:
            return cls(ax, False, title, save_path)
        return cls(new_figure(*size, shown=save_path is None).subplots(), True, title, save_path)

    def finished(
        self,
        *lines: str,
        under: Axes | None = None,
        columns: int = 2,
        legend: bool = True,
        pad: float | None = None,
    ) -> Figure:
        """Set the title, put the legend below (below `under`, where that hangs there), save, and return the figure."""
        if self.title or lines:
            headed(self.ax, self.title, *lines, pad=pad)
        if legend:
            legend_outside(self.ax, under, columns)
        if not is_own(self.ax) and self.ax.get_axes_locator() is None:
            self.ax.set_axes_locator(StayInCell(self.ax))
        figure = figure_of(self.ax)
        save(figure, self.save_path)
        return figure
