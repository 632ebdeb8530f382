"""The statistic that a page computes from: everything one can look at, as 840 cells each, within a budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from believable._types import Array, Ints
from believable.predictions import Predictions
from believable.report.by_class import column_of
from believable.report.packed import N_CELLS, PackedCells
from believable.report.parts import Part, Slice, Stage
from believable.stats import CellStats
from believable.views import View

BUDGET = 170_000  # characters of packed cells; script, style, tables, curves and map take about 115,000 more
ONE = {"classes": "class", "subgroups": "subgroup", "classes within subgroups": "class within a subgroup"}


class Wanted(NamedTuple):
    """One thing to look at, before it is counted."""

    class_number: int | None
    column: str | None
    level: str | None
    rows: Ints | None

    @property
    def kind(self) -> str:
        """What to call several of them."""
        if self.column is None:
            return "classes"
        return "subgroups" if self.class_number is None else "classes within subgroups"


def slices_of(
    stages: Mapping[Stage, Predictions],
    view: View,
    parts: Sequence[Part],
    subgroups: Sequence[Part],
    columns: Mapping[str, Array],
) -> tuple[tuple[Slice, ...], str]:
    """The slices that fit, and what was left out, in words.

    All rows come first, then the classes, then the subgroups, then classes within subgroups; of each, the worst first.
    """
    found: list[Slice] = []
    used, left = 0, Counter[str]()
    for wanted in _wanted(next(iter(stages.values())), parts, subgroups, columns):
        made = [_slice(stage, predictions, view, wanted) for stage, predictions in stages.items()]
        size = sum(len(one.cells.data) for one in made)
        if (used + size > BUDGET and wanted.class_number is not None) or used + size > 2 * BUDGET:
            left[wanted.kind] += 1
            continue
        used += size
        found += made
    parts_left = ", ".join(f"{n:,} {kind if n > 1 else ONE[kind]}" for kind, n in left.items())
    return tuple(found), f"Left out, so that the page stays small: {parts_left}." if left else ""


def _wanted(
    predictions: Predictions, parts: Sequence[Part], subgroups: Sequence[Part], columns: Mapping[str, Array]
) -> Iterator[Wanted]:
    numbers = {predictions.class_name(k): k for k in range(predictions.n_classes)}
    classes = [numbers[part.name] for part in parts]
    levels = sorted(subgroups, key=lambda part: -(part.low or 0))
    rows = {(part.column, part.name): np.flatnonzero(columns[part.column] == part.name) for part in levels}
    yield Wanted(None, None, None, None)
    for k in classes:
        yield Wanted(k, None, None, None)
    for part in levels:
        yield Wanted(None, part.column, part.name, rows[part.column, part.name])
    for k in classes:
        for part in levels:
            yield Wanted(k, part.column, part.name, rows[part.column, part.name])


def _slice(stage: Stage, predictions: Predictions, view: View, wanted: Wanted) -> Slice:
    here = predictions if wanted.rows is None else predictions.take(wanted.rows)
    if wanted.class_number is None:
        cells, name = CellStats.of(here, view, cells=N_CELLS), None
    else:
        cells = CellStats.of(column_of(here, wanted.class_number), cells=N_CELLS)
        name = here.class_name(wanted.class_number)
    return Slice(name, wanted.column, wanted.level, stage, PackedCells.of(cells))
