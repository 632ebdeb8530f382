"""The cost of a cascade: how much to route to the slow model, and what that saves."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from believable._check import renamed
from believable.decide.cascade import Cascade, cascade
from believable.errors import InputError
from believable.plots.frame import Drawing, spread
from believable.plots.style import FLAG, GREY, INK, TOO_LOW, plain, thousands

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_cascade(value: Cascade, ax: Axes) -> Axes:
    """Draw the cost against the share routed, the two models alone, the chosen threshold and the theoretical one."""
    curve = value.curve
    best = curve.cheapest
    theory = int(np.searchsorted(curve.cut, value.theoretical_cut, side="right")) - 1
    at = spread(len(curve.cut), best, theory)
    x = 100 * curve.routed
    ax.plot(x[at], curve.cost[at], lw=1.8, color=INK, zorder=3, label="Cost of the cascade")
    promised = "Expected from the scores"
    ax.plot(x[at], curve.promised[at], ls=(0, (4, 3)), lw=1.2, color=GREY, zorder=2, label=promised)
    ends = (("fast", 0, value.cost_fast_only, "o"), ("slow", 100, value.cost_slow_only, "s"))
    for name, where, cost, marker in ends:
        ax.axhline(cost, color=TOO_LOW, lw=0.8, ls=(0, (1, 2)), zorder=1)
        label = f"{name.capitalize()} model alone: {cost:.4g}"
        ax.plot([where], [cost], marker, ms=6.5, color=TOO_LOW, zorder=5, clip_on=False, label=label)
    words = f"Theoretical threshold {value.theoretical_cut:.3g}: {value.theoretical_cost:.4g}"
    ax.plot([x[theory]], [curve.cost[theory]], "D", ms=7, mfc="none", mec=INK, zorder=5, clip_on=False, label=words)
    words = f"Chosen threshold {value.cut:.3g}: {value.cost:.4g}"
    ax.plot([x[best]], [curve.cost[best]], "o", ms=8, color=FLAG, zorder=6, clip_on=False, label=words)
    _frame(ax, [curve.cost, curve.promised, np.array([value.cost_fast_only, value.cost_slow_only])])
    return ax


def _frame(ax: Axes, costs: list[Any]) -> None:
    low, high = min(float(each.min()) for each in costs), max(float(each.max()) for each in costs)
    room = 0.06 * (high - low) or 0.05
    ax.set(xlim=(0, 100), ylim=(0 if low < 0.4 * high else low - room, high + room))
    ax.set(xlabel="Rows routed to the slow model (%), least confident first", ylabel="Cost per row")
    plain(ax)


def title_of(value: Cascade) -> str:
    """Return what is routed, and what that saves on rows that were not used to choose the threshold."""
    saving = value.saving
    share = f"{100 * value.routed:.3g} %" if value.routed else "none"
    ends = f"{100 * saving.level:.4g} % interval {saving.low:+.3g} … {saving.high:+.3g}"
    return (
        f"Routes {share} of {thousands(value.n)} rows to the slow model\n"
        f"Saves {saving.value:+.3g} per row over the {value.cheaper} model, {ends}"
    )


@renamed(groups="clusters")
def plot_cascade(
    predictions: Any,
    actuals: Any = None,
    save_path: str | os.PathLike[str] | None = None,
    *,
    cost_fast: float | None = None,
    cost_slow: float | None = None,
    cost_error: float = 1.0,
    slow: Any = None,
    slow_error: float = 0.0,
    cv: int = 5,
    pairs: bool = False,
    clusters: Any = None,
    level: float = 0.95,
    random_state: Any = 0,
    sample_weight: Any = None,
    ax: Axes | None = None,
    title: str | None = None,
) -> Figure:
    """Draw the cost per row of a cascade against the share of rows that is routed to the slow model.

    The line begins with the fast model alone and ends where both are asked about every row. The dashed line is the cost
    expected from the scores: it lies below where the fast model is over-confident. The saving in the title is measured
    on rows that did not choose the threshold.

    Parameters
    ----------
    predictions : Cascade, Predictions or array-like
        The result of `cascade`, or the predictions to compute it from.
    actuals, cost_fast, cost_slow, cost_error, slow, slow_error, cv, pairs, clusters, level, random_state, sample_weight
        As in `cascade`; leave them out for a `Cascade`.
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
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> figure = plot_cascade(p, rng.random(2000) < p, cost_fast=0.01, cost_slow=0.2)
    >>> figure.axes[0].get_xlabel()
    'Rows routed to the slow model (%), least confident first'
    """
    if isinstance(predictions, Cascade):
        if any(each is not None for each in (actuals, cost_fast, cost_slow, slow, sample_weight)):
            raise InputError("a Cascade already holds what was found: leave actuals, costs, slow and sample_weight out")
        value = predictions
    elif cost_fast is None or cost_slow is None:
        raise InputError(
            "{argument} and cost_slow are missing: what does it cost to ask each model about one row?",
            argument="cost_fast",
        )
    else:
        value = cascade(
            predictions,
            actuals,
            cost_fast=cost_fast,
            cost_slow=cost_slow,
            cost_error=cost_error,
            slow=slow,
            slow_error=slow_error,
            cv=cv,
            pairs=pairs,
            clusters=clusters,
            level=level,
            random_state=random_state,
            sample_weight=sample_weight,
        )
    drawing = Drawing.on(ax, title, save_path, size=(6.9, 5.2))
    draw_cascade(value, drawing.ax)
    return drawing.finished(title_of(value))
