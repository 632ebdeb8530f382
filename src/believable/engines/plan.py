"""Which group-bys a layout needs, and the summary that their sums make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from believable.binning import Grid
from believable.engines.columns import Columns
from believable.engines.sums import Tallied, cells_of, score_sums, second_class
from believable.engines.tally import OF_SCORES, Pairing, Tally
from believable.stats.layout import Layout
from believable.stats.summary import Summary

FOR_SUMS = 840  # cells of pairs whose sums are wanted and not their cells


def planned(columns: Columns, layout: Layout, by: int | None = None) -> list[Tally]:
    """Binary scores need one group-by; a matrix needs two, of rows and of (row, class), or three where grids differ.

    The first one meets every row, so it knows which cannot be counted.
    """
    if columns.kind == "binary":
        wanted: dict[Pairing, tuple[Grid, ...]] = {"binary": _grids(layout, "binary")}
    else:
        spare = (Grid(FOR_SUMS, "uniform", columns.dtype),)
        top, label = _grids(layout, "confidence"), _grids(layout, "top_label")
        wanted = {"top_label": label} if label and top in ((), label) else {"confidence": top or spare}
        if label:
            wanted["top_label"] = label
        # Uniform grids first: deviations are taken from the edge of their cells.
        wanted["classwise"] = _grids(layout, "classwise", "binary") or spare
    matrix, first = columns.kind != "binary", next(iter(wanted))
    return [
        Tally(columns=columns, pairing=pairing, sorts=grids, by=by, moments=matrix and pairing == first)
        for pairing, grids in wanted.items()
    ]


def _grids(layout: Layout, *notions: str) -> tuple[Grid, ...]:
    found = dict.fromkeys(grid for view, grid in layout.views if view.notion in notions)
    return tuple(sorted(found, key=lambda grid: grid.spacing != "uniform"))


def assembled(
    layout: Layout, tallies: Sequence[Tally], parts: Sequence[Tallied], classes: tuple[str, ...] | None
) -> Summary:
    """The summary of the rows behind the sums of some tallies, in their order."""
    by_pairing: dict[str, tuple[Tallied, tuple[Any, ...]]]
    by_pairing = {one.pairing: (part, one.sorts) for one, part in zip(tallies, parts, strict=True)}
    cells = []
    for view, grid in layout.views:
        notion = "top_label" if view.notion == "confidence" and "confidence" not in by_pairing else view.notion
        if notion in by_pairing:
            part, sorts = by_pairing[notion]
        else:  # P(y = 1) of two columns
            part, sorts = by_pairing["classwise"]
            part = second_class(part, sorts)
        cells.append(cells_of(part, view, sorts, grid))
    each, sorts = next(by_pairing[name] for name in OF_SCORES if name in by_pairing)
    top = None if layout.kind == "binary" else parts[0]
    sums = score_sums(layout.kind, layout.n_classes, sorts, each, top)
    return Summary(sums=sums, cells=tuple(cells), classes=classes)
