"""Statistics: what was counted, as values that add, save and travel.

Nearly every number in this package is a function of one of these three.
"""

from believable.stats.bins import BinStats
from believable.stats.cells import CellStats
from believable.stats.sums import ScoreSums

__all__ = ["BinStats", "CellStats", "ScoreSums"]
