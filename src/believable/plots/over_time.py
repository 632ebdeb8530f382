"""Calibration over time: since when are the scores miscalibrated?"""

from __future__ import annotations

import os
from datetime import datetime, time
from typing import TYPE_CHECKING, Any

from believable.errors import InputError, UndefinedError
from believable.plots.frame import Drawing
from believable.plots.style import BAR, FLAG, GREY, INK, TOO_HIGH, plain
from believable.streams import CalibrationMonitor, History

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_over_time(value: History, ax: Axes) -> Axes:
    """Draw each window at its end (interval and value, coloured where flagged), the noise floor and the first alarm."""
    words = f"{100 * value.level:.4g} % interval"
    for flagged, colour, label in ((False, INK, words), (True, FLAG, f"{words}: flagged")):
        some = [one for one in value if one.flagged == flagged]
        if some:
            at = [one.end for one in some]
            ax.vlines(at, [one.low for one in some], [one.high for one in some], color=colour, lw=2, label=label)
    at = [one.end for one in value]
    values = [one.value for one in value]
    ax.plot(at, values, "o", ms=5, mfc="white", mec=GREY, zorder=3, label="Observed value")
    ax.plot(at, [one.floor for one in value], color=BAR, lw=2.2, zorder=1, label="Noise floor, mean")
    rang = next((one.end for one in value if one.alarm), None)
    if rang is not None:
        ax.axvline(rang, color=TOO_HIGH, lw=1.4, ls="--", zorder=0, label="Alarm")
    ax.set_ylim(0, 1.08 * max(max(one.high, one.value, one.floor, 1e-3) for one in value))
    ax.set_ylabel(f"ECE ({value.notion}, {value.n_bins} bins)")
    ax.set_xlabel("End of the window")
    plain(ax)
    if isinstance(at[0], datetime):
        _dates(ax)
    elif isinstance(at[0], int):
        ax.locator_params(axis="x", nbins=5, integer=True)
        ax.xaxis.set_major_formatter("{x:,.0f}")
    return ax


def _dates(ax: Axes) -> None:
    from matplotlib import dates

    untyped: Any = dates
    locator = untyped.AutoDateLocator()
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(untyped.ConciseDateFormatter(locator))


def title_of(value: History) -> str:
    """Return how many windows are miscalibrated, and whether there was an alarm."""
    flagged = sum(one.flagged for one in value)
    count = f"{flagged or 'None'} of {len(value)} windows {'are' if flagged > 1 else 'is'}"
    rang = next((one for one in value if one.alarm), None)
    alarm = "No alarm" if rang is None else f"Alarm in the window that ends {_end_in_words(rang.end)}"
    return f"{count} flagged as miscalibrated\n{alarm} (false-alarm rate {value.alpha:g})"


def _end_in_words(end: Any) -> str:
    if isinstance(end, datetime) and end.time() == time.min:
        return str(end.date())
    return f"{end:,}" if isinstance(end, int) else str(end)


def plot_calibration_over_time(
    history: History | CalibrationMonitor,
    save_path: str | os.PathLike[str] | None = None,
    *,
    ax: Axes | None = None,
    title: str | None = None,
) -> Figure:
    """Draw the calibration error of each window of a stream, with its interval, its noise floor, and the alarm.

    Bars are intervals for the error in the population, open dots the plain values, which are too large near 0. A
    window in colour is miscalibrated by a test of that window alone, so some calibrated ones are coloured too. The
    dashed line is the alarm, which allows for the number of windows.

    Parameters
    ----------
    history : History or CalibrationMonitor
        The windows of a stream, or the monitor that counted them.
    save_path : path, optional
        Where to save the plot; the ending (.png, .svg or .pdf) decides the format.
    ax : matplotlib Axes, optional
        Draw here instead of on a new figure.
    title : str, optional
        A first line for the title.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> monitor = CalibrationMonitor(500, tolerance=0.02, n_resamples=100, random_state=0)
    >>> for day in range(8):
    ...     p = rng.random(500)
    ...     monitor.update(p, rng.random(500) < (p if day < 4 else p**2))
    >>> figure = plot_calibration_over_time(monitor)
    >>> figure.axes[0].get_title("left").partition("\\n")[2]
    'Alarm in the window that ends 2,500 (false-alarm rate 0.01)'
    """
    value: Any = history.history if isinstance(history, CalibrationMonitor) else history
    if not isinstance(value, History):
        raise InputError(f"pass a CalibrationMonitor or its history, got a {type(history).__name__}")
    if not len(value):
        raise UndefinedError("no window is complete yet: there is nothing to draw")
    drawing = Drawing.on(ax, title, save_path, size=(7.5, 3.8))
    draw_over_time(value, drawing.ax)
    return drawing.finished(title_of(value), columns=3)
