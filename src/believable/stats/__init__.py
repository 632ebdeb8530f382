"""Statistics: what was counted, as values that add, save and travel.

Nearly every number in this package is a function of one of the first three; a `Summary` holds all of them that one pass
over rows can give.
"""

from believable.stats.bins import BinStats
from believable.stats.cells import CellStats
from believable.stats.layout import Layout
from believable.stats.statistic import RunningTotal, Statistic, load_statistic
from believable.stats.summary import Summary
from believable.stats.sums import ScoreSums

__all__ = ["BinStats", "CellStats", "Layout", "RunningTotal", "ScoreSums", "Statistic", "Summary", "load_statistic"]
