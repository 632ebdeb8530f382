"""From a `CellStats` to the points that maps of one event are learnt from."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from believable._types import Float64s, Int64s, Notion
from believable.errors import InputError, LimitWarning, UndefinedError
from believable.points import count_points
from believable.recalibrate._scores import Scores
from believable.recalibrate._warn import warn
from believable.stats import CellStats, Summary

MOST_IN_TAILS = 0.05  # of the weight; with so much of it in the outermost cells a map may be off by one per cent


def _warn_of_coarse_tails(cells: CellStats) -> None:
    """Warn where many scores are in the first or last uniform cell, which holds all logits from there on."""
    outermost = (cells.index == 1) | (cells.index == cells.grid.n_cells)  # beyond them the cells of exactly 0 and 1
    share = cells.w[outermost].sum() / cells.w.sum()
    if cells.grid.spacing == "uniform" and share > MOST_IN_TAILS:
        warn(
            f"{share:.0%} of the weight lies in the outermost of {cells.grid.n_cells} uniform cells, too wide to tell "
            "such scores apart: all count as the mean of their cell; count with CellStats.of(..., spacing='logit')",
            LimitWarning,
        )


class Group(NamedTuple):
    """Cells of one event or class: where they are, how many rows they hold, their weight and that of positives."""

    scores: Scores
    n: Int64s
    w: Float64s
    wy: Float64s


def cells_of_summary(summary: Summary, reads_logits: bool) -> CellStats:
    """The cells of an event, or of every class, on the grid that suits a map."""
    notion: Notion = "binary" if summary.kind == "binary" else "classwise"
    uniform, logit = summary.cells_of(notion), summary.cells_of(notion, spacing="logit")
    if notion == "classwise" and summary.n_classes == 2 and summary.kind == "multiclass":
        raise UndefinedError("the summary holds two columns, a map of one event is learnt from P(y = 1): count that")
    if reads_logits or float(np.sum(logit.w**2)) < float(np.sum(uniform.w**2)):
        return logit
    return uniform


def check_cells(cells: CellStats, multilabel: bool) -> None:
    """Raise unless the statistic holds all scores of an event, or of every class."""
    if not isinstance(cells, CellStats):
        raise InputError(f"fit_from_cells takes a CellStats or a Summary, got a {type(cells).__name__}")
    if cells.view.notion not in ("binary", "classwise") or cells.view.pooled or cells.view.threshold is not None:
        raise UndefinedError(
            f"a map is learnt from all scores of an event or class, not from {cells.view}: count with "
            "notion='binary' or 'classwise'"
        )
    if cells.view.multilabel != multilabel:
        counted = "independent labels" if cells.view.multilabel else "classes of which one happens"
        wanted = f"OneVsRest(multilabel={cells.view.multilabel})"
        raise UndefinedError(f"the statistic counts {counted}: {wanted} is for those")


def rarest_in(groups: list[Group | None]) -> int:
    """About how many rows the rarest class has; cells that are weighted know it by weight alone."""
    found = [one for one in groups if one is not None]
    if not found:
        raise InputError("every label is in all rows or in none, so no map can be learnt")
    return int(min(min(one.wy.sum(), (one.w - one.wy).sum()) * one.n.sum() / one.w.sum() for one in found))


def groups_of(cells: CellStats, n_maps: int, reads_logits: bool) -> list[Group | None]:
    """The points of each map; None for a class about which nothing can be learnt."""
    groups = count_points(cells)
    if len(groups) != n_maps:
        asked = "; count with notion='binary' where there are two" if n_maps == 1 else ""
        raise UndefinedError(f"the statistic holds {len(groups)} groups of scores, {n_maps} are needed{asked}")
    found: list[Group | None] = []
    for group, points in enumerate(groups):
        never, always = not points.wy.any(), not (points.w - points.wy).any()
        if (never and n_maps > 1) or (always and cells.view.multilabel):
            found.append(None)
            continue
        if never or always:
            raise InputError("the statistic holds one class only: no map can be learnt")
        own = cells.only_group(group)
        if reads_logits:
            _warn_of_coarse_tails(own)
        scores = Scores(_inside(points.score, own), "probabilities", ends=_ends(own))
        found.append(Group(scores, points.n, points.w, points.wy))
    return found


def _inside(mean: Float64s, cells: CellStats) -> Float64s:
    """Mean scores kept in their cells, out of which rounding (of float32, also that of the edges) may have put them."""
    upper = replace(cells.grid, dtype="float64").upper_edges()
    lower = np.append(0, upper[:-1])
    return np.clip(mean, np.nextafter(lower, 1)[cells.index], upper[cells.index])


def _ends(cells: CellStats) -> tuple[Float64s, Float64s]:
    """The lowest and the highest score of each cell, in the type that was counted."""
    upper = cells.grid.upper_edges()
    lower = np.append(upper[:1], np.nextafter(upper[:-1], upper.dtype.type(1)))
    lower[-1] = upper[-1]  # the cell of exactly 1
    return lower[cells.index].astype(np.float64), upper[cells.index].astype(np.float64)
