"""The CORP diagram: the isotonic reliability curve, with what chance explains and what is known."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from believable import _check
from believable._check import generator
from believable._types import Float64s, Notion
from believable.curves import Curve, corp_curve
from believable.metrics.corp_decomposition import CorpDecomposition, corp_decomposition
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
from believable.plots.style import BAR, GREY, INK, thousands

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Bands = Literal["both", "consistency", "confidence"]


@dataclass(frozen=True, slots=True, eq=False)
class CorpDiagram:
    """What a CORP diagram shows.

    Attributes
    ----------
    curve : Curve
        The isotonic curve.
    consistency, confidence : Curve or None
        The same curve with the band around the diagonal, and with that around itself.
    parts : CorpDecomposition
    score : {"brier", "log"}
        What was split into parts.
    histogram : ScoreHistogram
    notion : str
    n : int
    limit : float
        Where the axes end.
    """

    curve: Curve
    consistency: Curve | None
    confidence: Curve | None
    parts: CorpDecomposition
    score: str
    histogram: ScoreHistogram
    notion: str
    n: int
    limit: float

    @classmethod
    def of(
        cls,
        gathered: Gathered,
        *,
        band: Bands | None = "both",
        score: Literal["brier", "log"] = "brier",
        level: float = 0.95,
        n_resamples: int = 1000,
        random_state: Any = None,
        limit: float | None = None,
    ) -> CorpDiagram:
        """Compute the curve, its bands and the parts of the score."""
        _check.choice(band, (None, "both", "consistency", "confidence"), "band")
        rng = generator(random_state)
        names: tuple[Literal["consistency", "confidence"], ...] = ("consistency", "confidence")
        bands = {
            name: corp_curve(gathered.stats, band=name, level=level, n_resamples=n_resamples, random_state=rng)
            for name in names
            if band in ("both", name)
        }
        curve = corp_curve(gathered.stats)
        end = frame_end(limit, curve.x, curve.y, curve.weight)
        return cls(
            curve=curve,
            consistency=bands.get("consistency"),
            confidence=bands.get("confidence"),
            parts=corp_decomposition(gathered.stats, score=score),
            score=score,
            histogram=ScoreHistogram.of(gathered.points, gathered.dtype, end),
            notion=gathered.notion,
            n=gathered.n,
            limit=end,
        )


def draw_corp(value: CorpDiagram, ax: Axes) -> Axes:
    """Draw the diagonal, the bands, and the curve: thick where scores are pooled, dots at scores that stand alone."""
    first, last, rate = pooled_blocks(value.curve)
    corners = np.column_stack([np.column_stack([first, last]).ravel(), np.repeat(rate, 2)])
    ax.plot(*corners.T, color=INK, lw=1, zorder=3, clip_on=value.limit < 1, label="isotonic curve (CORP)")
    wide = last > first
    ax.hlines(rate[wide], first[wide], last[wide], color=INK, lw=2.6, zorder=3)
    if not wide.all():  # a line of no dots would still claim room at the corner of the figure
        ax.plot(first[~wide], rate[~wide], "o", ms=3, color=INK, zorder=4, clip_on=value.limit < 1)
    for band, colour, alpha, words in (
        (value.consistency, GREY, 0.35, "{:.4g} % of curves, if calibrated"),
        (value.confidence, BAR, 0.5, "{:.4g} % confidence band"),
    ):
        if band is not None and band.low is not None and band.high is not None:
            label = words.format(100 * band.settings["level"])
            draw_band(ax, band.x, band.low, band.high, colour, label, alpha)
    draw_diagonal(ax)
    square_frame(ax, value.notion, value.limit)
    return ax


def pooled_blocks(curve: Curve) -> tuple[Float64s, Float64s, Float64s]:
    """First score, last score and rate of each run of scores that the isotonic fit gives the same rate."""
    starts = np.flatnonzero(np.concatenate([[True], np.diff(curve.y) != 0]))
    ends = np.append(starts[1:], len(curve.y)) - 1
    return curve.x[starts], curve.x[ends], curve.y[starts]


def title_of(value: CorpDiagram) -> str:
    """The parts, how they add up, and the number of rows."""
    parts = value.parts
    digits = decimals(max(parts.unc, parts.score if parts.score < np.inf else 0))
    mcb, dsc, unc, score = (f"{x:.{digits}f}" for x in (parts.mcb, parts.dsc, parts.unc, parts.score))
    name = "Brier score" if value.score == "brier" else "log score"
    return f"MCB {mcb}   DSC {dsc}   UNC {unc}\n{name} {score} = MCB - DSC + UNC, n = {thousands(value.n)}"


def plot_corp_diagram(
    predictions: Any,
    actuals: Any = None,
    save_path: str | os.PathLike[str] | None = None,
    show_histogram: bool = True,
    *,
    ax: Axes | None = None,
    band: Bands | None = "both",
    score: Literal["brier", "log"] = "brier",
    level: float = 0.95,
    n_resamples: int = 1000,
    random_state: Any = None,
    notion: Notion | None = None,
    r: int | None = None,
    sample_weight: Any = None,
    limit: float | None = None,
    title: str | None = None,
) -> Figure:
    """Reliability diagram without bins: the isotonic curve of `corp_curve` with its bands.

    The title splits the Brier score into miscalibration (MCB: what recalibrating would save), discrimination (DSC) and
    uncertainty (UNC), see `corp_decomposition`. Where the curve leaves the grey band around the diagonal, chance hardly
    explains it.

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
    band : {"both", "consistency", "confidence"} or None
        "consistency" lies around the diagonal, where the curve would be if the scores were calibrated; "confidence"
        around the curve, where the rates may be.
    score : {"brier", "log"}
        The score that is split in the title.
    level, n_resamples, random_state
        Of the bands, as in `corp_curve`.
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
    Dimitriadis, Gneiting, Jordan (2021), PNAS.

    Examples
    --------
    >>> figure = plot_corp_diagram([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], random_state=0)
    >>> print(figure.axes[0].get_title("left"))
    MCB 0.025   DSC 0.250   UNC 0.250
    Brier score 0.025 = MCB - DSC + UNC, n = 4
    """
    _check.choice(show_histogram, (True, False), "show_histogram")
    gathered = Gathered.of(predictions, actuals, sample_weight, notion, r, "the CORP diagram")
    value = CorpDiagram.of(
        gathered,
        band=band,
        score=score,
        level=level,
        n_resamples=n_resamples,
        random_state=random_state,
        limit=limit,
    )
    drawing = Drawing.on(ax, title, save_path, size=(4.8, 7.1 if show_histogram else 5.9))
    draw_corp(value, drawing.ax)
    below = hang_histogram(value.histogram, drawing.ax) if show_histogram else None
    return drawing.finished(title_of(value), under=below)
