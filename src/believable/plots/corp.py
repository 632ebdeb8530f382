"""The CORP diagram: the isotonic reliability curve, with its consistency and confidence bands."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from believable import _check
from believable._check import generator
from believable._types import Float64s, Notion
from believable.curves import Curve, corp_curve
from believable.metrics.corp_decomposition import CorpDecomposition, corp_decomposition
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
from believable.plots.style import BAR, GREY, INK, shortened, thousands

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from believable.stats.source import Source

Bands = Literal["both", "consistency", "confidence", "simultaneous"]
BANDS = (None, *get_args(Bands))


@dataclass(frozen=True, slots=True, eq=False)
class CorpDiagram:
    """What a CORP diagram shows.

    Attributes
    ----------
    curve : Curve
        The isotonic curve.
    consistency, confidence : Curve or None
        The same curve with the band around the diagonal, and with that around itself (pointwise or simultaneous).
    parts : CorpDecomposition
        The parts of the score.
    score : {"brier", "log"}
        What was split into parts.
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
        _check.choice(band, BANDS, "band")
        rng = generator(random_state)
        names: tuple[Literal["consistency", "confidence", "simultaneous"], ...]
        names = ("consistency", "confidence", "simultaneous")
        bands = {
            name: corp_curve(gathered.stats, band=name, level=level, n_resamples=n_resamples, random_state=rng)
            for name in names
            if band == name or (band == "both" and name != "simultaneous")
        }
        curve = corp_curve(gathered.stats)
        end = frame_end(limit, curve.x, curve.y, curve.weight)
        return cls(
            curve=curve,
            consistency=bands.get("consistency"),
            confidence=bands.get("simultaneous", bands.get("confidence")),
            parts=corp_decomposition(gathered.stats, score=score),
            score=score,
            histogram=ScoreHistogram.of(gathered.points, gathered.dtype, end),
            notion=gathered.notion,
            n=gathered.n,
            limit=end,
        )


def draw_corp(value: CorpDiagram | Mapping[str, CorpDiagram], ax: Axes, *, name: str = "") -> Axes:
    """Draw the isotonic curve of one model or several by name, the bands, and the diagonal.

    The curve is thick where scores are pooled, with dots at scores that are not. For two models the confidence bands
    are drawn; for more, only the lines.
    """
    models = {name: value} if isinstance(value, CorpDiagram) else dict(value)
    limit = max(one.limit for one in models.values())
    for i, (each, one) in enumerate(models.items()):
        _draw_curve(one, ax, limit, each, None if len(models) == 1 else i)
        for band, words in _bands(one, len(models)):
            if band is None or band.low is None or band.high is None:
                continue
            colour, alpha = (GREY, 0.35) if band is one.consistency else (BAR, 0.5)
            if len(models) > 1:
                colour, alpha, words = style_of(i).colour, 0.15, ""
            draw_band(ax, band.x, band.low, band.high, colour, words, alpha)
    draw_diagonal(ax)
    square_frame(ax, next(iter(models.values())).notion, limit)
    return ax


def _draw_curve(value: CorpDiagram, ax: Axes, limit: float, name: str, i: int | None) -> None:
    """Draw the curve of a lone model (i is None), or of model i of several."""
    first, last, rate = pooled_blocks(value.curve)
    corners = np.column_stack([np.column_stack([first, last]).ravel(), np.repeat(rate, 2)])
    style = style_of(0 if i is None else i)
    colour = INK if i is None else style.colour
    label = shortened(name, 30) or "Isotonic curve (CORP)"
    if i is not None:
        mcb, dsc = (f"{part:.{_decimals(value)}f}" for part in (value.parts.mcb, value.parts.dsc))
        label = f"{shortened(name, 22)}, MCB {mcb}, DSC {dsc}"
    dashes = "-" if i is None else style.dashes
    ax.plot(*corners.T, color=colour, lw=1 if i is None else 1.6, ls=dashes, zorder=3, clip_on=limit < 1, label=label)
    if i is not None:
        return
    wide = last > first
    ax.hlines(rate[wide], first[wide], last[wide], color=colour, lw=2.6, zorder=3)
    if not wide.all():  # a line of no dots would still claim room at the corner of the figure
        ax.plot(first[~wide], rate[~wide], "o", ms=3, color=colour, zorder=4, clip_on=limit < 1)


def _bands(value: CorpDiagram, n_models: int) -> list[tuple[Curve | None, str]]:
    """Return the bands that are drawn, and their words."""
    confidence = (value.confidence, band_in_words(value.confidence) if value.confidence is not None else "")
    if n_models == 1:
        level = 100 * value.consistency.settings["level"] if value.consistency is not None else 0
        return [(value.consistency, f"{level:.4g} % of curves, if calibrated"), confidence]
    return [confidence] if n_models <= MAX_MODELS_WITH_BANDS else []


