"""What all pictures share: colours, words, new figures, saving, and several models in one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from believable import _optional
from believable.errors import InputError
from believable.metrics import find_metric
from believable.plots.room import figure_of as figure_of
from believable.plots.room import scale_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1f2933"
GREY = "#9aa5b1"
BAR = "#8fb3d9"
TOO_HIGH = "#c8472f"
TOO_LOW = "#2a6fb0"
FLAG = "#d9822b"  # above the noise floor, in either direction
# Seven are Okabe and Ito's (2008). All eight differ by 16 or more in CIELAB, for each kind of colour-blindness too.
MODEL_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", INK, "#56b4e9", "#e69f00", "#b2182b")
MODEL_LINE_STYLES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))
MODEL_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
PROPER_NAMES = (("kolmogorov smirnov", "Kolmogorov–Smirnov"), ("kuiper", "Kuiper"), ("brier", "Brier"), ("auc", "AUC"))
CONFIDENCE_NOTIONS = ("confidence", "top_label")


def new_figure(width: float, height: float, *, shown: bool = False) -> Figure:
    """Make a figure of that size in inches.

    One to be shown belongs to pyplot where pyplot is in use, so that `plt.show()` finds it. Any other, and every one
    where nobody has imported pyplot, belongs to nobody and need not be closed.
    """
    _optional.load("matplotlib.figure", "plots need")
    from believable.plots.picture import Picture

    pyplot = sys.modules.get("matplotlib.pyplot")
    if shown and pyplot is not None:
        return pyplot.figure(FigureClass=Picture, figsize=(width, height), layout="constrained")  # type: ignore[no-any-return]
    return Picture(figsize=(width, height), layout="constrained")


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
    """Leave two spines and quiet ticks, with words as large as the panel allows."""
    scale = scale_of(ax)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(colors=INK, labelsize=9 * scale, color=GREY)
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set(color=INK, fontsize=10 * scale)


def axis_labels(notion: str, *, binned: bool = False) -> tuple[str, str]:
    """Return what the axes of scores and rates are called; a bin is drawn at the mean of its scores."""
    score, rate = (
        ("confidence", "Accuracy") if is_confidence(notion) else ("predicted probability", "Observed frequency")
    )
    return f"Mean {score}" if binned else score.capitalize(), rate


def directions(notion: str) -> tuple[str, str]:
    """Return what a model does whose curve lies below the diagonal, and one whose curve lies above."""
    verb = "confident" if is_confidence(notion) else "predicts"
    return f"Over-{verb}", f"Under-{verb}"


def is_confidence(notion: str) -> bool:
    """Whether scores are confidences in the predicted class, and rates are accuracies."""
    return notion in CONFIDENCE_NOTIONS


def in_words(metric: str) -> str:
    """Return what to call a metric: the words of its name, also for an alias."""
    try:
        name = find_metric(metric).name
    except InputError:
        name = metric
    words = name.replace("_", " ")
    for plain_words, proper in PROPER_NAMES:
        words = words.replace(plain_words, proper)
    return words


def capitalised(text: str) -> str:
    """Return the text with a capital first letter, and the rest as it is."""
    return text[:1].upper() + text[1:]


def shortened(text: str, most: int) -> str:
    """Return the text in one line, or its beginning and an ellipsis."""
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def thousands(n: int) -> str:
    """Write 1234567 as 1,234,567."""
    return f"{n:,}"


def by_name(predictions: Any, compute: Callable[[Any], Any], *kinds: type) -> dict[str, Any]:
    """Return what is drawn of each model: of one (with no name), or of several given by name.

    Values that were computed before are taken as they are.
    """
    several = predictions if isinstance(predictions, Mapping) else {"": predictions}
    if not several:
        raise InputError("there are no models to draw: the dict is empty")
    if len(several) > len(MODEL_COLOURS):
        raise InputError(f"at most {len(MODEL_COLOURS)} models can be distinguished in one picture, got {len(several)}")
    return {str(name): one if isinstance(one, kinds) else compute(one) for name, one in several.items()}
