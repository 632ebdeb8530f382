"""The smoothed calibration curve over the diagonal."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from believable import _check
from believable._types import Notion
from believable.curves import (
    Curve,
    kernel_calibration_curve,
    logistic_calibration_curve,
    smoothed_calibration_curve,
)
from believable.curves.band import BANDS, Band, isotonic_band
from believable.curves.smoothed import Degree, Smoother
from believable.errors import InputError
from believable.metrics.smooth_calibration_error import smooth_calibration_error
from believable.metrics.smoothed_curve import integrated_calibration_index, local_calibration_score
from believable.plots.frame import (
    Drawing,
    Gathered,
    band_in_words,
    decimals,
    draw_band,
    draw_diagonal,
    frame_end,
    square_frame,
)
from believable.plots.histogram import ScoreHistogram, hang_histogram
from believable.plots.models import (
    MAX_MODELS_WITH_BANDS,
    ModelsOnAx,
    given_models,
    rows_of_models,
    style_of,
)
from believable.plots.style import BAR, INK, shortened, thousands

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from believable.stats.source import Source

Method = Literal["local", "kernel", "logistic"]
ErrorInTitle = Literal["ici", "lcs"]
OPTIONS_OF_METHOD = {
    "local": ("span", "bandwidth", "degree", "neighbours", "error"),
    "kernel": ("bandwidth",),
    "logistic": (),
}
METHODS_IN_WORDS = {
    "local": "Smoothed curve (loess)",
    "kernel": "Smoothed curve (kernel)",
    "logistic": "Logistic curve",
}


@dataclass(frozen=True, slots=True, eq=False)
class SmoothedCalibration:
    """A smoothed calibration curve, and the error that belongs to it.

    Attributes
    ----------
    curve : Curve
        The curve.
    method : {"local", "kernel", "logistic"}
        How the curve was estimated.
    summary : str
        The error, or for the logistic curve its two numbers, with the settings.
    histogram : ScoreHistogram
        The histogram of the scores.
    notion : str
        Which pairs of score and outcome are drawn.
    n : int
        The number of rows.
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
        neighbours: int | None = None,
        error: ErrorInTitle | None = None,
        level: float = 0.95,
        band: Band = "pointwise",
        limit: float | None = None,
    ) -> SmoothedCalibration:
        """Compute the curve and its error, with the same settings."""
        _check.choice(method, get_args(Method), "method")
        _check.choice(band, BANDS, "band")
        choices = {"span": span, "bandwidth": bandwidth, "degree": degree, "neighbours": neighbours, "error": error}
        for name, asked in choices.items():
            if asked is not None and name not in OPTIONS_OF_METHOD[method]:
                raise InputError("{method=} has no {name}: leave it out", method=method, argument="method", name=name)
        if method == "local":
            smoother = Smoother.of(
                0.75 if span is None else span, bandwidth, 2 if degree is None else degree, neighbours
            )
            curve, summary = _local(gathered, smoother, error or "ici", level)
        elif method == "kernel":
            curve, summary = _kernel(gathered, bandwidth, level)
        else:
            curve = logistic_calibration_curve(gathered.stats, level=level)
            summary = f"slope {curve.settings['slope']:.2f}   intercept {curve.settings['intercept']:+.2f}"
        if band == "simultaneous":
            low, high = isotonic_band(gathered.points, curve.x, level)
            curve = replace(curve, low=low, high=high, settings=curve.settings | {"band": band})
        end = frame_end(limit, curve.x, curve.y, curve.weight)
        histogram = ScoreHistogram.of(gathered.points, gathered.dtype, end)
        return cls(curve, method, summary, histogram, gathered.notion, gathered.n, end)

    @property
    def title(self) -> str:
        """Return the summary, then the number of rows."""
        return f"{self.summary}\nn = {thousands(self.n)}"

    @property
    def error(self) -> str:
        """Return the error, or for the logistic curve its two numbers, without the settings."""
        return self.summary.partition("   (")[0].replace("   ", ", ")


def _local(gathered: Gathered, smoother: Smoother, error: ErrorInTitle, level: float) -> tuple[Curve, str]:
    _check.choice(error, get_args(ErrorInTitle), "error")
    settings: dict[str, Any] = asdict(smoother)
    curve = smoothed_calibration_curve(gathered.stats, level=level, **settings)
    measure = integrated_calibration_index if error == "ici" else local_calibration_score
    value = measure(gathered.stats, **settings)
    if smoother.neighbours is not None:
        window = f"{smoother.neighbours:,} neighbours"
    else:
        window = f"span {smoother.span:g}" if smoother.bandwidth is None else f"bandwidth {smoother.bandwidth:g}"
    return curve, f"{error.upper()} {value:.{decimals(value)}f}   ({window}, degree {smoother.degree})"


def _kernel(gathered: Gathered, bandwidth: float | None, level: float) -> tuple[Curve, str]:
    curve = kernel_calibration_curve(gathered.stats, bandwidth=bandwidth, level=level)
    error = smooth_calibration_error(gathered.stats, bandwidth=bandwidth)
    digits = decimals(error)
    window = "its own value" if bandwidth is None else f"{bandwidth:g}"
    return curve, f"smECE {error:.{digits}f}   (bandwidth: {window})"


