"""The scale of words, with scores and their intervals on it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from believable import _check
from believable._types import Float64s
from believable.decide.words import confidence_words, word_ends
from believable.errors import InputError
from believable.plots.frame import Drawing
from believable.plots.room import cell_of, figure_of, is_own, scale_of
from believable.plots.style import INK, plain, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WORD_BANDS = (0.01, 0.10, 0.33, 0.66, 0.90, 0.99)  # where the word for a single probability changes
END_OF_LOG_ODDS_AXIS = 0.999
WORD_BAND_SHADES = ("#9db8d6", "#c0d2e6", "#dfe9f3", "#eef0f2", "#f8e6d3", "#f0cba3", "#e5ac70")
INCHES_PER_PROBABILITY = 0.26
MAX_PROBABILITIES_DRAWN = 40
WORD_BANDS_IN_SMALL_PANEL = (0.01, 0.10, 0.90, 0.99)
INCHES_FOR_WORDS_OF_BANDS = 7.5


@dataclass(frozen=True, slots=True, eq=False)
class SpokenScores:
    """Probabilities with what is said about them.

    Attributes
    ----------
    p, low, high : ndarray
        Probabilities and the ends of their intervals; the same three times without.
    words : tuple of str
        The words of `confidence_words`.
    names : tuple of str
        What each probability is about.
    """

    p: Float64s
    low: Float64s
    high: Float64s
    words: tuple[str, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, p: Any, interval: Any = None, names: Any = None) -> SpokenScores:
        """Find the words; a lone probability counts as a list of one."""
        rows = np.atleast_1d(_check.numeric(p, "p"))
        if np.ndim(p) == 0 and np.ndim(interval) == 1:
            interval = tuple(interval)
        words = confidence_words(rows, interval)
        low, high = word_ends(rows, interval)
        names = [""] * len(rows) if names is None else list(names)
        if len(names) != len(rows):
            raise InputError(
                "{argument} must be one for each of {n} probabilities, got {got}",
                argument="names",
                n=len(rows),
                got=len(names),
            )
        return cls(rows.astype(np.float64), low, high, tuple(words), tuple(str(name) for name in names))


def draw_confidence_words(value: SpokenScores, ax: Axes) -> Axes:
    """Draw the bands of the scale with their words above, and a line for each probability with its own to the right."""
    ends = [_place(np.array(each)) for each in (0.0, *WORD_BANDS, 1.0)]
    lines = -np.arange(len(value.p), dtype=np.float64)
    wide = is_wide(ax)
    for i, (left, right) in enumerate(pairwise(ends)):
        ax.axvspan(float(left), float(right), color=WORD_BAND_SHADES[i], lw=0, zorder=0)
        middle = 0.0 if i == 0 else 1.0 if i == len(WORD_BANDS) else (WORD_BANDS[i - 1] + WORD_BANDS[i]) / 2
        if not wide:
            continue
        word = "\n".join(wrap(confidence_words(middle, style="word"), 11, break_long_words=False))
        x = float(left + right) / 2
        ax.text(x, 1.0, word, transform=ax.get_xaxis_transform(), ha="center", va="bottom", fontsize=7.5, color=INK)
    ax.hlines(lines, _place(value.low), _place(value.high), color=INK, lw=2.2, zorder=3)
    ax.plot(_place(value.p), lines, "o", ms=6, color=INK, zorder=4, clip_on=False)
    for y, words in zip(lines, value.words, strict=True):
        ax.annotate(
            words,
            (1, float(y)),
            xycoords=("axes fraction", "data"),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            fontsize=9 * scale_of(ax),
            color=INK,
            annotation_clip=False,
        )
    ax.set(xlim=(float(ends[0]), float(ends[-1])), ylim=(0.5 - len(lines), 0.5), xlabel="Probability (%)")
    marked = [each for each in WORD_BANDS if wide or each in WORD_BANDS_IN_SMALL_PANEL]
    ax.set_xticks([float(_place(np.array(each))) for each in marked], [f"{100 * each:g}" for each in marked])
    plain(ax)
    ax.set_yticks(lines, [shortened(name, 30) for name in value.names])
    ax.tick_params(axis="y", length=0)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.grid(axis="x", color="white", lw=1.2, zorder=1)
    ax.set_axisbelow(True)
    return ax


def is_wide(ax: Axes) -> bool:
    """Whether the words of the bands fit side by side above them; each probability has its words beside it anyway."""
    return is_own(ax) or cell_of(ax).width >= INCHES_FOR_WORDS_OF_BANDS * figure_of(ax).dpi


def _place(p: Float64s) -> Float64s:
    """Return the position on the axis of log-odds, which has room for both 1 % and 99 %."""
    inside = np.clip(p, 1 - END_OF_LOG_ODDS_AXIS, END_OF_LOG_ODDS_AXIS)
    return np.asarray(np.log(inside / (1 - inside)))


def plot_confidence_words(
    p: Any,
    interval: Any = None,
    save_path: str | os.PathLike[str] | None = None,
    *,
    names: Sequence[Any] | None = None,
    ax: Axes | None = None,
    title: str | None = None,
) -> Figure:
    """Draw probabilities and their intervals on the scale of words, with the words for each.

    The axis shows log-odds, so that 1 % and 99 % have room, and ends at 0.1 % and 99.9 %. The bands show where the word
    for a single probability changes; an interval that crosses a border gets the weaker word that covers all of it.

    Parameters
    ----------
    p, interval
        As in `confidence_words`; at most 40 of them.
    save_path : path, optional
        Where to save the plot; the ending (.png, .svg or .pdf) decides the format.
    names : sequence, optional
        What each probability is about.
    ax : matplotlib Axes, optional
        Draw here instead of on a new figure. Where it is narrow, the words above the bands are left out.
    title : str, optional
        A title above the words.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> figure = plot_confidence_words([0.2, 0.97], ([0.1, 0.6], [0.4, 0.99]), names=["rain", "wind"])
    >>> [text.get_text() for text in figure.axes[0].texts][-1]
    'more likely than not (at least 6 in 10)'
    """
    value = SpokenScores.of(p, interval, names)
    if not 0 < len(value.p) <= MAX_PROBABILITIES_DRAWN:
        raise InputError(
            f"from 1 to {MAX_PROBABILITIES_DRAWN} probabilities can be drawn, got {len(value.p)}: choose some"
        )
    drawing = Drawing.on(ax, title, save_path, size=(8.4, 1.9 + INCHES_PER_PROBABILITY * len(value.p)))
    draw_confidence_words(value, drawing.ax)
    return drawing.finished(pad=44 if is_wide(drawing.ax) else None, legend=False)
