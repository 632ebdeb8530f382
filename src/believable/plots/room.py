"""The space that an ax has in its figure: how large the text may be, and how everything stays inside.

A plot is more than its ax: it has a title above, a histogram and a legend below, text beside it. In a figure of several
panels, all of that has to stay within the panel, or it would cover its neighbour.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec
    from matplotlib.legend import Legend
    from matplotlib.transforms import Bbox

FULL_SIZE_INCHES = (4.4, 4.0)  # a panel at least this wide and high has words of full size
SMALLEST_SCALE = 0.7
PIXELS_BETWEEN_PANELS = 4
PASSES = 2
OUTER_MARGIN = 0.13  # the share of a figure that labels at its edge may take; matplotlib leaves at most 0.125
WIDE_PANEL = 1.2  # a panel this many times as wide as high has room beside a square ax
AT_THE_EDGE = 0.25  # words of the figure itself that lie within this share of it are at its edge
MIN_SHARE_OF_CELL = 0.15  # an ax never gets narrower or lower than this, however much is written around it


def figure_of(ax: Axes) -> Figure:
    """Return the whole figure that an ax lies in."""
    figure: Any = ax.get_figure()
    while (parent := getattr(figure, "figure", figure)) is not figure:  # a part of a figure lies in another
        figure = parent
    return figure  # type: ignore[no-any-return]


def is_own(ax: Axes) -> bool:
    """Whether the figure was made by this package, in a size that fits what is drawn."""
    from believable.plots.picture import Picture

    return isinstance(figure_of(ax), Picture)


def cell_of(ax: Axes) -> Bbox:
    """Return the part of the figure that belongs to an ax, in pixels: the grid's panels share it without a gap.

    Titles and legends of the figure itself have their own room. An ax that is in no grid has its box and nothing more.
    """
    spec = ax.get_subplotspec()
    figure: Any = ax.figure
    if spec is None:
        return ax.get_window_extent()
    return _cell_in_grid(spec, figure).transformed(figure.transSubfigure)


def _cell_in_grid(spec: SubplotSpec, figure: Any) -> Bbox:
    """Return the cell of a grid in parts of the figure."""
    from matplotlib.transforms import Bbox

    bottoms, tops, lefts, rights = spec.get_gridspec().get_grid_positions(figure)
    top = spec.get_topmost_subplotspec()
    if top != spec:
        x0, y0, x1, y1 = _cell_in_grid(top, figure).extents
    else:
        left, bottom, right, upper = _free_part(figure)
        x0, x1 = max(left, lefts[0] - OUTER_MARGIN), min(right, rights[-1] + OUTER_MARGIN)
        y0, y1 = max(bottom, bottoms[-1] - OUTER_MARGIN), min(upper, tops[0] + OUTER_MARGIN)
    across = np.cumsum([0.0, *(rights - lefts)])  # a wider column has a wider cell, and equal ones have equal cells
    down = np.cumsum([0.0, *(tops - bottoms)])
    columns = x0 + (x1 - x0) * across / across[-1]
    rows = y1 - (y1 - y0) * down / down[-1]
    x0, x1 = columns[spec.colspan.start], columns[spec.colspan.stop]
    y0, y1 = rows[spec.rowspan.stop], rows[spec.rowspan.start]
    return Bbox.from_extents(x0, y0, x1, y1)


def _free_part(figure: Any) -> tuple[float, float, float, float]:
    """Return the part of a figure that its own titles, labels and legends at the edges leave."""
    left, bottom, right, top = 0.0, 0.0, 1.0, 1.0
    for artist in [*figure.texts, *figure.legends]:
        box = artist.get_window_extent().transformed(figure.transSubfigure.inverted())
        if box.y0 > 1 - AT_THE_EDGE:
            top = min(top, box.y0)
        elif box.y1 < AT_THE_EDGE:
            bottom = max(bottom, box.y1)
        elif box.x1 < AT_THE_EDGE:
            left = max(left, box.x1)
        elif box.x0 > 1 - AT_THE_EDGE:
            right = min(right, box.x0)
    return left, bottom, right, top


def scale_of(ax: Axes) -> float:
    """Return how large words are in a panel: 1 in a figure of ours or a large panel, less in a small one."""
    if is_own(ax):
        return 1.0
    cell, dpi = cell_of(ax), figure_of(ax).dpi
    wide, high = cell.width / dpi / FULL_SIZE_INCHES[0], cell.height / dpi / FULL_SIZE_INCHES[1]
    return max(min(wide, high, 1.0), SMALLEST_SCALE)


@dataclass(frozen=True, eq=False)
class StayInCell:
    """The place of an ax such that its title, labels and legend stay in its cell.

    matplotlib asks for it whenever it draws, so that it holds in a window that is made larger too. It takes the place
    of a layout engine, which does not know how the histogram and the legend grow with the ax.
    """

    ax: Axes

    def get_subplotspec(self) -> SubplotSpec | None:
        """Return the place in the grid, which `tight_layout` asks for."""
        return self.ax.get_subplotspec()

    def __call__(self, ax: Any, renderer: Any) -> Bbox:
        """Return the box of the ax in parts of the figure."""
        place: Bbox = ax.get_position(original=True)
        if ax.get_subplotspec() is None:
            return place
        try:
            for _ in range(PASSES):  # the labels of the ticks change with the size of the ax, and their width with them
                ax.set_axes_locator(lambda _ax, _renderer, here=place: here)
                place = _within_cell(ax, renderer)
        finally:
            ax.set_axes_locator(self)
        return place


def _within_cell(ax: Any, renderer: Any) -> Bbox:
    """Return where the ax has to be for all around it to stay in its cell, by what there is around it now."""
    from matplotlib.transforms import Bbox

    legend = ax.get_legend()
    rest = [artist for artist in ax.get_default_bbox_extra_artists() if artist is not legend]
    box = ax.get_tightbbox(renderer, bbox_extra_artists=rest, for_layout_only=True)
    own = ax.bbox  # with its aspect
    hanging = max([(own.y0 - child.bbox.y0) / own.height for child in ax.child_axes] + [0.0])
    bottom, right = box.y0, max(box.x1 - own.x1, 0)
    if legend is not None:
        words = legend.get_window_extent(renderer)
        if words.x0 > own.x1:
            right = max(right, words.x1 - own.x1)
        else:
            bottom = min(bottom, words.y0)
    below = own.y0 - bottom - hanging * own.height
    cell = cell_of(ax).padded(-PIXELS_BETWEEN_PANELS)
    x0, x1 = cell.x0 + own.x0 - box.x0, cell.x1 - right
    y1 = cell.y1 - (box.y1 - own.y1)
    y0 = y1 - (y1 - cell.y0 - below) / (1 + hanging)
    x1 = max(x1, x0 + MIN_SHARE_OF_CELL * cell.width)
    y0 = min(y0, y1 - MIN_SHARE_OF_CELL * cell.height)
    return Bbox.from_extents(x0, y0, x1, y1).transformed(ax.figure.transSubfigure.inverted())


def width_right_of(ax: Axes, start: Axes | None = None) -> float:
    """Return the pixels from the left end of an ax, or of one that hangs on it, to the end of its room."""
    cell = cell_of(ax) if ax.get_subplotspec() is not None else figure_of(ax).bbox
    around: Any = ax.get_tightbbox(for_layout_only=True)
    margin = (ax if start is None else start).bbox.x0 - around.x0
    return float(cell.width - max(margin, 0) - 4 * PIXELS_BETWEEN_PANELS)


def wrapped(ax: Axes, text: str, size: float, width: float) -> str:
    """Return the text, with line breaks where a line would be wider than a number of pixels."""
    probe = ax.text(0, 0, "", fontsize=size)

    def fits(words: str) -> bool:
        probe.set_text(words)
        return bool(probe.get_window_extent().width <= width)

    lines = []
    for line in text.split("\n"):
        for part in [line] if fits(line) else re.split(r"\s{2,}", line):  # better there than within a number's words
            now = ""
            for word in [part] if fits(part) else part.split():
                if now and not fits(f"{now} {word}"):
                    lines.append(now)
                    now = word
                else:
                    now = f"{now} {word}".lstrip()
            lines.append(now)
    probe.remove()
    return "\n".join(lines)


def legend_outside(ax: Axes, under: Axes | None = None, columns: int = 1) -> Legend:
    """Write the legend of an ax where it can hide nothing.

    It goes below the ax, or below what hangs there, in as many columns as fit beside each other and at most as many as
    are asked for. Where a square ax leaves room to its right, it goes there.
    """
    from matplotlib.transforms import ScaledTranslation

    figure, scale = figure_of(ax), scale_of(ax)
    lowest: Any = ax if under is None else under
    look: dict[str, Any] = {
        "fontsize": 8.5 * scale,
        "frameon": False,
        "borderpad": 0,
        "borderaxespad": 0,
        "markerscale": scale,
    }
    handles, labels = ax.get_legend_handles_labels()
    look |= {"handles": handles, "labels": labels, "loc": "upper left"}
    if has_room_beside(ax):
        aside = ax.transAxes + ScaledTranslation(0.12, 0, figure.dpi_scale_trans)
        return ax.legend(bbox_to_anchor=(1, 1), bbox_transform=aside, **look)
    past_the_label = lowest.transAxes + ScaledTranslation(0, -0.13 - 0.4 * scale, figure.dpi_scale_trans)
    width = width_right_of(ax, lowest)
    for n_columns in range(columns, 0, -1):
        legend = ax.legend(bbox_to_anchor=(0, 0), bbox_transform=past_the_label, ncols=n_columns, **look)
        if legend.get_window_extent().width <= width:
            break
    return legend


def has_room_beside(ax: Axes) -> bool:
    """Return whether the panel of a square ax is wide enough for words to its right."""
    if is_own(ax) or ax.get_aspect() == "auto" or ax.get_subplotspec() is None:
        return False
    cell = cell_of(ax)
    return bool(cell.width > WIDE_PANEL * cell.height)
