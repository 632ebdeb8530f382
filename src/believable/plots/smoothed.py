"""The smoothed calibration curve over the diagonal."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from believable import _check
from believable._types import Notion
from believable.curves import (
    Curve,
    kernel_calibration_curve,
    logistic_calibration_curve,
    smoothed_calibration_curve,
)
from believable.curves.smoothed import Degree
from believable.errors import InputError
from believable.metrics.smooth_calibration_error import smooth_calibration_error
from believable.metrics.smoothed_curve import integrated_calibration_index
from believable.plots.frame import (
    Drawing,
    Gathered,
    decimals,
    draw_band,
    draw_diagonal,
    frame_end,
    square_frame,
)
from believable.plots.histogram import ScoreHistogram, hang_histogram
from believable.plots.style import BAR, INK, thousands

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Method = Literal["local", "kernel", "logistic"]
OPTIONS_OF_METHOD = {"local": ("span", "bandwidth", "degree"), "kernel": ("bandwidth",), "logistic": ()}
METHODS_IN_WORDS = {
    "local": "smoothed curve (loess)",
    "kernel": "smoothed curve (kernel)",
    "logistic": "logistic curve",
}


@dataclass(frozen=True, slots=True, eq=False)
class SmoothedCalibration:
    """A smoothed calibration curve, and the error that belongs to it.

    Attributes
    ----------
    curve : Curve
    method : {"local", "kernel", "logistic"}
    summary : str
        The error, or for the logistic curve its two numbers, with the settings.
    histogram : ScoreHistogram
    notion : str
    n : int
    limit : float
        Where the axes end.
    """

    curve: Curve
    method: str
    summary: str
    histogram: ScoreHistogram
    notion: str
    n: int
    limit: float

    @classmethod
    def of(
        cls,
        gathered: Gathered,
        method: Method = "local",
        *,
        span: float | None = None,
        bandwidth: float | None = None,
        degree: Degree | None = None,
        level: float = 0.95,
        limit: float | None = None,
    ) -> SmoothedCalibration:
        """Compute the curve and its error, with the same settings."""
        _check.choice(method, get_args(Method), "method")
        choices = {"span": span, "bandwidth": bandwidth, "degree": degree}
        for name, asked in choices.items():
            if asked is not None and name not in OPTIONS_OF_METHOD[method]:
                raise InputError("{method=} has no {name}: leave it out", method=method, argument="method", name=name)
        if method == "local":
            curve, summary = _local(gathered, 0.75 if span is None else span, bandwidth, degree, level)
        elif method == "kernel":
            curve, summary = _kernel(gathered, bandwidth, level)
        else:
            curve = logistic_calibration_curve(gathered.stats, level=level)
            summary = f"slope {curve.settings['slope']:.2f}   intercept {curve.settings['intercept']:+.2f}"
        end = frame_end(limit, curve.x, curve.y, curve.weight)
        histogram = ScoreHistogram.of(gathered.points, gathered.dtype, end)
        return cls(curve, method, summary, histogram, gathered.notion, gathered.n, end)

    @property
    def title(self) -> str:
        """The summary, then the number of rows."""
        return f"{self.summary}\nn = {thousands(self.n)}"


def _local(
    gathered: Gathered, span: float, bandwidth: float | None, degree: Degree | None, level: float
) -> tuple[Curve, str]:
    given: Degree = 2 if degree is None else degree
    curve = smoothed_calibration_curve(gathered.stats, span=span, bandwidth=bandwidth, degree=given, level=level)
    ici = integrated_calibration_index(gathered.stats, span=span, bandwidth=bandwidth, degree=given)
    window = f"span {span:g}" if bandwidth is None else f"bandwidth {bandwidth:g}"
    return curve, f"ICI {ici:.{decimals(ici)}f}   ({window}, degree {given})"


def _kernel(gathered: Gathered, bandwidth: float | None, level: float) -> tuple[Curve, str]:
    curve = kernel_calibration_curve(gathered.stats, bandwidth=bandwidth, level=level)
    error = smooth_calibration_error(gathered.stats, bandwidth=bandwidth)
    digits = decimals(error)
    window = "its own value" if bandwidth is None else f"{bandwidth:g}"
    return curve, f"smECE {error:.{digits}f}   (bandwidth: {window})"


def draw_smoothed(value: SmoothedCalibration, ax: Axes) -> Axes:
    """Draw the diagonal, the curve and its band."""
    curve = value.curve
    marker = "o" if len(curve.x) == 1 else ""
    ax.plot(curve.x, curve.y, marker=marker, color=INK, lw=2, zorder=3, label=METHODS_IN_WORDS[value.method])
    if curve.low is not None and curve.high is not None:
        words = f"{100 * curve.settings['level']:.4g} % confidence band"
        draw_band(ax, curve.x, curve.low, curve.high, BAR, words, 0.5)
    draw_diagonal(ax)
    square_frame(ax, value.notion, value.limit)
    return ax


def plot_smoothed_calibration(
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
    level: float = 0.95,
    notion: Notion | None = None,
    r: int | None = None,
    sample_weight: Any = None,
    limit: float | None = None,
    title: str | None = None,
) -> Figure:
    """Smoothed calibration curve with its band, and a histogram of the scores below.

    The band is that of each point by itself, and does not know of the bias that smoothing brings.

    Parameters
    ----------
    predictions : array-like of shape (n,) or (n, K), Predictions or CellStats
    actuals : array-like of shape (n,)
    save_path : path, optional
        Where to save the picture: PNG, SVG, PDF, by its ending.
    show_histogram : bool
        Whether the spread of the scores hangs below.
    ax : matplotlib Axes, optional
        Draw here instead of on a new figure; histogram and legend hang below it, so leave room or use a layout engine.
    method : {"local", "kernel", "logistic"}
        `smoothed_calibration_curve` with the ICI in the title, `kernel_calibration_curve` with the smECE, or
        `logistic_calibration_curve` with its slope and intercept.
    span, degree : optional
        Of the local curve and its ICI; 0.75 and 2 if left out, as in `integrated_calibration_index`.
    bandwidth : float, optional
        Of the local or the kernel curve, and of the error.
    level : float
        Of the band.
    notion, r : optional
        As in `expected_calibration_error`; one that keeps no classes or ranks apart.
    sample_weight : array-like of shape (n,), optional
    limit : float, optional
        Where both axes end; if left out, at 1, or earlier where all scores (and the rates of 99 % of the weight) are
        small.
    title : str, optional
        A first line for the title.

    Returns
    -------
    matplotlib Figure

    References
    ----------
    Austin, Steyerberg (2014), Statistics in Medicine; Błasiok, Nakkiran (2024), ICLR.

    Examples
    --------
    >>> figure = plot_smoothed_calibration([0.1, 0.2, 0.4, 0.5, 0.7, 0.9], [0, 0, 1, 0, 1, 1])
    >>> print(figure.axes[0].get_title("left"))
    ICI 0.160   (span 0.75, degree 2)
    n = 6
    """
    _check.choice(show_histogram, (True, False), "show_histogram")
    gathered = Gathered.of(predictions, actuals, sample_weight, notion, r, "a smoothed curve")
    value = SmoothedCalibration.of(
        gathered, method, span=span, bandwidth=bandwidth, degree=degree, level=level, limit=limit
    )
    drawing = Drawing.on(ax, title, save_path, size=(4.8, 7.0 if show_histogram else 5.8))
    draw_smoothed(value, drawing.ax)
    below = hang_histogram(value.histogram, drawing.ax) if show_histogram else None
    return drawing.finished(value.title, under=below)
