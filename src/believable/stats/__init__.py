"""Statistics: sums over rows as values that can be added, saved and sent.

Nearly every number in this package is a function of a `BinStats`, a `CellStats` or a `ScoreSums`; a `Summary` holds
those that one pass over the rows can give.
"""

from believable.stats.bins import BinStats
from believable.stats.cells import CellStats
from believable.stats.layout import Layout
from believable.stats.segments import SegmentStats
from believable.stats.statistic import RunningTotal, Statistic, load_statistic
from believable.stats.summary import Summary
from believable.stats.sums import ScoreSums

__all__ = [
    "BinStats",
    "CellStats",
    "Layout",
    "RunningTotal",
    "ScoreSums",
    "SegmentStats",
    "Statistic",
    "Summary",
    "load_statistic",
]
