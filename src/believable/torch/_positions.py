"""Buckets of positions in a sequence, and their names."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from believable import _check
from believable._types import Array, Int64s
from believable.errors import InputError

MOST_BUCKETS = 1000  # each is a statistic of its own

Buckets = int | tuple[int, ...]


def buckets_of(given: int | Sequence[int]) -> Buckets:
    """The width of buckets, or where they start; checked.

    Examples
    --------
    >>> buckets_of([0, 16, 64])
    (0, 16, 64)
    """
    if isinstance(given, str) or not isinstance(given, (Sequence, np.ndarray)):
        return _check.positive_integer(given, "position_buckets, as the width of buckets,")
    starts = tuple(_check.positive_integer(start, "each start in position_buckets", 0) for start in given)
    if not starts or starts[0] != 0 or any(a >= b for a, b in pairwise(starts)):
        raise InputError(f"position_buckets must be starts that increase from 0, such as [0, 16, 64], got {starts}")
    return starts


def starts_of(positions: Array, buckets: Buckets) -> Int64s:
    """The start of the bucket of each position."""
    where = np.asarray(positions, np.int64)
    if isinstance(buckets, int):
        starts = where // buckets * buckets
    else:
        starts = np.array(buckets)[np.searchsorted(buckets, where, side="right") - 1]
    if len(found := np.unique(starts)) > MOST_BUCKETS:
        raise InputError(f"the positions fall into {len(found):,} buckets: make them wider, at most {MOST_BUCKETS:,}")
    return starts


def name_of(start: int, buckets: Buckets) -> str:
    """What to call the bucket that starts there.

    Examples
    --------
    >>> name_of(16, (0, 16, 64)), name_of(64, (0, 16, 64)), name_of(64, 32)
    ('16-63', '64+', '64-95')
    """
    if isinstance(buckets, int):
        last = start + buckets - 1
    else:
        place = buckets.index(start) + 1
        if place == len(buckets):
            return f"{start}+"
        last = buckets[place] - 1
    return f"{start}" if last == start else f"{start}-{last}"


def start_of(name: str) -> int:
    """Where the bucket of that name starts.

    Examples
    --------
    >>> start_of("16-63"), start_of("64+")
    (16, 64)
    """
    return int(name.partition("-")[0].rstrip("+"))
