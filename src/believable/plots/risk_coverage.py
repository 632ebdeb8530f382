"""The risk–coverage curve: the error rate if only the most confident answers are given."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from believable._check import generator, renamed
from believable.decide.selective import RiskCoverage, selective
from believable.plots.frame import Drawing, next_round_number, spread
from believable.plots.style import (
    GREY,
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

COVERAGE_OF_FIRST_ROWS = 0.02  # the risk of the first rows may be anything; the frame does not grow for it


def draw_risk_coverage(value: RiskCoverage | Mapping[str, RiskCoverage], ax: Axes) -> Axes:
    """Draw risk over coverage, for one model or several by name; for one, the best possible order too."""
    models = {"": value} if isinstance(value, RiskCoverage) else dict(value)
    highest = 0.0
    for i, (name, one) in enumerate(models.items()):
        at = spread(len(one.risk))
        interval = f"{one.area:.4f} ({one.low:.4f} … {one.high:.4f})"
        label = f"{shortened(name, 30)}: area {interval}" if name else "Risk of the answers"
        x, y = 100 * np.append(0, one.coverage[at]), 100 * np.append(one.risk[0], one.risk[at])  # from 0 on
        ax.plot(
            x,
            y,
            drawstyle="steps-pre",
            lw=1.7,
            color=MODEL_COLOURS[i],
            ls=MODEL_LINE_STYLES[i % 4],
            zorder=4,
            label=label,
        )
        later = one.coverage >= COVERAGE_OF_FIRST_ROWS
        highest = max(highest, float(one.risk[later].max()))
    if len(models) == 1:
        (one,) = models.values()
        label = f"Best possible order: area {one.best:.4f}"
        x, y = 100 * one.best_coverage, 100 * one.best_risk
        ax.plot(x, y, color=GREY, lw=1.2, ls=(0, (4, 3)), zorder=3, label=label)
        coverage = np.linspace(1e-3, 1, 1000)
        best, ours = np.interp(100 * coverage, x, y), 100 * one.risk_at(coverage)  # in steps, as the line is
        ax.fill_between(100 * coverage, best, ours, color=MODEL_COLOURS[0], alpha=0.12, lw=0, label="Excess")
        ax.axhline(100 * one.risk[-1], color=GREY, lw=0.8, ls=":", zorder=2, label="Random order, on average")
    ax.set(xlim=(0, 100), ylim=(0, 100 * min(next_round_number(1.05 * highest), 1.0)))
    ax.set(xlabel="Answered (%), most confident first", ylabel="Error rate (%)")
    plain(ax)
    return ax


def title_of(value: RiskCoverage) -> str:
    """Return the area, its excess over the best possible one, and the error rate of all answers."""
    return (
        f"AURC {value.area:.4f} ({100 * value.level:.4g} % interval {value.low:.4f} … {value.high:.4f})   "
        f"excess {value.excess:.4f}\n"
        f"n = {thousands(int(value.n[-1]))}, error rate {100 * value.risk[-1]:.3g} % if all are answered"
    )


@renamed(groups="clusters")
def plot_risk_coverage(
    predictions: Any,
    actuals: Any = None,
    save_path: str | os.PathLike[str] | None = None,
    *,
    ax: Axes | None = None,
    pairs: bool = False,
    clusters: Any = None,
    level: float = 0.95,
    n_resamples: int = 1000,
    random_state: Any = None,
    sample_weight: Any = None,
    title: str | None = None,
) -> Figure:
    """Draw risk against coverage, for one model or several.

    Parameters
    ----------
    predictions : array-like, Predictions, RiskCoverage, or a dict of them by name
        Several models are drawn in one frame.
    actuals, pairs, clusters, level, n_resamples, random_state, sample_weight
        As in `selective`.
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
    >>> figure = plot_risk_coverage([0.9, 0.2, 0.6, 0.7], [1, 0, 0, 1], random_state=0)
    >>> print(figure.axes[0].get_title("left").splitlines()[1])
    n = 4, error rate 25 % if all are answered
    """
    rng = generator(random_state)

    def compute(one: Any) -> RiskCoverage:
        return selective(
            one,
            actuals,
            pairs=pairs,
            clusters=clusters,
            level=level,
            n_resamples=n_resamples,
            random_state=rng,
            sample_weight=sample_weight,
        )

    models = by_name(predictions, compute, RiskCoverage)
    drawing = Drawing.on(ax, title, save_path, size=(5.6, 4.9))
    draw_risk_coverage(models, drawing.ax)
    first = next(iter(models.values()))
    words = title_of(first) if len(models) == 1 else f"Risk–coverage curves, {100 * first.level:.4g} % intervals"
    return drawing.finished(words, columns=2 if len(models) == 1 else 1)
