"""One pass over tensors, by the quickest way that their device has."""

from __future__ import annotations

from believable.torch import _fast, _reference
from believable.torch._rows import Rows
from believable.torch._tally import Tally


def count(tally: Tally, rows: Rows, *, scores_too: bool = True) -> None:
    """Add rows to a tally, in place; without the sums behind proper scores, where that is quicker and asked for."""
    if _fast.fits(tally, rows):
        _fast.add_rows(tally, rows, scores_too)
    else:
        _reference.add_rows(tally, rows)
