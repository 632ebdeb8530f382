"""Miscalibration against the score: how large, which way, and where."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from believable import _check
from believable._types import Array, Float64s, Notion
from believable.curves.smoothed import Degree
from believable.plots.frame import Drawing, Gathered, draw_band
from believable.plots.histogram import hang_histogram
from believable.plots.smoothed import METHODS_IN_WORDS, ErrorInTitle, Method, SmoothedCalibration
from believable.plots.style import GREY, INK, TOO_HIGH, TOO_LOW, axis_labels, directions, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_miscalibration(value: SmoothedCalibration, ax: Axes) -> Axes:
    """Draw curve minus score with its band, and the area up to the zero line in the colour of its direction."""
    curve = value.curve
    gap = curve.y - curve.x
    low, high = (curve.y if end is None else end for end in (curve.low, curve.high))
    marker = "o" if len(gap) == 1 else ""
    ax.plot(
        curve.x, gap, marker=marker, color=INK, lw=2, zorder=4, label=f"{METHODS_IN_WORDS[value.method]} minus score"
    )
    words = f"{100 * curve.settings['level']:.4g} % confidence band"
    draw_band(ax, curve.x, low - curve.x, high - curve.x, GREY, words, 0.3)
    ax.axhline(0, ls=(0, (4, 3)), lw=1, color=GREY, zorder=3, label="Perfect calibration")
    over, under = directions(value.notion)
    for colour, words, here, surely in (
        (TOO_HIGH, over, gap < 0, high < curve.x),
        (TOO_LOW, under, gap > 0, low > curve.x),
    ):
        if here.any():
            _shade(ax, curve.x, gap, here, colour, 0.25, "" if surely.any() else words)
        if surely.any():
            _shade(ax, curve.x, gap, surely, colour, 0.5, words)
    ends = np.concatenate([gap, [0], *(np.quantile(end - curve.x, [0.02, 0.98]) for end in (low, high))])
    margin = 0.08 * np.ptp(ends) or 0.05
    ax.set(xlim=(0, value.limit), ylim=(ends.min() - margin, ends.max() + margin))
    ax.set(xlabel=axis_labels(value.notion)[0], ylabel="Observed minus predicted")
    plain(ax)
    return ax


def _shade(ax: Axes, x: Float64s, gap: Float64s, here: Array, colour: str, alpha: float, words: str) -> None:
    if len(x) == 1:
        ax.vlines(x, 0, gap, color=colour, alpha=alpha, lw=5, zorder=2, label=words)
    else:
        ax.fill_between(x, 0, gap, where=here, color=colour, alpha=alpha, lw=0, zorder=2, label=words)


def plot_miscalibration(
    predictions: Any,
    actuals: Any = None,
    save_path: str | os.PathLike[str] | None = None,
    show_histogram: bool = True,
    *,
    ax: Axes | None = None,
    method: Method = "local",
    span: float | None = None,
    bandwidth: float | None = None,
    degree: Degree | None = None,
    neighbours: int | None = None,
    error: ErrorInTitle | None = None,
    level: float = 0.95,
    notion: Notion | None = None,
    r: int | None = None,
    sample_weight: Any = None,
    limit: float | None = None,
    title: str | None = None,
) -> Figure:
    """Draw the smoothed calibration curve minus the score, against the score.

    The picture of `plot_smoothed_calibration` with the diagonal laid flat, which shows small gaps. The model
    over-predicts below zero and under-predicts above it. The colour is pale where the band includes zero, so that the
    gap may be noise.

    Parameters
    ----------
    predictions, actuals, save_path, show_histogram, ax, method, span, bandwidth, degree, \
neighbours, error, level, notion, r, sample_weight, title
        As in `plot_smoothed_calibration`.
    limit : float, optional
        Where the axis of scores ends; if left out, at 1, or earlier where all scores are small.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> figure = plot_miscalibration([0.1, 0.2, 0.4, 0.5, 0.7, 0.9], [0, 0, 1, 0, 1, 1])
    >>> print(figure.axes[0].get_ylabel())
    Observed minus predicted
    """
    _check.choice(show_histogram, (True, False), "show_histogram")
    gathered = Gathered.of(predictions, actuals, sample_weight, notion, r, "a smoothed curve")
    value = SmoothedCalibration.of(
        gathered,
        method,
        span=span,
        bandwidth=bandwidth,
        degree=degree,
        neighbours=neighbours,
        error=error,
        level=level,
        limit=limit,
    )
    drawing = Drawing.on(ax, title, save_path, size=(5.6, 5.9 if show_histogram else 4.7))
    if drawing.own:
        drawing.ax.set_box_aspect(0.6)  # so that its height does not depend on what hangs below
        drawing.ax.set_anchor("N")
    draw_miscalibration(value, drawing.ax)
    below = hang_histogram(value.histogram, drawing.ax, drop=0.35) if show_histogram else None
    return drawing.finished(value.title, under=below)