def pooled_blocks(curve: Curve) -> tuple[Float64s, Float64s, Float64s]:
    """Return first score, last score and rate of each run of scores that the isotonic fit gives the same rate."""
    starts = np.flatnonzero(np.concatenate([[True], np.diff(curve.y) != 0]))
    ends = np.append(starts[1:], len(curve.y)) - 1
    return curve.x[starts], curve.x[ends], curve.y[starts]


def title_of(value: CorpDiagram) -> str:
    """Return the parts, how they add up, and the number of rows."""
    parts, digits = value.parts, _decimals(value)
    mcb, dsc, unc, score = (f"{x:.{digits}f}" for x in (parts.mcb, parts.dsc, parts.unc, parts.score))
    name = "Brier score" if value.score == "brier" else "log score"
    return f"MCB {mcb}   DSC {dsc}   UNC {unc}\n{name} {score} = MCB - DSC + UNC, n = {thousands(value.n)}"


def _decimals(value: CorpDiagram) -> int:
    return decimals(max(value.parts.unc, value.parts.score if value.parts.score < np.inf else 0))


def title_of_several(values: Sequence[CorpDiagram]) -> str:
    """Return how many models and rows there are, and what the letters mean."""
    bands = [one.confidence for one in values if one.confidence is not None]
    shown = len(values) <= MAX_MODELS_WITH_BANDS and bands
    words = f"\n{band_in_words(bands[0])}s" if shown else ""
    return f"{rows_of_models([one.n for one in values])}\nMCB: miscalibration, DSC: discrimination{words}"


def plot_corp_diagram(
    predictions: Any,
    actuals: Any = None,
    save_path: str | os.PathLike[str] | None = None,
    show_histogram: bool = True,
    *,
    ax: Axes | None = None,
    name: str | None = None,
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
    """Draw a reliability diagram without bins: the isotonic curve of `corp_curve` with its bands.

    The title splits the Brier score into miscalibration (MCB: what recalibrating would save), discrimination (DSC) and
    uncertainty (UNC), see `corp_decomposition`. The curve of a calibrated model stays within the grey band around the
    diagonal.

    Parameters
    ----------
    predictions : array-like of shape (n,) or (n, K), Predictions, CellStats, or a dict of them by name
        A dict of up to eight models is drawn in one diagram, with confidence bands for up to two; its values may be
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
    band : {"both", "consistency", "confidence", "simultaneous"} or None
        "consistency" lies around the diagonal: where the curve would be if the scores were calibrated. "confidence"
        lies around the curve: where the rates may be, score by score. "simultaneous" contains the whole curve of true
        rates, if they never decrease: scores at which the diagonal lies outside are certainly miscalibrated.
    score : {"brier", "log"}
        The score that is split in the title.
    level, n_resamples, random_state
        Settings of the bands, as in `corp_curve`.
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
    Dimitriadis, Gneiting, Jordan (2021), PNAS; Dimitriadis, Dümbgen, Henzi, Puke, Ziegel (2023), Biometrika, for the
    simultaneous band.

    Examples
    --------
    >>> figure = plot_corp_diagram([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], random_state=0)
    >>> print(figure.axes[0].get_title("left"))
    MCB 0.025   DSC 0.250   UNC 0.250
    Brier score 0.025 = MCB - DSC + UNC, n = 4
    """
    _check.flag(show_histogram, "show_histogram")
    n_models = len(predictions) if isinstance(predictions, Mapping) else 1
    drawn: Bands | None = band
    if n_models > 1 and band is not None:  # a band that is not drawn is not computed
        around_itself: Bands = "simultaneous" if band == "simultaneous" else "confidence"
        drawn = around_itself if n_models <= MAX_MODELS_WITH_BANDS and band != "consistency" else None
    rng = generator(random_state)

    def compute(source: Source, end: float | None) -> CorpDiagram:
        return CorpDiagram.of(
            Gathered.of(source, notion=notion, r=r, what="the CORP diagram"),
            band=drawn,
            score=score,
            level=level,
            n_resamples=n_resamples,
            random_state=rng,
            limit=end,
        )

    _check.choice(band, BANDS, "band")
    new = given_models(predictions, actuals, sample_weight, name, limit, compute)
    height = (7.1 if show_histogram else 5.9) + 0.14 * (len(new) - 1)
    drawing = Drawing.on(ax, title, save_path, size=(4.8, height))
    shown = ModelsOnAx.added(drawing, "corp", new)
    values = shown.values
    draw_corp(values, drawing.ax)
    below = hang_histogram([one.histogram for one in values.values()], drawing.ax) if show_histogram else None
    words = title_of(shown.models[0][1]) if shown.alone else title_of_several([*values.values()])
    return shown.finished(words, under=below, columns=2 if shown.alone else 1)
