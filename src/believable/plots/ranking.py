"""A risk-aware ranking: the first rows with their intervals, and where each came from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from believable import _check
from believable._check import renamed
from believable._types import Ints
from believable.decide.ranking import Ranking, risk_aware_rank
from believable.errors import InputError
from believable.plots.frame import Drawing
from believable.plots.room import cell_of, scale_of
from believable.plots.style import FLAG, GREY, INK, TOO_LOW, figure_of, plain, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INCHES_PER_ROW = 0.24
MAX_ROW_NAME_LENGTH = 18
LINES_BESIDE_AX = (-1.8, -0.1)  # where the lines between the two orders lie, in inches from the ax
LINES_IN_SMALL_PANEL = (-0.6, -0.05)
ROWS_PER_INCH_IN_SMALL_PANEL = 8


def first_rows(value: Ranking, most: int, query: int = 0) -> Ints:
    """Return the first rows of a query, best first."""
    order = value.order[value.query[value.order] == query]
    return np.asarray(order[:most])


def draw_ranking(value: Ranking, ax: Axes, rows: Ints, names: Sequence[Any] | None = None) -> Axes:
    """Draw score, interval and adjusted score of the first rows of a query; to the left, how the order changed."""
    rank = value.rank[rows]
    ax.hlines(rank, value.low[rows], value.high[rows], color=GREY, lw=1.6, zorder=2)
    of = "Interval" if value.by == "interval" else "± 1 standard deviation"
    ax.plot([], [], lw=1.6, color=GREY, label=of)
    ax.plot(value.scores[rows], rank, "o", ms=5.5, mfc="white", mec=INK, zorder=3, label="Score")
    label = f"Ranked by this (aversion {value.aversion:g})"
    ax.plot(value.adjusted[rows], rank, "|", ms=11, mew=2.4, color=INK, zorder=4, label=label)
    ax.set(ylim=(len(rows) + 0.6, 0.4), xlabel="Score")
    ax.set_yticks([])
    plain(ax)
    ax.spines["left"].set_visible(False)
    _draw_slopes(value, ax, rows, names)
    return ax


def _draw_slopes(value: Ranking, ax: Axes, rows: Ints, names: Sequence[Any] | None) -> None:
    """Draw lines from the places by score alone to the places now, with the names of both orders at either side."""
    beside = _to_the_left(ax)
    same_query = np.flatnonzero(value.query == value.query[rows[0]])
    was, now = value.plain_rank, value.rank
    colours = set()
    for row in same_query[np.minimum(was, now)[same_query] <= len(rows)]:
        colour = TOO_LOW if now[row] < was[row] else FLAG if now[row] > was[row] else GREY
        colours.add(colour)
        beside.plot([0, 1], [was[row], now[row]], color=colour, lw=1.5)
        name = f"row {row}" if names is None else shortened(str(names[row]), MAX_ROW_NAME_LENGTH)
        if was[row] <= len(rows):
            _label(beside, 0, int(was[row]), name)
        if now[row] <= len(rows):
            _label(ax, 1, int(now[row]), name)
    _label(beside, 0, 0.1, "By score", "bold")
    _label(ax, 1, 0.1, "Now", "bold")
    beside.set(xlim=(0, 1), ylim=ax.get_ylim(), xticks=[], yticks=[])
    beside.spines[:].set_visible(False)
    for colour, words in ((TOO_LOW, "Moved up"), (FLAG, "Moved down")):
        if colour in colours:
            ax.plot([], [], lw=1.5, color=colour, label=words)


def _to_the_left(ax: Axes) -> Axes:
    """Make an ax beside this one, as high. Its width is in inches, so that it does not grow with the other."""
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    corner: Any = ax.transAxes
    from_corner = figure_of(ax).dpi_scale_trans + ScaledTranslation(0, 0, corner)
    where = blended_transform_factory(from_corner, ax.transAxes)
    left, right = LINES_BESIDE_AX if scale_of(ax) == 1 else LINES_IN_SMALL_PANEL
    return ax.inset_axes((left, 0, right - left, 1), transform=where)


def _label(ax: Axes, side: int, place: float, words: str, weight: str = "normal") -> None:
    """Write words outside an ax, to the left or right of a place."""
    ax.annotate(
        words,
        (side, place),
        xycoords=("axes fraction", "data"),
        xytext=(10 * side - 5, 0),
        textcoords="offset points",
        ha="left" if side else "right",
        va="center",
        fontsize=8.5 * scale_of(ax),
        fontweight=weight,
        color=INK,
        annotation_clip=False,
    )


def title_of(value: Ranking, rows: Ints) -> str:
    """Return which way uncertainty counts, and how many rows are new among the first."""
    new = int(np.count_nonzero(value.plain_rank[rows] > len(rows)))
    way = "against" if value.aversion > 0 else "in favour of" if value.aversion < 0 else "neither for nor against"
    first = f"the first {len(rows)}" if len(rows) > 1 else "the first row"
    same = f"No new row among {first}" if len(rows) > 1 else "The first row is the same"
    said = f"{new} of {first} {'are' if new > 1 else 'is'} new" if new else same
    return f"Uncertainty counts {way} a row\n{said}"


@renamed(groups="clusters")
def plot_ranking(
    predictions: Any,
    save_path: str | os.PathLike[str] | None = None,
    *,
    variance: Any = None,
    interval: Any = None,
    aversion: float = 1.0,
    clusters: Any = None,
    top: int = 15,
    query: int = 0,
    names: Sequence[Any] | None = None,
    ax: Axes | None = None,
    title: str | None = None,
) -> Figure:
    """Draw the first rows of a risk-aware ranking: their intervals, adjusted scores, and ranks by score alone.

    To the left, lines lead from each row's rank by score to its new rank; those that end at the bottom have left the
    first rows, or come from below them.

    Parameters
    ----------
    predictions : Ranking, Predictions or array-like
        The result of `risk_aware_rank`, or the predictions to compute it from.
    variance, interval, aversion, clusters
        As in `risk_aware_rank`; leave them out for a `Ranking`.
    save_path : path, optional
        Where to save the plot; the ending (.png, .svg or .pdf) decides the format.
    top : int
        The number of rows, from 1 to 60; in a small panel, as many as fit.
    query : int
        Which query, numbered from 0 as they first appear in clusters.
    names : sequence, optional
        The names of the rows; by default their numbers.
    ax : matplotlib Axes, optional
        Draw here instead of on a new figure; the two orders stand to its left.
    title : str, optional
        A first line for the title.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> figure = plot_ranking([0.9, 0.8, 0.5], interval=([0.4, 0.7, 0.45], [1.0, 0.9, 0.55]))
    >>> print(figure.axes[0].get_title("left"))
    Uncertainty counts against a row
    No new row among the first 3
    """
    top = _check.positive_integer(top, "top", 1, 60)
    query = _check.positive_integer(query, "query", 0)
    if isinstance(predictions, Ranking):
        if any(each is not None for each in (variance, interval, clusters)):
            raise InputError("a Ranking already holds what was found: leave variance, interval and clusters out")
        value = predictions
    else:
        value = risk_aware_rank(predictions, variance=variance, interval=interval, aversion=aversion, clusters=clusters)
    if ax is not None and scale_of(ax) < 1:
        inches = cell_of(ax).height / figure_of(ax).dpi - 1.1
        top = min(top, max(int(ROWS_PER_INCH_IN_SMALL_PANEL * inches), 3))
    rows = first_rows(value, top, query)
    if not len(rows):
        raise InputError(f"there is no query {query}: they are numbered from 0 to {int(value.query.max())}")
    if names is not None and len(names) != len(value):
        raise InputError(
            "{argument} must be one for each of {n} rows, got {got}", argument="names", n=len(value), got=len(names)
        )
    drawing = Drawing.on(ax, title, save_path, size=(7.6, 1.7 + INCHES_PER_ROW * len(rows)))
    draw_ranking(value, drawing.ax, rows, names)
    slopes: Any = drawing.ax.child_axes[0]
    return drawing.finished(title_of(value, rows), pad=16, under=slopes)
