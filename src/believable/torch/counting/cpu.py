"""One pass over rows on a CPU, by the kernels in C: they count what `counting.reference` counts in plain torch.

A pass checks the rows that it reads. What it found is added to the tally only if all of them are valid.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from believable._kernels import PassGrid
from believable._kernels.compiled.tally import (
    BINARY,
    CONFIDENCE,
    MOST_SLOTS,
    RTH,
    TOP_LABEL,
    TOP_R,
    WITHIN_TOP_R,
    ClassesFound,
    Codes,
    EventFound,
    TallyRows,
    TallyView,
    tally_classes,
    tally_event,
)
from believable._kernels.twins import backend
from believable._types import Float64s
from believable.binning import Grid
from believable.stats import Layout
from believable.stats.one_pass import pass_grids
from believable.torch.counting.rows import Rows
from believable.torch.counting.tally import Tally, code_bounds, n_codes, views_of

ENTRIES_AT_ONCE = 1 << 20  # entries that are copied, or whose probabilities are kept, at once
ROWS_AT_ONCE = 1 << 20
TYPES_OF_KERNELS = (torch.float32, torch.float64)
NOTIONS = {
    "confidence": CONFIDENCE,
    "top_label": TOP_LABEL,
    "binary": BINARY,
    "rth": RTH,
    "within_top_r": WITHIN_TOP_R,
    "top_r": TOP_R,
}


Found: TypeAlias = EventFound | ClassesFound


class Plan(NamedTuple):
    """What a layout asks of a pass, prepared once.

    Attributes
    ----------
    grids : tuple of PassGrid
        The grids of one event.
    views : tuple of TallyView
        The views of classes, but for the class-wise one.
    places : tuple of int
        The tables of these views.
    classwise : int or None
        The table of the class-wise view.
    codes : Codes or None
        The codes of the class-wise view.
    """

    grids: tuple[PassGrid, ...] = ()
    views: tuple[TallyView, ...] = ()
    places: tuple[int, ...] = ()
    classwise: int | None = None
    codes: Codes | None = None


def fits(tally: Tally, rows: Rows) -> bool:
    """Return whether the kernels can count these rows."""
    known = backend == "compiled" and rows.scores.is_cpu and tally.buffer.is_cpu
    return known and tally.layout.dtype == rows.dtype and _prepared(tally).plan is not None


def add_rows(tally: Tally, rows: Rows) -> bool:
    """Add rows to a tally and return True; if a row is invalid, leave the tally as it is and return False."""
    prepared = _prepared(tally)
    if (plan := prepared.plan) is None:
        raise ValueError("the kernels cannot count this layout")
    if not len(rows):
        return True
    # The probabilities of every block would take too much memory; those blocks are passed over twice.
    keeps = plan.classwise is None or rows.scores.numel() <= ENTRIES_AT_ONCE
    kept: list[Found] = []
    for found in _passes(rows, plan):
        if found is None:
            return False
        if not keeps:
            continue
        if kept:  # sums by class of every block would take too much memory, too
            kept[0].parts[-1] += found.parts.sum(axis=0)
            found = found._replace(parts=np.empty((0, 0)))
        kept.append(found)
    for found in kept if keeps else _passes(rows, plan):
        if found is not None:
            _add(prepared, plan, found)
    return True


class Prepared(NamedTuple):
    """The plan of a tally, if there is one, and its parts as arrays."""

    plan: Plan | None
    sums: Float64s
    by_class: Float64s
    tables: list[Float64s]


def _prepared(tally: Tally) -> Prepared:
    """Return what is prepared for the first batch of a tally."""
    made: Prepared | None = tally.prepared.get("cpu")
    if made is None:
        tables = [table.numpy() for table in tally.tables]
        made = Prepared(plan_of(tally.layout), tally.sums.numpy(), tally.by_class.numpy(), tables)
        tally.prepared["cpu"] = made
    return made


@lru_cache(maxsize=32)
def plan_of(layout: Layout) -> Plan | None:
    """Return the plan of a layout; None if the kernels cannot count it."""
    views = views_of(layout)
    if any(2 * view.n_strata * n_codes(grids) >= MOST_SLOTS for view, grids in views):
        return None
    if any(view.notion not in (*NOTIONS, "classwise") for view, _ in views):
        return None
    if layout.kind == "binary":
        (_, grids), *others = views
        given = pass_grids(grids)
        return None if others or any(grid.searched for grid in given) else Plan(given)
    codes = [_codes(grids) for _, grids in views]
    places = tuple(i for i, (view, _) in enumerate(views) if view.notion != "classwise")
    classwise = next((i for i, (view, _) in enumerate(views) if view.notion == "classwise"), None)
    return Plan(
        views=tuple(TallyView(NOTIONS[views[i][0].notion], views[i][0].r or 1, codes[i]) for i in places),
        places=places,
        classwise=classwise,
        codes=None if classwise is None else codes[classwise],
    )


def _codes(grids: tuple[Grid, ...]) -> Codes:
    uniform = len(grids) == 1 and grids[0].spacing == "uniform"
    return Codes.of(code_bounds(grids, "cpu").numpy(), uniform)


# --- tensors as arrays ------------------------------------------------------------------------------------------------


def _blocks(rows: Rows, plan: Plan) -> Iterator[TallyRows]:
    """Yield all rows as contiguous arrays, without a copy where that is possible."""
    settings = rows.from_logits, rows.ignore_index
    most = ROWS_AT_ONCE if plan.classwise is None else max(1, ENTRIES_AT_ONCE // rows.n_classes)
    scores, labels = rows.scores, rows.labels
    if scores.ndim == 3 and scores.shape[2] != 1:
        scores = scores.movedim(1, 2)  # the classes of a row, next to each other
    known = scores.dtype in TYPES_OF_KERNELS
    if len(rows) <= most and known and scores.is_contiguous() and labels.is_contiguous():
        yield TallyRows(scores.numpy(), labels.numpy(), _weights(rows.weights), *settings)
        return
    for _, (scores, labels, weights) in rows.pieces(ENTRIES_AT_ONCE):
        scores = scores if known else scores.float()
        yield TallyRows(scores.contiguous().numpy(), labels.contiguous().numpy(), _weights(weights), *settings)


def _weights(weights: Tensor | None) -> Float64s | None:
    return None if weights is None else weights.double().contiguous().numpy()


# --- two steps: find, then add ----------------------------------------------------------------------------------------


def _passes(rows: Rows, plan: Plan) -> Iterator[Found | None]:
    """Yield what a pass over each block found; None if a row is invalid."""
    for block in _blocks(rows, plan):
        if plan.grids:
            yield tally_event(block, plan.grids)
        else:
            yield tally_classes(block, rows.n_classes, plan.views, rows.tolerance, plan.classwise is not None)


def _add(to: Prepared, plan: Plan, found: Found) -> None:
    if isinstance(found, EventFound):
        found.add_to(to.sums, to.by_class, to.tables[0])
        return
    found.add_to(to.sums, to.by_class, [to.tables[place] for place in plan.places])
    if plan.classwise is not None and plan.codes is not None:
        found.add_entries(to.tables[plan.classwise], plan.codes)
