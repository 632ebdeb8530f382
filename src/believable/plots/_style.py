"""What all pictures share: colours, a figure that belongs to nobody else, and saving."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from believable.errors import InputError, MissingDependencyError
from believable.metrics._table import find_metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1f2933"
GREY = "#9aa5b1"
BAR = "#8fb3d9"
TOO_HIGH = "#c8472f"
TOO_LOW = "#2a6fb0"
FLAG = "#d9822b"  # more than chance explains, whichever way
_PROPER = (("kolmogorov smirnov", "Kolmogorov–Smirnov"), ("kuiper", "Kuiper"), ("brier", "Brier"), ("auc", "AUC"))
_AXIS_LABELS = {
    "binary": ("predicted probability", "observed frequency"),
    "confidence": ("confidence", "accuracy"),
    "top_label": ("confidence", "accuracy"),
}


def new_figure(width: float, height: float) -> Figure:
    """A figure outside pyplot: nothing global changes and nothing has to be closed."""
    try:
        from believable.plots._figure import Picture
    except ImportError as error:
        raise MissingDependencyError("pictures need matplotlib: pip install matplotlib") from error
    return Picture(figsize=(width, height), layout="constrained")


def figure_of(ax: Axes) -> Figure:
    """The whole figure that an ax lies in."""
    figure: Any = ax.get_figure(root=True)
    return figure  # type: ignore[no-any-return]


def save(figure: Figure, path: str | os.PathLike[str] | None) -> None:
    """Write the picture; the ending of the name decides the format."""
    if path is None:
        return
    if not os.path.splitext(path)[1]:
        raise InputError(f"cannot save the picture to {os.fspath(path)!r}: the name must end in .png, .svg or .pdf")
    try:
        figure.savefig(path, dpi=200, bbox_inches="tight")
    except ValueError as error:
        raise InputError(f"cannot save the picture to {os.fspath(path)!r}: {error}") from error


def plain(ax: Axes) -> None:
    """Two spines, quiet ticks."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(colors=INK, labelsize=9, color=GREY)
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set_color(INK)


def axis_labels(notion: str) -> tuple[str, str]:
    """What to call the scores and the rates of a notion."""
    return _AXIS_LABELS.get(notion, ("score", "frequency"))


def in_words(metric: str) -> str:
    """What to call a metric: the words of its name, also for an alias."""
    try:
        name = find_metric(metric).name
    except InputError:
        name = metric
    words = name.replace("_", " ")
    for plain_words, proper in _PROPER:
        words = words.replace(plain_words, proper)
    return words


def shortened(text: str, most: int) -> str:
    """The text in one line, or its beginning and an ellipsis."""
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def thousands(n: int) -> str:
    """1234567 as 1,234,567."""
    return f"{n:,}"
