"""The forest plot of segments that a search found: where does calibration differ from that of the other rows?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from believable import _check
from believable.inference.segment_search import MOST_FOUND
from believable.inference.segments import DEEPEST, Direction, Segment, Segments, find_segments
from believable.plots.frame import Drawing, beside, decimals, draw_intervals
from believable.plots.room import is_own, scale_of
from believable.plots.style import FLAG, GREY, INK, MODEL_COLOURS, TOO_HIGH, TOO_LOW, plain, shortened, thousands
from believable.stats.levels import MAX_LEVELS, N_RANGES
from believable.stats.readable import refuse_extras

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LETTERS_PER_LINE = 44
INCHES_PER_LETTER, INCHES_PER_LINE, INCHES_BETWEEN = 0.075, 0.17, 0.12
LOOK: dict[Direction, tuple[str, str]] = {
    "under-predicted": (TOO_LOW, "Under-predicted: scores too low"),
    "over-predicted": (TOO_HIGH, "Over-predicted: scores too high"),
    "over-confident": (FLAG, "Over-confident: scores too extreme"),
    "under-confident": (MODEL_COLOURS[2], "Under-confident: scores not extreme enough"),
}
AXIS = "Observed rate minus that of other rows with the same scores (elsewhere)"
SHORT_AXIS = "Observed rate minus rate elsewhere"  # for a panel
UNSEEN = "Small segments and small differences may go unseen."
BESIDE = {
    "Rows": 48,
    "Predicted": 106,
    "Observed": 162,
    "Elsewhere": 220,
}  # columns of numbers, and where each ends, in points


def draw_segments(found: Segments, ax: Axes, segments: Sequence[Segment] | None = None) -> Axes:
    """Draw a line for each segment: the gap to the other rows with its interval, the rows and their rates."""
    segments = found.segments if segments is None else segments
    plain(ax)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    if not segments:
        return _draw_nothing(found, ax)
    ends = _ends(segments)
    ax.axvline(0, color=GREY, lw=1.2, zorder=1)
    for direction, (colour, words) in LOOK.items():
        some = [(-y, one) for y, one in enumerate(segments) if one.direction == direction]
        if some:
            low, middle, high = ([getattr(one, name) for _, one in some] for name in ("low", "gap", "high"))
            draw_intervals(ax, [y for y, _ in some], low, middle, high, colour, words, ends)
    shown = list(BESIDE.items())[: None if is_own(ax) else 1]  # a panel has no room for more
    for i, (heading, points) in enumerate(shown):
        beside(ax, 0.8, heading, INK, points)
        for y, one in enumerate(segments):
            beside(ax, -y, _numbers(one)[i], INK, points)
    ax.set_yticks([-y for y in range(len(segments))], [_name(one) for one in segments])
    ax.set(xlim=ends, ylim=(0.4 - len(segments), 1.1), xlabel=AXIS if is_own(ax) else SHORT_AXIS)
    ax.locator_params(axis="x", nbins=6)
    return ax


def _draw_nothing(found: Segments, ax: Axes) -> Axes:
    """Say what was searched."""
    columns = "\n".join(wrap(f"by {', '.join(found.columns)}", LETTERS_PER_LINE, max_lines=3, placeholder=" …"))
    rows = f"at least {_counted(found.min_rows, 'row')}"
    if found.searched:
        were = "was" if found.searched == 1 else "were"
        words = f"{_counted(found.searched, 'segment')} of {rows} {were} tested,\n{columns}\n\n{UNSEEN}"
    else:
        words = f"No segment has {rows}, and as many outside it,\n{columns}"
    ax.text(*(0.5, 0.5, words), transform=ax.transAxes, ha="center", va="center", fontsize=9 * scale_of(ax), color=INK)
    ax.set(xlim=(-1, 1), ylim=(0, 1), xticks=[0], yticks=[], xlabel=AXIS if is_own(ax) else SHORT_AXIS)
    return ax


def _numbers(one: Segment) -> list[str]:
    digits = decimals(max(one.rate, one.expected))
    return [thousands(one.n), *(f"{rate:.{digits}f}" for rate in (one.mean_score, one.rate, one.expected))]


def _name(one: Segment) -> str:
    """Return the name in one line or, if it is long, with a line for each column."""
    if len(one.name) <= LETTERS_PER_LINE:
        return shortened(one.name, LETTERS_PER_LINE)
    half = LETTERS_PER_LINE // 2
    return " and\n".join(f"{shortened(column, half)} = {shortened(level, half)}" for column, level in one.where.items())


def _counted(n: int, what: str) -> str:
    return f"{thousands(n)} {what}{'' if n == 1 else 's'}"


def _ends(segments: Sequence[Segment]) -> tuple[float, float]:
    """Return the ends of the axis: they include 0 and everything drawn, with a margin."""
    low = min(0.0, *(one.low for one in segments))
    high = max(0.0, *(one.high for one in segments))
    room = 0.05 * (high - low)
    return low - room, high + room


def title_of(found: Segments, n_shown: int) -> str:
    """Return how many segments differ, and how many are left out."""
    if not len(found):
        return "No segment clearly differs from the other rows" if found.searched else "No segment was tested"
    differ = "clearly differs" if len(found) == 1 else "clearly differ"
    count = f"{thousands(len(found))} of {_counted(found.searched, 'segment')} {differ} from the other rows"
    surest = "the surest is" if n_shown == 1 else f"the surest {n_shown} are"
    rest = "" if n_shown == len(found) else f"; {surest} shown"
    return f"{count}\nFalse discovery rate {found.rate:g}, {100 * found.level:.4g} % intervals{rest}"


def plot_segments(
    predictions: Any,
    actuals: Any = None,
    by: Any = None,
    save_path: str | os.PathLike[str] | None = None,
    *,
    ax: Axes | None = None,
    depth: int = DEEPEST,
    min_rows: int | None = None,
    rate: float = 0.05,
    level: float = 0.95,
    max_levels: int = MAX_LEVELS,
    n_ranges: int = N_RANGES,
    sample_weight: Any = None,
    clusters: Any = None,
    max_segments: int = 40,
    title: str | None = None,
) -> Figure:
    """Draw a forest plot of the segments whose calibration clearly differs from that of the other rows.

    Each line is a segment: the gap between its observed rate and that of other rows with the same scores, and an
    interval that allows for the search. Right of 0 the rate is higher than elsewhere, left of it lower. The colour says
    how the scores differ. An over- or under-confident segment may have a gap near 0, because its scores are too high at
    one end and too low at the other.

    Parameters
    ----------
    predictions : Segments, SegmentStats, Summary, Predictions or array-like
        The result of `find_segments`, or the predictions to search.
    actuals, by, depth, min_rows, rate, level, max_levels, n_ranges, sample_weight, clusters
        As in `find_segments`; leave them out for a `Segments`.
    save_path : path, optional
        Where to save the plot; the ending (.png, .svg or .pdf) decides the format.
    ax : matplotlib Axes, optional
        Draw here instead of on a new figure.
    max_segments : int
        If more were found, the surest are shown; at most 50.
    title : str, optional
        A first line for the title.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p, site = rng.random(4000), rng.choice(["east", "north", "south"], 4000)
    >>> y = rng.random(4000) < np.where(site == "south", 0.8 * p, p)
    >>> figure = plot_segments(p, y, {"site": site})
    >>> figure.axes[0].get_title("left").partition("\\n")[0]
    '1 of 3 segments clearly differs from the other rows'
    """
    max_segments = _check.positive_integer(max_segments, "max_segments", 1, MOST_FOUND)
    if isinstance(predictions, Segments):
        refuse_extras("result of find_segments", actuals=actuals, by=by, sample_weight=sample_weight, clusters=clusters)
        found = predictions
    else:
        found = find_segments(
            predictions,
            actuals,
            by,
            depth=depth,
            min_rows=min_rows,
            rate=rate,
            level=level,
            max_levels=max_levels,
            n_ranges=n_ranges,
            sample_weight=sample_weight,
            clusters=clusters,
        )
    segments = found.segments[:max_segments]
    names = [_name(one).split("\n") for one in segments]
    width = 6.2 + INCHES_PER_LETTER * max((len(line) for lines in names for line in lines), default=0)
    height = 1.9 + sum(INCHES_BETWEEN + INCHES_PER_LINE * max(map(len, names)) for _ in names)
    drawing = Drawing.on(ax, title, save_path, size=(width, max(height, 2.8)))
    draw_segments(found, drawing.ax, segments)
    return drawing.finished(title_of(found, len(segments)), legend=bool(segments))
