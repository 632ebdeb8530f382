"""Statistics from the collected sums: `ScoreSums`, `CellStats` and `BinStats`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from believable._types import Array, Float64s, Kind
from believable.binning import Edges, Grid
from believable.engines.columns import FrameColumns
from believable.engines.tally import PAIRINGS_OF_ALL_SCORES, GroupBy, Pairing
from believable.predictions import View
from believable.stats.cells import CellStats
from believable.stats.counts import SAME_WITHOUT_WEIGHTS, SUMS, gather
from believable.stats.layout import Layout
from believable.stats.summary import Summary
from believable.stats.sums import OF_ROWS, ScoreSums

Tallied = dict[str, Array]


def reasons_of(tallied: Tallied) -> dict[int, int]:
    """Return the number of invalid rows, by the number of the reason."""
    bad = tallied["key"] < 0
    return {int(-key): int(n) for key, n in zip(tallied["key"][bad], tallied["n"][bad], strict=True)}


def good_part(tallied: Tallied) -> Tallied:
    """Return the sums of valid rows, with the columns that unweighted rows leave out."""
    good = tallied["key"] >= 0
    kept = {name: column[good] for name, column in tallied.items()}
    kept["n"] = kept["n"].astype(np.int64)
    kept.setdefault("w", kept["n"].astype(np.float64))
    for name, same in SAME_WITHOUT_WEIGHTS.items():
        kept.setdefault(name, kept[same])
    return kept


def levels_of(tallied: Tallied) -> dict[str, Tallied]:
    """Return the sums of each subgroup of a column, in order of their names."""
    found, level_of = np.unique(tallied["level"].astype(str), return_inverse=True)
    columns = {name: column for name, column in tallied.items() if name != "level"}
    return {
        str(level): {name: column[level_of == i] for name, column in columns.items()} for i, level in enumerate(found)
    }


def counts_of(part: Tallied, sorts: Sequence[Grid | Edges], which: int, *, apart: bool = True) -> dict[str, Any]:
    """Return key, n and sums for one of the grids counted together; strata are merged unless `apart`."""
    key, place = part["key"], np.zeros(len(part["key"]), np.int64)
    for i in reversed(range(len(sorts))):
        key, here = np.divmod(key, len(sorts[i]))
        if i == which:
            place = here
    new = key * len(sorts[which]) + place if apart else place
    return gather(new.astype(np.int64), {name: part[name] for name in ("n", *SUMS) if name in part})


def cells_of(part: Tallied, view: View, grids: Sequence[Grid | Edges], grid: Grid) -> CellStats:
    """Return the cells of a view on one of the counted grids."""
    which = grids.index(grid)
    return CellStats.from_columns(view, grid, counts_of(part, grids, which, apart=view.n_strata > 1))


def second_class(part: Tallied, grids: Sequence[Grid | Edges]) -> Tallied:
    """Return the pairs of class 1 alone: P(y = 1) of two columns."""
    per_stratum = _per_stratum(grids)
    here = part["key"] // per_stratum == 1
    return {name: column[here] - (per_stratum if name == "key" else 0) for name, column in part.items()}


def _per_stratum(grids: Sequence[Grid | Edges]) -> int:
    return prod(map(len, grids))


def score_sums(kind: Kind, n_classes: int, grids: Sequence[Any], each: Tallied, top: Tallied | None) -> ScoreSums:
    """Return sums over the rows: `each` holds the pairs of classes (rows, for binary scores), `top` the rows."""
    rows = each if top is None else top
    names = ("brier", "entropy", "spread", "spread_variance", "w2_squared")
    sums: dict[str, Any] = {name: float(each[name].sum()) for name in names}
    if top is None:
        sums |= {name: float(each[name].sum()) for name in ("confidence", "correct")}
    else:
        sums |= {"confidence": float(top["wp"].sum()), "correct": float(top["wy"].sum())}
    strata, width = each["key"] // _per_stratum(grids), 1 if kind == "binary" else n_classes
    by_class: dict[str, Any] = {name: np.bincount(strata, each[name], width) for name in ("wp", "wy")}
    if top is not None:
        sums |= _moments(each, top, strata, width)
    return ScoreSums(
        kind=kind,
        n_classes=n_classes,
        n=int(rows["n"].sum()),
        w=float(rows["w"].sum()),
        w2=float(rows["w2"].sum()),
        nll=float("inf") if each["infinite"].any() else float(each["nll"].sum()),
        **sums,
        **by_class,
        deviation=_deviation(each, grids, strata, width),
    )


def _moments(each: Tallied, top: Tallied, strata: Array, width: int) -> dict[str, Float64s]:
    """Return the second moments of rows, in the order of `stats._moments`."""
    first = {name: top[f"x_{name}"] for name in ("brier", "nll", "entropy")}
    first |= {"correct": top["w2y"], "confidence": top["w2p"]}
    second = {name: top[f"xx_{name}"] for name in ("brier", "nll", "entropy")}
    second |= {"correct": top["w2y"], "confidence": top["w2pp"]}
    return {
        "w2x": np.array([first[name].sum() for name in OF_ROWS]),
        "w2xx": np.array([second[name].sum() for name in OF_ROWS]),
        "w2y": np.bincount(strata, each["w2y"], width),
        "w2y_brier": np.bincount(strata, each["w2y_brier"], width),
        "by_chance": np.array([top[f"chance_{name}"].sum() for name in ("brier", "nll")]),
    }


def _deviation(each: Mapping[str, Array], grids: Sequence[Any], strata: Array, width: int) -> Float64s:
    """Return the sum of w (p - mean)^2 by class, from within and between cells (Chan et al. 1983)."""
    w = each["w"]
    if "wd" in each:
        rest = _per_stratum(grids[1:])
        centre = each["key"] // rest % len(grids[0]) / grids[0].n_cells
        mean, within = centre + each["wd"] / w, each["wdd"] - each["wd"] ** 2 / w
    else:
        mean, within = each["wp"] / w, each["wpp"] - each["wp"] ** 2 / w
    weight = np.bincount(strata, w, width)
    overall = np.bincount(strata, w * mean, width) / np.where(weight > 0, weight, 1)
    return np.asarray(np.bincount(strata, np.maximum(within, 0) + w * (mean - overall[strata]) ** 2, width))


# --- the group-bys that a layout needs, and the summary made from their sums ------------------------------------------


CELLS_FOR_SUMS_ALONE = 840  # the cells where only the sums of pairs are needed


def planned(columns: FrameColumns, layout: Layout, by: int | None = None) -> list[GroupBy]:
    """Plan group-bys: one for binary scores; two for a matrix, of rows and of (row, class), or three if grids differ.

    The first one covers every row, so it also counts invalid rows.
    """
    if columns.kind == "binary":
        wanted: dict[Pairing, tuple[Grid, ...]] = {"binary": _grids(layout, "binary")}
    else:
        spare = (Grid(CELLS_FOR_SUMS_ALONE, "uniform", columns.dtype),)
        top, label = _grids(layout, "confidence"), _grids(layout, "top_label")
        wanted = {"top_label": label} if label and top in ((), label) else {"confidence": top or spare}
        if label:
            wanted["top_label"] = label
        # Uniform grids come first, because deviations are taken from the edges of their cells.
        wanted["classwise"] = _grids(layout, "classwise", "binary") or spare
    matrix, first = columns.kind != "binary", next(iter(wanted))
    return [
        GroupBy(columns=columns, pairing=pairing, sorts=grids, by=by, moments=matrix and pairing == first)
        for pairing, grids in wanted.items()
    ]


def _grids(layout: Layout, *notions: str) -> tuple[Grid, ...]:
    found = dict.fromkeys(grid for view, grid in layout.views if view.notion in notions)
    return tuple(sorted(found, key=lambda grid: grid.spacing != "uniform"))


def assembled(
    layout: Layout, tallies: Sequence[GroupBy], parts: Sequence[Tallied], classes: tuple[str, ...] | None
) -> Summary:
    """Return the summary from the sums of the tallies, in their order."""
    by_pairing: dict[str, tuple[Tallied, tuple[Any, ...]]]
    by_pairing = {one.pairing: (part, one.sorts) for one, part in zip(tallies, parts, strict=True)}
    cells = []
    for view, grid in layout.views:
        notion = "top_label" if view.notion == "confidence" and "confidence" not in by_pairing else view.notion
        if notion in by_pairing:
            part, sorts = by_pairing[notion]
        else:  # with two columns, P(y = 1)
            part, sorts = by_pairing["classwise"]
            part = second_class(part, sorts)
        cells.append(cells_of(part, view, sorts, grid))
    each, sorts = next(by_pairing[name] for name in PAIRINGS_OF_ALL_SCORES if name in by_pairing)
    top = None if layout.kind == "binary" else parts[0]
    sums = score_sums(layout.kind, layout.n_classes, sorts, each, top)
    return Summary(sums=sums, cells=tuple(cells), classes=classes)
