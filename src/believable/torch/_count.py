"""One pass over tensors, by the quickest way that their device has."""

from __future__ import annotations

from believable.torch import _fast, _reference
from believable.torch._rows import Rows
from believable.torch._tally import Tally


def count(tally: Tally, rows: Rows) -> None:
    """Add rows to a tally, in place."""
    way = _fast if _fast.fits(tally, rows) else _reference
    way.add_rows(tally, rows)
