"""The decision curve: net benefit of a model beside treating everyone and no one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from believable._check import generator, renamed
from believable.decide.net_benefit import DecisionCurve, net_benefit
from believable.plots.frame import Drawing
from believable.plots.style import (
    GREY,
    INK,
    MODEL_COLOURS,
    MODEL_LINE_STYLES,
    by_name,
    plain,
    shortened,
    thousands,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FRAME_BELOW_ZERO = 0.12  # how far the frame goes below 0, as a share of the prevalence


def draw_net_benefit(value: DecisionCurve | Mapping[str, DecisionCurve], ax: Axes) -> Axes:
    """Draw net benefit over the threshold, for one model or several by name, beside treating all and none."""
    models = {"": value} if isinstance(value, DecisionCurve) else dict(value)
    first = next(iter(models.values()))
    ax.plot(first.threshold, first.treat_all, color=GREY, lw=1.4, zorder=2, label="Treat everyone")
    ax.axhline(0, color=INK, lw=1.0, ls=(0, (1.5, 1.5)), zorder=2, label="Treat no one")
    for i, (name, one) in enumerate(models.items()):
        label = shortened(name, 30) if name else "Treat where score ≥ threshold"
        ax.plot(
            one.threshold,
            one.net_benefit,
            color=MODEL_COLOURS[i],
            lw=1.8,
            ls=MODEL_LINE_STYLES[i % 4],
            zorder=4,
            label=label,
        )
        if len(models) == 1:
            words = f"{100 * one.level:.4g} % interval at each threshold"
            ax.fill_between(
                one.threshold, one.low, one.high, color=MODEL_COLOURS[i], alpha=0.16, lw=0, zorder=1, label=words
            )
            _mark_sure(one, ax)
    top = max(max(float(one.net_benefit.max()), one.prevalence) for one in models.values())
    if len(models) == 1:
        top = max(top, float(first.high.max()))
    top = top if top > 0 else 0.1
    ax.set(xlim=(0, _end(first)), ylim=(-FRAME_BELOW_ZERO * top, 1.05 * top))
    ax.set(xlabel="Threshold probability", ylabel="Net benefit")
    plain(ax)
    return ax


def _mark_sure(value: DecisionCurve, ax: Axes) -> None:
    """Draw a bar along the bottom where the whole interval of the model is above both."""
    from matplotlib.transforms import blended_transform_factory

    along = blended_transform_factory(ax.transData, ax.transAxes)
    for i, (low, high) in enumerate(value.surely_useful):
        label = f"Better than both ({100 * value.level:.4g} % confidence)" if i == 0 else None
        ax.plot([low, high], [0.015, 0.015], color=MODEL_COLOURS[2], lw=5, transform=along, zorder=3, label=label)


def _end(value: DecisionCurve) -> float:
    """Return the end of the axis: the last threshold, or where nobody is treated any more, if that is well before."""
    last = float(value.threshold[-1])
    treated = value.threshold[value.treated > 0]
    reached = float(treated[-1]) if len(treated) else last
    return min(1.15 * reached, last) if 0 < reached < 0.6 * last else max(last, 0.01)


def title_of(value: DecisionCurve) -> str:
    """Return where the model is of use."""
    rows = f"n = {thousands(value.n)}, prevalence {value.prevalence:.3g}"
    if not value.useful:
        return f"At no threshold better than treating all or none\n{rows}"
    low, high = max(value.useful, key=lambda ends: ends[1] - ends[0])
    return f"Better than treating all or none at thresholds {low:g} … {high:g}\n{rows}"


@renamed(groups="clusters")
def plot_net_benefit(
    predictions: Any,
    actuals: Any = None,
    save_path: str | os.PathLike[str] | None = None,
    *,
    thresholds: Any = None,
    ax: Axes | None = None,
    clusters: Any = None,
    level: float = 0.95,
    n_resamples: int = 1000,
    random_state: Any = None,
    sample_weight: Any = None,
    title: str | None = None,
) -> Figure:
    """Draw the decision curve of one model or several, beside treating everyone and treating no one.

    Parameters
    ----------
    predictions : array-like, Predictions, DecisionCurve, or a dict of them by name
        Several models of the same rows are drawn in one frame, without their intervals.
    actuals, thresholds, clusters, level, n_resamples, random_state, sample_weight
        As in `net_benefit`.
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
    >>> figure = plot_net_benefit([0.1, 0.3, 0.6, 0.9], [0, 0, 1, 1], random_state=0)
    >>> print(figure.axes[0].get_title("left"))
    Better than treating all or none at thresholds 0.11 … 0.9
    n = 4, prevalence 0.5
    """
    rng = generator(random_state)

    def compute(one: Any) -> DecisionCurve:
        return net_benefit(
            one,
            actuals,
            thresholds=thresholds,
            clusters=clusters,
            level=level,
            n_resamples=n_resamples,
            random_state=rng,
            sample_weight=sample_weight,
        )

    models = by_name(predictions, compute, DecisionCurve)
    drawing = Drawing.on(ax, title, save_path, size=(5.8, 4.9))
    draw_net_benefit(models, drawing.ax)
    first = next(iter(models.values()))
    words = title_of(first) if len(models) == 1 else f"n = {thousands(first.n)}, prevalence {first.prevalence:.3g}"
    return drawing.finished(words)
