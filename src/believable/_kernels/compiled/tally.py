"""Passes over rows for the tally of a stream: what they found is added to the tally only if every row is valid.

There is no twin in NumPy: a stream of tensors is counted in plain torch where these kernels were not built.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from believable._kernels.compiled.threads import in_parts, n_threads, ranges
from believable._kernels.partition import PassGrid
from believable._kernels.twins import c
from believable._types import Array, Float64s, Floats

N_TALLY_SUMS = 23  # as in tally.h; then come wp, wpp and wy for an event, wp and wpp of each class for classes
N_EVENT_SUMS = N_TALLY_SUMS + 3
CONFIDENCE, TOP_LABEL, BINARY, RTH, WITHIN_TOP_R, TOP_R = range(6)  # as in tally_classes.c
LOOKUP_CELLS = 4096  # as in tally.h
MOST_SLOTS = 1 << 31  # slots of a table are numbered in 32 bits
EVENT_ROWS_OF_A_PART = 1 << 13  # rows summed as one part; threads start at whole parts, so their number changes nothing
ENTRIES_OF_A_PART, MOST_PARTS, FEWEST_ROWS = 1 << 15, 16, 8
ENTRIES_OF_A_ROW = 16  # what a row costs besides its entries
TILE_ROWS = 64
# What justifies a thread: several times as much work as waking it.
EVENT_PARTS_PER_THREAD = 2
CLASS_ENTRIES_PER_THREAD, SLOTS_PER_THREAD, TABLE_ENTRIES_PER_THREAD = 1 << 16, 1 << 17, 1 << 14


class TallyRows(NamedTuple):
    """Contiguous rows: scores or logits (n,) or (n, K), labels, weights in float64, and the label to leave out."""

    scores: Floats
    labels: Array
    weights: Float64s | None
    from_logits: bool
    ignored: int | None

    def given(self) -> tuple[int, int, int]:
        """Return the numbers that every pass takes."""
        return int(self.from_logits), int(self.ignored is not None), self.ignored or 0


class Codes(NamedTuple):
    """How scores become codes: sorted bounds, and a table to search them unless they are those of one uniform grid."""

    bounds: Float64s
    first: Array | None

    @classmethod
    def of(cls, bounds: Floats, uniform: bool) -> Codes:
        """Return the codes of these bounds."""
        wide = bounds.astype(np.float64)
        if uniform:
            return cls(wide, None)
        cells = np.arange(LOOKUP_CELLS + 1) / LOOKUP_CELLS
        first = np.append(np.searchsorted(wide, cells), len(wide))
        return cls(wide, first.astype(np.int32))


class TallyView(NamedTuple):
    """The pairs to count in one table: their notion, as in tally_classes.c, its rank, and codes."""

    notion: int
    r: int
    codes: Codes


# --- one event --------------------------------------------------------------------------------------------------------


class EventFound(NamedTuple):
    """What a pass over scores of one event found."""

    weights: Float64s | None
    parts: Float64s
    slots: Array
    probabilities: Floats

    def add_to(self, sums: Float64s, by_class: Float64s, table: Float64s) -> None:
        """Add it to a tally."""
        if len(self.parts):
            c.tally_sums(self.parts, sums, by_class, len(self.parts))
        _scatter(self.slots, self.probabilities, self.weights, table, 1)


def tally_event(rows: TallyRows, grids: tuple[PassGrid, ...]) -> EventFound | None:
    """Return what to add for scores of one event; None if a row is invalid."""
    n = rows.labels.size
    parts = np.zeros((-(-n // EVENT_ROWS_OF_A_PART), N_EVENT_SUMS))
    slots = np.empty(n, np.int32)
    made = np.empty(n) if rows.from_logits else None
    given = [part for grid in grids for part in (grid.edges, grid.near_one, grid.reach)]
    numbers = (*rows.given(), EVENT_ROWS_OF_A_PART)
    valid = in_parts(
        lambda part, first, last: c.tally_event(*rows[:3], parts, slots, made, *numbers, first, last, *given),
        ranges(len(parts), EVENT_PARTS_PER_THREAD),
    )
    return EventFound(rows.weights, parts, slots, rows.scores if made is None else made) if all(valid) else None


# --- classes ----------------------------------------------------------------------------------------------------------


class ClassesFound(NamedTuple):
    """What a pass over rows of classes found; `pairs` holds slots and scores for each view but the class-wise one."""

    weights: Float64s | None
    parts: Float64s
    labels: Array
    brier: Float64s
    pairs: list[tuple[Array, Float64s]]
    probabilities: Float64s | None

    def add_to(self, sums: Float64s, by_class: Float64s, tables: list[Float64s]) -> None:
        """Add it to a tally, with a table for each view."""
        if len(self.parts):
            c.tally_sums(self.parts, sums, by_class, len(self.parts))
        c.tally_labels(self.labels, self.weights, self.brier, by_class)
        for (slots, scores), table in zip(self.pairs, tables, strict=True):
            _scatter(slots, scores, self.weights, table, slots.size // self.labels.size)

    def add_entries(self, table: Float64s, codes: Codes) -> None:
        """Add every entry to the table of a class-wise view; each thread adds those of some classes."""
        n, n_classes = self.labels.size, table.shape[0] // (len(codes.bounds) + 1)
        here = (self.probabilities, self.labels, self.weights, *codes, table, table.shape[2])
        in_parts(
            lambda part, start, stop: c.tally_classwise(*here, start, stop),
            ranges(n_classes, -(-TABLE_ENTRIES_PER_THREAD // n)),
        )


def tally_classes(
    rows: TallyRows, n_classes: int, views: tuple[TallyView, ...], tolerance: float, every_entry: bool
) -> ClassesFound | None:
    """Return what to add for rows of classes; None if a row is invalid."""
    n = rows.labels.size
    # The parts do not depend on the number of threads, so neither does the result.
    wanted = max(1, min(MOST_PARTS, n * (n_classes + ENTRIES_OF_A_ROW) // ENTRIES_OF_A_PART))
    each = max(FEWEST_ROWS, -(-n // (wanted * TILE_ROWS)) * TILE_ROWS if n > wanted * TILE_ROWS else -(-n // wanted))
    n_parts = -(-n // each)
    found = ClassesFound(
        rows.weights,
        np.zeros((n_parts, N_TALLY_SUMS + 2 * n_classes)),
        np.empty(n, np.int32),
        np.empty(n),
        [_room(n, view) for view in views],
        np.empty((n, n_classes)) if every_entry else None,
    )
    numbers = (tolerance, *rows.given(), each)
    of_views = [
        argument
        for (slots, scores), view in zip(found.pairs, views, strict=True)
        for argument in (slots, scores, *view.codes, view.notion, view.r)
    ]
    results = (found.parts, found.labels, found.brier, found.probabilities)
    valid = in_parts(
        lambda part, first, last: c.tally_classes(*rows[:3], *results, *numbers, first, last, *of_views),
        ranges(n_parts, -(-CLASS_ENTRIES_PER_THREAD // (each * (n_classes + ENTRIES_OF_A_ROW)))),
    )
    return found if all(valid) else None


def _room(n: int, view: TallyView) -> tuple[Array, Float64s]:
    """Return arrays for the slots and scores of n rows."""
    size = n * view.r if view.notion == TOP_R else n
    return np.empty(size, np.int32), np.empty(size)


# --- tables -----------------------------------------------------------------------------------------------------------


def _scatter(slots: Array, scores: Floats, weights: Float64s | None, table: Float64s, each: int) -> None:
    """Add pairs to their slots of a table; each thread adds to slots of its own."""
    here = (slots, scores, weights, table, table.shape[2], each)
    if slots.size < 2 * SLOTS_PER_THREAD:
        c.tally_scatter(*here, 0, 1)
        return
    shares = 1 << (min(n_threads(), slots.size // SLOTS_PER_THREAD).bit_length() - 1)
    in_parts(lambda share, start, stop: c.tally_scatter(*here, share, shares), [(k, k + 1) for k in range(shares)])
