"""Where a column of numbers lies and how large it is, so that squares and sums of its numbers keep their digits.

Ordinary columns are left as they are. One that is far from 0 for its spread is moved there, and one whose squares would
overflow or vanish is multiplied by a power of 2, which rounds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from believable._types import Float64s

SAMPLE = 1000  # of each part, from which the middle is taken
FAR = 100.0  # deviations from the middle; further than this from 0 a column is moved
TINIEST, HUGEST = 1e-100, 1e100
NOTHING = 1e-280  # a column no wider counts as constant: its coefficient could be too large to be written down


class ColumnUnit(NamedTuple):
    """x becomes (x 2^-exponent - centre), within +-1e100.

    Attributes
    ----------
    centre : float
        In the new unit.
    exponent : int
    widest : float
        The largest |x|, moved and in the new unit.
    cut : bool
        Whether some x is beyond 1e100, and counts as that.
    """

    centre: float
    exponent: int
    widest: float
    cut: bool

    @property
    def plain(self) -> bool:
        """Whether the column stays as it is."""
        return self.centre == 0 and self.exponent == 0 and not self.cut

    def moved(self, column: Float64s) -> Float64s:
        """The column in this unit."""
        if self.plain:
            return column
        with np.errstate(over="ignore"):
            values = np.ldexp(column, -self.exponent)
            values -= self.centre
        return np.clip(values, -HUGEST, HUGEST, out=values)

    def moved_by(self, shift: float) -> ColumnUnit:
        """The unit with another centre."""
        return self._replace(centre=self.centre + shift, widest=self.widest + abs(shift))


def column_unit(parts: Sequence[Float64s], centred: bool) -> ColumnUnit:
    """The unit of a column that comes in parts; only a centred one may be moved."""
    low, high = min(float(part.min()) for part in parts), max(float(part.max()) for part in parts)
    some = np.concatenate([part[:: -(-len(part) // SAMPLE)] for part in parts]) / 2  # differences cannot overflow
    some.sort()
    middle = float(some[len(some) // 2]) if centred else 0.0
    distance = np.abs(some - middle)
    distance = np.sort(distance[distance > 0])
    typical = float(distance[len(distance) // 2]) if len(distance) else high / 2 - low / 2
    centre = 2 * middle if abs(middle) > FAR * typical else 0.0

    half = max(high / 2 - centre / 2, centre / 2 - low / 2)  # of the largest distance from the centre
    exponent = 0
    if NOTHING < half < TINIEST:
        exponent = int(np.frexp(half)[1]) + 1
    elif half > HUGEST:
        exponent = max(0, int(np.frexp(typical)[1]) + 1)
    widest = float(np.ldexp(half, 1 - exponent)) if exponent else 2 * half
    return ColumnUnit(float(np.ldexp(centre, -exponent)), exponent, min(widest, HUGEST), widest > HUGEST)
