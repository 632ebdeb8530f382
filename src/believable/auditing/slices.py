"""The statistic that a page computes from: everything one can look at, as 840 cells each, within a budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from believable._types import Array, Ints
from believable.auditing.source import Source, page_cells, subgroup_of
from believable.predictions.view import View
from believable.report.packed import PackedCells
from believable.report.parts import Part, Slice, Stage

BUDGET = 170_000  # characters of packed cells; script, style, tables, curves and map take about 115,000 more
ONE = {"classes": "class", "subgroups": "subgroup", "classes within subgroups": "class within a subgroup"}


class Wanted(NamedTuple):
    """One thing to look at, before it is counted."""

    class_number: int | None
    column: str | None
    level: str | None

    @property
    def kind(self) -> str:
        """What to call several of them."""
        if self.column is None:
            return "classes"
        return "subgroups" if self.class_number is None else "classes within subgroups"


def slices_of(
    stages: Mapping[Stage, Source],
    view: View,
    parts: Sequence[Part],
    subgroups: Sequence[Part],
    columns: Mapping[str, Array],
) -> tuple[tuple[Slice, ...], str]:
    """The slices that fit, and what was left out, in words.

    All rows come first, then the classes, then the subgroups, then classes within subgroups; of each, the worst first.
    What a summary did not count is in no slice.
    """
    rows = {
        (part.column, part.name): np.flatnonzero(columns[part.column] == part.name)
        for part in subgroups
        if part.column in columns
    }
    found: list[Slice] = []
    used, left, uncounted = 0, Counter[str](), Counter[str]()
    for wanted in _wanted(next(iter(stages.values())), parts, subgroups):
        slices = (_slice(stage, source, view, wanted, rows) for stage, source in stages.items())
        made = [one for one in slices if one is not None]
        if not made:
            uncounted[wanted.kind] += 1
            continue
        size = sum(len(one.cells.data) for one in made)
        if (used + size > BUDGET and wanted.class_number is not None) or used + size > 2 * BUDGET:
            left[wanted.kind] += 1
            continue
        used += size
        found += made
    words = [
        f"{why}: {', '.join(f'{n:,} {kind if n > 1 else ONE[kind]}' for kind, n in counted.items())}."
        for why, counted in (("Left out, so that the page stays small", left), ("Not in the summary", uncounted))
        if counted
    ]
    return tuple(found), " ".join(words)


def _wanted(source: Source, parts: Sequence[Part], subgroups: Sequence[Part]) -> Iterator[Wanted]:
    numbers = {source.class_name(k): k for k in range(source.n_classes)}
    classes = [numbers[part.name] for part in parts]
    levels = sorted(subgroups, key=lambda part: -(part.low or 0))
    yield Wanted(None, None, None)
    for k in classes:
        yield Wanted(k, None, None)
    for part in levels:
        yield Wanted(None, part.column, part.name)
    for k in classes:
        for part in levels:
            yield Wanted(k, part.column, part.name)


def _slice(
    stage: Stage, source: Source, view: View, wanted: Wanted, rows: Mapping[tuple[str, str], Ints]
) -> Slice | None:
    k, column, level = wanted
    here: Source | None = source
    if column is not None and level is not None:
        here = subgroup_of(source, column, level, rows.get((column, level)))
    cells = None if here is None else page_cells(here, view, k)
    if cells is None:
        return None
    return Slice(None if k is None else source.class_name(k), column, level, stage, PackedCells.of(cells))
