"""What the pictures of curves share: one set of scores, gathered once, and the frame a curve is drawn in."""

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
from believable.plots.style import GREY, INK, axis_labels, figure_of, new_figure, plain, save
from believable.stats.points import Points, PointStats
from believable.stats.source import count_points, one_stratum, source_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_POINTS_DRAWN = 2000  # of a line; more cannot be seen
SMALL_SCORES_END = 0.25  # if no score and hardly a rate is above, the frame ends before 1
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
        """The stratum."""
        return self.stats.strata[0]

    @property
    def notion(self) -> str:
        """Which pairs they are."""
        return self.stats.view.notion

    @property
    def n(self) -> int:
        """Pairs."""
        return int(self.points.n.sum())


def frame_end(asked: float | None, score: Float64s, rate: Float64s, weight: Float64s) -> float:
    """Where the axes end: where asked; else at 1, or at a round number above small scores and 99 % of their rates.

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
    """The next round number; 1 for 0."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return float(f"{min(m for m in ROUND_MULTIPLES if m * power >= value * (1 - 1e-12)) * power:.3g}")


def decimals(value: float) -> int:
    """How many show three digits of a value; at least 3."""
    return 3 if not 0 < value < 0.1 else min(3 - math.ceil(math.log10(value)), 8)


def draw_diagonal(ax: Axes) -> None:
    """Where calibrated scores lie."""
    ax.plot([0, 1], [0, 1], ls=(0, (4, 3)), lw=1, color=GREY, zorder=2, label="perfect calibration")


def square_frame(ax: Axes, notion: str, limit: float) -> None:
    """Scores against rates, on equal axes."""
    x_label, y_label = axis_labels(notion)
    ax.set(xlim=(0, limit), ylim=(0, limit), xlabel=x_label, ylabel=y_label)
    ax.set_aspect("equal", adjustable="box", anchor="N")  # what hangs below has the room
    plain(ax)


def draw_band(ax: Axes, x: Float64s, low: Float64s, high: Float64s, colour: str, label: str, alpha: float) -> None:
    """A band between two lines; a bar where there is one score only."""
    if len(x) == 1:
        ax.vlines(x, low, high, color=colour, alpha=alpha, lw=8, zorder=1, label=label)
        return
    at = spread(len(x))
    ax.fill_between(x[at], low[at], high[at], color=colour, alpha=alpha, lw=0, zorder=1, label=label)


def draw_intervals(
    ax: Axes, at: Sequence[float], low: Any, middle: Any, high: Any, colour: str, label: str, ends: tuple[float, float]
) -> None:
    """Horizontal intervals with a dot each, cut at the ends of the axis."""
    low, middle, high = (np.clip(np.asarray(part, np.float64), *ends) for part in (low, middle, high))
    ax.hlines(at, low, high, color=colour, lw=1.6, zorder=4)
    ax.plot(middle, at, "o", ms=4.5, color=colour, zorder=5, clip_on=False)  # many lie at 0, on the frame
    ax.plot([], [], "o-", ms=4.5, lw=1.6, color=colour, label=label)


def beside(ax: Axes, y: float, words: str, colour: str, points: float) -> None:
    """Words to the right of an ax, ending so many points from it."""
    ax.annotate(
        words,
        (1, y),
        xycoords=("axes fraction", "data"),
        xytext=(points, 0),
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=9,
        color=colour,
        annotation_clip=False,
    )


def inside(ax: Axes, y: float, words: str) -> None:
    """Words in place of something that could not be drawn."""
    ax.annotate(
        words,
        (0.02, y),
        xycoords=("axes fraction", "data"),
        va="center",
        fontsize=8,
        color=GREY,
        style="italic",
    )


def spread(n: int, *also: int) -> Ints:
    """At most some 2,000 of n positions in order, both ends and `also` among them."""
    evenly = np.linspace(0, n - 1, min(n, MAX_POINTS_DRAWN)).astype(np.int64)
    return np.union1d(evenly, np.array(also, np.int64))


def headed(ax: Axes, *lines: str | None, pad: float | None = None) -> None:
    """The title: these lines, but for empty ones, above the left end."""
    ax.set_title("\n".join(filter(None, lines)), fontsize=10.5, color=INK, loc="left", pad=pad)


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """Where a picture goes: the caller's ax or one on a new figure, a first line for its title, and a file.

    Attributes
    ----------
    ax : matplotlib Axes
    own : bool
        Whether the figure was made for it.
    title : str or None
    save_path : path or None
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
        """Take the caller's ax, or make a figure of that size in inches."""
        return cls(new_figure(*size).subplots() if ax is None else ax, ax is None, title, save_path)

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
            legend_below(self.ax, under, columns)
        figure = figure_of(self.ax)
        save(figure, self.save_path)
        return figure


def legend_below(ax: Axes, under: Axes | None = None, columns: int = 1) -> None:
    """The words of an ax, below it or below what hangs there: nothing that is drawn can lie under them."""
    from matplotlib.transforms import ScaledTranslation

    lowest = ax if under is None else under
    handles, labels = ax.get_legend_handles_labels()
    past_the_label = ScaledTranslation(0, -0.5, figure_of(ax).dpi_scale_trans)
    lowest.legend(
        handles,
        labels,
        loc="upper left",
        bbox_to_anchor=(0, 0),
        bbox_transform=lowest.transAxes + past_the_label,
        fontsize=8.5,
        frameon=False,
        ncols=columns,
        borderpad=0,
        borderaxespad=0,
    )
