"""Reading pictures back: what was drawn, by its words in the legend."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
from matplotlib.text import Text


def line(ax, words):
    """x, y of the line whose label begins so."""
    return next(one for one in ax.lines if str(one.get_label()).startswith(words)).get_xydata().T


def band(ax, words):
    """x, lower and upper edge of the filled area whose label ends so."""
    area = next(one for one in ax.collections if str(one.get_label()).endswith(words))
    vertices = np.concatenate([path.vertices for path in area.get_paths()])
    x = np.unique(vertices[:, 0])
    ends = [vertices[vertices[:, 0] == at, 1] for at in x]
    return x, np.array([end.min() for end in ends]), np.array([end.max() for end in ends])


def legend(ax):
    """The words of the legend, of the ax or what hangs below it."""
    holders = [ax, *ax.child_axes]
    return [text.get_text() for one in holders if one.get_legend() for text in one.get_legend().get_texts()]


def title(figure):
    """The words above the first ax."""
    return figure.axes[0].get_title("left")


def nothing_is_cut(figure):
    """Whether all words lie within the figure, and no tick labels of an axis touch."""
    figure.draw_without_rendering()
    axes = [one for ax in figure.axes for one in (ax, *ax.child_axes)]
    words = {text for ax in axes for text in ax.findobj(lambda artist: hasattr(artist, "get_text"))}
    for text in words.difference(*(_out_of_view(ax) for ax in axes)):
        if not text.get_text() or not text.get_visible():
            continue
        box = text.get_window_extent()
        if box.x0 < -1 or box.y0 < -1 or box.x1 > figure.bbox.x1 + 1 or box.y1 > figure.bbox.y1 + 1:
            return False
    return not any(_touching(labels) for ax in axes for labels in (ax.get_xticklabels(), ax.get_yticklabels()))


def words_of(ax):
    """What is written on an ax and what hangs on it, and can be seen: each with its box."""
    axes = [ax, *ax.child_axes]
    hidden = set().union(*(_out_of_view(one) for one in axes))
    found = {text for one in axes for text in one.findobj(Text) if text.get_text() and text.get_visible()}
    return {text: text.get_window_extent() for text in found - hidden}


def overlapping(boxes, others):
    """The pairs of words whose boxes lie over each other by more than a pixel each way."""
    return [
        (one.get_text(), other.get_text())
        for (one, a), (other, b) in product(boxes.items(), others.items())
        if one is not other and min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1
    ]


def _out_of_view(ax):
    """Labels of ticks beyond the ends of an axis, which exist and are not drawn."""
    for axis in (ax.xaxis, ax.yaxis):
        low, high = sorted(axis.get_view_interval())
        for tick in axis.get_major_ticks():
            if not low <= tick.get_loc() <= high:
                yield from (tick.label1, tick.label2)


def _touching(labels):
    boxes = [label.get_window_extent() for label in labels if label.get_text() and label.get_visible()]
    return any(one.overlaps(other) for one, other in pairwise(boxes))
