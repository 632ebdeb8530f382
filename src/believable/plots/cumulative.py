"""Cumulative differences: outcomes minus scores, added up from the lowest score."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from believable._types import Float64s, Notion
from believable.inference.cumulative_tests import kuiper_test
from believable.plots.frame import Drawing, Gathered, axis_above, decimals, spread
from believable.plots.room import scale_of
from believable.plots.style import (
    GREY,
    INK,
    TOO_HIGH,
    TOO_LOW,
    axis_labels,
    directions,
    is_confidence,
    plain,
    thousands,
)
from believable.stats.source import source_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

N_SHARE_TICKS, N_SHARE_TICKS_IN_SMALL_PANEL = 6, 3


@dataclass(frozen=True, slots=True, eq=False)
class CumulativeDifferences:
    """The cumulative gap between outcomes and scores, and how far it gets.

    Attributes
    ----------
    share : ndarray
        Share of the weight with a score up to each distinct one; the first entry is 0, before the lowest score.
    gap : ndarray
        C = sum over those of w (y - p) / W.
    deviation : ndarray
        Its standard deviation if the scores were calibrated.
    score : ndarray
        The distinct scores, one fewer.
    ks, kuiper : float
        `max |C|` and `max C - min C`.
    p_value : float
        The p-value of the Kuiper test.
    notion : str
        Which pairs of score and outcome are drawn.
    n : int
        The number of rows.
    """

    share: Float64s
    gap: Float64s
    deviation: Float64s
    score: Float64s
    ks: float
    kuiper: float
    p_value: float
    notion: str
    n: int

    @classmethod
    def of(cls, gathered: Gathered, p_value: float) -> CumulativeDifferences:
        """Add up the differences of one set of scores; the p-value is that of `kuiper_test`."""
        points = gathered.points
        share = _from_nothing(points.w) / points.total
        gap = _from_nothing(points.excess) / points.total
        deviation = np.sqrt(_from_nothing(np.maximum(points.variance, 0))) / points.total
        ks, kuiper = float(np.abs(gap).max()), float(np.ptp(gap))
        return cls(share, gap, deviation, points.score, ks, kuiper, p_value, gathered.notion, gathered.n)

    @property
    def furthest(self) -> int:
        """Return where `|C|` is largest."""
        return int(np.argmax(np.abs(self.gap)))

    @property
    def lowest(self) -> int:
        """Return where C is smallest."""
        return int(np.argmin(self.gap))

    @property
    def highest(self) -> int:
        """Return where C is largest."""
        return int(np.argmax(self.gap))

    def score_at(self, share: float) -> float:
        """Return the score up to which rows make up this share of the weight."""
        reached = self.share[1:] * (1 + 1e-12)
        return float(self.score[min(int(np.searchsorted(reached, share)), len(self.score) - 1)])


def _from_nothing(values: Float64s) -> Float64s:
    return np.concatenate([[0.0], np.cumsum(values)])


def draw_cumulative(value: CumulativeDifferences, ax: Axes) -> Axes:
    """Draw C over the share of rows, its spread if calibrated, and the extremes that KS and Kuiper measure."""
    shown = spread(len(value.gap), value.lowest, value.highest)
    x, gap, two = value.share[shown], value.gap[shown], 2 * value.deviation[shown]
    ax.plot(x, gap, color=INK, lw=1.5, zorder=3, label="Cumulative difference")
    ax.fill_between(x, -two, two, color=GREY, alpha=0.3, lw=0, zorder=1, label="Two standard deviations, if calibrated")
    ax.axhline(0, ls=(0, (4, 3)), lw=1, color=GREY, zorder=2)
    at, way = value.share[value.furthest], value.gap[value.furthest]
    colour = TOO_HIGH if way < 0 else TOO_LOW
    digits = decimals(value.kuiper)
    ax.vlines(at, 0, way, color=colour, lw=2, zorder=4, label=f"KS {value.ks:.{digits}f}: largest distance from 0")
    low, high = value.gap[value.lowest], value.gap[value.highest]
    ax.errorbar(
        [1.03],
        [(low + high) / 2],
        yerr=[(high - low) / 2],
        color=INK,
        fmt="none",
        elinewidth=1.5,
        capsize=4,
        label=f"Kuiper {value.kuiper:.{digits}f}: highest minus lowest",
    )
    ax.hlines([low, high], [value.share[value.lowest], value.share[value.highest]], 1.03, color=INK, lw=0.6, ls=":")
    ax.set(xlim=(0, 1.06), xlabel="Share of rows, lowest scores first", ylabel="Cumulative difference")
    shares = np.linspace(0, 1, N_SHARE_TICKS if scale_of(ax) == 1 else N_SHARE_TICKS_IN_SMALL_PANEL)
    ax.set_xticks(shares)
    plain(ax)
    axis_above(ax, shares, [_score_in_words(value.score_at(s)) for s in shares], axis_labels(value.notion)[0])
    return ax


def _score_in_words(score: float) -> str:
    """Write a score in a few characters, also next to 0 and 1."""
    if 0 < score < 0.1:
        return f"{score:.2g}" if score >= 1e-4 else "<0.0001"
    if score < 1 and f"{score:.3f}" == "1.000":
        return f"{score:.4f}" if score <= 0.9999 else ">0.9999"
    return f"{score:.3f}".rstrip("0").rstrip(".")


def title_of(value: CumulativeDifferences) -> str:
    """Return the errors, the test, and how to read the line."""
    verb = "is " if is_confidence(value.notion) else ""
    over, under = (verb + words.lower() for words in directions(value.notion))
    digits = decimals(value.kuiper)
    p = f"p = {value.p_value:.3f}" if value.p_value >= 0.001 else "p < 0.001"
    return (
        f"KS {value.ks:.{digits}f}   Kuiper {value.kuiper:.{digits}f}, {p}   n = {thousands(value.n)}\n"
        f"Falls where the model {over}, rises where it {under}"
    )


def plot_cumulative_differences(
    predictions: Any,
    actuals: Any = None,
    save_path: str | os.PathLike[str] | None = None,
    *,
    ax: Axes | None = None,
    notion: Notion | None = None,
    r: int | None = None,
    n_resamples: int = 999,
    random_state: Any = None,
    sample_weight: Any = None,
    title: str | None = None,
) -> Figure:
    """Draw outcomes minus scores, added up from the lowest score: no bins, no smoothing.

    C = sum over p_i <= s of w_i (y_i - p_i) / W, against the share of the weight with such scores. Its slope between
    two points is the mean difference between them: the line falls where the model over-predicts and rises where it
    under-predicts. If the scores are calibrated it is a random walk, which at each point is within the grey band 95 %
    of the time. The Kolmogorov–Smirnov error is its largest distance from 0, the Kuiper error its range.

    Parameters
    ----------
    predictions : array-like of shape (n,) or (n, K), Predictions or CellStats
        Scores of one event, or one column of probabilities per class, or cells of them.
    actuals : array-like of shape (n,)
        Outcomes or class numbers.
    save_path : path, optional
        Where to save the plot; the ending (.png, .svg or .pdf) decides the format.
    ax : matplotlib Axes, optional
        Draw here instead of on a new figure.
    notion, r : optional
        As in `expected_calibration_error`; one that keeps no classes or ranks apart.
    n_resamples, random_state
        For the p-value of the Kuiper test, where it is found by resampling; see `kuiper_test`.
    sample_weight : array-like of shape (n,), optional
        Importance weights.
    title : str, optional
        A first line for the title.

    Returns
    -------
    matplotlib Figure

    References
    ----------
    Arrieta-Ibarra, Gujral, Tannen, Tygert, Xu (2022), Journal of Machine Learning Research.

    Examples
    --------
    >>> figure = plot_cumulative_differences([0.1, 0.3, 0.6, 0.8], [0, 1, 1, 0], random_state=0)
    >>> figure.axes[0].get_title("left").partition(",")[0]
    'KS 0.250   Kuiper 0.275'
    """
    source = source_of(predictions, actuals, sample_weight)
    gathered = Gathered.of(source, notion=notion, r=r, what="the cumulative difference")
    test = kuiper_test(source, notion=notion, r=r, n_resamples=n_resamples, random_state=random_state)
    value = CumulativeDifferences.of(gathered, test.p_value)
    drawing = Drawing.on(ax, title, save_path, size=(6.0, 4.9))
    draw_cumulative(value, drawing.ax)
    return drawing.finished(title_of(value))
