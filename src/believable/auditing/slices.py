"""The statistics behind the HTML report: 840 cells for every view it offers, within a budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from believable.auditing.source import AuditSource
from believable.predictions.view import View
from believable.report.packed import PackedCells
from believable.report.parts import FoundSegment, Part, Slice, Stage

# Characters of packed cells; script, style, tables, curves and calibration map take about 115,000 more.
PAGE_BUDGET = 170_000
KIND_OF_ONE_SLICE = {"classes": "class", "subgroups": "subgroup", "classes within subgroups": "class within a subgroup"}


class SliceKey(NamedTuple):
    """One view of the report, before it is counted."""

    class_number: int | None
    where: Mapping[str, str] | None  # the levels of a subgroup or segment; None for all rows

    @property
    def kind(self) -> str:
        """The plural noun for views like this one."""
        if self.where is None:
            return "classes"
        return "subgroups" if self.class_number is None else "classes within subgroups"

    @property
    def names(self) -> tuple[str | None, str | None]:
        """The column and the level; of a segment, its first column and the rest of its name."""
        if self.where is None:
            return None, None
        (column, level), *others = self.where.items()
        return column, " and ".join([level, *(f"{one} = {name}" for one, name in others)])


def slices_of(
    stages: Mapping[Stage, AuditSource],
    view: View,
    parts: Sequence[Part],
    subgroups: Sequence[Part],
    segments: Sequence[FoundSegment] = (),
) -> tuple[tuple[Slice, ...], str]:
    """Return the slices that fit, and a sentence on what was left out.

    All rows come first, then the classes, the segments that were found, the subgroups, and classes within subgroups;
    within each, the worst first. There is no slice for what a summary did not count.
    """
    found: list[Slice] = []
    used, left, uncounted = 0, Counter[str](), Counter[str]()
    for key in _keys(next(iter(stages.values())), parts, subgroups, segments):
        slices = (_slice(stage, source, view, key) for stage, source in stages.items())
        made = [one for one in slices if one is not None]
        if not made:
            uncounted[key.kind] += 1
            continue
        size = sum(len(one.cells.data) for one in made)
        if (used + size > PAGE_BUDGET and key.class_number is not None) or used + size > 2 * PAGE_BUDGET:
            left[key.kind] += 1
            continue
        used += size
        found += made
    words = [
        f"{why}: {', '.join(f'{n:,} {kind if n > 1 else KIND_OF_ONE_SLICE[kind]}' for kind, n in counted.items())}."
        for why, counted in (("Left out to keep the page small", left), ("Not in the summary", uncounted))
        if counted
    ]
    return tuple(found), " ".join(words)


def _keys(
    source: AuditSource, parts: Sequence[Part], subgroups: Sequence[Part], segments: Sequence[FoundSegment]
) -> Iterator[SliceKey]:
    numbers = {source.class_name(k): k for k in range(source.n_classes)}
    classes = [numbers[part.name] for part in parts]
    worst_first = sorted(subgroups, key=lambda part: -(part.low or 0))
    yield SliceKey(None, None)
    for k in classes:
        yield SliceKey(k, None)
    for segment in segments:
        if len(segment.where) > 1:  # the others are subgroups
            yield SliceKey(None, segment.where)
    for part in worst_first:
        yield SliceKey(None, {part.column: part.name})
    for k in classes:
        for part in worst_first:
            yield SliceKey(k, {part.column: part.name})


def _slice(stage: Stage, source: AuditSource, view: View, key: SliceKey) -> Slice | None:
    k, where = key
    here = source if where is None else source.segment(where)
    if here is None:
        return None
    cells = here.page_cells(view) if k is None else here.page_cells_of_class(k)
    if cells is None:
        return None
    return Slice(None if k is None else source.class_name(k), *key.names, stage, PackedCells.of(cells))
