"""The forest plot of subgroups: for whom are the scores miscalibrated?"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from believable import _check
from believable.errors import InputError, UndefinedError
from believable.inference.subgroups import Subgroup, Subgroups, subgroups
from believable.plots.frame import Drawing, beside, draw_intervals, inside
from believable.plots.style import (
    BAR,
    FLAG,
    GREY,
    INK,
    capitalised,
    in_words,
    plain,
    shortened,
    thousands,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_LEVEL_NAME_LENGTH = 34
INCHES_PER_SUBGROUP, INCHES_PER_LETTER = 0.24, 0.08


def chosen(value: Subgroups, most: int) -> tuple[Subgroup, ...]:
    """Return all subgroups in their order; if there are too many, flagged ones and those with the smallest p-values."""
    if len(value) <= most:
        return value.groups
    order = sorted(range(len(value)), key=lambda i: _by_evidence(value.groups[i]))
    return tuple(value.groups[i] for i in sorted(order[:most]))


def _by_evidence(group: Subgroup) -> tuple[bool, float, float]:
    if group.value is None or group.floor is None:
        return True, 2.0, 0.0
    return not group.flagged, 1.0 if group.p_value is None else group.p_value, -abs(group.value - group.floor)


def draw_subgroups(value: Subgroups, ax: Axes, groups: Sequence[Subgroup] | None = None) -> Axes:
    """Draw a line for each subgroup (interval, estimate, observed value, noise floor, rows) and one for all rows."""
    lines = _lines(value.groups if groups is None else groups)
    rows = [(-y, group) for y, (_, group) in enumerate(lines) if group is not None]
    known = [(y, group) for y, group in rows if group.value is not None]
    ends = _ends(value, [group for _, group in known])
    overall = value.overall
    ax.axvspan(*np.clip([overall.low, overall.high], *ends), color=GREY, alpha=0.2, lw=0, zorder=0)
    all_rows = f"All rows: {overall.estimate:.3g}, interval shaded"
    ax.axvline(overall.estimate, color=GREY, lw=1.2, zorder=1, label=all_rows)
    words = f"Estimate, {100 * value.level:.4g} % interval"
    for flagged, colour, label in ((False, INK, words), (True, FLAG, f"{words}: flagged")):
        some = [(y, group) for y, group in known if group.flagged == flagged]
        low, middle, high = ([getattr(group, name) for _, group in some] for name in ("low", "estimate", "high"))
        if some:
            draw_intervals(ax, [y for y, _ in some], low, middle, high, colour, label, ends)
    floors = [(group.floor, y) for y, group in known if group.floor is not None]
    measured = [(group.value, y) for y, group in known if group.value not in (None, group.estimate)]
    if floors:
        ax.plot(*zip(*floors, strict=True), "|", ms=11, mew=2.2, color=BAR, zorder=2, label="Noise floor, mean")
    if measured:
        ax.plot(*zip(*measured, strict=True), "o", ms=5.5, mfc="none", mec=GREY, zorder=3, label="Observed value")

    headed = lines[0][1] is None
    beside(ax, 0 if headed else 0.85, "Rows", INK, 48)
    for y, group in rows:
        beside(ax, y, thousands(group.n), GREY if group.value is None else INK, 48)
        if group.value is None:
            inside(ax, y, shortened(group.note or "undefined", 58))
    ax.set(xlim=ends, ylim=(0.4 - len(lines), 0.6 if headed else 1.2), xlabel=capitalised(in_words(value.metric)))
    plain(ax)
    _name_lines(ax, lines)
    return ax


def _name_lines(ax: Axes, lines: list[tuple[str, Subgroup | None]]) -> None:
    ax.set_yticks([-y for y in range(len(lines))], [words for words, _ in lines])
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    for tick, (_, group) in zip(ax.get_yticklabels(), lines, strict=True):
        if group is None or group.flagged:
            tick.set_fontweight("bold")
        if group is not None and group.flagged:
            tick.set_color(FLAG)


def _lines(groups: Sequence[Subgroup]) -> list[tuple[str, Subgroup | None]]:
    """Return the words of each line and its subgroup; a line without one names the column that follows."""
    headed = len({group.column for group in groups}) > 1 or any(group.column != "group" for group in groups)
    lines: list[tuple[str, Subgroup | None]] = []
    for i, group in enumerate(groups):
        if headed and (i == 0 or groups[i - 1].column != group.column):
            lines.append((shortened(group.column, MAX_LEVEL_NAME_LENGTH), None))
        lines.append((shortened(group.name, MAX_LEVEL_NAME_LENGTH), group))
    return lines


def _ends(value: Subgroups, groups: list[Subgroup]) -> tuple[float, float]:
    """Return the ends of the axis: they include everything drawn, with a margin; 0 if values cannot be negative."""
    numbers = [value.overall.low, value.overall.high, value.overall.estimate]
    numbers += [x for g in groups for x in (g.value, g.low, g.high, g.estimate, g.floor) if x is not None]
    finite = np.array([x for x in numbers if np.isfinite(x)] or [0.0])
    low, high = float(finite.min()), float(finite.max())
    room = 0.05 * (high - low) or 0.05
    return (-room / 4 if 0 <= low < 0.5 * high else low - room), high + room


def title_of(value: Subgroups, n_shown: int) -> str:
    """Return how many subgroups are miscalibrated, and how many are left out."""
    flagged = len(value.flagged)
    count = f"{flagged or 'None'} of {len(value)} subgroups {'are' if flagged > 1 else 'is'}"
    rest = "" if n_shown == len(value) else f"; the {n_shown} smallest p-values are shown"
    return f"{count} flagged as miscalibrated\nFalse discovery rate {value.rate:g}{rest}"


def plot_subgroup_forest(
    predictions: Any,
    actuals: Any = None,
    by: Any = None,
    save_path: str | os.PathLike[str] | None = None,
    *,
    ax: Axes | None = None,
    metric: str | Callable[..., Any] = "expected_calibration_error",
    options: Mapping[str, Any] | None = None,
    level: float = 0.95,
    rate: float = 0.05,
    n_resamples: int = 500,
    random_state: Any = None,
    sample_weight: Any = None,
    max_groups: int = 40,
    title: str | None = None,
) -> Figure:
    """Draw a forest plot of a metric by subgroup: interval, noise floor, rows, and flags.

    Small subgroups show large errors even if they are calibrated; the tick in each line, the noise floor, says how
    large. Filled dots are estimates of the error in the population, open ones the plain values, which are too large
    near 0. Subgroups in colour are miscalibrated, at a false discovery rate that allows for their number.

    Parameters
    ----------
    predictions : Subgroups, Predictions or array-like
        The result of `subgroups`, or the predictions to compute it from.
    actuals, by, metric, options, level, rate, n_resamples, random_state, sample_weight
        As in `subgroups`; leave them out for a `Subgroups`.
    save_path : path, optional
        Where to save the plot; the ending (.png, .svg or .pdf) decides the format.
    ax : matplotlib Axes, optional
        Draw here instead of on a new figure.
    max_groups : int
        If there are more, flagged ones are shown, then those with the smallest p-values.
    title : str, optional
        A first line for the title.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p, site = rng.random(2000), np.repeat(["north", "south"], 1000)
    >>> y = rng.random(2000) < np.where(site == "south", 0.8 * p, p)
    >>> figure = plot_subgroup_forest(p, y, site, random_state=0)
    >>> figure.axes[0].get_title("left").partition("\\n")[0]
    '1 of 2 subgroups is flagged as miscalibrated'
    """
    max_groups = _check.positive_integer(max_groups, "max_groups")
    if isinstance(predictions, Subgroups):
        if actuals is not None or by is not None or sample_weight is not None:
            raise InputError("a Subgroups already holds what was found: leave actuals, by and sample_weight out")
        value = predictions
    else:
        value = subgroups(
            predictions,
            actuals,
            by,
            metric=metric,
            options=options,
            level=level,
            rate=rate,
            n_resamples=n_resamples,
            random_state=random_state,
            sample_weight=sample_weight,
        )
    if not len(value):
        raise UndefinedError("there are no subgroups to draw")
    groups = chosen(value, max_groups)
    lines = _lines(groups)
    width = 5.2 + INCHES_PER_LETTER * max(len(words) for words, _ in lines)
    drawing = Drawing.on(ax, title, save_path, size=(width, 1.9 + INCHES_PER_SUBGROUP * len(lines)))
    draw_subgroups(value, drawing.ax, groups)
    return drawing.finished(title_of(value, len(groups)))
