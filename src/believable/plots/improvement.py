"""Before and after recalibration, side by side."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

from believable.binning import Edges
from believable.errors import InputError
from believable.plots.reliability import plot_reliability_diagram
from believable.plots.style import INK, capitalised, new_figure, save
from believable.recalibrate import Calibration, Improvement
from believable.recalibrate.crossfit import SCORE_WORDS
from believable.stats.source import TEN, UNIFORM

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from believable._types import Bins, Notion, Strategy


def plot_improvement(
    result: Any,
    n_bins: Bins = TEN,
    strategy: Strategy = UNIFORM,
    save_path: str | os.PathLike[str] | None = None,
    *,
    notion: Notion | None = None,
    r: int | None = None,
    edges: Edges | None = None,
    level: float = 0.95,
    title: str | None = None,
) -> Figure:
    """Draw the reliability diagrams before and after recalibration, with the improvement in the title.

    Every row of the second diagram was recalibrated by a calibration map that was fitted without it, so the diagram
    shows what to expect on new rows.

    Parameters
    ----------
    result : Calibration or Improvement
        From `believable.calibrate`.
    n_bins, strategy, notion, r, edges
        As in `expected_calibration_error`.
    save_path : path, optional
        Where to save the plot; the ending (.png, .svg or .pdf) decides the format.
    level : float
        Confidence level of the intervals of the bins.
    title : str, optional
        A first line for the title.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> import believable
    >>> from believable.readers import load_demo
    >>> figure = plot_improvement(believable.calibrate(load_demo()["naive_bayes"], method="platt"))
    >>> [ax.get_title("left").splitlines()[0] for ax in figure.axes[:2]]
    ['Before', 'After (platt)']
    """
    if not isinstance(result, (Calibration, Improvement)):
        raise InputError(f"plot_improvement takes what believable.calibrate returns, got a {type(result).__name__}")
    improvement = result.improvement if isinstance(result, Calibration) else result
    after = f"after ({result.method})" if isinstance(result, Calibration) else "after"
    figure = new_figure(9.6, 6.4, shown=save_path is None)
    axes = figure.subplots(1, 2)
    panels = ((improvement.predictions_before, improvement.name_before), (improvement.predictions_after, after))
    for ax, (predictions, name) in zip(axes, panels, strict=True):
        plot_reliability_diagram(
            predictions,
            n_bins=n_bins,
            strategy=strategy,
            ax=ax,
            notion=notion,
            r=r,
            edges=edges,
            level=level,
            title=capitalised(name),
        )
    lines = [title] if title else []
    lines += [
        _line(improvement, name) for name in ("log_loss", "smece") if not math.isnan(improvement.gains[name].value)
    ]
    figure.suptitle("\n".join(lines), fontsize=10.5, color=INK, x=0.02, y=1.0, ha="left", va="bottom")
    save(figure, save_path)
    return figure


def _line(improvement: Improvement, name: str) -> str:
    before, after, gain = improvement.before[name].value, improvement.after[name].value, improvement.gains[name]
    line = f"{SCORE_WORDS[name]} {before:.4f} → {after:.4f}"
    if not math.isfinite(gain.value):
        return line
    return (
        f"{line}: improved by {gain.value:+.4f}, {100 * gain.level:.4g} % interval {gain.low:+.4f} … {gain.high:+.4f}"
    )
