"""`RunningTotal`: many parts added one by one, with the rounding of few additions."""

from __future__ import annotations

from typing import Generic, TypeVar

from believable.stats.statistic import Statistic

Kind = TypeVar("Kind", bound=Statistic)
TOGETHER = 1000


class RunningTotal(Generic[Kind]):
    """The sum of a stream of statistics.

    A million small parts added to one ever larger total round a million times, each time by up to half of the total's
    last place: 1e-10 of it at worst, 1e-11 where the parts are alike. Here up to a thousand parts make a subtotal, a
    thousand subtotals the next, and so on: no number takes part in more than a thousand additions for each factor of a
    thousand in their count, and the sums of 1e9 parts are right to 1e-12. Counts are exact either way.

    It holds three or four statistics in place of one, and `add` does one addition, rarely two.

    Examples
    --------
    >>> from believable import Predictions, ScoreSums
    >>> total = RunningTotal()
    >>> for p, y in ((0.1, 0), (0.8, 1), (0.4, 1)):
    ...     total.add(ScoreSums.of(Predictions([p], [y])))
    >>> total.value.n, round(total.value.brier, 12)
    (3, 0.41)
    """

    __slots__ = ("_counts", "_levels")

    def __init__(self, start: Kind | None = None) -> None:
        self._levels: list[Kind | None] = []
        self._counts: list[int] = []
        if start is not None:
            self.add(start)

    def add(self, part: Kind) -> None:
        """Add a part."""
        carried: Kind | None = part
        level = 0
        while carried is not None:
            if level == len(self._levels):
                self._levels.append(None)
                self._counts.append(0)
            before = self._levels[level]
            added = carried if before is None else before + carried
            self._counts[level] += 1
            full = self._counts[level] == TOGETHER
            self._levels[level], carried = (None, added) if full else (added, None)
            self._counts[level] %= TOGETHER
            level += 1

    @property
    def value(self) -> Kind | None:
        """The sum of all parts; None before the first."""
        total: Kind | None = None
        for one in self._levels:  # the small ones first
            if one is not None:
                total = one if total is None else total + one
        return total
