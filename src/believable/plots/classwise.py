"""Reliability diagrams of every class, side by side."""

from __future__ import annotations

import math
import os
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from believable import _check
from believable._types import Bins, Strategy
from believable.errors import InputError
from believable.metrics.binned_error import binned_error
from believable.plots.reliability import Reliability, draw_reliability
from believable.plots.style import INK, axis_labels, new_figure, save, shortened, thousands
from believable.stats.source import TEN, UNIFORM, BinsAsked, count_asked, source_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANEL_INCHES, LARGE_PANEL_INCHES = 2.3, 3.0
MAX_LARGE_PANELS = 3
MAX_COLUMNS = 5
LETTERS_PER_INCH = 10  # letters of a title that fit into an inch


def plot_classwise_reliability(
    predictions: Any,
    actuals: Any = None,
    n_bins: Bins = TEN,
    strategy: Strategy = UNIFORM,
    save_path: str | os.PathLike[str] | None = None,
    *,
    classes: Sequence[int] | None = None,
    max_classes: int = 12,
    n_columns: int | None = None,
    level: float = 0.95,
    sample_weight: Any = None,
    edges: Any = None,
) -> Figure:
    """Draw the one-vs-rest reliability diagram of every class.

    Parameters
    ----------
    predictions, actuals, n_bins, strategy, sample_weight, edges
        As in `expected_calibration_error`, for a matrix of probabilities.
    save_path : path, optional
        Where to save the plot; the ending (.png, .svg or .pdf) decides the format.
    classes : sequence of int, optional
        The classes to show, in this order.
    max_classes : int
        If there are more and none were chosen, those with the largest calibration error are shown, worst first.
    n_columns : int, optional
        The number of panels in a row; by default at most five, with rows of about the same length.
    level : float
        Confidence level of the intervals.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> figure = plot_classwise_reliability([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3]], [0, 2])
    >>> [ax.get_title("left") for ax in figure.axes]
    ['Class 0\\nECE 0.250', 'Class 1\\nECE 0.350', 'Class 2\\nECE 0.400']
    """
    source = source_of(predictions, actuals, sample_weight)
    stats = count_asked(source, BinsAsked(n_bins, strategy, notion="classwise", edges=edges))
    n_classes = stats.view.n_classes
    each = [stats.only_stratum(k) for k in range(n_classes)]
    n_rows = int(each[0].n.sum())
    errors = np.array([binned_error(one) for one in each])
    shown, note = _choose(errors, classes, max_classes)

    n_lines, n_columns = _grid(len(shown), n_columns)
    side = PANEL_INCHES if len(shown) > MAX_LARGE_PANELS else LARGE_PANEL_INCHES
    figure = new_figure(side * n_columns + 0.4, (side + 0.3) * n_lines + 0.85, shown=save_path is None)
    axes = np.atleast_1d(figure.subplots(n_lines, n_columns, sharex=True, sharey=True, squeeze=False)).ravel()
    names = _titles([source.class_name(k) for k in shown], int(side * LETTERS_PER_INCH))
    for position, k in enumerate(shown):
        ax = axes[position]
        draw_reliability(Reliability.of(each[k], level=level), ax, legend=False)
        ax.set_title(f"{names[position]}\nECE {errors[k]:.3f}", fontsize=9.5, color=INK, loc="left")
        ax.set(xlabel="", ylabel="")
        ax.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        ax.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
        ax.tick_params(labelbottom=position + n_columns >= len(shown))  # also above an empty panel
    for ax in axes[len(shown) :]:
        ax.remove()
    x_label, y_label = axis_labels("classwise", binned=True)
    lowest = axes[(n_lines - 1) * n_columns : len(shown)]
    middle = lowest[(len(lowest) - 1) // 2]  # because a figure legend would cover the label
    middle.set_xlabel(x_label, fontsize=10, x=0.5 if len(lowest) % 2 else 1.1)
    figure.supylabel(y_label, fontsize=10, color=INK)
    _common_legend(figure)
    bins = f"{stats.per_stratum} {stats.strategy} bins"
    words = f"Mean ECE {errors.mean():.3f}, n = {thousands(n_rows)}, {bins}{note}"
    words = textwrap.fill(words, int(figure.get_figwidth() * LETTERS_PER_INCH))
    figure.suptitle(words, fontsize=10.5, color=INK, x=0.01, ha="left")
    save(figure, save_path)
    return figure


def _titles(names: list[str], most: int) -> list[str]:
    """Return the titles of the panels: long names lose their end, or their middle where they begin alike."""
    whole = [f"Class {name}" if name.isdigit() else name for name in names]
    short = [shortened(name, most) for name in whole]
    if len(set(short)) == len(set(whole)):
        return short
    half = most // 2
    return [name if len(name) <= most else f"{name[:half].rstrip()}…{name[1 - half :].lstrip()}" for name in whole]


def _grid(n: int, n_columns: int | None) -> tuple[int, int]:
    """Return the number of rows and columns of panels."""
    most = MAX_COLUMNS if n_columns is None else _check.positive_integer(n_columns, "n_columns")
    n_lines = math.ceil(n / most)
    return n_lines, math.ceil(n / n_lines) if n_columns is None else min(most, n)


def _common_legend(figure: Figure) -> None:
    """Write one legend for all panels, below them."""
    found: dict[str, Any] = {}
    for ax in figure.axes:
        handles, labels = ax.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    figure.legend(
        found.values(),
        found.keys(),
        loc="outside lower left",
        borderaxespad=0.2,  # because a layout leaves room for the legend, but none around it
        fontsize=8.5,
        frameon=False,
        ncols=min(4, 1 + int(figure.get_figwidth() / 2.6)),
        borderpad=0,
    )


def _choose(errors: Any, classes: Sequence[int] | None, most: int) -> tuple[list[int], str]:
    n_classes = len(errors)
    if classes is not None and not isinstance(classes, Iterable):
        raise InputError("{argument} must be a list of class numbers, got {got!r}", argument="classes", got=classes)
    if classes is not None:
        shown = [_check.positive_integer(k, "classes", 0, n_classes - 1) for k in classes]
        if not shown:
            raise InputError("{argument} must name at least one class", argument="classes")
        return shown, ""
    _check.positive_integer(most, "max_classes")
    if n_classes <= most:
        return list(range(n_classes)), ""
    return np.argsort(-errors, kind="stable")[:most].tolist(), f"; the worst {most} of {n_classes} classes"
