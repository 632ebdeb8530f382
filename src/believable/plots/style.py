"""What all pictures share: colours, words, a figure that belongs to nobody else, saving, and several models in one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from believable.errors import InputError, MissingDependencyError
from believable.metrics import find_metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1f2933"
GREY = "#9aa5b1"
BAR = "#8fb3d9"
TOO_HIGH = "#c8472f"
TOO_LOW = "#2a6fb0"
FLAG = "#d9822b"  # more than chance explains, whichever way
MODEL_COLOURS = (TOO_LOW, FLAG, "#3d8f5f", "#8a5fb0", INK, TOO_HIGH)  # told apart by colour-blind readers too
MODEL_LINE_STYLES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))
PROPER_NAMES = (("kolmogorov smirnov", "Kolmogorov–Smirnov"), ("kuiper", "Kuiper"), ("brier", "Brier"), ("auc", "AUC"))
AXIS_LABELS_OF_NOTION = {
    "binary": ("predicted probability", "observed frequency"),
    "confidence": ("confidence", "accuracy"),
    "top_label": ("confidence", "accuracy"),
}


def new_figure(width: float, height: float) -> Figure:
    """A figure outside pyplot: nothing global changes and nothing has to be closed."""
    try:
        from believable.plots.picture import Picture
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
    return AXIS_LABELS_OF_NOTION.get(notion, ("score", "frequency"))


def in_words(metric: str) -> str:
    """What to call a metric: the words of its name, also for an alias."""
    try:
        name = find_metric(metric).name
    except InputError:
        name = metric
    words = name.replace("_", " ")
    for plain_words, proper in PROPER_NAMES:
        words = words.replace(plain_words, proper)
    return words


def shortened(text: str, most: int) -> str:
    """The text in one line, or its beginning and an ellipsis."""
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def thousands(n: int) -> str:
    """1234567 as 1,234,567."""
    return f"{n:,}"


def by_name(predictions: Any, compute: Callable[[Any], Any], *kinds: type) -> dict[str, Any]:
    """What is drawn of each model: of one (with no name), or of several given by name.

    Values that were computed before are taken as they are.
    """
    several = predictions if isinstance(predictions, Mapping) else {"": predictions}
    if not several:
        raise InputError("there are no models to draw: the dict is empty")
    if len(several) > len(MODEL_COLOURS):
        raise InputError(f"at most {len(MODEL_COLOURS)} models can be told apart in one picture, got {len(several)}")
    return {str(name): one if isinstance(one, kinds) else compute(one) for name, one in several.items()}