def draw_smoothed(value: SmoothedCalibration | Mapping[str, SmoothedCalibration], ax: Axes, *, name: str = "") -> Axes:
    """Draw the curve of one model or several by name, with bands for up to two, and the diagonal."""
    models = {name: value} if isinstance(value, SmoothedCalibration) else dict(value)
    first = next(iter(models.values()))
    for i, (each, one) in enumerate(models.items()):
        curve, style, alone = one.curve, style_of(i), len(models) == 1
        ax.plot(
            curve.x,
            curve.y,
            marker=style.marker if len(curve.x) == 1 else "",
            color=INK if alone else style.colour,
            ls="-" if alone else style.dashes,
            lw=2,
            zorder=4 - 0.05 * i,
            label=_label(one, each, alone=alone),
        )
        if curve.low is not None and curve.high is not None and len(models) <= MAX_MODELS_WITH_BANDS:
            words = band_in_words(curve)
            colour, alpha = (BAR, 0.5) if alone else (style.colour, 0.15)
            draw_band(ax, curve.x, curve.low, curve.high, colour, words if alone else "", alpha)
    draw_diagonal(ax)
    square_frame(ax, first.notion, max(one.limit for one in models.values()))
    return ax


def _label(value: SmoothedCalibration, name: str, *, alone: bool) -> str:
    if alone:
        return shortened(name, 30) or METHODS_IN_WORDS[value.method]
    return f"{shortened(name, 26)}, {value.error}"


def title_of_several(values: Sequence[SmoothedCalibration]) -> str:
    """Return how many models and rows there are, and what the lines are."""
    first = values[0]
    words = METHODS_IN_WORDS[first.method] if len({one.method for one in values}) == 1 else ""
    bands = f"{band_in_words(first.curve)}s" if len(values) <= MAX_MODELS_WITH_BANDS else ""
    rows = rows_of_models([one.n for one in values])
    return "\n".join(filter(None, [rows, ", ".join(filter(None, [words, bands]))]))


def plot_smoothed_calibration(
    predictions: Any,
    actuals: Any = None,
    save_path: str | os.PathLike[str] | None = None,
    show_histogram: bool = True,
    *,
    ax: Axes | None = None,
    name: str | None = None,
    method: Method = "local",
    span: float | None = None,
    bandwidth: float | None = None,
    degree: Degree | None = None,
    neighbours: int | None = None,
    error: ErrorInTitle | None = None,
    level: float = 0.95,
    band: Band = "pointwise",
    notion: Notion | None = None,
    r: int | None = None,
    sample_weight: Any = None,
    limit: float | None = None,
    title: str | None = None,
) -> Figure:
    """Draw the smoothed calibration curve of one model or several, and a histogram of the scores below.

    The default band is pointwise, and does not account for the bias of smoothing.

    Parameters
    ----------
    predictions : array-like of shape (n,) or (n, K), Predictions, CellStats, or a dict of them by name
        A dict of up to eight models is drawn in one diagram, with bands for up to two; its values may be
        (scores, labels) pairs too.
    actuals : array-like of shape (n,)
        Outcomes or class numbers.
    save_path : path, optional
        Where to save the plot; the ending (.png, .svg or .pdf) decides the format.
    show_histogram : bool
        Whether the histogram of the scores is drawn below.
    ax : matplotlib Axes, optional
        Draw here instead of on a new figure. A second call on the same ax adds a model.
    name : str, optional
        The name of the model in the legend.
    method : {"local", "kernel", "logistic"}
        `smoothed_calibration_curve` with the ICI or LCS in the title, `kernel_calibration_curve` with the smECE, or
        `logistic_calibration_curve` with its slope and intercept.
    span, degree : optional
        Settings of the local curve and its error; 0.75 and 2 if left out, as in `smoothed_calibration_curve`.
    neighbours : int, optional
        Number of nearest rows in each window of the local curve, instead of `span`.
    error : {"ici", "lcs"}, optional
        The error of the local curve in the title: `integrated_calibration_index` (if left out), or
        `local_calibration_score`.
    bandwidth : float, optional
        Bandwidth of the local or the kernel curve, and of the error.
    level : float
        Confidence level of the band.
    band : {"pointwise", "simultaneous"}
        "simultaneous" contains the whole curve of true rates, if these never decrease, and knows nothing of the
        smoothing: it is the band of `corp_curve`.
    notion, r : optional
        As in `expected_calibration_error`; one that keeps no classes or ranks apart.
    sample_weight : array-like of shape (n,), optional
        Importance weights.
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
    _check.flag(show_histogram, "show_histogram")

    def compute(source: Source, end: float | None) -> SmoothedCalibration:
        gathered = Gathered.of(source, notion=notion, r=r, what="a smoothed curve")
        return SmoothedCalibration.of(
            gathered,
            method,
            span=span,
            bandwidth=bandwidth,
            degree=degree,
            neighbours=neighbours,
            error=error,
            level=level,
            band=band,
            limit=end,
        )

    new = given_models(predictions, actuals, sample_weight, name, limit, compute)
    height = (7.0 if show_histogram else 5.8) + 0.1 * (len(new) - 1)
    drawing = Drawing.on(ax, title, save_path, size=(4.8, height))
    shown = ModelsOnAx.added(drawing, "smoothed", new)
    values = shown.values
    draw_smoothed(values, drawing.ax)
    below = hang_histogram([one.histogram for one in values.values()], drawing.ax) if show_histogram else None
    words = shown.models[0][1].title if shown.alone else title_of_several([*values.values()])
    return shown.finished(words, under=below)
