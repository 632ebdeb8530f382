"""The reliability diagram: observed frequency against mean predicted probability."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from believable import _check
from believable._types import Bins, Float64s, Notion, Strategy
from believable.curves import ReliabilityTable
from believable.curves.band import BANDS, Band
from believable.curves.binned import table_of
from believable.errors import InputError
from believable.metrics.binned_error import binned_error
from believable.metrics.estimators import ResponseMethod, predictions_of
from believable.plots.frame import Drawing, Gathered, decimals, draw_diagonal, frame_end, square_frame
from believable.plots.histogram import HISTOGRAM_BINS, ScoreHistogram, hang_histogram
from believable.plots.models import ModelsOnAx, given_models, rows_of_models, style_of
from believable.plots.room import figure_of, scale_of
from believable.plots.style import GREY, INK, TOO_HIGH, TOO_LOW, directions, shortened, thousands
from believable.stats import BinStats
from believable.stats.source import (
    TEN,
    UNIFORM,
    BinsAsked,
    Source,
    count_asked,
    has_bins,
    not_empty,
    rows_in,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

Corner = Literal["upper left", "lower right"]
MAX_FOLDS_DRAWN = 100


@dataclass(frozen=True, slots=True, eq=False)
class Reliability:
    """What a reliability diagram shows.

    Attributes
    ----------
    table : ReliabilityTable
        The bins.
    ece, mce : float
        The errors of the same bins.
    notion, strategy : str
        Which pairs of score and outcome are drawn, and how the bins were made.
    histogram : ReliabilityTable or ScoreHistogram
        Bins of equal width for the histogram of scores; the table itself where only a statistic was given.
    limit : float
        Where the axes end.
    folds : tuple of ReliabilityTable
        The same bins in each fold of a cross-validation.
    """

    table: ReliabilityTable
    ece: float
    mce: float
    notion: str
    strategy: str
    histogram: ReliabilityTable | ScoreHistogram
    limit: float = 1.0
    folds: tuple[ReliabilityTable, ...] = ()

    @classmethod
    def of(
        cls,
        stats: BinStats,
        histogram: BinStats | None = None,
        level: float = 0.95,
        band: Band = "pointwise",
    ) -> Reliability:
        """Read the diagram off a statistic with one stratum."""
        not_empty(stats)
        table = table_of(stats, level, band=band)
        return cls(
            table=table,
            ece=binned_error(stats),
            mce=binned_error(stats, "max"),
            notion=stats.view.about,
            strategy=stats.strategy,
            histogram=table if histogram is None else table_of(histogram, level),
        )


def draw_reliability(
    value: Reliability | Mapping[str, Reliability], ax: Axes, *, legend: bool = True, limit: float = 1.0, name: str = ""
) -> Axes:
    """Draw the diagonal and the bins at their mean score, with intervals, of one model or of several by name.

    The bars between the diagonal and the bins of a lone model show which way it errs. Several models have a colour, a
    marker and a kind of line each.
    """
    if isinstance(value, Reliability):
        notion = value.notion
        _draw_one(value, ax, limit, name)
    else:
        notion = next(iter(value.values())).notion
        for i, (each, one) in enumerate(value.items()):
            _draw_among_others(one, ax, i, each, limit)
    draw_diagonal(ax)
    square_frame(ax, notion, limit, binned=True)
    if legend and isinstance(value, Reliability):
        table = value.table
        full = table.n > 0
        corner = _free_corner(table.conf[full], table.acc[full], table.low[full], table.high[full], limit)
        ax.legend(
            loc=corner or "upper left",
            fontsize=8 * scale_of(ax),
            frameon=corner is None,
            framealpha=0.85,
            edgecolor="none",
        )
    return ax


def _draw_one(value: Reliability, ax: Axes, limit: float, name: str) -> None:
    table = value.table
    full = table.n > 0
    x, y = table.conf[full], table.acc[full]
    too_high, too_low = directions(value.notion)
    for colour, words, here in ((TOO_HIGH, too_high, y < x), (TOO_LOW, too_low, y > x)):
        if here.any() and not value.folds:
            ax.vlines(x[here], x[here], y[here], color=colour, alpha=0.45, lw=5, zorder=2, label=words)
    _draw_folds(value, ax, GREY, limit, f"Each of {len(value.folds)} folds")
    drawn = ax.errorbar(
        x,
        y,
        yerr=np.abs(np.stack([y - table.low[full], table.high[full] - y])),
        fmt="o-",
        ms=4.5,
        lw=1.8 if value.folds else 1.2,
        elinewidth=1,
        capsize=2.5,
        color=INK,
        ecolor=INK,
        zorder=3,
        clip_on=limit < 1,  # rates of 0 and 1 lie on the frame
        label=f"{shortened(name, 24) or ('All folds' if value.folds else 'Bin')}, {100 * table.level:.4g} % "
        + table.interval_in_words,
    )
    _remember(drawn.lines[0], value)


def _draw_among_others(value: Reliability, ax: Axes, i: int, name: str, limit: float) -> None:
    """Draw one of several models: its intervals are pale, and a little beside those of the others."""
    from matplotlib.transforms import ScaledTranslation

    table, style = value.table, style_of(i)
    full = table.n > 0
    x, y = table.conf[full], table.acc[full]
    aside = ax.transData + ScaledTranslation((i % 2 - 0.5) * 1.5 / 72, 0, figure_of(ax).dpi_scale_trans)
    bars = ax.vlines(x, table.low[full], table.high[full], color=style.colour, alpha=0.3, lw=1.3, zorder=2)
    bars.set(transform=aside, clip_on=limit < 1)
    _draw_folds(value, ax, style.colour, limit, None)
    (line,) = ax.plot(
        x,
        y,
        marker=style.marker,
        ls=style.dashes,
        ms=4.5,
        mew=0,
        lw=1.6,
        color=style.colour,
        zorder=4 - 0.05 * i,
        clip_on=limit < 1,
        label=f"{shortened(name, 26)}, ECE {value.ece:.{decimals(value.limit * 0.1)}f}",
    )
    _remember(line, value)


def _draw_folds(value: Reliability, ax: Axes, colour: str, limit: float, label: str | None) -> None:
    alpha = 0.85 if label else 0.35
    for i, table in enumerate(value.folds):
        full = table.n > 0
        words = label if i == 0 and label else None
        (line,) = ax.plot(
            table.conf[full],
            table.acc[full],
            lw=0.9,
            color=colour,
            alpha=alpha,
            zorder=2,
            clip_on=limit < 1,
            label=words,
        )
        _remember(line, value, i)


def _remember(line: Line2D, value: Reliability, fold: int | None = None) -> None:
    """Let `lines_of` find the line, also after all models of an ax were drawn again."""
    line._believable_shows = (value, fold)  # type: ignore[attr-defined]


def lines_of(value: Reliability, ax: Axes) -> dict[int | None, Line2D]:
    """Return the line of a model on an ax under None, and those of its folds under their numbers."""
    shown = [(line, getattr(line, "_believable_shows", (None, None))) for line in ax.get_lines()]
    return {fold: line for line, (of, fold) in shown if of is value}


def _free_corner(x: Float64s, y: Float64s, low: Float64s, high: Float64s, limit: float) -> Corner | None:
    """Return where the legend hides nothing: above the diagonal at the left, below it at the right, or None."""
    at = np.linspace(0, limit, 101)
    line = np.interp(at, x, y, left=np.nan, right=np.nan)
    left, right = (at < 0.58 * limit, x < 0.58 * limit), (at > 0.42 * limit, x > 0.42 * limit)
    if not (line[left[0]] > 0.74 * limit).any() and not (high[left[1]] > 0.74 * limit).any():
        return "upper left"
    if not (line[right[0]] < 0.26 * limit).any() and not (low[right[1]] < 0.26 * limit).any():
        return "lower right"
    return None


def title_of(value: Reliability) -> str:
    """Return the errors, then what they were computed from."""
    empty = np.count_nonzero(value.table.n == 0)
    occupied = f", {empty} empty" if empty else ""
    rows = f"n = {thousands(int(value.table.n.sum()))}"
    return f"ECE {value.ece:.3f}   MCE {value.mce:.3f}\n{rows}, {_bins(value)}{occupied}"


def title_of_several(values: Sequence[Reliability]) -> str:
    """Return how many models and rows there are, and what the points and bars are."""
    bins = {_bins(one) for one in values}
    levels = {f"{100 * one.table.level:.4g} % {one.table.interval_in_words}s" for one in values}
    words = [*bins] if len(bins) == 1 else []
    words += [f"bars: {min(levels)}"] if len(levels) == 1 else []
    return "\n".join(filter(None, [rows_of_models([int(one.table.n.sum()) for one in values]), ", ".join(words)]))


def _bins(value: Reliability) -> str:
    return f"{len(value.table)} {value.strategy} bins"


def plot_reliability_diagram(
    predictions: Any,
    actuals: Any = None,
    n_bins: Bins = TEN,
    strategy: Strategy = UNIFORM,
    save_path: str | os.PathLike[str] | None = None,
    show_histogram: bool = True,
    *,
    ax: Axes | None = None,
    name: str | None = None,
    folds: Any = None,
    notion: Notion | None = None,
    r: int | None = None,
    threshold: float | None = None,
    pooled: bool = False,
    pairs: bool = False,
    level: float = 0.95,
    band: Band = "pointwise",
    sample_weight: Any = None,
    edges: Any = None,
    limit: float | None = None,
    title: str | None = None,
) -> Figure:
    """Draw the reliability diagram of one model or several, with intervals and a histogram of the scores below.

    A model over-predicts where its points lie below the diagonal and under-predicts where they lie above; of a
    predicted class or an answer it is over-confident or under-confident. Where the interval of a bin crosses the
    diagonal, the data do not show which.

    Parameters
    ----------
    predictions : array-like, Predictions, a statistic, or a dict of them by name
        As in `expected_calibration_error`; the notion must have one curve (see `plot_classwise_reliability`). A dict
        of up to eight models is drawn in one diagram; its values may be (scores, labels) pairs too.
    actuals, n_bins, strategy, notion, r, threshold, pooled, sample_weight, edges
        As in `expected_calibration_error`, for every model.
    save_path : path, optional
        Where to save the plot; the ending (.png, .svg or .pdf) decides the format.
    show_histogram : bool
        Whether the histogram of the scores is drawn below.
    ax : matplotlib Axes, optional
        Draw here instead of on a new figure. A second call on the same ax adds a model, with the next colour and in the
        same legend.
    name : str, optional
        The name of the model in the legend.
    folds : array-like of shape (n,), optional
        The cross-validation fold of each row. Each fold is drawn as a faint line, in the bins of all rows.
    pairs : bool
        The 1-D scores are confidences in an answer, and the outcomes whether it was right: the axes are named so. The
        same as drawing `Predictions(..., pairs=True)`.
    level : float
        Confidence level of the intervals.
    band : {"pointwise", "simultaneous"}
        Whether each interval has this level, or all of them together, as in `reliability_table`. Where you look for the
        worst bins, use simultaneous ones.
    limit : float, optional
        Where the axes end; by default at 1, or earlier, at a round number, if all scores are small.
    title : str, optional
        A first line for the title.

    Returns
    -------
    matplotlib Figure
        Known to pyplot where that is imported and nothing is saved, so `plt.show()` shows it.

    Notes
    -----
    `plot_reliability_diagram.from_estimator` draws the diagram of a fitted scikit-learn classifier;
    `ReliabilityDisplay` has the constructors of scikit-learn's displays, such as `from_cv_results`.

    Examples
    --------
    >>> figure = plot_reliability_diagram([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], n_bins=5)
    >>> print(figure.axes[0].get_title("left"))
    ECE 0.150   MCE 0.200
    n = 4, 5 uniform bins, 2 empty

    Two models of the same rows:

    >>> models = {"first": [0.1, 0.2, 0.8, 0.9], "second": [0.3, 0.4, 0.6, 0.7]}
    >>> figure = plot_reliability_diagram(models, [0, 0, 1, 1], n_bins=5)
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['first, ECE 0.150', 'second, ECE 0.350', 'Perfect calibration']

    The folds of a cross-validation:

    >>> figure = plot_reliability_diagram([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], n_bins=2, folds=[0, 1, 0, 1])
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['Each of 2 folds', 'Perfect calibration', 'All folds, 95 % interval']
    """
    _check.flag(show_histogram, "show_histogram")
    _check.flag(pairs, "pairs")
    _check.choice(band, BANDS, "band")
    asked = BinsAsked(n_bins, strategy, notion, r, threshold, pooled, edges)

    def compute(source: Source, end: float | None) -> Reliability:
        source = source.as_pairs() if pairs else source
        return computed(source, asked, level, band, end, folds, with_histogram=show_histogram)

    new = given_models(predictions, actuals, sample_weight, name, limit, compute)
    height = (6.0 if show_histogram else 4.9) + (0.0 if len(new) == 1 else 0.7 + 0.14 * len(new))
    drawing = Drawing.on(ax, title, save_path, size=(4.8, height))
    return draw_all(drawing, new, show_histogram=show_histogram)


def draw_all(drawing: Drawing, new: list[tuple[str, Reliability]], *, show_histogram: bool) -> Figure:
    ax, shown = drawing.ax, ModelsOnAx.added(drawing, "reliability", new)
    values, (name, first) = shown.values, shown.models[0]
    limit = max(one.limit for one in values.values())
    inside = shown.alone and scale_of(ax) == 1  # in a small panel a legend would cover the bins
    draw_reliability(first if shown.alone else values, ax, legend=inside, limit=limit, name=name)
    below = hang_histogram([one.histogram for one in values.values()], ax) if show_histogram else None
    words = title_of(first) if shown.alone else title_of_several([*values.values()])
    return shown.finished(words, legend=not inside, under=below)


def computed(
    source: Source,
    asked: BinsAsked,
    level: float,
    band: Band,
    limit: float | None,
    folds: Any,
    *,
    with_histogram: bool,
) -> Reliability:
    """Count the bins, those of the histogram and those of each fold."""
    stats = count_asked(source, asked)
    one_curve(stats)
    histogram = None
    if with_histogram and has_bins(source, HISTOGRAM_BINS):
        histogram = count_asked(source, asked._replace(n_bins=HISTOGRAM_BINS, strategy=UNIFORM, edges=None))
    value = Reliability.of(stats, histogram, level, band)
    full = value.table.n > 0
    end = frame_end(limit, value.table.conf[full], value.table.acc[full], value.table.weight[full])
    value = replace(value, limit=end, folds=_fold_tables(source, asked._replace(edges=stats.edges), folds, level))
    if with_histogram and end < 1 and rows_in(source) is not None and asked.threshold is None and not asked.pooled:
        value = replace(value, histogram=_up_to(end, source, asked.notion, asked.r))
    return value


def _fold_tables(source: Source, asked: BinsAsked, folds: Any, level: float) -> tuple[ReliabilityTable, ...]:
    """Return the bins of each fold, which are those of all rows."""
    if folds is None:
        return ()
    rows = rows_in(source)
    if rows is None:
        raise InputError("{argument} needs the rows, not a statistic of them", argument="folds")
    fold_of_row = np.asarray(folds)
    if fold_of_row.shape != (len(rows),):
        raise InputError(
            "{argument} must name the fold of each of {n} rows, got shape {shape}",
            argument="folds",
            n=len(rows),
            shape=fold_of_row.shape,
        )
    names, fold = np.unique(fold_of_row, return_inverse=True)
    if len(names) > MAX_FOLDS_DRAWN:
        raise InputError(
            "{argument} must name at most {most} folds, got {got}",
            argument="folds",
            most=MAX_FOLDS_DRAWN,
            got=len(names),
        )
    parts = (rows.take(np.flatnonzero(fold == k)) for k in range(len(names)))
    return tuple(table_of(count_asked(part, asked), level) for part in parts)


def _up_to(end: float, source: Source, notion: Notion | None, r: int | None) -> ScoreHistogram:
    """Count the scores that are shown, where the axes end before 1."""
    gathered = Gathered.of(source, notion=notion, r=r)
    return ScoreHistogram.of(gathered.points, gathered.dtype, end)


def one_curve(stats: BinStats) -> None:
    """Raise for a notion with several curves."""
    if stats.view.n_strata > 1:
        raise InputError(
            "{notion=} has {n_strata} curves: use plot_classwise_reliability, or pooled=True for a common one",
            notion=stats.view.notion,
            argument="notion",
            n_strata=stats.view.n_strata,
        )


def from_estimator(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    response_method: ResponseMethod = "auto",
    pos_label: Any = None,
    **options: Any,
) -> Figure:
    """Draw the diagram of a fitted scikit-learn classifier on data X, y; options as in `plot_reliability_diagram`."""
    predictions = predictions_of(estimator, X, y, sample_weight, response_method=response_method, pos_label=pos_label)
    return plot_reliability_diagram(predictions, **options)


plot_reliability_diagram.from_estimator = from_estimator  # type: ignore[attr-defined]
