"""Several calibration errors as bars, each with its interval and its noise floor."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from believable._check import generator
from believable._types import Bins, Notion
from believable.errors import InputError, UndefinedError
from believable.inference.interval import Interval, interval
from believable.inference.noise_floor import NoiseFloor, noise_floor
from believable.metrics.table import Metric, find_metric
from believable.plots.frame import Drawing, beside, decimals, draw_intervals, inside
from believable.plots.style import BAR, FLAG, GREY, INK, in_words, plain, thousands
from believable.predictions import as_predictions
from believable.stats.readable import Readable, refuse_extras

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DEFAULT_METRIC_BARS = ("ece", "rmsce", "smece", "ici", "ks", "kuiper")


@dataclass(frozen=True, slots=True)
class MetricBar:
    """The value of one metric, with its interval and noise floor.

    Attributes
    ----------
    name : str
        The name of the metric.
    interval : Interval or None
        The interval, with the value; None if the metric is undefined.
    floor : NoiseFloor or None
        The noise floor.
    note : str
        Why there is no value.
    """

    name: str
    interval: Interval | None
    floor: NoiseFloor | None
    note: str = ""

    @property
    def beyond_chance(self) -> bool:
        """Whether perfectly calibrated scores would show as much less than 5 % of the time."""
        return self.interval is not None and self.floor is not None and self.interval.value > self.floor.q95


def metric_bars(
    source: Any,
    metrics: Iterable[str] = DEFAULT_METRIC_BARS,
    *,
    n_bins: Bins | None = None,
    notion: Notion | None = None,
    level: float = 0.95,
    n_resamples: int = 1000,
    random_state: Any = None,
) -> tuple[MetricBar, ...]:
    """Return value, interval and noise floor of each metric; raise an error where none is defined."""
    rng = generator(random_state)
    rows = [_as_error(name) for name in ([metrics] if isinstance(metrics, str) else metrics)]
    if not rows:
        raise InputError("{argument} must name at least one metric", argument="metrics")
    asked = {name: value for name, value in (("n_bins", n_bins), ("notion", notion)) if value is not None}
    bars = []
    for row in rows:
        choices: dict[str, Any] = {
            "options": {name: value for name, value in asked.items() if name in row.options},
            "n_resamples": n_resamples,
            "random_state": rng,
        }
        try:
            found = interval(row.name, source, level=level, **choices)
            bars.append(MetricBar(row.name, found, noise_floor(row.name, source, **choices)))
        except UndefinedError as reason:
            bars.append(MetricBar(row.name, None, None, str(reason)))
    if all(bar.interval is None for bar in bars):
        raise UndefinedError(bars[0].note)
    return tuple(bars)


def _as_error(name: str) -> Metric:
    row = find_metric(name)
    if row.low != 0 or row.best != 0:
        raise InputError(f"bars are for errors, which are 0 at best and at least; {row.name} is not one")
    return row


def draw_metrics(bars: Sequence[MetricBar], ax: Axes) -> Axes:
    """Draw a bar for each metric, its interval on it, and its noise floor behind it."""
    known = [bar for bar in bars if bar.interval is not None and bar.floor is not None]
    found, floors = [bar.interval for bar in known], [bar.floor for bar in known]
    at = np.array([-bars.index(bar) for bar in known])
    value, low, middle, high = (
        np.array([getattr(one, name) for one in found]) for name in ("value", "low", "estimate", "high")
    )
    mean, q95 = (np.array([getattr(one, name) for one in floors]) for name in ("mean", "q95"))
    seen = np.concatenate([value, high, q95])
    right = 1.06 * float(np.max(seen, initial=1e-9, where=np.isfinite(seen)))

    ax.barh(at, np.minimum(q95, right), 0.8, color=GREY, alpha=0.35, zorder=1, label="Noise floor, 95th percentile")
    ax.vlines(mean, at - 0.4, at + 0.4, color=INK, lw=1, ls=":", zorder=3, label="Noise floor, mean")
    beyond = np.array([bar.beyond_chance for bar in known])
    for which, colour, words in ((beyond, FLAG, "Value above the noise floor"), (~beyond, BAR, "Value")):
        if which.any():
            ax.barh(at[which], np.minimum(value[which], right), 0.44, color=colour, zorder=2, label=words)
    words = f"Estimate, {100 * known[0].interval.level:.4g} % interval" if known[0].interval else ""
    draw_intervals(ax, at.tolist(), low, middle, high, INK, words, (0, right))

    for y, bar in enumerate(bars):
        if bar.interval is None:
            inside(ax, -y, textwrap.fill(bar.note, 56, max_lines=2, placeholder=" …"))
        else:
            beside(ax, -y, f"{bar.interval.value:.{decimals(bar.interval.value)}f}", INK, 46)
    beside(ax, 0.75, "Value", INK, 46)
    ax.set(xlim=(0, right), ylim=(0.4 - len(bars), 0.95), xlabel="Error")
    ax.locator_params(axis="x", nbins=6)  # labels of many digits need room
    ax.set_yticks([-y for y in range(len(bars))], [textwrap.fill(in_words(bar.name), 24) for bar in bars])
    plain(ax)
    ax.tick_params(axis="y", length=0)
    return ax


def plot_metrics(
    predictions: Any,
    actuals: Any = None,
    metrics: Iterable[str] = DEFAULT_METRIC_BARS,
    save_path: str | os.PathLike[str] | None = None,
    *,
    ax: Axes | None = None,
    n_bins: Bins | None = None,
    notion: Notion | None = None,
    level: float = 0.95,
    n_resamples: int = 1000,
    random_state: Any = None,
    sample_weight: Any = None,
    title: str | None = None,
) -> Figure:
    """Draw calibration errors as bars, each with its interval and its noise floor.

    The grey box behind a bar ends at the 95th percentile of what perfectly calibrated scores would show; the dotted
    line in it is the mean. The dot and line on a bar are the estimate of the error in the population and its interval;
    the plain value is too large near 0, so it may lie beyond them.

    Parameters
    ----------
    predictions : array-like of shape (n,) or (n, K), Predictions, BinStats, CellStats or Summary
        Scores of one event, one column of probabilities per class, or a statistic of them.
    actuals : array-like of shape (n,)
        Outcomes or class numbers.
    metrics : iterable of str
        Names or aliases of errors, which are 0 at best. One that is undefined here has its reason in place of a bar.
    save_path : path, optional
        Where to save the plot; the ending (.png, .svg or .pdf) decides the format.
    ax : matplotlib Axes, optional
        Draw here instead of on a new figure.
    n_bins : int, optional
        For the binned metrics; 10 if left out.
    notion : str, optional
        For the metrics whose name does not fix one.
    level : float
        Confidence level of the intervals.
    n_resamples, random_state
        As in `interval` and `noise_floor`.
    sample_weight : array-like of shape (n,), optional
        Importance weights.
    title : str, optional
        A first line for the title.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> figure = plot_metrics([0.1, 0.2, 0.8, 0.9] * 20, [0, 0, 1, 1] * 20, ["ece", "smece"], random_state=0)
    >>> print(figure.axes[0].get_title("left"))
    2 of 2 errors are above the noise floor
    n = 80
    """
    source: Any = predictions
    if isinstance(predictions, Readable):
        refuse_extras(type(predictions).__name__, actuals=actuals, sample_weight=sample_weight)
        n = int(np.sum(source.n))
    else:
        source = as_predictions(predictions, actuals, sample_weight)
        n = len(source)
    bars = metric_bars(
        source,
        metrics,
        n_bins=n_bins,
        notion=notion,
        level=level,
        n_resamples=n_resamples,
        random_state=random_state,
    )
    drawing = Drawing.on(ax, title, save_path, size=(6.2, 1.9 + 0.46 * len(bars)))
    draw_metrics(bars, drawing.ax)
    return drawing.finished(title_of(bars), f"n = {thousands(n)}")


def title_of(bars: Sequence[MetricBar]) -> str:
    """Return how many errors are above the noise floor."""
    beyond = sum(bar.beyond_chance for bar in bars)
    n = sum(bar.interval is not None for bar in bars)
    return f"{beyond or 'None'} of {n} errors {'are' if beyond > 1 else 'is'} above the noise floor"
