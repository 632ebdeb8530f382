"""Segments that differ from the other rows, found by a search over columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from believable.auditing.judgement import bins_of_ranges, evidence_of_bins, evidence_of_curve
from believable.auditing.rules import PartEvidence
from believable.auditing.settings import AuditSettings
from believable.auditing.source import AuditSource
from believable.binning import Grid
from believable.report.parts import FoundSegment, SegmentSearch
from believable.stats import SegmentStats
from believable.stats.source import BinsAsked, count_asked

if TYPE_CHECKING:
    from believable.inference.segments import Segment

MOST_COLUMNS = {3: 12, 2: 40}  # with more columns, fewer are combined, because combinations would take too long


def segment_search(source: AuditSource, settings: AuditSettings) -> SegmentSearch | None:
    """Search for segments, if that was requested."""
    from believable.inference.segments import find_segments

    searched = source.to_search()
    if searched is None:
        return None
    names = searched.names if isinstance(searched, SegmentStats) else tuple(searched.by)
    depth = next((depth for depth, most in MOST_COLUMNS.items() if len(names) <= most), 1)
    found = find_segments(searched, depth=depth, level=settings.level)
    notes = list(found.notes)
    if depth < max(MOST_COLUMNS):
        combined = "pairs of columns, but no three columns," if depth > 1 else "single columns only"
        notes.append(f"Of {len(names)} columns, {combined} were searched: name fewer columns to combine more of them.")
    return SegmentSearch(
        found=tuple(map(_recorded, found)),
        columns=found.columns,
        searched=found.searched,
        min_rows=found.min_rows,
        rate=found.rate,
        level=found.level,
        notes=tuple(f"{note[0].upper()}{note[1:].removesuffix('.')}." for note in notes),
    )


def _recorded(segment: Segment) -> FoundSegment:
    return FoundSegment(
        where=dict(segment.where),
        n=segment.n,
        mean_score=segment.mean_score,
        rate=segment.rate,
        expected=segment.expected,
        gap=segment.gap,
        low=segment.low,
        high=segment.high,
        p_value=segment.p_value,
        adjusted=segment.adjusted,
        direction=segment.direction,
    )


def evidence_of_segments(source: AuditSource, settings: AuditSettings, search: SegmentSearch) -> list[PartEvidence]:
    """Return the evidence that the rules of the verdict read on the segments that were found.

    Their ranges and averages are judged as those of all segments that were searched. Of an intersection beside a
    summary, they are those of the statistic that was searched, whose rows are known up to the width of its cells.
    """
    made, searched, asked = [], source.to_search(), BinsAsked(**settings.options)
    for one in search.found:
        here = source.segment(one.where)
        if here is not None:
            stats = count_asked(here.data, asked, squares=True)
            evidence = evidence_of_curve(here, stats, settings, search.searched)
        elif isinstance(searched, SegmentStats):
            cells = searched.cells_of(one.where, Grid())
            stats = bins_of_ranges(cells, cells.read_bins(asked), settings)
            evidence = evidence_of_bins(stats, search.searched, settings.about_confidence(source.kind))
        else:
            continue
        made.append(PartEvidence(one.name, float(stats.w.sum() / source.sums.w), evidence))
    return made
